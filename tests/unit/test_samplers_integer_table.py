"""Tables of whole-number weights: their sum, what a word finds in them, how far they are from the law."""

from fractions import Fraction

import numpy as np
import pytest
from flint import arb, ctx, fmpq

from congenial.errors import ArgumentError
from congenial.laws import DiscreteGaussian, DiscreteLaplace
from congenial.randomness import SeededSource
from congenial.samplers._integer_table_kernels import pick
from congenial.samplers.integer_table import WHOLE, IntegerTable, exp_floor, joined
from support.words import Listed, some_words

LAWS = [
    DiscreteLaplace(0.05),
    DiscreteLaplace(0.5),
    DiscreteLaplace(3.0),
    DiscreteLaplace(60.0),
    DiscreteGaussian(sigma=0.3),
    DiscreteGaussian(sigma=2.5),
    DiscreteGaussian(sigma=40.0),
]


def true_probabilities(law, lo, hi):
    """P(z) as fractions of 2^400, good to 2^-330."""
    before, ctx.prec = ctx.prec, 420
    try:
        rate = arb(fmpq(law.exact_rate.numerator, law.exact_rate.denominator))
        weights = {z: (-rate * abs(z) ** law.power).exp() for z in range(lo, hi + 1)}
        far = range(hi + 1, 4 * hi + 2000)
        rest = sum(((-rate * k**law.power).exp() for k in far), arb(0))
        total = sum(weights.values(), 2 * rest)
        return {
            z: Fraction(int((w / total * arb(2) ** 400).mid().floor().unique_fmpz()), 2**400)
            for z, w in weights.items()
        }
    finally:
        ctx.prec = before


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_the_variation_of_a_law_s_table_is_at_least_the_true_one(law):
    table = IntegerTable.of_law(law)
    lo, hi = table.offset, table.offset + len(table) - 1
    assert lo == -hi
    true = true_probabilities(law, lo, hi)
    off = [abs(Fraction(w, WHOLE) - true[lo + i]) for i, w in enumerate(table.weights)]
    left_out = 1 - sum(true.values())
    assert (sum(off) + left_out) / 2 <= Fraction(table.variation)
    assert max(off) <= Fraction(2, WHOLE)
    # and it is no empty claim: a table good to single words would not meet it
    assert table.variation < len(table) * 2.0**-127


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_weights_sum_to_two_to_the_128_exactly(law):
    assert sum(IntegerTable.of_law(law).weights) == WHOLE
    assert min(IntegerTable.of_law(law).weights) >= 0


@pytest.mark.parametrize(
    "weights", [[1], [1, 1], [1, 2, 3], [0, 5, 0, 0, 7, 0], [1, 10**60, 1], list(range(300)), [3] * 64]
)
def test_every_boundary_of_a_table_belongs_to_the_entry_above_it(weights):
    table = IntegerTable.from_weights(-2, weights)
    starts = np.cumsum([0, *table.weights], dtype=object).tolist()
    assert starts[-1] == WHOLE
    for entry, weight in enumerate(table.weights):
        total = sum(weights)
        assert abs(Fraction(weight, WHOLE) - Fraction(weights[entry], total)) <= Fraction(1, WHOLE)
        if weight:
            assert table.index(starts[entry]) == entry
            assert table.index(starts[entry + 1] - 1) == entry
    assert len(table) <= len(weights)
    assert all(w == 0 for w in weights[len(table) :])


def test_weights_that_are_none_are_refused():
    for weights in ([0, 0], [1, -1, 3], [-1]):
        with pytest.raises(ArgumentError, match="whole numbers"):
            IntegerTable.from_weights(0, weights)


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_the_kernel_picks_what_the_table_says(law):
    table = IntegerTable.of_law(law)
    inside = np.random.default_rng(0).integers(0, len(table), 300)
    at_boundaries = np.column_stack([table.high[inside], table.low[inside]]).reshape(-1)
    words = np.concatenate([some_words(600), at_boundaries, at_boundaries - np.uint64(1)])
    source, at = Listed(words), 0
    for _ in range(len(words) // 2):
        i, at = pick(words, at, table.high, table.low, table.guide)
        assert i == source.tabled(table)
        assert at == source.used


def test_a_pick_takes_two_words_even_past_the_end():
    table = IntegerTable.of_law(DiscreteLaplace(1.0))
    words = some_words(3)
    assert pick(words, 2, table.high, table.low, table.guide)[1] == 4


def test_joined_tables_store_one_that_is_repeated_once():
    one, other = IntegerTable.from_weights(0, [1, 2]), IntegerTable.from_weights(0, [5, 5, 5])
    high, low, guide, places = joined([one, other, one])
    assert len(high) == len(low) == 5
    assert places[0] == places[2] == (0, 0)
    assert (guide[places[1][1] :] == other.guide).all()
    assert (high[places[1][0] :] == other.high).all()


def test_exponentials_are_rounded_down_exactly():
    assert exp_floor(Fraction(0)) == 1 << 192
    before, ctx.prec = ctx.prec, 1000
    try:
        for rate in (Fraction(1), Fraction(0.1), Fraction(-2.5), Fraction(300)):
            true = (-arb(fmpq(rate.numerator, rate.denominator))).exp() * arb(2) ** 192
            found = exp_floor(rate)
            assert arb(found) <= true
            assert true < arb(found + 1)
    finally:
        ctx.prec = before


def test_a_law_that_no_table_holds_is_refused():
    with pytest.raises(ArgumentError, match="reaches too far"):
        IntegerTable.of_law(DiscreteLaplace(1e-7))


def test_weights_of_limbs_and_of_whole_numbers_make_the_same_table():
    rng = np.random.default_rng(1)
    rows = rng.integers(0, 2**64, (50, 3), dtype=np.uint64)
    rows[-3:] = 0
    whole = [sum(int(limb) << (64 * i) for i, limb in enumerate(row)) for row in rows]
    one, other = IntegerTable.from_limbs(7, rows, 0.0), IntegerTable.from_weights(7, whole)
    assert len(one) == len(other) == 47
    assert max(abs(a - b) for a, b in zip(one.weights, other.weights, strict=True)) <= 1
    assert sum(one.weights) == WHOLE


def test_a_table_s_repr_shows_no_weights():
    assert repr(IntegerTable.of_law(DiscreteLaplace(60.0))).startswith("IntegerTable(-")
    assert SeededSource(1).tabled(IntegerTable.from_weights(0, [1])) == 0
