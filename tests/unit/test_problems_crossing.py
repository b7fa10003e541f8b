"""Facts over atoms: independent rows, what they determine, the finest parts, and the moves they leave."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from congenial.laws import DiscreteLaplace
from congenial.problems.crossing import Row, depends, echelon, independent, part
from congenial.problems.lattice import LARGEST, TooSteepError, kernel_basis
from congenial.samplers.base import Refusal
from congenial.samplers.crossing.tables import Unary
from congenial.samplers.quotient import quote
from support.small_changes import rank

LAW = DiscreteLaplace(1.0)


def matrices(most=3, rows=4, columns=6):
    shape = st.tuples(st.integers(0, rows), st.integers(1, columns))
    return shape.flatmap(
        lambda s: st.lists(
            st.lists(st.integers(-most, most), min_size=s[1], max_size=s[1]), min_size=s[0], max_size=s[0]
        ).map(lambda listed: np.array(listed, dtype=np.int64).reshape(s))
    )


def rank_of(rows):
    return rank(rows) if len(rows) else 0


def solves(basis, target):
    """Whether a vector is an integer combination of independent rows."""
    rows = [[Fraction(int(v)) for v in row] for row in basis.T]
    width = len(basis)
    augmented = [[*row, Fraction(int(t))] for row, t in zip(rows, target, strict=True)]
    for column in range(width):
        pivot = next(i for i in range(column, len(augmented)) if augmented[i][column])
        augmented[column], augmented[pivot] = augmented[pivot], augmented[column]
        augmented[column] = [v / augmented[column][column] for v in augmented[column]]
        for i in range(len(augmented)):
            if i != column:
                factor = augmented[i][column]
                augmented[i] = [a - factor * b for a, b in zip(augmented[i], augmented[column], strict=True)]
    left = [row[-1] for row in augmented]
    return all(v.denominator == 1 for v in left[:width]) and not any(left[width:])


@settings(max_examples=150, deadline=None)
@given(matrices())
def test_independent_rows_span_what_all_rows_span_and_come_first(rows):
    kept = independent(rows)
    assert kept == sorted(kept)
    assert len(kept) == rank_of(rows) == rank_of(rows[kept])
    for i in range(len(rows)):
        if i not in kept:
            assert rank_of(rows[[k for k in kept if k < i]]) == rank_of(rows[: i + 1])


@settings(max_examples=150, deadline=None)
@given(matrices(), st.lists(st.integers(-3, 3), min_size=6, max_size=6))
def test_a_row_depends_on_others_if_it_adds_no_rank(rows, more):
    row = np.array(more[: rows.shape[1]], dtype=np.int64)
    reduced, pivots = echelon(rows)
    assert depends(row, reduced, pivots) == (rank_of(np.vstack([rows, row])) == rank_of(rows))


@settings(max_examples=100, deadline=None)
@given(matrices(most=3, rows=3, columns=5))
def test_a_kernel_basis_reaches_every_integer_solution(rows):
    basis = kernel_basis(rows)
    width = rows.shape[1]
    assert len(basis) == width - rank_of(rows)
    assert not (basis @ rows.T).any()
    for point in product(range(-2, 2), repeat=width):
        z = np.array(point)
        if not (rows @ z).any() and len(basis):
            assert solves(basis, z)


def test_a_rational_nullspace_would_not_do():
    basis = kernel_basis(np.array([[2, 3, 5]]))
    for z in ([-3, 2, 0], [-5, 0, 2], [-4, 1, 1]):
        assert solves(basis, np.array(z))
    assert not solves(np.array([[-3, 2, 0], [-5, 0, 2]]), np.array([-4, 1, 1]))


def test_moves_larger_than_any_noise_are_not_counted_with():
    steep = np.array(
        [[2**31 - 1, 2**31 - 19, 1, 7], [2**30 + 3, 11, 2**31 - 1, 5], [3, 2**29 + 1, 9, 2**31 - 61]]
    )
    with pytest.raises(TooSteepError):
        kernel_basis(steep)
    assert np.abs(kernel_basis(steep[:1])).max() <= LARGEST
    answer = quote([Unary(-3, np.ones(7))] * 4, steep)
    assert isinstance(answer, Refusal)
    assert "moves" in answer.why
    # minors beyond 64 bits are counted with in full
    reduced, pivots = echelon(steep)
    assert pivots == [0, 1, 2]
    assert max(abs(int(v)) for v in reduced.ravel()) > 2**63


def rows_of(matrix, **kind):
    return [Row(row, f"r{i}", **kind) for i, row in enumerate(matrix)]


@settings(max_examples=150, deadline=None)
@given(
    matrices(most=2, rows=4, columns=6),
    st.lists(st.lists(st.integers(-1, 1), min_size=6, max_size=6), max_size=2),
)
def test_parts_are_independent_and_cannot_be_split_further(matrix, more):
    width = matrix.shape[1]
    facts = rows_of(matrix[np.any(matrix != 0, axis=1)], is_fact=True)
    others = [Row(np.array(row[:width]), "o", (LAW,)) for row in more if any(row[:width])]
    parted = part(width, facts + others)
    kernel = kernel_basis(matrix)
    still = np.flatnonzero(~np.any(kernel != 0, axis=0)) if len(kernel) else np.arange(width)
    assert parted.determined.tolist() == still.tolist()
    groups = [atoms.tolist() for atoms, *_ in parted.groups]
    assert sorted(sum(groups, parted.determined.tolist())) == list(range(width))
    # the lattice is the product of the parts': dimensions add up
    dimensions = [len(atoms) - len(rows) for atoms, rows, *_ in parted.groups]
    assert sum(dimensions) == len(kernel)
    for (_, rows, other, _), atoms in zip(parted.groups, groups, strict=True):
        assert rank_of(rows) == len(rows)
        inside = kernel_basis(matrix[:, atoms])
        assert len(inside) == len(atoms) - len(rows)
        assert not (inside @ rows.T).any()
        for row in other:
            assert row.weights.any()
    weighing = [row for row in others if rank_of(np.vstack([matrix, row.weights])) > rank_of(matrix)]
    held = sum(len(other) for _, _, other, _ in parted.groups)
    assert held == len(weighing)
    if not others:
        for atoms in groups:
            # however it is cut in two, what is kept of both halves is less than the whole
            whole = len(kernel_basis(matrix[:, atoms]))
            for mask in range(1, 2 ** (len(atoms) - 1)):
                halves = [[a for i, a in enumerate(atoms) if (mask >> i & 1) == side] for side in (0, 1)]
                assert sum(len(kernel_basis(matrix[:, half])) for half in halves) < whole


def test_a_total_beside_margins_joins_nothing_that_they_do_not():
    totals = np.array([[1, 1, 0, 0], [0, 0, 1, 1], [1, 1, 1, 1]])
    parted = part(4, rows_of(totals, is_fact=True))
    assert [atoms.tolist() for atoms, *_ in parted.groups] == [[0, 1], [2, 3]]
    # written the other way round, too
    parted = part(4, rows_of(totals[::-1], is_fact=True))
    assert [atoms.tolist() for atoms, *_ in parted.groups] == [[0, 1], [2, 3]]
