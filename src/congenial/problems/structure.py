"""What a request says of a domain, compiled: forms with laws, facts and limits. No count is here.

A structure is public: the privacy room reads it, and it is the same for two tables that differ. A
problem is a structure around a centre (`problem.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from congenial.laws import Law
from congenial.tables.domain import Domain

FREE = np.int64(2**62)
"""A limit that is not there: no upper bound is `FREE`, no lower bound `-FREE`."""


@dataclass(frozen=True, eq=False)
class Forms:
    """Integer linear forms of the cells.

    Either the groups of a partition (`groups[cell]` is the form, -1 for none, all weights one), or
    rows in compressed form (`starts`, `cells`, `weights`); exactly one of the two is set.
    """

    name: str
    where: str
    count: int
    label: Callable[[int], str]
    groups: NDArray[np.int32] | None = None
    starts: NDArray[np.int64] | None = None
    cells: NDArray[np.int64] | None = None
    weights: NDArray[np.int64] | None = None
    line: int | None = None

    def sums(self, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        """The value of every form at flat `counts`."""
        if self.groups is not None:
            if self.count == len(self.groups) and self.is_identity:
                return counts.copy()
            inside = self.groups >= 0
            found = np.zeros(self.count, dtype=np.int64)
            np.add.at(found, self.groups[inside], counts[inside])
            return found
        starts, cells, weights = self.rows
        terms = np.zeros(len(cells) + 1, dtype=np.int64)
        np.cumsum(weights * counts[cells], out=terms[1:])
        return terms[starts[1:]] - terms[starts[:-1]]

    @cached_property
    def is_identity(self) -> bool:
        """Whether form i is cell i."""
        return self.groups is not None and bool((self.groups == np.arange(len(self.groups))).all())

    @cached_property
    def rows(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """(starts, cells, weights) in compressed form, whatever the representation."""
        if self.groups is None:
            assert self.starts is not None
            assert self.cells is not None
            assert self.weights is not None
            return self.starts, self.cells, self.weights
        order = np.argsort(self.groups, kind="stable").astype(np.int64)
        order = order[np.searchsorted(self.groups[order], 0) :]
        starts = np.zeros(self.count + 1, dtype=np.int64)
        np.cumsum(np.bincount(self.groups[order], minlength=self.count), out=starts[1:])
        return starts, order, np.ones(len(order), dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Measured:
    """Forms whose noisy values are weighed by a law, the same for each."""

    forms: Forms
    law: Law


@dataclass(frozen=True, eq=False)
class Fact:
    """Forms published exactly; with `band`, only the band of that width each value lies in.

    Bands are 1..band, band+1..2·band, …; zero and below stand in bands of their own (-band+1..0).
    """

    forms: Forms
    band: int | None = None


@dataclass(frozen=True, eq=False)
class Limit:
    """Bounds on the values of forms: lower ≤ w·y ≤ upper, FREE where there is none."""

    forms: Forms
    lower: int
    upper: int


@dataclass(frozen=True, eq=False)
class Structure:
    """Everything that law (1) of the design needs but the counts."""

    domain: Domain
    measured: tuple[Measured, ...]
    facts: tuple[Fact, ...]
    limits: tuple[Limit, ...]
    zeros: NDArray[np.int64]
    """Cells that are zero by logic, sorted."""
