"""Two coupled chains, by enumeration: each moves by its own law, and they meet as often as can be."""

from __future__ import annotations

import math

import numpy as np
import pytest

from congenial.randomness import SeededSource
from congenial.samplers.integer_table import IntegerTable
from congenial.samplers.published import Jumps, Lattice, Meetings, Pair, StudySweep, Target, coupled_step
from congenial.samplers.published.coupling import followed, own_way
from congenial.samplers.published.meetings import meetings
from support.chains import step_law

BELL = IntegerTable.from_weights(-2, [1, 4, 6, 4, 1])
RARE = IntegerTable.from_weights(-1, [1, 6, 1])
LINE = Lattice.from_margins((2, 2), [(0,), (1,)])
PLANE = Lattice.from_margins((2, 3), [(0,), (1,)])


@pytest.mark.parametrize("apart", [0, 1, -2, 3, 5])
def test_the_second_chain_follows_as_often_as_any_coupling_can_and_by_its_own_law(apart):
    jumps = Jumps(BELL, 1)

    def first_try(source):
        e = jumps.one(source)
        follows = apart == 0 or source.uniform() <= jumps.eta(apart + e) / jumps.eta(e)
        return apart + e if follows else None

    shared, _ = step_law(first_try)
    alone, _ = step_law(lambda source: own_way(jumps, source, apart))
    together = 1 - shared.get(None, 0.0)
    most = math.fsum(min(jumps.eta(e), jumps.eta(e + apart)) for e in range(-2, 3))
    assert together == pytest.approx(most, rel=1e-12)
    # tries of its own are repeated until one passes: their law is that of one, given that it does
    for f in range(-2, 3):
        passed = alone.get(f, 0.0) / (1 - alone.get(None, 0.0)) if apart else 0.0
        assert shared.get(f, 0.0) + (1 - together) * passed == pytest.approx(jumps.eta(f), rel=1e-12)


@pytest.mark.parametrize("apart", [0, 1, -1, 2])
def test_following_makes_these_tries(apart):
    jumps = Jumps(RARE, 1)
    law, lost = step_law(lambda s: followed(jumps, s, jumps.one(s), apart), cut=1e-8)
    assert lost < 1e-5
    for f in range(-1, 2):
        assert law[f] == pytest.approx(jumps.eta(f), abs=1e-5)


@pytest.mark.parametrize(
    ("lattice", "table", "v", "w"),
    [
        (LINE, RARE, [0], [1]),
        (LINE, RARE, [2], [-1]),
        (LINE, BELL, [2], [-1]),
        (LINE, RARE, [1], [1]),
        (PLANE, RARE, [0, 1], [0, 0]),
        (PLANE, RARE, [1, -1], [0, 0]),
    ],
)
def test_each_of_two_coupled_chains_moves_by_the_law_of_a_chain_alone(lattice, table, v, w):
    chain = StudySweep(lattice, Target("l1", 0.5), Jumps(table, lattice.dimension))

    def pair(source):
        after, _ = coupled_step(chain, source, Pair(chain.init(v), chain.init(w)))
        return tuple(tuple(state.noise.tolist()) for state in after)

    law, lost = step_law(pair, cut=1e-6)
    assert lost < 0.01
    for which, start in ((0, v), (1, w)):
        row, _ = step_law(
            lambda source, at=start: tuple(chain.step(source, chain.init(at))[0].noise.tolist())
        )
        for z, p in row.items():
            marginal = math.fsum(q for zs, q in law.items() if zs[which] == z)
            assert -1e-12 <= p - marginal <= lost + 1e-12


def test_chains_that_have_met_stay_together():
    chain = StudySweep(PLANE, Target("l2", 0.5), Jumps(RARE, 2))
    pair, _ = coupled_step(chain, SeededSource(3), Pair(chain.init([1, 2]), chain.init([1, 2])))
    assert pair.have_met
    law, _ = step_law(lambda s: coupled_step(chain, s, pair)[0].have_met)
    assert law == {True: pytest.approx(1.0)}


def test_the_bound_is_the_mean_number_of_lags_that_pairs_are_late():
    found = Meetings(lag=10, times=np.array([10, 15, 31]))  # late by 0, 5 and 21 steps
    assert found.bound(0) == pytest.approx((0 + 1 + 3) / 3)
    assert found.bound(4) == pytest.approx((0 + 1 + 2) / 3)
    assert found.bound(5) == pytest.approx(2 / 3)
    assert found.bound(21) == 0
    assert found.standard_error(5) == pytest.approx(np.std([0, 0, 2], ddof=1) / math.sqrt(3))
    assert [found.steps_for(tv) for tv in (2.0, 0.7, 0.5, 0.3)] == [0, 5, 11, 21]


def test_the_bound_stands_above_the_true_total_variation_and_falls_to_nothing():
    # on the line the whole law after l steps is known: powers of the transition matrix on a window
    chain = StudySweep(LINE, Target("l1", 0.25), Jumps(BELL, 1))
    reach = 60
    points = range(-reach, reach + 1)
    matrix = np.zeros((2 * reach + 1, 2 * reach + 1))
    for v in points:
        for e in range(-2, 3):
            odds = min(1.0, math.exp(-(abs(v + e) - abs(v)))) if abs(v + e) <= reach else 0.0
            matrix[v + reach, min(max(v + e, -reach), reach) + reach] += chain.jumps.eta(e) * odds
        matrix[v + reach, v + reach] += 1 - matrix[v + reach].sum()
    target = np.exp(-np.abs(np.arange(-reach, reach + 1)))
    target /= target.sum()
    law = np.zeros(2 * reach + 1)
    law[reach - 2 : reach + 3] = chain.jumps.mass  # one sweep of jumps from zero
    found = meetings(chain, SeededSource(1), lag=12, pairs=2000)
    bounds = []
    for steps in range(40):
        true = 0.5 * float(np.abs(law - target).sum())
        assert true <= found.bound(steps) + 6 * found.standard_error(steps)
        bounds.append(found.bound(steps))
        law = law @ matrix
    assert bounds == sorted(bounds, reverse=True)
    assert bounds[0] < 1
    assert bounds[-1] < 0.01
