r"""What public bounds cost: the theorem of the price of bounds, and which bounds can bind at all.

**Theorem (price of bounds, discrete Laplace).** Let all factors be discrete Laplace, `x` and `x' = x + δ`
two tables with the same facts inside the bounds, `κ = Σ ε_j |w_j·δ|`, and `ε*` the least ε with which a
bounded form that δ moves is measured (0 if one of them is not measured, no price if δ moves none). Then
the loss between them is at most

    κ + ln(1 + e^{-2ε*}(e^κ - 1)) ≤ 2κ.

The proof stands in `docs/explanation/price-of-bounds.md`; unlike earlier forms of it, nothing is asked of
`|w_j·δ|`. Over independent blocks losses add, each with its own κ and ε*; and a block in which δ only moves
forms away from the limits that they have costs nothing extra.

A bound cannot bind if facts determine its form, or if the bounds on single cells imply it. Which bounds
*do* bind at a table depends on its counts, and is never asked.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from congenial.privacy.changes import Changes
from congenial.privacy.fixed import fixed_groups
from congenial.privacy.partitions import determined_groups, same
from congenial.privacy.reading import Bounded, Factor, Family, Reading

FREE = math.inf


def price(kappa: float, least: float) -> float:
    """ln(1 + e^{-2ε*}(e^κ - 1)), what bounds add to a loss of κ; `least` is ε*."""
    if least == FREE or kappa == 0:
        return 0.0
    if least <= 0:
        return kappa
    return float(np.logaddexp(math.log(-math.expm1(-2 * least)), kappa - 2 * least))


@dataclass(frozen=True, eq=False)
class Binding:
    """The bounds that may bind, and which limits they have.

    `least` is the smallest ε* of any, `of_pairs` of those that moving counts between cells can touch.
    """

    bounds: tuple[Bounded, ...]
    least: float
    of_pairs: float
    has_lower: bool
    has_upper: bool

    def __bool__(self) -> bool:
        return bool(self.bounds)


def binding(reading: Reading, changes: Changes) -> Binding:
    """The bounds that neither facts nor the bounds on single cells imply."""
    boxes = _boxes(reading)
    kept, least, of_pairs = [], FREE, FREE
    for bound in reading.bounds:
        open_ = _open_groups(bound, reading, changes, boxes)
        if open_.any():
            kept.append(bound)
            least = min(least, _least_rate(bound.family, open_, reading.factors))
            paired = open_ & _moved_by_pairs(bound.family, changes)
            of_pairs = min(of_pairs, _least_rate(bound.family, paired, reading.factors))
    return Binding(
        tuple(kept),
        least,
        of_pairs,
        any(bound.has_lower for bound in kept),
        any(bound.has_upper for bound in kept),
    )


Box = tuple[float | NDArray[np.float64], float | NDArray[np.float64]]


def _boxes(reading: Reading) -> Box:
    """The limits of each cell by itself; two numbers where they are all the same."""
    low: float | NDArray[np.float64] = -math.inf
    high: float | NDArray[np.float64] = math.inf
    for bound in reading.bounds:
        if not bound.family.is_single or bound.band is not None:
            continue
        lower = float(bound.lower) if bound.has_lower else -math.inf
        upper = float(bound.upper) if bound.has_upper else math.inf
        if bound.family.is_full:
            low, high = np.maximum(low, lower), np.minimum(high, upper)
        else:
            assert bound.family.groups is not None
            inside = bound.family.groups >= 0
            low = np.maximum(low, np.where(inside, lower, -math.inf))
            high = np.minimum(high, np.where(inside, upper, math.inf))
    return low, high


def _open_groups(bound: Bounded, reading: Reading, changes: Changes, boxes: Box) -> NDArray[np.bool_]:
    """Which forms of a bound can move and are not held by the cells' own limits."""
    family = bound.family
    if family.is_single:
        assert family.groups is not None
        if family.is_identity:
            return ~changes.determined
        movable = np.zeros(family.count, dtype=bool)
        held = family.groups >= 0
        movable[family.groups[held]] = changes.lattice.least[held] > 0
        return movable
    implied = np.zeros(family.count, dtype=bool)
    if bound.band is None:
        low, high = _sums(family, boxes)
        implied = ((low >= bound.lower) | (not bound.has_lower)) & (
            (high <= bound.upper) | (not bound.has_upper)
        )
    if implied.all():
        return ~implied
    return ~implied & ~fixed_groups(family, reading, changes) & _occupied(family)


def _moved_by_pairs(family: Family, changes: Changes) -> NDArray[np.bool_]:
    """Which forms a count moved from cell to cell can change; for single cells, all that move."""
    pool = changes.lattice.pool
    free = pool < 0
    if family.groups is None or family.is_single or not free.any():
        return np.ones(family.count, dtype=bool)
    return ~determined_groups(family, np.where(free, pool.max() + 1, pool))


def _occupied(family: Family) -> NDArray[np.bool_]:
    return family.sizes > 0 if family.groups is not None else np.ones(1, dtype=bool)


def _sums(family: Family, boxes: Box) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The least and largest value of every form over the boxes of the cells."""
    if family.groups is None:
        assert family.row is not None
        cells, weights = family.row
        room = (int(cells.max()) + 1,)
        low, high = (np.broadcast_to(side, np.shape(side) or room)[cells] for side in boxes)
        least = np.where(weights > 0, weights * low, weights * high).sum()
        most = np.where(weights > 0, weights * high, weights * low).sum()
        return np.array([least]), np.array([most])
    found = []
    for side in boxes:
        if np.ndim(side) == 0:
            with np.errstate(invalid="ignore"):
                found.append(np.where(family.sizes > 0, family.sizes * np.float64(side), 0.0))
        else:
            inside = family.groups >= 0
            weights = np.asarray(side)[inside]
            found.append(np.bincount(family.groups[inside], weights=weights, minlength=family.count))
    return found[0], found[1]


def _least_rate(family: Family, open_: NDArray[np.bool_], factors: Sequence[Factor]) -> float:
    """The least ε with which an open form of a family is measured, 0 where one is not."""
    if not open_.any():
        return FREE
    rates = np.zeros(family.count)
    count = int(np.count_nonzero(open_))
    for factor in factors:
        if factor.currency != "epsilon" or factor.band is not None:
            continue
        if family is factor.family or same(family, factor.family):
            rates += factor.rate
        elif family.groups is not None and factor.family.count >= count:  # else some form is not measured
            rates[_matches(family, factor.family)] += factor.rate
    return float(rates[open_].min())


def _matches(family: Family, other: Family) -> NDArray[np.bool_]:
    """Which groups of a family are groups of the other, under whatever number."""
    assert family.groups is not None
    assert other.groups is not None
    inside = family.groups >= 0
    group, there = family.groups[inside], other.groups[inside]
    value = np.full(family.count, -1, dtype=np.int64)
    value[group] = there
    equal = value >= 0
    equal[equal] = family.sizes[equal] == other.sizes[value[equal]]
    equal[group[value[group] != there]] = False
    return equal
