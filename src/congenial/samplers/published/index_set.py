"""Which cells facts leave free, and how they force the others."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from congenial.errors import ArgumentError, Fault
from congenial.problems.crossing import echelon
from congenial.samplers.base import FloatArray, IntArray
from congenial.samplers.published.rows import SparseRows


@dataclass(frozen=True, eq=False)
class Forced:
    """With the free cells given, cell cells[k] must be (Σ_j numerators[k, j]·z_j) / divisors[k].

    **Source.** Gong & Meng (2020), Algorithm 1, step 1-2: A_I z_I + A_Iᶜ z_Iᶜ = 0 solved for z_Iᶜ.
    """

    free: IntArray
    cells: IntArray
    numerators: NDArray[np.int64]
    divisors: IntArray

    @classmethod
    def of(cls, facts: NDArray[np.int64], index_set: Sequence[int]) -> Forced:
        """Solve the facts for the cells outside the index set; an error where they do not determine them."""
        import flint

        reduced, _ = echelon(facts)
        width = facts.shape[1]
        free = np.array(sorted(set(index_set)), dtype=np.int64)
        if len(free) != len(index_set) or any(not 0 <= i < width for i in free.tolist()):
            raise ArgumentError(f"an index set has different cells, each in 0 … {width - 1}")
        cells = np.setdiff1d(np.arange(width), free)
        square = flint.fmpz_mat(reduced[:, cells].tolist()) if len(cells) else None
        if len(cells) != len(reduced) or (square is not None and square.det() == 0):
            raise _undetermined(width - len(reduced), len(free))
        numerators = np.zeros((len(cells), width), dtype=np.int64)
        divisors = np.ones(len(cells), dtype=np.int64)
        if square is not None and len(free):
            solved = square.solve(flint.fmpz_mat((-reduced[:, free]).tolist()))
            for k in range(len(cells)):
                row = [solved[k, j] for j in range(len(free))]
                divisors[k] = math.lcm(*(int(value.q) for value in row))
                numerators[k, free] = [int(value.p) * (int(divisors[k]) // int(value.q)) for value in row]
        return cls(free, cells, numerators, divisors)

    @cached_property
    def rows(self) -> SparseRows:
        """The numerators as kernels read them."""
        return SparseRows.of(self.numerators)

    def solved(self, noise: FloatArray, whole: bool) -> Iterator[tuple[int, float | None]]:
        """(cell, what it must be) for the cells that are not free; None where that is no whole number."""
        for cell, total, divisor in zip(
            self.cells.tolist(), self.rows.sums(noise), self.divisors.tolist(), strict=True
        ):
            yield cell, None if whole and total % divisor else total / divisor

    def agrees(self, noise: FloatArray) -> bool:
        """Whether the cells that are not free are what they must be, up to rounding."""
        scale = 1e-9 * (1 + float(np.abs(noise).max(initial=0)))
        needed = self.solved(noise, whole=False)
        return all(value is not None and abs(noise[cell] - value) <= scale for cell, value in needed)


def proposal_index_set(facts: NDArray[np.int64]) -> tuple[int, ...]:
    """An index set: all cells but the pivots of the facts' echelon form."""
    _, pivots = echelon(facts)
    return tuple(i for i in range(facts.shape[1]) if i not in set(pivots))


def _undetermined(needed: int, given: int) -> ArgumentError:
    if needed != given:
        what = f"the index set has {given} cells; the facts leave {needed} free"
    else:
        what = "the facts do not determine the cells outside the index set"
    return ArgumentError(Fault("", what, "`proposal_index_set(facts)` is one that serves."))
