r"""Facts that are full margins of a table: how many counts must move, without a search.

Facts that keep some axes whole and sum the others out form, with all their coarsenings, a complex of sets
of axes. Let `s` be the size of its smallest missing sets (axes of one category aside).

    A change that keeps all these margins moves at least 2^s counts in all. The product over a missing
    set of s axes of (here - there) moves exactly so many, wherever none of its corners is a structural zero.

*Proof of the lower bound.* Every margin over s-1 axes is fixed, so it suffices that a table ≠ 0 whose
margins over s-1 axes vanish has ‖δ‖₁ ≥ 2^s. Induction on s; s = 0 says ‖δ‖₁ ≥ 1. If along some axis two
slices differ from 0, each has vanishing margins over s-2 of the other axes, hence norm at least 2^{s-1}.
Otherwise every axis has one slice only that is not 0, so that δ is a single cell, and its margins vanish
only if s = 0. ∎

*How far a form can move.* Let a form fix the categories of d axes (a cell: of all). Then
`|w·δ| ≤ e ‖δ‖₁`, where `e` is how near, uniformly on 0 … d, a polynomial of degree s-1 comes to 1[h = 0]:
with h the number of those axes on which a cell differs from the form, such a polynomial is a sum of functions
of s-1 axes each, to which δ is blind. For s = d it is 2^-s.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from math import prod

import numpy as np
from numpy.typing import NDArray

from congenial.privacy.reading import Family

Integers = NDArray[np.int64]
_TRIALS = 48


@dataclass(frozen=True, eq=False)
class Complex:
    """The smallest missing sets of axes, the axes with a choice, and the open cells of the table."""

    missing: tuple[tuple[int, ...], ...]
    axes: tuple[int, ...]
    shape: tuple[int, ...]
    cells: Integers

    @property
    def least(self) -> int:
        """Counts taken away (and put elsewhere) by the smallest move."""
        return int(2 ** (len(self.missing[0]) - 1))

    def reach_of(self, family: Family, rows: int) -> int:
        """The most by which a form can change when at most `rows` counts are taken and put."""
        kept = _kept(family, self.shape, self.cells)
        if kept is None:
            return rows
        return int(2 * rows * _nearest(len(kept), len(self.missing[0]) - 1) + 1e-9)

    def moves(self) -> Iterator[tuple[Integers, Integers]]:
        """For each missing set a product move through open cells, where some trial finds one."""
        for some in self.missing:
            for _, corners, signs in self._trials(some, np.arange(len(self.cells))):
                whole = np.flatnonzero((corners >= 0).all(axis=0))
                if len(whole):
                    yield corners[:, whole[0]], signs
                    break

    def covered(self) -> NDArray[np.bool_]:
        """Open cells through which some product move goes; a trial that finds none proves nothing."""
        found = np.zeros(len(self.cells), dtype=bool)
        for some in self.missing:
            waiting = np.flatnonzero(~found)
            for which, corners, _ in self._trials(some, waiting):
                found[which[(corners >= 0).all(axis=0)]] = True
                if found[waiting].all():
                    break
        return found

    def _trials(
        self, some: tuple[int, ...], which: Integers
    ) -> Iterator[tuple[Integers, Integers, Integers]]:
        """Cells, the corners of a product move through each (-1: a structural zero), and their signs."""
        place = np.full(prod(self.shape), -1, dtype=np.int64)
        place[self.cells] = np.arange(len(self.cells))
        here = np.array(np.unravel_index(self.cells[which], self.shape))
        subsets = [part for size in range(len(some) + 1) for part in combinations(some, size)]
        signs = np.array([(-1) ** len(part) for part in subsets], dtype=np.int64)
        for shift in _shifts([self.shape[a] for a in some]):
            corners = np.empty((len(subsets), len(which)), dtype=np.int64)
            for at, part in enumerate(subsets):
                there = here.copy()
                for a, by in zip(some, shift, strict=True):
                    if a in part:
                        there[a] = (there[a] + by) % self.shape[a]
                corners[at] = place[np.ravel_multi_index(tuple(there), self.shape)]
            yield which, corners, signs


def _shifts(sizes: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """How far to go along each axis, at most so many trials, always the same ones."""
    total = prod(size - 1 for size in sizes)
    step = max(1, total // _TRIALS)
    for code in range(0, total, step):
        yield tuple(int(v) + 1 for v in np.unravel_index(code, [size - 1 for size in sizes]))


def complex_of(facts: Sequence[Family], shape: tuple[int, ...], cells: Integers) -> Complex | None:
    """The complex of facts that are full margins of a table, or None if one is not, or nothing is missing."""
    axes = tuple(a for a, size in enumerate(shape) if size > 1)
    faces = []
    for family in facts:
        kept = _kept(family, shape, cells)
        if kept is None:
            return None
        faces.append(frozenset(kept))
    for size in range(1, len(axes) + 1):
        sets = [some for some in combinations(axes, size) if not any(face.issuperset(some) for face in faces)]
        if sets and faces:
            return Complex(tuple(sets), axes, shape, cells)
    return None


def _kept(family: Family, shape: tuple[int, ...], cells: Integers) -> tuple[int, ...] | None:
    """The axes that a family keeps whole, or None if it is no full margin of the table."""
    if family.groups is None:
        return None
    axes = [a for a, size in enumerate(shape) if size > 1]
    for size in range(len(axes) + 1):
        for some in combinations(axes, size):
            sizes = [shape[a] for a in some]
            if prod(sizes) == family.count and (family.groups == _label(some, shape, cells)).all():
                return some
    return None


def _label(some: tuple[int, ...], shape: tuple[int, ...], cells: Integers) -> Integers:
    """The number of each cell's group in the margin that keeps some axes."""
    label = np.zeros(len(cells), dtype=np.int64)
    places = np.unravel_index(cells, shape)
    for a in some:
        label = label * shape[a] + places[a]
    return label


@cache
def _nearest(axes: int, degree: int) -> float:
    """How near a polynomial of a degree comes to 1[h = 0] on 0 … axes.

    The best error is the largest over sets of degree+2 points: there it is |1[h = 0]'s divided difference|
    over the sum of that functional's weights (de la Vallée Poussin).
    """
    if degree >= axes:
        return 0.0
    if axes > 12:
        return 0.5
    best = 0.0
    for points in combinations(range(1, axes + 1), degree + 1):
        weights = [_weight(x, (0, *points)) for x in (0, *points)]
        best = max(best, abs(weights[0]) / sum(abs(w) for w in weights))
    return best


def _weight(x: int, points: tuple[int, ...]) -> float:
    """The weight of f(x) in the divided difference of f over some points."""
    product = 1.0
    for y in points:
        if y != x:
            product *= x - y
    return 1.0 / product
