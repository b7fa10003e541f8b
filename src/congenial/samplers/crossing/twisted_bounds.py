r"""The bound of one column of twisted columns: Hölder's inequality on a grid of frequencies.

For independent Z_i with laws h_i and characteristic functions ĥ_i, on the grid θ_m = 2πm/N,

    P(Σ Z_i = 0) ≤ P(Σ Z_i ≡ 0 mod N) = mean_m Π_i ĥ_i(θ_m) ≤ Π_i ( mean_m |ĥ_i(θ_m)|^{1/λ_i} )^{λ_i},

Σ λ_i = 1. The last factors are the `bound` of each row, one number a remainder. Besides, each remainder
gets what lets a kernel say *in most cases* whether a uniform lies below P(Σ Z = 0) without knowing it:
the first few ĥ(θ_m), its share of a bound on the frequencies left out (Hölder again), and its share of a
Chernoff bound on |Σ Z| ≥ N (what wraps). None of this touches the law: where the bounds do not decide,
P(Σ Z = 0) is worked out by direct convolution.

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
_SURE = 2.0**-16  # what the squeeze may leave undecided at the likeliest remainders
_LONGEST = 1 << 16
INFLATION = 1e-12
"""By how much every bound is raised, for the rounding of powers and products."""


def transform_error(period: int) -> float:
    """The largest absolute error of a computed characteristic function of a law with mass one."""
    return 10 * _ULP * (math.log2(period) + 1) * math.sqrt(period)


@dataclass(frozen=True, eq=False)
class Grid:
    """What the rows of one column share: the period N, the frequencies kept, each row class's weight λ."""

    period: int
    kept: int
    chernoff: float
    weights: FloatArray
    rows: int

    @property
    def slack(self) -> float:
        """The absolute rounding of Re mean_m Π ĥ over the kept frequencies."""
        return 2 * self.rows * (transform_error(self.period) + 8 * _ULP) + self.period * _ULP


@dataclass(frozen=True, eq=False)
class Bounds:
    """Per remainder: the bound, the bound on the frequencies left out, two wrap bounds, the first ĥ."""

    bound: FloatArray
    rest: FloatArray
    wrap_up: FloatArray
    wrap_down: FloatArray
    first: NDArray[np.complex128]


def choose_grid(steps: Sequence[Step], counts: NDArray[np.int64]) -> Grid:
    """λ in proportion to variances; N some eight standard deviations; few frequencies.

    Every choice is right; these make the bound tight and the squeeze sure at likely remainders.
    """
    weights = _weights(np.array([step.variance for step in steps]), counts)
    typical = [_law(step, step.typical, 1)[0] for step in steps]
    spread = math.sqrt(float(sum(n * s.variance for n, s in zip(counts, steps, strict=True))))
    widest = sum(int(n) * (len(s.law.weights) - 1) for n, s in zip(counts, steps, strict=True))
    period = 8
    while period < 8 * spread:
        period *= 2
    while True:
        likely = min(1.0, 1.0 / (1.0 + 2.5 * spread))
        chernoff, log_wrap = _chernoff(typical, steps, counts, period, spread)
        if period > widest or period >= _LONGEST or log_wrap <= math.log(_SURE * likely):
            break
        period *= 2
    kept = _frequencies(typical, steps, counts, weights, period, _SURE * likely)
    return Grid(period, kept, chernoff, weights, int(counts.sum()))


def _weights(variances: FloatArray, counts: NDArray[np.int64]) -> FloatArray:
    """λ of each row class, Σ counts·λ = 1; rows that hardly move have none, and the bound 1."""
    total = float(counts @ variances)
    if total <= 0:
        return np.full(len(counts), 1.0 / float(counts.sum()))
    found = variances / total
    found = np.where(found < 1e-6, 0.0, found)
    return np.asarray(found / float(counts @ found))


def _law(step: Step, first: int, count: int) -> FloatArray:
    """h_js on the law's window, one row a remainder."""
    return step.weights(first, count) / step.total[first : first + count, None]


def _chernoff(
    typical: Sequence[FloatArray],
    steps: Sequence[Step],
    counts: NDArray[np.int64],
    period: int,
    spread: float,
) -> tuple[float, float]:
    """The t with the least bound on P(|Σ Z| ≥ N) at the likeliest remainders, and the bound's logarithm."""
    guess = period / max(spread * spread, 1e-3)
    best = (0.0, math.inf)
    for t in guess * 2.0 ** np.arange(-4.0, 1.5, 0.5):
        if t * max(len(s.law.weights) + abs(s.law.lo) for s in steps) > 600:
            continue
        up, down = -t * period, -t * period
        for law, step, n in zip(typical, steps, counts, strict=True):
            z = np.arange(step.law.lo, step.law.hi + 1)
            up += int(n) * math.log(float(law @ np.exp(t * z)))
            down += int(n) * math.log(float(law @ np.exp(-t * z)))
        value = float(np.logaddexp(up, down))
        if value < best[1]:
            best = (float(t), value)
    return best


def _moduli(law: FloatArray, step: Step, period: int) -> FloatArray:
    return np.abs(np.fft.rfft(_folded(law, step.law.lo, period), axis=-1)) + transform_error(period)


def _frequencies(
    typical: Sequence[FloatArray],
    steps: Sequence[Step],
    counts: NDArray[np.int64],
    weights: FloatArray,
    period: int,
    goal: float,
) -> int:
    """How many frequencies to keep, so that those left out are below `goal` at likely remainders."""
    log_rest = np.zeros(period // 2 + 1)
    for law, step, n, weight in zip(typical, steps, counts, weights, strict=True):
        if weight:
            power = _powers(_moduli(law, step, period), weight)[0]
            after = np.concatenate([np.cumsum(power[:0:-1])[::-1], [0.0]])
            with np.errstate(divide="ignore"):
                log_rest += int(n) * weight * np.log(2 * after / period)
    return max(1, int(np.argmax(log_rest <= math.log(goal))))


def _powers(moduli: FloatArray, weight: float) -> FloatArray:
    """|ĥ|^{1/λ}; where it is below 2^-200, 2^-200 instead (a power must not underflow to zero)."""
    with np.errstate(under="ignore"):
        return np.maximum(moduli ** (1.0 / weight), 2.0**-200)


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
    z = np.arange(step.law.lo, step.law.hi + 1)
    share = math.exp(-grid.chernoff * grid.period / grid.rows)
    up = laws @ np.exp(grid.chernoff * z) * (share * (1 + 1e-9))
    down = laws @ np.exp(-grid.chernoff * z) * (share * (1 + 1e-9))
    first = transform[:, 1 : grid.kept + 1]
    weight = float(grid.weights[at])
    if not weight:
        ones = np.ones(len(laws))
        return Bounds(ones * (1 + INFLATION), ones, up, down, first)
    power = _powers(np.abs(transform) + transform_error(grid.period), weight)
    # the frequencies -m and m have one modulus; 0 and N/2 stand alone
    whole = power[:, 0] + 2 * power[:, 1:-1].sum(axis=1) + power[:, -1]
    bound = (whole / grid.period) ** weight * (1 + INFLATION)
    beyond = 2 * power[:, grid.kept + 1 :].sum(axis=1) / grid.period
    rest = beyond**weight * (1 + INFLATION)
    return Bounds(bound, rest, up, down, first)
