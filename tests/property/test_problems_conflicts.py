"""A conflict is found where there is one, is irreducible, and its message has no number of the table."""

import re

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from congenial.errors import ConflictError, RequestError
from congenial.laws import DiscreteLaplace
from congenial.problems.conflicts import _always, _bound, _fact, public_conflict
from congenial.problems.farkas import irreducible
from congenial.problems.problem import make_problem
from congenial.requests.builders import at_least, at_most, band, bound_forms, measure, zeros
from congenial.requests.model import Invariant
from congenial.tables.queries import as_query
from support.directions import dense
from support.structures import structure

AXES = {"p": [[2, 1], [2]], "s": 2}
CELLS = 10
THOUSAND = 1000
"""Bounds are multiples of it and counts are not, nor are sums of counts: a number tells where it is from."""

NESTED = ["total", "p", "cells", {"p": "p0"}, {"p": "p1"}, {"p": {"few": [["node0", "node0"]]}}]
CROSSED = ["s", {"s": {"one": ["s1"]}}, {"p": "p0", "s": "all"}]
SIZE = st.integers(0, 30).map(lambda k: k * THOUSAND)
LEAVES = [("node0", "node0", "leaf0"), ("node0", "node0", "leaf1"), ("node1", "node0", "leaf1")]


def difference(weights):
    rows = [{"p": list(leaf), "s": "s0", "weight": w} for leaf, w in zip(LEAVES, weights, strict=True) if w]
    return rows or [{"p": list(LEAVES[0]), "s": "s0", "weight": 1}]


WEIGHTS = st.lists(st.sampled_from([-3, -1, 0, 1, 2]), min_size=3, max_size=3).map(difference)
QUERY = st.sampled_from(NESTED + CROSSED)
BOUND = st.one_of(
    st.builds(at_least, st.sampled_from(NESTED), SIZE),
    st.builds(at_most, st.sampled_from(NESTED), SIZE),
    st.builds(at_least, QUERY, SIZE),
    st.builds(at_most, QUERY, SIZE),
    st.builds(lambda rows, k: bound_forms(rows, name="gap", at_least=k), WEIGHTS, SIZE),
    st.builds(lambda rows, k: bound_forms(rows, name="gap", at_most=-k), WEIGHTS, SIZE),
    st.just(zeros(s=["s1"], p=[["node0", "node0"]])),
)
FACT = st.one_of(
    QUERY.map(lambda query: Invariant(as_query(query))),
    QUERY.map(lambda query: band(query, THOUSAND)),
)
COUNTS = st.lists(
    st.tuples(st.integers(0, 9), st.integers(1, 4)).map(lambda pair: pair[0] * THOUSAND + pair[1]),
    min_size=CELLS,
    max_size=CELLS,
)
OFTEN = settings(max_examples=120, deadline=None, suppress_health_check=list(HealthCheck))


def can_be_met(demands):
    """Whether some real table meets demands, by one linear program over the cells."""
    from scipy.optimize import linprog

    above, ends = [np.zeros((0, CELLS))], [np.zeros(0)]
    for demand in demands:
        rows = dense(demand.forms, CELLS)
        low, high = demand.lower > -(2**61), demand.upper < 2**61
        above += [-rows[low], rows[high]]
        ends += [-demand.lower[low].astype(float), demand.upper[high].astype(float)]
    found = linprog(np.zeros(CELLS), np.concatenate(above), np.concatenate(ends) + 1e-6, bounds=(None, None))
    return found.status == 0


def is_irreducible(conflict):
    named = list(dict.fromkeys(share.demand for share in conflict))
    rest = [[other for other in named if other is not one] for one in named]
    return not can_be_met(named) and all(can_be_met(others) for others in rest)


def compiled(facts, bounds):
    try:
        return structure(AXES, [measure("cells", DiscreteLaplace(0.5))], facts, bounds)
    except RequestError:  # the plainest contradictions are told with the request
        return None


@OFTEN
@given(st.lists(BOUND, min_size=1, max_size=5))
def test_bounds_that_no_table_meets_are_found_and_irreducible(bounds):
    made = compiled([], bounds)
    if made is None:
        return
    demands = [*map(_bound, made.limits), *_always(made)]
    found = irreducible(demands, CELLS)
    assert (found is None) == can_be_met(demands)
    assert (found is None) == (public_conflict(made) == ())
    assert found is None or is_irreducible(found)


@OFTEN
@given(st.lists(FACT, min_size=1, max_size=3), st.lists(BOUND, min_size=1, max_size=3), COUNTS)
def test_bounds_that_facts_contradict_are_found_and_irreducible(facts, bounds, counts):
    made = compiled(facts, bounds)
    if made is None:
        return
    x = np.array(counts, dtype=np.int64)
    demands = [*map(_bound, made.limits), *(_fact(fact, x) for fact in made.facts), *_always(made)]
    found = irreducible(demands, CELLS)
    assert (found is None) == can_be_met(demands)
    assert found is None or is_irreducible(found)


@OFTEN
@given(st.lists(FACT, max_size=3), st.lists(BOUND, min_size=1, max_size=4), COUNTS)
def test_no_number_of_the_table_is_said(facts, bounds, counts):
    made = compiled(facts, bounds)
    if made is None:
        return
    x = np.array(counts, dtype=np.int64)
    outside = x[made.zeros].any() or any(
        (limit.forms.sums(x) < limit.lower).any() or (limit.forms.sums(x) > limit.upper).any()
        for limit in made.limits
    )
    if not outside:
        make_problem(made, x)
        return
    with pytest.raises(ConflictError) as caught:
        make_problem(made, x)
    numbers = [int(number) for number in re.findall(r"\d+", str(caught.value))]
    assert all(number < 100 or number % THOUSAND == 0 for number in numbers), str(caught.value)
