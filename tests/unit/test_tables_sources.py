"""Sources of every kind: files, databases, queries; flat and nested axes; where labels come from."""

from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import feather, ipc, parquet

from congenial.errors import RequestError
from congenial.requests.model import AxisSpec, Unit
from congenial.tables.sources import declared_domain
from support.tables import cells, faults_of, spec, table

TEXT = "sex,age,n\nf,old,3\nm,young,4\nf,young,5\n"
COUNTS = {("f", "old"): 3, ("m", "young"): 4, ("f", "young"): 5}
SEX, AGE = AxisSpec("sex", categories=("m", "f")), AxisSpec("age", categories=("young", "old"))


def arrow_table():
    return pa.table(
        {
            "sex": pa.array(["f", "m", "f"]).dictionary_encode(),
            "age": ["old", "young", "young"],
            "n": pa.array([3, 4, 5], pa.int32()),
        }
    )


def as_csv(path):
    path.write_text(TEXT)


def as_parquet(path):
    parquet.write_table(arrow_table(), path)


def as_arrow(path):
    with ipc.new_file(path, arrow_table().schema) as file:
        file.write(arrow_table())


def as_stream(path):
    with ipc.new_stream(path, arrow_table().schema) as file:
        file.write(arrow_table())


def as_feather(path):
    feather.write_feather(arrow_table(), path, compression="zstd")


def as_database(path):
    import duckdb

    with duckdb.connect(str(path)) as con:
        con.execute("CREATE TABLE people (sex VARCHAR, age VARCHAR, n INTEGER)")
        con.execute("INSERT INTO people VALUES ('f','old',3), ('m','young',4), ('f','young',5)")


@pytest.mark.parametrize("write", [as_csv, as_parquet, as_arrow, as_stream, as_feather])
@pytest.mark.parametrize("query", [None, "select * from source", "from source where n is not null -- all\n;"])
def test_the_same_rows_give_the_same_table_in_every_kind_of_file(tmp_path, write, query):
    write(tmp_path / "data.any")
    found = table(tmp_path, None, [SEX, AGE], name="data.any", query=query)
    assert cells(found) == COUNTS
    assert found.counts_confidential.tolist() == [4, 0, 5, 3]


def test_a_database_is_read_by_its_query(tmp_path):
    as_database(tmp_path / "people.duckdb")
    found = table(tmp_path, None, [SEX, AGE], name="people.duckdb", query="select * from people")
    assert cells(found) == COUNTS


def test_records_are_tabulated(tmp_path):
    found = table(tmp_path, "age,sex\nold,f\nold,m\nold,f\n", [SEX, AGE], counts=None)
    assert found.counts_confidential.tolist() == [0, 1, 0, 2]
    assert found.notices == ()


def test_columns_that_no_axis_names_are_ignored(tmp_path):
    content = "id,sex,note,n\n1,f,a,3\n2,m,b,4\n"
    assert cells(table(tmp_path, content, [SEX])) == {("f",): 3, ("m",): 4}


def test_columns_are_told_apart_by_capitals(tmp_path):
    content = "Sex,sex,n\nx,f,3\ny,m,4\n"
    assert cells(table(tmp_path, content, [SEX])) == {("f",): 3, ("m",): 4}


def test_a_query_may_cast_group_and_rename(tmp_path):
    query = "with t as (select age as a, sum(cast(n as bigint)) as total from source group by age) from t"
    found = table(tmp_path, TEXT, [AxisSpec("age", column="a")], counts="total", query=query)
    assert cells(found) == {("old",): 3, ("young",): 9}


def test_absent_combinations_are_zero_and_order_is_as_declared(tmp_path):
    found = table(tmp_path, "sex,age,n\nf,old,3\n", [SEX, AGE])
    assert found.counts_confidential.tolist() == [0, 0, 0, 3]
    assert found.axes[0].levels[0].labels == ("m", "f")


def test_labels_that_are_not_declared_are_sorted_and_said_to_be_public(tmp_path):
    found = table(tmp_path, "a,n\nb,1\na,2\nB,3\n10,4\n9,5\n", ["a"])
    assert found.axes[0].levels[0].labels == ("10", "9", "B", "a", "b")
    [notice] = found.notices
    assert notice == "The labels of axis 'a' were taken from the source: this list was taken as public."


def test_the_order_of_the_source_never_shows(tmp_path):
    one = table(tmp_path, "a,n\nb,1\na,2\n", ["a"]).to_frame()
    other = table(tmp_path, "a,n\na,2\nb,1\n", ["a"]).to_frame()
    assert one.equals(other)


def test_records_without_declared_labels_are_refused(tmp_path):
    [fault] = faults_of(RequestError, lambda: table(tmp_path, "a\nsecret\n", ["a"], counts=None))
    assert fault.where == "table.axes.a"
    assert "reveal" in fault.hint
    assert "secret" not in fault.what + fault.hint


def test_records_take_labels_from_the_source_where_that_is_said(tmp_path):
    axis = AxisSpec("a", labels_from_source=True)
    found = table(tmp_path, "a\ny\nx\ny\n", [axis], counts=None)
    assert cells(found) == {("x",): 1, ("y",): 2}
    assert "records: the list itself says which of them occur" in found.notices[0]


PLACES = "county,state,other\nAthens,Ohio,1\nLinn,Iowa,2\nAdams,Ohio,3\nAdams,Iowa,4\n"
PLACE = AxisSpec("place", levels=("state", "county"), domain=Path("places.csv"))


def test_a_domain_file_declares_leaves_in_its_order(tmp_path):
    tmp_path.joinpath("places.csv").write_text(PLACES)
    content = "state,county,n\nIowa,Adams,1\nOhio,Adams,2\n"
    found = table(tmp_path, content, [PLACE])
    assert list(found.axes[0].paths()) == [
        ("Ohio", "Athens"),
        ("Ohio", "Adams"),
        ("Iowa", "Linn"),
        ("Iowa", "Adams"),
    ]
    assert found.counts_confidential.tolist() == [0, 2, 0, 1]


def test_a_level_that_the_source_lacks_is_joined_from_the_domain(tmp_path):
    tmp_path.joinpath("places.csv").write_text("state,county\nOhio,Athens\nIowa,Linn\n")
    found = table(tmp_path, "county,n\nLinn,1\nAthens,2\n", [PLACE])
    assert cells(found) == {("Ohio", "Athens"): 2, ("Iowa", "Linn"): 1}


def test_a_domain_file_may_be_of_any_kind(tmp_path):
    parquet.write_table(pa.table({"state": ["Ohio"], "county": ["Athens"]}), tmp_path / "places.csv")
    assert cells(table(tmp_path, "state,county,n\nOhio,Athens,2\n", [PLACE])) == {("Ohio", "Athens"): 2}


def test_nested_levels_without_a_domain_are_the_paths_that_occur(tmp_path):
    content = "state,county,n\nOhio,Athens,1\nIowa,Adams,2\nOhio,Adams,3\n"
    found = table(tmp_path, content, [AxisSpec("place", levels=("state", "county"))])
    assert list(found.axes[0].paths()) == [("Iowa", "Adams"), ("Ohio", "Adams"), ("Ohio", "Athens")]


def test_the_finest_level_may_stand_in_a_column_of_another_name(tmp_path):
    axis = AxisSpec("place", levels=("state", "county"), column="cty")
    assert cells(table(tmp_path, "state,cty,n\nOhio,Adams,3\n", [axis])) == {("Ohio", "Adams"): 3}


CODE = AxisSpec("place", column="fips", prefixes=(("state", 2), ("county", 5)))


def test_prefixes_of_a_code_are_the_labels_of_its_levels(tmp_path):
    found = table(tmp_path, "fips,n\n19001,1\n01003,2\n01001,3\n", [CODE])
    assert found.axes[0].level_names == ("state", "county")
    assert cells(found) == {("01", "01001"): 3, ("01", "01003"): 2, ("19", "19001"): 1}


def test_a_code_longer_than_its_last_prefix_adds_up_what_begins_alike(tmp_path):
    found = table(tmp_path, "fips,n\n190011,1\n190012,2\n010019,3\n", [CODE])
    assert cells(found) == {("01", "01001"): 3, ("19", "19001"): 3}


@pytest.mark.parametrize("column", ["fips", "place", "county", "anything"])
def test_a_domain_file_of_codes_may_call_its_column_as_axis_column_or_level(tmp_path, column):
    tmp_path.joinpath("codes.csv").write_text(f"{column}\n19001\n01003\n01001\n")
    axis = AxisSpec("place", column="fips", prefixes=CODE.prefixes, domain=Path("codes.csv"))
    found = table(tmp_path, "fips,n\n01003,2\n", [axis])
    assert [path[-1] for path in found.axes[0].paths()] == ["19001", "01003", "01001"]
    assert found.counts_confidential.tolist() == [0, 2, 0]


def test_codes_can_be_declared_as_categories(tmp_path):
    axis = AxisSpec("place", column="fips", prefixes=CODE.prefixes, categories=("01001", "19001"))
    assert table(tmp_path, "fips,n\n19001,2\n", [axis]).counts_confidential.tolist() == [0, 2]


def test_a_flat_domain_file_has_one_column_that_matters(tmp_path):
    tmp_path.joinpath("ages.csv").write_text("label,age\n1,old\n2,young\n")
    axis = AxisSpec("age", domain=Path("ages.csv"))
    assert table(tmp_path, "age,n\nyoung,2\n", [axis]).counts_confidential.tolist() == [0, 2]


@pytest.mark.parametrize("entry", ["12", "+12", "12.0", "12.", "12.000", " 12 ", "012"])
def test_whole_numbers_are_counts_however_they_are_written(tmp_path, entry):
    assert cells(table(tmp_path, f"a,n\nx,{entry}\n", ["a"])) == {("x",): 12}


def test_minus_zero_is_zero(tmp_path):
    assert cells(table(tmp_path, "a,n\nx,-0\ny,-0.0\n", ["a"])) == {}


def test_counts_of_every_type_of_column_are_exact(tmp_path):
    for kind in (pa.int8(), pa.uint64(), pa.float64(), pa.decimal128(30, 4), pa.string()):
        data = pa.table({"a": ["x", "y"], "n": pa.array([3, 100]).cast(kind)})
        parquet.write_table(data, tmp_path / "t.parquet")
        assert cells(table(tmp_path, None, ["a"], name="t.parquet")) == {("x",): 3, ("y",): 100}


def test_the_largest_count_is_exact(tmp_path):
    assert cells(table(tmp_path, f"a,n\nx,{2**53}\n", ["a"])) == {("x",): 2**53}
    data = pa.table({"a": ["x"], "n": [float(2**53)]})
    parquet.write_table(data, tmp_path / "t.parquet")
    assert cells(table(tmp_path, None, ["a"], name="t.parquet")) == {("x",): 2**53}


def test_labels_of_typed_columns_are_text_as_they_stand(tmp_path):
    import datetime

    data = {"i": [7], "f": [1.0], "b": [True], "d": [datetime.date(2020, 1, 1)], "s": [b"x"], "n": [1]}
    parquet.write_table(pa.table(data), tmp_path / "t.parquet")
    found = table(tmp_path, None, ["i", "f", "b", "d", "s"], name="t.parquet")
    assert cells(found) == {("7", "1.0", "true", "2020-01-01", "x"): 1}


def test_the_declared_domain_opens_no_source(tmp_path):
    tmp_path.joinpath("places.csv").write_text(PLACES)
    domain = declared_domain(spec(tmp_path, None, [SEX, PLACE], name="there is no such file"))
    assert domain.names == ("sex", "place")
    assert domain.shape == (2, 4)


def test_the_declared_domain_names_every_axis_that_only_the_source_knows(tmp_path):
    faults = faults_of(
        RequestError, lambda: declared_domain(spec(tmp_path, None, [SEX, "a", "b"], name="no"))
    )
    assert [fault.where for fault in faults] == ["table.axes.a", "table.axes.b"]


def test_a_table_without_a_unit_can_be_read(tmp_path):
    from congenial.tables.table import Table

    assert Table.from_source(spec(tmp_path, TEXT, [SEX, AGE])).cells == 4


def test_nothing_is_left_behind(tmp_path, monkeypatch):
    import tempfile

    own = tmp_path / "tmp"
    own.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(own))
    folder = tmp_path / "data"
    folder.mkdir()
    table(folder, "a;n\nö;3\n".encode("latin-1"), ["a"], query="from source")
    axis = AxisSpec("a", categories=("x", "y"))
    unit = Unit(column="id", max_rows=1, over="drop")
    table(folder, "id,a\n1,x\n1,y\n", [axis], counts=None, unit=unit)
    assert list(own.iterdir()) == []
    assert [path.name for path in folder.iterdir()] == ["source.csv"]


def test_a_database_may_call_its_tables_as_we_call_ours(tmp_path):
    import duckdb

    names = ["tally", "held", "crowded", "chosen", "ranks", "leaves0", "asked", "source", "congenial_rows"]
    with duckdb.connect(str(tmp_path / "d.duckdb")) as con:
        for name in names:
            con.execute(f"CREATE TABLE {name} AS SELECT 'wrong' AS sex, 'wrong' AS unit, 1 AS n")
        con.execute(
            "CREATE TABLE people AS SELECT * FROM (VALUES ('1','f'),('1','m'),('2','m')) AS t(id, sex)"
        )
    unit = Unit(column="id", over="drop")
    for query in ("from people", "select id, sex from people where id in (select '1' union select '2')"):
        found = table(tmp_path, None, [SEX], counts=None, name="d.duckdb", query=query, unit=unit)
        assert found.counts_confidential.sum() == 2
    found = table(tmp_path, None, [AxisSpec("sex")], name="d.duckdb", query="from source")
    assert cells(found) == {("wrong",): 1}
