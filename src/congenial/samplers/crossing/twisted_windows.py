"""One class of rows of twisted columns: how far its remainders go, and what it weighs at each of them.

A row's *remainder* `s` before column `j` is what columns j … c-1 must add up to. Forward, the prefix
laws A_j say how likely a remainder is before the later columns are looked at; backward, M_j(s) says
what the later columns make of it. Remainders whose product A_j(-s)·M_j(s) is negligible are dropped,
and what was dropped is kept as a number for the certificate.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from congenial.samplers.base import FloatArray
from congenial.samplers.crossing.tables import Unary

_UPWARD = 1 + 1e-9


@dataclass(frozen=True, eq=False)
class Prefix:
    """The law of a sum of the first columns of a row; `missing` bounds the mass it leaves out."""

    lo: int
    weights: FloatArray
    missing: float


def prefixes(laws: Sequence[Unary], log2_mass: float) -> list[Prefix]:
    """A_0 … A_{c-1}: the laws of the sums of the first 0 … c-1 variables, each end trimmed.

    **Exactness.** Direct convolution; trimmed mass adds up in `missing`, and so does what each law's
    own window leaves out.
    """
    found = [Prefix(0, np.ones(1), 0.0)]
    half = 2.0 ** (log2_mass - 1)
    for law in laws[:-1]:
        last = found[-1]
        weights = np.convolve(last.weights, law.weights)
        below, above = np.cumsum(weights), np.cumsum(weights[::-1])
        left = min(int(np.searchsorted(below, half)), len(weights) - 1)
        right = min(int(np.searchsorted(above, half)), len(weights) - 1 - left)
        cut = (float(below[left - 1]) if left else 0.0) + (float(above[right - 1]) if right else 0.0)
        missing = (last.missing + law.trimmed + cut + last.missing * law.trimmed) * _UPWARD
        found.append(Prefix(last.lo + law.lo + left, weights[left : len(weights) - right], missing))
    return found


@dataclass(frozen=True, eq=False)
class Values:
    """V_j on its window of remainders, times 2^-exponent (a power of two, so that nothing is lost)."""

    lo: int
    weights: FloatArray
    exponent: int

    @property
    def hi(self) -> int:
        """The last remainder of the window."""
        return self.lo + len(self.weights) - 1


def scaled(lo: int, weights: FloatArray, exponent: int) -> Values:
    """`weights` · 2^exponent, scaled so that the largest stored value lies in [1/2, 1)."""
    shift = math.frexp(float(weights.max()))[1]
    return Values(lo, np.ldexp(weights, -shift), exponent + shift)


@dataclass(frozen=True, eq=False)
class Step:
    """What one class of rows knows of one column, by remainder s = lo, lo+1, …

    `left`, `right` and `top` are what inversion from both ends needs: the masses of the weights
    before the largest weight and from it on, and its place. `total` is their sum, M_j(s).
    """

    law: Unary
    after: Values
    lo: int
    left: FloatArray
    right: FloatArray
    top: NDArray[np.int64]
    peak: FloatArray
    share: FloatArray
    """How likely each remainder is, roughly: A_j(-s)·M_j(s), with sum one."""
    variance: float
    dropped: float
    """Mass of rows that the window leaves out, in units of `after`."""
    spread: float
    """The largest ratio of a cumulated weight to the weight itself: what inversion magnifies rounding by."""

    @property
    def total(self) -> FloatArray:
        """M_j(s): the sum of the weights as inversion sees it."""
        return np.asarray(self.left + self.right)

    @property
    def typical(self) -> int:
        """The place of the likeliest remainder."""
        return int(self.share.argmax())

    def weights(self, first: int, count: int) -> FloatArray:
        """φ_j(z)·V_{j+1}(s-z), one row a remainder from place `first`, one column a z of the law's window."""
        return weights_matrix(self.law, self.lo + first, count, self.after)


def weights_matrix(law: Unary, lo: int, count: int, after: Values) -> FloatArray:
    """φ(z)·V(s-z) for s = lo … lo+count-1 (rows) and every z of the law (columns), zero outside."""
    width = len(law.weights)
    start = lo - law.hi  # the least s - z
    line = np.zeros(count + width - 1)
    a, b = max(start, after.lo), min(start + len(line), after.hi + 1)
    if a < b:
        line[a - start : b - start] = after.weights[a - after.lo : b - after.lo]
    return sliding_window_view(line, width)[:, ::-1] * law.weights


def make_step(law: Unary, after: Values, prefix: Prefix, log2_mass: float) -> Step | None:
    """The tables of one column, on the remainders that matter; None if there are none.

    The window leaves out at most 2^log2_mass of Σ A_j(-s)·M_j(s), and `dropped` says how much it was.
    """
    lo = max(law.lo + after.lo, -(prefix.lo + len(prefix.weights) - 1))
    hi = min(law.hi + after.hi, -prefix.lo)
    if lo > hi:
        return None
    before = prefix.weights[::-1][lo + prefix.lo + len(prefix.weights) - 1 :][: hi - lo + 1]
    reached = np.convolve(law.weights, after.weights)[lo - law.lo - after.lo :][: hi - lo + 1]
    both = before * reached
    a, b, cut = _kept(both, log2_mass)
    # outside the prefix's window no more than its missing mass meets no more than the largest V
    missing = prefix.missing * float(after.weights.max()) * max(float(law.weights.sum()), 1.0)
    share = both[a:b] / both[a:b].sum()
    matrix = weights_matrix(law, lo + a, b - a, after)
    top, left, right, spread = _ends(matrix)
    rows = np.arange(len(matrix))
    return Step(
        law,
        after,
        lo + a,
        left,
        right,
        top,
        matrix[rows, top],
        share,
        _variance(matrix, law, share),
        (cut + missing) * _UPWARD,
        spread,
    )


def _kept(both: FloatArray, log2_mass: float) -> tuple[int, int, float]:
    """The range to keep and the mass beyond it."""
    below, above = np.cumsum(both), np.cumsum(both[::-1])
    half = 2.0 ** (log2_mass - 1) * float(below[-1])
    top = int(both.argmax())
    left = min(int(np.searchsorted(below, half)), top)
    right = min(int(np.searchsorted(above, half)), len(both) - 1 - top)
    cut = (float(below[left - 1]) if left else 0.0) + (float(above[right - 1]) if right else 0.0)
    return left, len(both) - right, cut


def _ends(matrix: FloatArray) -> tuple[NDArray[np.int64], FloatArray, FloatArray, float]:
    """Per row: the place of the largest weight, the mass before it, the mass from it on; and the spread.

    The sums run in the order in which `Source.categorical` takes them, so they are the same floats.
    """
    rows = np.arange(len(matrix))
    top = matrix.argmax(axis=1)
    upward, downward = np.cumsum(matrix, axis=1), np.cumsum(matrix[:, ::-1], axis=1)[:, ::-1]
    left = np.where(top > 0, upward[rows, top - 1], 0.0)
    right = downward[rows, top]
    inner = np.where(np.arange(matrix.shape[1]) < top[:, None], upward, downward)
    ratio = np.divide(inner, matrix, out=np.zeros_like(inner), where=matrix > 0)
    return top, left, right, float(ratio.max())


def _variance(matrix: FloatArray, law: Unary, share: FloatArray) -> float:
    """The variance of the next cell given its remainder, averaged over remainders."""
    z = np.arange(law.lo, law.hi + 1, dtype=np.float64)
    total = matrix.sum(axis=1)
    mean = matrix @ z / total
    square = matrix @ (z * z) / total
    return float(share @ np.maximum(square - mean * mean, 0.0))
