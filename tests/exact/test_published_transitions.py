"""Transition probabilities of the published chains by enumeration: balance, stationarity, irreducibility."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from congenial.laws import DiscreteGaussian, DiscreteLaplace
from congenial.samplers.integer_table import IntegerTable
from congenial.samplers.published import (
    Jumps,
    Lattice,
    Limits,
    StudyHierarchy,
    StudyIndependence,
    StudySweep,
    Target,
)
from congenial.samplers.published.deviates import Deviates
from support.brute import SmallProblem, brute_force
from support.chains import drift, imbalance, is_irreducible, step_law, transition_rows

STEEP = DiscreteLaplace(4.0)
HALF = IntegerTable.from_weights(-1, [1, 2, 1])
RARE = IntegerTable.from_weights(-1, [1, 6, 1])
TARGETS = [Target("l1", 0.5), Target("l2", 0.8), Target("squared", 0.2)]


def keyed(noise):
    return tuple(int(z) for z in noise)


def sweep_rows(chain, reach):
    """A row for each point whose coordinates are within reach."""
    box = itertools.product(range(-reach, reach + 1), repeat=chain.lattice.dimension)
    points = {keyed(chain.lattice.point(np.array(v))): v for v in box}

    def step(source, point):
        return keyed(chain.step(source, chain.init(points[point]))[0].noise)

    rows, _ = transition_rows(points, step)
    return rows


def norm_law(points, target):
    """exp(-rate·‖z‖), not normalised, by NumPy's own norms."""
    order, square = (1, 1) if target.norm == "l1" else (2, 2 if target.norm == "squared" else 1)
    return {z: math.exp(-target.rate * float(np.linalg.norm(z, order)) ** square) for z in points}


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("table", [HALF, RARE], ids=["direct", "by gaps"])
@pytest.mark.parametrize("basis", ["smith", "margins"])
def test_a_sweep_is_in_detailed_balance_with_its_target_and_reaches_every_point(target, table, basis):
    margins = [[1, 1, 1, 0, 0, 0], [0, 0, 0, 1, 1, 1], [1, 0, 0, 1, 0, 0], [0, 1, 0, 0, 1, 0]]
    smith, analytic = Lattice.from_smith(margins), Lattice.from_margins((2, 3), [(0,), (1,)])
    lattice = smith if basis == "smith" else analytic
    chain = StudySweep(lattice, target, Jumps(table, 2))
    assert chain.jumps.by_gaps == (table is RARE)
    rows = sweep_rows(chain, 2)
    assert imbalance(rows, norm_law(rows, target)) < 1e-12
    assert is_irreducible(rows)
    assert all(math.isclose(math.fsum(row.values()), 1) for row in rows.values())


def test_the_check_of_balance_sees_a_target_whose_rate_is_two_percent_off():
    chain = StudySweep(Lattice.from_margins((2, 2), [(0,), (1,)]), TARGETS[0], Jumps(HALF, 1))
    rows = sweep_rows(chain, 3)
    assert imbalance(rows, norm_law(rows, Target("l1", 0.51))) > 1e-2


def test_the_check_of_irreducibility_sees_a_basis_that_spans_half_of_the_lattice():
    coarse = Lattice(2 * Lattice.from_margins((2, 2), [(0,), (1,)]).basis)
    rows = sweep_rows(StudySweep(coarse, TARGETS[0], Jumps(HALF, 1)), 2)
    between = {(1, -1, -1, 1): {(1, -1, -1, 1): 1.0}}
    assert is_irreducible(rows)
    assert not is_irreducible({**rows, **between})


def test_all_directions_are_proposed_before_any_is_accepted():
    chain = StudySweep(Lattice.from_margins((2, 3), [(0,), (1,)]), TARGETS[0], Jumps(HALF, 2))
    row, _ = step_law(lambda source: keyed(chain.step(source, chain.init())[0].noise))
    both = keyed(chain.lattice.point(np.array([1, 1])))
    # from zero, one proposal in sixteen, accepted or refused whole: e^{-ε‖z‖}
    assert row[both] == pytest.approx(math.exp(-0.5 * np.abs(both).sum()) / 16, rel=1e-12)


@pytest.mark.parametrize("weights", [[1, 6, 1], [1, 3, 12, 3, 1]])
def test_sweeps_by_gaps_have_the_law_of_independent_jumps(weights):
    table = IntegerTable.from_weights(-(len(weights) // 2), weights)
    jumps = Jumps(table, 3)
    assert jumps.by_gaps
    law, _ = step_law(lambda source: keyed(jumps.draw(source)))
    reach = range(-(len(weights) // 2), len(weights) // 2 + 1)
    assert set(law) == set(itertools.product(reach, repeat=3))
    for e, p in law.items():
        assert p == pytest.approx(math.prod(jumps.eta(v) for v in e), rel=1e-13)


def conditional_law(chain, counts, facts, forms=None):
    """The law given facts and limits, by brute force."""
    laws = [([int(i == j) for j in range(len(counts))], law) for i, law in enumerate(chain.laws.laws)]
    window = [(-int(c), 3 * int(np.sum(counts))) for c in counts]
    law = brute_force(SmallProblem(counts, laws, facts=facts, window=window))
    if forms:
        law = {z: p for z, p in law.items() if (np.array(forms[0]) @ z >= forms[1]).all()}
    whole = math.fsum(law.values())
    return {z: p / whole for z, p in law.items()}


def independence_rows(chain, law, cut):
    """(a row for every table that keeps facts and limits, the largest probability cut from one)."""

    def step(source, z):
        return keyed(chain.step(source, chain.init(z))[0].noise)

    return transition_rows(law, step, cut)


TOTAL = [[1, 1, 1]]
CASES = {
    "2×2 margins": (
        [2, 1, 1, 3],
        [[1, 1, 0, 0], [0, 0, 1, 1], [1, 0, 1, 0]],
        DiscreteLaplace(1.5),
        None,
        None,
    ),
    "total, an index set": ([1, 2, 1], TOTAL, STEEP, (0, 2), None),
    "Gaussian proposals": ([1, 2, 1], TOTAL, DiscreteGaussian(sigma=0.6), None, None),
    "forms": ([1, 2, 1], TOTAL, STEEP, None, ([[1, -1, 0], [0, 2, 1]], [-2, -3])),
    "no unimodular solution": ([2, 1, 2], [[2, 3, 1]], STEEP, (1, 2), None),
}


@pytest.mark.parametrize("case", CASES)
def test_metropolized_independence_keeps_the_conditional_law_and_reaches_every_table(case):
    counts, facts, proposal, index_set, forms = CASES[case]
    laws = [DiscreteLaplace(0.5 + 0.1 * i) for i in range(len(counts))]
    limits = Limits.nonnegative(counts)
    if forms:
        limits = Limits.of(len(counts), lower=-np.array(counts), forms=forms[0], least=forms[1])
    chain = StudyIndependence.of(facts, laws, proposal, limits, index_set)
    law = conditional_law(chain, counts, facts, forms)
    rows, lost = independence_rows(chain, law, cut=1e-14)
    assert len(law) > 2
    assert lost < 1e-10
    assert imbalance(rows, law) < 1e-6
    assert drift(rows, law) < 1e-10
    assert is_irreducible(rows)


def test_the_check_of_stationarity_sees_one_law_that_is_five_percent_off():
    counts = [1, 2, 1]
    chain = StudyIndependence.of(TOTAL, DiscreteLaplace(0.5), STEEP, Limits.nonnegative(counts))
    wrong = [DiscreteLaplace(0.5), DiscreteLaplace(0.525), DiscreteLaplace(0.5)]
    other = StudyIndependence.of(TOTAL, wrong, STEEP, Limits.nonnegative(counts))
    rows, _ = independence_rows(chain, conditional_law(chain, counts, TOTAL), cut=1e-14)
    assert drift(rows, conditional_law(chain, counts, TOTAL)) < 1e-10
    assert drift(rows, conditional_law(other, counts, TOTAL)) > 1e-6


def hierarchy_law(chain, reach):
    """P(z) ∝ Π_v p_v(z_v) by brute force over the leaves: noise of all nodes -> probability."""
    law = {}
    for leaves in itertools.product(range(-reach, reach + 1), repeat=len(chain.leaves)):
        z = np.zeros(len(chain.parents))
        z[chain.leaves] = leaves
        for v in range(len(z) - 1, 0, -1):
            z[chain.parents[v]] += z[v]
        if z[0] >= -1:
            law[keyed(z)] = math.prod(p.pmf(int(value)) for p, value in zip(chain.laws.laws, z, strict=True))
    whole = math.fsum(law.values())
    return {z: float(p / whole) for z, p in law.items()}


@pytest.mark.parametrize("parents", [[-1, 0, 0], [-1, 0, 0, 1, 1]])
def test_the_chain_on_a_hierarchy_keeps_its_law_within_limits_and_reaches_every_point(parents):
    nodes = len(parents)
    laws = [
        DiscreteLaplace(0.3 + 0.2 * v) if v % 2 else DiscreteGaussian(sigma=1.0 + v) for v in range(nodes)
    ]
    leaf = [float(v not in parents) for v in range(nodes)]
    limits = Limits.of(
        nodes,
        lower=[-1 if is_leaf else -math.inf for is_leaf in leaf],
        upper=[1 if is_leaf else math.inf for is_leaf in leaf],
        forms=[[1] + [0] * (nodes - 1)],
        least=[-1],
    )
    chain = StudyHierarchy.of(parents, laws, STEEP, limits)
    law = hierarchy_law(chain, 1)

    def step(source, z):
        leaves = np.array(z)[chain.leaves]
        return keyed(chain.step(source, chain.init(leaves))[0].noise)

    rows, lost = transition_rows(law, step, cut=1e-13)
    assert lost < 1e-8
    assert drift(rows, law) < 1e-8
    assert imbalance(rows, law) < 1e-4
    assert is_irreducible(rows)


def test_log_weights_are_those_of_the_laws():
    laws = (DiscreteLaplace(0.7), DiscreteGaussian(sigma=1.3))
    deviates = Deviates(laws)
    known = {}
    for z in itertools.product(range(-3, 4), repeat=2):
        known[z] = math.log(laws[0].pmf(z[0]) * laws[1].pmf(z[1])) - math.log(laws[0].pmf(0) * laws[1].pmf(0))
    for z, expected in known.items():
        assert deviates.log_weight(np.array(z, dtype=float)) == pytest.approx(expected, rel=1e-12, abs=1e-14)
