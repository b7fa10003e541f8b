"""Problems around a centre, and how they fall into forests and crossings."""

import numpy as np
import pytest

from congenial.errors import ConflictError
from congenial.laws import DiscreteGaussian, DiscreteLaplace
from congenial.problems.forest import FIXED, JOINED, OPEN, Planting
from congenial.problems.problem import make_problem
from congenial.problems.structure import FREE
from congenial.requests.builders import (
    at_least,
    at_most,
    band,
    bound_forms,
    forms,
    margin,
    measure,
    nonnegative,
    total,
    zeros,
)
from support.plans import Case

LAW = DiscreteLaplace(1.0)
CELLS = [measure("cells", LAW)]
TREE = {"p": [[2, 1], [2]]}


def partition(*groups, cells):
    """Groups of a partition from lists of cells; other cells have none."""
    found = np.full(cells, -1, dtype=np.int32)
    for g, members in enumerate(groups):
        found[members] = g
    return found


def planting(cells=6, zero=()):
    return Planting(cells, np.array(zero, dtype=np.int64))


def test_a_group_that_is_a_node_already_is_that_node_and_an_empty_one_is_none():
    made = planting()
    first = made.join(partition([0, 1], [2], [], cells=6), 3)
    assert first.tolist() == [6, 2, -1]
    again = made.join(partition([3, 4], [0, 1], cells=6), 2)
    assert again.tolist() == [7, 6]
    above = made.join(partition([0, 1, 2], [], cells=6), 2)
    assert above.tolist() == [8, -1]
    made.weigh(above, LAW)
    made.fix(above)
    made.limit(above, np.array([-3, 7]), np.array([5, 7]))
    assert (made.law[8], made.fixed[8], made.lower[8], made.upper[8]) == (1, True, -3, 5)
    assert not made.fixed[:6].any()


@pytest.mark.parametrize("cut", [[1, 2], [0], [0, 2, 3]])
def test_a_group_that_cuts_a_node_is_refused_and_changes_nothing(cut):
    made = planting()
    made.join(partition([0, 1], cells=6), 1)
    before = made.parent.copy(), made.top.copy(), made.size
    assert made.join(partition(cut, cells=6), 1) is None
    assert (made.parent == before[0]).all()
    assert (made.top == before[1]).all()
    assert made.size == before[2]


def test_what_facts_say_of_nodes_is_known():
    made = planting(6, zero=[5])
    low = made.join(partition([0, 1], [2, 3], [4, 5], cells=6), 3)
    top = made.join(partition([0, 1, 2, 3], cells=6), 1)
    assert made.known(np.concatenate([low, top])).tolist() == [False] * 4
    made.fix(low[:1])
    assert made.known(np.concatenate([low, top])).tolist() == [True, False, False, False]
    made.fix(top)
    # the other child of a fixed sum is what is left
    assert made.known(np.concatenate([low, top])).tolist() == [True, True, False, True]
    made.fix(np.array([4]))
    assert made.known(low).tolist() == [True, True, True]


def test_a_forest_has_no_node_with_one_child_and_none_that_facts_determine():
    made = planting(6, zero=[1])
    low = made.join(partition([0, 1], [2, 3], cells=6), 2)
    made.weigh(np.arange(6), LAW)
    made.weigh(low, DiscreteGaussian(sigma=2.0))
    made.limit(low, np.array([-4, -9]), np.array([4, 9]))
    made.fix(made.join(partition([0, 1, 2, 3, 4], cells=6), 1))
    forest, number = made.grown(np.empty(0, dtype=np.int64))
    assert number[:6].tolist() == [0, -1, 1, 2, 3, 4]
    # the node over cells 0 and 1 is cell 0, with its law and its limits
    assert number[low].tolist() == [0, 5]
    assert len(forest.laws[forest.law[0]]) == 2
    assert (forest.lower[0], forest.upper[0]) == (-4, 4)
    assert forest.parent.tolist() == [6, 5, 5, 6, OPEN, 6, FIXED]
    children = np.bincount(forest.parent[forest.parent >= 0], minlength=len(forest.parent))
    assert (children[5:] >= 2).all()
    assert (forest.parent[forest.parent >= 0] > np.flatnonzero(forest.parent >= 0)).all()


def test_limits_that_those_below_imply_are_dropped_without_overflow():
    low = [at_least("cells", 0), at_least({"p": "p0"}, 0)]
    forest = Case(TREE, [2, 0, 1, 3, 0], CELLS, [total()], low).layout.forest
    inner = np.arange(len(forest.parent)) >= 5
    assert (forest.lower[inner] == -FREE).all()
    # two cells that may rise by 1 and by 3: a limit of 4 on both is implied, one of 3 is not
    for limit, kept in ((6, FREE), (5, 3)):
        bounds = [at_most("cells", 3), at_most({"p": {"n": [["node0"]]}}, limit)]
        forest = Case({"p": [2, 2]}, [2, 0, 1, 3], CELLS, [total()], bounds).layout.forest
        assert sorted(forest.upper[4:].tolist())[0] == kept
        bounds = [at_least("cells", 0), at_least({"p": {"n": [["node0"]]}}, 6 - limit)]
        forest = Case({"p": [2, 2]}, [2, 2, 1, 3], CELLS, [total()], bounds).layout.forest
        assert sorted(forest.lower[4:].tolist())[-1] == (-FREE if kept == FREE else -3)
    # what is implied by sums that no 64 bits hold is nothing
    huge = [at_most("cells", 2**62 - 1), at_most({"p": "p0"}, 7)]
    forest = Case({"p": [5, 5]}, [1] * 10, CELLS, [total()], huge).layout.forest
    assert sorted(forest.upper[10:].tolist()) == [2, 2, FREE]


def roots(layout):
    return [(int(p), int(v < len(layout.forest.cells))) for v, p in enumerate(layout.forest.parent) if p < 0]


def test_states_with_fixed_totals_are_blocks_whatever_is_fixed_above_them():
    for facts in ([margin(p="p0")], [total(), margin(p="p0")], [margin(p="p0"), margin(p="p0")]):
        layout = Case(TREE, [2, 0, 1, 3, 0], CELLS, facts).layout
        assert roots(layout) == [(FIXED, 0), (FIXED, 0)]
        assert not layout.crossings


def test_a_state_with_one_county_is_determined():
    layout = Case({"p": [1, 3]}, [2, 0, 1, 3], CELLS, [margin(p="p0")], [nonnegative()]).layout
    assert layout.determined.tolist() == [0]
    assert layout.forest.cells.tolist() == [1, 2, 3]


def test_margins_of_an_array_cross_over_its_cells_and_groups_over_their_sums():
    layout = Case({"a": 2, "b": 3}, [1] * 6, CELLS, [margin("a"), margin("b")]).layout
    (crossing,) = layout.crossings
    assert (len(crossing.atoms), crossing.dimension, set(crossing.names)) == (6, 2, {"a", "b"})
    facts = [total(), margin("a"), margin(b={"some": ["b0", "b1"]})]
    layout = Case({"a": 2, "b": 5}, [1] * 10, CELLS, facts).layout
    (crossing,) = layout.crossings
    assert (len(crossing.atoms), crossing.dimension) == (4, 1)
    assert [p for p, _ in roots(layout)] == [JOINED] * 4


def test_forms_that_nest_once_redundant_facts_are_gone_make_a_tree():
    # the margin of b crosses that of a; but one of two b's is zero by logic
    facts = [margin("a"), margin("b")]
    layout = Case({"a": 2, "b": 2}, [1, 0, 2, 0], CELLS, facts, [zeros(b=["b1"])]).layout
    assert not layout.crossings
    assert layout.determined.tolist() == [0, 1, 2, 3]
    # forms written in rows nest as groups do
    both = [{"a": "a0", "weight": 1}, {"a": "a1", "weight": 1}]
    layout = Case({"a": 4}, [1, 1, 2, 0], CELLS, [total(), forms(both, name="both")]).layout
    assert roots(layout) == [(FIXED, 0), (FIXED, 0)]
    limited = Case({"a": 4}, [1, 1, 2, 0], CELLS, [total()], [bound_forms(both, name="x", at_most=4)]).layout
    assert roots(limited) == [(FIXED, 0)]
    assert (limited.forest.upper[4:] == 2).sum() == 1


def test_bounds_join_what_no_fact_joins():
    alone = Case({"a": 2, "b": 2}, [1] * 4, CELLS, [margin("a")]).layout
    assert roots(alone) == [(FIXED, 0), (FIXED, 0)]
    limit = [at_most("b", 4)]
    (crossing,) = Case({"a": 2, "b": 2}, [1] * 4, CELLS, [margin("a")], limit).layout.crossings
    assert len(crossing.atoms) == 4
    assert [row.laws for row in crossing.others] == [(), ()]


def test_equal_forms_are_one_row_with_all_their_laws_and_the_tighter_limits():
    measured = [*CELLS, measure("b", LAW), measure("b", DiscreteGaussian(sigma=3.0))]
    bounds = [at_most("b", 9), at_most("b", 4), at_least("b", 1)]
    (crossing,) = Case({"a": 2, "b": 2}, [1, 2, 1, 2], measured, [margin("a")], bounds).layout.crossings
    assert len(crossing.others) == 2
    for row in crossing.others:
        assert len(row.laws) == 2
    assert sorted((row.lower, row.upper) for row in crossing.others) == [(-3, 0), (-1, 2)]


def test_measuring_a_fact_joins_nothing():
    layout = Case(
        {"a": 2, "b": 2}, [1] * 4, [*CELLS, measure("a", LAW), measure("total", LAW)], [margin("a")]
    ).layout
    assert roots(layout) == [(FIXED, 0), (FIXED, 0)]


def test_no_order_of_a_request_changes_its_parts():
    measured = [*CELLS, measure({"p": "p1"}, LAW), measure({"p": {"x": [["node0", "node0"]]}}, LAW)]
    facts = [total(), margin(p={"y": [["node1"]]}), band({"p": "p0"}, 5)]
    bounds = [
        nonnegative(),
        at_most({"p": {"z": [["node0", "node0", "leaf0"], ["node0", "node0", "leaf1"]]}}, 9),
    ]
    one = Case(TREE, [2, 0, 1, 3, 0], measured, facts, bounds).layout
    two = Case(TREE, [2, 0, 1, 3, 0], measured[::-1], facts[::-1], bounds[::-1]).layout
    assert not one.crossings
    assert roots(one) == roots(two)

    def shape(layout):
        forest = layout.forest
        below = [{int(cell)} for cell in forest.cells] + [set() for _ in forest.parent[len(forest.cells) :]]
        for v, p in enumerate(forest.parent.tolist()):
            if p >= 0:
                below[p] |= below[v]
        laws = [len(forest.laws[law]) for law in forest.law]
        cells = [sorted(held) for held in below]
        return sorted(zip(cells, laws, forest.lower.tolist(), forest.upper.tolist(), strict=True))

    assert shape(one) == shape(two)


BROKEN = [
    [nonnegative()],
    [at_most({"p": "p0"}, 1234567)],
    [at_least("total", 99999999)],
    [zeros(p=[["node0", "node0"]])],
]


@pytest.mark.parametrize("bounds", BROKEN, ids=str)
def test_a_table_outside_its_bounds_is_a_conflict_that_shows_no_count(bounds):
    case = Case(TREE, [-7654321, 7654321, 7777777, 3, 0], CELLS, [], bounds)
    with pytest.raises(ConflictError) as caught:
        make_problem(case.structure, np.array(case.x))
    message = str(caught.value)
    assert "7654321" not in message
    assert "7777777" not in message


def test_a_problem_and_its_parts_show_no_count():
    case = Case(
        {"a": 2, "b": 2}, [4321, 8765, 2468, 1357], CELLS, [margin("a"), margin("b")], [nonnegative()]
    )
    shown = repr(case.problem) + repr(case.layout) + repr(case.prepared()) + repr(case.layout.forest)
    assert not any(str(count) in shown for count in case.x)


@pytest.mark.parametrize(
    ("value", "low", "high"), [(0, -9, 0), (1, 1, 10), (10, 1, 10), (11, 11, 20), (-3, -9, 0)]
)
def test_bands_are_counted_from_one(value, low, high):
    case = Case({"a": 2}, [value, 0], CELLS, [band("total", 10)])
    (slack,) = case.problem.slacks
    assert (int(slack.lower[0]) + value, int(slack.upper[0]) + value) == (low, high)
