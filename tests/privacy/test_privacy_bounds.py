"""The price of bounds: for every pair of small tables, what the theorem says for their change."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from congenial.errors import RequestError
from congenial.laws import DiscreteLaplace
from congenial.privacy.guarantee import find, guarantee
from congenial.privacy.prices import price
from congenial.problems.structure import FREE
from congenial.requests.builders import at_least, at_most, band, forms, margin, measure, nonnegative, total
from support.privacy_enumeration import classes_of, laws_of, tables_of, worst
from support.small_changes import determined, facts_of, rank, rows_of
from support.structures import structure, unit

EPSILON = st.sampled_from([0.25, 0.5, 1.0])
HALF = {"c": {"half": ["c0", "c1"]}}


def laplace(epsilon):
    return measure("cells", DiscreteLaplace(epsilon))


def theorem(made, changes):
    """κ + ln(1 + e^{-2ε*}(e^κ-1)) by the letter: every bound counts whose form the change moves."""
    cells = made.domain.cells
    measured = [(m.law.rate, rows_of(m.forms, cells)) for m in made.measured]
    kappa = sum(rate * np.abs(changes @ rows.T).sum(axis=1) for rate, rows in measured)
    bounded = [rows_of(limit.forms, cells) for limit in made.limits]
    bounded += [rows_of(fact.forms, cells) for fact in made.facts if fact.band is not None]
    least = np.full(len(changes), np.inf)
    for row in itertools.chain(*bounded):
        rate = sum(rate for rate, rows in measured if (rows == row).all(axis=1).any())
        least = np.where(changes @ row != 0, np.minimum(least, rate), least)
    return kappa + np.log1p(np.exp(-2 * least) * np.expm1(kappa))


@st.composite
def bounded(draw):
    """Four cells or fewer, bounds or bands on cells, halves or the total, measured or not, facts or none."""
    cells = draw(st.integers(2, 4))
    measured = [laplace(draw(EPSILON))]
    if draw(st.booleans()):
        measured.append(measure(HALF, DiscreteLaplace(draw(EPSILON))))
    limits = [nonnegative(), at_most("cells", 4)]
    if draw(st.booleans()):
        limits.append(draw(st.sampled_from([at_least(HALF, 1), at_most(HALF, 3), at_most("total", 5)])))
    facts = []
    if draw(st.booleans()):
        weights = [{"c": f"c{i}", "weight": draw(st.sampled_from([1, 1, 2, -1]))} for i in range(cells)]
        facts.append(draw(st.sampled_from([total(), forms(weights), band("total", 3), band(HALF, 2)])))
    return structure({"c": cells}, measured, facts, limits)


@settings(max_examples=60, deadline=None)
@given(bounded())
def test_no_pair_of_tables_loses_more_than_the_theorem_says_of_its_change(made):
    top = 4 if made.domain.cells < 4 else 2
    for members in classes_of(made, tables_of(made, top)):
        laws = laws_of(made, members, 4, 0)
        for i, law in enumerate(laws):
            said = theorem(made, members - members[i])
            assert ((law - laws).max(axis=1) <= said + 1e-9).all()


@settings(max_examples=60, deadline=None)
@given(bounded(), st.integers(1, 2), st.sampled_from(["any", "replace"]))
def test_no_pair_that_the_units_can_make_loses_more_than_the_guarantee(made, rows, change):
    if determined(made).all():
        return
    who = unit(rows, change)
    try:
        found = find(made, who)
    except RequestError:
        return  # the facts let no count move under this change
    small = made.domain.cells == 4
    seen = worst(made, who, found.changes.rows, top=2 if small else 4, wide=2 if small else 0)
    assert seen.pure <= found.losses.epsilon() + 1e-9


def test_one_cell_that_cannot_fall_below_zero_costs_exactly_the_published_price():
    made = structure({"c": 1}, [laplace(0.5)], [], [nonnegative()])
    a = math.exp(-0.5)
    claimed = find(made, unit()).losses.epsilon()
    assert claimed == pytest.approx(0.5 + math.log(1 + a - a * a), rel=1e-12)
    assert worst(made, unit(), 1, top=3, wide=100).pure == pytest.approx(claimed, rel=1e-12)


def test_two_cells_without_a_total_pay_for_the_one_that_leaves_its_bound():
    a = math.exp(-0.5)
    claimed = find(structure({"c": 2}, [laplace(0.5)], [], [nonnegative()]), unit()).losses.epsilon()
    assert claimed == pytest.approx(1 + math.log(1 + a - a * a), rel=1e-12)


@pytest.mark.parametrize("epsilon", [0.25, 0.5, 1.0])
def test_under_a_total_the_price_is_that_of_the_design(epsilon):
    made = structure({"c": 5}, [laplace(epsilon)], [total()], [nonnegative()])
    claimed = guarantee(made, unit())
    assert claimed.loss == pytest.approx(2 * epsilon + math.log(2 - math.exp(-2 * epsilon)), rel=1e-9)
    assert claimed.price == pytest.approx({0.25: 0.6636, 0.5: 0.4899, 1.0: 0.3115}[epsilon], abs=1e-4)


def test_the_price_of_one_cell_is_false_under_a_total():
    made = structure({"c": 8}, [laplace(1.0)], [total()], [nonnegative()])
    pair = [[4, 0, 0, 0, 0, 0, 0, 0], [3, 1, 0, 0, 0, 0, 0, 0]]
    seen = worst(made, unit(), 1, top=4, tables=pair).pure
    a = math.exp(-1.0)
    one_cell = math.log(1 + a - a * a) / 1.0
    assert seen > 2 * (1 + one_cell)
    assert seen <= find(made, unit()).losses.epsilon()


def test_bounds_that_facts_or_the_cells_imply_cost_nothing_extra():
    by_cells = structure({"c": 3}, [laplace(0.5)], [total()], [nonnegative(), at_least(HALF, 0)])
    assert (
        guarantee(by_cells, unit()).loss
        == guarantee(structure({"c": 3}, [laplace(0.5)], [total()], [nonnegative()]), unit()).loss
    )
    by_facts = structure({"c": 3}, [laplace(0.5)], [margin(c=HALF["c"]), total()], [at_most("total", 9)])
    assert guarantee(by_facts, unit()).price == 0
    assert guarantee(by_facts, unit()).is_exact


def test_a_bound_that_nobody_measures_may_double_the_loss():
    made = structure({"c": 4}, [laplace(0.5)], [total()], [at_most(HALF, 3)])
    assert guarantee(made, unit()).loss == pytest.approx(2.0)


def test_a_band_costs_as_two_bounds_do():
    made = structure({"c": 3}, [laplace(0.5), measure("total", DiscreteLaplace(0.25))], [band("total", 5)])
    kappa = 0.75  # one more in a cell, and in the total
    said = kappa + price(kappa, 0.25)
    assert guarantee(made, unit(change="add-or-remove")).loss == pytest.approx(said)
    assert worst(made, unit(change="add-or-remove"), 1, top=4, wide=12).pure <= said


def test_a_limit_far_off_still_counts_because_it_may_bind_at_some_table():
    near = structure({"c": 3}, [laplace(0.5)], [], [at_most("cells", 3)])
    far = structure({"c": 3}, [laplace(0.5)], [], [at_most("cells", 10**9)])
    assert guarantee(near, unit()).loss == guarantee(far, unit()).loss


def test_rows_are_moved_one_after_the_other_only_where_bounds_nest():
    rows, columns = {"r": {"top": ["r0"]}}, {"c": {"left": ["c0"]}}
    nested = structure({"r": 2, "c": 2}, [laplace(0.5)], [], [at_most(rows, 4)])
    crossing = structure({"r": 2, "c": 2}, [laplace(0.5)], [], [at_most(rows, 4), at_most(columns, 4)])
    assert [steps for steps, _ in find(nested, unit(3)).losses.ways] == [3, 1]
    assert [steps for steps, _ in find(crossing, unit(3)).losses.ways] == [1]


def test_facts_of_the_cases_are_what_they_seem():
    made = structure({"c": 3}, [laplace(0.5)], [total()], [nonnegative()])
    assert rank(facts_of(made)) == 1
    assert made.limits[0].upper == FREE
