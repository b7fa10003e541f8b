"""A guarantee in one sentence about one unit, for people who decide."""

from __future__ import annotations

import math
from dataclasses import dataclass

from congenial.privacy.conversions import epsilon_of
from congenial.requests.model import Change

ODDS = 1e-10
"""The δ at which a ρ is told as a factor."""

MOST = 700.0
"""A loss beyond which its factor is no number of the machine, and promises nothing to anybody."""


@dataclass(frozen=True)
class Subject:
    """Who is spoken of: `units` units called `name`, each with up to `rows` rows, and what may happen."""

    name: str
    units: int
    rows: int
    change: Change

    @property
    def whom(self) -> str:
        return f"any one {self.name}" if self.units == 1 else f"any {self.units} units ({self.name}) together"

    @property
    def otherwise(self) -> str:
        """Had their rows been otherwise."""
        records = "record" if self.units == 1 and self.rows == 1 else "records"
        many = (
            ""
            if self.rows == 1
            else f" (up to {self.rows} each)"
            if self.units > 1
            else f" (up to {self.rows})"
        )
        done = {
            "replace": "been different",
            "add-or-remove": "been added or left out",
            "any": "been different, added or left out",
        }[self.change]
        return f"had the {records}{many} of {self.whom} {done}"

    @property
    def fewest(self) -> str:
        return "" if self.units == 1 else " (the published facts do not let fewer change)"


def pure(subject: Subject, epsilon: float, delta: float) -> str:
    """The sentence beside a pure ε with its slack δ."""
    if delta >= 1 or epsilon > MOST:
        return hollow(subject, f"ε = {epsilon:.4g} and δ = {delta:.2g}")
    factor = math.exp(epsilon)
    return (
        f"Whatever this release shows is at most {_number(factor)} times as likely as it would be "
        f"{subject.otherwise}{subject.fewest}, apart from events of probability {_chance(delta)}: beyond "
        f"what the published facts say, nobody learns more than that about {subject.whom}."
    )


def concentrated(subject: Subject, rho: float) -> str:
    """The sentence beside a ρ."""
    epsilon = epsilon_of(rho, ODDS)
    if epsilon > MOST:
        return hollow(subject, f"ρ = {rho:.4g}")
    factor = math.exp(epsilon)
    return (
        f"Apart from events of probability {_chance(ODDS)}, whatever this release shows is at most "
        f"{_number(factor)} times as likely as it would be {subject.otherwise}{subject.fewest}: beyond what "
        f"the published facts say, nobody learns more than that about {subject.whom}."
    )


def hollow(subject: Subject, loss: str) -> str:
    """The sentence where the numbers hold, and say no more than that chances are between zero and one."""
    return (
        f"With {loss} nothing is promised: this release may show everything about {subject.whom}. "
        "It needs far more noise."
    )


def silent(name: str) -> str:
    """The sentence of suppression."""
    return f"This release says nothing, so nobody learns anything about any {name} from it."


def unproven(why: str) -> str:
    """The sentence where nothing is proven."""
    return f"No guarantee is proven: {why}."


def _chance(value: float) -> str:
    """One significant digit, rounded up."""
    if value <= 0:
        return "0"
    power = math.floor(math.log10(value))
    head = math.ceil(value / 10.0**power * (1 - 1e-12))
    return f"1e{power + 1}" if head == 10 else f"{head}e{power}"


def _number(value: float) -> str:
    """Four significant digits, rounded up."""
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    scale = 10.0 ** (3 - math.floor(math.log10(value)))
    return f"{math.ceil(value * scale * (1 - 1e-12)) / scale:.4g}"
