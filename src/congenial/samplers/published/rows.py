"""Matrices of few entries, one row behind the other, as kernels read them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class SparseRows(NamedTuple):
    """Row i has `weights[k]` in column `places[k]` for k = starts[i] … starts[i+1]-1."""

    starts: NDArray[np.int64]
    places: NDArray[np.int64]
    weights: NDArray[np.int64]

    @classmethod
    def of(cls, matrix: NDArray[np.int64]) -> SparseRows:
        """The entries of a dense matrix that are not zero."""
        rows, places = np.nonzero(matrix)
        starts = np.zeros(len(matrix) + 1, dtype=np.int64)
        np.cumsum(np.bincount(rows, minlength=len(matrix)), out=starts[1:])
        weights = np.ascontiguousarray(matrix[rows, places], dtype=np.int64)
        return cls(starts, places.astype(np.int64), weights)

    def row(self, i: int) -> Iterator[tuple[int, int]]:
        """(column, weight) of each entry of row i."""
        for k in range(self.starts[i], self.starts[i + 1]):
            yield int(self.places[k]), int(self.weights[k])

    def sums(self, values: NDArray[np.float64] | NDArray[np.int64]) -> list[float]:
        """The product of the matrix with a vector, added up from the left as the kernels do."""
        return [sum(w * float(values[c]) for c, w in self.row(i)) for i in range(len(self.starts) - 1)]
