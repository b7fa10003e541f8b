"""Groups of cells that a sampler writes to, and how far each cell's noise may go."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from congenial.errors import ArgumentError, Fault
from congenial.problems.structure import FREE
from congenial.samplers.base import IntArray


def checked_cells(
    groups: Sequence[IntArray], width: int, lower: IntArray | None, upper: IntArray | None
) -> IntArray:
    """The cells of all groups in their order; refuses groups and bounds that make no sense."""
    cells = np.concatenate([np.asarray(g, dtype=np.int64) for g in groups] or [np.empty(0, np.int64)])
    if any(len(g) == 0 for g in groups):
        raise ArgumentError("a group of cells is empty")
    if len(cells) and (cells.min() < 0 or cells.max() >= width):
        raise ArgumentError(f"a group names cells outside 0 … {width - 1}")
    if np.bincount(cells, minlength=1).max() > 1:
        raise ArgumentError("groups must not share cells")
    for name, slack, sign in (("lower", lower, -1), ("upper", upper, 1)):
        if slack is None:
            continue
        if slack.shape != (width,):
            raise ArgumentError(f"`{name}` must have one entry for each of the {width} cells")
        if (sign * slack[cells] < 0).any():
            what = f"`{name}` leaves out zero noise in a cell"
            hint = "Bounds are counted from the table, and the table must keep to them."
            raise ArgumentError(Fault("", what, hint))
    return cells


def sides(cells: IntArray, lower: IntArray | None, upper: IntArray | None) -> tuple[IntArray, IntArray]:
    """The bounds of `cells`, ±FREE where there is none."""
    low = np.full(len(cells), -FREE) if lower is None else lower[cells].astype(np.int64)
    high = np.full(len(cells), FREE) if upper is None else upper[cells].astype(np.int64)
    return low, high
