"""The kernel of twisted columns is its twin on the same words, however it is interrupted."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from congenial.laws import DiscreteGaussian, DiscreteLaplace
from congenial.randomness import SeededSource
from congenial.samplers.crossing import _twisted_chance_kernels as kernels
from congenial.samplers.crossing._twisted_kernels import fill_columns
from congenial.samplers.crossing.tables import point, unary_from_law
from support.twisted_arrays import array_of, prepared
from support.words import Listed, some_words


def counts_array(law, rows, columns, log2_mass=-230.0):
    """Non-negative counts, some zero, one structural zero."""
    counts = np.random.default_rng(rows).poisson(2, size=(rows, columns))
    array = [[unary_from_law(law, -int(v), None, log2_mass) for v in row] for row in counts]
    array[1][1] = point()
    return array


@cache
def case(name):
    laplace = unary_from_law(DiscreteLaplace(0.25), None, None, -130.0)
    arrays = {
        "4x4": lambda: [[laplace] * 4] * 4,
        "12x3": lambda: [[laplace] * 3] * 12,
        "counts": lambda: counts_array(DiscreteLaplace(1.0), 6, 5),
        "gaussian counts": lambda: counts_array(DiscreteGaussian(sigma=2.5), 5, 4),
        "short": lambda: array_of("3x3", "laplace", "zeros"),
    }
    return prepared(arrays[name](), -110.0)


@pytest.mark.parametrize("depth", [0, 1, 2])
@pytest.mark.parametrize("name", ["4x4", "12x3", "counts", "gaussian counts", "short"])
def test_the_kernel_draws_what_the_twin_draws(name, depth):
    plan, draws = case(name), 30
    source = SeededSource(4)
    expected = np.array([plan.draw(source) for _ in range(draws)])
    out = np.zeros_like(expected)
    words = SeededSource(4).take(1 << 16)
    done, used, _, _ = fill_columns(words, out, plan.built.tables, depth)
    assert done == draws
    assert (out == expected).all()
    # not a word more or less: both sources stand at the same place
    assert words[used] == source.take(1)[0]


@pytest.mark.parametrize("limit", [0, 1, 2])
@pytest.mark.parametrize("name", ["4x4", "12x3", "counts", "short"])
def test_the_kernel_draws_what_the_twin_draws_where_tries_end_early(name, limit):
    plan, draws = case(name), 12
    marks = plan.built.tables.column_marks.copy()
    marks[:, kernels.LIMIT] = limit
    plan = replace(plan, built=replace(plan.built, tables=plan.built.tables._replace(column_marks=marks)))
    source = SeededSource(6)
    expected = np.array([plan.draw(source) for _ in range(draws)])
    words = SeededSource(6).take(1 << 15)
    for seen in (len(words), 3000, 200):
        out = np.zeros_like(expected)
        done, used = plan.fill(words[:seen], out)
        assert used <= seen
        assert (out[:done] == expected[:done]).all()
        if seen == len(words):
            assert done == draws
            assert words[used] == source.take(1)[0]


def test_an_unlikely_sum_does_not_take_words_without_end():
    # the group's sum is often far out: forcing one row would take thousands of tries, now and then millions
    law = unary_from_law(DiscreteLaplace(1.0), None, None, -60.0)
    plan = prepared([[law] * 6] * 40, -40.0)
    assert (plan.built.tables.column_marks[:, kernels.OUTSIDE] < 40).all()
    source, most = SeededSource(2), 0
    out = np.zeros((1, plan.width), dtype=np.int64)
    for _ in range(4000):
        words = source.take(1 << 17)
        done, used = plan.fill(words, out)
        source.give_back(len(words) - used)
        most = max(most, used)
        assert done == 1
    assert most < 20_000


def test_most_tests_are_decided_by_a_few_frequencies():
    out = np.zeros((20_000, 16), dtype=np.int64)
    words = SeededSource(1).take(1 << 22)
    done, _, attempts, undecided = fill_columns(words, out, case("4x4").built.tables, 0)
    assert done == len(out)
    assert undecided < 0.002 * attempts


def test_draws_are_the_same_without_stored_sums():
    whole = case("counts")
    tables = whole.built.tables
    marks = tables.marks.copy()
    assert (marks[:, kernels.AT] >= 0).any()
    marks[:, kernels.AT] = -1
    frugal = replace(whole, built=replace(whole.built, tables=tables._replace(marks=marks)))
    words = SeededSource(9).take(20_000)
    outs = [np.zeros((60, 30), dtype=np.int64) for _ in range(2)]
    for plan, out in zip((whole, frugal), outs, strict=True):
        assert plan.fill(words, out).draws == 60
    assert (outs[0] == outs[1]).all()


@pytest.mark.parametrize("name", ["short", "counts", "12x3"])
def test_an_interrupted_draw_is_begun_again_on_its_own_words(name):
    plan = case(name)
    words = some_words(700, seed=2)
    whole = np.zeros((40, plan.width), dtype=np.int64)
    ends = [0]
    for k in range(len(whole)):
        done, used = plan.fill(words[ends[-1] :], whole[k : k + 1])
        if not done:
            break
        ends.append(ends[-1] + used)
    assert len(ends) > 3
    for seen in range(ends[-1] + 1):
        out = np.zeros_like(whole)
        done, used = plan.fill(words[:seen], out)
        # exactly the draws whose words have all been seen, and no word of the next
        assert done == np.searchsorted(ends, seen, side="right") - 1
        assert used == ends[done]
        assert (out[:done] == whole[:done]).all()


def test_the_twin_uses_the_words_that_the_kernel_uses():
    plan, words = case("counts"), some_words(2000, seed=5)
    out = np.zeros((5, plan.width), dtype=np.int64)
    done, used = plan.fill(words, out)
    source = Listed(words)
    assert done == 5
    assert all((plan.draw(source) == row).all() for row in out)
    assert source.used == used


def test_words_at_either_end_of_their_range_are_no_trouble():
    plan = case("4x4")
    rng = np.random.default_rng(8)
    odd = np.array([0, 1, 2**53 - 1, 2**53, 2**64 - 1], dtype=np.uint64)
    for _ in range(30):
        words = some_words(4000, seed=int(rng.integers(1 << 30)))
        words[rng.integers(0, 60, 12)] = rng.choice(odd, 12)
        out = np.zeros((3, 16), dtype=np.int64)
        done, used = plan.fill(words, out)
        source = Listed(words)
        assert done == 3
        assert all((plan.draw(source) == row).all() for row in out)
        assert source.used == used
