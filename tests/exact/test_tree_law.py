"""The tree's law is law (1), to 1e-12 at every point of an enumeration: windows, tilts, limits, facts.

Each case goes the whole way (compiled, decomposed, prepared within 2^-80), so that a wrong decomposition
is a wrong law here too. `test_tree_branching.py` shows that the twin draws from what is compared.
"""

import numpy as np
import pytest

from congenial.laws import DiscreteGaussian, DiscreteLaplace
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
from support.plans import RIGHT, Case, agrees, law_at


def laplace(epsilon):
    return DiscreteLaplace(epsilon)


def gaussian(epsilon):
    """About as wide as discrete Laplace with ε."""
    return DiscreteGaussian(sigma=1.2 / epsilon)


LAWS = pytest.mark.parametrize("law", [laplace, gaussian])
THREE = {"p": [[2, 1], [2]]}  # five cells, three nodes above them, two above these
LEVELS = ("cells", {"p": "p1"}, {"p": "p0"})


@LAWS
@pytest.mark.parametrize(("x", "window"), [([4, 4, 4], 16), ([5, 0, 2, 9, 1], 8)])
def test_cells_with_a_fixed_sum(law, x, window, monkeypatch):
    agrees(Case({"a": len(x)}, x, [measure("cells", law(2.0))], [total()], window=window), monkeypatch)


@LAWS
def test_three_levels_with_noise_at_each_a_fixed_root_and_no_negative_cell(law, monkeypatch):
    measured = [measure(query, law(2.0)) for query in LEVELS]
    agrees(Case(THREE, [2, 0, 1, 3, 0], measured, [total()], [nonnegative()], window=9), monkeypatch)


@LAWS
def test_three_levels_with_unequal_laws_and_upper_bounds_on_leaves_and_nodes(law, monkeypatch):
    measured = [measure(query, law(e)) for query, e in zip(LEVELS, (2.5, 1.0, 0.7), strict=True)]
    bounds = [nonnegative(), at_most("cells", 3), at_most({"p": "p1"}, 4), at_most({"p": "p0"}, 5)]
    made = agrees(Case(THREE, [2, 0, 1, 3, 0], measured, [total()], bounds, window=5), monkeypatch)
    assert len(np.unique(made.tree.grown.label)) > 6  # hardly anything is alike


@LAWS
def test_open_roots_are_weighed_like_any_node(law, monkeypatch):
    measured = [measure("cells", law(3.0)), measure({"p": "p0"}, law(2.0)), measure("total", law(2.5))]
    agrees(Case({"p": [2, 2]}, [2, 0, 1, 3], measured, [], [at_least("cells", 0)], window=10), monkeypatch)


@LAWS
def test_limits_on_an_inner_node_without_a_law(law, monkeypatch):
    bounds = [at_most({"p": "p0"}, 4), at_least({"p": "p0"}, 2)]
    agrees(Case({"p": [2, 2]}, [2, 0, 1, 3], [measure("cells", law(2.5))], [], bounds, 13), monkeypatch)
    agrees(
        Case({"p": [2, 2]}, [2, 0, 1, 3], [measure("cells", law(2.5))], [total()], bounds, 11), monkeypatch
    )


@LAWS
def test_cells_that_are_not_measured_but_bounded(law, monkeypatch):
    bounds = [nonnegative(), at_most("cells", 4)]
    for measured in ([measure({"p": "p0"}, law(1.0))], [measure("total", law(1.0))]):
        agrees(Case({"p": [2, 2]}, [2, 0, 1, 3], measured, [], bounds, window=5), monkeypatch)
        agrees(Case({"p": [2, 2]}, [2, 0, 1, 3], measured, [total()], bounds, window=5), monkeypatch)


@LAWS
def test_cells_bounded_on_one_side_and_held_by_a_measured_sum(law, monkeypatch):
    measured = [measure({"p": "p0"}, law(2.5))]
    agrees(Case({"p": [2, 2]}, [1, 0, 1, 2], measured, [], [nonnegative()], window=14), monkeypatch)
    # one cell is measured, the other held by the fixed sum
    partly = [measure({"p": {"one": [["node0", "leaf0"]], "two": [["node1"]]}}, law(2.0))]
    agrees(Case({"p": [2, 1]}, [1, 0, 1], partly, [total()], [], window=16), monkeypatch)


@LAWS
def test_two_laws_on_one_value_multiply(law, monkeypatch):
    twice = [measure("cells", law(1.0)), measure("cells", DiscreteGaussian(sigma=0.9))]
    agrees(Case({"a": 3}, [4, 0, 2], twice, [total()], [nonnegative()], window=8), monkeypatch)
    # a node with one cell is that cell; measured as both
    nodes = [measure("cells", law(1.5)), measure({"p": "p0"}, law(1.0)), measure({"p": "p0"}, laplace(0.5))]
    agrees(Case({"p": [1, 2]}, [2, 0, 1], nodes, [total()], [nonnegative()], window=12), monkeypatch)
    agrees(Case({"a": 2}, [2, 1], twice, [], [at_least("cells", -1)], window=12), monkeypatch)


@LAWS
def test_structural_zeros_are_left_out_of_every_sum(law, monkeypatch):
    cells = [measure("cells", law(2.0)), measure({"p": "p1"}, law(1.0))]
    one = zeros([{"p": ["node0", "node0", "leaf1"]}])
    made = agrees(Case(THREE, [2, 0, 1, 3, 0], cells, [total()], [one], window=9), monkeypatch)
    assert made.layout.determined.tolist() == [1]
    node = zeros(p=[["node0", "node0"]])
    made = agrees(
        Case(THREE, [0, 0, 1, 3, 0], cells, [total()], [node, nonnegative()], window=9), monkeypatch
    )
    assert made.layout.determined.tolist() == [0, 1]


@LAWS
def test_redundant_facts_change_nothing(law, monkeypatch):
    cells = [measure("cells", law(2.5))]
    for facts in ([margin(p="p0")], [total(), margin(p="p0")], [margin(p="p0"), margin(p="p0"), total()]):
        agrees(Case({"p": [2, 3]}, [2, 0, 1, 3, 0], cells, facts, window=9), monkeypatch)
        made = Case({"p": [2, 3]}, [2, 0, 1, 3, 0], cells, facts).layout
        assert len(made.forest.roots) == 2
        assert not made.crossings


@LAWS
def test_a_fixed_node_with_one_loose_child_fixes_that_child(law, monkeypatch):
    cells = [measure(query, law(1.5)) for query in LEVELS]
    # the first of two leaves is a fact, and so is their sum: the second is determined
    facts = [margin(p={"one": [["node0", "node0", "leaf0"]]}), margin(p={"both": [["node0", "node0"]]})]
    made = agrees(Case(THREE, [2, 0, 1, 3, 0], cells, facts, window=9), monkeypatch)
    assert made.layout.determined.tolist() == [0, 1]
    # p0 is fixed, and one of its two children: the other is a root of its own
    facts = [margin(p={"child": [["node0", "node1"]]}), margin(p="p0")]
    made = agrees(Case(THREE, [2, 0, 1, 3, 0], cells, facts, window=12), monkeypatch)
    assert made.layout.determined.tolist() == [2]
    assert len(made.layout.forest.roots) == 2


@LAWS
def test_facts_below_facts_cut_the_tree(law, monkeypatch):
    cells = [measure(query, law(1.5)) for query in LEVELS]
    facts = [margin(p={"low": [["node0", "node0"]]}), total()]
    made = agrees(Case(THREE, [2, 0, 1, 3, 0], cells, facts, [nonnegative()], window=9), monkeypatch)
    assert len(made.layout.forest.roots) == 2


@LAWS
@pytest.mark.parametrize("x", [[2, 0, 1, 3], [0, 0, 0, 0], [3, 0, 1, 2]])
def test_a_band_keeps_each_value_within_its_band(law, x, monkeypatch):
    cells = [measure("cells", law(2.5))]
    agrees(Case({"p": [2, 2]}, x, cells, [band({"p": "p0"}, 3)], window=13), monkeypatch)
    agrees(Case({"p": [2, 2]}, x, cells, [band("total", 3), margin(p="p0")], window=13), monkeypatch)


@LAWS
def test_groups_that_leave_cells_out_are_nested_wherever_they_stand(law, monkeypatch):
    cells = [measure("cells", law(3.0))]
    one = measure({"p": {"one": [["node0", "node0"]]}}, law(2.0))
    axes = {"p": [[2, 1], [1, 1]]}
    agrees(Case(axes, [2, 0, 1, 3, 0], [*cells, one], [margin(p="p0")], window=9), monkeypatch)
    # the one measured query lies below the other here and above it there
    mixed = [
        measure({"p": {"s": [["node0", "node0", "leaf0"]], "t": [["node1"]]}}, law(2.0)),
        measure({"p": {"u": [["node0"]], "v": [["node1", "node0"]]}}, law(1.5)),
    ]
    agrees(Case(axes, [2, 0, 1, 3, 0], [*cells, *mixed], [total()], window=7), monkeypatch)


@LAWS
def test_a_limit_out_of_one_nodes_reach_binds_no_other_node(law, monkeypatch):
    # -40 is out of reach of node0, whose cells hardly move, but not of node1; its own limit is far away
    first = measure({"p": {"a": [["node0", "leaf0"]], "b": [["node0", "leaf1"]]}}, law(9.0))
    second = measure({"p": {"c": [["node1", "leaf0"]], "d": [["node1", "leaf1"]]}}, law(0.25))
    case = Case({"p": [2, 2]}, [20, 20, 5000, 5000], [first, second], [], [at_least({"p": "p0"}, 0)])
    made = case.prepared(monkeypatch)
    line = np.arange(-54, 55)
    points = np.zeros((len(line), 4), dtype=np.int64)
    points[:, 2] = line
    found = law_at(made, points)
    weights = law(0.25).weights(-54, 54)
    assert np.abs(found / found.sum() / (weights / weights.sum()) - 1).max() < RIGHT


@LAWS
def test_limits_on_forms_that_nest_are_limits_on_nodes(law, monkeypatch):
    both = bound_forms([{"a": a, "weight": 1} for a in ("a0", "a1")], name="both", at_least=1, at_most=3)
    cells = [measure("cells", law(2.0))]
    agrees(Case({"a": 4}, [1, 1, 2, 0], cells, [total()], [both], window=9), monkeypatch)


@LAWS
def test_a_request_of_everything_at_once(law, monkeypatch):
    measured = [measure(q, law(e)) for q, e in zip((*LEVELS, "total"), (2.0, 1.5, 1.0, 0.5), strict=True)]
    bounds = [
        nonnegative(),
        at_most({"p": "p1"}, 5),
        at_least({"p": {"x": [["node1"]]}}, 1),
        zeros([{"p": ["node0", "node0", "leaf1"]}]),
    ]
    facts = [band("total", 4), margin(p={"low": [["node0", "node1"]]})]
    agrees(Case(THREE, [2, 0, 1, 3, 0], measured, facts, bounds, window=9), monkeypatch)
