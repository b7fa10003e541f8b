"""A small L-BFGS: for functions whose every evaluation costs more than all that is done here.

Deterministic, without threads, and never worse than where it began: what it returns is the best point seen.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

import numpy as np

from congenial.samplers.base import FloatArray

_MEMORY = 12
_ENOUGH = 1e-4
"""The part of the decrease promised by the slope that a step must bring."""

Target = Callable[[FloatArray], tuple[float, FloatArray]]
"""A function's value and its gradient."""


def descended(target: Target, x: FloatArray, evaluations: int, tolerance: float = 1e-10) -> FloatArray:
    """The best of at most `evaluations` points.

    **Source.** Nocedal (1980), the two-loop recursion, with steps halved until they bring enough.
    """
    value, slope = target(x)
    pairs: deque[tuple[FloatArray, FloatArray, float]] = deque(maxlen=_MEMORY)
    used = 1
    while used < evaluations:
        direction = -_times_inverse(slope, pairs)
        along = float(direction @ slope)
        if not along < 0:
            pairs.clear()
            direction, along = -slope, -float(slope @ slope)
        if along == 0:
            break
        step = 1.0 if pairs else 1.0 / max(1.0, float(np.abs(slope).sum()))
        found = None
        while found is None and used < evaluations:
            trial = x + step * direction
            trial_value, trial_slope = target(trial)
            used += 1
            if trial_value <= value + _ENOUGH * step * along:
                found = trial
            else:
                step *= _shrunk(value, along, step, trial_value)
        if found is None:
            break
        moved, turned = found - x, trial_slope - slope
        if (bend := float(moved @ turned)) > 1e-12 * float(turned @ turned):
            pairs.append((moved, turned, 1.0 / bend))
        gained = value - trial_value
        x, value, slope = found, trial_value, trial_slope
        if gained <= tolerance * (1.0 + abs(value)):
            break
    return x


def _times_inverse(slope: FloatArray, pairs: deque[tuple[FloatArray, FloatArray, float]]) -> FloatArray:
    """The slope times the inverse of the curvature that the last steps showed."""
    q = slope.copy()
    shares = []
    for moved, turned, inverse in reversed(pairs):
        shares.append(inverse * float(moved @ q))
        q -= shares[-1] * turned
    if pairs:
        moved, turned, inverse = pairs[-1]
        q /= inverse * float(turned @ turned)
    for (moved, turned, inverse), share in zip(pairs, reversed(shares), strict=True):
        q += (share - inverse * float(turned @ q)) * moved
    return q


def _shrunk(value: float, along: float, step: float, trial: float) -> float:
    """By how much to shorten a step: to the minimum of the parabola through what is known, within limits."""
    if not np.isfinite(trial):
        return 0.1
    lowest = -along * step / (2.0 * (trial - value - along * step))
    return float(min(0.5, max(0.1, lowest)))
