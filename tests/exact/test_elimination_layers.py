"""Three-way tables by layers: the law of an accepted attempt against brute force, the bound's pieces."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from congenial.laws import DiscreteGaussian, DiscreteLaplace
from congenial.samplers.crossing.elimination import PreparedElimination, WeightedElimination
from congenial.samplers.crossing.elimination_layers import (
    Frame,
    Split,
    eliminated,
    first_depths,
    flow,
    frame,
    grid_for,
    improved,
    windows,
)
from congenial.samplers.crossing.elimination_layers_build import layered
from congenial.samplers.crossing.elimination_layers_plan import table_of
from congenial.samplers.crossing.elimination_lines import lines_of
from congenial.samplers.crossing.elimination_program import Program, attempt
from congenial.samplers.crossing.tables import point
from support.branching import exact_law
from support.elimination_cases import Case, boxed, brute, facts, margins
from support.words import Listed, some_words

ALL_LINES = [(0, 1), (0, 2), (1, 2)]


def table_case(shape: tuple[int, int, int], kind: str, bounded: bool, reach: int = 1) -> Case:
    """A three-way table with laws that differ from cell to cell; bounded: some cells cannot fall."""
    unaries = []
    for e in range(math.prod(shape)):
        scale = 0.3 + 0.17 * (e % 4)
        law = DiscreteLaplace(scale) if kind == "laplace" else DiscreteGaussian(sigma=0.8 / math.sqrt(scale))
        unaries.append(boxed(law, 0 if bounded and e % 5 == 0 else -reach, reach))
    return Case(tuple(unaries), facts(margins(shape, ALL_LINES)))


def accepted(program: Program) -> dict[tuple[int, ...], float]:
    def once(source: object) -> tuple[int, ...] | None:
        found = attempt(program, source)  # type: ignore[arg-type]
        return None if found is None else tuple(int(v) for v in found)

    law = exact_law(once)
    chance = sum(float(p) for z, p in law.items() if z is not None)
    return {z: float(p) / chance for z, p in law.items() if z is not None}  # type: ignore[misc]


def worst_ratio(law: dict[tuple[int, ...], float], other: dict[tuple[int, ...], float]) -> float:
    if law.keys() != other.keys():
        return np.inf
    return max(abs(np.log(law[z] / other[z])) for z in law)


def framed(given: Case) -> tuple[object, Frame]:
    model = table_of(given.unaries, given.terminals)
    assert model is not None
    lines = lines_of(model)
    assert lines is not None
    return model, frame(model, lines)


@pytest.mark.parametrize("bounded", [False, True], ids=["free", "nonnegative"])
@pytest.mark.parametrize("kind", ["laplace", "gaussian"])
def test_an_accepted_attempt_at_a_3x3x3_has_the_law(kind: str, bounded: bool) -> None:
    given = table_case((3, 3, 3), kind, bounded)
    prepared = WeightedElimination().prepare(given.unaries, given.terminals, seconds=0.02)
    assert prepared.kind == "layers"
    assert worst_ratio(accepted(prepared.program), brute(given)) < 1e-12


def test_it_has_the_law_with_any_foresight_and_any_split_into_core_and_tail() -> None:
    given = table_case((3, 3, 3), "laplace", bounded=False)
    model, table = framed(given)
    spans = windows(table, lambda cells: (-9, 9))
    rng = np.random.default_rng(8)
    depth = {
        key: v if key[0] in (0, 2) else np.exp(rng.normal(size=len(v)))
        for key, v in first_depths(table, spans).items()
    }
    splits = {
        key: Split((0, 0), (min(0, spans.s[key][1]), min(1, spans.s[key][1])))
        for key in table.laws
        if key[0] < 2 and key[2] < 2 and len(table.laws[key]) == 3 and spans.s[key][0] <= 0
    }
    found = eliminated(table, spans, grid_for(table), depth, splits=splits)
    program, _ = layered(model, table, spans, found, splits)  # type: ignore[arg-type]
    assert program.split > 4
    assert worst_ratio(accepted(program), brute(given)) < 1e-12


def test_structural_zeros_and_totals_that_are_not_zero_are_kept() -> None:
    """A cell that must be one makes totals of the others; a cell that is missing is zero."""
    given = table_case((3, 3, 3), "laplace", bounded=False)
    unaries = list(given.unaries)
    unaries[0], unaries[13] = point(1), point(0)
    given = Case(tuple(unaries), given.terminals)
    prepared = WeightedElimination().prepare(given.unaries, given.terminals, seconds=0.02)
    assert prepared.kind == "layers"
    assert worst_ratio(accepted(prepared.program), brute(given)) < 1e-12


def homogeneous(n: int, reach: int = 5) -> PreparedElimination:
    law = boxed(DiscreteLaplace(1.0), -reach, reach)
    rows = facts(margins((n, n, n), ALL_LINES))
    return WeightedElimination().prepare((law,) * n**3, rows, seconds=0.1)


def test_kernel_and_twin_agree_and_no_factor_is_above_one() -> None:
    prepared = homogeneous(3)
    assert prepared.program.split
    words = some_words(40_000, seed=9)
    out = np.empty((150, prepared.width), dtype=np.int64)
    filled = prepared.fill(words, out)
    source = Listed(words)
    assert np.array_equal(out, [prepared.draw(source) for _ in range(150)])  # type: ignore[arg-type]
    assert source.used == filled.words
    many = np.empty((20_000, 27), dtype=np.int64)
    _, _, attempts, worst = prepared.program.fill(some_words(1_500_000, seed=10), many)
    assert attempts > 10_000
    assert 0.9 < worst <= 1 + 1e-12


def test_a_kernel_that_is_interrupted_after_any_word_draws_the_same() -> None:
    prepared = homogeneous(3)
    words = some_words(400, seed=11)
    whole = np.zeros((4, 27), dtype=np.int64)
    filled = prepared.fill(words, whole)
    assert filled.draws == 4
    for stop in range(filled.words + 1):
        out = np.zeros((4, 27), dtype=np.int64)
        first = prepared.fill(words[:stop], out)
        rest = prepared.fill(words[first.words :], out[first.draws :])
        assert np.array_equal(out, whole)
        assert first.words + rest.words == filled.words


def test_three_by_three_by_three_accepts_nine_attempts_in_ten() -> None:
    """The yardstick of the issue is .55; ε = 1, all two-way margins fixed."""
    assert homogeneous(3, reach=12).acceptance > 0.9


def test_the_derivative_by_foresight_is_what_differences_say() -> None:
    model, table = framed(table_case((3, 3, 4), "laplace", bounded=True, reach=2))
    del model
    spans = windows(table, lambda cells: (-9, 9))
    grid = grid_for(table)
    depth = first_depths(table, spans)
    slope = flow(table, spans, grid, eliminated(table, spans, grid, depth, 0.1), 0.1)
    for key, at in [((1, 0, 0), 1), ((1, 2, 1), 2), ((2, 1, 2), 0)]:
        moved = []
        for step in (1e-5, -1e-5):
            trial = dict(depth)
            trial[key] = depth[key].copy()
            trial[key][at] *= math.exp(step)
            moved.append(eliminated(table, spans, grid, trial, 0.1).log_bound)
        assert slope[key][at] == pytest.approx((moved[0] - moved[1]) / 2e-5, rel=2e-3, abs=1e-5)


def test_foresight_lowers_the_bound_and_never_below_the_normaliser() -> None:
    given = table_case((3, 3, 3), "laplace", bounded=False)
    model, table = framed(given)
    spans = windows(table, lambda cells: (-9, 9))
    grid = grid_for(table)
    start = eliminated(table, spans, grid, first_depths(table, spans))
    found = improved(table, spans, grid, first_depths(table, spans), 20)
    law = brute(given)
    at = max(law, key=lambda z: law[z])
    weight = sum(
        math.log(float(w[v - int(lo)])) for w, v, lo in zip(model.laws, at, model.lo, strict=True)  # type: ignore[attr-defined]
    )
    assert weight - math.log(law[at]) < found.log_bound < start.log_bound


def test_lines_are_found_whatever_the_order_of_cells() -> None:
    shape = (3, 4, 5)
    rng = np.random.default_rng(2)
    shuffled = rng.permutation(60)
    rows = np.array(margins(shape, ALL_LINES))[:, shuffled]
    law = boxed(DiscreteLaplace(1.0), -1, 1)
    model = table_of((law,) * 60, facts(rows.tolist()))
    assert model is not None
    lines = lines_of(model)
    assert lines is not None
    assert sorted(lines.shape) == [3, 4, 5]
    assert sorted(lines.cells.ravel()) == list(range(60))
    for axes in itertools.permutations(range(3)):
        turned = lines.turned(axes)  # type: ignore[arg-type]
        r, _, d = turned.shape
        for cells in (*turned.cells.reshape(-1, d), *turned.cells.transpose(2, 1, 0).reshape(-1, r)):
            assert (rows[:, cells].all(axis=1) & (rows.sum(axis=1) == len(cells))).any()


@pytest.mark.parametrize(
    ("rows", "cells"),
    [
        (margins((3, 3, 3), [(0, 1), (0, 2)]), 27),
        (margins((3, 3, 3), ALL_LINES)[:-1], 27),
        (margins((3, 3), [(0,), (1,)]), 9),
        (margins((3, 3, 2), ALL_LINES), 18),
    ],
    ids=["two margins", "a line missing", "two axes", "an axis of two"],
)
def test_other_blocks_are_not_taken_for_three_way_tables(rows: list[list[int]], cells: int) -> None:
    law = boxed(DiscreteLaplace(1.0), -1, 1)
    assert table_of((law,) * cells, facts(rows)) is None
