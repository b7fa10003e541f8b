"""The audit: what facts disclose by themselves, against a list of all tables that they allow."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from congenial.errors import NothingToProtectError
from congenial.laws import DiscreteLaplace
from congenial.planning.audit import SmallCount, audit, silence
from congenial.planning.intervals import NONE
from congenial.requests.builders import at_most, band, forms, margin, measure, nonnegative, total, zeros
from support.privacy_enumeration import classes_of, tables_of
from support.small_changes import facts_of
from support.structures import structure, unit

CELLS = [measure("cells", DiscreteLaplace(0.5))]


def made(axes, facts=(), bounds=()):
    return structure(axes, CELLS, facts, bounds)


def allowed(built, counts):
    """Every table with cells from 0 to the largest sum that agrees with the facts and bounds of one."""
    top = max(3, int(counts.sum()) + 1)
    for members in classes_of(built, tables_of(built, top)):
        if (members == counts).all(axis=1).any():
            return members
    return counts[None]


LAYOUTS = {
    "nested": ({"p": [2, 1], "s": 1}, [total(), margin(p="p0")]),
    "partial": ({"c": 4}, [total(), margin(c={"some": ["c0", "c1"]})]),
    "free": ({"c": 3}, []),
    "two-way": ({"r": 2, "c": 2}, [margin("r"), margin("c")]),
    "grouped": ({"r": 2, "c": 2}, [margin("r"), margin(c={"one": ["c0"]})]),
    "weights": ({"c": 3}, [forms([{"c": "c0", "weight": 2}, {"c": "c1", "weight": 1}])]),
    "band": ({"c": 3}, [band("total", 3), margin(c={"some": ["c0", "c1"]})]),
}
LIMITS = [at_most("cells", 2), at_most({"c": {"x": ["c0"]}}, 1), nonnegative()]


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(sorted(LAYOUTS)), st.data())
def test_intervals_are_the_least_and_most_of_every_cell_over_all_tables_that_facts_allow(name, data):
    axes, facts = LAYOUTS[name]
    choices = LIMITS if "c" in axes else LIMITS[::2]
    built = made(axes, facts, data.draw(st.lists(st.sampled_from(choices), max_size=2, unique=True)))
    tables = tables_of(built, 2)
    counts = tables[data.draw(st.integers(0, len(tables) - 1))]
    found = audit(built, unit(), counts).intervals
    every = allowed(built, counts)
    finite = found.upper < NONE
    assert (found.lower <= every.min(axis=0)).all()
    assert (found.upper[finite] >= every.max(axis=0)[finite]).all()
    if found.is_exact:
        assert (found.lower == every.min(axis=0)).all()
        assert (found.upper[finite] == every.max(axis=0)[finite]).all()
    else:
        assert name in ("grouped", "two-way", "weights", "band")
    assert (
        found.is_exact or name in ("weights", "band") or any(limit.forms.count == 1 for limit in built.limits)
    )


def test_crossing_margins_have_frechets_intervals():
    counts = np.array([0, 1, 2, 3, 4, 0])
    found = audit(
        made({"r": 2, "c": 3}, [margin("r"), margin("c")], [nonnegative()]), unit(), counts
    ).intervals
    table = counts.reshape(2, 3)
    rows, columns, n = table.sum(1)[:, None], table.sum(0)[None], counts.sum()
    assert (found.lower == np.maximum(0, rows + columns - n).ravel()).all()
    assert (found.upper == np.minimum(rows, columns).ravel()).all()


def test_structural_zeros_in_crossing_margins_go_to_the_program():
    counts = np.array([0, 1, 2, 3, 0, 1, 1, 2, 0])
    holes = [zeros([{"r": f"r{i}", "c": f"c{i}"} for i in range(3)])]
    built = made({"r": 3, "c": 3}, [margin("r"), margin("c")], holes)
    found = audit(built, unit(), counts).intervals
    every = allowed_given_margins(counts)
    assert (found.lower == every.min(axis=0)).all()
    assert (found.upper == every.max(axis=0)).all()


def allowed_given_margins(counts):
    """Tables with the margins of one and a zero diagonal: one number moves along the hexagon."""
    hexagon = np.array([0, 1, -1, -1, 0, 1, 1, -1, 0])
    found = [counts + t * hexagon for t in range(-9, 10)]
    return np.array([table for table in found if (table >= 0).all()])[:, np.flatnonzero(hexagon)]


def test_the_verdict_is_in_gong_and_mengs_terms():
    assert audit(made({"c": 3}, [total()]), unit()).verdict == "nothing disrupted"
    assert (
        audit(made({"r": 2, "c": 2}, [margin("r"), margin("c")]), unit()).verdict == "substantially disrupted"
    )
    with pytest.raises(NothingToProtectError):
        audit(made({"r": 2, "c": 1}, [margin("r")]), unit())


@pytest.mark.parametrize(
    ("axes", "facts", "counts"),
    [
        ({"c": 3}, [], 1),
        ({"c": 3}, [total()], 2),
        ({"r": 3, "c": 3}, [margin("r"), margin("c")], 4),
        ({"a": 3, "b": 2, "c": 4}, [margin("a", "b"), margin("b", "c"), margin("a", "c")], 8),
    ],
)
def test_the_nearest_change_keeps_the_facts_and_moves_as_few_counts_as_can_be(axes, facts, counts):
    built = made(axes, facts)
    found = audit(built, unit())
    assert sum(abs(by) for _, by in found.nearest) == counts
    names = [built.domain.cell(i) for i in range(built.domain.cells)]
    for move in found.moves:
        change = np.zeros(built.domain.cells, dtype=np.int64)
        for cell, by in move:
            change[names.index(cell)] += by
        assert change.any()
        assert not (facts_of(built) @ change).any()


def test_cells_that_facts_determine_are_named():
    found = audit(made({"p": [2, 1]}, [margin(p="p0")]), unit())
    assert [found.structure.domain.cell(int(i)) for i in found.determined] == ["p=node1/leaf0"]
    assert found.single_cells == (("{p: p0}", "p=node1"),)
    assert found.units_of_cells.tolist() == [1, 1, 0]


def test_small_counts_that_a_fact_would_publish_are_named_for_the_curator():
    counts = np.array([1, 0, 7, 12])
    found = audit(made({"c": 4}, [margin(c={"a": ["c0", "c1"], "b": ["c2", "c3"]})]), unit(), counts)
    assert found.small_counts == (SmallCount("{c: {a, b}}", "c=a", 1),)
    assert "1 facts publish an exact count from 1 to 9; 1 of them a single one" in found.explain()


def test_a_table_can_give_away_cells_that_facts_do_not_determine():
    counts = np.array([0, 0, 5, 1])
    found = audit(made({"c": 4}, [margin(c={"a": ["c0", "c1"]}), total()], [nonnegative()]), unit(), counts)
    assert found.pinned.tolist() == [0, 1]
    assert not found.findings.changes.determined.any()
    assert "give away 2 more cells" in found.explain()


def test_over_a_domain_the_audit_says_nothing_of_counts_and_is_the_same_for_two_tables():
    built = made({"c": 3}, [total()], [nonnegative()])
    public = audit(built, unit())
    assert public.intervals is None
    assert public.small_counts == ()
    assert "curator" not in public.explain()
    assert set(public.to_json()) & {"intervals", "small_counts"} == set()
    for counts in ([1, 2, 3], [9, 0, 4]):
        private = audit(built, unit(), np.array(counts))
        assert private.guarantee == public.guarantee
        assert private.nearest == public.nearest


def test_json_is_one_document():
    counts = np.array([1, 2, 3])
    said = audit(made({"c": 3}, [total()], [nonnegative()]), unit(), counts).to_json()
    assert json.loads(json.dumps(said)) == said
    assert said["intervals"]["cells"][0] == {"cell": "c=c0", "least": 0, "most": 6}
    loose = audit(made({"c": 3}), unit(), counts).to_json()
    assert loose["intervals"]["cells"][0]["most"] is None


def test_too_many_crossing_cells_are_said_not_to_be_computed():
    counts = np.ones(1600, dtype=np.int64)
    built = made({"r": 40, "c": 40}, [margin("r"), margin("c")], [at_most("cells", 5)])
    found = audit(built, unit(), counts)
    assert found.intervals is None
    assert "not computed" in found.explain()


def test_a_repr_of_an_audit_shows_no_count():
    counts = np.array([4711, 0, 0])
    found = audit(made({"c": 3}, [total()]), unit(), counts)
    assert "4711" not in repr(found)
    assert "4711" not in repr(found.intervals)


def test_a_suppressed_request_discloses_nothing_and_its_facts_are_not_published():
    built = made({"c": 3}, [total()], [nonnegative()])
    done = silence(built, unit())
    assert done.explain().startswith("The method is suppress: no fact is published")
    said = done.to_json()
    assert (said["guarantee"]["epsilon"], said["determined"], said["gamma"]) == (0.0, [], None)
    assert "small_counts" not in said


def test_gong_and_mengs_gamma_stands_in_the_audit():
    done = audit(made({"c": 3}, [total()]), unit())
    assert "γ = -0.5, for k = 2 changed records" in done.explain()
    assert done.to_json()["gamma"] == pytest.approx(-0.5)
