"""One fixed sum without sampling: shapes by branching, the table in fractions, the law by enumeration."""

import math
from collections import defaultdict
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from flint import arb, ctx, fmpq

from congenial.errors import ArgumentError, NoSamplerError
from congenial.laws import DiscreteLaplace
from congenial.problems.structure import FREE
from congenial.randomness import SeededSource
from congenial.samplers.base import Refusal
from congenial.samplers.composition import Group, acceptance_bound, prepare, quote
from congenial.samplers.integer_table import WHOLE, IntegerTable
from congenial.samplers.running import draw_rows, run
from congenial.samplers.uniform_compositions import total_table, uniform_composition
from support.branching import exact_law
from support.brute import SmallProblem, brute_force, each_cell
from support.words import Listed, some_words


def by_number_of_tries(draw, cut):
    """tries -> {outcome: probability}; tries of one number are enumerated whole or not at all."""
    laws = defaultdict(dict)

    def counted(source):
        outcome = draw(source)
        return len(source.forks), outcome

    for (tries, outcome), probability in exact_law(counted, cut).items():
        laws[tries][outcome] = probability
    return laws


@pytest.mark.parametrize(
    ("total", "parts", "cut"),
    [
        (1, 3, 1e-5),
        (2, 3, 1e-5),
        (4, 3, 2e-4),
        (6, 3, 1e-3),
        (1, 5, 1e-5),
        (2, 5, 1e-4),
        (3, 5, 1e-4),
        (4, 5, 2e-5),
    ],
)
def test_every_composition_is_exactly_equally_likely_whatever_the_number_of_tries(total, parts, cut):
    laws = by_number_of_tries(lambda source: tuple(uniform_composition(source, total, parts)), cut)
    assert len(laws) >= min(total, 2)
    for law in laws.values():
        assert len(law) == math.comb(total + parts - 1, parts - 1)
        assert len(set(law.values())) == 1
        assert all(sum(z) == total and min(z) >= 0 for z in law)


def test_bars_that_may_fall_together_are_caught():
    def careless(source, total, parts):
        bars = sorted(source.below(total + 1) for _ in range(parts - 1))
        return tuple(b - a for a, b in pairwise([0, *bars, total]))

    laws = by_number_of_tries(lambda source: careless(source, 4, 3), 0)
    assert any(len(set(law.values())) > 1 for law in laws.values())


@pytest.mark.parametrize(("total", "parts"), [(0, 1), (0, 4), (7, 1)])
def test_what_leaves_no_choice_takes_no_randomness(total, parts):
    law = exact_law(lambda source: (len(source.forks), *uniform_composition(source, total, parts)))
    assert law == {(0, *([total] if parts == 1 else [0] * parts)): 1}


def true_totals(parts, epsilon, s, first, last):
    """P(H) for first … last, as fractions good to 2^-300."""
    before, ctx.prec = ctx.prec, 500
    try:
        rate = Fraction(epsilon)
        a2 = (-2 * arb(fmpq(rate.numerator, rate.denominator))).exp()
        weight = arb(math.comb(s + parts - 1, parts - 1))
        weights, k = [], 0
        while k <= last or weights[-1] > arb(2) ** -420 * max(weights[-1], weights[first]):
            weights.append(weight)
            weight = weight * a2 * ((k + s + parts) * (k + parts)) / ((k + s + 1) * (k + 1))
            k += 1
        total = sum(weights, arb(0))
        return [
            Fraction(int((w / total * arb(2) ** 400).mid().floor().unique_fmpz()), 2**400) for w in weights
        ]
    finally:
        ctx.prec = before


CASES = [
    (2, 0.5, 0),
    (3, 1.0, 0),
    (5, 0.1, 0),
    (5, 0.5, 40),
    (3, 3.0, -7),
    (3, 40.0, 2),
    (102, 0.192, 0),
    (102, 0.192, -60),
    (400, 2.0, 1000),
    (3143, 0.192, 0),
]


@pytest.mark.parametrize(("parts", "epsilon", "s"), CASES)
def test_the_table_of_totals_is_the_exact_law_to_two_units_of_2_to_the_minus_128(parts, epsilon, s):
    table = total_table(parts, epsilon, s)
    first, last = table.offset, table.offset + len(table) - 1
    true = true_totals(parts, epsilon, abs(s), first, last)
    off = [abs(Fraction(w, WHOLE) - true[first + i]) for i, w in enumerate(table.weights)]
    assert sum(table.weights) == WHOLE
    assert max(off) <= Fraction(2, WHOLE)
    left_out = 1 - sum(true[first : last + 1])
    assert (sum(off) + left_out) / 2 <= Fraction(table.variation)
    assert table.variation <= 2.0**-110


@pytest.mark.parametrize("wrong", ["a for a squared", "one part more", "s forgotten"])
def test_a_wrong_table_of_totals_is_caught(wrong):
    made = {
        "a for a squared": total_table(5, 0.25, 3),
        "one part more": total_table(6, 0.5, 3),
        "s forgotten": total_table(5, 0.5, 0),
    }[wrong]
    true = true_totals(5, 0.5, 3, made.offset, made.offset + len(made) - 1)
    off = [abs(Fraction(w, WHOLE) - true[made.offset + i]) for i, w in enumerate(made.weights)]
    assert max(off) > Fraction(1, 1000)


def composed_law(parts, epsilon, s, z):
    """P(z) from the sampler's own table and two uniform compositions, as a fraction.

    g - h = z with h of total H: h = z⁻ + k, so there are C(H - |z⁻| + n-1, n-1) pairs of compositions.
    """
    table = total_table(parts, epsilon, s)
    minus = sum(max(0, -v) for v in z) - max(0, -s)
    bars = parts - 1
    found = Fraction(0)
    for i, weight in enumerate(table.weights):
        h = table.offset + i
        if h >= minus:
            pairs = math.comb(h - minus + bars, bars)
            ways = math.comb(h + bars, bars) * math.comb(h + abs(s) + bars, bars)
            found += Fraction(weight * pairs, WHOLE * ways)
    return found


@pytest.mark.parametrize(
    ("parts", "epsilon", "s"), [(3, 1.0, 0), (5, 0.5, 0), (3, 0.5, 2), (5, 1.0, -3), (2, 0.3, 1)]
)
def test_the_composed_law_equals_brute_force(parts, epsilon, s):
    # the first cell stands at -s, so that y = x + z with a zero sum is noise with sum s
    window = {2: 30, 3: 12, 5: 4}[parts]
    x = [0] * parts
    limits = [([1] * parts, s, s)]
    law = brute_force(
        SmallProblem(x, each_cell(parts, DiscreteLaplace(epsilon)), limits=limits, window=window)
    )
    own = {z: composed_law(parts, epsilon, s, z) for z in list(law)[:: max(1, len(law) // 150)]}
    mass = own[next(iter(own))] / Fraction(law[next(iter(own))])
    for z, probability in own.items():
        assert abs(float(probability / mass) / law[z] - 1) < 1e-12


@pytest.mark.parametrize(("parts", "epsilon"), [(3, 1.0), (5, 0.5)])
def test_the_composed_law_falls_by_exactly_a_for_each_unit(parts, epsilon):
    before, ctx.prec = ctx.prec, 400
    try:
        zero = composed_law(parts, epsilon, 0, [0] * parts)
        for z in ([1, -1], [2, -1, -1], [9, -9], [0, -20, 20]):
            point = (z + [0] * parts)[:parts]
            ratio = composed_law(parts, epsilon, 0, point) / zero
            size = sum(map(abs, point))
            true = (-arb(fmpq(Fraction(epsilon).numerator, Fraction(epsilon).denominator)) * size).exp()
            assert float(abs(arb(fmpq(ratio.numerator, ratio.denominator)) / true - 1)) < 2.0**-60
    finally:
        ctx.prec = before


SHAPES = [
    ([5], [0.5], [0]),
    ([102], [0.192], [0]),
    ([102], [2.5], [0]),
    ([3143], [0.192], [0]),
    ([1, 2, 3, 70], [0.3, 0.3, 1.0, 0.3], [4, 0, -2, 300]),
    ([40, 40, 7, 40], [0.1, 0.1, 300.0, 0.1], [0, 0, 1, 0]),
    ([6, 500], [0.01, 8.0], [-5, 0]),
]


def scattered(sizes, epsilons, sums, seed=0):
    """Groups over cells in a random order, with a few cells that belong to none."""
    width = sum(sizes) + 3
    order = np.random.default_rng(seed).permutation(width)
    ends = np.cumsum([0, *sizes])
    groups = [
        Group(order[a:b], e, s) for (a, b), e, s in zip(pairwise(ends.tolist()), epsilons, sums, strict=True)
    ]
    return groups, width


@pytest.mark.parametrize(("sizes", "epsilons", "sums"), SHAPES, ids=lambda v: str(v)[:20])
def test_kernel_and_twin_agree_on_the_same_words(sizes, epsilons, sums):
    groups, width = scattered(sizes, epsilons, sums)
    prepared = prepare(groups, width)
    source = SeededSource(11)
    words = source.take(4 * prepared.words_hint * 4 + 64).copy()
    out = np.full((4, width), 77)
    filled = prepared.fill(words, out)
    assert filled.draws == 4
    twin = Listed(words)
    inside = np.concatenate([g.cells for g in groups])
    outside = np.setdiff1d(np.arange(width), inside)
    for row in out:
        expected = prepared.draw(twin)
        assert (row[inside] == expected[inside]).all()
        assert (row[outside] == 77).all()
        for g in groups:
            assert row[g.cells].sum() == g.total
    assert twin.used == filled.words


def bounded(width, low, high):
    return np.full(width, low), np.full(width, high)


def test_kernel_and_twin_agree_where_bounds_make_a_group_begin_again():
    groups, width = scattered([4, 6, 5], [1.0, 1.0, 0.5], [0, 0, 3])
    lower, upper = bounded(width, -2, 3)
    lower[groups[2].cells], upper[groups[2].cells] = -FREE, FREE
    prepared = prepare(groups, width, lower=lower, upper=upper)
    words = some_words(20_000)
    out = np.empty((300, width), dtype=np.int64)
    filled = prepared.fill(words, out)
    assert filled.draws == 300
    twin = Listed(words)
    for row in out:
        expected = prepared.draw(twin)
        assert all((row[g.cells] == expected[g.cells]).all() for g in groups)
        assert all((row[g.cells] >= -2).all() and (row[g.cells] <= 3).all() for g in groups[:2])
    assert twin.used == filled.words
    free = prepare(groups, width).fill(words, out)
    assert free.words < filled.words  # some groups did begin again


@pytest.mark.parametrize("with_bounds", [False, True])
def test_a_kernel_interrupted_at_every_word_goes_on_as_if_it_had_not_been(with_bounds):
    groups, width = scattered([5, 12, 3], [0.7, 0.7, 0.7], [0, 3, 0])
    lower, upper = bounded(width, -FREE, FREE)
    if with_bounds:
        lower[groups[0].cells] = -6
    prepared = prepare(groups, width, lower=lower, upper=upper)
    words = some_words(4000, 5)
    whole = np.zeros((6, width), dtype=np.int64)
    straight = Listed(words)
    run(prepared, straight, whole)
    for stop in range(1, straight.used + 2):
        out = np.zeros((6, width), dtype=np.int64)
        source = Listed(words, [stop, stop + 1, stop + 9])
        run(prepared, source, out)
        assert (out == whole).all(), f"interrupted after {stop} words"
        assert source.used == straight.used


@pytest.mark.parametrize(("x", "epsilon"), [((4, 4, 5), 1.0), ((6, 7, 8, 9), 0.7), ((3, 3), 1.0)])
def test_the_acceptance_bound_is_below_the_true_chance(x, epsilon):
    n = len(x)
    measured = each_cell(n, DiscreteLaplace(epsilon))
    law = brute_force(SmallProblem(x, measured, facts=[[1] * n], window=22))
    kept = math.fsum(p for z, p in law.items() if all(a + b >= 0 for a, b in zip(x, z, strict=True)))
    both = math.fsum(p for z, p in law.items() if all(-a <= b <= a + 1 for a, b in zip(x, z, strict=True)))
    lower, free = -np.array(x), np.full(n, FREE)
    assert 0.5 < acceptance_bound(epsilon, lower, free) <= kept
    assert acceptance_bound(epsilon, lower, -lower + 1) <= both
    assert acceptance_bound(epsilon, -free, free) == 1


@pytest.mark.parametrize("with_bounds", [False, True])
def test_the_certificate_counts_every_table_and_the_chance_of_the_bounds(with_bounds):
    groups, width = scattered([5, 5, 9], [1.0, 1.0, 1.0], [0, 0, 0])
    lower, upper = bounded(width, -4 if with_bounds else -FREE, FREE)
    prepared = prepare(groups, width, lower=lower, upper=upper)
    variations = [total_table(n, 1.0).variation for n in (5, 5, 9)]
    chance = acceptance_bound(1.0, lower[:9], upper[:9])
    assert prepared.certificate.kind == "exact"
    assert prepared.certificate.relative_error == 0
    assert 2.0**prepared.certificate.tail_log2 >= sum(variations) * (1 - 1e-9)
    assert 2.0**prepared.certificate.tail_log2 <= sum(variations) / chance * (1 + 1e-6)
    assert (2.0**prepared.certificate.tail_log2 > 1.01 * sum(variations)) == with_bounds


def test_groups_of_one_size_share_one_table():
    groups, width = scattered([5, 5, 5], [1.0, 1.0, 1.0], [2, -2, 0])
    prepared = prepare(groups, width)
    assert prepared.tables[0] is prepared.tables[1]
    assert prepared.tables[0] is not prepared.tables[2]


def test_a_quote_comes_near_to_what_is_built():
    for n, epsilon, s in [(5, 0.5, 0), (102, 0.192, 0), (3143, 0.192, 0), (30, 0.01, 500), (50, 3.0, 4)]:
        quoted = quote([Group(np.arange(n), epsilon, s)])
        built = sum(a.nbytes for a in prepare([Group(np.arange(n), epsilon, s)], n)._arrays)
        assert 0.2 < quoted.memory / built < 5
        assert quoted.seconds < 1e-3


def test_what_cannot_be_served_is_refused_with_the_reason():
    two = np.arange(2)
    assert isinstance(quote([Group(np.arange(4000), 1e-6)]), Refusal)
    with pytest.raises(NoSamplerError, match="too wide for a table"):
        prepare([Group(np.arange(4000), 1e-6)], 4000)
    with pytest.raises(NoSamplerError, match="total variation that was allowed"):
        prepare([Group(two, 1.0)], 2, 2.0**-127)
    near = np.array([-1, -1, -1])
    assert isinstance(quote([Group(np.arange(3), 0.1)], near, None), Refusal)
    with pytest.raises(NoSamplerError, match="within reach"):
        prepare([Group(np.arange(3), 0.1)], 3, lower=near)
    # with another sum nothing is proven of the chance
    assert isinstance(quote([Group(two, 5.0, 1)], -np.array([50, 50]), None), Refusal)


@pytest.mark.parametrize(
    ("groups", "slack", "says"),
    [
        ([[0, 1], [1, 2]], None, "must not share cells"),
        ([[0, 5]], None, "outside 0 … 3"),
        ([[-1, 0]], None, "outside 0 … 3"),
        ([[]], None, "is empty"),
        ([[0, 1]], [1, 0, 0, 0], "leaves out zero noise"),
        ([[0, 1]], [0, 0], "one entry for each of the 4 cells"),
    ],
)
def test_groups_and_bounds_that_make_no_sense_are_refused(groups, slack, says):
    lower = None if slack is None else np.array(slack)
    made = [Group(np.array(g, dtype=np.int64), 1.0) for g in groups]
    with pytest.raises(ArgumentError, match=says):
        prepare(made, 4, lower=lower)


def test_no_group_at_all_draws_nothing():
    assert draw_rows(prepare([], 3), SeededSource(1), 2).shape == (2, 3)


def test_a_group_that_breaks_a_bound_begins_again_and_has_the_law_given_its_bounds():
    table = IntegerTable.from_weights(0, [8, 4, 2, 1])
    lower = np.array([-1, -2])
    built = prepare([Group(np.arange(2), 3.0)], 2, lower=lower)
    prepared = replace(built, tables=(table,))
    found = exact_law(lambda source: tuple(prepared.draw(source).tolist()), 1e-6)
    # with two cells there is one bar: H + 1 - |k| of (H + 1)² pairs of compositions have z = (k, -k)
    free = {
        k: sum(Fraction(table.weights[h] * max(0, h + 1 - abs(k)), (h + 1) ** 2) for h in range(4))
        for k in range(-3, 4)
    }
    true = {(k, -k): free[k] / (free[-1] + free[0] + free[1] + free[2]) for k in (-1, 0, 1, 2)}
    kept = {(k, -k): free[k] / sum(free.values()) for k in (-1, 0, 1, 2)}
    assert set(found) == set(true)
    assert float(found.unexplored) < 1e-3
    assert all(abs(found[z] - true[z]) <= found.unexplored for z in true)
    # set aside and *kept* when broken, or begun again for ever elsewhere, would be further off than that
    assert any(abs(kept[z] - true[z]) > 10 * found.unexplored for z in true)
