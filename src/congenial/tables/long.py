"""Counts as a long table: one column a level of an axis, then `count`, a row a cell, zeros included."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from congenial.errors import ArgumentError
from congenial.tables.domain import Domain
from congenial.tables.naming import shown

Kind = Literal["pyarrow", "pandas", "polars"]


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


def as_frame(domain: Domain, counts: NDArray[np.int64], kind: Kind) -> Any:
    """The same as a frame of a library that is installed."""
    table = long_table(domain, counts)
    if kind == "pyarrow":
        return table
    if kind not in ("pandas", "polars"):
        raise ArgumentError(f"{shown(str(kind))} is no kind of frame. It is one of pyarrow, pandas, polars.")
    try:
        if kind == "pandas":
            return table.to_pandas()
        import polars
    except ImportError:
        raise ArgumentError(f"{kind} is not installed. Install it, or take the pyarrow table.") from None
    return polars.from_arrow(table)
