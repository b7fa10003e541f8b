r"""The bounds of one column of twisted columns: Hölder's inequality on a grid of frequencies.

For independent Z_i with laws h_i and characteristic functions ĥ_i, on the grid θ_m = 2πm/N,

    P(Σ Z_i = 0) ≤ P(Σ Z_i ≡ 0 mod N) = mean_m Π_i ĥ_i(θ_m) ≤ Π_i ( mean_m |ĥ_i(θ_m)|^{1/λ_i} )^{λ_i},

Σ λ_i = 1. The last factors are the `bound` of each row, one number a remainder. The same holds for the
rows of a *group* alone and for any value of their sum, with weights of their own; drawing a column
leaves the group for last (`twisted.py`). Besides, each remainder gets what lets a kernel say in most
cases whether a uniform lies below such a chance without knowing it: the first few ĥ(θ_m), its share of a
bound on the frequencies left out (Hölder again), and of a Chernoff bound on what wraps. None of this
touches the law: where the bounds do not decide, the chance is worked out by direct convolution.

Rounding. A Fourier transform of N numbers with Euclidean norm at most one is right to an absolute
`transform_error(N)` = 10·2^-53·(log2 N + 1)·√N (Higham, Accuracy and Stability of Numerical Algorithms,
theorem 24.2, with accurate twiddle factors: at most 8·2^-53·log2 N·√N, and the law's own rounding).
It is added to every |ĥ| before the power is taken, so the bound errs upward.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from congenial.samplers.base import FloatArray
from congenial.samplers.crossing import _twisted_setup_kernels as setup
from congenial.samplers.crossing.twisted_windows import Step

_ULP = 2.0**-53
_SURE = 2.0**-14  # what a squeeze may leave undecided at the likeliest remainders
_LONGEST = 1 << 16
_FLOOR = 2.0**-100
_RARE = 2.0**-24  # remainders beyond these tails have no squeeze
_CHUNK = 1 << 20
_LARGEST_GROUP = 2.0**23
INFLATION = 1e-12
"""By how much every bound is raised, for the rounding of powers and products."""


def transform_error(period: int) -> float:
    """The largest absolute error of a computed characteristic function of a law with mass one."""
    return 10 * _ULP * (math.log2(period) + 1) * math.sqrt(period)


@dataclass(frozen=True, eq=False)
class Grid:
    """What the rows of one column share.

    `weights` are λ by row class, `group_weights` those within the group; `order` lists the rows, those
    outside the group first, `outside` of them; `kept` frequencies serve the test of the column,
    `group_kept` that of the group.
    """

    period: int
    chernoff: float
    weights: FloatArray
    kept: int
    order: NDArray[np.int64]
    outside: int
    group_weights: FloatArray
    group_kept: int

    @property
    def stored(self) -> int:
        """Frequencies that a remainder needs."""
        return max(self.kept, self.group_kept)

    @property
    def slack(self) -> float:
        """The absolute rounding of Re mean_m Π ĥ over the kept frequencies, with a phase."""
        return 2 * len(self.order) * (transform_error(self.period) + 8 * _ULP) + (self.period + 32) * _ULP

    @property
    def group_wrap(self) -> float:
        """What turns the product of the group's wrap bounds into one for any sum within N/2 of zero."""
        rows = len(self.order)
        return math.exp(-self.chernoff * self.period * (0.5 - (rows - self.outside) / rows)) * (1 + 1e-9)


@dataclass(frozen=True, eq=False)
class Bounds:
    """Per remainder: bounds, and bounds on the frequencies left out, of the column and of the group.

    From place `begin` on, as far as they go: wrap bounds (up, down) and the first ĥ.
    """

    bound: FloatArray
    rest: FloatArray
    group_bound: FloatArray
    group_rest: FloatArray
    begin: int
    wraps: FloatArray
    first: NDArray[np.complex128]


class _Typical:
    """The likeliest remainder of each row class of a column: enough to choose by."""

    def __init__(self, steps: Sequence[Step], row_class: NDArray[np.int64]) -> None:
        self.steps, self.row_class = steps, row_class
        self.counts = np.bincount(row_class)
        self.variance = np.array([step.variance for step in steps])
        self.spread = math.sqrt(float(self.counts @ self.variance))
        self.chance = min(1.0, 1.0 / (1.0 + 2.5 * self.spread))
        self.laws = [step.typical_law() for step in steps]
        self.heights = np.array([law.max() for law in self.laws])

    def moduli(self, period: int) -> FloatArray:
        """|ĥ| by class and frequency 0 … N/2."""
        folded = np.zeros((len(self.steps), period))
        for row, law, step in zip(folded, self.laws, self.steps, strict=True):
            np.add.at(row, np.arange(step.law.lo, step.law.hi + 1) % period, law)
        return np.abs(np.fft.rfft(folded, axis=1)) + transform_error(period)

    def wrap(self, t: float, period: int) -> float:
        """The logarithm of Chernoff's bound on P(|Σ Z| ≥ N)."""
        up, down = -t * period, -t * period
        for law, step, n in zip(self.laws, self.steps, self.counts, strict=True):
            z = np.arange(step.law.lo, step.law.hi + 1)
            up += int(n) * math.log(float(law @ np.exp(t * z)))
            down += int(n) * math.log(float(law @ np.exp(-t * z)))
        return float(np.logaddexp(up, down))


def choose_grid(steps: Sequence[Step], row_class: NDArray[np.int64]) -> Grid:
    """λ in proportion to variances; N some eight standard deviations; few frequencies; a group.

    Every choice is right; these make the bound tight, the squeeze sure at likely remainders, and the
    draw of a column short.
    """
    typical = _Typical(steps, row_class)
    period, chernoff = _period(typical)
    moduli = typical.moduli(period)
    weights = _weights(typical.variance, typical.counts)
    kept = _frequencies(moduli, weights, typical.counts, _SURE * typical.chance)
    order = np.argsort(-typical.variance[row_class], kind="stable")[::-1].astype(np.int64)
    size = _group_size(typical, moduli, weights, order)
    group_counts = np.bincount(row_class[order[len(order) - size :]], minlength=len(steps))
    group_weights = _weights(np.where(group_counts > 0, typical.variance, 0.0), group_counts)
    group_kept = 0
    if size:
        chance = math.exp(_log_bound(moduli, group_weights, group_counts))
        group_kept = _frequencies(moduli, group_weights, group_counts, _SURE * chance)
    return Grid(period, chernoff, weights, kept, order, len(order) - size, group_weights, group_kept)


def _period(typical: _Typical) -> tuple[int, float]:
    """N, and the t of Chernoff's bound on what wraps around it."""
    widest = sum(
        int(n) * (len(s.law.weights) - 1) for n, s in zip(typical.counts, typical.steps, strict=True)
    )
    furthest = max(len(s.law.weights) + abs(s.law.lo) for s in typical.steps)
    period = 8
    while period < 8 * typical.spread:
        period *= 2
    while True:
        guesses = 2.0 ** np.arange(-3.0, 3.5, 0.5) / max(typical.spread, 0.25)
        choices = [t for t in guesses if t * furthest < 600]
        wraps = [(typical.wrap(float(t), period), float(t)) for t in choices] or [(math.inf, 0.0)]
        least = min(wraps)
        if period > 4 * widest + 16 or period >= _LONGEST or least[0] <= math.log(_SURE * typical.chance):
            return period, least[1]
        period *= 2


def _weights(variances: FloatArray, counts: NDArray[np.int64]) -> FloatArray:
    """λ of each row class, Σ counts·λ = 1; rows that hardly move have none, and the bound 1."""
    total = float(counts @ variances)
    if total <= 0:
        return np.where(counts > 0, 1.0 / max(float(counts.sum()), 1.0), 0.0)
    found = variances / total
    found = np.where(found < 1e-6, 0.0, found)
    return np.asarray(found / float(counts @ found))


def _group_size(
    typical: _Typical, moduli: FloatArray, weights: FloatArray, order: NDArray[np.int64]
) -> int:
    """How many rows, of those that move most, a column leaves for last; 0 for one row, forced.

    With a group of size g, the other rows are drawn about (bound of the group)/p times on average, then
    the group about (its flattest row's peak)/p times: seldom so often, but often where its sum is unlikely.
    """
    rows = len(order)
    chance = math.exp(_log_bound(moduli, weights, typical.counts))
    heights = typical.heights[typical.row_class[order]][::-1]
    best = (float(heights[0]) / chance * rows, 0)
    widest = max(len(law) for law in typical.laws)
    for size in sorted({round(2.0 ** (k / 2)) for k in range(2, 16)}):
        if size > rows / 2 or size**2 * widest > _LARGEST_GROUP:
            break
        counts = np.bincount(typical.row_class[order[rows - size :]], minlength=len(weights))
        inner = _weights(np.where(counts > 0, typical.variance, 0.0), counts)
        bound = math.exp(_log_bound(moduli, inner, counts))
        cost = bound / chance * (rows - size + 2) + float(heights[:size].min()) / chance * size + 2 + size / 4
        best = min(best, (cost, size))
    return best[1]


def _powers(moduli: FloatArray, weight: float) -> FloatArray:
    """|ĥ|^{1/λ}, at least `_FLOOR`: small ones are not worth their cost, and must not underflow to zero."""
    power = np.full(moduli.shape, _FLOOR)
    large = moduli > _FLOOR**weight
    power[large] = np.maximum(moduli[large] ** (1.0 / weight), _FLOOR)
    return power


def _all_powers(moduli: FloatArray, weights: FloatArray) -> FloatArray:
    return np.array([_powers(row, float(weight)) for row, weight in zip(moduli, weights, strict=True)])


def _log_bound(moduli: FloatArray, weights: FloatArray, counts: NDArray[np.int64]) -> float:
    """ln Π H at the likeliest remainders."""
    used = (weights > 0) & (counts > 0)
    power = _all_powers(moduli[used], weights[used])
    mean = (power[:, 0] + 2 * power[:, 1:-1].sum(axis=1) + power[:, -1]) / (2 * moduli.shape[1] - 2)
    return float((counts[used] * weights[used] * np.log(mean)).sum())


def _frequencies(
    moduli: FloatArray, weights: FloatArray, counts: NDArray[np.int64], goal: float
) -> int:
    """How many frequencies to keep, so that those left out are below `goal` at likely remainders."""
    used = (weights > 0) & (counts > 0)
    power = _all_powers(moduli[used], weights[used])
    after = np.zeros_like(power)
    after[:, :-1] = np.cumsum(power[:, :0:-1], axis=1)[:, ::-1]
    with np.errstate(divide="ignore"):
        log_rest = (counts[used] * weights[used]) @ np.log(after / (moduli.shape[1] - 1))
    return max(1, int(np.argmax(log_rest <= math.log(goal))))


def column_bounds(step: Step, grid: Grid, at: int) -> Bounds:
    """The numbers of one row class: bounds for every remainder, the squeeze's for those worth it.

    **Cost.** Windows times remainders, and a Fourier transform a remainder.
    """
    size, total = len(step.peak), step.total
    a, b = step.likely(_RARE)
    bounds, rests = np.empty((2, size)), np.empty((2, size))
    first = np.empty((b - a, grid.stored), dtype=np.complex128)
    some = max(1, _CHUNK // grid.period)
    for start in range(0, size, some):
        stop = min(start + some, size)
        folded = np.empty((stop - start, grid.period))
        setup.fold(*step.line, step.lo + start, total[start:stop], folded)
        transform = np.fft.rfft(folded, axis=1)
        moduli = np.abs(transform) + transform_error(grid.period)
        for k, (weights, kept) in enumerate(
            ((grid.weights, grid.kept), (grid.group_weights, grid.group_kept))
        ):
            bounds[k, start:stop], rests[k, start:stop] = _hoelder(moduli, float(weights[at]), kept)
        low, high = max(a, start), min(b, stop)
        if low < high:
            first[low - a : high - a] = transform[low - start : high - start, 1 : grid.stored + 1]
    z = np.arange(step.law.lo, step.law.hi + 1)
    share = math.exp(-grid.chernoff * grid.period / len(grid.order)) * (1 + 1e-9)
    wraps = np.ones((b - a, 2))
    growing = np.exp(grid.chernoff * z)
    setup.exponential_means(*step.line, step.lo + a, total[a:b], growing, 1 / growing, wraps)
    return Bounds(bounds[0], rests[0], bounds[1], rests[1], a, wraps * share, first)


def _hoelder(moduli: FloatArray, weight: float, kept: int) -> tuple[FloatArray, FloatArray]:
    """(mean |ĥ|^{1/λ})^λ over all frequencies, and over those left out; 1 where λ is 0."""
    if not weight:
        ones = np.full(len(moduli), 1 + INFLATION)
        return ones, ones
    period = 2 * moduli.shape[1] - 2
    power = _powers(moduli, weight)
    # the frequencies -m and m have one modulus; 0 and N/2 stand alone
    whole = power[:, 0] + 2 * power[:, 1:-1].sum(axis=1) + power[:, -1]
    beyond = 2 * power[:, kept + 1 :].sum(axis=1)
    return (
        (whole / period) ** weight * (1 + INFLATION),
        (beyond / period) ** weight * (1 + INFLATION),
    )
