"""The inequality under twisted columns: no chance exceeds its bound, whatever the laws, windows and sums."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

from congenial.laws import DiscreteGaussian, DiscreteLaplace
from congenial.samplers.crossing import _twisted_chance_kernels as kernels
from congenial.samplers.crossing import twisted_bounds
from congenial.samplers.crossing.tables import point, unary_from_law
from support.twisted_arrays import boxed, prepared

LAWS = {
    "laplace": [DiscreteLaplace(e) for e in (0.15, 0.5, 2.0)],
    "gaussian": [DiscreteGaussian(sigma=s) for s in (0.4, 1.0, 4.0)],
}
WINDOWS = [(-6, 6), (-2, 7), (-1, 8), (-5, 2)]


def factors(twin):
    """Every factor at every remainder that the windows know: of the column's test and of the group's."""
    tables = twin.built.tables
    found = []
    for j in range(tables.columns - 1):
        ends = tables.windows[tables.row_class, j][:, [kernels.LOWEST, kernels.HIGHEST]]
        windows = [range(lowest, highest + 1) for lowest, highest in ends]
        for chosen in itertools.product(*windows):
            remainders = np.array(chosen)
            if sum(chosen):
                continue
            if j:
                found.append(twin.odds(j, remainders))
            group = tables.order[j][tables.column_marks[j, kernels.OUTSIDE] :]
            if len(group):
                bound = twin._bound(j, remainders, group, kernels.GROUP_BOUND)
                found += [twin._chance(j, remainders, group, s) / bound for s in range(-12, 13)]
    return found


def mixed(kind, seed):
    """A 3×3 array of laws and windows drawn from the grid."""
    rng = np.random.default_rng(seed)
    array = []
    for _ in range(3):
        row = []
        for _ in range(3):
            lo, hi = WINDOWS[rng.integers(len(WINDOWS))]
            row.append(boxed(LAWS[kind][rng.integers(3)], lo, hi))
        array.append(row)
    if seed % 3 == 0:
        array[seed % 2][2] = point()
    return array


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("kind", ["laplace", "gaussian"])
def test_no_factor_exceeds_one(kind, seed, monkeypatch):
    monkeypatch.setattr(twisted_bounds, "_group_size", lambda *_: 2)
    found = factors(prepared(mixed(kind, seed)))
    assert len(found) > 100
    assert max(found) <= 1


@pytest.mark.parametrize("period", [2, 4, 8])
def test_no_factor_exceeds_one_on_a_grid_that_is_much_too_small(period, monkeypatch):
    monkeypatch.setattr(twisted_bounds, "_period", lambda _: (period, 0.0))
    monkeypatch.setattr(twisted_bounds, "_group_size", lambda *_: 2)
    assert max(factors(prepared(mixed("laplace", 1)))) <= 1


@pytest.mark.parametrize("weights", [[1, 0, 0], [0.7, 0.3, 0], [0.2, 0.2, 0.6]])
def test_no_factor_exceeds_one_whatever_the_rows_weights(weights, monkeypatch):
    monkeypatch.setattr(twisted_bounds, "_weights", lambda *_: np.array(weights))
    assert max(factors(prepared(mixed("laplace", 2)))) <= 1


def test_laws_that_sum_to_more_than_one_break_the_bound_and_are_seen():
    twin = prepared(mixed("laplace", 1))
    facts = twin.built.tables.facts.copy()
    for column in (kernels.LEFT, kernels.RIGHT):
        facts[:, column] /= 1.05
    broken = replace(twin, built=replace(twin.built, tables=twin.built.tables._replace(facts=facts)))
    assert max(factors(twin)) <= 1 < max(factors(broken))


def test_row_weights_that_sum_to_more_than_one_break_the_bound_and_are_seen(monkeypatch):
    monkeypatch.setattr(twisted_bounds, "_weights", lambda v, n: np.full(len(v), 1.4 / len(v)))
    law = boxed(DiscreteLaplace(0.5), -6, 6)
    other = [boxed(DiscreteLaplace(0.5), -6, 6) for _ in range(3)]
    array = [[a, law, a] for a in other]
    assert max(factors(prepared(array))) > 1


def test_the_bound_is_tight_for_gaussian_laws():
    law = unary_from_law(DiscreteGaussian(sigma=1.5), None, None, -40.0)
    found = factors(prepared([[law] * 3] * 3, log2_mass=-20.0))
    assert min(f for f in found if f > 1e-3) > 0.98


def test_a_transform_is_as_exact_as_is_said():
    rng = np.random.default_rng(3)
    for period in (8, 64, 1024):
        law = rng.exponential(size=period)
        law /= law.sum()
        turns = np.outer(np.arange(period // 2 + 1), np.arange(period)) % period / period
        turns = np.exp(-2j * np.pi * turns)
        exact = (turns * law).sum(axis=1)
        assert np.abs(np.fft.rfft(law) - exact).max() <= twisted_bounds.transform_error(period)


def test_powers_never_fall_to_zero():
    moduli = np.array([[1.0, 1e-200, 0.0]])
    assert (twisted_bounds._powers(moduli, 0.01) > 0).all()
