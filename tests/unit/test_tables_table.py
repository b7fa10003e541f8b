"""The table in memory: what it shows, its coarsenings, its frames."""

import pickle

import numpy as np
import pytest

from congenial.errors import ArgumentError
from congenial.tables.domain import Axis, Domain
from congenial.tables.table import Table

SEX = Axis.flat("sex", ["female", "male"])
PLACE = Axis.nested("place", ["state", "county"], [("Ohio", "Athens"), ("Ohio", "Adams"), ("Iowa", "Linn")])
TABLE = Table.from_counts([SEX, PLACE], [[7001, 7002, 7003], [7010, 7020, 7030]], notices=["said"])


def test_a_repr_shows_axes_and_sizes_and_no_count():
    assert repr(TABLE) == "Table(sex 2, place: state 2 > county 3; 6 cells, counts confidential)"
    assert f"{TABLE}" == repr(TABLE)
    for count in TABLE.counts_confidential:
        assert str(count) not in repr(TABLE)


@pytest.mark.parametrize(
    ("query", "shape", "counts"),
    [
        ("cells", (2, 3), [7001, 7002, 7003, 7010, 7020, 7030]),
        ("total", (), [42066]),
        ("sex", (2,), [21006, 21060]),
        (["place", "sex"], (2, 3), [7001, 7002, 7003, 7010, 7020, 7030]),
        ({"place": "state"}, (2,), [28033, 14033]),
        ({"place": "county"}, (3,), [14011, 14022, 14033]),
        ({"sex": "all", "place": "state"}, (2, 2), [14003, 7003, 14030, 7030]),
        ({"place": {"a": ["Iowa"], "b": [["Ohio", "Adams"]]}}, (2,), [14033, 14022]),
        ({"sex": {"men": ["male"]}}, (1,), [21060]),
    ],
)
def test_a_query_adds_up_what_it_joins_and_leaves_out_what_it_does_not_name(query, shape, counts):
    found = TABLE.query(query)
    assert found.shape == shape
    assert found.counts_confidential.tolist() == counts
    assert found.notices == ("said",)


def test_the_axes_of_a_query_are_those_that_it_keeps():
    assert TABLE.query({"place": "state"}).axes[0].level_names == ("state",)
    assert TABLE.query({"place": "county"}).axes[0].level_names == ("state", "county")
    assert TABLE.query({"place": {"a": ["Iowa"]}}).axes[0].level_names == ("place",)
    assert TABLE.query("total").axes == ()


def test_a_query_of_a_query_is_the_query():
    twice = TABLE.query({"place": "county"}).query({"place": "state"})
    assert twice.counts_confidential.tolist() == [28033, 14033]


def test_a_long_frame_has_a_column_a_level_and_a_row_a_cell():
    frame = TABLE.to_frame()
    assert frame.to_pydict() == {
        "sex": ["female"] * 3 + ["male"] * 3,
        "state": ["Ohio", "Ohio", "Iowa"] * 2,
        "county": ["Athens", "Adams", "Linn"] * 2,
        "count": [7001, 7002, 7003, 7010, 7020, 7030],
    }
    assert str(frame.schema.field("count").type) == "int64"


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_a_long_frame_can_be_of_another_kind(kind):
    pytest.importorskip(kind)
    frame = TABLE.to_frame(kind)
    assert type(frame).__module__.startswith(kind)
    assert list(frame.columns) == ["sex", "state", "county", "count"]
    assert frame["count"].sum() == 42066


def test_an_unknown_kind_of_frame_is_refused():
    with pytest.raises(ArgumentError, match="'arrow' is no kind of frame"):
        TABLE.to_frame("arrow")


def test_counts_cannot_be_written_to():
    with pytest.raises(ValueError, match="read-only"):
        TABLE.counts_confidential[0] = 1


def test_a_table_does_not_change_with_the_array_that_it_was_made_of():
    given = np.array([1, 2])
    made = Table.from_counts([SEX], given)
    given[0] = 9
    assert made.counts_confidential.tolist() == [1, 2]


def test_a_table_survives_a_pickle():
    again = pickle.loads(pickle.dumps(TABLE))
    assert again.counts_confidential.tolist() == TABLE.counts_confidential.tolist()
    assert again.domain.shape == TABLE.shape


@pytest.mark.parametrize(
    ("counts", "what"),
    [
        ([1, 2, 3], "shape"),
        ([[1, 2]], "shape"),
        ([1, -87654], "cell sex=male is negative"),
        ([87654.5, 1], "cell sex=female is not a whole number"),
        ([1, float("nan")], "cell sex=male is missing"),
        ([1, float("inf")], "cell sex=male is missing"),
        ([2**53 + 2, 0], "cell sex=female is larger than 2^53"),
        ([2**53, 2**53], "add up to more than 2^53"),
        (["a", "b"], "not whole numbers"),
        ([True, False], "not whole numbers"),
    ],
)
def test_counts_in_memory_are_refused_by_cell_and_never_by_value(counts, what):
    with pytest.raises(ArgumentError) as caught:
        Table.from_counts([SEX], counts)
    assert what in str(caught.value)
    assert "87654" not in str(caught.value)


def test_whole_floats_are_counts():
    assert Table.from_counts([SEX], [3.0, 4.0]).counts_confidential.tolist() == [3, 4]


def test_a_domain_can_be_given_whole():
    assert Table.from_counts(Domain((SEX,)), [1, 2]).cells == 2
