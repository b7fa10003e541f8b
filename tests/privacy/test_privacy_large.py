"""What is too large to list: one way of finding the dearest change against another."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from congenial.laws import DiscreteGaussian, DiscreteLaplace
from congenial.privacy.guarantee import find, guarantee
from congenial.privacy.margins import complex_of
from congenial.privacy.nested import Step, longest
from congenial.privacy.pairs import Costed, farthest
from congenial.privacy.partitions import chained, pools
from congenial.privacy.programs import Types, Weighed, dearest
from congenial.privacy.reading import Family, read
from congenial.privacy.swaps import dearest_swap
from congenial.requests.builders import margin, measure, total, zeros
from support.structures import structure, unit

LAPLACE = measure("cells", DiscreteLaplace(0.5))
THREE = [margin("a", "b"), margin("b", "c"), margin("a", "c")]


@st.composite
def trees(draw):
    """Families that nest over some dozens of cells, some leaving cells out, with rates and facts."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    cells = draw(st.integers(2, 60))
    label = np.arange(cells)
    steps, everything = [], cells
    for depth in range(draw(st.integers(1, 5))):
        count = int(label.max()) + 1
        parent = (
            rng.integers(0, max(1, count // draw(st.integers(1, 3))), count) if depth else np.arange(count)
        )
        label = parent[label]
        _, label = np.unique(label, return_inverse=True)
        everything = int(label.max()) + 1
        groups = label.astype(np.int32)
        if draw(st.booleans()):
            groups = np.where(rng.random(everything)[label] < 0.3, -1, groups).astype(np.int32)
        rate = float(rng.integers(0, 4)) / 4
        steps.append(Step(Family("", everything, groups), rate, draw(st.sampled_from([False, False, True]))))
    return steps, cells


def by_pairs(steps, cells):
    """The dearest unit moves, every pair of cells and every cell by itself."""
    facts = [step.family for step in steps if step.is_fact]
    pool = pools(facts, cells) if facts else np.full(cells, -1)
    columns = np.stack([step.family.groups for step in steps])
    rates = np.array([step.rate for step in steps])[:, None]
    joined, alone = -np.inf, -np.inf
    for i in range(cells):
        mine = columns[:, i : i + 1]
        cost = (rates * ((columns != mine) * ((columns >= 0) * 1.0 + (mine >= 0)))).sum(axis=0)
        there = (pool == pool[i]) & (np.arange(cells) != i)
        joined = max(joined, float(cost[there].max(initial=-np.inf)))
        if pool[i] < 0:
            alone = max(alone, float((rates[:, 0] * (mine[:, 0] >= 0)).sum()))
    return joined, alone


@settings(max_examples=200, deadline=None)
@given(trees())
def test_the_pass_over_a_tree_finds_what_comparing_every_pair_finds(drawn):
    steps, cells = drawn
    order = chained([step.family for step in steps])
    if order is None:  # a family that leaves cells out may be coarser than its mean size says
        return
    arranged = [next(step for step in steps if step.family is family) for family in order]
    found = longest(arranged, cells)
    joined, alone = by_pairs(arranged, cells)
    assert max(found.joined, found.first + found.second) == pytest.approx(joined)
    assert found.first == pytest.approx(alone)


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 2**32), st.integers(2, 12), st.integers(1, 4))
def test_the_farthest_pair_of_crossing_families_is_found(seed, cells, families):
    rng = np.random.default_rng(seed)
    costed = [
        Costed(Family("", 2, rng.integers(-1, 2, cells).astype(np.int32)), float(rng.integers(1, 5)))
        for _ in range(families)
    ]
    pool = rng.integers(-1, 3, cells)
    found = farthest(costed, pool)
    best = -np.inf
    for i in range(cells):
        for j in range(i):
            if pool[i] == pool[j] >= 0:
                ends = [(c.family.groups[i], c.family.groups[j], c.rate) for c in costed]
                best = max(best, sum(r * (int(a >= 0) + int(b >= 0)) for a, b, r in ends if a != b))
    assert found.is_exact
    assert found.cost == pytest.approx(best)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**32), st.integers(2, 4), st.integers(2, 4), st.sampled_from([1, 2]))
def test_the_dearest_swap_is_that_of_the_integer_program(seed, rows, columns, power):
    from scipy.sparse import csr_array

    from congenial.privacy.reading import Factor

    rng = np.random.default_rng(seed)
    row, column = (axis.ravel() for axis in np.indices((rows, columns)))
    kept = rng.random(rows * columns) < 0.9
    row, column = row[kept], column[kept]
    cells = len(row)
    if cells < 2:
        return
    group = rng.integers(-1, 3, cells)
    factors = [
        Factor(Family("", cells, np.arange(cells, dtype=np.int32)), "epsilon", 0.5),
        Factor(Family("", 3, group.astype(np.int32)), "epsilon", 0.25),
    ]
    facts = np.concatenate([row == np.arange(rows)[:, None], column == np.arange(columns)[:, None]])
    none = csr_array((0, cells))
    types = Types(csr_array(facts * 1.0), np.ones(cells, np.int64), none, np.empty(0, np.int64), True)
    shared = csr_array((group == np.arange(3)[:, None]) * 1.0)
    weighed = Weighed(np.full(cells, 0.5), shared, np.full(3, 0.25))
    found = dearest(types, weighed, 2, power)
    assert found.is_exact
    assert dearest_swap(row, column, factors, power) == pytest.approx(found.value)


@pytest.mark.parametrize("law", [DiscreteLaplace(0.5), DiscreteGaussian(rho=0.5)])
def test_three_way_tables_of_thousands_of_cells_move_four_at_a_time(law):
    hole = zeros([{"a": "a0", "b": "b0", "c": "c0"}])
    axes = {"a": 12, "b": 11, "c": 13}
    for bounds in ([], [hole]):
        stated = guarantee(structure(axes, [measure("cells", law)], THREE, bounds), unit())
        assert (stated.units, stated.is_exact) == (4, True)
        assert (stated.loss or stated.rho) == pytest.approx(4.0)


def test_a_hole_may_leave_a_cell_without_a_product_move():
    # a 2×2×3 table: without one corner, what remains of its layers still moves, its own layer does not
    hole = zeros([{"a": "a0", "b": "b0", "c": "c0"}])
    found = find(structure({"a": 2, "b": 2, "c": 3}, [LAPLACE], THREE, [hole]), unit())
    cells = found.reading.cells
    layer = cells % 3
    assert (found.changes.determined == (layer == 0)).all()
    assert (found.changes.lattice.least[layer > 0] == 4).all()


def test_margins_are_recognized_by_their_groups_and_nothing_else_is():
    made = read(structure({"a": 2, "b": 3, "c": 4}, [LAPLACE], [margin("a", "c"), margin("b"), total()]))
    found = complex_of(made.facts, (2, 3, 4), made.cells)
    assert found.missing == ((0, 1), (1, 2))
    grouped = read(structure({"a": 2, "b": 3}, [LAPLACE], [margin(b={"x": ["b0", "b1"]})]))
    assert complex_of(grouped.facts, (2, 3), grouped.cells) is None


def test_wide_two_way_tables_are_exact_for_one_and_for_three_rows():
    axes, facts = {"r": 40, "c": 45}, [margin("r"), margin("c")]
    made = structure(axes, [LAPLACE], facts)
    for rows, loss in ((1, 2.0), (3, 3.0), (4, 4.0)):
        stated = guarantee(made, unit(rows))
        assert stated.is_exact
        assert stated.loss == pytest.approx(loss)


def test_groups_measured_across_both_margins_are_priced_swap_by_swap():
    block = {"r": {"top": [f"r{i}" for i in range(8)]}, "c": {"left": ["c0", "c1"]}}
    made = structure(
        {"r": 16, "c": 17}, [LAPLACE, measure(block, DiscreteLaplace(0.25))], [margin("r"), margin("c")]
    )
    stated = guarantee(made, unit())
    assert stated.is_exact
    assert stated.loss == pytest.approx(4 * 0.5 + 0.25)


def test_units_of_a_million_rows_are_stated_at_once():
    axes = {"r": 4, "c": 4, "d": 2}
    facts = [margin("r", "d"), margin("c", "d"), margin("r", "c")]
    for law in (DiscreteLaplace(1e-6), DiscreteGaussian(rho=1e-12)):
        stated = guarantee(structure(axes, [measure("cells", law)], facts), unit(10**6))
        assert stated.proven
        assert stated.units == 1
