"""Queries as Python values: the grammar, and every fault of a value at once."""

import pytest

from congenial.errors import RequestError
from congenial.tables.queries import CELLS, TOTAL, AtLevel, Every, Groups, Query, as_query


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
