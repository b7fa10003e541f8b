"""The cells that are named as free are those that some unweighed direction moves, on random requests."""

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from congenial.laws import DiscreteLaplace
from congenial.problems.decompose import decompose
from congenial.problems.free import free_cells
from congenial.problems.problem import make_problem
from congenial.requests.builders import at_least, at_most, band, bound_forms, measure, zeros
from congenial.requests.builders import forms as fixed_forms
from congenial.requests.model import Invariant
from congenial.tables.queries import as_query
from support.directions import moved_cells
from support.structures import structure

LAW = DiscreteLaplace(0.5)
AXES = {"p": [[2, 1], [2]], "s": 2}
WIDE = 1000
QUERIES = [
    "total",
    "s",
    "p",
    "cells",
    {"p": "p0"},
    {"p": "p1"},
    {"p": "p0", "s": "all"},
    {"p": "p1", "s": "all"},
    {"s": {"one": ["s1"]}},
    {"p": {"some": [["node0", "node0"], ["node1"]]}},
    {"p": {"few": [["node0"]], "rest": [["node1"]]}, "s": {"first": ["s0"]}},
]
QUERY = st.sampled_from(QUERIES)
FORM = st.lists(st.sampled_from([-2, -1, 0, 0, 1, 1]), min_size=10, max_size=10).filter(any)


def rows_of(weights):
    leaves = [("node0", "node0", "leaf0"), ("node0", "node0", "leaf1"), ("node0", "node1", "leaf0")]
    leaves += [("node1", "node0", "leaf0"), ("node1", "node0", "leaf1")]
    cells = [(leaf, sex) for leaf in leaves for sex in ("s0", "s1")]
    return [
        {"p": list(leaf), "s": sex, "weight": weight}
        for (leaf, sex), weight in zip(cells, weights, strict=True)
        if weight
    ]


FACT = st.one_of(
    QUERY.map(lambda query: Invariant(as_query(query))),
    QUERY.map(lambda query: band(query, 7)),
    FORM.map(lambda weights: fixed_forms(rows_of(weights))),
)
BOUND = st.one_of(
    QUERY.map(lambda query: at_least(query, -WIDE)),
    QUERY.map(lambda query: at_most(query, WIDE)),
    FORM.map(lambda weights: bound_forms(rows_of(weights), at_least=-WIDE)),
    FORM.map(lambda weights: bound_forms(rows_of(weights), at_most=WIDE)),
    st.just(zeros(s=["s1"], p=[["node0"]])),
)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(QUERY.filter(lambda q: q != "cells"), min_size=1, max_size=3),
    st.lists(FACT, max_size=2),
    st.lists(BOUND, max_size=3),
)
def test_the_free_cells_are_those_that_an_unweighed_direction_moves(measured, facts, bounds):
    made = structure(AXES, [measure(query, LAW) for query in measured], facts, bounds)
    problem = make_problem(made, np.zeros(10, dtype=np.int64))
    assert free_cells(decompose(problem)).tolist() == moved_cells(problem)
