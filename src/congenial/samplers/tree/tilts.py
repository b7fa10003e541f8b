"""Tilts: where limits push a sum far from the value that facts and laws give it, meet it halfway.

Multiplying the leaves below a node by exp(θz) and the node by exp(-θt) changes nothing, since t is the
sum of the z; but it moves the windows to where the law lives. The best tilts solve a convex dual:
the tilted mean of a fixed sum is zero, that of a measured one is zero or θ is as steep as its law.
They need not be exact: what is off costs width, never the law, and where nothing is far off (the
usual case) all are zero and the tables are shared.
"""

from __future__ import annotations

import numpy as np

from congenial.problems.forest import FIXED, Forest, Laws
from congenial.problems.structure import FREE
from congenial.samplers.base import FloatArray, IntArray
from congenial.samplers.tree import _class_kernels as kernels

_FAR = 3.5
"""Standard deviations from which a sum counts as far off."""

_STEEP = 0.98
"""The share of a law's rate that a tilt goes to on a side where nothing else bounds it."""

_REACH = 1 << 18
_STEPS = 24


def tilts(forest: Forest) -> tuple[FloatArray, FloatArray]:
    """(θ of every node, the sum of θ above every leaf)."""
    nodes, leaves = len(forest.parent), len(forest.cells)
    theta = np.zeros(nodes)
    total = np.zeros(leaves)
    inner = np.zeros(nodes, dtype=bool)
    inner[forest.parent[forest.parent >= 0]] = True
    candidates = inner & ((forest.parent == FIXED) | (forest.law > 0))
    if not candidates.any() or (forest.law[:leaves] == 0).any():
        return theta, total
    mean, spread = _sums(forest, total)
    if not (np.abs(mean) > _FAR * spread)[candidates].any():
        return theta, total
    height = kernels.heights(forest.parent)
    for _ in range(2):
        done = True
        for level in np.unique(height[candidates]).tolist():
            if not done:
                mean, spread = _sums(forest, total)
            off = candidates & (height == level) & (np.abs(mean) > _FAR * spread)
            if not off.any():
                continue
            done = False
            _solve(forest, np.flatnonzero(off), theta, total)
        if done:
            break
    return theta, total


def _sums(forest: Forest, total: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Mean and standard deviation of every node's sum, were the leaves independent."""
    mean, variance = _moments(forest, total, np.arange(len(total)))
    wide = np.zeros(len(forest.parent))
    wide[: len(total)] = mean
    wider = np.zeros(len(forest.parent))
    wider[: len(total)] = variance
    return kernels.totals(forest.parent, wide), np.sqrt(kernels.totals(forest.parent, wider))


def _moments(forest: Forest, total: FloatArray, which: IntArray) -> tuple[FloatArray, FloatArray]:
    """Mean and variance of some tilted leaves, each alone."""
    mean, variance = np.zeros(len(which)), np.zeros(len(which))
    law, tilt = forest.law[which], total[which]
    lower = np.maximum(forest.lower[which], -_REACH)
    upper = np.minimum(forest.upper[which], _REACH)
    member, first = kernels.distinct(np.stack([law, tilt.view(np.int64)], axis=1))
    for at, leaf in enumerate(first.tolist()):
        mine = member == at if len(first) > 1 else slice(None)
        laws, slope = forest.laws[law[leaf]], float(tilt[leaf])
        mean[mine], variance[mine] = _truncated(laws, slope, lower[mine], upper[mine])
    return mean, variance


def _truncated(laws: Laws, slope: float, lower: IntArray, upper: IntArray) -> tuple[FloatArray, FloatArray]:
    """Moments of one tilted law between many limits."""
    if slope > 0:
        mean, variance = _truncated(laws, -slope, -upper, -lower)
        return -mean, variance
    low, high = _span(laws, slope, lower, upper)
    mean, variance = _above(laws, slope, low, high, np.clip(lower, low, high))
    # limits on the side where the law falls anyway are few and near: each by itself
    near = np.flatnonzero(upper < high)
    member, first = kernels.distinct(np.stack([lower[near], upper[near]], axis=1))
    for at, leaf in enumerate(near[first].tolist()):
        z = np.arange(max(low, min(lower[leaf], upper[leaf])), upper[leaf] + 1, dtype=np.float64)
        exponent = _exponent(laws, slope, z)
        weights = np.exp(exponent - exponent.max())
        middle = float((weights * z).sum() / weights.sum())
        mine = near[member == at]
        mean[mine] = middle
        variance[mine] = float((weights * (z - middle) ** 2).sum() / weights.sum())
    return mean, variance


def _span(laws: Laws, slope: float, lower: IntArray, upper: IntArray) -> tuple[int, int]:
    """Values between which a law that is tilted downwards has its mass, whatever the limits."""
    if any(law.power == 2 for law in laws):
        stiff = 2 * sum(law.rate for law in laws if law.power == 2)
        reach = min(law.reach(-80) for law in laws if law.power == 2)
        left = right = reach - slope / stiff
    else:
        rate = sum(law.rate for law in laws)
        right = 60 / (rate - slope)
        left = 60 / max(rate + slope, rate * (1 - _STEEP))
        if rate + slope <= 0:
            left = float(_REACH)
    low = max(-int(min(left, _REACH)), int(max(lower.min(), -_REACH)))
    high = int(min(right, _REACH)) + max(0, int(lower.max()))
    return min(low, int(upper.min())) if upper.min() < low else low, max(high, low + 1)


def _exponent(laws: Laws, slope: float, z: FloatArray) -> FloatArray:
    exponent = slope * z
    for law in laws:
        exponent = exponent - law.rate * np.abs(z) ** law.power
    return exponent


def _above(
    laws: Laws, slope: float, low: int, high: int, start: IntArray
) -> tuple[FloatArray, FloatArray]:
    """Mean and variance of a law on start … high, for many starts.

    With W(z) the mass from z on, the mean of what lies above z is Σ_{j>z} W(j)/W(z), and twice the next such
    sum gives the square; all as logarithms, so that no mass is too small.
    """
    mass = _exponent(laws, slope, np.arange(low, high + 1, dtype=np.float64))
    sums = []
    for _ in range(3):
        mass = np.logaddexp.accumulate(mass[::-1])[::-1]
        sums.append(np.append(mass, [-np.inf, -np.inf, -np.inf]))
    at = start - low
    first = np.exp(sums[1][at + 1] - sums[0][at])
    second = 2 * np.exp(sums[2][at + 2] - sums[0][at])
    return start + first, np.maximum(second + first - first * first, 0.0)


def _solve(forest: Forest, nodes: IntArray, theta: FloatArray, total: FloatArray) -> None:
    """Set θ of some nodes, none above another, so that their sums' means are zero; in place."""
    owner = np.full(len(forest.parent), -1, dtype=np.int64)
    owner[nodes] = np.arange(len(nodes))
    for v in range(len(forest.parent) - 1, -1, -1):
        if owner[v] < 0 and forest.parent[v] >= 0:
            owner[v] = owner[forest.parent[v]]
    below = np.flatnonzero(owner[: len(total)] >= 0)
    member = owner[below]
    start = total[below] - theta[nodes][member]
    low, high, stiff = _limits(forest, nodes, below, member, start)

    def off(guess: FloatArray) -> FloatArray:
        trial = total.copy()
        trial[below] = start + guess[member]
        mean, _ = _moments(forest, trial, below)
        return np.bincount(member, weights=mean, minlength=len(nodes)) + stiff * guess

    for _ in range(_STEPS):
        middle = (low + high) / 2
        above = off(middle) > 0
        high = np.where(above, middle, high)
        low = np.where(above, low, middle)
    theta[nodes] = (low + high) / 2
    total[below] = start + theta[nodes][member]


def _limits(
    forest: Forest, nodes: IntArray, below: IntArray, member: IntArray, start: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """How far θ may go either way, and the slope that a Gaussian node adds."""
    rate = np.array([sum(law.rate for law in forest.laws[i] if law.power == 1) for i in forest.law[below]])
    gaussian = np.array([any(law.power == 2 for law in forest.laws[i]) for i in forest.law[below]])
    free = 40.0 + 4 * rate
    least = np.where((forest.lower[below] <= -FREE) & ~gaussian, -_STEEP * rate, -free) - start
    most = np.where((forest.upper[below] >= FREE) & ~gaussian, _STEEP * rate, free) - start
    low, high = np.full(len(nodes), -1e9), np.full(len(nodes), 1e9)
    np.maximum.at(low, member, least)
    np.minimum.at(high, member, most)
    stiff = np.zeros(len(nodes))
    for at, v in enumerate(nodes.tolist()):
        if forest.parent[v] == FIXED:
            continue
        laws = forest.laws[forest.law[v]]
        smooth = [law for law in laws if law.power == 2]
        if smooth:
            stiff[at] = 1 / sum(2 * law.rate for law in smooth)
        else:
            steep = _STEEP * sum(law.rate for law in laws)
            low[at], high[at] = max(low[at], -steep), min(high[at], steep)
    return low, high, stiff
