"""Potential scale reduction and effective sample size, against values known in closed form."""

from __future__ import annotations

import math

import numpy as np
import pytest

from congenial.errors import ArgumentError
from congenial.samplers.published import effective_sample_size, potential_scale_reduction


def autoregressive(phi, chains, draws, seed):
    noise = np.random.default_rng(seed).normal(size=(chains, draws))
    x = np.empty_like(noise)
    x[:, 0] = noise[:, 0] / math.sqrt(1 - phi * phi)
    for t in range(1, draws):
        x[:, t] = phi * x[:, t - 1] + noise[:, t]
    return x


def test_potential_scale_reduction_is_the_ratio_of_pooled_to_mean_variance():
    chains = np.array([[0.0, 2.0, 4.0], [1.0, 3.0, 5.0]])
    within, between = 4.0, 0.5  # variances of each chain, and of the means 2 and 3
    expected = math.sqrt((2 / 3 * within + between) / within)
    assert potential_scale_reduction(chains, split=False) == pytest.approx(expected)


def test_splitting_sees_a_drift_that_chains_share():
    drifting = np.tile(np.linspace(0, 1, 1000), (4, 1)) + np.random.default_rng(1).normal(0, 0.1, (4, 1000))
    assert potential_scale_reduction(drifting, split=False) < 1.01
    assert potential_scale_reduction(drifting) > 1.5


def test_chains_in_different_places_are_far_from_agreeing_and_constants_agree():
    apart = np.random.default_rng(1).normal(size=(3, 500, 2))
    apart[1, :, 1] += 5
    found = potential_scale_reduction(apart)
    assert found.shape == (2,)
    assert found[0] < 1.02
    assert found[1] > 1.5
    assert potential_scale_reduction(np.ones((2, 10))) == 1.0
    assert potential_scale_reduction([[0.0] * 10, [1.0] * 10]) == math.inf


@pytest.mark.parametrize("phi", [0.0, 0.5, 0.9, -0.5])
def test_an_autoregression_has_its_known_effective_sample_size(phi):
    # n·(1-φ)/(1+φ); the estimate's spread at this length is some 3 % at φ = .9
    chains = autoregressive(phi, 4, 50_000, seed=1)
    expected = chains.size * (1 - phi) / (1 + phi)
    assert effective_sample_size(chains) == pytest.approx(expected, rel=0.12)
    assert effective_sample_size(chains[0]) == pytest.approx(expected / 4, rel=0.2)


def test_chains_that_disagree_are_worth_next_to_nothing():
    chains = autoregressive(0.5, 4, 5_000, seed=2)
    chains[0] += 20
    assert effective_sample_size(chains) < 20


def test_a_quantity_that_never_changes_has_no_effective_draws():
    draws = np.zeros((2, 100, 2))
    draws[:, :, 0] = np.random.default_rng(1).normal(size=(2, 100))
    found = effective_sample_size(draws)
    assert found[0] > 50
    assert found[1] == 0


def test_chains_too_short_or_too_few_are_refused():
    with pytest.raises(ArgumentError, match="two chains"):
        potential_scale_reduction([[1.0, 2.0, 3.0]], split=False)
    with pytest.raises(ArgumentError, match="four draws"):
        effective_sample_size([1.0, 2.0])
    with pytest.raises(ArgumentError, match="chains are an array"):
        potential_scale_reduction([1.0, 2.0, math.nan])
