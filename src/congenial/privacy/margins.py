r"""Facts that are full margins of a table: how many counts must move, without a search.

Facts that keep some axes whole and sum the others out form, with all their coarsenings, a complex of sets
of axes. Let `s` be the size of its smallest missing set (axes of one category aside).

    A change that keeps all these margins moves at least 2^s counts in all, and through every cell there is
    one that moves exactly so many: the product over a missing set of s axes of (here - there).

*Proof of the lower bound.* Every margin over s-1 axes is fixed, so it suffices that a table ≠ 0 whose
margins over s-1 axes vanish has ‖δ‖₁ ≥ 2^s. Induction on s; s = 0 says ‖δ‖₁ ≥ 1. If along some axis two
slices differ from 0, each has vanishing margins over s-2 of the other axes, hence norm at least 2^{s-1}.
Otherwise every axis has one slice only that is not 0, so that δ is a single cell, and its margins vanish
only if s = 0. ∎

*How far one cell can move.* `|δ_i| ≤ e ‖δ‖₁`, where `e` is how near, uniformly on 0 … d, a polynomial of
degree s-1 comes to 1[h = 0]: with h the number of axes on which a cell differs from i, such a polynomial
is a sum of functions of s-1 axes each, to which δ is blind. For s = d it is 2^-s.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from congenial.privacy.reading import Family


@dataclass(frozen=True)
class Complex:
    """The smallest missing set of axes (leaf counts in `shape`), and the axes with a choice."""

    missing: tuple[int, ...]
    axes: tuple[int, ...]

    @property
    def least(self) -> int:
        """Counts taken away (and put elsewhere) by the smallest move through any cell."""
        return int(2 ** (len(self.missing) - 1))

    def reach(self, rows: int) -> int:
        """The most by which one cell can change when at most `rows` counts are taken and put."""
        return int(2 * rows * _nearest(len(self.axes), len(self.missing) - 1) + 1e-9)


def complex_of(facts: Sequence[Family], shape: tuple[int, ...]) -> Complex | None:
    """The complex of facts that are full margins of a table, or None if one is not, or nothing is missing."""
    axes = tuple(a for a, size in enumerate(shape) if size > 1)
    faces = []
    for family in facts:
        kept = _kept(family, shape)
        if kept is None:
            return None
        faces.append(frozenset(kept))
    if not faces:
        return None
    for size in range(1, len(axes) + 1):
        for some in combinations(axes, size):
            if not any(face.issuperset(some) for face in faces):
                return Complex(some, axes)
    return None


def _kept(family: Family, shape: tuple[int, ...]) -> tuple[int, ...] | None:
    """The axes that a family keeps whole, or None if it is no full margin."""
    if family.groups is None or len(family.groups) != int(np.prod(shape)):
        return None
    table = family.groups.reshape(shape)
    kept = tuple(a for a, size in enumerate(shape) if size > 1 and _varies(table, a))
    view = [size if a in kept else 1 for a, size in enumerate(shape)]
    corner = table[tuple(slice(None) if a in kept else slice(0, 1) for a in range(len(shape)))]
    if corner.size != len(np.unique(corner)) or corner.min(initial=0) < 0:
        return None
    return kept if bool((table == corner.reshape(view)).all()) else None


def _varies(table: NDArray[np.int32], axis: int) -> bool:
    first = np.take(table, [0], axis=axis)
    return not bool((table == first).all())


def corner_move(
    found: Complex, shape: tuple[int, ...], cell: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """A smallest move through a cell: the product over the missing axes of (here - next)."""
    here = np.array(np.unravel_index(cell, shape))
    cells, signs = [], []
    for size in range(len(found.missing) + 1):
        for some in combinations(found.missing, size):
            at = here.copy()
            for a in some:
                at[a] = (at[a] + 1) % shape[a]
            cells.append(int(np.ravel_multi_index(tuple(at), shape)))
            signs.append((-1) ** size)
    return np.array(cells, dtype=np.int64), np.array(signs, dtype=np.int64)


def _nearest(axes: int, degree: int) -> float:
    """How near a polynomial of a degree comes to 1[h = 0] on 0 … axes: its dual norm over differences.

    The best error is max over sign patterns of h(0)'s weight in a functional that kills the degree; on
    degree+2 points that functional is unique, and the largest over all such points is the answer.
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
