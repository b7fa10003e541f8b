"""A law without normaliser names exactly the cells that run off; one that is a law is let through."""

import numpy as np
import pytest

from congenial.errors import NoLawError
from congenial.laws import DiscreteLaplace
from congenial.planning import plan
from congenial.problems.decompose import decompose
from congenial.problems.free import check_normaliser, free_cells
from congenial.problems.problem import make_problem
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

LAW = DiscreteLaplace(0.5)
NESTED = {"place": [[2, 2], [1]]}
"""Two states, the first of two counties of two leaves, the second of one leaf."""
CROSSED = {"r": 2, "c": 3}


def free(axes, measured, facts=(), bounds=()):
    made = structure(axes, [measure(query, LAW) for query in measured], facts, bounds)
    counts = np.full(made.domain.cells, 9, dtype=np.int64)
    counts[made.zeros] = 0
    return free_cells(decompose(make_problem(made, counts))).tolist()


A_GROUP = {"place": {"first": [["node0", "node0"]]}}
CELLS_OF_IT = {"place": {"a": [["node0", "node0", "leaf0"]], "b": [["node0", "node0", "leaf1"]]}}
CORNER = {"r": {"one": ["r0"]}, "c": {"two": ["c0", "c1"]}}
FIRST_OF_IT = {"place": {"a": [["node0", "node0", "leaf0"]]}}


@pytest.mark.parametrize(
    ("axes", "measured", "facts", "bounds", "names"),
    [
        # flat and nested
        (NESTED, ["cells"], [], [], []),
        (NESTED, ["total"], [], [], [0, 1, 2, 3, 4]),
        (NESTED, [{"place": "place0"}], [], [], [0, 1, 2, 3]),
        (NESTED, [{"place": "place1"}], [], [], [0, 1, 2, 3]),
        (NESTED, [{"place": "place1"}], [], [nonnegative()], []),
        (NESTED, [{"place": "place0"}], [], [nonnegative()], []),
        (NESTED, [A_GROUP], [], [nonnegative()], [2, 3, 4]),
        (NESTED, [A_GROUP], [total()], [nonnegative()], []),
        (NESTED, [A_GROUP], [], [nonnegative(), at_most("total", 99)], []),
        (NESTED, [A_GROUP], [], [at_most("cells", 99)], [2, 3, 4]),
        (NESTED, [A_GROUP], [margin(place="place0")], [], [0, 1, 2, 3]),
        (NESTED, [A_GROUP], [margin(place="place0")], [nonnegative()], []),
        (NESTED, [A_GROUP], [margin(place="place1")], [], [0, 1, 2, 3]),
        (NESTED, [A_GROUP], [], [zeros(place=[["node0"]])], [4]),
        (NESTED, ["total"], [], [zeros(place=[["node0"]])], []),
        # leaves bounded on one side, or on both
        (NESTED, ["total"], [], [nonnegative()], []),
        (NESTED, [A_GROUP], [], [at_least("cells", 0), at_most("cells", 99)], []),
        (NESTED, ["total"], [], [at_least(CELLS_OF_IT, 0), at_most(CELLS_OF_IT, 99)], [2, 3, 4]),
        (NESTED, [A_GROUP], [], [at_least(CELLS_OF_IT, 0), at_least("total", 0)], [2, 3, 4]),
        (NESTED, [A_GROUP], [], [at_least(FIRST_OF_IT, 0), at_least("total", 0)], [0, 1, 2, 3, 4]),
        (NESTED, [A_GROUP], [total()], [at_least(CELLS_OF_IT, 0)], [2, 3, 4]),
        (NESTED, [{"place": "place0"}], [band("cells", 5)], [], []),
        (NESTED, ["total"], [band({"place": "place0"}, 5)], [], [0, 1, 2, 3]),
        # crossing
        (CROSSED, ["r", "c"], [], [], [0, 1, 2, 3, 4, 5]),
        (CROSSED, ["r", "c"], [], [nonnegative()], []),
        (CROSSED, ["total"], [margin("r"), margin("c")], [], [0, 1, 2, 3, 4, 5]),
        (CROSSED, ["total"], [margin("r"), margin("c")], [nonnegative()], []),
        (CROSSED, ["total"], [margin("r"), margin("c")], [zeros(r=["r0"], c=["c0"])], [1, 2, 4, 5]),
        (CROSSED, ["total"], [margin("r"), margin("c")], [zeros(r=["r0"], c=["c0", "c1"])], []),
        (CROSSED, ["r"], [margin("c")], [at_least({"r": {"one": ["r0"]}, "c": "all"}, 0)], []),
        (CROSSED, ["c"], [], [at_least({"r": {"one": ["r0"]}, "c": "all"}, 0)], [0, 1, 2, 3, 4, 5]),
        (CROSSED, [{"r": {"one": ["r0"]}, "c": "all"}], [margin("c")], [], []),
        (CROSSED, [CORNER], [margin("c"), margin("r")], [], [0, 1, 3, 4]),
    ],
)  # fmt: skip
def test_the_free_cells_are_named(axes, measured, facts, bounds, names):
    assert free(axes, measured, facts, bounds) == names


def test_a_difference_that_is_limited_on_one_side_can_run_off_on_the_other():
    gap = [{"c": "c0", "weight": 1}, {"c": "c1", "weight": -1}]
    below, above = bound_forms(gap, at_least=-5), bound_forms(gap, at_most=5)
    assert free({"c": 3}, ["total"], [], []) == [0, 1, 2]
    assert free({"c": 2}, ["total"], [], [below]) == [0, 1]
    assert free({"c": 2}, ["total"], [], [below, above]) == []
    assert free({"c": 3}, ["total"], [], [below, above]) == [0, 1, 2]
    assert free({"c": 3}, ["total"], [], [below, above, at_least({"c": {"rest": ["c2"]}}, 0)]) == [0, 1, 2]
    assert free({"c": 3}, [{"c": {"rest": ["c2"]}}], [total()], [below, above]) == []


def test_a_fixed_total_of_counts_that_are_not_negative_is_a_law_whatever_is_measured():
    part = {"r": {"one": ["r0"]}, "c": {"one": ["c0"]}}
    assert free(CROSSED, [part], [total()], [nonnegative()]) == []
    assert free(CROSSED, [part], [total()], []) == [1, 2, 3, 4, 5]


def test_the_message_names_the_cells_and_no_count():
    made = structure(NESTED, [measure({"place": "place1"}, LAW)])
    problem = make_problem(made, np.array([4711, 4712, 4713, 4714, 4715]))
    with pytest.raises(NoLawError) as caught:
        check_normaliser(decompose(problem), made.domain)
    said = str(caught.value)
    assert "place=node0/node0/leaf0; place=node0/node0/leaf1; place=node0/node1/leaf0" in said
    assert "node1/node0" not in said
    assert "Measure `cells`" in said
    assert "471" not in said


def test_many_free_cells_are_named_in_part():
    with pytest.raises(NoLawError, match=r"s=s3 and 3 more\."):
        plan(domain({"s": 7}), Request([measure("total", LAW)]))
