"""Bounds that cannot hold are named, with what each asks for; the rest is let through at no cost."""

import numpy as np
import pytest

from congenial.errors import ConflictError
from congenial.laws import DiscreteLaplace
from congenial.planning import plan
from congenial.problems import farkas
from congenial.problems.conflicts import explain_broken, public_conflict
from congenial.problems.problem import make_problem, without_centre
from congenial.problems.structure import FREE
from congenial.requests.builders import (
    at_least,
    at_most,
    band,
    bound_forms,
    margin,
    measure,
    nonnegative,
    total,
    zeros,
)
from congenial.requests.model import Request
from support.structures import domain, structure

CELLS = [measure("cells", DiscreteLaplace(0.5))]
NESTED = {"place": [[2, 2], [1]]}
CROSSED = {"r": 2, "c": 3}


def public(axes, *bounds):
    return [(fault.where, fault.what) for fault in public_conflict(structure(axes, CELLS, [], bounds))]


def broken(axes, counts, facts, *bounds):
    with pytest.raises(ConflictError) as caught:
        make_problem(structure(axes, CELLS, facts, bounds), np.array(counts, dtype=np.int64))
    return caught.value


# --- without counts

GAP = [{"r": "r0", "c": "c0", "weight": 2}, {"r": "r0", "c": "c1", "weight": -3}]
CORNER = {"r": {"top": ["r0"]}, "c": {"left": ["c0"]}}

CONFLICTS = {
    "fine and coarse": (
        NESTED,
        [at_least({"place": "place1"}, 10), at_most("total", 20)],
        ("bounds[1]", "'total at_most 20' cannot hold together with '{place: place1} at_least 10'"),
    ),
    "coarse and fine": (
        NESTED,
        [at_most({"place": "place2"}, 4), at_least({"place": "place0"}, 9)],
        ("bounds[1]", "'{place: place0} at_least 9' cannot hold together with '{place: place2} at_most 4'"),
    ),
    "crossing": (
        CROSSED,
        [nonnegative(), at_least("r", 10), at_most("c", 5), at_most("total", 99)],
        ("bounds[2]", "'c at_most 5' cannot hold together with 'r at_least 10'"),
    ),
    "three": (
        CROSSED,
        [at_least("r", 10), at_most({"c": {"a": ["c0", "c1"]}}, 9), at_most({"c": {"b": ["c2"]}}, 9)],
        (
            "bounds[2]",
            "'{c: {b}} at_most 9' cannot hold together with 'r at_least 10' and '{c: {a}} at_most 9'",
        ),
    ),
    "no count is negative": (
        CROSSED,
        [at_most("total", -1)],
        ("bounds[0]", "'total at_most -1' cannot hold: no count is negative"),
    ),
    "a part is more than the whole": (
        CROSSED,
        [at_least({"r": {"top": ["r0"]}}, 7), at_most("total", 6)],
        (
            "bounds[1]",
            "'total at_most 6' cannot hold together with '{r: {top}} at_least 7', as no count is negative",
        ),
    ),
    "zeros": (
        CROSSED,
        [at_least("r", 3), zeros(r=["r1"])],
        ("bounds[0]", "'r at_least 3' cannot hold together with the cells that are zero by logic"),
    ),
    "beside others that can be met": (
        {"c": 4},
        [
            at_least({"c": {"a": ["c0"]}}, 1),
            at_most({"c": {"left": ["c0", "c1"]}}, 5),
            at_least({"c": {"b": ["c2"]}}, 9),
            at_most({"c": {"right": ["c2", "c3"]}}, 3),
        ],
        (
            "bounds[3]",
            "'{c: {right}} at_most 3' cannot hold together with '{c: {b}} at_least 9', "
            "as no count is negative",
        ),
    ),
    "weights": (
        CROSSED,
        [bound_forms(GAP, name="gap", at_least=10), at_most(CORNER, 4)],
        (
            "bounds[1]",
            "'{r: {top}, c: {left}} at_most 4' cannot hold together with 'gap at_least 10', "
            "as no count is negative",
        ),
    ),
}


@pytest.mark.parametrize("kind", CONFLICTS)
def test_bounds_that_contradict_each_other_are_named(kind):
    axes, bounds, said = CONFLICTS[kind]
    assert public(axes, *bounds) == [said]


NO_CONFLICTS = {
    "no bounds": (CROSSED, []),
    "non-negative": (CROSSED, [nonnegative()]),
    "only lower": (CROSSED, [at_least("r", 10), at_least("c", 50), at_least("cells", -5)]),
    "exactly": (CROSSED, [at_least("r", 10), at_most("c", 7), at_most("total", 20)]),
    "nested, exactly": (NESTED, [at_least({"place": "place1"}, 10), at_most("total", 30)]),
    "weights": (CROSSED, [bound_forms(GAP, name="gap", at_least=10), at_most(CORNER, 5)]),
    "zeros": (CROSSED, [at_least("r", 3), zeros(r=["r1"], c=["c0", "c1"])]),
    "facts, whose values are not known": (CROSSED, [at_most("r", 0)]),
}


@pytest.mark.parametrize("kind", NO_CONFLICTS)
def test_bounds_that_some_table_meets_are_let_through(kind):
    axes, bounds = NO_CONFLICTS[kind]
    assert public_conflict(structure(axes, CELLS, [total()], bounds)) == ()


def test_where_forms_nest_and_can_be_met_no_linear_program_is_asked(monkeypatch):
    def refused(*_):
        raise AssertionError("a linear program")

    monkeypatch.setattr(farkas, "maximised", refused)
    bounds = [
        nonnegative(),
        at_least({"place": "place1"}, 5),
        at_most("cells", 9),
        at_most({"place": "place0"}, 30),
        at_least("total", 20),
    ]
    assert public(NESTED, *bounds) == []
    with pytest.raises(AssertionError, match="a linear program"):
        public(NESTED, *bounds, at_most({"place": {"one": [["node0"]]}}, 9))


def test_a_conflict_says_what_each_bound_asks_for_and_what_to_do():
    (fault,) = public_conflict(
        structure({"p": [[3, 2]]}, CELLS, [], [at_least("cells", 10), at_most({"p": "p1"}, 25)])
    )
    assert fault.hint.splitlines() == [
        "'cells at_least 10' asks for at least 30 over p=node0/node0/leaf0; p=node0/node0/leaf1; "
        "p=node0/node0/leaf2.",
        "'{p: p1} at_most 25' leaves at most 25 over p=node0/node0.",
        "Widen a bound or drop one.",
    ]
    assert fault.read == "docs/how-to/conflicting-bounds.md"


def test_what_counts_more_than_once_is_said():
    (fault,) = public_conflict(structure(*weighed()))
    assert "'{r: {top}, c: {left}} at_most 4' leaves at most 8 over 2 × r=top, c=left." in fault.hint


def weighed():
    axes, bounds, _ = CONFLICTS["weights"]
    return axes, CELLS, [], bounds


def test_a_plan_without_data_names_the_conflict():
    axes, bounds, (where, what) = CONFLICTS["crossing"]
    with pytest.raises(ConflictError) as caught:
        plan(domain(axes), Request(CELLS, bounds=bounds))
    assert (caught.value.faults[0].where, caught.value.faults[0].what) == (where, what)


# --- with counts

HOSPITALS = {"place": [[2, 2], [3, 1]]}
BEDS = [4711, 13, 2718, 12, 11, 10, 9, 8]


def test_a_bound_that_leaves_less_than_a_fact_names_both():
    error = broken(HOSPITALS, BEDS, [margin(place="place1"), total()], nonnegative(), at_most("cells", 20))
    assert str(error).splitlines() == [
        "The table against its bounds has 1 fault.",
        "",
        "  bounds[1]  'cells at_most 20' cannot hold together with the fact '{place: place1}'",
        "             'cells at_most 20' leaves at most 40 over place=node0/node0/leaf0; "
        "place=node0/node0/leaf1.",
        "             The fact '{place: place1}' has more than that at place=node0/node0, and is to be "
        "published exactly.",
        "             Raise the bound or drop it, or drop the fact.",
        "             Read: docs/how-to/conflicting-bounds.md",
    ]


def test_a_bound_that_asks_for_more_than_a_fact_names_both():
    error = broken(CROSSED, [1, 2, 3, 4, 5, 6], [total()], at_least({"r": {"low": ["r1"]}}, 30))
    (fault,) = error.faults
    assert fault.what == (
        "'{r: {low}} at_least 30' cannot hold together with the fact 'total', as no count is negative"
    )
    assert fault.hint.splitlines()[-2:] == [
        "The fact 'total' has less than that at total, and is to be published exactly.",
        "Lower the bound or drop it, or drop the fact.",
    ]


def test_two_facts_that_leave_a_cell_too_much_are_both_named():
    facts = [margin("r"), margin("c"), total()]
    for bound, name in ((at_most("cells", 50), "cells"), (at_most(CORNER, 60), "{r: {top}, c: {left}}")):
        (fault,) = broken(CROSSED, [99, 1, 0, 1, 1, 0], facts, bound).faults
        assert fault.what.startswith(f"'{name} at_most ")
        assert fault.what.endswith(
            "cannot hold together with the fact 'r' and the fact 'c', as no count is negative"
        )
        assert "The fact 'r' does not fit at r=r" in fault.hint
        assert "The fact 'c' does not fit at c=c" in fault.hint


def test_bands_are_facts_as_far_as_they_go():
    facts = [band("total", 10)]
    for bound in (at_most("total", 30), at_least("total", 41), at_most("cells", 5), at_least("cells", 7)):
        (fault,) = broken(CROSSED, [6, 6, 6, 6, 6, 6], facts, bound).faults
        assert fault.what.endswith("cannot hold together with the fact 'total'")
    for bound in (at_most("total", 31), at_least("total", 40)):
        (fault,) = broken(CROSSED, [6, 6, 6, 6, 6, 6], facts, bound).faults
        assert fault.what.startswith("the table breaks the bound 'total at_")
    (fault,) = broken(CROSSED, [4, 4, 4, 4, 5, 10], facts, at_most("cells", 6)).faults
    assert fault.what == "the table breaks the bound 'cells at_most 6' at r=r1, c=c2"


def test_a_bound_that_facts_leave_possible_is_named_with_a_few_cells():
    error = broken(CROSSED, [9, 1, 2, 9, 9, 9], [margin("r")], at_most("cells", 8), at_least("c", 11))
    assert [(fault.where, fault.what) for fault in error.faults[:1]] == [
        ("bounds[0]", "'cells at_most 8' cannot hold together with the fact 'r'")
    ]
    error = broken(CROSSED, [9, 9, 9, 9, 1, 0], [total()], at_most("cells", 8), at_least("c", 11))
    assert [(fault.where, fault.what) for fault in error.faults] == [
        (
            "bounds[0]",
            "the table breaks the bound 'cells at_most 8' at r=r0, c=c0; r=r0, c=c1; r=r0, c=c2 and others",
        ),
        ("bounds[1]", "the table breaks the bound 'c at_least 11' at c=c1; c=c2"),
    ]


def test_every_broken_bound_is_told_and_each_once():
    bounds = [at_most("cells", 8), at_most({"c": {"a": ["c0"]}}, 12), at_least({"r": {"low": ["r1"]}}, 40)]
    error = broken(CROSSED, [9, 9, 9, 9, 1, 0], [total(), margin("r")], *bounds)
    assert sorted((fault.where, fault.what) for fault in error.faults) == [
        ("bounds[0]", "'cells at_most 8' cannot hold together with the fact 'r'"),
        ("bounds[1]", "the table breaks the bound '{c: {a}} at_most 12' at c=a"),
        (
            "bounds[2]",
            "'{r: {low}} at_least 40' cannot hold together with the fact 'r'",
        ),
    ]


def test_counts_in_structural_zeros_are_named_with_their_cells():
    error = broken(CROSSED, [1, 1, 1, 1, 1, 1], [total()], zeros(r=["r0"], c=["c1"]), nonnegative())
    (fault,) = error.faults
    assert fault.what == "the table has counts in cells that are zero by logic: r=r0, c=c1"
    error = broken(CROSSED, [1, 1, 1, 1, 1, 1], [margin("r")], zeros(r=["r0"]))
    assert error.faults[0].what == "the cells that are zero by logic cannot hold together with the fact 'r'"
    assert "Zero by logic: r=r0, c=c0; r=r0, c=c1; r=r0, c=c2." in error.faults[0].hint


def test_a_centre_with_counts_below_zero_is_explained_without_saying_that_there_are_none():
    made = structure({"c": 2}, CELLS, [total()], [at_most("cells", 2)])
    with pytest.raises(ConflictError, match="the table breaks the bound 'cells at_most 2' at c=c1"):
        make_problem(made, np.array([-5, 3]), confidential=False)


def test_an_explanation_is_asked_for_by_limits():
    made = structure(CROSSED, CELLS, [], [at_most("cells", 8), at_most("r", 30)])
    x = np.array([9, 9, 9, 9, 1, 0])
    faults = explain_broken(made, x, made.limits[:1])
    assert [fault.where for fault in faults] == ["bounds[0]"]


# --- bands


def test_a_band_limits_the_noise_to_where_its_count_lies():
    made = structure({"c": 7}, CELLS, [band("c", 10)])
    x = np.array([1, 10, 11, 45, 0, -9, -10])
    (slack,) = make_problem(made, x).slacks
    assert (x + slack.lower).tolist() == [1, 1, 11, 41, -9, -9, -19]
    assert (x + slack.upper).tolist() == [10, 10, 20, 50, 0, 0, -10]


def test_bands_stand_behind_the_limits_and_facts_do_not_stand_there():
    made = structure({"c": 2}, CELLS, [total(), band("c", 5)], [nonnegative(), at_most("total", 9)])
    slacks = make_problem(made, np.array([3, 6])).slacks
    assert [slack.forms.name for slack in slacks] == ["nonnegative", "total at_most 9", "c"]
    assert slacks[1].upper.tolist() == [0]
    assert slacks[0].upper.tolist() == [FREE, FREE]


def test_without_a_centre_limits_stand_at_zero_on_the_sides_that_have_one():
    made = structure({"c": 2}, CELLS, [band("c", 5)], [nonnegative(), at_most("total", 9)])
    slacks = without_centre(made).slacks
    assert [slack.lower.tolist() for slack in slacks] == [[0, 0], [-FREE], [0, 0]]
    assert [slack.upper.tolist() for slack in slacks] == [[FREE, FREE], [0], [0, 0]]


@pytest.mark.parametrize("facts", [[], [band("cells", 10)]])
def test_a_plan_without_data_lets_through_what_bounds_make_a_law(facts):
    bounds = [nonnegative()] if not facts else []
    coarse = [measure({"place": "place0"}, DiscreteLaplace(0.5))]
    assert plan(domain(NESTED), Request(coarse, facts, bounds)).is_public
