"""Build the tables of twisted columns: backward over the columns, all row classes side by side.

What goes into the certificate is gathered on the way: the mass that windows leave out, in units of the
bound, and the count of roundings.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from congenial.samplers.base import FloatArray
from congenial.samplers.crossing import _twisted_chance_kernels as kernels
from congenial.samplers.crossing import _twisted_setup_kernels as setup
from congenial.samplers.crossing.tables import Unary
from congenial.samplers.crossing.twisted_bounds import Bounds, Grid, choose_grid, column_bounds
from congenial.samplers.crossing.twisted_windows import Step, Values, make_step, prefixes, scaled

_ULP = 2.0**-53
_UPWARD = 1 + 1e-9
_RARE_REMAINDER = 2.0**-9  # remainders beyond these tails have no stored sums
_LARGEST_GROUP = 2.0**25  # rows² × window from which drawing them one by one would take too much memory
_STATE = 128.0  # bytes of a state but for its frequencies and stored sums
_RARE_VALUE = 2.0**-10  # nor have values of z beyond these


class InfeasibleError(Exception):
    """No table satisfies the margins inside the windows."""


class TooLargeError(Exception):
    """The tables would not fit into the memory that was allowed."""


@dataclass(frozen=True, eq=False)
class Missing:
    """What the windows of one row class leave out, relative to its share of the bound, as log2."""

    log2_windows: float
    """Laws of cells: what the given windows left out."""
    log2_remainders: float
    """Remainders dropped here."""


@dataclass(frozen=True, eq=False)
class Built:
    """Tables, and what the certificate needs of them."""

    tables: kernels.Tables
    missing: tuple[Missing, ...]
    first_chance: float
    """A lower bound of P(Σ Z = 0) in the first column."""
    relative_error: float


class _Store:
    """Flat arrays that grow column by column."""

    def __init__(self, classes: int, columns: int) -> None:
        self.windows = np.zeros((classes, columns, kernels.WINDOWS), dtype=np.int64)
        self.facts: list[FloatArray] = []
        self.marks: list[NDArray[np.int64]] = []
        self.numbers: list[FloatArray] = []
        self.guides: list[NDArray[np.int16]] = []
        self.states = self.numbers_stored = self.guides_stored = 0

    @property
    def used(self) -> float:
        """Bytes so far."""
        return _STATE * self.states + 8.0 * self.numbers_stored + 2.0 * self.guides_stored

    def add_numbers(self, numbers: FloatArray) -> int:
        """Store numbers; where they begin."""
        self.numbers.append(numbers)
        self.numbers_stored += len(numbers)
        return self.numbers_stored - len(numbers)

    def add_values(self, t: int, j: int, law: Unary, lo: int, values: FloatArray) -> FloatArray:
        """The law of a cell and the states of its class at its column; the states' facts, V filled in."""
        states = (self.states, lo, lo + len(values) - 1)
        self.windows[t, j] = (*states, self.add_numbers(law.weights), law.lo, law.hi)
        self.states += len(values)
        facts = np.zeros((len(values), kernels.FACTS))
        facts[:, kernels.VALUE] = values
        self.facts.append(facts)
        return facts

    def add_step(
        self, t: int, j: int, step: Step, values: FloatArray, bounds: Bounds, room: float
    ) -> None:
        """Everything of a class at a column that is drawn."""
        facts = self.add_values(t, j, step.law, step.lo, values)
        facts[:, kernels.LEFT], facts[:, kernels.RIGHT] = step.left, step.right
        facts[:, kernels.PEAK] = step.peak
        facts[:, kernels.BOUND], facts[:, kernels.REST] = bounds.bound, bounds.rest
        facts[:, kernels.GROUP_BOUND], facts[:, kernels.GROUP_REST] = bounds.group_bound, bounds.group_rest
        a, b = bounds.begin, bounds.begin + len(bounds.first)
        facts[a:b, kernels.UP], facts[a:b, kernels.DOWN] = bounds.wraps.T
        marks = self._marks(step, room)
        waves = np.hstack([bounds.first.real, bounds.first.imag])
        marks[a:b, kernels.WAVE] = self.add_numbers(waves.ravel()) + waves.shape[1] * np.arange(b - a)
        self.marks.append(marks)

    def _marks(self, step: Step, room: float) -> NDArray[np.int64]:
        """Where each state's stored sums lie; -1 where there are none."""
        marks = np.full((len(step.peak), kernels.MARKS), -1, dtype=np.int64)
        marks[:, kernels.TOP] = step.top
        a, b = step.likely(_RARE_REMAINDER)
        guides = 2 * kernels.GUIDES * (b - a)
        space = int(min((room - 2.0 * guides) / 8.0, (b - a) * (len(step.law.weights) + 2.0)))
        if space <= 0 or len(step.law.weights) >= 1 << 15:
            return marks
        sums, guide = np.empty(space), np.empty(guides, dtype=np.int16)
        written = setup.pack(*step.line, step.lo + a, step.top[a:b], _RARE_VALUE, sums, marks[a:b], guide)
        if written < 0:
            marks[:, kernels.AT] = -1
            return marks
        marks[a:b, kernels.AT] += self.add_numbers(sums[:written].copy())
        marks[a:b, kernels.GUIDE] += self.guides_stored
        self.guides.append(guide)
        self.guides_stored += guides
        return marks


class _Lane:
    """One row class on its way back: the values of the columns done, and the mass lost."""

    def __init__(self, laws: Sequence[Unary], log2_prefix: float) -> None:
        self.laws = laws
        self.prefixes = prefixes(laws, log2_prefix)
        self.windows: list[tuple[float, int]] = []
        self.remainders: list[tuple[float, int]] = []
        self.after: Values = Values(0, np.ones(1), 0)

    def finish_last(self, log2_mass: float) -> None:
        """The last column: V = φ, on the remainders that matter."""
        law, prefix = self.laws[-1], self.prefixes[-1]
        nothing = Values(0, np.ones(1), 0)
        step = make_step(law, nothing, prefix, log2_mass)
        if step is None:
            raise InfeasibleError
        self.remainders.append((step.dropped, 0))
        self.windows.append((law.trimmed, 0))
        self.after = scaled(step.lo, law.weights[step.lo - law.lo :][: len(step.peak)], 0)

    def step(self, j: int, log2_mass: float) -> Step:
        """Column j; the masses that it loses are noted."""
        law = self.laws[j]
        step = make_step(law, self.after, self.prefixes[j], log2_mass)
        if step is None:
            raise InfeasibleError
        self.remainders.append((step.dropped, self.after.exponent))
        self.windows.append((law.trimmed * float(self.after.weights.max()), self.after.exponent))
        return step

    def missing(self, whole: float) -> Missing:
        """Relative to `whole`, M_1(0) in the units of the second column's values."""
        slip = sum(law.trimmed for law in self.laws)
        found = []
        for parts in (self.windows, self.remainders):
            logs = [math.log2(m) + e for m, e in parts if m > 0]
            top = max(logs, default=-math.inf)
            total = -math.inf if top == -math.inf else top + math.log2(sum(2.0 ** (v - top) for v in logs))
            found.append(total - math.log2(whole) - self.after.exponent + 2 * slip + 1e-6)
        return Missing(*found)


def build(
    laws: Sequence[Sequence[Unary]],
    row_class: NDArray[np.int64],
    place: NDArray[np.int64],
    log2_mass: float,
    memory: float,
) -> Built:
    """Tables for rows of the given classes; `laws` by class and column, tilted and in order.

    **Exactness.** Each window of remainders leaves out at most 2^log2_mass of its own mass; what that
    comes to is in `missing`. Sums and products of positive numbers only, but for the characteristic
    functions, which decide nothing alone.
    **Cost.** Remainders × window of a cell, and a Fourier transform a remainder, a class and column.
    """
    counts = np.bincount(row_class).astype(np.int64)
    columns = len(laws[0])
    lanes = [_Lane(row, log2_mass - 16) for row in laws]
    store = _Store(len(laws), columns)
    grids: list[Grid] = []
    limits: list[int] = []
    slack: list[tuple[float, float, float]] = []
    error = 0.0
    for t, lane in enumerate(lanes):
        lane.finish_last(log2_mass)
        store.add_values(t, columns - 1, lane.laws[-1], lane.after.lo, lane.after.weights)
        store.marks.append(np.full((len(lane.after.weights), kernels.MARKS), -1, dtype=np.int64))
    steps: list[Step] = []
    for j in range(columns - 2, -1, -1):
        steps = [lane.step(j, log2_mass) for lane in lanes]
        error += _column_error(steps, counts)
        grid = choose_grid(steps, row_class)
        for t, (lane, step) in enumerate(zip(lanes, steps, strict=True)):
            room = (memory - store.used) / (j * len(lanes) + len(lanes) - t)
            room -= len(step.peak) * (_STATE + 16.0 * grid.stored)
            if store.used > memory:
                raise TooLargeError
            bounds = column_bounds(step, grid, t)
            after = scaled(step.lo, step.total * bounds.bound, step.after.exponent)
            lane.after = after if j else lane.after
            store.add_step(t, j, step, after.weights, bounds, room)
        grids.append(grid)
        limits.append(_limit(grid, steps, row_class))
        slack.append((grid.slack, grid.group_wrap, _rounding(steps, counts)))
    for n, row in zip(counts, laws, strict=True):
        error += float(n) * sum(law.relative_error for law in row)
    missing = tuple(lane.missing(float(step.total[0])) for lane, step in zip(lanes, steps, strict=True))
    tables = _tables(store, row_class, place, grids[::-1], limits[::-1], np.array(slack[::-1]))
    chance = _first_chance(steps, counts)
    if not chance:
        raise InfeasibleError
    return Built(tables, missing, chance, 2 * error)


def _column_error(steps: Sequence[Step], counts: NDArray[np.int64]) -> float:
    """How far rounding moves |ln| of the chance of one column.

    Picks count in the column itself, in its normaliser and in that of its group; convolutions in the
    column's test, in its group's and in that one's normaliser, and five times more where a group is drawn
    one by one. See docs/explanation/twisted-columns.md.
    """
    rows = int(counts.sum())
    picks = sum(float(n) * 6 * (step.spread + 2) for n, step in zip(counts, steps, strict=True))
    sums = sum(float(n) * (len(step.law.weights) + 4) for n, step in zip(counts, steps, strict=True))
    return (3 * picks + 8 * sums + 200 * rows + 8) * _ULP


def _rounding(steps: Sequence[Step], counts: NDArray[np.int64]) -> float:
    """Well above the relative rounding of P(Σ Z = 0) / ΠH by any way of adding up positive numbers."""
    lengths = sum(float(n) * (len(step.law.weights) + 5) for n, step in zip(counts, steps, strict=True))
    return max(1e-9, 16 * (lengths + 2 * float(counts.sum()) + 8) * _ULP)


def _first_chance(steps: Sequence[Step], counts: NDArray[np.int64]) -> float:
    """P(Σ Z = 0) in the first column; tails are dropped, so it is a lower bound."""
    law, lo = np.ones(1), 0
    for step, n in zip(steps, counts, strict=True):
        one = step.typical_law()
        for _ in range(int(n)):
            law = np.convolve(law, one)
            lo += step.law.lo
            inside = np.flatnonzero(law > 1e-14)
            law, lo = law[inside[0] : inside[-1] + 1], lo + int(inside[0])
    chance = float(law[-lo]) if 0 <= -lo < len(law) else 0.0
    return chance / _UPWARD


def _column_marks(grid: Grid, phases: int, limit: int) -> NDArray[np.int64]:
    marks = np.zeros(kernels.COLUMN_MARKS, dtype=np.int64)
    marks[kernels.KEPT], marks[kernels.GROUP_KEPT] = grid.kept, grid.group_kept
    marks[kernels.STORED], marks[kernels.PERIOD] = grid.stored, grid.period
    marks[kernels.OUTSIDE], marks[kernels.PHASE] = grid.outside, phases
    marks[kernels.LIMIT] = limit
    return marks


def _limit(grid: Grid, steps: Sequence[Step], row_class: NDArray[np.int64]) -> int:
    """Tries at forcing one row after which drawing rows one by one, given their sum, costs no more."""
    group = grid.order[grid.outside :] if grid.outside < len(grid.order) else grid.order
    width = float(np.mean([len(steps[t].law.weights) for t in row_class[group]]))
    if len(group) ** 2 * width > _LARGEST_GROUP:
        return 1 << 62
    return max(64, int(len(group) * width**2 / 100))


def _tables(
    store: _Store,
    row_class: NDArray[np.int64],
    place: NDArray[np.int64],
    grids: Sequence[Grid],
    limits: Sequence[int],
    slack: FloatArray,
) -> kernels.Tables:
    column_marks = []
    for grid, limit in zip(grids, limits, strict=True):
        turns = 2 * np.pi * np.arange(grid.period) / grid.period
        phases = store.add_numbers(np.concatenate([np.cos(turns), np.sin(turns)]))
        column_marks.append(_column_marks(grid, phases, limit))
    return kernels.Tables(
        rows=len(row_class),
        columns=len(grids) + 1,
        row_class=row_class,
        place=place,
        windows=store.windows,
        facts=np.concatenate(store.facts),
        marks=np.concatenate(store.marks),
        column_marks=np.array(column_marks),
        order=np.array([grid.order for grid in grids], dtype=np.int64),
        slack=slack,
        numbers=np.concatenate(store.numbers),
        guides=np.concatenate([*store.guides, np.zeros(1, dtype=np.int16)]),
    )
