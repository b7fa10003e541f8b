r"""Three-way tables by layers: whole columns eliminated at once, in Fourier space.

A table r×c×d with every line's sum fixed. Layers k come one after another, in each the columns j, in each
column its r cells, given that they add up to the column's total. Row i remembers what each depth has used,
s_ij, and what the row has used in this layer, t_i. The bound is a product over rows of

    V_kj(s_ij) for every depth, and B_kj(t_i, s_ij + … + s_ic) for the row,

and holds because, with h(z) = φ(z) V_k+1,j(s+z) B_k,j+1(t+z, g-s) and weights λ_i of the column's cells,

    Σ_{z: Σ z_i = total} Π_i h_i(z_i)  ≤  Π_i F_i,    F_i = ( mean_m |ĥ_i(θ_m)|^{1/λ_i} )^{λ_i}    (Hölder)
    F(t, g, s) ≤ V_kj(s) · B_kj(t, g),                B_kj(t, g) = max_s F(t, g, s) / V_kj(s).

The last column of a layer and the last layer are forced. V may be any positive functions; the log of the
bound is convex in ln V, and its derivative is a flow of mass forward. Rows that are alike share all tables.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from congenial.samplers.base import FloatArray, IntArray
from congenial.samplers.crossing import _elimination_layers_kernels as kernels
from congenial.samplers.crossing.elimination_descent import descended
from congenial.samplers.crossing.elimination_lines import Lines
from congenial.samplers.crossing.elimination_model import Model, infeasible

Key = tuple[int, int, int]
"""(layer, class of rows, column)."""
Window = tuple[int, int]
_TEMPERATURES = (0.1, 0.03, 0.01)
_LEAST_SHARE = 0.04
_TINY = 1e-290


@dataclass(frozen=True, eq=False)
class Frame:
    """A table's laws by layer, class of like rows, and column."""

    lines: Lines
    of_row: IntArray
    """The class of each row; a class is represented by its first row."""
    first: tuple[int, ...]
    counts: tuple[int, ...]
    laws: dict[Key, FloatArray]
    lo: dict[Key, int]
    powers: dict[Key, float]
    """1/λ of each class in each column."""

    def hi(self, key: Key) -> int:
        """The last value of a law's window."""
        return self.lo[key] + len(self.laws[key]) - 1

    def depth_total(self, a: int, j: int) -> int:
        return int(self.lines.depth[self.first[a], j])

    def row_total(self, a: int, k: int) -> int:
        return int(self.lines.row[self.first[a], k])


def frame(model: Model, lines: Lines) -> Frame:
    """Find rows that are alike (same laws, same totals) and set the weights of every column."""
    r, c, d = lines.shape
    seen: dict[tuple[object, ...], int] = {}
    of_row, first, laws, lo = [], [], {}, {}
    for i in range(r):
        found = [_law(model, int(lines.cells[i, j, k])) for j in range(c) for k in range(d)]
        name = (
            tuple((low, law.tobytes()) for low, law in found),
            lines.depth[i].tobytes(),
            lines.row[i].tobytes(),
        )
        if name not in seen:
            seen[name] = len(seen)
            first.append(i)
            for at, (low, law) in enumerate(found):
                key = (at % d, seen[name], at // d)
                laws[key], lo[key] = law, low
        of_row.append(seen[name])
    counts = tuple(of_row.count(a) for a in range(len(first)))
    powers = _powers(laws, counts, c, d)
    return Frame(lines, np.array(of_row), tuple(first), counts, laws, lo, powers)


def _law(model: Model, e: int) -> tuple[int, FloatArray]:
    return (int(model.lo[e]), model.laws[e]) if e >= 0 else (0, np.ones(1))


def _powers(laws: dict[Key, FloatArray], counts: tuple[int, ...], c: int, d: int) -> dict[Key, float]:
    """Weights in proportion to the variances of a column's cells, none very small; their inverses."""
    found = {}
    for k in range(d):
        for j in range(c):
            spread = np.array([_variance(laws[k, a, j]) for a in range(len(counts))])
            whole = float(spread @ counts)
            share = spread / whole if whole > 0 else np.full(len(counts), 1 / sum(counts))
            share = np.maximum(share, _LEAST_SHARE / sum(counts))
            share = share / float(share @ counts)
            for a in range(len(counts)):
                found[k, a, j] = float(1 / share[a])
    return found


def _variance(law: FloatArray) -> float:
    z = np.arange(len(law))
    return float(law @ (z - float(law @ z)) ** 2)


@dataclass(frozen=True, eq=False)
class Windows:
    """Where s before a layer, t before a column and g = s_j + … + s_c before a layer may lie."""

    s: dict[Key, Window]
    t: dict[Key, Window]
    g: dict[Key, Window]


Reach = Callable[[list[tuple[int, int, int]]], Window]
"""For the cells (row, column, layer) of a partial sum: where it may lie."""


def windows(table: Frame, reach: Reach) -> Windows:
    """Interval arithmetic inside `reach`, which is asked about every partial sum of two or more cells."""
    r, c, d = table.lines.shape
    del r
    s: dict[Key, Window] = {}
    t: dict[Key, Window] = {}
    g: dict[Key, Window] = {}
    for a, i in enumerate(table.first):
        for k in range(d):
            for j in range(c):
                before = [(i, j, q) for q in range(k)]
                after = [(i, j, q) for q in range(k, d)]
                s[k, a, j] = _window(table, a, before, after, table.depth_total(a, j), reach)
                before = [(i, q, k) for q in range(j)]
                after = [(i, q, k) for q in range(j, c)]
                t[k, a, j] = _window(table, a, before, after, table.row_total(a, k), reach)
            for j in range(c):
                if j == 0 or k == 0:
                    whole = int(table.lines.row[i, :k].sum())
                    g[k, a, j] = (whole, whole)
                elif j == c - 1:
                    g[k, a, j] = s[k, a, j]
                else:
                    before = [(i, p, q) for q in range(k) for p in range(j, c)]
                    after = [(i, p, q) for q in range(k, d) for p in range(j, c)]
                    total = sum(table.depth_total(a, p) for p in range(j, c))
                    g[k, a, j] = _window(table, a, before, after, total, reach)
    return Windows(s, t, g)


def _window(
    table: Frame, a: int, before: list[Key], after: list[Key], total: int, reach: Reach
) -> Window:
    """Values of the sum of the cells `before`, when the cells `after` must bring it to `total`."""
    ends = []
    for cells in (before, after):
        keys = [(k, a, j) for _, j, k in cells]
        ends.append((sum(table.lo[key] for key in keys), sum(table.hi(key) for key in keys)))
    low, high = max(ends[0][0], total - ends[1][1]), min(ends[0][1], total - ends[1][0])
    if len(before) > 1 and len(after) > 1:
        wide = reach(before)
        low, high = max(low, wide[0]), min(high, wide[1])
    if low > high:
        raise infeasible()
    return low, high


@dataclass(frozen=True)
class Split:
    """The core of a cell's z, which is told from its tail where s lies in a window."""

    z: Window
    s: Window


@dataclass(eq=False)
class Seen:
    """What a flow went through: the mass on every z of a cell, and the likeliest (g, t) before it."""

    z: dict[Key, FloatArray]
    mode: dict[Key, tuple[int, int]]


@dataclass(eq=False)
class Tables:
    """V by (layer, class, column), B likewise, with t along its rows; the log bound."""

    depth: dict[Key, FloatArray]
    row: dict[Key, FloatArray]
    tail: dict[Key, FloatArray]
    """The part of B that is kept for the tail of z, where z is split."""
    log_bound: float


class Grid:
    """Frequencies, for laws of at most `longest` values."""

    def __init__(self, longest: int, period: int) -> None:
        count = period // 2 + 1
        theta = 2 * np.pi * np.arange(count) / period
        self.cosines = np.cos(np.outer(theta, np.arange(longest)))
        self.sines = np.sin(np.outer(theta, np.arange(longest)))
        self.shares = np.full(count, 2.0 / period)
        self.shares[0] = self.shares[-1] = 1.0 / period


def grid_for(table: Frame) -> Grid:
    """A period of some eight spreads of a column's sum: any period gives a bound, a short one a loose one."""
    _, c, d = table.lines.shape
    counts = np.array(table.counts)
    sums = [
        float(np.array([_variance(table.laws[k, a, j]) for a in range(len(counts))]) @ counts)
        for k in range(d)
        for j in range(c)
    ]
    period = int(2 ** np.ceil(np.log2(max(16.0, 8 * np.sqrt(max(sums))))))
    return Grid(max(len(law) for law in table.laws.values()), period)


def first_depths(table: Frame, spans: Windows) -> dict[Key, FloatArray]:
    """V without foresight: the laws of what the depths still need."""
    _, c, d = table.lines.shape
    found: dict[Key, FloatArray] = {}
    for a in range(len(table.first)):
        for j in range(c):
            found[d - 1, a, j] = last_depth(table, spans, a, j)
            for k in range(d - 2, 0, -1):
                found[k, a, j] = convolved(table, spans, (k, a, j), found[k + 1, a, j])
            found[0, a, j] = np.ones(1)
    return found


def last_depth(table: Frame, spans: Windows, a: int, j: int) -> FloatArray:
    """V before the last layer, whose cells are forced."""
    d = table.lines.shape[2]
    key = (d - 1, a, j)
    low, high = spans.s[key]
    z = table.depth_total(a, j) - np.arange(low, high + 1)
    law: FloatArray = table.laws[key][z - table.lo[key]]
    return np.asarray(law / law.max())


def convolved(table: Frame, spans: Windows, key: Key, after: FloatArray) -> FloatArray:
    """Σ_z law(z) · after(s + z), largest value one."""
    k, a, j = key
    low, high = spans.s[key]
    start, stop = spans.s[k + 1, a, j]
    law, lo = table.laws[key], table.lo[key]
    found = np.zeros(high - low + 1)
    for at, w in enumerate(law):
        first, last = max(low, start - lo - at), min(high, stop - lo - at)
        if first <= last:
            shift = lo + at - start
            found[first - low : last - low + 1] += w * after[first + shift : last + shift + 1]
    if not found.max() > 0:
        raise infeasible()
    return np.asarray(np.maximum(found / found.max(), _TINY))


def eliminated(
    table: Frame,
    spans: Windows,
    grid: Grid,
    depth: dict[Key, FloatArray],
    temperature: float = 0.0,
    splits: dict[Key, Split] | None = None,
) -> Tables:
    """All tables of rows for given tables of depths, last layer to first; z split where `splits` says."""
    _, c, d = table.lines.shape
    row: dict[Key, FloatArray] = {}
    tail: dict[Key, FloatArray] = {}
    bound = 0.0
    for k in range(d - 2, -1, -1):
        for a, count in enumerate(table.counts):
            row[k, a, c - 1] = _last_column(table, spans, k, a, depth)
            for j in range(c - 2, -1, -1):
                key = (k, a, j)
                t, g = spans.t[key], spans.g[key]
                row[key] = np.empty((g[1] - g[0] + 1, t[1] - t[0] + 1))
                tail[key] = np.empty_like(row[key])
                everything = Split((table.lo[key], table.hi(key)), spans.s[key])
                split = (splits or {}).get(key, everything)
                kernels.column(
                    *_looks(table, spans, k, a, j, depth, row),
                    g[0],
                    t[0],
                    *split.z,
                    split.s[0] - spans.s[key][0],
                    split.s[1] - spans.s[key][0],
                    row[key],
                    tail[key],
                    grid.cosines,
                    grid.sines,
                    grid.shares,
                    table.powers[key],
                    temperature,
                )
            if not row[k, a, 0][0, 0] > 0:
                raise infeasible()
            bound += count * float(np.log(row[k, a, 0][0, 0]))
    return Tables(depth, row, tail, bound + _scales(table, spans))


def _scales(table: Frame, spans: Windows) -> float:
    """ln of what `last_depth` divided out of the last layer's laws."""
    _, c, d = table.lines.shape
    total = 0.0
    for a, count in enumerate(table.counts):
        for j in range(c):
            low, high = spans.s[d - 1, a, j]
            z = table.depth_total(a, j) - np.arange(low, high + 1)
            total += count * float(np.log(table.laws[d - 1, a, j][z - table.lo[d - 1, a, j]].max()))
    return total


def _looks(
    table: Frame,
    spans: Windows,
    k: int,
    a: int,
    j: int,
    depth: dict[Key, FloatArray],
    row: dict[Key, FloatArray],
) -> tuple[FloatArray, int, FloatArray, int, FloatArray, int, FloatArray, int, int]:
    return (
        table.laws[k, a, j],
        table.lo[k, a, j],
        depth[k + 1, a, j],
        spans.s[k + 1, a, j][0],
        depth[k, a, j],
        spans.s[k, a, j][0],
        row[k, a, j + 1],
        spans.g[k, a, j + 1][0],
        spans.t[k, a, j + 1][0],
    )


def _last_column(
    table: Frame, spans: Windows, k: int, a: int, depth: dict[Key, FloatArray]
) -> FloatArray:
    """B before the last column, whose cells are forced: law(z) · V_k+1(s + z) / V_k(s), z = total - t."""
    j = table.lines.shape[1] - 1
    t, s = spans.t[k, a, j], spans.s[k, a, j]
    out = np.zeros((s[1] - s[0] + 1, t[1] - t[0] + 1))
    start, stop = spans.s[k + 1, a, j]
    values = np.arange(s[0], s[1] + 1)
    for at in range(out.shape[1]):
        z = table.row_total(a, k) - t[0] - at
        if table.lo[k, a, j] <= z <= table.hi((k, a, j)):
            known = (values + z >= start) & (values + z <= stop)
            after = depth[k + 1, a, j][values[known] + z - start]
            out[known, at] = table.laws[k, a, j][z - table.lo[k, a, j]] * after / depth[k, a, j][known]
    return out


def flow(
    table: Frame,
    spans: Windows,
    grid: Grid,
    found: Tables,
    temperature: float,
    seen: Seen | None = None,
) -> dict[Key, FloatArray]:
    """The derivative of the log bound by ln V; what the flow went through is noted in `seen`."""
    _, c, d = table.lines.shape
    slope = {key: np.zeros(len(v)) for key, v in found.depth.items()}
    for k in range(d - 1):
        for a, count in enumerate(table.counts):
            mass = np.full((1, 1), float(count))
            for j in range(c - 1):
                onward = np.zeros_like(found.row[k, a, j + 1])
                along = np.zeros(len(table.laws[k, a, j]))
                mode = kernels.column_flow(
                    *_looks(table, spans, k, a, j, found.depth, found.row),
                    spans.g[k, a, j][0],
                    spans.t[k, a, j][0],
                    mass,
                    grid.cosines,
                    grid.sines,
                    grid.shares,
                    table.powers[k, a, j],
                    temperature,
                    slope[k + 1, a, j],
                    slope[k, a, j],
                    onward,
                    along,
                )
                mass = onward
                if seen is not None:
                    seen.z[k, a, j] = along
                    g, t = spans.g[k, a, j][0], spans.t[k, a, j][0]
                    seen.mode[k, a, j] = (g + int(mode[0]), t + int(mode[1]))
            _flow_last(table, spans, k, a, mass, slope)
    return slope


def _flow_last(
    table: Frame, spans: Windows, k: int, a: int, mass: FloatArray, slope: dict[Key, FloatArray]
) -> None:
    j = table.lines.shape[1] - 1
    start = spans.s[k + 1, a, j][0]
    for g, t in zip(*np.nonzero(mass), strict=True):
        z = table.row_total(a, k) - spans.t[k, a, j][0] - int(t)
        slope[k + 1, a, j][spans.s[k, a, j][0] + int(g) + z - start] += mass[g, t]
        slope[k, a, j][int(g)] -= mass[g, t]


def improved(
    table: Frame, spans: Windows, grid: Grid, depth: dict[Key, FloatArray], evaluations: int
) -> Tables:
    """Minimise the log bound over V by L-BFGS on soft maxima that harden. Deterministic."""
    keys = [key for key in sorted(depth) if 0 < key[0] < table.lines.shape[2] - 1]
    best = eliminated(table, spans, grid, depth)
    if not keys or evaluations < 1:
        return best
    x = np.concatenate([np.log(depth[key]) for key in keys])
    for temperature in _TEMPERATURES:
        x = descended(_Target(table, spans, grid, depth, keys, temperature), x, evaluations)
        trial = eliminated(table, spans, grid, _tables_at(depth, keys, x))
        if trial.log_bound < best.log_bound:
            best = trial
    return best


def _tables_at(depth: dict[Key, FloatArray], keys: list[Key], x: FloatArray) -> dict[Key, FloatArray]:
    """Tables of depths with the logarithms in x, each with largest value one."""
    found, at = dict(depth), 0
    for key in keys:
        part = x[at : at + len(depth[key])]
        found[key] = np.exp(np.clip(part - part.max(), -200.0, 0.0))
        at += len(part)
    return found


@dataclass(frozen=True, eq=False)
class _Target:
    """The log bound at a temperature as a function of the logarithms of V, with its derivative."""

    table: Frame
    spans: Windows
    grid: Grid
    depth: dict[Key, FloatArray]
    keys: list[Key]
    temperature: float

    def __call__(self, x: FloatArray) -> tuple[float, FloatArray]:
        depth = _tables_at(self.depth, self.keys, x)
        found = eliminated(self.table, self.spans, self.grid, depth, self.temperature)
        slope = flow(self.table, self.spans, self.grid, found, self.temperature)
        return found.log_bound, np.concatenate([slope[key] for key in self.keys])
