"""What k units can change, and the largest loss, against a list of every change."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from congenial.errors import NothingToProtectError, RequestError
from congenial.laws import DiscreteGaussian, DiscreteLaplace
from congenial.privacy.changes import changes
from congenial.privacy.losses import losses
from congenial.privacy.prices import Binding
from congenial.privacy.reading import read
from congenial.requests.builders import forms, margin, measure, total, zeros
from congenial.requests.model import Bound, Invariant
from congenial.tables.queries import TOTAL, as_query
from support.small_changes import determined, largest
from support.structures import structure, unit

NO_BOUNDS = Binding((), float("inf"), float("inf"), False, False)
LAPLACE = DiscreteLaplace(0.5)
CELLS = [measure("cells", LAPLACE)]


def found(made, who=None):
    who = who or unit()
    reading = read(made)
    what = changes(reading, made.domain.shape, who)
    return what, losses(reading, what, NO_BOUNDS, who)


def diagonal(n):
    return zeros([{"r": f"r{i}", "c": f"c{i}"} for i in range(n)])


CASES = {
    "nothing fixed": ({"c": 3}, CELLS, [], 1, 1.0),
    "a total": ({"c": 3}, CELLS, [total()], 1, 1.0),
    "two-way margins": ({"r": 3, "c": 3}, CELLS, [margin("r"), margin("c")], 2, 2.0),
    "a measured total, nothing fixed": (
        {"c": 3},
        [measure("cells", DiscreteLaplace(0.1)), measure("total", DiscreteLaplace(1))],
        [],
        1,
        1.1,
    ),
    "three-way without interaction": (
        {"a": 2, "b": 2, "c": 2},
        CELLS,
        [margin("a", "b"), margin("b", "c"), margin("a", "c")],
        4,
        4.0,
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_units_and_loss_of_well_known_facts(name):
    axes, measured, facts, units, loss = CASES[name]
    what, cost = found(structure(axes, measured, facts))
    assert what.units == units
    assert cost.kappa == pytest.approx(loss, rel=1e-12)
    assert cost.is_exact


def test_a_three_by_three_table_without_its_diagonal_moves_three_at_a_time():
    made = structure({"r": 3, "c": 3}, CELLS, [margin("r"), margin("c")], [diagonal(3)])
    what, cost = found(made)
    assert what.units == 3
    assert cost.kappa == pytest.approx(6 * 0.5)
    assert np.abs(what.nearest[1]).sum() == 6


def test_two_rows_a_unit_make_one_unit_enough_for_two_way_margins():
    what, _ = found(structure({"r": 3, "c": 3}, CELLS, [margin("r"), margin("c")]), unit(2))
    assert what.units == 1
    assert what.rows == 2


@pytest.mark.parametrize(
    ("change", "loss", "left"),
    [("any", 1.1, "any"), ("replace", 0.2, "replace"), ("add-or-remove", 1.1, "add-or-remove")],
)
def test_a_measured_total_costs_who_is_added_and_not_who_is_replaced(change, loss, left):
    measured = [measure("cells", DiscreteLaplace(0.1)), measure("total", DiscreteLaplace(1))]
    what, cost = found(structure({"c": 3}, measured), unit(change=change))
    assert cost.kappa == pytest.approx(loss)
    assert what.change == left


def test_a_fixed_total_leaves_replacement_only():
    assert found(structure({"c": 3}, CELLS, [total()]))[0].change == "replace"


def test_one_free_cell_beside_facts_that_determine_the_rest_leaves_adding_only():
    made = structure({"c": 2}, CELLS, [margin(c={"one": ["c0"]})])
    assert found(made)[0].change == "add-or-remove"


def test_facts_that_determine_every_cell_are_refused():
    with pytest.raises(NothingToProtectError, match="determine every cell"):
        found(structure({"r": 2, "c": 1}, CELLS, [margin("r")]))


@pytest.mark.parametrize(
    "facts", [[margin(c={"some": ["c0", "c1"]})], [margin("c"), margin(d={"x": ["d0", "d1"]})]]
)
def test_adding_or_removing_where_a_fact_forbids_it_is_refused(facts):
    with pytest.raises(RequestError, match="leaves some cells without protection"):
        found(structure({"c": 3, "d": 3}, CELLS, facts), unit(change="add-or-remove"))


def test_replacing_the_only_loose_cell_is_refused():
    with pytest.raises(RequestError, match="leaves some cells without protection"):
        found(structure({"c": 3}, CELLS, [margin(c={"some": ["c0", "c1"]})]), unit(change="replace"))


def test_a_limit_whose_sides_meet_is_a_fact():
    made = structure({"c": 3}, CELLS, [], [Bound(TOTAL, at_least=7, at_most=7)])
    assert found(made)[0].change == "replace"


def test_weights_make_moves_of_several_rows():
    rows = [{"c": "c0", "weight": 1}, {"c": "c1", "weight": -2}]
    what, cost = found(structure({"c": 2}, CELLS, [forms(rows)]))
    assert what.units == 3  # (2, 1)
    assert cost.kappa == pytest.approx(1.5)


LAWS = st.sampled_from([DiscreteLaplace, DiscreteGaussian])
WHO = st.builds(unit, st.integers(1, 2), st.sampled_from(["any", "any", "any", "replace", "add-or-remove"]))


def fact(query):
    return Invariant(as_query(query))


@st.composite
def made(draw, axes, queries, bounds=(), always=()):
    """A request on some axes: cells and up to two queries measured, up to three more facts."""
    law = draw(LAWS)
    measured = [measure("cells", law(draw(st.sampled_from([0.25, 0.5]))))]
    for query in draw(st.lists(st.sampled_from(queries), max_size=2)):
        measured.append(measure(query, law(draw(st.sampled_from([0.125, 1.0])))))
    facts = [fact(query) for query in draw(st.lists(st.sampled_from(queries), max_size=3, unique_by=str))]
    facts += [fact(query) for query in always]
    return structure(axes, measured, facts, [bound for bound in bounds if draw(st.booleans())])


@st.composite
def nested(draw):
    shape = draw(st.sampled_from([[2, 1], [2, 2], [1, 1, 2]]))
    axes = {"p": shape, "s": draw(st.integers(1, 2))}
    return draw(made(axes, ["total", {"p": "p0"}, "s", {"p": "p0", "s": "all"}, "p"]))


@st.composite
def crossing(draw):
    axes = {"r": draw(st.integers(2, 3)), "c": draw(st.integers(2, 3))}
    r, c = draw(st.integers(0, axes["r"] - 1)), draw(st.integers(0, axes["c"] - 1))
    groups = [{"c": {"low": ["c0"], "high": ["c1"]}}, {"r": {"top": ["r0", "r1"]}}]
    holes = [zeros([{"r": f"r{r}", "c": f"c{c}"}]), diagonal(min(axes.values()))]
    return draw(
        made(axes, ["r", "c", "r", "c", "total", *groups], holes, draw(st.sampled_from([(), ("r", "c")])))
    )


ABC = (["a", "b"], ["b", "c"], ["a", "c"])


@st.composite
def threeway(draw):
    axes = {"a": 2, "b": 2, "c": draw(st.integers(1, 2))}
    holes = [zeros([{"a": "a0", "b": "b0", "c": "c0"}])]
    return draw(
        made(
            axes, [["a", "b"], ["b", "c"], ["a", "c"], "a", "b", "c"], holes, draw(st.sampled_from([(), ABC]))
        )
    )


@st.composite
def weighted(draw):
    cells = draw(st.integers(3, 5))
    rows = [
        {"form": f"f{i}", "c": f"c{j}", "weight": draw(st.integers(-2, 2)) or 1}
        for i in range(draw(st.integers(1, 2)))
        for j in range(cells)
        if draw(st.booleans()) or j == i
    ]
    law = draw(LAWS)
    measured = [measure("cells", law(0.5)), measure({"c": {"x": ["c0", "c2"]}}, law(0.25))]
    return structure({"c": cells}, measured, [forms(rows)])


def check(made, who):
    reading = read(made)
    fixed = determined(made)
    most = {1: 5, 2: 5, 3: 5, 4: 5, 5: 4, 6: 4, 7: 4, 8: 4}.get(made.domain.cells, 3)
    try:
        what = changes(reading, made.domain.shape, who)
    except NothingToProtectError:
        assert fixed.all()
        return None
    except RequestError:
        assert who.change != "any"
        assert largest(made, who, most=most) is None
        return None
    mine = np.ones(made.domain.cells, dtype=bool)
    mine[reading.cells] = what.determined
    assert (mine == fixed).all()
    cost = losses(reading, what, NO_BOUNDS, who)
    small = largest(made, who, most=most)
    if small is None:
        assert what.rows > most - most % who.max_rows
        return what, cost
    assert what.units == small.units
    for stated, true in ((cost.kappa, small.kappa), (cost.rho, small.rho)):
        assert stated >= true * (1 - 1e-9)
        assert not cost.is_exact or stated == pytest.approx(true, rel=1e-9)
    reach = np.abs(small.changes[:, reading.cells]).max(axis=0)
    assert (reach <= what.reach).all()
    return what, cost


@pytest.mark.parametrize("kind", [nested, crossing, threeway, weighted])
def test_units_changes_and_losses_are_those_of_the_list_of_all_changes(kind):
    @settings(max_examples=60, deadline=None)
    @given(kind(), WHO)
    def against_the_list(made, who):
        check(made, who)

    against_the_list()
