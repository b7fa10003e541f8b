"""Demands on sums of cells, and where among the cells they contradict each other.

A demand says lower ≤ w·y ≤ upper for each of some forms: a bound, a fact with its value, cells that are
zero by logic, counts that are never negative. Where all forms nest, the sums that can be reached are
intervals, and an empty one shows a conflict; where they cross, `farkas.py` is asked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from congenial.problems.structure import FREE, Forms

IntArray = NDArray[np.int64]
Mask = NDArray[np.bool_]
Side = Literal["lower", "upper"]


@dataclass(frozen=True, eq=False)
class Demand:
    """lower ≤ w·y ≤ upper for each of some forms, ±FREE where there is no end.

    `kind` says who demands it: a bound, a fact, cells that are zero by logic, or that counts are counts.
    """

    kind: Literal["bound", "fact", "zeros", "counts"]
    name: str
    forms: Forms
    lower: IntArray
    upper: IntArray

    @property
    def is_on_cells(self) -> bool:
        """Whether each form is a cell, form i cell i."""
        return self.forms.is_identity


@dataclass(frozen=True, eq=False)
class Share:
    """What one side of one demand has in a conflict: which forms, each how many times, and their sum."""

    demand: Demand
    side: Side
    forms: IntArray
    times: tuple[int, ...]

    @property
    def total(self) -> int:
        """The ends added up."""
        ends = (self.demand.lower if self.side == "lower" else self.demand.upper)[self.forms]
        return sum(end * many for end, many in zip(ends.tolist(), self.times, strict=True))


Conflict = tuple[Share, ...]


def suspicious(demands: Sequence[Demand], cells: int) -> Mask | None:
    """Cells among which a conflict is: those of one form where forms nest, all where they do not.

    Where forms nest, the sums that can be reached are intervals, from the cells up; None where none is
    empty, and then all demands can be met.
    """
    ends = ends_of_cells(demands, cells)
    clash = ends.low > ends.high
    if clash.any():
        return np.asarray(np.arange(cells) == int(np.argmax(clash)))
    low, high = floats(ends.low), floats(ends.high)
    coarse = [demand for demand in demands if not demand.is_on_cells]
    top = np.arange(cells)
    for demand in sorted(coarse, key=lambda demand: -demand.forms.count):
        groups = demand.forms.groups
        joined = None if groups is None else _joined(groups, top, len(low))
        if groups is None or joined is None:
            return np.ones(cells, dtype=bool)
        inside = joined >= 0
        mine = np.bincount(joined[inside], low[inside], demand.forms.count)
        most = np.bincount(joined[inside], high[inside], demand.forms.count)
        mine, most = np.maximum(mine, floats(demand.lower)), np.minimum(most, floats(demand.upper))
        empty = mine > most
        if empty.any():
            return np.asarray(groups == int(np.argmax(empty)))
        fresh = np.where(inside, joined, demand.forms.count + np.cumsum(~inside) - 1)
        top = fresh[top]
        low, high = np.concatenate([mine, low[~inside]]), np.concatenate([most, high[~inside]])
    return None


def _joined(groups: NDArray[np.int32], top: IntArray, tops: int) -> IntArray | None:
    """For each set of cells, the group that it lies in (-1: in none); None where a group cuts one."""
    sample = np.full(tops, -1, dtype=np.int64)
    sample[top] = groups
    return sample if bool((sample[top] == groups).all()) else None


def floats(ends: IntArray) -> NDArray[np.float64]:
    """Ends as floats, infinite where there is none."""
    found = ends.astype(np.float64)
    found[ends >= FREE], found[ends <= -FREE] = np.inf, -np.inf
    return found


@dataclass(frozen=True, eq=False)
class CellEnds:
    """The tightest ends of each cell, and which demand set them (-1: none)."""

    low: IntArray
    high: IntArray
    low_by: IntArray
    high_by: IntArray


def ends_of_cells(demands: Sequence[Demand], cells: int) -> CellEnds:
    found = CellEnds(*(np.full(cells, v, dtype=np.int64) for v in (-FREE, FREE, -1, -1)))
    for at, demand in enumerate(demands):
        if demand.is_on_cells:
            tighter = demand.lower > found.low
            found.low[tighter], found.low_by[tighter] = demand.lower[tighter], at
            tighter = demand.upper < found.high
            found.high[tighter], found.high_by[tighter] = demand.upper[tighter], at
    return found
