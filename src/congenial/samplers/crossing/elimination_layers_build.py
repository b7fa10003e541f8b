"""From the tables of layers to a program, and from a coarse copy's foresight to full windows."""

from __future__ import annotations

import math
from itertools import permutations

import numpy as np

from congenial.samplers.base import FloatArray, IntArray
from congenial.samplers.crossing.elimination_bound import RAISE
from congenial.samplers.crossing.elimination_build import Pool, rounding
from congenial.samplers.crossing.elimination_layers import (
    Frame,
    Key,
    Seen,
    Split,
    Tables,
    Window,
    Windows,
    convolved,
    eliminated,
    first_depths,
    flow,
    frame,
    grid_for,
    improved,
    last_depth,
    windows,
)
from congenial.samplers.crossing.elimination_lines import Lines
from congenial.samplers.crossing.elimination_model import Model
from congenial.samplers.crossing.elimination_program import Look, Move, Program, Slot

_SOFT = 0.01
_TAIL = 2.0**-14
"""How much of the mass goes through the tail of a cell, on either side."""


def coarse_windows(table: Frame) -> Windows:
    """Windows for a coarse copy: partial sums go about as far as one cell does. A guess, never for a draw."""
    far = max(len(law) for law in table.laws.values()) // 2 + 1
    middle = {
        key: table.lo[key] + float(law @ np.arange(len(law))) for key, law in table.laws.items()
    }

    def reach(cells: list[Key]) -> tuple[int, int]:
        centre = sum(middle[k, int(table.of_row[i]), j] for i, j, k in cells)
        return math.floor(centre) - far, math.ceil(centre) + far

    return windows(table, reach)


def arranged(model: Model, lines: Lines) -> tuple[Lines, float]:
    """The table with its axes, layers and columns in the order with the least bound before improvement."""
    best: tuple[float, Lines] | None = None
    for axes in permutations(range(3)):
        turned = lines.turned((axes[0], axes[1], axes[2]))
        spread = _spreads(model, turned)
        layers = np.argsort(spread.sum(axis=(0, 1)), kind="stable")
        order = turned.sorted_by(layers, np.argsort(spread.sum(axis=(0, 2)), kind="stable"))
        table = frame(model, order)
        spans = coarse_windows(table)
        bound = eliminated(table, spans, grid_for(table), first_depths(table, spans)).log_bound
        if best is None or bound < best[0] - 1e-9:
            best = (bound, order)
    assert best is not None
    return best[1], best[0]


def _spreads(model: Model, lines: Lines) -> FloatArray:
    found = np.zeros(lines.cells.shape)
    for at in np.ndindex(*lines.cells.shape):
        e = int(lines.cells[at])
        if e >= 0:
            law = model.laws[e]
            z = np.arange(len(law))
            found[at] = float(law @ (z - float(law @ z)) ** 2)
    return found


def foreseen(
    small: Frame, few: Windows, coarse: dict[Key, FloatArray], full: Frame, spans: Windows, grid: int
) -> dict[Key, FloatArray]:
    """V on full windows: what the laws give there, times what the coarse copy learned (interpolated)."""
    _, c, d = full.lines.shape
    found: dict[Key, FloatArray] = {}
    for a in range(len(full.first)):
        for j in range(c):
            found[0, a, j] = np.ones(1)
            found[d - 1, a, j] = last_depth(full, spans, a, j)
            for k in range(d - 2, 0, -1):
                key = (k, a, j)
                plain = convolved(small, few, key, coarse[k + 1, a, j])
                learned = np.log(coarse[key]) - np.log(plain)
                at = (few.s[key][0] + np.arange(len(plain))) * grid
                s = np.arange(spans.s[key][0], spans.s[key][1] + 1)
                raised = convolved(full, spans, key, found[k + 1, a, j]) * np.exp(np.interp(s, at, learned))
                found[key] = np.maximum(raised / raised.max(), 1e-290)
    return found


def learned(table: Frame, evaluations: int) -> tuple[Windows, Tables]:
    """The best foresight on a coarse copy."""
    spans = coarse_windows(table)
    return spans, improved(table, spans, grid_for(table), first_depths(table, spans), evaluations)


def work(table: Frame, spans: Windows) -> float:
    """Multiplications of one pass, Fourier sums apart."""
    _, c, d = table.lines.shape
    total = 0.0
    for k in range(d - 1):
        for a in range(len(table.first)):
            for j in range(c - 1):
                key = (k, a, j)
                sizes = [w[1] - w[0] + 1 for w in (spans.s[key], spans.t[key], spans.g[key])]
                total += math.prod(sizes) * len(table.laws[key]) * 2.0
    return total


def memory(table: Frame, spans: Windows) -> float:
    """Bytes of the tables of rows."""
    sizes = [(spans.t[key], spans.g[key]) for key in table.laws]
    return 24.0 * sum((t[1] - t[0] + 1) * (g[1] - g[0] + 1) for t, g in sizes)


class _Builder:
    """Tables in a pool, and where each is looked up."""

    def __init__(self, table: Frame, spans: Windows, found: Tables, splits: dict[Key, Split]) -> None:
        self.table, self.spans = table, spans
        self.r, self.c, self.d = table.lines.shape
        self.pool = Pool()
        self.depth = {key: self.pool.add(v) for key, v in found.depth.items()}
        self.row = {key: self._add(v) for key, v in found.row.items() if key[2] > 0}
        self.core = {key: self._add((found.row[key] - v) * RAISE) for key, v in found.tail.items()}
        self.tail = {key: self._add(v * RAISE) for key, v in found.tail.items()}
        self.splits = splits

    def _add(self, values: FloatArray) -> int:
        """A table of rows; t runs fastest: the cells of a row move along it."""
        return self.pool.add(values.ravel())

    def s(self, i: int, j: int) -> int:
        """The register of a depth."""
        return i * self.c + j

    def t(self, i: int, k: int) -> int:
        """The register of a row in a layer."""
        return self.r * self.c + i * self.d + k

    def g(self, i: int, j: int) -> int:
        """The register of the depths j … c-1 of a row, 0 < j < c-1."""
        return self.s(i, j) if j == self.c - 1 else self.r * (self.c + self.d) + i * self.c + j

    @property
    def registers(self) -> int:
        """How many registers there are."""
        return self.r * (2 * self.c + self.d)

    def key(self, i: int, j: int, k: int) -> Key:
        """The tables of a cell."""
        return k, int(self.table.of_row[i]), j

    def look_depth(self, i: int, j: int, k: int) -> Look:
        """V before layer k."""
        key = self.key(i, j, k)
        return Look(self.depth[key] - self.spans.s[key][0], ((self.s(i, j), 1),) if k else ())

    def look_row(self, i: int, j: int, k: int, of: dict[Key, int]) -> Look:
        """A table of a row before column j of layer k; it moves by one with t."""
        key = self.key(i, j, k)
        if j == 0:
            return Look(of[key], ())
        t, t_hi = self.spans.t[key]
        if k == 0:
            return Look(of[key] - t, ((self.t(i, k), 1),))
        count = t_hi - t + 1
        places = ((self.t(i, k), 1), (self.g(i, j), count))
        return Look(of[key] - t - self.spans.g[key][0] * count, places)

    def moved(self, i: int, j: int, k: int) -> tuple[tuple[int, int], ...]:
        """The registers that a cell moves."""
        found = [(self.s(i, j), 1), (self.t(i, k), 1)]
        found += [(self.g(i, q), 1) for q in range(1, min(j, self.c - 2) + 1)]
        return tuple(found)

    def slot(
        self,
        i: int,
        j: int,
        k: int,
        held: list[tuple[int, int, int, int]],
        taken: list[tuple[Look, int]],
    ) -> Slot:
        """A cell; what is missing from the table is a variable that nobody reads, always zero."""
        key = self.key(i, j, k)
        e = int(self.table.lines.cells[i, j, k])
        known = int((self.table.lines.cells >= 0).sum())
        law, lo = self.table.laws[key], self.table.lo[key]
        name = e if e >= 0 else known
        moved, split = self.moved(i, j, k), self.splits.get(key)
        if split is None:
            return Slot(name, lo, law, tuple(held), tuple(taken), moved)
        where = (self.s(i, j), *split.s)
        return Slot(name, lo, law, tuple(held), tuple(taken), moved, split.z, where)

    def line(self, j: int, k: int) -> Move:
        """All cells of a column, given that they add up to its total."""
        slots, given = [], []
        for i in range(self.r):
            after, row = self.spans.s[self.key(i, j, k + 1)], self.spans.t[self.key(i, j + 1, k)]
            held = [(self.s(i, j), 1, *after), (self.t(i, k), 1, *row)]
            taken = [(self.look_depth(i, j, k + 1), 1), (self.look_row(i, j + 1, k, self.row), 1)]
            slots.append(self.slot(i, j, k, held, taken))
            if k:
                look = self.look_depth(i, j, k)
                given.append((look, look.const))
            given.append((self.look_row(i, j, k, self.core), self.look_row(i, j, k, self.tail).const))
        return Move(tuple(slots), tuple(given), True, True, int(self.table.lines.column[j, k]))

    def last_column(self, i: int, k: int) -> Move:
        """The cell that its row forces; the state after the layer must be inside all windows."""
        j = self.c - 1
        total = int(self.table.lines.row[i, k])
        held = [(self.t(i, k), 1, total, total), (self.s(i, j), 1, *self.spans.s[self.key(i, j, k + 1)])]
        if k + 1 < self.d - 1:
            held += [(self.g(i, q), 1, *self.spans.g[self.key(i, q, k + 1)]) for q in range(1, self.c - 1)]
        return Move((self.slot(i, j, k, held, []),), (), False)

    def last_layer(self, i: int, j: int) -> Move:
        """The cell that its depth forces."""
        total = int(self.table.lines.depth[i, j])
        return Move((self.slot(i, j, self.d - 1, [(self.s(i, j), 1, total, total)], []),), (), False)


def layered(
    model: Model, table: Frame, spans: Windows, found: Tables, splits: dict[Key, Split]
) -> tuple[Program, float]:
    """(program, relative error of a draw)."""
    make = _Builder(table, spans, found, splits)
    moves = []
    for k in range(make.d - 1):
        moves += [make.line(j, k) for j in range(make.c - 1)]
        moves += [make.last_column(i, k) for i in range(make.r)]
    moves += [make.last_layer(i, j) for i in range(make.r) for j in range(make.c)]
    program = Program(
        tuple(moves), make.pool.joined(), make.registers, model.parent, model.slope, model.base
    )
    error = model.relative_error
    for move in moves:
        width = sum(len(slot.mu) for slot in move.slots)
        # look-ups of the whole step, convolutions of all its slots behind each
        error += sum(rounding(width, 2 * len(move.slots)) for _ in move.slots)
    return program, error


def seen_by(table: Frame, spans: Windows, found: Tables) -> Seen:
    """What the flow of the bound's derivative goes through."""
    seen = Seen({}, {})
    soft = eliminated(table, spans, grid_for(table), found.depth, _SOFT)
    flow(table, spans, grid_for(table), soft, _SOFT, seen)
    return seen


def core_of(mass: FloatArray, small_lo: int, grid: int, lo: int, hi: int) -> Window:
    """The z that nearly all mass goes through on a coarse copy, and half as many more."""
    above = np.minimum(np.cumsum(mass), np.cumsum(mass[::-1])[::-1]) > _TAIL * max(float(mass.sum()), 1e-300)
    inside = np.flatnonzero(above)
    if not len(inside):
        return lo, hi
    low, high = (small_lo + int(inside[0])) * grid, (small_lo + int(inside[-1])) * grid
    more = (high - low) // 4 + grid + 1
    return max(lo, low - more), min(hi, high + more)


def split_at(
    small: Frame, few: Windows, key: Key, core: Window, mode: tuple[int, int], found: Tables, grid: int
) -> Window | None:
    """The s at which hardly any weight lies outside the core, at the likeliest g and t; None if none.

    All on the coarse copy; the windows returned are on the full one.
    """
    k, a, j = key
    law = small.laws[key]
    z = small.lo[key] + np.arange(len(law))
    outside = (z * grid < core[0]) | (z * grid > core[1])
    t, rest = mode[1], found.row[k, a, j + 1]
    shares = []
    for s in range(few.s[key][0], few.s[key][1] + 1):
        weights = law * _at(found.depth[k + 1, a, j], s + z - few.s[k + 1, a, j][0])
        g = min(max(mode[0] - s - few.g[k, a, j + 1][0], 0), rest.shape[0] - 1)
        weights = weights * _at(rest[g], t + z - few.t[k, a, j + 1][0])
        whole = float(weights.sum())
        shares.append(float(weights[outside].sum()) / whole if whole > 0 else 1.0)
    good = np.array(shares) <= _TAIL
    best = int(np.argmin(shares))
    if not good[best]:
        return None
    low = high = best
    while low > 0 and good[low - 1]:
        low -= 1
    while high + 1 < len(good) and good[high + 1]:
        high += 1
    return (few.s[key][0] + low) * grid, (few.s[key][0] + high) * grid


def splits_of(
    small: Frame, few: Windows, taught: Tables, full: Frame, spans: Windows, grid: int
) -> dict[Key, Split]:
    """Where the z of cells in lines are split into core and tail."""
    seen = seen_by(small, few, taught)
    found: dict[Key, Split] = {}
    for key, mass in seen.z.items():
        core = core_of(mass, small.lo[key], grid, full.lo[key], full.hi(key))
        if core[1] - core[0] + 1 > 0.7 * len(full.laws[key]):
            continue
        near = split_at(small, few, key, core, seen.mode[key], taught, grid)
        if near is not None:
            low, high = max(near[0], spans.s[key][0]), min(near[1], spans.s[key][1])
            if low <= high:
                found[key] = Split(core, (low, high))
    return found


def _at(values: FloatArray, places: IntArray) -> FloatArray:
    known = (places >= 0) & (places < len(values))
    return np.where(known, values[np.clip(places, 0, len(values) - 1)], 0.0)


def tables(
    table: Frame, spans: Windows, depth: dict[Key, FloatArray], splits: dict[Key, Split]
) -> Tables:
    """The tables of a draw."""
    return eliminated(table, spans, grid_for(table), depth, splits=splits)
