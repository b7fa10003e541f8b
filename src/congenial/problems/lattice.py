"""Bases of the integer solutions of A z = 0: the moves that facts allow."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def kernel_basis(facts: NDArray[np.int64]) -> NDArray[np.int64]:
    """A reduced basis, one row a vector, of all integer z with facts · z = 0.

    **Exactness.** Rows of the unimodular T where T·Aᵀ is zero are a basis of the lattice (not only of a
    sublattice, as the vectors of a rational nullspace may be); they are then LLL-reduced.
    """
    import flint

    rows, width = facts.shape
    if rows == 0:
        return np.eye(width, dtype=np.int64)
    reduced, transform = flint.fmpz_mat(facts.T.tolist()).lll(transform=True)
    free = [i for i in range(width) if all(int(reduced[i, j]) == 0 for j in range(rows))]
    if not free:
        return np.empty((0, width), dtype=np.int64)
    found = flint.fmpz_mat([[int(transform[i, j]) for j in range(width)] for i in free]).lll()
    return np.array([[int(found[i, j]) for j in range(width)] for i in range(len(free))], dtype=np.int64)
