"""The Smith normal form of an integer matrix, with the changes of basis that lead to it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Objects = NDArray[Any]
"""Arrays of Python's integers, which do not overflow."""


class Smith(NamedTuple):
    """D = U·A·V: D diagonal, each entry dividing the next; U and V whole numbers, determinants ±1."""

    diagonal: Objects
    left: Objects
    right: Objects

    @property
    def rank(self) -> int:
        """How many entries of the diagonal are not zero; they stand first."""
        return sum(1 for i in range(min(self.diagonal.shape)) if self.diagonal[i, i])


def smith_normal_form(matrix: NDArray[np.int64]) -> Smith:
    """Smith's normal form D = U·A·V of A, by elementary steps on rows and columns.

    **Exactness.** Whole numbers of any size.
    **Cost.** For matrices of some hundred columns: the entries of V may grow, and nothing is done about
    it (a reduced basis is `problems.lattice.kernel_basis`).
    **Source.** Dharangutte et al. (2023), Equation (4), with its letters.
    """
    D = np.array(matrix, dtype=object)
    rows, columns = D.shape
    U, V = _identity(rows), _identity(columns)
    for t in range(min(rows, columns)):
        pivot = _smallest(D, t)
        while pivot is not None:
            _bring(D, U, V, t, pivot)
            pivot = None if _cleared(D, U, V, t) else _smallest(D, t)
        if D[t, t] < 0:
            D[t], U[t] = -D[t], -U[t]
    return Smith(D, U, V)


def _identity(size: int) -> Objects:
    one = np.zeros((size, size), dtype=object)
    one[np.diag_indices(size)] = 1
    return one


def _smallest(D: Objects, t: int) -> tuple[int, int] | None:
    """Where the smallest entry but zero stands that is neither above nor left of (t, t)."""
    places = [(i, j) for i in range(t, D.shape[0]) for j in range(t, D.shape[1]) if D[i, j]]
    return min(places, key=lambda place: abs(D[place]), default=None)


def _bring(D: Objects, U: Objects, V: Objects, t: int, pivot: tuple[int, int]) -> None:
    """Swap rows and columns so that the pivot stands at (t, t)."""
    i, j = pivot
    for rows in (D, U):
        rows[[t, i]] = rows[[i, t]]
    for columns in (D, V):
        columns[:, [t, j]] = columns[:, [j, t]]


def _cleared(D: Objects, U: Objects, V: Objects, t: int) -> bool:
    """Take multiples of the pivot off its column, its row and the rest; whether nothing was left over.

    What is left over is smaller than the pivot, so that the next pivot is smaller: this ends.
    """
    pivot = D[t, t]
    for i in range(t + 1, D.shape[0]):
        times = D[i, t] // pivot
        if times:
            D[i], U[i] = D[i] - times * D[t], U[i] - times * U[t]
    for j in range(t + 1, D.shape[1]):
        times = D[t, j] // pivot
        if times:
            D[:, j], V[:, j] = D[:, j] - times * D[:, t], V[:, j] - times * V[:, t]
    if D[t + 1 :, t].any() or D[t, t + 1 :].any():
        return False
    for i in range(t + 1, D.shape[0]):
        if any(value % pivot for value in D[i, t + 1 :]):
            D[t], U[t] = D[t] + D[i], U[t] + U[i]
            return _cleared(D, U, V, t)
    return True
