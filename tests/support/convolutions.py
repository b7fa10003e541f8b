"""Marginals of sums too wide to enumerate, by direct convolution in extended precision.

Numbers of 64 bits of mantissa and 15 of exponent: nothing underflows, and positive terms added up keep 1e-17
relative for every thousand of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

import numpy as np

Table = tuple[int, np.ndarray]
"""(lowest value, weights of it and the following ones)."""


def table(law: Any, low: int, high: int) -> Table:
    """Weights f(z)/f(0) of a law on low … high."""
    z = np.arange(low, high + 1, dtype=np.longdouble)
    rate = np.longdouble(law.exact_rate.numerator) / np.longdouble(law.exact_rate.denominator)
    return low, np.exp(-rate * np.abs(z) ** law.power)


def added(one: Table, two: Table) -> Table:
    """The law of a sum."""
    return one[0] + two[0], np.convolve(one[1], two[1])


def summed(tables: Sequence[Table]) -> Table:
    """The law of the sum of all, (0, [1]) of none."""
    return reduce(added, tables, (0, np.ones(1, dtype=np.longdouble)))


def alike(one: Table, many: int, most: int) -> Table:
    """The law of the sum of `many` alike that begin at zero, up to the value `most`."""
    found = one
    for bit in bin(many)[3:]:
        found = added(found, found)
        found = added(found, one) if bit == "1" else found
        found = found[0], found[1][: most + 1]
    return found


def at(held: Table, z: np.ndarray) -> np.ndarray:
    """Weights at some places, zero outside."""
    place = np.asarray(z) - held[0]
    inside = (place >= 0) & (place < len(held[1]))
    return np.where(inside, held[1][np.clip(place, 0, len(held[1]) - 1)], np.longdouble(0))


def times(one: Table, two: Table) -> Table:
    """The product of two functions of one value."""
    low, high = max(one[0], two[0]), min(one[0] + len(one[1]), two[0] + len(two[1])) - 1
    z = np.arange(low, high + 1)
    return low, at(one, z) * at(two, z)


def given_sum(own: Table, others: Table, least: int = 0, most: int = 0) -> Table:
    """The law of a value given that it and the others' sum come to least … most."""
    z = np.arange(own[0], own[0] + len(own[1]))
    held = sum(at(others, total - z) for total in range(least, most + 1))
    weights = own[1] * held
    return own[0], weights / weights.sum()
