"""What facts and bounds leave for every cell: the interval that anybody can compute from what is published.

In come the structure and the values of its facts; the confidential table is not needed beyond them.
Counts are never negative, and everybody knows it. Where facts and bounds nest, two passes over a tree are
exact. Two complete crossing families have Fréchet's closed form. Elsewhere linear programs (HiGHS), each
cell least and most: exact for two crossing chains with limits on cells (totally unimodular), an interval
that may be too wide for other facts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from congenial.privacy.changes import Changes
from congenial.privacy.general import rows_over
from congenial.privacy.partitions import chained
from congenial.privacy.reading import Family, Reading

Integers = NDArray[np.int64]
NONE = np.int64(2**62)
"""No upper limit."""
_PROGRAMS = 1500  # cells that are given a linear program each way


@dataclass(frozen=True, eq=False, repr=False)
class Intervals:
    """lower ≤ cell ≤ upper for every open cell; `upper` is `NONE` where nothing limits it."""

    lower: Integers
    upper: Integers
    is_exact: bool

    @property
    def widths(self) -> Integers:
        """How many values are left to each cell, less one."""
        return np.asarray(np.where(self.upper >= NONE, NONE, self.upper - self.lower))


@dataclass(frozen=True, eq=False, repr=False)
class Known:
    """A family whose forms are known to lie between two values each."""

    family: Family
    lower: Integers
    upper: Integers


def intervals(reading: Reading, changes: Changes, known: Sequence[Known]) -> Intervals | None:
    """The interval of every open cell, or None where there are too many cells for a program each."""
    chain = chained([one.family for one in known])
    if chain is not None:
        return _nested(known, chain, reading.size)
    found = _frechet(changes, known)
    if found is not None:
        return found
    if int(np.count_nonzero(changes.lattice.least)) > _PROGRAMS:
        return None
    return _programs(reading, changes, known)


class _Level:
    """The nodes of a family in the tree: which node each open item below went to, and sums over children."""

    def __init__(self, items: Integers, node: Integers, count: int, lower: Integers, upper: Integers) -> None:
        self.items, self.node = items, node
        self.least = np.zeros(count, dtype=np.int64)
        np.add.at(self.least, node, lower[items])
        self.open = np.bincount(node[upper[items] >= NONE], minlength=count)
        self.most = np.zeros(count, dtype=np.int64)
        np.add.at(self.most, node, np.where(upper[items] >= NONE, 0, upper[items]))


def _nested(known: Sequence[Known], chain: list[Family], cells: int) -> Intervals:
    """Up: the sums of the children's intervals, cut by what is known; down: what siblings leave."""
    lower, upper = np.zeros(cells, dtype=np.int64), np.full(cells, NONE)
    current = np.arange(cells)
    sample = np.arange(cells)
    levels: list[tuple[_Level, int]] = []
    for family in chain:
        which = [one for one in known if one.family is family]
        assert family.groups is not None
        group = family.groups[sample]
        inside = np.flatnonzero(group >= 0)
        level = _Level(current[inside], group[inside].astype(np.int64), family.count, lower, upper)
        low, high = level.least.copy(), np.where(level.open > 0, NONE, level.most)
        for one in which:
            low, high = np.maximum(low, one.lower), np.minimum(high, one.upper)
        start = len(lower)
        levels.append((level, start))
        lower, upper = np.concatenate([lower, low]), np.concatenate([upper, high])
        used = np.unique(group[inside])
        place = np.zeros(family.count, dtype=np.int64)
        place[group[inside]] = sample[inside]
        outside = group < 0
        current = np.concatenate([current[outside], start + used])
        sample = np.concatenate([sample[outside], place[used]])
    for level, start in reversed(levels):
        _down(level, start, lower, upper)
    return Intervals(lower[:cells], upper[:cells], True)


def _down(level: _Level, start: int, lower: Integers, upper: Integers) -> None:
    """What a node's interval and the siblings of each item leave to the item."""
    items, node = level.items, level.node
    low, high = lower[start + node], upper[start + node]
    is_open = upper[items] >= NONE
    others_open = level.open[node] - is_open
    others_most = level.most[node] - np.where(is_open, 0, upper[items])
    others_least = level.least[node] - lower[items]
    from_below = np.where(others_open > 0, lower[items], low - others_most)
    from_above = np.where(high >= NONE, NONE, high - others_least)
    lower[items] = np.maximum(lower[items], from_below)
    upper[items] = np.minimum(upper[items], from_above)


def _frechet(changes: Changes, known: Sequence[Known]) -> Intervals | None:
    """max(0, r + c - n) … min(r, c) where rows and columns cross everywhere and nothing else is known."""
    two = [one for one in known if not one.family.is_single]
    if len(changes.lattice.chains) != 2:
        return None
    rows, columns = changes.lattice.chains
    if (rows < 0).any() or (columns < 0).any() or any((one.lower != one.upper).any() for one in two):
        return None
    if any((one.lower > 0).any() or (one.upper < NONE).any() for one in known if one.family.is_single):
        return None
    row_sums, column_sums = (_sums(label, two) for label in (rows, columns))
    if row_sums is None or column_sums is None:
        return None
    _, across = np.unique(rows * (int(columns.max()) + 1) + columns, return_inverse=True)
    sizes = np.bincount(across)
    if len(sizes) != len(np.unique(rows)) * len(np.unique(columns)):
        return None
    total = int(row_sums[np.unique(rows)].sum())
    r, c = row_sums[rows], column_sums[columns]
    alone = sizes[across] == 1
    return Intervals(np.where(alone, np.maximum(0, r + c - total), 0), np.minimum(r, c), True)


def _sums(label: Integers, known: Sequence[Known]) -> Integers | None:
    """The published sum of every pool, where one family has them all."""
    for one in known:
        assert one.family.groups is not None
        value = np.full(int(label.max()) + 1, -1, dtype=np.int64)
        value[label] = one.family.groups
        back = np.full(one.family.count, -1, dtype=np.int64)
        back[one.family.groups] = label
        there = bool((value[label] == one.family.groups).all())
        if one.family.is_full and there and bool((back[one.family.groups] == label).all()):
            return np.where(value >= 0, one.lower[np.maximum(value, 0)], 0)
    return None


def _programs(reading: Reading, changes: Changes, known: Sequence[Known]) -> Intervals:
    """A linear program for the least and the most of every cell that can move."""
    solver = _Solver(reading.size, known)
    lower, upper = np.zeros(reading.size, dtype=np.int64), np.full(reading.size, NONE)
    for cell in range(reading.size):
        lower[cell] = np.ceil(solver.extreme(cell, least=True) - 1e-6)
        most = solver.extreme(cell, least=False)
        upper[cell] = NONE if most >= float(NONE) else np.floor(most + 1e-6)
    chains = len(changes.lattice.chains) == 2
    on_cells = all(one.family.is_single or bool((one.lower == one.upper).all()) for one in known)
    return Intervals(lower, upper, chains and on_cells)


class _Solver:
    """One linear program, asked again and again with another objective from where it stood."""

    def __init__(self, cells: int, known: Sequence[Known]) -> None:
        import highspy

        self._highs = highspy.Highs()
        self._highs.setOptionValue("output_flag", False)
        self._kind = highspy
        sample = np.arange(cells)
        infinite = highspy.kHighsInf
        for _ in range(cells):
            self._highs.addVar(0.0, infinite)
        for one in known:
            matrix = rows_over([one.family], sample)
            used = _used(one.family)
            for at, row in enumerate(used):
                part = slice(matrix.indptr[at], matrix.indptr[at + 1])
                index, value = matrix.indices[part], matrix.data[part]
                high = float(one.upper[row]) if one.upper[row] < NONE else infinite
                low = float(one.lower[row]) if one.lower[row] > -NONE else -infinite
                self._highs.addRow(low, high, len(index), index.astype(np.int32), value)
        self._before = -1

    def extreme(self, cell: int, *, least: bool) -> float:
        if self._before >= 0:
            self._highs.changeColCost(self._before, 0.0)
        self._highs.changeColCost(cell, 1.0 if least else -1.0)
        self._before = cell
        self._highs.run()
        status: Any = self._highs.getModelStatus()
        if status == self._kind.HighsModelStatus.kOptimal:
            found = float(self._highs.getObjectiveValue())
            return found if least else -found
        return 0.0 if least else float(NONE)


def _used(family: Family) -> Integers:
    """The forms of a family that have a cell, in the order of the rows."""
    if family.groups is None:
        return np.zeros(1, dtype=np.int64)
    return np.flatnonzero(family.sizes > 0)
