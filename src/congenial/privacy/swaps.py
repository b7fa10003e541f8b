r"""Two-way facts and two rows: every change is a 2×2 swap, and all of them can be looked at.

Where two crossing chains let no count move alone, changes of two rows put counts into (r, c) and (r', c')
and take them from (r, c') and (r', c). With `n` the net number of counts that a form gains, |n| ≤ 2, so that
Σ|n| and Σn² over a family follow from which of the four cells share a form.

**Cost.** rows² × columns² comparisons a family, a pair of rows at a time.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from congenial.privacy.lattice import Labels
from congenial.privacy.reading import Factor

Floats = NDArray[np.float64]
_MOST = 30_000_000  # swaps that are looked at


def dearest_swap(rows: Labels, columns: Labels, factors: Sequence[Factor], power: int) -> float | None:
    """The largest Σ rate·|w·δ|^power over all swaps; None where there are too many to look at.

    `rows` and `columns` number the pools of each chain (-1: in none of them); no two cells share both.
    """
    row, column = np.unique(rows, return_inverse=True)[1], np.unique(columns, return_inverse=True)[1]
    height, width = int(row.max()) + 1, int(column.max()) + 1
    if height > width:
        row, column, height, width = column, row, width, height
    if height * height * width * width > _MOST:
        return None
    place = np.full((height, width), -1, dtype=np.int64)
    place[row, column] = np.arange(len(row))
    groups = [_on_grid(factor, place) for factor in factors]
    rates = [factor.rate for factor in factors]
    best = 0.0
    for r in range(1, height):
        for other in range(r):
            both = np.flatnonzero((place[r] >= 0) & (place[other] >= 0))
            if len(both) > 1:
                best = max(best, _between(groups, rates, r, other, both, power))
    return best


def _on_grid(factor: Factor, place: NDArray[np.int64]) -> NDArray[np.int64]:
    assert factor.family.groups is not None
    return np.where(place >= 0, factor.family.groups[np.maximum(place, 0)], -1).astype(np.int64)


def _between(
    groups: Sequence[NDArray[np.int64]],
    rates: Sequence[float],
    r: int,
    other: int,
    both: NDArray[np.int64],
    power: int,
) -> float:
    """The dearest swap between two rows, over all pairs of columns."""
    cost = np.zeros((len(both), len(both)))
    for grid, rate in zip(groups, rates, strict=True):
        a, b = grid[r, both][:, None], grid[r, both][None, :]
        c, d = grid[other, both][:, None], grid[other, both][None, :]
        cost += rate * _moved(a, b, c, d, power)
    np.fill_diagonal(cost, 0.0)
    return float(cost.max())


def _moved(
    a: NDArray[np.int64], b: NDArray[np.int64], c: NDArray[np.int64], d: NDArray[np.int64], power: int
) -> Floats:
    """Σ|n|^power over the forms of the cells a, d (which gain one) and b, c (which lose one)."""

    def shared(x: NDArray[np.int64], y: NDArray[np.int64]) -> NDArray[np.bool_]:
        return np.asarray((x == y) & (x >= 0))

    held: Floats = (a >= 0).astype(np.float64) + (b >= 0) + (c >= 0) + (d >= 0)
    gains, losses = shared(a, d), shared(b, c)
    cancel = shared(a, b).astype(np.float64) + shared(a, c) + shared(d, b) + shared(d, c)
    squares: Floats = held + 2.0 * gains + 2.0 * losses - 2.0 * cancel
    if power == 2:
        return squares
    # |n| is n² but for n = ±2, where it is two less
    twice = (gains & ~shared(a, b) & ~shared(a, c)).astype(np.float64)
    twice += losses & ~shared(b, a) & ~shared(b, d)
    return squares - 2.0 * twice
