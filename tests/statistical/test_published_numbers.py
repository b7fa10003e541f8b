"""What the papers report of their chains, and laws of the real-valued twins."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from congenial.laws import DiscreteLaplace
from congenial.randomness import SeededSource
from congenial.samplers.published import (
    Jumps,
    Lattice,
    Limits,
    StudyGaussian,
    StudyHierarchy,
    StudyIndependence,
    StudyLaplace,
    StudySweep,
    Target,
    chain_time_to,
    effective_sample_size,
    meetings,
    potential_scale_reduction,
)
from congenial.tables.published import sex_by_age
from support.statistics import check_law, clipped


@pytest.mark.parametrize("law", [StudyLaplace(0.8), StudyGaussian(1.6)])
def test_without_facts_and_with_its_own_law_proposed_a_chain_draws_that_law_and_accepts_all(law):
    def chances(scale):
        known = stats.laplace(scale=scale / 0.8) if law.power == 1 else stats.norm(scale=1.6 * scale)
        return np.diff(known.cdf(np.concatenate([[-np.inf], np.arange(-5, 6) / 2, [np.inf]])))

    chain = StudyIndependence.of(np.zeros((0, 1), dtype=np.int64), law, law)
    assert chain.laws.laws[0].variance == pytest.approx(2 / 0.64 if law.power == 1 else 2.56)

    def draw(n):
        _, trace = chain.walk(SeededSource(1), chain.init(), n, every=1)
        assert trace.acceptance == 1
        return clipped(np.floor(2 * trace.noise[:, 0]).astype(np.int64), -6, 5)

    check_law(draw, chances(1.0), {"scale 5 % off": chances(1.05), "a Gaussian for a Laplace": chances(1.3)})


def variances(draws):
    """(variance, its standard error by effective draws of the squares), pooled over equal columns."""
    squares = (draws**2).mean(axis=1)
    return float(squares.mean()), float(squares.std() / math.sqrt(effective_sample_size(squares)))


@pytest.mark.long
def test_three_laplace_numbers_given_their_sum_have_five_sixths_of_the_squared_scale():
    # Liu et al., section 4: 5/6 λ² where projection leaves 4/3 λ²
    one = StudyIndependence.of([[1, 1, 1]], StudyLaplace(1.0), StudyLaplace(1.0))
    _, trace = one.walk(SeededSource(1), one.init(), 2_000_000, every=10)
    found, error = variances(trace.noise)
    assert error < 0.01
    assert abs(found - 5 / 6) < 6 * error


@pytest.mark.long
def test_a_hierarchy_of_gaussian_noise_has_the_covariance_of_its_precision():
    # leaves with variance σ², a root with τ²: precision I/σ² + 11'/τ²
    chain = StudyHierarchy.of(
        [-1, 0, 0, 0], [StudyGaussian(0.7), *[StudyGaussian(1.5)] * 3], StudyGaussian(0.8)
    )
    _, trace = chain.walk(SeededSource(1), chain.init(), 2_000_000, every=10)
    covariance = np.linalg.inv(np.eye(3) / 1.5**2 + np.ones((3, 3)) / 0.7**2)
    root, error = variances(trace.noise[:, :1])
    assert abs(root - covariance.sum()) < 6 * error < 0.03
    leaf, error = variances(trace.noise[:, 1:])
    assert abs(leaf - covariance[0, 0]) < 6 * error < 0.1


def gong_and_meng(scale):
    """Their Figure 2: Table 1's counts, three facts, non-negative; cells 2 … 22 and 24 … 45 proposed."""
    table = sex_by_age().counts_confidential
    facts = np.zeros((3, 46), dtype=np.int64)
    facts[0], facts[1, :23], facts[2] = 1, 1, np.tile(np.arange(23) >= 4, 2)
    index_set = [*range(1, 22), *range(23, 45)]
    return StudyIndependence.of(
        facts, DiscreteLaplace(0.5), DiscreteLaplace(scale), Limits.nonnegative(table), index_set
    )


@pytest.mark.long
def test_gong_and_mengs_chain_accepts_about_one_and_a_half_percent():
    chain = gong_and_meng(0.6)
    _, trace = chain.walk(SeededSource(1), chain.init(), 4_000_000)
    # 1.68 % in the paper, from far fewer draws; 1.5 % in the design
    assert 0.0145 < trace.acceptance < 0.0168
    for other in (0.3, 1.0):
        chain = gong_and_meng(other)
        _, trace = chain.walk(SeededSource(1), chain.init(), 400_000)
        assert trace.acceptance < 0.008


@pytest.mark.long
def test_their_own_coupling_asks_for_some_six_thousand_steps_on_the_4_by_4_table():
    # a = e^-1 as in the paper, ε = .25; its Figure 1 comes down at about 10⁴
    lattice = Lattice.from_margins((4, 4), [(0,), (1,)])
    chain = StudySweep(lattice, Target("l1", 0.25), Jumps.double_geometric(math.exp(-1), 9))
    found = meetings(chain, SeededSource(1), lag=5_000, pairs=2_000)
    assert 5_500 < found.steps_for(0.01) < 8_500
    assert found.bound(10_000) < 0.01
    assert found.bound(1_000) > 0.2


@pytest.mark.long
def test_of_a_grid_of_jumps_the_quickest_is_chosen_and_the_answer_says_how_sure_it_is():
    # jumps of e^-6 are so rare that pairs begin together: a short lag would take them for quick
    found = chain_time_to(0.01, 4, 4, 0.25, scales=(6.0, 0.6), pairs=1_000)
    assert found.scale == 0.6
    assert 3_500 < found.steps < 6_500
    assert 0 < found.standard_error < 0.01
    assert not found.is_lower_bound
    assert found.seconds == found.steps * found.seconds_per_step


def test_where_no_pair_meets_the_answer_is_a_lower_bound():
    found = chain_time_to(0.01, 8, 8, 0.25, scales=(2.0, 3.0), pilot=3, most=3_000)
    assert found.is_lower_bound
    assert found.steps == 3_000
    assert found.unmet == 3


def test_long_chains_from_far_apart_agree_and_short_ones_do_not():
    chain = StudySweep.of(
        Lattice.from_smith(np.ones((1, 6), dtype=np.int64)), Target("l1", 0.2), DiscreteLaplace(0.8)
    )
    starts = [chain.init(np.full(5, 40 * k)) for k in (-1, 0, 1)]

    def traces(steps, every):
        walks = [chain.walk(SeededSource(k), start, steps, every) for k, start in enumerate(starts)]
        return np.array([trace.noise for _, trace in walks])

    assert np.max(potential_scale_reduction(traces(50, 1))) > 1.5
    assert np.max(potential_scale_reduction(traces(200_000, 20)[:, 2_000:])) < 1.02
