"""Twisted columns draw from their law: every way of an attempt, against brute force."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from congenial.laws import DiscreteLaplace
from congenial.samplers.crossing import _twisted_chance_kernels as kernels
from congenial.samplers.crossing import twisted_bounds
from congenial.samplers.crossing.tables import unary_from_law
from congenial.samplers.crossing.twisted import TwistedColumns
from support.twisted_arrays import (
    SHAPES,
    Conditioned,
    apart,
    array_of,
    attempted,
    boxed,
    brute,
    prepared,
)


@pytest.mark.parametrize("bounds", ["free", "nonnegative", "zeros"])
@pytest.mark.parametrize("kind", ["laplace", "gaussian"])
@pytest.mark.parametrize("shape", SHAPES)
def test_an_accepted_attempt_has_the_law(shape, kind, bounds):
    array = array_of(shape, kind, bounds)
    law, chance = attempted(prepared(array, kind=Conditioned))
    assert apart(law, brute(array)) < 1e-12
    assert 0.3 < chance <= 1


@pytest.mark.parametrize("size", [1, 2])
@pytest.mark.parametrize("bounds", ["free", "nonnegative", "zeros"])
def test_it_has_the_law_however_many_rows_a_column_leaves_for_last(size, bounds, monkeypatch):
    monkeypatch.setattr(twisted_bounds, "_group_size", lambda *_: size)
    array = array_of("3x3", "laplace", bounds)
    twin = prepared(array, kind=Conditioned)
    assert (twin.built.tables.column_marks[:, kernels.OUTSIDE] == 3 - size).all()
    assert apart(attempted(twin)[0], brute(array)) < 1e-12


@pytest.mark.parametrize("size", [0, 2])
@pytest.mark.parametrize("bounds", ["free", "nonnegative", "zeros"])
def test_it_has_the_law_where_rows_are_drawn_one_by_one_given_their_sum(size, bounds, monkeypatch):
    monkeypatch.setattr(twisted_bounds, "_group_size", lambda *_: size)
    array = array_of("3x3", "laplace", bounds)
    twin = prepared(array, kind=Conditioned)
    marks = twin.built.tables.column_marks.copy()
    marks[:, kernels.LIMIT] = 0
    twin = replace(twin, built=replace(twin.built, tables=twin.built.tables._replace(column_marks=marks)))
    assert apart(attempted(twin)[0], brute(array)) < 1e-12


def test_like_rows_share_their_tables_and_have_the_law():
    law = boxed(DiscreteLaplace(0.5), -3, 3)
    array = [[law] * 3] * 3
    twin = prepared(array, kind=Conditioned)
    assert len(twin.built.tables.windows) == 1
    assert apart(attempted(twin)[0], brute(array)) < 1e-12


def test_a_period_much_too_small_costs_acceptance_and_leaves_the_law(monkeypatch):
    array = array_of("3x3", "laplace", "free")
    _, usual = attempted(prepared(array, kind=Conditioned))
    monkeypatch.setattr(twisted_bounds, "_period", lambda _: (4, 0.0))
    law, chance = attempted(prepared(array, kind=Conditioned))
    assert apart(law, brute(array)) < 1e-12
    assert chance < usual - 0.05


class _OnTheGrid(Conditioned):
    """The mistake: the chance that a column is zero *modulo the period*, taken for that of zero."""

    def _chance(self, j, remainders, rows, target):
        start = super()._chance
        return sum(start(j, remainders, rows, target + 4 * k) for k in range(-9, 10))


def test_a_test_that_takes_a_small_grid_at_its_word_is_within_its_bound_and_has_a_wrong_law(monkeypatch):
    monkeypatch.setattr(twisted_bounds, "_period", lambda _: (4, 0.0))
    array = array_of("3x3", "laplace", "free")
    twin = prepared(array, kind=_OnTheGrid)
    rng = np.random.default_rng(1)
    for _ in range(200):
        remainders = rng.integers(-2, 3, 3)
        remainders[2] = -remainders[:2].sum()
        if abs(remainders[2]) <= 3:
            assert twin.odds(1, remainders) <= 1
    assert apart(attempted(twin)[0], brute(array)) > 1e-2


class _Untested(Conditioned):
    """The mistake: no test of the later columns."""

    def odds(self, j, remainders):
        return 1.0


def test_leaving_out_the_test_is_seen():
    array = array_of("3x3", "laplace", "nonnegative")
    assert apart(attempted(prepared(array, kind=_Untested))[0], brute(array)) > 1e-3


@pytest.mark.parametrize("allowance", [-8.0, -16.0])
@pytest.mark.parametrize("bounded", [False, True])
def test_the_certificate_is_at_least_the_mass_that_windows_leave_out(allowance, bounded):
    lowest = [[0, 0, None], [None, None, 0]] if bounded else [[None] * 3] * 2
    narrow = _array(lowest, 2 * allowance - 24)
    found = TwistedColumns().prepare(narrow, allowance)
    whole = brute(_array(lowest, 3 * allowance - 40))
    lost = math.fsum(p for z, p in whole.items() if not _reachable(found.built.tables, z))
    assert 0 < lost <= 2.0**found.certificate.tail_log2 <= 2.0**allowance


def _array(lowest, log2_mass):
    law = DiscreteLaplace(2.5)
    return [[unary_from_law(law, low, None, log2_mass) for low in row] for row in lowest]


def _reachable(tables, z):
    """Whether a draw can come to z: every cell and every remainder inside its window."""
    cells = np.array(z)[tables.place].reshape(tables.rows, tables.columns)
    for t, row in zip(tables.row_class, cells, strict=True):
        for j, value in enumerate(row):
            remainder = row[j:].sum()
            if not tables.windows[t, j, kernels.LOWEST] <= remainder <= tables.windows[t, j, kernels.HIGHEST]:
                return False
            if not tables.windows[t, j, kernels.LAW_LO] <= value <= tables.windows[t, j, kernels.LAW_HI]:
                return False
    return True


def test_the_rounding_that_the_certificate_states_is_at_least_what_is_found():
    array = array_of("3x3", "laplace", "nonnegative")
    twin = prepared(array, kind=Conditioned)
    assert apart(attempted(twin)[0], brute(array)) <= twin.built.relative_error + 1e-15


def test_a_wrong_table_is_seen():
    array = array_of("3x3", "laplace", "free")
    twin = prepared(array, kind=Conditioned)
    first, lowest = twin.built.tables.windows[1, 1, :2]
    facts = twin.built.tables.facts.copy()
    facts[first - lowest + 1, kernels.VALUE] *= 1.01
    broken = replace(twin.built, tables=twin.built.tables._replace(facts=facts))
    law, _ = attempted(replace(twin, built=broken))
    assert apart(law, brute(array)) > 1e-4
