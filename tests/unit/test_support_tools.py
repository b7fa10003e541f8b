"""The test tools themselves: they find right laws right and wrong ones wrong."""

import math
from fractions import Fraction

import numpy as np
import pytest

from congenial.laws import DiscreteLaplace
from support.branching import exact_law, largest_log_ratio, pushed, total_variation
from support.brute import SmallProblem, brute_force, each_cell, nonnegative, rational_laplace
from support.statistics import cdf_gap, check_law, draws_needed, has_law


def shuffled(source, things):
    order = list(things)
    for place in range(len(order) - 1, 0, -1):
        other = source.below(place + 1)
        order[place], order[other] = order[other], order[place]
    return tuple(order)


def swapped_anywhere(source, things):
    order = list(things)
    for place in range(len(order)):
        other = source.below(len(order))
        order[place], order[other] = order[other], order[place]
    return tuple(order)


def until_zero(source):
    tries = 0
    while source.below(3):
        tries += 1
    return tries


def test_every_order_of_four_things_is_equally_likely():
    law = exact_law(lambda source: shuffled(source, "abcd"))
    assert len(law) == math.factorial(4)
    assert set(law.values()) == {Fraction(1, 24)}
    assert law.unexplored == 0


def test_the_shuffle_that_swaps_with_any_place_is_caught():
    law = exact_law(lambda source: swapped_anywhere(source, "abc"))
    assert set(law.values()) != {Fraction(1, 6)}


def test_a_sampler_that_may_retry_for_ever_is_cut_and_the_rest_is_counted():
    law = exact_law(until_zero, cut=1e-6)
    assert law[2] == Fraction(4, 27)
    assert sum(law.values()) + law.unexplored == 1
    assert law.unexplored == Fraction(2, 3) ** 12


def test_weighted_forks_keep_integer_weights_exact_and_skip_what_has_no_weight():
    law = exact_law(lambda source: (source.categorical([1, 0, 2]), source.below(2)))
    assert law == {
        (0, 0): Fraction(1, 6),
        (0, 1): Fraction(1, 6),
        (2, 0): Fraction(1, 3),
        (2, 1): Fraction(1, 3),
    }
    floats = exact_law(lambda source: source.categorical(np.array([0.25, 0.5])))
    assert floats == {0: 1 / 3, 1: 2 / 3}
    assert pushed(law, lambda o: o[1]) == {0: Fraction(1, 2), 1: Fraction(1, 2)}


def test_distances_between_laws_are_what_they_say():
    p, q = {0: Fraction(1, 2), 1: Fraction(1, 2)}, {0: Fraction(1, 4), 1: Fraction(3, 4)}
    assert total_variation(p, q) == 0.25
    assert largest_log_ratio(p, q) == pytest.approx(math.log(2))
    assert largest_log_ratio(p, {0: Fraction(1)}) == math.inf


def test_the_number_of_draws_for_five_percent_in_epsilon_is_that_of_the_examples():
    z = np.arange(-60, 61)
    gap = cdf_gap(DiscreteLaplace(0.5).pmf(z), DiscreteLaplace(0.525).pmf(z))
    assert draws_needed(gap) == 515_153


def test_check_law_accepts_the_law_and_rejects_a_draw_from_the_near_wrong_one():
    z = np.arange(-80, 81)
    right, wrong = DiscreteLaplace(0.5).pmf(z), DiscreteLaplace(0.55).pmf(z)

    def drawn_from(pmf):
        return lambda n: np.random.default_rng(3).choice(len(pmf), n, p=pmf / pmf.sum())

    evidence = check_law(drawn_from(right), right, {"ten percent": wrong})
    assert evidence.draws == draws_needed(evidence.discrepancy)
    assert (evidence.false_alarm, evidence.miss) == (1e-9, 1e-9)
    with pytest.raises(AssertionError, match="do not have the law"):
        check_law(drawn_from(wrong), right, {"ten percent": wrong})
    assert not has_law(np.array([0, 5]), [0.5, 0.5])


def test_brute_force_of_two_cells_with_a_fixed_sum_is_the_square_of_the_law():
    law = brute_force(
        SmallProblem([5, 1], each_cell(2, rational_laplace(Fraction(1, 3))), [[1, 1]], window=9)
    )
    whole = sum(Fraction(1, 9) ** abs(k) for k in range(-9, 10))
    assert law == {(k, -k): Fraction(1, 9) ** abs(k) / whole for k in range(-9, 10)}


def test_brute_force_respects_limits_bands_and_agrees_between_floats_and_fractions():
    measured = each_cell(3, DiscreteLaplace(1.0))
    limits = [*nonnegative(3), ([1, -1, 0], None, 4)]
    problem = SmallProblem([3, 0, 2], measured, [[1, 1, 1]], [([1, 1, 0], 2)], limits, window=7)
    law = brute_force(problem)
    assert math.fsum(law.values()) == pytest.approx(1, abs=1e-15)
    for z in law:
        y = [a + b for a, b in zip(problem.x, z, strict=True)]
        assert sum(z) == 0
        assert min(y) >= 0
        assert y[0] - y[1] <= 4
        assert y[0] + y[1] in (3, 4)
    a = Fraction(math.exp(-1.0))
    exact = brute_force(
        SmallProblem([3, 0, 2], each_cell(3, rational_laplace(a)), [[1, 1, 1]], [([1, 1, 0], 2)], limits, 7)
    )
    assert set(exact) == set(law)
    assert largest_log_ratio(law, {k: float(p) for k, p in exact.items()}) < 1e-13
