"""Scales for a promise: met from below within a millionth, refused where nothing is proven."""

from __future__ import annotations

import csv
import gzip

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from congenial.errors import NotProvenError, RequestError
from congenial.laws import DiscreteGaussian, DiscreteLaplace
from congenial.planning import drawing
from congenial.privacy.guarantee import ROUNDING, TAIL_LOG2, guarantee, stated
from congenial.privacy.promise import kept, scales
from congenial.problems.compile import compile_structure
from congenial.requests.builders import at_most, margin, measure, nonnegative, total
from congenial.requests.model import Promise, Request, Unit
from congenial.tables.domain import Axis, Domain
from support.data import data_path
from support.structures import domain, unit

EPSILON = Promise(epsilon=1)


def shared(axes, parts, facts=(), bounds=(), law=DiscreteLaplace, promise=EPSILON):
    measured = [measure(query, law(share=share)) for query, share in parts]
    where = axes if isinstance(axes, Domain) else domain(axes)
    return compile_structure(where, Request(measured, facts, bounds, promise=promise))


def geography():
    """States, counties and tracts, invented: sizes that differ, some of one."""
    sizes = np.random.default_rng(2).integers(1, 5, (6, 7))
    paths = [
        (f"s{s}", f"c{s}.{c}", f"t{t}") for s in range(6) for c in range(7) for t in range(int(sizes[s, c]))
    ]
    return Domain((Axis.nested("place", ["state", "county", "tract"], paths),))


LEVELS = [({"place": "state"}, 0.2), ({"place": "county"}, 0.3), ({"place": "tract"}, 0.5)]


@pytest.mark.parametrize("bounds", [[], [nonnegative()]], ids=["free", "non-negative"])
@pytest.mark.parametrize("facts", [[], [total()], [margin(place="state")]], ids=["none", "total", "state"])
@pytest.mark.parametrize("epsilon", [0.01, 1.0, 12.0])
def test_a_promise_over_three_levels_is_met_from_below_within_a_millionth(bounds, facts, epsilon):
    promise = Promise(epsilon=epsilon)
    made = shared(geography(), LEVELS, facts, bounds, promise=promise)
    stated = guarantee(scales(made, unit(), promise), unit())
    assert epsilon - 1e-6 <= stated.epsilon <= epsilon


def test_shares_are_the_proportions_of_the_scales():
    made = scales(shared(geography(), LEVELS, [total()]), unit(), EPSILON)
    rates = [measured.law.rate for measured in made.measured]
    assert rates[1] / rates[0] == pytest.approx(1.5)
    assert rates[2] / rates[0] == pytest.approx(2.5)


def test_halving_by_hand_leaves_more_noise_than_the_price_of_bounds_asks_for():
    made = shared(geography(), LEVELS, [margin(place="state")], [nonnegative()])
    priced = scales(made, unit(), EPSILON).measured[2].law
    free = scales(shared(geography(), LEVELS, [margin(place="state")]), unit(), EPSILON).measured[2].law
    by_hand = DiscreteLaplace(free.rate / 2)
    assert free.mean_abs < priced.mean_abs < by_hand.mean_abs


@pytest.mark.parametrize("rows", [1, 3])
def test_a_promised_rho_is_met_for_every_row_of_a_unit(rows):
    promise = Promise(rho=0.1)
    made = shared(geography(), LEVELS, [total()], law=DiscreteGaussian, promise=promise)
    stated = guarantee(scales(made, unit(rows), promise), unit(rows))
    assert 0.1 - 1e-6 <= stated.rho <= 0.1


def test_two_way_margins_leave_a_quarter_of_the_promise_to_each_count():
    parts = [("cells", 1.0)]
    made = scales(shared({"r": 4, "c": 5}, parts, [margin("r"), margin("c")]), unit(), EPSILON)
    assert made.measured[0].law.rate == pytest.approx(0.25, abs=1e-6)


SHARES = st.lists(st.sampled_from([0.1, 0.25, 0.5]), min_size=3, max_size=3)


@settings(max_examples=40, deadline=None)
@given(SHARES, st.floats(0.001, 50), st.integers(1, 4), st.sampled_from(["any", "replace"]), st.booleans())
def test_any_promise_of_any_shares_is_met(parts, epsilon, rows, change, limited):
    weights = [share / sum(parts) for share in parts]
    promise, who = Promise(epsilon=epsilon), unit(rows, change)
    levels = [(query, share) for (query, _), share in zip(LEVELS, weights, strict=True)]
    bounds = [nonnegative(), at_most({"place": "county"}, 50)] if limited else []
    stated = guarantee(scales(shared(geography(), levels, [], bounds), who, promise), who)
    assert epsilon - 1e-6 <= stated.epsilon <= epsilon


@settings(max_examples=40, deadline=None)
@given(SHARES, st.floats(0.001, 50), st.integers(1, 4), st.sampled_from([DiscreteLaplace, DiscreteGaussian]))
def test_what_is_found_on_the_way_to_a_promise_states_what_is_found_afterwards(parts, most, rows, law):
    """To the last bit: `verify` works a guarantee out again from the laws in the manifest."""
    promise, who = Promise(epsilon=most) if law is DiscreteLaplace else Promise(rho=most), unit(rows)
    weights = [share / sum(parts) for share in parts]
    levels = [(query, share) for (query, _), share in zip(LEVELS, weights, strict=True)]
    bounds = [nonnegative()] if law is DiscreteLaplace else []
    made = shared(geography(), levels, [total()], bounds, law, promise)
    scaled, found = kept(made, who, promise)
    assert stated(scaled, who, found) == guarantee(scaled, who)


def test_what_a_guarantee_states_of_samplers_is_what_plans_must_meet():
    assert (drawing.LOG2_ALLOWANCE, drawing.MOST_ROUNDING) == (TAIL_LOG2, ROUNDING)


def test_a_promise_that_cannot_be_proven_is_refused_with_the_reason():
    promise = Promise(rho=1)
    made = shared({"c": 3}, [("cells", 1.0)], [total()], [nonnegative()], DiscreteGaussian, promise)
    with pytest.raises(NotProvenError, match="bounds that the facts do not imply"):
        scales(made, unit(), promise)


def test_a_promise_smaller_than_rounding_is_refused():
    promise = Promise(epsilon=1e-8)
    with pytest.raises(NotProvenError, match="rounding"):
        scales(shared({"c": 3}, [("cells", 1.0)], promise=promise), unit(), promise)


def test_a_promise_over_what_is_published_anyway_has_nothing_to_scale():
    with pytest.raises(NotProvenError, match="nothing to scale"):
        scales(shared({"r": 2, "c": 2}, [("r", 1.0)], [margin("r")]), unit(), EPSILON)


def test_laws_of_the_other_currency_are_refused_by_name():
    made = shared({"c": 3}, [("cells", 1.0)], law=DiscreteGaussian, promise=Promise(rho=1))
    with pytest.raises(RequestError, match="discrete-gaussian cannot be promised in epsilon"):
        scales(made, unit(), EPSILON)


@pytest.mark.parametrize("bounds", [[], [nonnegative()]], ids=["free", "non-negative"])
def test_the_promise_is_met_on_the_counties_of_the_united_states(bounds):
    with data_path("us_counties_2010.csv").open() as file:
        paths = [(row["state"], row["fips"]) for row in csv.DictReader(file)]
    where = Domain((Axis.nested("place", ["state", "county"], paths),))
    made = shared(where, [({"place": "state"}, 0.5), ({"place": "county"}, 0.5)], [total()], bounds)
    stated = guarantee(scales(made, Unit(), EPSILON), Unit())
    assert 1 - 1e-6 <= stated.epsilon <= 1


@pytest.mark.long
def test_the_promise_is_met_on_the_block_groups_of_the_united_states():
    with gzip.open(data_path("us_block_groups_2010.csv.gz"), "rt") as file:
        ids = [row["geoid"] for row in csv.DictReader(file)]
    paths = [(i[:2], i[:5], i[:11], i) for i in ids]
    where = Domain((Axis.nested("place", ["state", "county", "tract", "group"], paths),))
    levels = [
        ({"place": level}, share)
        for level, share in zip(("county", "tract", "group"), (0.2, 0.3, 0.5), strict=True)
    ]
    made = shared(where, levels, [margin(place="state")], [nonnegative()])
    stated = guarantee(scales(made, Unit(), EPSILON), Unit())
    assert 1 - 1e-6 <= stated.epsilon <= 1
    assert stated.change == "replace"


def test_a_promise_whose_digits_round_up_is_still_met_from_below():
    promise = Promise(epsilon=10.426666936649639)
    stated = guarantee(scales(shared(geography(), LEVELS, promise=promise), unit(), promise), unit())
    assert promise.epsilon - 1e-6 <= stated.epsilon <= promise.epsilon
