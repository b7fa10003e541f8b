"""Amounts: exact decimals that are summed without rounding and shown the safe way.

A float is taken as the shortest decimal that reads back as it, the number that manifest and plan
print for it, so that ten charges of 0.1 are 1 and not a little more. (That decimal is within 1.2e-16
of the float, ten orders below what `fits` forgives.) Text and `Decimal` are taken as they stand.
"""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Clamped, Context, Decimal, Inexact, InvalidOperation

from congenial.errors import ArgumentError

Amount = float | int | str | Decimal

EXACT = Context(prec=2000, traps=[Inexact, InvalidOperation, Clamped])
"""Arithmetic that raises rather than rounds: amounts have at most 617 digits before they are added."""

FORGIVEN = Decimal("0.000001")
"""The part of a budget by which a release may overdraw it: scales are found to about that precision."""

LARGEST = Decimal("1e300")
SMALLEST = Decimal("1e-300")


def exact(value: Amount, what: str) -> Decimal:
    """`value` as an exact decimal ≥ 0; anything else raises an `ArgumentError` that calls it `what`."""
    try:
        if isinstance(value, bool):
            raise ValueError
        number = value if isinstance(value, Decimal) else Decimal(_text(value))
    except (InvalidOperation, ValueError, TypeError, OverflowError):
        raise ArgumentError(f"{what} is {value!r}, which is not a number") from None
    if not number.is_finite() or number < 0:
        raise ArgumentError(f"{what} is {number}; it has to be a finite number from 0 up")
    if number and not (SMALLEST <= number <= LARGEST and len(number.as_tuple().digits) <= 310):
        raise ArgumentError(f"{what} has more digits than a ledger keeps (1e-300 to 1e300, 310 digits)")
    return EXACT.normalize(number)


def _text(value: float | int | str) -> str:
    if isinstance(value, str):
        return value.strip()
    return str(value) if isinstance(value, int) else repr(float(value))


def total(amounts: list[Decimal]) -> Decimal:
    """The exact sum."""
    found = Decimal(0)
    for amount in amounts:
        found = EXACT.add(found, amount)
    return found


def fits(spent: Decimal, amount: Decimal, budget: Decimal) -> bool:
    """Whether a budget covers one more charge: spent + amount ≤ budget · (1 + 10⁻⁶), exactly."""
    return EXACT.add(spent, amount) <= EXACT.multiply(budget, 1 + FORGIVEN)


def left(budget: Decimal, spent: Decimal) -> Decimal:
    """What is left, exactly; nothing, where the budget was overdrawn by what is forgiven."""
    return max(Decimal(0), EXACT.subtract(budget, spent))


def plain(amount: Decimal) -> str:
    """The decimal in full: `0.5`, `40`; with an exponent only far from 1."""
    short = EXACT.normalize(amount)
    return format(short, "f") if not short or -9 <= short.adjusted() <= 15 else str(short)


def shown(amount: Decimal, *, up: bool) -> float:
    """A float whose printed text is the amount, or else safe: never below it if `up`, never above if not."""
    near = float(amount)
    if Decimal(repr(near)) == amount or not math.isfinite(near):
        return near
    rounded = Context(prec=15, rounding=ROUND_CEILING if up else ROUND_FLOOR).plus(amount)
    return float(rounded)


def said(amount: Decimal, *, up: bool) -> str:
    """`shown`, as text: `0.3`, `4`."""
    return repr(shown(amount, up=up)).removesuffix(".0")
