"""Axes and domains: the order of leaves, paths, and what a label can be found by."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from congenial.tables.domain import Axis, Domain
from congenial.tables.queries import as_query, partition

PLACE = Axis.nested(
    "place",
    ["state", "county"],
    [("Ohio", "Athens"), ("Iowa", "Adams"), ("Ohio", "Adams"), ("Iowa", "Linn"), ("Utah", "Utah")],
)


def nested_slowly(levels, paths):
    """Nodes of each level: first seen, first out, within their parent."""
    made = [[()]]
    for depth in range(len(levels)):
        seen = list(dict.fromkeys(path[: depth + 1] for path in paths))
        made.append([node for parent in made[-1] for node in seen if node[:-1] == parent])
    return made[1:]


def test_leaves_of_one_parent_stand_together_in_the_order_first_seen():
    assert list(PLACE.paths(0)) == [("Ohio",), ("Iowa",), ("Utah",)]
    assert list(PLACE.paths()) == [
        ("Ohio", "Athens"),
        ("Ohio", "Adams"),
        ("Iowa", "Adams"),
        ("Iowa", "Linn"),
        ("Utah", "Utah"),
    ]


def test_the_same_label_under_two_parents_is_two_nodes():
    assert PLACE.find(("Ohio", "Adams")) == (1, 1)
    assert PLACE.find(("Iowa", "Adams")) == (1, 2)
    assert PLACE.find(("Adams",)) is None


def test_a_node_that_is_called_as_its_parent_is_another_node():
    assert PLACE.find(("Utah",)) == (0, 2)
    assert PLACE.find(("Utah", "Utah")) == (1, 4)


def test_every_leaf_knows_its_node_on_every_level():
    assert PLACE.nodes(0).tolist() == [0, 0, 1, 1, 2]
    assert PLACE.leaf_columns()["state"].tolist() == ["Ohio", "Ohio", "Iowa", "Iowa", "Utah"]


@given(
    st.integers(1, 4).flatmap(
        lambda wide: st.lists(st.tuples(*[st.sampled_from("abc")] * wide), min_size=1, max_size=30)
    )
)
def test_a_hierarchy_is_the_one_that_the_slow_definition_gives(paths):
    levels = [f"level {at}" for at in range(len(paths[0]))]
    axis = Axis.nested("axis", levels, paths)
    for depth, nodes in enumerate(nested_slowly(levels, paths)):
        assert list(axis.paths(depth)) == nodes
        assert [axis.path(depth, node) for node in range(len(nodes))] == nodes
        assert [axis.find(path) for path in nodes] == [(depth, node) for node in range(len(nodes))]
        leaf_nodes = [nodes[node] for node in axis.nodes(depth)]
        assert leaf_nodes == [path[: depth + 1] for path in axis.paths()]


def test_cells_run_in_c_order_of_the_axes():
    domain = Domain((Axis.flat("sex", ["f", "m"]), PLACE))
    assert domain.shape == (2, 5)
    assert domain.cell(6) == "sex=m, place=Ohio/Adams"


def test_a_domain_without_axes_has_one_cell():
    assert Domain(()).cells == 1


def test_sums_of_a_partition_are_sums_over_its_groups():
    domain = Domain((Axis.flat("sex", ["f", "m"]), PLACE))
    counts = np.arange(10)
    part = partition(domain, as_query({"place": "state", "sex": {"men": ["m"]}}))
    assert part.sums(counts).tolist() == [5 + 6, 7 + 8, 9]
    assert [part.label(g) for g in range(3)] == [
        "sex=men, place=Ohio",
        "sex=men, place=Iowa",
        "sex=men, place=Utah",
    ]
    assert part.groups.tolist() == [-1] * 5 + [0, 0, 1, 1, 2]
