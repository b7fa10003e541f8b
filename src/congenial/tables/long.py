"""Counts as a long table: one column a level of an axis, then `count`, a row a cell, zeros included."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from congenial.tables.domain import Domain


def long_table(domain: Domain, counts: NDArray[np.int64]) -> Any:
    """A pyarrow table of flat `counts` in the order of cells, with a column for every level.

    **Cost.** A dictionary index a cell and column, then the labels.
    """
    import pyarrow as pa

    columns: dict[str, Any] = {}
    after = domain.cells
    before = 1
    for axis in domain.axes:
        after //= max(axis.size, 1)
        for depth, level in enumerate(axis.levels):
            places = np.tile(np.repeat(axis.nodes(depth), after), before)
            columns[level.name] = pa.array(level.labels, pa.string()).take(pa.array(places))
        before *= axis.size
    columns["count"] = pa.array(np.ascontiguousarray(counts, dtype=np.int64).reshape(-1))
    return pa.table(columns)
