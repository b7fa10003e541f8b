"""What weighted elimination does to a block before it looks for tables: reductions, conflicts, short rows."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from congenial.errors import ArgumentError, ConflictError, NoSamplerError
from congenial.laws import DiscreteLaplace
from congenial.samplers.crossing.elimination import WeightedElimination
from congenial.samplers.crossing.elimination_model import reduce
from congenial.samplers.crossing.elimination_point import keeps, likely_point
from congenial.samplers.crossing.elimination_rows import (
    distinct,
    independent_columns,
    independent_rows,
    shortened,
)
from congenial.samplers.crossing.tables import Terminal, Unary, point
from support.elimination_cases import Case, boxed, brute, facts, margins

LAW = boxed(DiscreteLaplace(0.8), -3, 3)


def test_facts_on_two_variables_tie_them_to_one() -> None:
    model = reduce((LAW,) * 18, facts(margins((3, 3, 2), [(0, 1), (0, 2), (1, 2)])))
    assert model.variables == 9
    assert sorted(np.abs(model.slope)) == [1] * 18


def test_a_tie_with_coefficients_keeps_exactly_the_integer_solutions() -> None:
    given = Case((LAW, LAW), facts([[2, 3]]))
    model = reduce(given.unaries, given.terminals)
    t = model.lo[0] + np.arange(len(model.laws[0]))
    made = {tuple(int(v) for v in model.base + model.slope * value) for value in t}
    assert made == set(brute(given)) == {(0, 0), (-3, 2), (3, -2)}


def test_constants_and_structural_zeros_are_taken_out() -> None:
    model = reduce((LAW, point(), LAW, point(1)), facts([[1, 1, 1, 0], [0, 1, 1, -1]]))
    assert model.variables == 0
    assert list(model.base) == [-1, 0, 1, 1]


def test_windows_are_cut_to_what_the_facts_leave() -> None:
    wide = boxed(DiscreteLaplace(0.5), -30, 30)
    model = reduce((wide, LAW, LAW), facts([[1, 1, 1]]))
    assert int(model.lo[0]) == -6
    assert len(model.laws[0]) == 13


@pytest.mark.parametrize(
    ("unaries", "rows"),
    [
        ((boxed(DiscreteLaplace(1.0), 1, 3),) * 3, [[1, 1, 1]]),
        ((point(1), point(0), LAW), [[2, 2, 4]]),
        ((LAW, LAW, point(1)), [[2, 2, 1]]),
        ((LAW, LAW, LAW, LAW), [[2, 2, 2, 0], [1, 1, 1, 0], [3, 3, 3, 1], [0, 0, 0, 1]]),
    ],
    ids=["bounds above zero", "parity by constants", "odd constant", "feasible"],
)
def test_an_empty_lattice_is_a_conflict(unaries: tuple[Unary, ...], rows: list[list[int]]) -> None:
    if unaries[0] is LAW and len(unaries) == 4:
        assert reduce(unaries, facts(rows)).variables == 3
        return
    with pytest.raises(ConflictError, match="bounds"):
        WeightedElimination().prepare(unaries, facts(rows), seconds=0.01)


def test_a_lattice_that_is_empty_for_no_single_fact_is_a_conflict() -> None:
    """x + 2y + 2z = x + 2z + 2w = x + 2y + 2w = 0 with x = 1 or 2: x is even, so y + z + w is -3/2."""
    laws = (boxed(DiscreteLaplace(1.0), 1, 2), LAW, LAW, LAW)
    rows = [[1, 2, 2, 0], [1, 0, 2, 2], [1, 2, 0, 2]]
    assert reduce(laws, facts(rows)).variables == 4
    with pytest.raises(ConflictError):
        WeightedElimination().prepare(laws, facts(rows), seconds=0.01)


def test_a_point_is_found_where_zero_is_out_of_bounds() -> None:
    up, down = boxed(DiscreteLaplace(1.0), 1, 4), boxed(DiscreteLaplace(1.0), -4, 0)
    model = reduce((up, down, up, down), facts([[1, 1, 1, 1], [2, 1, 1, 2]]))
    found = likely_point(model, 5.0)
    assert found is not None
    assert keeps(model, found)


def test_a_form_with_the_wrong_width_is_refused() -> None:
    with pytest.raises(ArgumentError, match="coefficients"):
        WeightedElimination().prepare((LAW,) * 3, facts([[1, 1]]))


def test_laws_that_leave_out_too_much_are_refused_with_what_would_do() -> None:
    cut = Unary(-3, LAW.weights, 1e-6, 0.0)
    with pytest.raises(NoSamplerError, match="leave out"):
        WeightedElimination().prepare((cut,) * 4, facts(margins((2, 2), [(0,), (1,)])))


def test_memory_that_does_not_suffice_is_refused() -> None:
    wide = boxed(DiscreteLaplace(0.01), -2000, 2000)
    with pytest.raises(NoSamplerError, match="memory"):
        WeightedElimination().prepare((wide,) * 9, facts(margins((3, 3), [(0,), (1,)])), memory_limit=1e3)


def test_repeated_facts_stand_once_and_a_basis_has_the_rank() -> None:
    rows = np.array(margins((3, 3, 3), [(0, 1), (0, 2), (1, 2)]))
    assert len(distinct(np.vstack([rows, -rows[:4]]))) == 27
    assert len(independent_rows(rows, range(len(rows)))) == 19
    assert len(independent_columns(rows, range(27))) == 19


def test_shorter_rows_have_the_same_solutions() -> None:
    rows = np.array([[1, 1, 1, 0, 2], [1, 1, 0, 1, 2], [2, 2, 1, 1, 4]])
    values = np.array([1, 0, 1])
    short, fixed = shortened(rows, values)
    assert np.count_nonzero(short) < np.count_nonzero(rows)
    box = np.array(list(itertools.product(range(-2, 3), repeat=5)))
    assert np.array_equal((box @ rows.T == values).all(axis=1), (box @ short.T == fixed).all(axis=1))


def test_forms_on_one_variable_become_part_of_its_law() -> None:
    form = Terminal(np.array([2, 0]), "limit", lower=-3, upper=2)
    measured = Terminal(np.array([0, 1]), "law", table=boxed(DiscreteLaplace(2.0), -2, 2))
    model = reduce((LAW, LAW), (form, measured))
    assert len(model.ends) == 0
    assert (int(model.lo[0]), len(model.laws[0])) == (-1, 3)
    assert (int(model.lo[1]), len(model.laws[1])) == (-2, 5)
