"""What the samplers of crossing facts take in: the law of each variable and the ends of each form.

A block with crossing facts is a set of variables, each with a law of its own on a window of integers
(`Unary`), and linear forms of them whose values are fixed, weighed or limited (`Terminal`). A bound on
a single variable is the end of its window. Identity is what makes two variables alike: variables that
share one `Unary` object share the tables that are built from it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from congenial.laws import Law
from congenial.samplers.base import FloatArray

_ULP = 2.0**-53
_UPWARD = 1 + 1e-9


@dataclass(frozen=True, eq=False)
class Unary:
    """The law of one variable (a cell, or the sum of exchangeable cells) on `lo … hi`.

    `weights[k]` is proportional to the probability of `lo + k`, positive and finite, with sum about one;
    each is right to a relative `relative_error` up to one common factor. The mass that the window
    leaves out is at most `trimmed` times the sum of the weights; a little of it may lie inside the window,
    where a law is a sum of trimmed ones. An end that is not open is a bound: nothing lies beyond it.
    Laws are log-concave: beyond an open end they fall at least as fast as before it, which is what lets
    a tilted law be trimmed with a proven bound.
    """

    lo: int
    weights: FloatArray
    trimmed: float = 0.0
    relative_error: float = 0.0
    open_below: bool = True
    open_above: bool = True

    def __post_init__(self) -> None:
        weights = np.ascontiguousarray(self.weights, dtype=np.float64)
        if weights.ndim != 1 or not len(weights):
            raise ValueError("a law needs a window of at least one integer")
        if not (np.isfinite(weights).all() and (weights > 0).all()):
            raise ValueError("the weights of a law must be positive and finite inside its window")
        weights = weights.copy()
        weights.flags.writeable = False
        object.__setattr__(self, "weights", weights)

    @property
    def hi(self) -> int:
        """The last integer of the window."""
        return self.lo + len(self.weights) - 1

    @property
    def is_point(self) -> bool:
        """Whether the variable can take one value only."""
        return len(self.weights) == 1

    def __repr__(self) -> str:
        return "Unary(...)"  # the ends of a window can be a confidential count


@dataclass(frozen=True, eq=False)
class Terminal:
    """One linear form `coefficients · z` of all variables and what is asked of its value.

    `fact`: it is zero. `law`: it is weighed by `table` (outside the table's window it is impossible).
    `limit`: it lies in `lower … upper`; None is no limit on that side.
    """

    coefficients: NDArray[np.int64]
    kind: Literal["fact", "law", "limit"]
    table: Unary | None = None
    lower: int | None = None
    upper: int | None = None

    def __post_init__(self) -> None:
        if (self.kind == "law") != (self.table is not None):
            raise ValueError("a form has a table if it is weighed by a law, and only then")
        if self.kind != "limit" and (self.lower is not None or self.upper is not None):
            raise ValueError("only a form of the kind 'limit' has limits")
        object.__setattr__(self, "coefficients", np.ascontiguousarray(self.coefficients, dtype=np.int64))

    def __repr__(self) -> str:
        return f"Terminal(kind={self.kind!r})"


def point(value: int = 0) -> Unary:
    """The law of a variable that can only be `value`: a structural zero, or an empty slack."""
    return Unary(value, np.ones(1), open_below=False, open_above=False)


def unary_from_law(law: Law, lower: int | None, upper: int | None, log2_mass: float) -> Unary:
    """The law of one cell, given that it lies in `lower … upper` (None: no bound on that side).

    **Exactness.** The window is the least that leaves out at most 2^log2_mass of the *unbounded* law;
    `trimmed` is what it leaves out of the bounded one. Where the bounds exclude zero, the window
    starts at the bound nearest to it: f(b+k)/f(b) ≤ f(k)/f(0) for a log-concave even law, so that
    the share cut off is at most the tail of the law itself.
    """
    reach = law.reach(log2_mass)
    lo, hi = _window(reach, lower, upper)
    weights = law.weights(lo, hi)
    kept = float(weights.sum())
    if not (kept > 0 and weights.min() > 0):
        raise ValueError("the bounds of a cell lie so far out that its law underflows there")
    cut = float(law.tail(reach))
    is_open = (lower is None or lower < lo, upper is None or upper > hi)
    if lo > 0 or hi < 0:
        trimmed = 0.0 if (hi == upper if lo > 0 else lo == lower) else cut / (1 - cut)
    else:
        sides = is_open[0] + is_open[1]
        whole = float(law.weights(-reach, reach).sum()) / (1 - cut)
        trimmed = cut * sides / 2 * whole / kept
    return Unary(lo, weights / kept, trimmed * _UPWARD, 6 * _ULP, *is_open)


def _window(reach: int, lower: int | None, upper: int | None) -> tuple[int, int]:
    """The integers within `reach` of the bounds' nearest point to zero, inside the bounds."""
    if lower is not None and upper is not None and lower > upper:
        raise ValueError("the lower bound of a cell lies above its upper bound")
    nearest = max(0 if lower is None else lower, 0) + min(0 if upper is None else upper, 0)
    lo, hi = nearest - reach, nearest + reach
    return (lo if lower is None else max(lo, lower), hi if upper is None else min(hi, upper))


def sum_of(a: Unary, b: Unary, log2_mass: float = -math.inf) -> Unary:
    """The law of the sum of two independent variables, each end trimmed by at most half of 2^log2_mass.

    **Exactness.** Direct convolution: sums and products of positive numbers only.
    **Cost.** Length times length.
    """
    weights = np.convolve(a.weights, b.weights)
    weights /= weights.sum()
    below, above = np.cumsum(weights), np.cumsum(weights[::-1])
    half = 2.0 ** (log2_mass - 1)
    left, right = int(np.searchsorted(below, half)), int(np.searchsorted(above, half))
    cut = (below[left - 1] if left else 0.0) + (above[right - 1] if right else 0.0)
    kept = weights[left : len(weights) - right]
    missing = ((1 + a.trimmed) * (1 + b.trimmed) - 1 + cut) / max(1 - cut, 0.5)
    error = a.relative_error + b.relative_error + (min(len(a.weights), len(b.weights)) + 2) * _ULP
    is_open = (a.open_below or b.open_below or left > 0, a.open_above or b.open_above or right > 0)
    return Unary(a.lo + b.lo + left, kept, float(missing) * _UPWARD, error, *is_open)
