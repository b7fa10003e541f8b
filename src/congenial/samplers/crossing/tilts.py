r"""Move mass to where the margins want it: the tilt of each cell's law, and the order of columns.

With row sums and column sums zero, multiplying the law of cell (i, j) by e^{(α_i+β_j)z} changes
nothing: over a whole table the factors multiply to one. So α and β are free to choose, and the best
simple choice makes the tilted means have zero margins: it minimises the convex function

    F(α, β) = Σ_ij ln Σ_z φ_ij(z) e^{(α_i + β_j) z},

whose gradient is the vector of the margins' means. Where bounds do not bind the laws are even and the
answer is zero; where many empty cells could only grow it is not, and without it the tables would be
spent on values that the facts rule out.

Rows with the same laws in the same columns are one *class*: they get the same tilt and share tables.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from congenial.samplers.base import FloatArray
from congenial.samplers.crossing.tables import Unary

_ULP = 2.0**-53
_ENOUGH = 1e-3  # means this near to zero, in standard deviations, gain nothing by being nearer
_STEPS = 60
_SURE = 2.0**20


@dataclass(frozen=True, eq=False)
class Classes:
    """Rows that are alike, and columns that are: class of each, and one row of laws a row class."""

    of_row: NDArray[np.int64]
    of_column: NDArray[np.int64]
    laws: tuple[tuple[Unary, ...], ...]
    """Laws by row class and column (every column, not column class)."""

    @property
    def row_counts(self) -> NDArray[np.int64]:
        """How many rows each row class has."""
        return np.bincount(self.of_row)


def classes(array: Sequence[Sequence[Unary]]) -> Classes:
    """Group rows that hold the same `Unary` objects in the same columns; columns likewise."""
    of_row, first = _grouped([tuple(row) for row in array])
    of_column, _ = _grouped(list(zip(*(tuple(array[i]) for i in first), strict=True)))
    return Classes(of_row, of_column, tuple(tuple(array[i]) for i in first))


def _grouped(keys: list[tuple[Unary, ...]]) -> tuple[NDArray[np.int64], list[int]]:
    seen: dict[tuple[Unary, ...], int] = {}
    first = []
    for at, key in enumerate(keys):
        if key not in seen:
            seen[key] = len(seen)
            first.append(at)
    return np.array([seen[key] for key in keys], dtype=np.int64), first


def dual_tilts(groups: Classes) -> tuple[FloatArray, FloatArray]:
    """(α by row class, β by column) that minimise F, to a small part of a standard deviation.

    Any values are right; these are good. Newton's method with halving steps, over classes only.
    **Cost.** Length of all windows, times ten or so.
    """
    columns, first = np.unique(groups.of_column, return_index=True)
    n_rows, n_columns = len(groups.laws), len(columns)
    laws = [row[j] for row in groups.laws for j in first]
    cells = _Cells(laws, np.outer(groups.row_counts, np.bincount(groups.of_column)))
    tilt = np.zeros(n_rows + n_columns)
    value, mean, variance = cells.at(tilt, n_rows)
    for _ in range(_STEPS):
        gradient = np.concatenate([mean.sum(axis=1), mean.sum(axis=0)])
        scale = np.sqrt(np.concatenate([variance.sum(axis=1), variance.sum(axis=0)])) + 1e-300
        if np.abs(gradient / np.maximum(scale, 1e-6)).max() <= _ENOUGH:
            break
        step = _newton_step(variance, gradient)
        taken = 1.0
        while taken > 1e-6:
            trial = tilt - taken * step
            found = cells.at(trial, n_rows)
            if found[0] <= value - 1e-4 * taken * float(gradient @ step):
                break
            taken /= 2
        else:
            break
        tilt, (value, mean, variance) = trial, found
    return tilt[:n_rows], tilt[n_rows:][groups.of_column]


def _newton_step(variance: FloatArray, gradient: FloatArray) -> FloatArray:
    rows, columns = variance.sum(axis=1), variance.sum(axis=0)
    hessian = np.block([[np.diag(rows), variance], [variance.T, np.diag(columns)]])
    # α + 1, β - 1 is the same tilt: a small ridge takes the shortest of all solutions
    hessian[np.diag_indices_from(hessian)] += 1e-9 * max(float(np.trace(hessian)), 1e-12)
    return np.asarray(np.linalg.solve(hessian, gradient))


class _Cells:
    """All windows of all cell classes end to end, for log-sums, means and variances under a tilt."""

    def __init__(self, laws: Sequence[Unary], counts: NDArray[np.int64]) -> None:
        lengths = np.array([len(law.weights) for law in laws])
        self.starts = np.concatenate([[0], np.cumsum(lengths)[:-1]])
        self.cell = np.repeat(np.arange(len(laws)), lengths)
        self.z = np.concatenate([np.arange(law.lo, law.hi + 1, dtype=np.float64) for law in laws])
        self.log = np.log(np.concatenate([law.weights for law in laws]))
        self.counts = counts.astype(np.float64)

    def at(self, tilt: FloatArray, n_rows: int) -> tuple[float, FloatArray, FloatArray]:
        """F, and means and variances by cell class, each times how many cells it stands for."""
        a = (tilt[:n_rows, None] + tilt[None, n_rows:]).ravel()
        log = self.log + a[self.cell] * self.z
        top = np.maximum.reduceat(log, self.starts)
        weights = np.exp(log - top[self.cell])
        total = np.add.reduceat(weights, self.starts)
        mean = np.add.reduceat(weights * self.z, self.starts) / total
        spread = np.add.reduceat(weights * (self.z - mean[self.cell]) ** 2, self.starts) / total
        value = float((self.counts.ravel() * (np.log(total) + top)).sum())
        shape = self.counts.shape
        return value, mean.reshape(shape) * self.counts, spread.reshape(shape) * self.counts


def tilted(law: Unary, a: float, log2_mass: float) -> Unary:
    """`law` times e^{az}, its ends trimmed by at most 2^log2_mass in all.

    **Exactness.** What `law.trimmed` stands for may lie beyond an open end or, where a law is itself a
    sum of trimmed laws, inside the window: each is weighed with the largest e^{az} that it can meet.
    Where the tilt is as steep as the law falls, the bound is infinite, and the certificate that uses it
    refuses. Without a tilt `law.trimmed` stands.
    """
    z = np.arange(law.lo, law.hi + 1, dtype=np.float64)
    exponent = a * z
    top = float((np.log(law.weights) + exponent).max())
    weights = law.weights * np.exp(exponent - top) if a else law.weights.copy()
    missing = law.trimmed * float(law.weights.sum())
    if a and missing:
        ends = np.minimum(exponent[[0, -1]] - top, 700.0)
        below, above = (missing * math.exp(end) for end in ends)
        missing = max(below, above)
        if law.open_below:
            missing += _beyond(law.weights, law.trimmed, float(weights[0]) + below, -a)
        if law.open_above:
            missing += _beyond(law.weights[::-1], law.trimmed, float(weights[-1]) + above, a)
    upward, downward = np.cumsum(weights), np.cumsum(weights[::-1])
    half = 2.0 ** (log2_mass - 1) * float(weights.sum())
    left = min(int(np.searchsorted(upward, half)), int(weights.argmax()))
    right = min(int(np.searchsorted(downward, half)), len(weights) - 1 - int(weights.argmax()))
    missing += (float(upward[left - 1]) if left else 0.0) + (float(downward[right - 1]) if right else 0.0)
    kept = weights[left : len(weights) - right]
    size = float(kept.sum())
    far = float(np.abs(exponent[left : len(weights) - right]).max()) if a else 0.0
    error = law.relative_error + (2 * far + abs(top) + 6) * _ULP if a else law.relative_error + 2 * _ULP
    return Unary(law.lo + left, kept / size, missing / size * (1 + 1e-9), error)


def _beyond(law: FloatArray, trimmed: float, edge: float, outward: float) -> float:
    """A bound of the tilted mass beyond the first weight, of which `edge` bounds the tilted value.

    A log-concave law falls outward at least as fast as anywhere further in; the fall is taken where the
    weights are so much larger than all that is missing that they are the law's own.
    """
    sure = np.flatnonzero(law >= _SURE * trimmed)
    if len(sure) < 2:
        return math.inf
    k = int(sure[0])
    if k + 1 >= len(law):
        return math.inf
    slope = math.log((float(law[k]) + trimmed) / float(law[k + 1])) + outward + 1e-12
    return math.inf if slope >= 0 else max(edge, 1e-300) / math.expm1(-slope) * (1 + 1e-9)


def column_order(laws: Sequence[Sequence[Unary]], counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Columns by increasing total variance (first come first where they are equal).

    The last column takes what the others leave, and the columns before it are tested against all that
    comes after them: the columns that can move most should stand there.
    """
    total = np.zeros(len(laws[0]))
    for row, count in zip(laws, counts, strict=True):
        for j, law in enumerate(row):
            z = np.arange(law.lo, law.hi + 1)
            mean = float(law.weights @ z) / float(law.weights.sum())
            total[j] += count * float(law.weights @ (z - mean) ** 2)
    return np.argsort(total, kind="stable").astype(np.int64)
