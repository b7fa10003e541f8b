"""The published chains: kernels repeat their twins, wrong arguments are answered, no release is in reach."""

from __future__ import annotations

import math

import numpy as np
import pytest

from congenial.errors import ArgumentError
from congenial.laws import DiscreteGaussian, DiscreteLaplace
from congenial.randomness import SeededSource, SystemSource
from congenial.samplers.integer_table import IntegerTable
from congenial.samplers.published import (
    Jumps,
    Lattice,
    Limits,
    Pair,
    StudyGaussian,
    StudyHierarchy,
    StudyIndependence,
    StudyLaplace,
    StudySweep,
    Target,
    coupled_step,
    meeting_time,
    meetings,
    until_met,
)
from congenial.samplers.published.index_set import Forced, proposal_index_set
from congenial.tables.published import sex_by_age
from support.words import Listed, some_words

MARGINS = [(0,), (1,)]
TREE = [-1, 0, 0, 1, 1, 1, 2, 2]


def sweep(norm="l1", scale=0.6, shape=(3, 3)):
    return StudySweep.of(Lattice.from_margins(shape, MARGINS), Target(norm, 0.25), DiscreteLaplace(scale))


def independence(kind="whole"):
    if kind == "whole":
        laws = [DiscreteLaplace(0.5), DiscreteGaussian(sigma=2.0), DiscreteLaplace(1.0), DiscreteLaplace(0.4)]
        return StudyIndependence.of(
            [[2, 1, 1, 1]], laws, DiscreteLaplace(0.7), Limits.of(4, -4, forms=[[1, 1, 0, 0]], least=[-3])
        )
    law = StudyLaplace(0.5) if kind == "Laplace" else StudyGaussian(2.0)
    return StudyIndependence.of([[1, 1, 1]], law, law, Limits.of(3, lower=-3.0))


def hierarchy(kind="whole"):
    if kind == "whole":
        return StudyHierarchy.of(TREE, DiscreteLaplace(0.5), DiscreteLaplace(1.0), Limits.of(8, lower=-6))
    step = StudyGaussian(1.0) if kind == "Gaussian" else StudyLaplace(1.0)
    return StudyHierarchy.of(TREE, StudyLaplace(0.5), step, Limits.of(8, lower=-6))


CHAINS = {
    "sweeps, ℓ1, direct": lambda: sweep("l1", 0.6),
    "sweeps, ℓ2, direct": lambda: sweep("l2", 0.6),
    "sweeps, squared, direct": lambda: sweep("squared", 0.6),
    "sweeps, ℓ1, by gaps": lambda: sweep("l1", 2.0),
    "sweeps, ℓ2, by gaps": lambda: sweep("l2", 2.0),
    "independence, whole": independence,
    "independence, Laplace": lambda: independence("Laplace"),
    "independence, Gaussian": lambda: independence("Gaussian"),
    "hierarchy, whole": hierarchy,
    "hierarchy, Laplace": lambda: hierarchy("Laplace"),
    "hierarchy, Gaussian": lambda: hierarchy("Gaussian"),
}


@pytest.mark.parametrize("name", CHAINS)
def test_the_kernel_takes_the_steps_of_the_twin_on_the_same_words(name):
    chain = CHAINS[name]()
    one, other = SeededSource(7), SeededSource(7)
    state, kept, accepted = chain.init(), [], 0
    for t in range(600):
        state, info = chain.step(one, state)
        accepted += info.is_accepted
        if t % 3 == 2:
            kept.append(state.noise)
    after, trace = chain.walk(other, chain.init(), 600, every=3)
    assert 0 < accepted < 600
    assert trace.acceptance == accepted / 600
    if name.startswith("independence, G") or "Laplace" in name or "Gaussian" in name:
        # logarithms and cosines may differ in their last place between Python and the kernel
        assert np.allclose(kept, trace.noise, rtol=1e-12, atol=1e-12)
    else:
        assert (np.array(kept) == trace.noise).all()
        assert all(np.array_equal(a, b) for a, b in zip(state, after, strict=True))
    assert one.word() == other.word()


@pytest.mark.parametrize("name", CHAINS)
def test_a_step_that_runs_out_of_words_is_begun_again_on_the_same_words(name):
    chain = CHAINS[name]()
    words = some_words(6000, seed=5)
    whole, _ = chain.walk(Listed(words), chain.init(), 60)
    for stops in (range(1, 6000, 7), range(1, 6000, 64)):
        listed = Listed(words, stops)
        cut, _ = chain.walk(listed, chain.init(), 60)
        assert all(np.array_equal(a, b) for a, b in zip(whole, cut, strict=True))


@pytest.mark.parametrize("name", CHAINS)
def test_a_walk_leaves_the_state_that_it_was_given_alone(name):
    chain = CHAINS[name]()
    state = chain.init()
    before = [np.copy(part) for part in state]
    chain.walk(SeededSource(1), state, 200)
    assert all(np.array_equal(a, b) for a, b in zip(state, before, strict=True))


@pytest.mark.parametrize("norm", ["l1", "l2"])
@pytest.mark.parametrize("scale", [0.6, 2.0])
def test_coupled_chains_take_the_steps_of_the_twin_until_they_meet(norm, scale):
    chain = sweep(norm, scale, shape=(2, 3))
    for seed in range(4):
        one, other = SeededSource(seed), SeededSource(seed)
        pair = Pair(chain.scatter(one), chain.scatter(one))
        steps = 0
        while not pair.have_met:
            pair, _ = coupled_step(chain, one, pair)
            steps += 1
        met, taken = until_met(chain, other, Pair(chain.scatter(other), chain.scatter(other)), 10**5)
        assert met.have_met
        assert taken == steps
        assert (met.first.noise == pair.first.noise).all()
        assert one.word() == other.word()


def test_a_meeting_time_counts_the_lag_and_pairs_that_do_not_meet_are_said():
    chain = sweep(shape=(4, 4))
    time, met = meeting_time(chain, SeededSource(2), lag=50, most=10**6)
    assert met
    assert time >= 50
    found = meetings(chain, SeededSource(2), lag=5, pairs=4, most=6)
    assert found.unmet == 4
    assert (found.times == 6).all()


def test_the_system_source_is_refused_by_every_chain():
    for chain in (sweep(), independence(), hierarchy()):
        with pytest.raises(ArgumentError, match="system's source"):
            chain.walk(SystemSource(), chain.init(), 1)
        with pytest.raises(ArgumentError, match="system's source"):
            chain.step(SystemSource(), chain.init())
    with pytest.raises(ArgumentError, match="system's source"):
        meeting_time(sweep(), SystemSource(), 1, 10)


def test_every_chain_is_uncertified():
    for chain in (StudySweep, StudyIndependence, StudyHierarchy):
        assert chain.certificate.kind == "uncertified"


def test_facts_and_limits_hold_after_every_step():
    table = sex_by_age().counts_confidential
    facts = np.zeros((3, 46), dtype=np.int64)
    facts[0], facts[1, :23], facts[2] = 1, 1, np.tile(np.arange(23) >= 4, 2)
    chain = StudyIndependence.of(facts, DiscreteLaplace(0.5), DiscreteLaplace(0.6), Limits.nonnegative(table))
    _, trace = chain.walk(SeededSource(1), chain.init(), 20_000, every=100)
    assert not (trace.noise @ facts.T).any()
    assert (table + trace.noise >= 0).all()
    assert len(np.unique(trace.noise, axis=0)) > 20


def test_nodes_of_a_hierarchy_are_the_sums_of_their_children():
    _, trace = hierarchy().walk(SeededSource(1), hierarchy().init(), 500, every=5)
    assert (trace.noise[:, 0] == trace.noise[:, 1] + trace.noise[:, 2]).all()
    assert (trace.noise[:, 1] == trace.noise[:, 3:6].sum(axis=1)).all()
    assert (trace.noise >= -6).all()
    assert len(np.unique(trace.noise, axis=0)) > 10


def test_an_index_set_leaves_cells_that_the_facts_determine():
    facts = np.array([[1, 1, 1, 1], [2, 2, 2, 2], [1, 1, 0, 0]])
    chosen = proposal_index_set(facts)
    assert len(chosen) == 2
    forced = Forced.of(facts, chosen)
    z = np.zeros(4)
    z[list(chosen)] = [3, -5]
    for cell, value in forced.solved(z, whole=True):
        z[cell] = value
    assert not (facts @ z).any()


@pytest.mark.parametrize(
    ("index_set", "message"),
    [
        ((0, 1), "do not determine"),
        ((0,), "has 1 cells; the facts leave 2 free"),
        ((0, 0), "different cells"),
    ],
)
def test_an_index_set_that_does_not_serve_is_refused(index_set, message):
    with pytest.raises(ArgumentError, match=message):
        StudyIndependence.of(
            [[1, 1, 1, 1], [1, 1, 0, 0]], DiscreteLaplace(1), DiscreteLaplace(1), index_set=index_set
        )


def test_beginnings_that_break_a_fact_or_a_limit_are_refused():
    chain = StudyIndependence.of([[1, 1]], DiscreteLaplace(1.0), DiscreteLaplace(1.0), Limits.of(2, lower=-1))
    for noise in ([1, 0], [2, -2]):
        with pytest.raises(ArgumentError, match="breaks a fact or a limit"):
            chain.init(noise)
    with pytest.raises(ArgumentError, match="breaks a limit"):
        hierarchy().init([-7, 0, 0, 0, 0])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Target("l3", 1.0), "l1, l2 or squared"),
        (lambda: Target("l1", 0.0), "positive and finite"),
        (lambda: Jumps.double_geometric(1.0, 2), "0 < a < 1"),
        (lambda: Jumps(IntegerTable.from_weights(-1, [1, 2, 2]), 2), "symmetric"),
        (lambda: Jumps(IntegerTable.from_weights(0, [1]), 2), "leave zero"),
        (
            lambda: StudySweep(
                Lattice(np.eye(2, dtype=np.int64)), Target("l1", 1), Jumps.double_geometric(0.5, 3)
            ),
            "3",
        ),
        (lambda: StudyLaplace(-1.0), "positive and finite"),
        (lambda: StudyGaussian(math.inf), "positive and finite"),
        (lambda: Limits.of(2, forms=[[1, 1]]), "both, or neither"),
        (lambda: Limits.of(2, forms=[[1, 1, 1]], least=[0]), "3 columns for 2"),
        (lambda: Limits.of(2, lower=[0, math.nan]), "NaN"),
        (lambda: StudyHierarchy.of([0, -1], StudyLaplace(1), StudyLaplace(1)), "before its parent"),
        (lambda: StudyHierarchy.of([-1, 0], StudyLaplace(1), DiscreteLaplace(1)), "whole numbers"),
        (lambda: StudyIndependence.of([[1, 1]], StudyLaplace(1), DiscreteLaplace(1)), "whole numbers"),
        (lambda: StudyIndependence.of([[1, 1]], [StudyLaplace(1)], StudyLaplace(1)), "1 laws for 2"),
        (
            lambda: StudyIndependence.of([[1, 1]], [StudyLaplace(1), DiscreteLaplace(1)], StudyLaplace(1)),
            "mixed",
        ),
        (lambda: StudyIndependence.of([[1, 1]], StudyLaplace(1), StudyLaplace(1), Limits.of(3)), "3 cells"),
        (lambda: meeting_time(sweep(), SeededSource(1), 0, 10), "lag is 0"),
        (lambda: meetings(sweep(), SeededSource(1), 5, 2).steps_for(0.0), "no number of steps"),
    ],
)
def test_what_makes_no_sense_is_answered(make, message):
    with pytest.raises(ArgumentError, match=message):
        make()


def test_no_repr_shows_a_count():
    table = np.array([987654, 123456])
    limits = Limits.nonnegative(table)
    chain = StudyIndependence.of([[1, 1]], DiscreteLaplace(1.0), DiscreteLaplace(1.0), limits)
    for text in (repr(limits), repr(chain)):
        assert "987654" not in text
        assert "123456" not in text


def test_every_name_says_that_it_is_for_study():
    for chain in (StudySweep, StudyIndependence, StudyHierarchy, StudyLaplace, StudyGaussian):
        assert chain.__name__.startswith("Study")
        module = __import__(chain.__module__, fromlist=["__doc__"])
        assert "FOR STUDY, NEVER FOR A RELEASE" in module.__doc__
