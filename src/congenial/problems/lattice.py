"""Bases of the integer solutions of A z = 0: the moves that facts allow."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

LARGEST = 1 << 40
"""The largest entry of a move that is counted with."""


class TooSteepError(Exception):
    """The moves that facts allow are larger than any noise: they fix all but every sum they join."""


def kernel_basis(facts: NDArray[np.int64]) -> NDArray[np.int64]:
    """A reduced basis, one row a vector, of all integer z with facts · z = 0.

    **Exactness.** Rows of the unimodular T where T·Aᵀ is zero are a basis of the lattice (not only of a
    sublattice, as the vectors of a rational nullspace may be); they are then LLL-reduced. Where one
    would be larger than `LARGEST`, a `TooSteepError` is raised.
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
    moves = [[int(found[i, j]) for j in range(width)] for i in range(len(free))]
    if max(abs(v) for move in moves for v in move) > LARGEST:
        raise TooSteepError
    return np.array(moves, dtype=np.int64)
