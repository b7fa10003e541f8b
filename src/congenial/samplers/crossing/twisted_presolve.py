"""What zero margins say about single cells: a cell can rise only as far as the others in its row can fall.

Cells that cannot go below -x leave little room to a cell among them, however long the tail of its law.
A bound found here is a true end of the law: nothing is lost by it, and a tilted law that would fall too
slowly to be trimmed needs no trimming. A row of empty cells turns out to be fixed at zero.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from congenial.samplers.crossing.tables import Unary

_FAR = 1 << 40
_ROUNDS = 4


def clipped(array: Sequence[Sequence[Unary]]) -> list[list[Unary]] | None:
    """The same array with windows cut to what the margins allow; None if they allow nothing.

    Rows and columns that were alike remain so: cells with one law and one window share one object.
    """
    lower = np.array([[-_FAR if law.open_below else law.lo for law in row] for row in array], dtype=np.int64)
    upper = np.array([[_FAR if law.open_above else law.hi for law in row] for row in array], dtype=np.int64)
    for _ in range(_ROUNDS):
        before = lower.sum(), upper.sum()
        for axis in (0, 1):
            lower, upper = _tightened(lower, upper, axis)
        if (lower > upper).any():
            return None
        if (lower.sum(), upper.sum()) == before:
            break
    made: dict[tuple[Unary, int, int], Unary] = {}
    found = []
    for i, row in enumerate(array):
        cut = []
        for j, law in enumerate(row):
            lo, hi = max(int(lower[i, j]), law.lo), min(int(upper[i, j]), law.hi)
            if lo > hi:
                return None
            key = (law, int(lower[i, j]), int(upper[i, j]))
            if key not in made:
                made[key] = _cut(law, *key[1:])
            cut.append(made[key])
        found.append(cut)
    return found


def _tightened(
    lower: NDArray[np.int64], upper: NDArray[np.int64], axis: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """One round: each cell lies between minus what the others in its line can reach."""
    most = -(lower.sum(axis=axis, keepdims=True) - lower)
    least = -(upper.sum(axis=axis, keepdims=True) - upper)
    return np.clip(np.maximum(lower, least), -_FAR, None), np.clip(np.minimum(upper, most), None, _FAR)


def _cut(law: Unary, lower: int, upper: int) -> Unary:
    """`law` on lower … upper; an end that is cut, or was a bound, is closed."""
    lo, hi = max(lower, law.lo), min(upper, law.hi)
    is_open = (law.open_below and lower < law.lo, law.open_above and upper > law.hi)
    if (lo, hi) == (law.lo, law.hi) and is_open == (law.open_below, law.open_above):
        return law
    weights = law.weights[lo - law.lo : hi - law.lo + 1]
    kept = float(weights.sum())
    trimmed = law.trimmed * float(law.weights.sum()) / kept * (1 + 1e-9) if any(is_open) else 0.0
    return Unary(lo, weights / kept, trimmed, law.relative_error + 2.0**-52, *is_open)
