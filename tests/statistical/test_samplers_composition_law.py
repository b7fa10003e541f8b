"""Fixed sums where enumeration ends: draws against exact convolutions, with the wrong laws they would catch.

Every test computes its number of draws from the near-wrong laws; α = β = 1e-9.
"""

import math

import numpy as np
import pytest

from congenial.laws import DiscreteGaussian, DiscreteLaplace
from congenial.problems.structure import FREE
from congenial.randomness import SystemSource
from congenial.samplers import independent
from congenial.samplers.composition import Group, prepare
from congenial.samplers.running import draw_rows
from support.brute import SmallProblem, brute_force, each_cell, nonnegative
from support.statistics import check_law, clipped, marginal


def power(pmf, n):
    """The law of a sum of n, by direct convolution on a window that is wide enough."""
    found = np.ones(1)
    while n:
        if n & 1:
            found = np.convolve(found, pmf)
        pmf, n = np.convolve(pmf, pmf), n >> 1
    return found


def cell_given_sum(n, epsilon, s=0, reach=None):
    """P(z_1 = z | Σz = s) for z = -reach … reach, from exact convolutions."""
    law = DiscreteLaplace(epsilon)
    w = law.reach(-60)
    pmf = law.pmf(np.arange(-w, w + 1))
    others = power(pmf, n - 1)
    centre = (len(others) - 1) // 2
    z = np.arange(-w, w + 1)
    at = s - z + centre
    inside = (at >= 0) & (at < len(others))
    found = np.where(inside, pmf * others[np.clip(at, 0, len(others) - 1)], 0.0)
    found /= found.sum()
    reach = w if reach is None else reach
    return marginal(dict(zip(z.tolist(), found.tolist(), strict=True)), lambda k: k, -reach, reach)


@pytest.mark.parametrize(
    ("n", "epsilon", "s"), [(5, 0.5, 0), (3, 1.0, 0), (5, 0.5, 4), (40, 0.4, 0), (6, 1.2, -2)]
)
def test_a_cell_of_a_fixed_sum_has_its_marginal_law(n, epsilon, s):
    reach = 3 * math.ceil(3 / epsilon) + abs(s)
    prepared = prepare([Group(np.arange(n), epsilon, s)], n)

    def draw(draws):
        return clipped(draw_rows(prepared, SystemSource(), draws)[:, 0], -reach, reach)

    near_wrong = {
        "epsilon 5 % larger": cell_given_sum(n, epsilon * 1.05, s, reach),
        "epsilon 5 % smaller": cell_given_sum(n, epsilon / 1.05, s, reach),
    }
    if n <= 6:
        near_wrong["the sum off by one"] = cell_given_sum(n, epsilon, s + 1, reach)
        near_wrong["no condition"] = marginal(
            dict(enumerate(DiscreteLaplace(epsilon).pmf(np.arange(-200, 201)), -200)), int, -reach, reach
        )
    evidence = check_law(draw, cell_given_sum(n, epsilon, s, reach), near_wrong)
    assert evidence.discrepancy < 0.2


def test_three_cells_together_have_the_law_by_enumeration():
    measured, facts = each_cell(3, DiscreteLaplace(1.0)), [[1, 1, 1]]

    def code(z):
        # orders points by how far out they lie, then by shape
        return 7 * min(int(np.abs(z).sum()) // 2, 9) + int(np.argmax(z)) * 2 + (z[0] == z[1])

    def coded(law):
        return marginal(law, code, 0, 75)

    right = brute_force(SmallProblem([0] * 3, measured, facts, window=25))
    near = brute_force(SmallProblem([0] * 3, each_cell(3, DiscreteLaplace(1.05)), facts, window=25))
    one_wider = [*each_cell(2, DiscreteLaplace(1.0)), ([0, 0, 1], DiscreteLaplace(0.9))]
    one_wider = [([*row, 0][:3], law) for row, law in one_wider]
    prepared = prepare([Group(np.arange(3), 1.0)], 3)

    def draw(draws):
        rows = draw_rows(prepared, SystemSource(), draws)
        return np.array([code(z) for z in rows])

    few = {"epsilon 5 % larger": coded(near)}
    few["one cell with epsilon .9"] = coded(brute_force(SmallProblem([0] * 3, one_wider, facts, window=25)))
    check_law(draw, coded(right), few, false_alarm=1e-9, miss=1e-9, most=2_000_000)


def test_bounds_set_aside_are_kept_by_drawing_again():
    x, n, epsilon = [1, 2, 2], 3, 1.0
    measured, facts = each_cell(n, DiscreteLaplace(epsilon)), [[1] * n]
    lower = -np.array(x)
    prepared = prepare([Group(np.arange(n), epsilon)], n, lower=lower)

    def first(limits):
        law = brute_force(SmallProblem(x, measured, facts, limits=limits, window=22))
        return marginal(law, lambda z: z[0], -8, 12)

    off_by_one = [([1, 0, 0], -1, None), *nonnegative(n)[1:]]
    check_law(
        lambda draws: clipped(draw_rows(prepared, SystemSource(), draws)[:, 0], -8, 12),
        first(nonnegative(n)),
        {"bounds forgotten": first([]), "one bound off by one": first(off_by_one)},
    )


@pytest.mark.parametrize("law", [DiscreteLaplace(0.5), DiscreteGaussian(sigma=3.0)], ids=str)
def test_independent_cells_have_their_law_and_given_a_bound_the_law_given_it(law):
    cells = [independent.LawOnCells(np.arange(2), law)]
    prepared = independent.prepare(cells, 2, lower=np.array([-FREE, -2]))
    wider = DiscreteLaplace(0.525) if law.power == 1 else DiscreteGaussian(sigma=3.15)
    z = np.arange(-60, 61)

    def given(f, least):
        pmf = np.where(z >= least, f.pmf(z), 0.0)
        return marginal(dict(zip(z.tolist(), (pmf / pmf.sum()).tolist(), strict=True)), int, -30, 30)

    for cell, least in ((0, -60), (1, -2)):
        near_wrong = {"scale 5 % off": given(wider, least)}
        if cell:
            near_wrong["bound off by one"] = given(law, -3)
        check_law(
            lambda draws, cell=cell: clipped(draw_rows(prepared, SystemSource(), draws)[:, cell], -30, 30),
            given(law, least),
            near_wrong,
        )


@pytest.mark.parametrize("n", [2, 3, 5, 30])
def test_the_variance_given_the_sum_tends_to_that_of_the_real_valued_law(n):
    """λ²(2n-1)(n-1)/(n(n+1)) with λ = 1/ε (DESIGN 4.1), from exact convolutions as ε falls."""
    errors = []
    for epsilon in (0.2, 0.1):
        pmf = cell_given_sum(n, epsilon)
        w = (len(pmf) - 1) // 2
        variance = float((pmf * np.arange(-w, w + 1) ** 2).sum())
        real = (2 * n - 1) * (n - 1) / (n * (n + 1)) / epsilon**2
        errors.append(abs(variance / real - 1))
    assert errors[0] < 0.02
    assert errors[1] < errors[0] / 3  # of second order in ε
    # and it is not the variance that projection would leave
    assert abs(2 * (1 - 1 / n) / ((2 * n - 1) * (n - 1) / (n * (n + 1))) - 1) > 0.05
