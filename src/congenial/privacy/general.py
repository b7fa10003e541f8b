"""Facts of any form: the fewest rows that move each cell, by integer programs over classes of cells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from congenial.privacy.lattice import ALONE, FIXED, Integers, Labels, Lattice, Move, class_moves, left_out
from congenial.privacy.partitions import classes
from congenial.privacy.programs import Types, fewest
from congenial.privacy.reading import Bounded, Family, Reading
from congenial.problems.crossing import depends, echelon
from congenial.requests.model import Unit

_WIDEST = 3_000_000  # entries of a matrix that is brought to echelon form
_EFFORT = 40_000  # programs times classes
_FARTHEST = 10**6


@dataclass(frozen=True, eq=False)
class Columns:
    """Classes of cells that all facts treat alike, one column each; `sample` is a cell of each."""

    label: Labels
    sizes: Integers
    sample: Integers
    matrix: Any
    echelon: tuple[Any, list[int]] | None = field(repr=False)
    """The facts' reduced rows and pivots; None where the matrix is too wide."""


def columns(facts: Sequence[Family], cells: int) -> Columns:
    """The facts as a matrix over classes of cells."""
    label, count = classes(facts, cells)
    sample = np.zeros(count, dtype=np.int64)
    sample[label[::-1]] = np.arange(cells)[::-1]
    matrix = rows_over(facts, sample)
    small = matrix.shape[0] * matrix.shape[1] <= _WIDEST
    reduced = echelon(matrix.toarray().astype(np.int64)) if small else None
    return Columns(label, np.bincount(label, minlength=count), sample, matrix, reduced)


def rows_over(families: Sequence[Family], sample: Integers) -> Any:
    """Families as sparse rows, read off one cell a column."""
    from scipy.sparse import csr_array, vstack

    parts = [csr_array((0, len(sample)))]
    for family in families:
        if family.groups is not None:
            group = family.groups[sample]
            held = np.flatnonzero(group >= 0)
            names, row = np.unique(group[held], return_inverse=True)
            parts.append(csr_array((np.ones(len(held)), (row, held)), shape=(len(names), len(sample))))
        elif family.row is not None:
            where = np.searchsorted(family.row[0], sample)
            where = np.minimum(where, len(family.row[0]) - 1)
            hit = family.row[0][where] == sample
            parts.append(csr_array(np.where(hit, family.row[1][where], 0).astype(np.float64)[None, :]))
    return vstack(parts, format="csr")


def determined(given: Columns) -> NDArray[np.bool_] | None:
    """Classes whose sum the facts determine: rows of the kernel that are zero. None where too wide."""
    if given.echelon is None:
        return None
    fixed = np.zeros(len(given.sizes), dtype=bool)
    for row, pivot in zip(*given.echelon, strict=True):
        fixed[pivot] = np.count_nonzero(row) == 1
    return fixed


def fixes(given: Columns, row: NDArray[np.int64]) -> bool:
    """Whether the facts determine a form, given over classes (False where the matrix is too wide)."""
    return given.echelon is not None and depends(row, *given.echelon)


def lattice(reading: Reading, free: NDArray[np.bool_], unit: Unit, known: Integers | None = None) -> Lattice:
    """The changes that facts of any form leave.

    `free` are the cells in no fact; `known` has the fewest rows of cells for which they are known, else 0.
    """
    given = columns(reading.facts, reading.size)
    adds, pairs = unit.change != "replace", unit.change != "add-or-remove"
    least = np.where((given.sizes >= 2) & pairs, 1, 0)
    if adds:
        least[given.label[free]] = 1
    if known is not None:
        short = least == 0
        np.maximum.at(least, given.label[short[given.label]], known[short[given.label]])
    waiting = least == 0
    fixed = determined(given)
    if fixed is not None:
        waiting &= ~fixed | (given.sizes >= 2)
    types = Types(
        facts=given.matrix,
        sizes=given.sizes,
        balanced=not adds,
        one_sided=not pairs,
        **rooms(reading.bounds, given.label, given.sample),
    )
    search = _Search(types, least, waiting.copy())
    search.run()
    least = search.least[given.label]
    if unit.change != "any" and (waiting & (search.least == 0)).any() and not search.unsettled:
        raise left_out(unit, ALONE if pairs else FIXED)
    found = [(given.sample[which], change) for which, change in search.moves]
    label = given.label if pairs else np.arange(reading.size)
    return Lattice(
        least,
        np.where(free, -1, label) if adds else label,
        (*class_moves(label, np.bincount(label), free, adds=adds, pairs=pairs), *found),
        keeps_total=any(f.is_full for f in reading.facts) or fixes(given, np.ones_like(given.sizes)),
        is_exact=search.is_exact,
        unsettled=search.unsettled,
    )


class _Search:
    """A program for each class that nothing shorter has moved yet; a move covers all that it touches."""

    def __init__(self, types: Types, least: Integers, waiting: NDArray[np.bool_]) -> None:
        self.types = types
        self.least = least.copy()
        self.waiting = waiting
        self.moves: list[Move] = []
        self.is_exact = True
        self.unsettled = ""
        self._most = int(least.max(initial=0))

    def run(self) -> None:
        for _ in range(max(10, min(400, _EFFORT // len(self.least)))):
            left = np.flatnonzero(self.waiting & ((self.least == 0) | (self.least > self._most)))
            if not len(left) or self.unsettled:
                return
            self._ask(int(left[0]))
        self.unsettled = "the facts cross in too many ways to find the smallest change of every cell"

    def _ask(self, which: int) -> None:
        self.waiting[which] = False
        found = fewest(self.types, which, _FARTHEST)
        if found is None:
            return
        change = found.put - found.taken
        if not change.any():
            self.unsettled = "the search for the smallest change of a cell met its limit"
            return
        rows = round(found.value)
        self.is_exact &= found.is_exact
        self._most = max(self._most, rows)
        touched = np.flatnonzero(change)
        new = (self.least[touched] == 0) | (self.least[touched] > rows)
        self.least[touched[new]] = rows
        self.moves.append((touched, change[touched]))


def rooms(bounds: Sequence[Bounded], label: Labels, sample: Integers) -> dict[str, Any]:
    """Limits with two sides and little room, on forms made of whole columns, as rows over columns."""
    tight = [bound for bound in bounds if bound.room < 64 and _is_whole(bound.family, label, len(sample))]
    rows = rows_over([bound.family for bound in tight], sample)
    room = [np.full(rows_over([b.family], sample).shape[0], b.room) for b in tight]
    return {"rooms": rows, "room": np.concatenate(room) if room else np.empty(0, dtype=np.int64)}


def _is_whole(family: Family, label: Labels, count: int) -> bool:
    """Whether every group of a family is made of whole columns."""
    if family.groups is None:
        return False
    value = np.zeros(count, dtype=np.int64)
    value[label] = family.groups
    return bool((value[label] == family.groups).all())
