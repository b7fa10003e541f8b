"""Forms that cross: a small dense problem over the sums of atoms.

An atom is a set of cells that every crossing form treats alike, so that only its sum matters to them;
what is nested inside it hangs below in the forest. Here the facts on atom sums are reduced to
independent rows, what they determine is taken out, and the rest falls into independent parts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from congenial.laws import Law
from congenial.problems.structure import FREE

IntMatrix = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Row:
    """One form over atoms: what weighs it (laws), and how far it may go. A fact has neither and is 0."""

    weights: NDArray[np.int64]
    name: str
    laws: tuple[Law, ...] = ()
    lower: int = -int(FREE)
    upper: int = int(FREE)
    is_fact: bool = False


@dataclass(frozen=True, eq=False)
class Crossing:
    """Atoms (roots of the forest) whose sums are drawn together, and the forms that join them.

    `facts` has independent rows; `others` are measured or limited. `names` are the facts as written.
    """

    atoms: NDArray[np.int64]
    facts: IntMatrix
    others: tuple[Row, ...]
    names: tuple[str, ...]

    @property
    def dimension(self) -> int:
        """Free dimensions of the lattice of atom sums."""
        return len(self.atoms) - len(self.facts)


def echelon(rows: IntMatrix) -> tuple[NDArray[np.object_], list[int]]:
    """Reduced row echelon form over the rationals, each row scaled to coprime integers; and its pivots.

    The integers are Python's: they can be as large as minors of `rows`.
    """
    import flint

    if not len(rows):
        return rows.astype(object), []
    matrix, _, rank = flint.fmpz_mat(rows.tolist()).rref()
    found: list[list[int]] = []
    for i in range(rank):
        row = [int(matrix[i, j]) for j in range(matrix.ncols())]
        shared = int(np.gcd.reduce(np.array(row, dtype=object)))
        found.append([value // shared for value in row])
    reduced = np.array(found, dtype=object).reshape(rank, rows.shape[1])
    return reduced, [int(np.flatnonzero(row)[0]) for row in reduced]


def depends(row: NDArray[np.int64], reduced: NDArray[np.object_], pivots: list[int]) -> bool:
    """Whether a row is a rational combination of an echelon form's rows."""
    rest = [int(v) for v in row]
    scale = 1
    for basis, pivot in zip(reduced, pivots, strict=True):
        head = int(basis[pivot])
        factor = rest[pivot]
        if factor:
            rest = [head * a - factor * int(b) for a, b in zip(rest, basis, strict=True)]
            scale *= head
    return not any(rest)


def independent(rows: IntMatrix) -> list[int]:
    """Indices of rows, first come first kept, that span what all rows span."""
    import flint

    if not len(rows):
        return []
    # pivots of the transpose's echelon form are the first independent rows
    matrix, _, rank = flint.fmpz_mat(rows.T.tolist()).rref()
    pivots: list[int] = []
    column = 0
    for i in range(rank):
        while int(matrix[i, column]) == 0:
            column += 1
        pivots.append(column)
    return pivots


@dataclass(frozen=True, eq=False)
class Parted:
    """What `part` finds: atoms that the facts determine, and independent groups of the others."""

    determined: NDArray[np.int64]
    groups: tuple[tuple[NDArray[np.int64], IntMatrix, tuple[Row, ...], tuple[str, ...]], ...]


def part(width: int, rows: list[Row]) -> Parted:
    """Reduce the facts over `width` atoms, take out what they determine, and split what is independent.

    The parts are the connected components of the echelon form together with the other rows: that of
    the facts alone is the finest splitting of their lattice (the components of its matroid).
    """
    facts = [row for row in rows if row.is_fact]
    others = [row for row in rows if not row.is_fact]
    given = np.array([row.weights for row in facts], dtype=np.int64).reshape(len(facts), width)
    reduced, pivots = echelon(given)
    alone = [i for i, row in enumerate(reduced) if np.count_nonzero(row) == 1]
    determined = np.array(sorted(pivots[i] for i in alone), dtype=np.int64)
    free = np.ones(width, dtype=bool)
    free[determined] = False
    weighing = []
    for row in others:
        if depends(row.weights, reduced, pivots):
            continue  # constant on the lattice: it weighs and limits nothing
        weights = np.where(free, row.weights, 0)
        weighing.append(Row(weights, row.name, row.laws, row.lower, row.upper))
    label = _components(width, [*reduced, *(row.weights for row in weighing)])
    groups: list[Any] = []
    for at in np.unique(label[free]).tolist():
        atoms = np.flatnonzero((label == at) & free)
        mine = [row for row in weighing if np.count_nonzero(row.weights[atoms])]
        inside = given[:, atoms]
        touching = np.flatnonzero(np.any(inside != 0, axis=1))
        small = touching[np.argsort(np.abs(inside[touching]).sum(axis=1), kind="stable")]
        kept = small[independent(inside[small])] if len(small) else small
        groups.append(
            (
                atoms,
                inside[kept],
                tuple(Row(r.weights[atoms], r.name, r.laws, r.lower, r.upper) for r in mine),
                tuple(dict.fromkeys(facts[i].name for i in touching)),
            )
        )
    return Parted(determined, tuple(groups))


def _components(width: int, rows: list[NDArray[Any]]) -> NDArray[np.int64]:
    """Connected components of atoms that share a row."""
    label = np.arange(width)
    for row in rows:
        touched = np.flatnonzero(row)
        if len(touched) > 1:
            found = np.unique(label[touched])
            if len(found) > 1:
                label[np.isin(label, found)] = found[0]
    return label
