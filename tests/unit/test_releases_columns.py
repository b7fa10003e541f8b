"""The columns of an output, and the domain that they make again."""

import csv
import io

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from congenial.errors import RequestError, SourceError
from congenial.releases import columns
from congenial.tables.domain import Axis, Domain
from congenial.tables.long import long_table

AWKWARD = ["01001", "no", "1.0", "", " edge ", 'a "quote"', "comma, and\nline", "é"]
PLACES = [("Ohio", "Athens"), ("Ohio", "Lake"), ("Iowa", "Lake")]


def small() -> Domain:
    return Domain((Axis.nested("place", ["state", "county"], PLACES), Axis.flat("code", AWKWARD)))


def test_every_cell_is_one_row_in_the_order_of_the_domain():
    domain = small()
    table = long_table(domain, np.arange(domain.cells))
    assert table.column_names == ["state", "county", "code", "count"]
    rows = [(s, c, code) for s, c in PLACES for code in AWKWARD]
    assert list(zip(*(table.column(i).to_pylist() for i in range(3)), strict=True)) == rows
    assert table.column("count").to_pylist() == list(range(domain.cells))


def test_labels_survive_csv_exactly_as_they_stand():
    domain = small()
    text = columns.csv_bytes(long_table(domain, np.arange(domain.cells))).decode()
    header, *rows = csv.reader(io.StringIO(text, newline=""))
    assert header == ["state", "county", "code", "count"]
    assert [row[2] for row in rows] == AWKWARD * 3
    assert [int(row[3]) for row in rows] == list(range(domain.cells))


def test_labels_survive_parquet_as_text():
    domain = small()
    table = long_table(domain, np.arange(domain.cells))
    read = pq.read_table(io.BytesIO(columns.parquet_bytes(table)))
    assert read.schema.field("code").type == pa.string()
    assert read.column("code").to_pylist() == AWKWARD * 3


def test_the_same_table_gives_the_same_bytes():
    domain = small()
    once, again = (long_table(domain, np.arange(domain.cells)) for _ in range(2))
    assert columns.parquet_bytes(once) == columns.parquet_bytes(again)
    assert columns.csv_bytes(once) == columns.csv_bytes(again)


def test_the_columns_make_the_domain_again():
    domain = small()
    table = long_table(domain, np.arange(domain.cells))
    again = columns.domain_of(table, [("place", ["state", "county"]), ("code", ["code"])])
    assert again.shape == domain.shape
    assert [list(axis.paths()) for axis in again.axes] == [list(axis.paths()) for axis in domain.axes]


@pytest.mark.parametrize("spoil", [lambda t: t.slice(1), lambda t: t.take([1, 0, *range(2, t.num_rows)])])
def test_a_table_with_a_row_missing_or_out_of_place_is_refused(spoil):
    domain = small()
    table = long_table(domain, np.arange(domain.cells))
    with pytest.raises(SourceError, match="not whole"):
        columns.domain_of(spoil(table), [("place", ["state", "county"]), ("code", ["code"])])


@pytest.mark.parametrize("axes", [["count"], ["draw"], ["sex", "sex"]])
def test_two_columns_of_one_name_are_refused(axes):
    domain = Domain(tuple(Axis.flat(name, ["a", "b"]) for name in axes))
    with pytest.raises(RequestError, match=f"'{axes[-1]}'"):
        columns.names(domain)


def test_an_empty_table_is_a_header():
    table = pa.table({"sex": pa.array([], pa.string()), "count": pa.array([], pa.int64())})
    assert columns.csv_bytes(table) == b"sex,count\n"
