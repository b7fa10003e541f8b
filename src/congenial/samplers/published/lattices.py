"""The lattice that noise must stay on, z with A·z = 0, and the bases that a chain may move along.

    from_smith     the last columns of V in Smith's normal form D = U·A·V
    from_margins   products of e_k - e_0: short and few entries, known without computing (margins only)
    reduced        a basis reduced by LLL (`problems.lattice.kernel_basis`)

All three span the same lattice. A chain's speed depends on which it is given.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from congenial.errors import ArgumentError, Fault
from congenial.problems.lattice import kernel_basis
from congenial.samplers.base import IntArray
from congenial.samplers.published.rows import SparseRows
from congenial.samplers.published.smith import smith_normal_form


@dataclass(frozen=True, eq=False)
class Lattice:
    """All whole-number combinations of the rows of `basis`, which are independent."""

    basis: NDArray[np.int64] = field(repr=False)

    @classmethod
    def from_smith(cls, facts: ArrayLike) -> Lattice:
        """Every integer z with facts·z = 0, from the Smith normal form of the facts.

        **Source.** Dharangutte et al. (2023), Proposition 8: with D = U·A·V and k the rank of A, the last
        d-k *columns* of V are a basis (their proof's text says rows).
        """
        matrix = whole_matrix(facts)
        form = smith_normal_form(matrix)
        return cls(_int64(form.right[:, form.rank :].T))

    @classmethod
    def reduced(cls, facts: ArrayLike) -> Lattice:
        """The same lattice by a basis reduced by LLL."""
        return cls(kernel_basis(whole_matrix(facts)))

    @classmethod
    def from_margins(cls, shape: Sequence[int], faces: Iterable[Sequence[int]]) -> Lattice:
        """Tables of `shape` (flat, C order) whose margins on each face, a set of axes, are zero.

        Take for each axis either e_0 or one of e_k - e_0, and multiply. The margin on a face is zero
        just when an axis outside it has a difference; the other products have independent margins.
        So the products whose differences fit into no face are a basis.
        **Source.** The design, 4.9: `analytic basis`.
        """
        closed = [frozenset(face) for face in faces]
        chosen = itertools.product(*(range(size) for size in shape))
        free = [k for k in chosen if not any(_differences(k) <= face for face in closed)]
        basis = np.zeros((len(free), int(np.prod(shape))), dtype=np.int64)
        for row, ks in zip(basis, free, strict=True):
            for corner in itertools.product(*({0, k} for k in ks)):
                sign = (-1) ** sum(k != at for k, at in zip(ks, corner, strict=True))
                row[np.ravel_multi_index(corner, shape)] = sign
        return cls(basis)

    @property
    def dimension(self) -> int:
        """How many independent directions noise has."""
        return int(self.basis.shape[0])

    @property
    def width(self) -> int:
        """How many cells a point has."""
        return int(self.basis.shape[1])

    @cached_property
    def rows(self) -> SparseRows:
        """The basis as kernels read it."""
        return SparseRows.of(self.basis)

    def point(self, coordinates: IntArray) -> IntArray:
        """The point with these coordinates in the basis."""
        return np.asarray(np.asarray(coordinates, dtype=np.int64) @ self.basis, dtype=np.int64)

    def coordinates(self, noise: ArrayLike) -> IntArray:
        """The coordinates of a point of the lattice; an error for any other vector."""
        import flint

        wanted = np.asarray(noise, dtype=np.int64)
        if wanted.shape != (self.width,):
            raise ArgumentError(f"the noise has shape {wanted.shape}; the lattice has {self.width} cells")
        gram = flint.fmpz_mat((self.basis @ self.basis.T).tolist())
        seen = flint.fmpz_mat([[int(v)] for v in self.basis @ wanted])
        values = gram.solve(seen).entries() if self.dimension else []
        if all(value.q == 1 for value in values):
            coordinates = np.array([int(value.p) for value in values], dtype=np.int64)
            if (self.point(coordinates) == wanted).all():
                return coordinates
        what = "the noise does not satisfy the facts: it is no point of the lattice"
        raise ArgumentError(Fault("", what, "Begin at zero, or at a point that `point` has made."))


def whole_matrix(facts: ArrayLike) -> NDArray[np.int64]:
    """Facts as a matrix of whole numbers, one row a fact; refuses anything else."""
    given = np.asarray(facts)
    if given.ndim != 2:
        raise ArgumentError(f"facts are a matrix with one row a fact, not an array of {given.ndim} axes")
    if given.dtype.kind not in "iub" and not (given.dtype.kind == "f" and (given == np.rint(given)).all()):
        raise ArgumentError(f"the entries of a fact must be whole numbers; these are of type {given.dtype}")
    return given.astype(np.int64)


def _differences(chosen: Sequence[int]) -> frozenset[int]:
    """The axes on which a product has a difference."""
    return frozenset(axis for axis, k in enumerate(chosen) if k)


def _int64(values: NDArray[np.object_]) -> NDArray[np.int64]:
    if any(abs(int(v)) >= 1 << 31 for v in values.flat):
        what = "a basis from the Smith normal form has entries beyond 2^31"
        raise ArgumentError(Fault("", what, "Take a reduced basis: Lattice.reduced(facts)."))
    return values.astype(np.int64)
