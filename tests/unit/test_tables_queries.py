"""Queries as Python values: the grammar, and every fault of a value at once."""

import pytest

from congenial.errors import RequestError
from congenial.tables.domain import Axis, Domain
from congenial.tables.queries import CELLS, TOTAL, AtLevel, Every, Groups, Query, as_query, partition


@pytest.mark.parametrize(
    ("value", "query"),
    [
        ("cells", CELLS),
        ("total", TOTAL),
        ("sex", Query((("sex", Every()),))),
        (["sex", "age"], Query((("sex", Every()), ("age", Every())))),
        (("sex", "age"), Query((("sex", Every()), ("age", Every())))),
        ({"place": "state"}, Query((("place", AtLevel("state")),))),
        ({"place": "all"}, Query((("place", Every()),))),
        (
            {"age": {"voting": ["18+", ["Ohio", "Athens"]]}},
            Query((("age", Groups((("voting", (("18+",), ("Ohio", "Athens"))),))),)),
        ),
    ],
)
def test_the_grammar_means_what_the_design_says(value, query):
    assert as_query(value) == query
    assert as_query(as_query(value)) == query


@pytest.mark.parametrize(
    ("value", "where", "what"),
    [
        (3, "q", "3 is not a query"),
        (None, "q", "None is not a query"),
        ("", "q", "an axis has an empty name"),
        ([], "q", "the list of axes is empty"),
        ({}, "q", "the mapping of axes is empty"),
        (["sex", "sex"], "q[1]", "axis 'sex' is named twice"),
        (["sex", "cells"], "q[1]", "'cells' cannot stand here"),
        (["sex", 3], "q[1]", "3 is not the name of an axis"),
        ({"forms": "all"}, "q", "'forms' cannot stand here"),
        ({"age": 3}, "q.age", "3 does not say how axis 'age' is kept"),
        ({"age": {}}, "q.age", "{} does not say how axis 'age' is kept"),
        ({"age": ["20"]}, "q.age", "['20'] does not say how axis 'age' is kept"),
        ({"age": {"old": "20"}}, "q.age.old", "group 'old' is not a list of labels"),
        ({"age": {"old": []}}, "q.age.old", "group 'old' is empty"),
        ({"age": {"old": [20]}}, "q.age.old[0]", "20 is not a label"),
        ({"age": {"old": ["20", []]}}, "q.age.old[1]", "[] is not a label"),
        ({"age": {3: ["20"]}}, "q.age", "3 is not the name of a group"),
    ],
)
def test_a_value_that_is_no_query_is_named_with_its_place(value, where, what):
    with pytest.raises(RequestError) as caught:
        as_query(value, "q")
    assert [(fault.where, fault.what) for fault in caught.value.faults] == [(where, what)]
    assert caught.value.faults[0].hint


def test_all_faults_of_a_query_are_reported_at_once():
    with pytest.raises(RequestError) as caught:
        as_query({"age": {"old": [20], "young": "5"}, "place": 7}, "invariants[1].query")
    assert [fault.where for fault in caught.value.faults] == [
        "invariants[1].query.age.old[0]",
        "invariants[1].query.age.young",
        "invariants[1].query.place",
    ]


DOMAIN = Domain(
    (
        Axis.flat("sex", ["female", "male"]),
        Axis.nested("place", ["state", "county"], [("Ohio", "Athens"), ("Ohio", "Adams"), ("Iowa", "Linn")]),
    )
)


@pytest.mark.parametrize(
    ("query", "what", "hint"),
    [
        ("age", "unknown axis 'age'", "the axes are sex, place."),
        ("plase", "unknown axis 'plase'", "Did you mean 'place'?"),
        ({"place": "staet"}, "unknown level 'staet' of axis 'place'", "Did you mean 'state'?"),
        (
            {"place": "Ohio"},
            "unknown level 'Ohio' of axis 'place'",
            "that is a category: write {place: {Ohio: [Ohio]}} for it alone.",
        ),
        ({"sex": {"w": ["femal"]}}, "unknown category 'femal' of axis 'sex'", "Did you mean 'female'?"),
        ({"place": {"a": ["Athens"]}}, "unknown category 'Athens' of axis 'place'", "write [Ohio, Athens]."),
        ({"place": {"a": [["Ohio", "Athen"]]}}, "unknown category 'Ohio/Athen' of axis 'place'", "/Athens"),
        (
            {"place": {"a": [["Ohio", "Adams", "x"]]}},
            "unknown category 'Ohio/Adams/x' of axis 'place'",
            "2 lev",
        ),
        (
            {"place": {"a": ["Ohio"], "b": [["Ohio", "Adams"]]}},
            "'Ohio/Adams' of axis 'place' stands in 'b' and in 'a'",
            "must not overlap",
        ),
        (
            {"place": {"a": ["Ohio", ["Ohio", "Adams"]]}},
            "'Ohio/Adams' of axis 'place' stands twice in 'a'",
            "must not overlap",
        ),
    ],
)
def test_a_query_that_does_not_fit_the_domain_names_the_near_word(query, what, hint):
    with pytest.raises(RequestError) as caught:
        partition(DOMAIN, as_query(query))
    [fault] = caught.value.faults
    assert fault.what == what
    assert hint in fault.hint


def test_a_near_label_is_found_among_hundreds_of_thousands():
    axis = Axis.flat("place", [*(f"{at:06}" for at in range(200_000)), "Athens"])
    with pytest.raises(RequestError) as caught:
        partition(Domain((axis,)), as_query({"place": {"x": ["Athns"]}}))
    assert "Did you mean 'Athens'?" in caught.value.faults[0].hint
