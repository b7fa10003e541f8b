"""The bases that the published chains move along span the lattice of the facts, no more and no less."""

from __future__ import annotations

import itertools

import flint
import numpy as np
import pytest

from congenial.errors import ArgumentError
from congenial.samplers.published import Lattice
from congenial.samplers.published.smith import smith_normal_form

FACES = [
    ((4, 4), [(0,), (1,)]),
    ((5,), [()]),
    ((2, 3, 3), [(0, 1), (0, 2), (1, 2)]),
    ((2, 3, 2), [(0, 1), (2,)]),
    ((3, 3, 2), [(0,), (1,), (2,)]),
]


def hermite(basis):
    """The one basis that all bases of a lattice share."""
    form = flint.fmpz_mat(np.asarray(basis).tolist()).hnf()
    return [[int(form[i, j]) for j in range(form.ncols())] for i in range(form.nrows())]


def margins(shape, faces):
    rows = []
    for face in faces:
        for labels in itertools.product(*(range(shape[axis]) for axis in face)):
            margin = np.zeros(shape, dtype=np.int64)
            where = [slice(None)] * len(shape)
            for axis, label in zip(face, labels, strict=True):
                where[axis] = label
            margin[tuple(where)] = 1
            rows.append(margin.ravel())
    return np.array(rows)


def random_facts(seed):
    random = np.random.default_rng(seed)
    facts = random.integers(-3, 4, (random.integers(1, 5), random.integers(1, 8)))
    if seed % 3 == 0 and len(facts) > 1:
        facts[-1] = 2 * facts[0]
    return facts


@pytest.mark.parametrize("seed", range(40))
def test_the_smith_form_is_diagonal_by_whole_changes_of_basis_and_each_entry_divides_the_next(seed):
    facts = random_facts(seed)
    form = smith_normal_form(facts)
    assert (form.left.dot(facts.astype(object)).dot(form.right) == form.diagonal).all()
    for side in (form.left, form.right):
        assert abs(int(flint.fmpz_mat(side.tolist()).det())) == 1
    known = flint.fmpz_mat(facts.tolist()).snf()
    for i, j in np.ndindex(facts.shape):
        assert form.diagonal[i, j] == (abs(int(known[i, i])) if i == j else 0)


@pytest.mark.parametrize("seed", range(40))
def test_the_smith_basis_spans_the_lattice_of_the_reduced_basis(seed):
    facts = random_facts(seed)
    smith, reduced = Lattice.from_smith(facts), Lattice.reduced(facts)
    assert smith.basis.shape == reduced.basis.shape
    if smith.dimension:
        assert hermite(smith.basis) == hermite(reduced.basis)


@pytest.mark.parametrize(("shape", "faces"), FACES)
def test_products_of_differences_span_the_tables_without_the_published_margins(shape, faces):
    analytic = Lattice.from_margins(shape, faces)
    assert not (margins(shape, faces) @ analytic.basis.T).any()
    assert hermite(analytic.basis) == hermite(Lattice.reduced(margins(shape, faces)).basis)


def test_a_rational_basis_of_the_same_space_is_told_from_a_basis_of_the_lattice():
    lattice = Lattice.from_margins((2, 3), [(0,), (1,)])
    assert hermite(lattice.basis * 2) != hermite(lattice.basis)


@pytest.mark.parametrize("seed", range(10))
def test_coordinates_undo_points(seed):
    lattice = Lattice.from_smith(margins((2, 3, 2), [(0, 1), (2,)]))
    v = np.random.default_rng(seed).integers(-9, 10, lattice.dimension)
    assert (lattice.coordinates(lattice.point(v)) == v).all()


def test_a_vector_off_the_lattice_has_no_coordinates():
    lattice = Lattice.from_smith([[2, 4]])  # all multiples of (2, -1) or (-2, 1)
    assert (np.abs(lattice.coordinates([4, -2])) == [2]).all()
    for off in ([1, 0], [3, -1], [1, -1]):
        with pytest.raises(ArgumentError, match="no point of the lattice"):
            lattice.coordinates(off)
    with pytest.raises(ArgumentError, match="2 cells"):
        lattice.coordinates([0, 0, 0])


@pytest.mark.parametrize(
    ("facts", "message"),
    [([1, 1], "one row a fact"), ([[0.5, 1.0]], "whole numbers"), ([["a"]], "whole numbers")],
)
def test_facts_that_are_no_whole_matrix_are_refused(facts, message):
    with pytest.raises(ArgumentError, match=message):
        Lattice.from_smith(facts)


def test_facts_that_determine_everything_leave_a_lattice_of_one_point():
    for lattice in (Lattice.from_smith([[1, 0], [1, 2]]), Lattice.reduced([[1, 0], [1, 2]])):
        assert lattice.dimension == 0
        assert (lattice.coordinates([0, 0]) == np.zeros(0)).all()
