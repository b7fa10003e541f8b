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
from congenial.samplers.crossing.twisted_windows import Step

_ULP = 2.0**-53
_SURE = 2.0**-14  # what a squeeze may leave undecided at the likeliest remainders
_LONGEST = 1 << 16
_FLOOR = 2.0**-200  # a power must not underflow to zero
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
    """Per remainder: bounds, bounds on frequencies left out, wrap bounds, the first ĥ."""

    bound: FloatArray
    rest: FloatArray
    wrap_up: FloatArray
    wrap_down: FloatArray
    group_bound: FloatArray
    group_rest: FloatArray
    first: NDArray[np.complex128]


class _Typical:
    """The likeliest remainder of each row class of a column: enough to choose by."""

    def __init__(self, steps: Sequence[Step], row_class: NDArray[np.int64]) -> None:
        self.steps, self.row_class = steps, row_class
        self.counts = np.bincount(row_class)
        self.variance = np.array([step.variance for step in steps])
        self.spread = math.sqrt(float(self.counts @ self.variance))
        self.chance = min(1.0, 1.0 / (1.0 + 2.5 * self.spread))
        self.laws = [_law(step, step.typical, 1)[0] for step in steps]
        self.heights = np.array([law.max() for law in self.laws])

    def moduli(self, period: int) -> FloatArray:
        """|ĥ| by class and frequency 0 … N/2."""
        folded = np.concatenate(
            [_folded(law, step.law.lo, period) for law, step in zip(self.laws, self.steps, strict=True)]
        )
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

    With a group of size g, the other rows are drawn about (bound of the group)/p times, then the group
    about (its flattest row's peak)/(bound) times.
    """
    rows = len(order)
    chance = math.exp(_log_bound(moduli, weights, typical.counts))
    heights = typical.heights[typical.row_class[order]][::-1]
    best = (float(heights[0]) / chance * rows, 0)
    for size in sorted({int(round(2.0 ** (k / 2))) for k in range(2, 16)}):
        if size > rows / 2:
            break
        counts = np.bincount(typical.row_class[order[rows - size :]], minlength=len(weights))
        inner = _weights(np.where(counts > 0, typical.variance, 0.0), counts)
        bound = math.exp(_log_bound(moduli, inner, counts))
        cost = bound / chance * (rows - size + 2) + float(heights[:size].min()) / bound * size + 2 + size / 4
        best = min(best, (cost, size))
    return best[1]


def _powers(moduli: FloatArray, weight: FloatArray | float) -> FloatArray:
    """|ĥ|^{1/λ}, kept from underflowing."""
    with np.errstate(under="ignore"):
        return np.asarray(np.maximum(moduli ** (1.0 / weight), _FLOOR))


def _log_bound(moduli: FloatArray, weights: FloatArray, counts: NDArray[np.int64]) -> float:
    """ln Π H at the likeliest remainders."""
    used = (weights > 0) & (counts > 0)
    power = _powers(moduli[used], weights[used, None])
    mean = (power[:, 0] + 2 * power[:, 1:-1].sum(axis=1) + power[:, -1]) / (2 * moduli.shape[1] - 2)
    return float((counts[used] * weights[used]) @ np.log(mean))


def _frequencies(
    moduli: FloatArray, weights: FloatArray, counts: NDArray[np.int64], goal: float
) -> int:
    """How many frequencies to keep, so that those left out are below `goal` at likely remainders."""
    used = (weights > 0) & (counts > 0)
    power = _powers(moduli[used], weights[used, None])
    after = np.zeros_like(power)
    after[:, :-1] = np.cumsum(power[:, :0:-1], axis=1)[:, ::-1]
    with np.errstate(divide="ignore"):
        log_rest = (counts[used] * weights[used]) @ np.log(after / (moduli.shape[1] - 1))
    return max(1, int(np.argmax(log_rest <= math.log(goal))))


def _law(step: Step, first: int, count: int) -> FloatArray:
    """h_js on the law's window, one row a remainder."""
    return step.weights(first, count) / step.total[first : first + count, None]


def _folded(laws: FloatArray, lo: int, period: int) -> FloatArray:
    """Laws on lo, lo+1, … added up modulo the period."""
    laws = np.atleast_2d(laws)
    width = laws.shape[1]
    folded = np.zeros((len(laws), period))
    at = 0
    while at < width:
        place = (lo + at) % period
        some = min(width - at, period - place)
        folded[:, place : place + some] += laws[:, at : at + some]
        at += some
    return folded


def column_bounds(step: Step, grid: Grid, at: int) -> Bounds:
    """The numbers of one row class for every remainder of its window."""
    laws = _law(step, 0, len(step.peak))
    transform = np.fft.rfft(_folded(laws, step.law.lo, grid.period), axis=1)
    moduli = np.abs(transform) + transform_error(grid.period)
    z = np.arange(step.law.lo, step.law.hi + 1)
    share = math.exp(-grid.chernoff * grid.period / len(grid.order)) * (1 + 1e-9)
    up = laws @ np.exp(grid.chernoff * z) * share
    down = laws @ np.exp(-grid.chernoff * z) * share
    bound, rest = _hoelder(moduli, float(grid.weights[at]), grid.kept)
    group_bound, group_rest = _hoelder(moduli, float(grid.group_weights[at]), grid.group_kept)
    return Bounds(bound, rest, up, down, group_bound, group_rest, transform[:, 1 : grid.stored + 1])


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
