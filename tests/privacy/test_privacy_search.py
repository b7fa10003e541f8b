"""Normalisers from a tree's upward pass, the loss of a pair, and a search that bounds prices from below."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from congenial.errors import ArgumentError
from congenial.laws import DiscreteGaussian, DiscreteLaplace
from congenial.planning.audit import audit
from congenial.planning.normaliser import crosses, log_normaliser, pair_loss
from congenial.planning.searching import MOST_CELLS, NotSearched, PriceFound, search_price
from congenial.privacy.guarantee import find
from congenial.problems.decompose import decompose
from congenial.requests.builders import at_least, at_most, band, margin, measure, nonnegative, total
from support.brute import admissible
from support.plans import Case
from support.privacy_enumeration import classes_of, laws_of, tables_of
from support.small_cases import CASES
from support.structures import structure, unit

L = DiscreteLaplace
TREE = {"p": [[2, 1], [1, 2]]}
LEVELS = ("cells", {"p": "p1"}, {"p": "p0"})


def laplace(epsilon):
    return measure("cells", L(epsilon))


def searched(made, counts=None, who=None):
    return search_price(made, find(made, who or unit()), counts)


def listed(case, window):
    """ln of the sum of law (1)'s weights, over every point in a window."""
    problem = case.small(window)
    points = admissible(problem)
    logs = np.zeros(len(points))
    for row, law in problem.measured:
        logs -= law.rate * np.abs(points @ np.array(row)).astype(float) ** law.power
    return float(np.log(math.fsum(np.exp(logs).tolist())))


NESTED = sorted(name for name, case in CASES.items() if not crosses(decompose(case.problem).forest))


@pytest.mark.parametrize("name", NESTED)
def test_the_normaliser_is_the_sum_over_all_admissible_noise(name):
    case = CASES[name]
    assert log_normaliser(case.structure, np.array(case.x)) == pytest.approx(
        listed(case, case.window), abs=1e-6
    )


@st.composite
def boxed(draw):
    """A tree with laws at its levels, facts or none, and limits on both sides, so that all can be listed."""
    laws = [L, DiscreteGaussian]
    measured = [
        measure(query, draw(st.sampled_from(laws))(draw(st.sampled_from([0.1, 0.4, 1.0]))))
        for query in LEVELS
    ]
    facts = draw(
        st.sampled_from([[], [total()], [margin(p="p0")], [band("total", 3)], [band({"p": "p0"}, 4)]])
    )
    bounds = [nonnegative(), at_most("cells", draw(st.integers(3, 5)))]
    if draw(st.booleans()):
        bounds.append(draw(st.sampled_from([at_most({"p": "p0"}, 9), at_least({"p": "p1"}, 0)])))
    x = draw(st.lists(st.integers(0, 3), min_size=6, max_size=6))
    return Case(TREE, x, measured[draw(st.integers(0, 1)) :], facts, bounds, 5)


@settings(max_examples=80, deadline=None)
@given(boxed())
def test_the_normaliser_of_a_bounded_tree_is_right_to_ten_digits(case):
    found = log_normaliser(case.structure, np.array(case.x))
    assert found == pytest.approx(listed(case, case.window), abs=1e-10)


def test_limits_far_out_count_as_those_at_hand_do():
    """A sampler sets such limits aside and looks at them after the draw; a normaliser cannot."""
    made = structure({"c": 3}, [laplace(1.0)], [total()], [nonnegative()])
    near, far = (log_normaliser(made, np.array([at, at, 2])) for at in (17, 40))
    assert 0 < far - near < 1e-7


def test_a_total_forced_far_into_the_tail_still_has_its_normaliser():
    """The empty cells can only grow: without tilts nothing would be left of the window."""
    made = structure({"c": 600}, [laplace(0.5)], [total()], [nonnegative()])
    counts = np.zeros(600, dtype=np.int64)
    counts[0] = 200
    a = math.exp(-0.5)  # the large cell gives away j, which the 599 others share out
    terms = [
        math.lgamma(598 + j + 1) - math.lgamma(j + 1) - math.lgamma(599) + 2 * j * math.log(a)
        for j in range(201)
    ]
    assert log_normaliser(made, counts) == pytest.approx(float(np.logaddexp.reduce(terms)), abs=1e-9)


def test_forms_that_cross_have_no_normaliser_from_a_tree():
    made = structure({"a": 3, "b": 3}, [laplace(0.5)], [margin("a"), margin("b")], [nonnegative()])
    with pytest.raises(ArgumentError, match="forms cross"):
        log_normaliser(made, np.ones(9, dtype=np.int64))
    assert isinstance(searched(made), NotSearched)


PAIRS = {
    "a total": structure({"c": 3}, [laplace(0.5)], [total()], [nonnegative(), at_most("cells", 4)]),
    "a band": structure({"c": 2}, [laplace(0.5)], [band("total", 3)], [nonnegative()]),
    "a tree": structure(
        {"p": [2, 1]}, [laplace(0.5), measure({"p": "p0"}, L(0.3))], [total()], [nonnegative()]
    ),
}


@pytest.mark.parametrize("name", sorted(PAIRS))
def test_a_pair_loses_the_largest_log_ratio_of_its_laws(name):
    made = PAIRS[name]
    for members in classes_of(made, tables_of(made, 3)):
        laws = laws_of(made, members, 4, 8)
        for i, j in itertools.permutations(range(len(members)), 2):
            said = pair_loss(made, members[i], members[j])
            assert said == pytest.approx(float((laws[i] - laws[j]).max()), abs=1e-10)


def test_a_pair_apart_in_a_fact_or_outside_the_bounds_is_refused():
    made = PAIRS["a total"]
    for other in ([3, 1, 0], [5, -1, 0], [0, 0, 5]):
        with pytest.raises(ArgumentError, match="differ in a fact, or one is outside the bounds"):
            pair_loss(made, np.array([2, 2, 1]), np.array(other))


@st.composite
def requests(draw):
    """Trees and flat tables, with facts, bounds that may or may not be measured, and several rows a unit."""
    flat = draw(st.booleans())
    epsilon = st.sampled_from([0.1, 0.5, 1.0, 3.0])
    measured = [laplace(draw(epsilon))]
    if not flat and draw(st.booleans()):
        measured += [measure(query, L(draw(epsilon))) for query in LEVELS[1:]]
    group = {"c": {"some": ["c0", "c1"]}} if flat else {"p": "p0"}
    facts = draw(st.lists(st.sampled_from([total(), margin(**group), band(group, 4)]), max_size=1))
    choices = [nonnegative(), at_most("cells", 3), at_most(group, 5), at_least("cells", 2)]
    bounds = draw(st.lists(st.sampled_from(choices), min_size=1, max_size=3, unique=True))
    axes = {"c": draw(st.integers(3, 9))} if flat else TREE
    return structure(axes, measured, facts, bounds), unit(draw(st.integers(1, 3)))


@settings(max_examples=40, deadline=None)
@given(requests(), st.booleans(), st.integers(0, 2**32))
def test_no_pair_that_a_search_meets_loses_more_than_is_proven(drawn, with_data, seed):
    made, who = drawn
    found = find(made, who)
    counts = np.random.default_rng(seed).integers(2, 4, made.domain.cells) if with_data else None
    if any(limit.upper < 9 and not limit.forms.is_identity for limit in made.limits):
        counts = None
    met = search_price(made, found, counts)
    if isinstance(met, PriceFound):
        assert met.loss <= found.losses.epsilon() * (1 + 1e-12)
        assert met.kappa <= found.losses.kappa * (1 + 1e-12)


@pytest.mark.parametrize(("epsilon", "gamma"), [(0.25, 0.63), (0.5, 0.39), (1.0, 0.13)])
def test_four_cells_under_a_total_lose_what_the_best_of_their_pairs_does(epsilon, gamma):
    met = searched(structure({"c": 4}, [laplace(epsilon)], [total()], [nonnegative()]))
    assert met.price == pytest.approx(gamma, abs=0.006)


@pytest.mark.parametrize("epsilon", [0.5, 1.0])
def test_with_many_cells_the_search_comes_to_the_price_that_is_proven(epsilon):
    made = structure({"c": 100}, [laplace(epsilon)], [total()], [nonnegative()])
    said = find(made, unit()).losses.epsilon()
    assert said - 1e-5 < searched(made).loss <= said


def test_the_search_refutes_the_price_of_one_cell_under_a_total():
    a = math.exp(-1.0)
    planted = 2 * (1 + math.log(1 + a - a * a))
    assert searched(structure({"c": 8}, [laplace(1.0)], [total()], [nonnegative()])).loss > planted


def test_one_cell_that_cannot_fall_below_zero_loses_all_of_its_price():
    made = structure({"c": 1}, [laplace(0.5)], [], [nonnegative()])
    assert searched(made).loss == pytest.approx(find(made, unit()).losses.epsilon(), abs=1e-8)


def test_what_is_not_searched_says_why():
    large = structure({"c": MOST_CELLS + 1}, [laplace(0.5)], [total()], [nonnegative()])
    assert "more than 2,000 cells" in searched(large).why
    gaussian = structure({"c": 3}, [measure("cells", DiscreteGaussian(0.5))], [total()], [nonnegative()])
    assert "discrete Laplace" in searched(gaussian).why
    free = structure({"c": 3}, [laplace(0.5)], [total()])
    assert "no bound can bind" in searched(free).why


def test_an_audit_says_what_a_search_met_and_that_it_is_a_lower_bound():
    made = structure({"c": 6}, [laplace(0.5)], [total()], [nonnegative()])
    done = audit(made, unit(), np.array([5, 0, 0, 0, 0, 0]))
    assert "A search found a pair of tables that loses at least 1.4" in done.explain()
    assert "at most 1.49 is proven for every pair" in done.explain()
    said = done.to_json()["search"]
    assert 1.4 < said["loss_at_least"] < done.guarantee.loss
    assert sorted(part["change"] for part in said["move"]) == [-1, 1]
    assert done.to_json()["search"] == audit(made, unit(), done.counts).to_json()["search"]


def test_an_audit_of_a_large_table_says_that_nothing_was_searched():
    made = structure({"c": MOST_CELLS + 1}, [laplace(0.5)], [total()], [nonnegative()])
    assert "No pair of tables was searched" in audit(made, unit()).explain()
    assert audit(made, unit()).to_json()["search"]["loss_at_least"] is None
