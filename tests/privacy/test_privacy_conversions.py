"""Conversions between statements, the lattice Gaussian beside Theorem 14, Theorem A.1 and Gong & Meng's γ."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from congenial.errors import ArgumentError
from congenial.laws import DiscreteGaussian, DiscreteLaplace
from congenial.privacy.attained import attained_epsilon
from congenial.privacy.conversions import (
    delta_of,
    delta_of_draw,
    delta_of_windows,
    epsilon_of,
    posterior_interval,
    rho_for,
    rho_of,
    smooth_delta,
)
from congenial.privacy.gamma import gamma
from congenial.privacy.gaussian import smooth_sigma, theorem14_sigma
from congenial.privacy.prices import price
from congenial.privacy.reading import Factor, read
from congenial.problems.compile import compile_structure
from congenial.requests.builders import band, margin, measure, total
from congenial.requests.reading import read_text
from congenial.tables.sources import declared_domain
from support.structures import structure, unit

RHO = st.floats(1e-4, 5)


def gaussian_delta(rho, epsilon):
    """δ of the real-valued Gaussian mechanism with this ρ, exactly (Balle & Wang, Theorem 8)."""
    mu = math.sqrt(2 * rho)
    low, high = epsilon / mu - mu / 2, epsilon / mu + mu / 2
    return 0.5 * math.erfc(low / math.sqrt(2)) - math.exp(epsilon) * 0.5 * math.erfc(high / math.sqrt(2))


@settings(max_examples=60, deadline=None)
@given(RHO, st.floats(0.01, 10))
def test_delta_of_rho_is_above_the_gaussian_mechanisms_own_and_below_the_simple_formula(rho, epsilon):
    found = delta_of(rho, epsilon)
    assert found >= gaussian_delta(rho, epsilon) * (1 - 1e-6) - 1e-14
    if epsilon > rho:
        assert found <= math.exp(-((epsilon - rho) ** 2) / (4 * rho)) * (1 + 1e-8)


@settings(max_examples=60, deadline=None)
@given(RHO, st.sampled_from([1e-12, 1e-6, 0.01]))
def test_epsilon_at_a_delta_goes_there_and_back(rho, delta):
    epsilon = epsilon_of(rho, delta)
    assert delta_of(rho, epsilon) <= delta
    back = rho_for(epsilon, delta)
    assert delta_of(back, epsilon) <= delta
    assert back >= rho * (1 - 1e-6)
    assert epsilon == 0 or back == pytest.approx(rho, rel=1e-6)


@settings(max_examples=40, deadline=None)
@given(st.floats(0.01, 6), st.sampled_from([1.01, 1.5, 2, 8, 100]))
def test_a_pure_loss_is_concentrated_with_half_its_square(epsilon, order):
    # randomized response has the largest divergence that a pure loss allows
    p = 1 / (1 + math.exp(-epsilon))
    divergence = math.log(p**order * (1 - p) ** (1 - order) + (1 - p) ** order * p ** (1 - order)) / (
        order - 1
    )
    assert divergence <= order * rho_of(epsilon) * (1 + 1e-12)


def test_windows_add_what_the_design_says():
    assert delta_of_windows(1.0, 2.0**-80) == (1 + math.e) * 2.0**-80
    assert delta_of_draw(0.1, 1.0, 2.0**-80) == pytest.approx(math.exp(-(0.9**2) / 0.4))
    assert delta_of_draw(0.5, 0.1, 0.0) == 1.0


def test_the_smooth_slack_grows_with_distance_from_what_it_is_at_one():
    assert smooth_delta(1e-6, 0.5, 1) == pytest.approx(1e-6)
    assert smooth_delta(1e-6, 0.5, 2) == pytest.approx(1e-6 * (1 + math.exp(0.5)))
    assert smooth_delta(0.5, 1.0, 50) == 1.0


def test_a_belief_moves_by_at_most_the_factor_either_way():
    assert posterior_interval(0.25, math.log(2)) == (pytest.approx(0.125), pytest.approx(0.5))
    assert posterior_interval(0.75, math.log(2))[1] == 1.0


@pytest.mark.parametrize(
    "call",
    [
        lambda: delta_of(-1, 1),
        lambda: epsilon_of(math.inf, 0.1),
        lambda: epsilon_of(0.1, 0),
        lambda: rho_for(1, 1),
        lambda: posterior_interval(2, 1),
        lambda: smooth_sigma(0.1, 0),
        lambda: theorem14_sigma(1, 0.1, 3, 4),
        lambda: attained_epsilon(np.abs),
        lambda: attained_epsilon(lambda x: -x, step=0),
        lambda: attained_epsilon(lambda x: x * np.nan),
    ],
)
def test_arguments_that_mean_nothing_are_refused(call):
    with pytest.raises(ArgumentError):
        call()


def test_the_noise_of_theorem_14_is_several_times_what_the_lattice_needs():
    ours = smooth_sigma(0.25, 1e-6)
    for dimension, determinant, times in [(2, 3, 3.5), (9, 256, 6), (15, 16, 8), (101, 102, 20)]:
        assert theorem14_sigma(0.25, 1e-6, dimension, determinant) / ours > times


def test_the_smooth_sigma_is_the_least_at_every_distance():
    sigma = smooth_sigma(0.3, 1e-5, 2)
    worst = 0.0
    for square in range(2, 400):
        r = math.sqrt(square)
        worst = max(worst, delta_of(square / (2 * sigma**2), 0.3 * r) / smooth_delta(1e-5, 0.3, r))
    assert 0.99 < worst <= 1.0


def test_discrete_laplace_attains_its_epsilon_and_a_gaussian_none():
    law = DiscreteLaplace(0.7)
    assert attained_epsilon(law) == 0.7
    assert attained_epsilon(lambda z: np.log(law.pmf(z)), reach=200) == pytest.approx(0.7, rel=1e-9)
    assert attained_epsilon(DiscreteGaussian(sigma=2)) == math.inf
    slope = attained_epsilon(lambda z: -z * z / 8, reach=50)
    assert slope == pytest.approx((50**2 - 49**2) / 8)


@pytest.mark.parametrize("beta", [0.5, 0.6, 0.75, 1.0])
def test_the_published_family_attains_what_the_paper_says(beta):
    epsilon = 0.8

    def log_density(x):
        if beta == 0.5:
            return np.log1p(epsilon * x) - epsilon * x
        rest = (1 - beta) * np.exp(-epsilon * x / (2 * (1 - beta))) if beta < 1 else 0.0
        return np.log((beta * np.exp(-epsilon * x / (2 * beta)) - rest) / (2 * beta - 1))

    reach = 800.0 if beta < 1 else 400.0
    found = attained_epsilon(log_density, step=0.5, reach=reach)
    assert found == pytest.approx(epsilon / (2 * max(beta, 1 - beta)), rel=3e-3)


def test_a_law_that_rises_is_refused_by_place():
    with pytest.raises(ArgumentError, match="rises between 0 and 1"):
        attained_epsilon(lambda x: -((x - 1) ** 2))


BINARY = {"answer": ["yes", "no"]}
YES = {"answer": {"positive": ["yes"]}}


def test_gamma_is_zero_where_nothing_is_fixed():
    made = structure(BINARY, [measure("cells", DiscreteLaplace(0.25))])
    assert gamma(read(made), (2,), unit()) == pytest.approx(0)


def test_gamma_is_minus_one_where_the_measured_band_is_published():
    made = structure(BINARY, [measure(YES, DiscreteLaplace(0.5))], [band(YES, 10)])
    reading = read(made)
    published = reading.bounds[0].family
    number_of_band = Factor(published, "epsilon", 0.5, band=10)
    assert gamma(replace(reading, factors=(number_of_band,)), (2,), unit()) == pytest.approx(-1)
    assert gamma(replace(reading, bounds=(), factors=(number_of_band,)), (2,), unit()) == pytest.approx(0)


def test_gamma_is_minus_a_half_under_a_fixed_total():
    made = structure(BINARY, [measure("cells", DiscreteLaplace(0.25))], [total()])
    assert gamma(read(made), (2,), unit()) == pytest.approx(-0.5)


def test_gamma_of_margins_counts_four_records():
    made = structure({"r": 2, "c": 2}, [measure("cells", DiscreteLaplace(0.25))], [margin("r"), margin("c")])
    assert gamma(read(made), (2, 2), unit()) == pytest.approx(4 * 0.25 / (4 * 0.5) - 1)


EXAMPLE = """
congenial: 1
table:
  source: answers.csv
  counts: n
  axes: {answer: {categories: ["yes", "no"]}}
measurements: [{query: cells, law: discrete-laplace, epsilon: 0.5}]
"""


def read_from(text):
    """A request as a curator writes it, as the privacy room reads it."""
    request = read_text(EXAMPLE + text)
    return read(compile_structure(declared_domain(request.table), request)), request.unit


def test_gong_and_mengs_three_examples_come_out_of_requests():
    """What is measured in the second is the number of the band, which no law of a request measures."""
    nothing = read_from("")
    fixed = read_from("invariants: [total]")
    published, who = read_from("invariants: [{query: total, band: 10}]")
    number = Factor(published.bounds[0].family, "epsilon", 0.5, band=published.bounds[0].band)
    in_band = replace(published, factors=(number,)), who
    values = [gamma(reading, (2,), of) for reading, of in (nothing, in_band, fixed)]
    assert values == pytest.approx([0, -1, -0.5])


def test_a_count_that_is_measured_inside_its_published_band_pays_the_price_of_bounds():
    text = "invariants: [{query: total, band: 10}]\nunit: {name: person, max_rows: 1, change: add-or-remove}"
    reading, who = read_from(text)
    family = reading.bounds[0].family
    alone = replace(reading, factors=(Factor(family, "epsilon", 0.5),))
    assert gamma(alone, (2,), who) == pytest.approx(price(0.5, 0.5) / 0.5)
