"""Twisted columns as a sampler: quotes, plans, certificates, acceptances, refusals."""

from __future__ import annotations

import math

import numpy as np
import pytest

from congenial.errors import ArgumentError, ConflictError, NoSamplerError
from congenial.laws import DiscreteGaussian, DiscreteLaplace
from congenial.randomness import SeededSource
from congenial.samplers.base import Quote, Refusal
from congenial.samplers.crossing import twisted_certificate
from congenial.samplers.crossing._twisted_kernels import fill_columns
from congenial.samplers.crossing.tables import point, unary_from_law
from congenial.samplers.crossing.twisted import TwistedColumns, window_log2_mass
from congenial.samplers.crossing.twisted_certificate import least_acceptance_log2
from congenial.samplers.crossing.twisted_presolve import clipped
from support.twisted_arrays import boxed

SAMPLER = TwistedColumns()


def even(epsilon, rows, columns):
    """Like cells with discrete Laplace laws."""
    law = unary_from_law(DiscreteLaplace(epsilon), None, None, window_log2_mass(-80, rows * columns))
    return [[law] * columns] * rows


def around(counts, epsilon):
    """Non-negative cells."""
    mass = window_log2_mass(-80, counts.size)
    made = {v: unary_from_law(DiscreteLaplace(epsilon), -v, None, mass) for v in set(counts.ravel().tolist())}
    return [[made[v] for v in row] for row in counts.tolist()]


def attempted(plan, draws):
    """(draws, acceptance) of so many draws."""
    source = SeededSource(1)
    out = np.zeros((draws, plan.width), dtype=np.int64)
    done = attempts = 0
    while done < draws:
        words = source.take(1 << 20)
        some, used, tried, _ = fill_columns(words, out[done:], plan.built.tables, 0)
        source.give_back(len(words) - used)
        done, attempts = done + some, attempts + tried
    return out, draws / attempts


@pytest.mark.parametrize(
    ("rows", "columns", "expected", "draws"), [(4, 4, 0.978, 100_000), (10, 10, 0.909, 60_000)]
)
def test_acceptance_is_what_the_design_states(rows, columns, expected, draws):
    plan = SAMPLER.prepare(even(0.25, rows, columns))
    # the standard error is at most 0.0012: the true acceptance may be 0.007 off at the least
    assert attempted(plan, draws)[1] == pytest.approx(expected, abs=0.02)


@pytest.mark.long
@pytest.mark.parametrize(
    ("rows", "columns", "expected", "draws"), [(20, 20, 0.847, 60_000), (50, 60, 0.786, 40_000)]
)
def test_acceptance_of_large_arrays_is_what_the_design_states(rows, columns, expected, draws):
    plan = SAMPLER.prepare(even(0.25, rows, columns))
    assert attempted(plan, draws)[1] == pytest.approx(expected, abs=0.02)


def test_gaussian_laws_are_nearly_always_accepted():
    law = unary_from_law(DiscreteGaussian(sigma=1.5), None, None, -130.0)
    assert attempted(SAMPLER.prepare([[law] * 6] * 6), 20_000)[1] > 0.999


@pytest.mark.parametrize(("mean", "least"), [(0.5, 0.15), (2.0, 0.3), (30.0, 0.5)])
def test_counts_keep_margins_and_bounds_at_a_fair_acceptance(mean, least):
    counts = np.random.default_rng(4).poisson(mean, size=(12, 15))
    plan = SAMPLER.prepare(around(counts, 1.0))
    draws, acceptance = attempted(plan, 1500)
    z = draws.reshape(-1, 12, 15)
    assert not z.sum(axis=1).any()
    assert not z.sum(axis=2).any()
    assert (counts + z).min() >= 0
    assert acceptance > least


def test_the_pilot_measures_the_acceptance():
    plan = SAMPLER.prepare(even(0.5, 6, 5))
    assert plan.acceptance == pytest.approx(attempted(plan, 20_000)[1], abs=0.25)
    assert 0 < plan.words < 2000


@pytest.mark.parametrize("allowance", [-20.0, -80.0, -110.0])
def test_a_certificate_meets_its_allowance(allowance):
    law = unary_from_law(DiscreteLaplace(0.5), -1, None, window_log2_mass(allowance, 30))
    certificate = SAMPLER.prepare([[law] * 5] * 6, allowance).certificate
    assert certificate.kind == "exact"
    assert allowance - 4 < certificate.tail_log2 <= allowance
    assert 0 < certificate.relative_error < 1e-10


def test_windows_that_leave_out_too_much_are_refused():
    law = unary_from_law(DiscreteLaplace(0.5), None, None, -60.0)
    with pytest.raises(NoSamplerError, match="total variation"):
        SAMPLER.prepare([[law] * 5] * 6)


def test_a_tilt_as_steep_as_a_law_without_an_end_is_refused():
    # the mean of the first cell would have to rise to where its window ends
    law = DiscreteLaplace(0.5)
    free = unary_from_law(law, None, None, -60.0)
    up = boxed(law, 40, 90)
    with pytest.raises(NoSamplerError):
        SAMPLER.prepare([[free, up, up], [up, free, up], [up, up, free]])


def test_rows_and_columns_may_change_places():
    law = [unary_from_law(DiscreteLaplace(0.2 + 0.1 * k), None, None, -250.0) for k in range(8)]
    wide = [[law[(i + j) % 8] for j in range(8)] for i in range(3)]
    tall = [list(row) for row in zip(*wide, strict=True)]
    a, b = SAMPLER.prepare(wide), SAMPLER.prepare(tall)
    first, second = (attempted(plan, 20)[0] for plan in (a, b))
    assert (first.reshape(-1, 3, 8) == second.reshape(-1, 8, 3).transpose(0, 2, 1)).all()


def test_a_least_acceptance_would_be_refuted_by_better_luck_only():
    # 2^-3 is claimed after 100 draws in 125 attempts; binomially that has probability below 2^-90
    k = least_acceptance_log2(100, 125, -90.0)
    tail = sum(math.comb(125, n) * 2.0 ** (k * n) * (1 - 2.0**k) ** (125 - n) for n in range(100, 126))
    assert tail < 2.0**-90
    assert least_acceptance_log2(100, 100_000, -90.0) < math.log2(1e-3)
    assert least_acceptance_log2(1, 10, -90.0) < -90


def test_a_quote_is_near_what_is_built():
    for array in (even(0.25, 4, 4), even(0.25, 20, 20), even(1.0, 30, 10)):
        quote, plan = SAMPLER.quote(array), SAMPLER.prepare(array)
        assert isinstance(quote, Quote)
        assert quote.memory / 6 < plan.memory < quote.memory * 6
        assert quote.seconds > 0
        assert quote.setup_seconds > 0


def test_a_quote_builds_nothing_that_would_not_fit():
    found = SAMPLER.quote(even(0.01, 30, 30), memory_limit=1e6)
    assert isinstance(found, Refusal)
    assert "GB" in found.why


def test_tables_that_do_not_fit_are_an_error_that_says_so():
    with pytest.raises(NoSamplerError, match="memory"):
        SAMPLER.prepare(even(0.05, 10, 10), memory_limit=1e5)


@pytest.mark.parametrize("array", [[], [[point()]], [[point(), point()]], [[point()], [point()]]])
def test_arrays_that_the_margins_determine_are_refused(array):
    assert isinstance(SAMPLER.quote(array), Refusal)
    with pytest.raises(ArgumentError, match="twisted columns"):
        SAMPLER.prepare(array)


def test_ragged_arrays_are_refused():
    law = boxed(DiscreteLaplace(1.0), -3, 3)
    assert isinstance(SAMPLER.quote([[law] * 3, [law] * 2]), Refusal)


def test_bounds_that_no_table_keeps_are_an_error_without_a_count():
    above, free = boxed(DiscreteLaplace(0.5), 17, 40), boxed(DiscreteLaplace(0.5), -3, 40)
    with pytest.raises(ConflictError) as raised:
        SAMPLER.prepare([[above, free], [free, free]])
    assert "17" not in str(raised.value)


def test_bounds_that_only_all_margins_together_exclude_end_in_an_error():
    # three rows must each rise by one in the first two columns, which can take in two: no line shows it
    law = DiscreteLaplace(0.5)
    rise, fall, free, must, none = (
        boxed(law, *ends) for ends in ((0, 1), (-1, 0), (-5, 5), (-1, -1), (0, 0))
    )
    array = [[rise, rise, must, none]] * 3 + [[fall, fall, free, free], [none, none, free, free]]
    assert clipped(array) is not None
    with pytest.raises((ConflictError, NoSamplerError)):
        SAMPLER.prepare(array)


def test_an_acceptance_too_small_to_be_of_use_is_an_error(monkeypatch):
    monkeypatch.setattr(twisted_certificate, "_LEAST_ACCEPTANCE", 1.0)
    counts = np.random.default_rng(4).poisson(0.5, size=(8, 8))
    with pytest.raises(NoSamplerError, match="hardly ever"):
        SAMPLER.prepare(around(counts, 1.0))


def test_an_array_with_one_table_only_has_it():
    plan = SAMPLER.prepare([[point()] * 3] * 3)
    assert not attempted(plan, 3)[0].any()
    assert plan.acceptance == 1


def test_what_is_printed_of_a_plan_names_no_count():
    assert repr(SAMPLER.prepare(even(1.0, 3, 4))) == "PreparedColumns(4×3)"
