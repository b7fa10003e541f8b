"""The columns of an output: one an axis (a hierarchy: one a level), then the count; and back.

Every cell of the domain is one row, zeros included, in the order of the domain. Reading goes the other
way: the labels in the order in which they are first seen make the domain again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from congenial.errors import Fault, RequestError, SourceError
from congenial.tables.domain import Axis, Domain
from congenial.tables.long import long_table

if TYPE_CHECKING:
    import pyarrow as pa

COUNT = "count"
DRAW = "draw"


def names(domain: Domain) -> tuple[str, ...]:
    """The names of the label columns, in order; a `RequestError` where two columns would share one."""
    found = tuple(name for axis in domain.axes for name in axis.level_names)
    faults = [
        Fault(
            "table.axes",
            f"two columns of the output would be called '{name}'",
            "the output has one column a level, and 'count' and 'draw'. Give the axis or level another name.",
        )
        for name in dict.fromkeys(found)
        if found.count(name) > 1 or name in (COUNT, DRAW)
    ]
    if faults:
        raise RequestError(faults)
    return found


def parquet_bytes(table: pa.Table) -> bytes:
    """A Parquet file; the same bytes for the same table and library."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    out = pa.BufferOutputStream()
    pq.write_table(table, out, compression="zstd")
    return bytes(out.getvalue())


def csv_bytes(table: pa.Table, *, header: bool = True) -> bytes:
    """A CSV file: UTF-8, commas, quotes only where a label needs them, lines ending in a line feed."""
    import pyarrow as pa
    import pyarrow.compute as pc

    fields = []
    for column in table.columns:
        if not pa.types.is_string(column.type):
            fields.append(column.combine_chunks().cast(pa.large_string()))
            continue
        encoded = column.combine_chunks().dictionary_encode()
        labels = [_quoted(label) for label in encoded.dictionary.to_pylist()]
        fields.append(pa.array(labels, pa.large_string()).take(encoded.indices))
    rows = pc.binary_join_element_wise(*fields, pa.scalar(",", pa.large_string()))
    empty, end = pa.scalar("", pa.large_string()), pa.scalar("\n", pa.large_string())
    lines = pc.binary_join_element_wise(rows, empty, end)
    first = ",".join(map(_quoted, table.column_names)) + "\n" if header else ""
    if not len(lines):
        return first.encode()
    _, offsets, text = lines.buffers()  # all lines stand in one buffer, end to end
    return first.encode() + bytes(text)[: int(np.frombuffer(offsets, dtype=np.int64)[len(lines)])]


def _quoted(label: str) -> str:
    if label and not set(label) & set(',"\r\n') and label.strip() == label:
        return label
    return '"' + label.replace('"', '""') + '"'


def domain_of(table: pa.Table, axes: Sequence[tuple[str, Sequence[str]]]) -> Domain:
    """The domain whose rows `table` has, axis by axis, `axes` being (name, levels) each.

    Raises a `SourceError` unless every cell of that domain stands in the table once, in its order.
    """
    made = []
    for name, levels in axes:
        firsts = _first_rows([_codes(table, level) for level in levels])
        labels = [table.column(level).take(firsts).to_pylist() for level in levels]
        made.append(Axis.nested(name, levels, list(zip(*labels, strict=True))))
    domain = Domain(tuple(made))
    if domain.cells != table.num_rows or not _in_order(table, domain):
        raise SourceError("the table is not whole: every cell must stand in it once, in its order.")
    return domain


def _codes(table: pa.Table, column: str) -> NDArray[np.int64]:
    encoded = table.column(column).combine_chunks().dictionary_encode()
    return np.asarray(encoded.indices, dtype=np.int64)


def _first_rows(keys: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    """The row where each combination of keys was first seen, in order of first sight."""
    code = np.zeros(len(keys[0]), dtype=np.int64)
    firsts = np.zeros(0, dtype=np.int64)
    for key in keys:
        joint = code * (int(key.max(initial=0)) + 1) + key
        _, first, code = np.unique(joint, return_index=True, return_inverse=True)
        firsts = np.sort(first)
    return firsts


def _in_order(table: pa.Table, domain: Domain) -> bool:
    wanted = long_table(domain, np.zeros(domain.cells, dtype=np.int64))
    return all(table.column(name).equals(wanted.column(name)) for name in names(domain))
