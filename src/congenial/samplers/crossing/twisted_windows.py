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
from numpy.typing import NDArray

from congenial.samplers.base import FloatArray
from congenial.samplers.crossing import _twisted_setup_kernels as setup
from congenial.samplers.crossing.tables import Unary

_UPWARD = 1 + 1e-9
_USUAL = 2.0**-9  # remainders beyond these tails do not count for the variance


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
    φ_j(z)·V_{j+1}(s-z) before the largest and from it on, and its place; `peak` is the largest.
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
    """Of the next cell given its remainder, averaged over likely remainders."""
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

    @property
    def line(self) -> tuple[FloatArray, int, FloatArray, int]:
        """φ and V as the set-up kernels take them."""
        return self.law.weights, self.law.lo, self.after.weights, self.after.lo

    def likely(self, tail: float) -> tuple[int, int]:
        """The range of remainders beyond which less than `tail` lies on either side."""
        return likely(self.share, tail)

    def typical_law(self) -> FloatArray:
        """h at the likeliest remainder, on the law's window."""
        at = self.lo + self.typical - np.arange(self.law.lo, self.law.hi + 1) - self.after.lo
        inside = (at >= 0) & (at < len(self.after.weights))
        values = np.where(inside, self.after.weights[np.where(inside, at, 0)], 0.0)
        return np.asarray(self.law.weights * values / self.total[self.typical])


def likely(share: FloatArray, tail: float) -> tuple[int, int]:
    """The range that leaves out less than `tail` of the sum of `share` at either end, never empty."""
    upward, downward = np.cumsum(share), np.cumsum(share[::-1])
    top, cut = int(share.argmax()), tail * float(upward[-1])
    left = min(int(np.searchsorted(upward, cut)), top)
    return left, len(share) - min(int(np.searchsorted(downward, cut)), len(share) - 1 - top)


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
    a, b = likely(both, 2.0 ** (log2_mass - 1))
    cut = float(both[:a].sum()) + float(both[b:].sum())
    # outside the prefix's window no more than its missing mass meets no more than the largest V
    missing = prefix.missing * float(after.weights.max()) * max(float(law.weights.sum()), 1.0)
    share = both[a:b] / both[a:b].sum()
    left, right, peak = np.empty(b - a), np.empty(b - a), np.empty(b - a)
    top = np.empty(b - a, dtype=np.int64)
    first, last = likely(share, _USUAL)
    moments = np.empty((last - first, 2))
    line = (law.weights, law.lo, after.weights, after.lo)
    spread = setup.scan(*line, lo + a, left, right, top, peak, moments, first, last)
    usual = share[first:last] / share[first:last].sum()
    variance = float(usual @ np.maximum(moments[:, 1] - moments[:, 0] ** 2, 0.0))
    lost = (cut + missing) * _UPWARD
    return Step(law, after, lo + a, left, right, top, peak, share, variance, lost, float(spread))
