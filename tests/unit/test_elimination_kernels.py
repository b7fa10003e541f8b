"""The kernel of weighted elimination draws what its plain twin draws, on the same words."""

from __future__ import annotations

import numpy as np
import pytest

from congenial.laws import DiscreteLaplace
from congenial.randomness import SeededSource
from congenial.samplers.crossing.elimination import PreparedElimination, WeightedElimination
from congenial.samplers.crossing.elimination_program import descend, folded
from congenial.samplers.running import draw_rows
from support.elimination_cases import NAMES, boxed, case, facts, margins
from support.words import Listed, some_words


def prepared_case(name: str, bounded: bool = True) -> PreparedElimination:
    given = case(name, "laplace", bounded)
    return WeightedElimination().prepare(given.unaries, given.terminals, seconds=0.02, memory_limit=2e5)


def prepared_wide() -> PreparedElimination:
    """Windows with core and tail, and steps that reject."""
    law = boxed(DiscreteLaplace(0.5), -40, 40)
    return WeightedElimination().prepare(
        (law,) * 9, facts(margins((3, 3), [(0,), (1,)])), seconds=0.02, memory_limit=1e5
    )


def twin_rows(prepared: PreparedElimination, words: np.ndarray, rows: int) -> tuple[np.ndarray, int]:
    source = Listed(words)
    found = np.array([prepared.draw(source) for _ in range(rows)])  # type: ignore[arg-type]
    return found, source.used


@pytest.mark.parametrize("name", NAMES)
def test_kernel_and_twin_agree_on_the_same_words(name: str) -> None:
    prepared = prepared_case(name)
    words = some_words(20_000, seed=3)
    out = np.empty((60, prepared.width), dtype=np.int64)
    filled = prepared.fill(words, out)
    expected, used = twin_rows(prepared, words, filled.draws)
    assert filled.draws == 60
    assert filled.words == used
    assert np.array_equal(out[: filled.draws], expected)


def test_kernel_and_twin_agree_in_core_and_tail_and_when_they_begin_again() -> None:
    prepared = prepared_wide()
    assert prepared.program.split
    assert prepared.acceptance < 1
    words = some_words(60_000, seed=4)
    out = np.empty((400, prepared.width), dtype=np.int64)
    filled = prepared.fill(words, out)
    expected, used = twin_rows(prepared, words, filled.draws)
    assert filled.draws == 400
    assert filled.words == used
    assert np.array_equal(out, expected)


def test_a_kernel_that_is_interrupted_after_any_word_draws_the_same() -> None:
    prepared = prepared_wide()
    words = some_words(600, seed=5)
    whole = np.zeros((5, prepared.width), dtype=np.int64)
    filled = prepared.fill(words, whole)
    assert filled.draws == 5
    for stop in range(filled.words + 1):
        out = np.zeros((5, prepared.width), dtype=np.int64)
        first = prepared.fill(words[:stop], out)
        assert first.words <= stop
        rest = prepared.fill(words[first.words :], out[first.draws :])
        assert np.array_equal(out, whole), stop
        assert first.words + rest.words == filled.words


def test_draws_keep_every_fact() -> None:
    given = case("2x5 entries 0..3", "gaussian", bounded=False)
    prepared = WeightedElimination().prepare(given.unaries, given.terminals, seconds=0.02)
    rows = np.array([t.coefficients for t in given.terminals])
    assert not (draw_rows(prepared, SeededSource(1), 500) @ rows.T).any()


def test_no_factor_is_above_one_in_many_attempts() -> None:
    prepared = prepared_wide()
    out = np.empty((20_000, prepared.width), dtype=np.int64)
    _, _, attempts, worst = prepared.program.fill(SeededSource(2).take(2_000_000), out)
    assert attempts > 10_000
    assert 0.5 < worst <= 1 + 1e-12


def test_the_walk_down_a_tree_has_the_chances_of_the_weights() -> None:
    """Each value's chance is the product of its forks, equal to its weight over the sum of all."""
    for n in range(1, 20):
        weights = np.random.default_rng(n).gamma(0.3, size=n)
        levels = folded(weights)
        assert levels[-1][0] == pytest.approx(weights.sum(), rel=1e-14)
        for value in range(n):
            steered = _Steered(value, levels)
            assert descend(levels, steered) == value  # type: ignore[arg-type]
            assert steered.chance == pytest.approx(weights[value] / weights.sum(), rel=1e-13)


class _Steered:
    """Takes the way to a value at every fork, and multiplies up its chances."""

    def __init__(self, value: int, levels: list[np.ndarray]) -> None:
        self.ways = []
        for below in levels[:-1]:
            half = (len(below) + 1) // 2
            if value % half + half < len(below):
                self.ways.append(int(value >= half))
            value %= half
        self.chance = 1.0

    def categorical(self, weights: np.ndarray) -> int:
        way = self.ways.pop()
        self.chance *= float(weights[way] / weights.sum())
        return way
