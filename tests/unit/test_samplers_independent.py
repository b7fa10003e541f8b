"""Independent noise: its law entry by entry, its kernel word by word."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from congenial.errors import ArgumentError, NoSamplerError
from congenial.laws import DiscreteGaussian, DiscreteLaplace
from congenial.problems.structure import FREE
from congenial.randomness import SeededSource
from congenial.samplers.base import Refusal
from congenial.samplers.independent import LawOnCells, prepare, quote
from congenial.samplers.integer_table import WHOLE, IntegerTable
from congenial.samplers.running import draw_rows, run
from support.branching import exact_law
from support.words import Listed, some_words

GROUPS = [
    LawOnCells(np.array([6, 0, 2]), DiscreteLaplace(0.3)),
    LawOnCells(np.array([4]), DiscreteGaussian(sigma=4.0)),
    LawOnCells(np.array([1, 7]), DiscreteLaplace(0.3)),
]


def slack(low=-FREE, high=FREE):
    return np.full(9, low), np.full(9, high)


@pytest.mark.parametrize(("low", "high"), [(-FREE, FREE), (-3, FREE), (-FREE, 0), (-2, 4), (0, 0)])
def test_kernel_and_twin_agree_on_the_same_words_and_keep_to_bounds(low, high):
    lower, upper = slack(low, high)
    prepared = prepare(GROUPS, 9, lower=lower, upper=upper)
    words = some_words(40_000)
    out = np.full((50, 9), 99)
    filled = prepared.fill(words, out)
    assert filled.draws == 50
    twin = Listed(words)
    inside = [0, 1, 2, 4, 6, 7]
    for row in out:
        assert (row[inside] == prepared.draw(twin)[inside]).all()
        assert (row[[3, 5, 8]] == 99).all()
    assert twin.used == filled.words
    assert out[:, inside].min() >= low
    assert out[:, inside].max() <= high


@pytest.mark.parametrize(("low", "high"), [(-FREE, FREE), (-1, 4)])
def test_a_kernel_interrupted_at_every_word_goes_on_as_if_it_had_not_been(low, high):
    lower, upper = slack(low, high)
    prepared = prepare(GROUPS, 9, lower=lower, upper=upper)
    words = some_words(600, 2)
    whole = np.zeros((4, 9), dtype=np.int64)
    straight = Listed(words)
    run(prepared, straight, whole)
    for stop in range(1, straight.used + 2):
        out = np.zeros((4, 9), dtype=np.int64)
        source = Listed(words, [stop, stop + 3])
        run(prepared, source, out)
        assert (out == whole).all()
        assert source.used == straight.used


def test_one_draw_has_exactly_the_product_of_the_tables():
    laws = [DiscreteLaplace(40.0), DiscreteGaussian(sigma=0.2)]
    prepared = prepare([LawOnCells(np.array([i]), law) for i, law in enumerate(laws)], 2)
    one, other = (IntegerTable.of_law(law) for law in laws)
    law = exact_law(lambda source: tuple(prepared.draw(source).tolist()))
    expected = {
        (one.offset + i, other.offset + j): Fraction(a * b, WHOLE * WHOLE)
        for i, a in enumerate(one.weights)
        for j, b in enumerate(other.weights)
        if a and b
    }
    assert law == expected


def test_a_cell_that_breaks_its_bound_is_drawn_again_and_has_the_law_given_it():
    built = prepare([LawOnCells(np.array([0]), DiscreteLaplace(2.0))], 1, lower=np.array([-1]))
    table = IntegerTable.from_weights(-2, [1, 3, 9, 3, 1])
    law = exact_law(lambda source: int(replace(built, tables=(table,)).draw(source)[0]), 1e-12)
    true = {z: Fraction(w, 16) for z, w in zip((-1, 0, 1, 2), (3, 9, 3, 1), strict=True)}
    assert law.unexplored < 1e-10
    assert all(abs(law[z] - true[z]) < 2e-10 for z in true)
    assert set(law) == set(true)


def test_the_certificate_adds_up_the_cells_and_counts_refusals():
    free = prepare(GROUPS, 9)
    of_cells = 5 * IntegerTable.of_law(GROUPS[0].law).variation + IntegerTable.of_law(GROUPS[1].law).variation
    assert free.certificate.kind == "exact"
    assert free.certificate.relative_error == 0
    assert 2.0**free.certificate.tail_log2 == pytest.approx(of_cells, rel=1e-6)
    lower, upper = slack(0, 0)
    bound = prepare(GROUPS, 9, lower=lower, upper=upper)
    assert 2.0**bound.certificate.tail_log2 > of_cells / GROUPS[0].law.pmf(0) * 0.9


def test_an_allowance_that_cannot_be_kept_is_refused():
    with pytest.raises(NoSamplerError, match="total variation that was allowed"):
        prepare(GROUPS, 9, 2.0**-125)


def test_quotes_grow_with_cells_and_with_bounds_and_refuse_what_no_table_holds():
    free = quote(GROUPS)
    lower, upper = slack(0, 0)
    tight = quote(GROUPS, lower, upper)
    assert tight.seconds > 2 * free.seconds
    assert free.memory > 0
    assert isinstance(quote([LawOnCells(np.array([0]), DiscreteLaplace(1e-9))]), Refusal)


def test_cells_that_stand_in_two_groups_are_refused():
    with pytest.raises(ArgumentError, match="must not share"):
        prepare([GROUPS[0], LawOnCells(np.array([0]), DiscreteLaplace(1.0))], 9)


def test_the_variance_over_many_draws_is_that_of_the_laws():
    prepared = prepare(GROUPS, 9)
    out = draw_rows(prepared, SeededSource(4), 40_000).astype(float)
    for group in GROUPS:
        seen = (out[:, group.cells] ** 2).mean()
        fourth = 6 * group.law.variance**2  # at most, for both laws: the variance of a square
        assert abs(seen - group.law.variance) < 6.5 * math.sqrt(fourth / (40_000 * len(group.cells)))
