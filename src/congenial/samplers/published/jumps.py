"""How a chain proposes to move: independent symmetric whole numbers, one a direction."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from congenial.errors import ArgumentError
from congenial.laws import DiscreteLaplace, Law
from congenial.samplers.base import IntArray, Source
from congenial.samplers.integer_table import WHOLE, IntegerTable

_SPARE = 64
"""Bits kept below 2^-128 while probabilities of gaps are multiplied."""


@dataclass(frozen=True, eq=False, repr=False)
class Jumps:
    """Independent draws from `table`, a symmetric law η, in each of `directions` directions.

    **Law.** P(e) = Π_j η(e_j). A sweep is drawn direction by direction where most move; where few do,
    the number of directions before the next that moves (geometric) and then how far that one moves.
    **Exactness.** The table's: symmetric but for the last of 128 bits.
    **Source.** Dharangutte et al. (2023), Equation (11).
    """

    table: IntegerTable
    directions: int

    def __post_init__(self) -> None:
        weights = self.table.weights
        if self.table.offset != -(len(weights) // 2) or any(
            abs(a - b) > 4 for a, b in zip(weights, reversed(weights), strict=True)
        ):
            raise ArgumentError("the law of a jump must be symmetric around zero")
        if len(weights) < 3:
            raise ArgumentError("the law of a jump must leave zero now and then")

    @classmethod
    def of(cls, law: Law, directions: int) -> Jumps:
        """Jumps of a discrete law; double geometric with parameter a is DiscreteLaplace(-ln a)."""
        return cls(IntegerTable.of_law(law), directions)

    @classmethod
    def double_geometric(cls, a: float, directions: int) -> Jumps:
        """η(e) = (1-a)/(1+a)·a^|e|."""
        if not 0 < a < 1:
            raise ArgumentError(f"a double geometric law has 0 < a < 1, not {a!r}")
        return cls.of(DiscreteLaplace(float(-np.log(a))), directions)

    @cached_property
    def mass(self) -> NDArray[np.float64]:
        """η on the table's window."""
        return np.array([weight / WHOLE for weight in self.table.weights])

    def eta(self, e: int) -> float:
        """η(e), zero outside the window."""
        at = e - self.table.offset
        return float(self.mass[at]) if 0 <= at < len(self.mass) else 0.0

    @cached_property
    def by_gaps(self) -> bool:
        """Whether a sweep is drawn by gaps: more than half of the directions stay."""
        return self.eta(0) > 0.5

    @cached_property
    def gaps(self) -> IntegerTable:
        """How many directions stay before the next that moves; `directions` stands for all."""
        stays = self.table.weights[-self.table.offset]
        reached = [WHOLE << _SPARE]
        while len(reached) <= self.directions and reached[-1]:
            reached.append(reached[-1] * stays // WHOLE)
        ends = [a - b for a, b in pairwise(reached)]
        return IntegerTable.from_weights(0, [*ends, reached[-1]])

    @cached_property
    def moves(self) -> IntegerTable:
        """η given that it is not zero."""
        weights = list(self.table.weights)
        weights[-self.table.offset] = 0
        return IntegerTable.from_weights(self.table.offset, weights)

    def draw(self, source: Source) -> IntArray:
        """One sweep: how far each direction is proposed to move."""
        found = np.zeros(self.directions, dtype=np.int64)
        if not self.by_gaps:
            for j in range(self.directions):
                found[j] = self.one(source)
            return found
        j = source.tabled(self.gaps)
        while j < self.directions:
            found[j] = source.tabled(self.moves) + self.moves.offset
            j += 1 + source.tabled(self.gaps)
        return found

    def one(self, source: Source) -> int:
        """One draw from η."""
        return source.tabled(self.table) + self.table.offset

    def __repr__(self) -> str:
        return f"Jumps({self.directions} directions)"
