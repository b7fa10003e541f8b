"""Tables from frames: one body of tests over every kind of frame."""

import datetime

import duckdb
import pyarrow as pa
import pytest

from congenial.errors import ArgumentError, RequestError, SourceError
from congenial.requests.model import Unit
from congenial.tables.domain import Axis, Domain
from congenial.tables.table import Table
from support.tables import cells, faults_of


def as_pyarrow(columns):
    return pa.table(columns)


def as_pandas(columns):
    return pytest.importorskip("pandas").DataFrame(columns)


def as_polars(columns):
    return pytest.importorskip("polars").DataFrame(columns)


def as_lazy_polars(columns):
    return pytest.importorskip("polars").LazyFrame(columns)


def as_relation(columns):
    return duckdb.connect().from_arrow(pa.table(columns))


FRAMES = pytest.mark.parametrize("frame", [as_pyarrow, as_pandas, as_polars, as_lazy_polars, as_relation])
PEOPLE = {"sex": ["f", "m", "f"], "age": ["old", "young", "young"], "n": [3, 4, 5], "note": ["a", "b", "c"]}
RECORDS = {"id": [1, 1, 2], "sex": ["f", "f", "m"], "age": ["old", "young", "old"]}
LABELS = {"sex": ["m", "f"], "age": ["young", "old"]}


@FRAMES
def test_a_frame_of_counts_is_a_table(frame):
    found = Table.from_frame(frame(PEOPLE), axes=["sex", "age"], counts="n")
    assert cells(found) == {("f", "old"): 3, ("m", "young"): 4, ("f", "young"): 5}
    assert len(found.notices) == 2


@FRAMES
def test_a_frame_of_records_is_a_table_where_labels_are_declared(frame):
    found = Table.from_frame(frame(RECORDS), axes=["sex", "age"], categories=LABELS)
    assert found.counts_confidential.tolist() == [0, 1, 1, 1]
    assert found.notices == ()


@FRAMES
def test_records_without_declared_labels_are_refused(frame):
    faults = faults_of(RequestError, lambda: Table.from_frame(frame(RECORDS), axes=["sex", "age"]))
    assert [fault.where for fault in faults] == ["axes.sex", "axes.age"]
    assert "`labels_from_source=True`" in faults[0].hint
    found = Table.from_frame(frame(RECORDS), axes=["sex"], labels_from_source=True)
    assert cells(found) == {("f",): 2, ("m",): 1}
    assert "records" in found.notices[0]


@FRAMES
def test_a_hierarchy_is_named_by_its_levels(frame):
    columns = {"state": ["O", "I", "O"], "county": ["a", "a", "b"], "sex": ["f", "f", "m"], "n": [1, 2, 3]}
    for axes in (
        {"place": ["state", "county"], "sex": "sex"},
        ["sex", {"place": ["state", "county"]}],
        [{"place": {"levels": ["state", "county"]}}, "sex"],
    ):
        found = Table.from_frame(frame(columns), axes=axes, counts="n").query(["place", "sex"])
        assert found.query({"place": "state"}).counts_confidential.tolist() == [2, 4]


@FRAMES
def test_prefixes_of_a_code_make_a_hierarchy(frame):
    columns = {"fips": ["01001", "01003", "19001"], "n": [1, 2, 3]}
    axes = {"place": {"column": "fips", "prefixes": {"state": 2, "county": 5}}}
    found = Table.from_frame(frame(columns), axes=axes, counts="n")
    assert cells(found) == {("01", "01001"): 1, ("01", "01003"): 2, ("19", "19001"): 3}


@FRAMES
def test_labels_that_are_not_text_are_read_as_text(frame):
    columns = {
        "year": [2020, 2021],
        "share": [0.5, 1.0],
        "voter": [True, False],
        "day": [datetime.date(2020, 1, 1), datetime.date(2021, 12, 31)],
        "n": [1, 2],
    }
    found = Table.from_frame(frame(columns), axes=["year", "share", "voter"], counts="n")
    assert cells(found) == {("2020", "0.5", "true"): 1, ("2021", "1.0", "false"): 2}


@FRAMES
def test_faults_of_a_frame_show_no_count(frame):
    columns = {"sex": ["f", "m", "x"], "n": [1, -90210, 3]}
    faults = faults_of(
        SourceError, lambda: Table.from_frame(frame(columns), ["sex"], "n", categories={"sex": ["f", "m"]})
    )
    assert [fault.what for fault in faults] == [
        "the count in row 2 of the frame is negative",
        "the label 'x' is not declared",
    ]


@FRAMES
def test_a_missing_column_of_a_frame_is_named_with_the_near_one(frame):
    [fault] = faults_of(SourceError, lambda: Table.from_frame(frame(PEOPLE), ["sx", "age"], "n"))
    assert fault.what == "the frame has no column 'sx'"
    assert fault.hint == "its columns are sex, age, n, note. Did you mean 'sex'?"


@FRAMES
def test_the_rows_of_a_unit_are_checked(frame):
    [fault] = faults_of(
        SourceError,
        lambda: Table.from_frame(
            frame(RECORDS), ["sex"], categories={"sex": ["f", "m"]}, unit=Unit(column="id")
        ),
    )
    assert "more rows than `max_rows: 1` allows" in fault.what
    unit = Unit(column="id", max_rows=2)
    found = Table.from_frame(frame(RECORDS), ["sex"], categories={"sex": ["f", "m"]}, unit=unit)
    assert found.counts_confidential.tolist() == [2, 1]


@FRAMES
def test_missing_labels_and_counts_of_a_frame_are_named_by_row(frame):
    columns = {"sex": ["f", None, "m"], "n": [1, 2, None]}
    faults = faults_of(SourceError, lambda: Table.from_frame(frame(columns), ["sex"], "n"))
    assert [fault.what for fault in faults] == [
        "the count in row 3 of the frame is missing",
        "row 2 of the frame has no label",
    ]


@FRAMES
def test_an_empty_frame_has_no_rows(frame):
    columns = {"sex": pa.array([], pa.string()), "n": pa.array([], pa.int64())}
    empty = pa.table(columns) if frame is as_pyarrow else frame(pa.table(columns).to_pydict())
    if frame is as_relation:
        empty = duckdb.connect().from_arrow(pa.table(columns))
    [fault] = faults_of(SourceError, lambda: Table.from_frame(empty, ["sex"], "n"))
    assert fault.what == "the frame has no rows"


def test_a_categorical_column_gives_its_labels():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"sex": pandas.Categorical(["f", "m"], ["m", "f", "x"]), "n": [1, 2]})
    assert cells(Table.from_frame(frame, ["sex"], "n")) == {("f",): 1, ("m",): 2}


def test_a_column_of_mixed_values_is_refused_in_our_words():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"sex": ["f", 90210], "n": [1, 2]}, dtype=object)
    [fault] = faults_of(SourceError, lambda: Table.from_frame(frame, ["sex"], "n"))
    assert "mixes values of several kinds" in fault.what
    assert "90210" not in fault.what + fault.hint


def test_a_column_of_mixed_values_that_no_axis_names_does_not_matter():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"sex": ["f", "m"], "n": [1, 2], "z": pandas.Series(["a", 1], dtype=object)})
    assert cells(Table.from_frame(frame, ["sex"], "n")) == {("f",): 1, ("m",): 2}


@pytest.mark.parametrize("columns", [[0, 1], ["a", "a"]])
def test_a_frame_whose_columns_have_no_names_of_their_own_is_refused(columns):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame([["f", 1]], columns=columns)
    [fault] = faults_of(SourceError, lambda: Table.from_frame(frame, ["a"], "n"))
    assert "have no names, or share them" in fault.what


def test_paths_can_be_declared_as_categories():
    frame = pa.table({"state": ["O"], "county": ["b"], "n": [1]})
    labels = {"place": [("O", "a"), ["O", "b"], ("I", "a")]}
    found = Table.from_frame(frame, {"place": ["state", "county"]}, "n", categories=labels)
    assert list(found.axes[0].paths()) == [("O", "a"), ("O", "b"), ("I", "a")]
    assert found.counts_confidential.tolist() == [0, 1, 0]


def test_a_whole_domain_can_be_given():
    domain = Domain((Axis.flat("age", ["young", "old"]), Axis.flat("sex", ["f", "m"])))
    found = Table.from_frame(pa.table(PEOPLE), ["sex", "age"], "n", domain=domain)
    assert found.domain.names == ("sex", "age")
    assert found.counts_confidential.tolist() == [5, 3, 4, 0]
    assert found.notices == ()


def test_a_domain_file_can_be_named(tmp_path):
    tmp_path.joinpath("sexes.csv").write_text("sex\nm\nf\nx\n")
    axes = {"sex": {"domain": tmp_path / "sexes.csv"}}
    frame = pa.table({"sex": ["f"], "n": [1]})
    assert Table.from_frame(frame, axes, "n").counts_confidential.tolist() == [0, 1, 0]


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        ({"frame": [1, 2], "axes": ["a"], "counts": "n"}, "a list is not a frame"),
        ({"axes": "sex"}, "'sex' does not say what the axes are"),
        ({"axes": 3}, "3 does not say what the axes are"),
        ({"axes": [3]}, "3 is not the name of an axis"),
        ({"axes": {"sex": 3}}, "3 does not say where the axis is read from"),
        ({"axes": {"sex": [1, 2]}}, "levels are the names of columns"),
        ({"axes": {"sex": {"colunm": "sex"}}}, "'colunm' says nothing of an axis"),
        ({"axes": ["sex"], "categories": {"age": ["x"]}}, "there is no axis 'age'"),
        ({"axes": ["sex"], "categories": {"sex": [20]}}, "20 is not a label"),
        ({"axes": ["sex"], "domain": Domain((Axis.flat("age", ["x"]),))}, "the domain has no axis 'sex'"),
        (
            {"axes": {"p": ["a", "b"]}, "domain": Domain((Axis.flat("p", ["x"]),))},
            "axis 'p' has 1 levels in the domain and 2 in `axes`",
        ),
        ({"axes": ["sex"], "counts": "n", "unit": Unit(column="id")}, "these rows are counts"),
    ],
)
def test_an_argument_that_is_wrong_is_named(arguments, what):
    arguments = {"frame": pa.table(PEOPLE), **arguments}
    [fault] = faults_of(ArgumentError, lambda: Table.from_frame(**arguments))
    assert what in fault.what


def test_axes_that_are_not_sound_are_named_as_in_a_request():
    faults = faults_of(RequestError, lambda: Table.from_frame(pa.table(PEOPLE), ["total", "sex", "sex"], "n"))
    assert [fault.where for fault in faults][:2] == ["axes.total", "axes.sex"]
