"""Classes of tables as texts: read, written, intersected, said."""

import itertools
import json

from hypothesis import given
from hypothesis import strategies as st

from congenial.privacy.composition import TableClass, intersection

facts = st.lists(st.sampled_from(["total", "sex", {"place": "state"}, [1, "x"]]), max_size=3)
classes = st.builds(
    lambda f, b, u, o: TableClass.of(f, b, units=u, **o),
    facts,
    st.lists(st.sampled_from(["nonnegative", {"at_most": 20}]), max_size=2),
    st.none() | st.integers(1, 3),
    st.dictionaries(st.sampled_from(["unit", "change"]), st.sampled_from(["person", "any"]), max_size=2),
)


@given(classes)
def test_a_class_comes_back_from_its_text(one):
    assert TableClass.read(one.text) == one
    assert TableClass.read(one.text).text == one.text


@given(st.lists(classes, min_size=1, max_size=3))
def test_an_intersection_does_not_depend_on_order_or_repetition(found):
    whole = intersection(found)
    assert all(intersection(some) == whole for some in itertools.permutations(found))
    assert intersection([*found, *found]) == whole
    assert intersection([whole, found[0]]) == whole


@given(classes, classes)
def test_an_intersection_keeps_every_condition_and_adds_none(one, two):
    both = intersection([one, two])
    assert set(both.facts) == {*one.facts, *two.facts}
    assert set(both.bounds) == {*one.bounds, *two.bounds}
    units = [some.units for some in (one, two) if some.units is not None]
    assert both.units == (min(units) if units else None)


def test_spelling_and_order_make_no_difference():
    said = '{"units": 1, "facts": ["total", {"b": 1, "a": 2}], "unit": "person"}'
    again = '{"unit":["person"],"facts":[{"a":2,"b":1},"total","total"],"units":1}'
    assert TableClass.read(said) == TableClass.read(again)


def test_a_list_is_read_as_facts_and_any_other_text_as_one_fact():
    assert TableClass.read('["total","sex"]') == TableClass.of(["sex", "total"])
    assert TableClass.read("the state totals agree") == TableClass.of(["the state totals agree"])
    assert TableClass.read("7") == TableClass.of([7])
    assert TableClass.read('{"units": "two"}').units is None


def test_a_class_is_said_in_words():
    one = TableClass.of(["total"], ["nonnegative"], units=2, unit="person")
    assert one.sentence == (
        "tables that agree on total, and both satisfy nonnegative, and differ by what 2 units can change "
        "(unit: person)"
    )
    assert TableClass().sentence == "any two tables"
    assert json.loads(TableClass().text) == {"facts": []}
