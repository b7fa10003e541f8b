"""What units can change and what it costs, by listing every change: slow, plain, and right.

The reference for `congenial.privacy`: it shares no code with it, only the structure that both read.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from congenial.problems.structure import FREE, Forms, Structure
from congenial.requests.model import Unit

Matrix = np.ndarray


def rows_of(forms: Forms, cells: int) -> Matrix:
    """Forms as dense rows."""
    starts, where, weights = forms.rows
    dense = np.zeros((forms.count, cells), dtype=np.int64)
    for j in range(forms.count):
        for at in range(int(starts[j]), int(starts[j + 1])):
            dense[j, where[at]] += weights[at]
    return dense[np.abs(dense).sum(axis=1) > 0]


def facts_of(structure: Structure) -> Matrix:
    """Every equality: facts, bands of one, structural zeros, limits whose sides meet."""
    cells = structure.domain.cells
    rows = [rows_of(fact.forms, cells) for fact in structure.facts if fact.band in (None, 1)]
    rows += [rows_of(limit.forms, cells) for limit in structure.limits if limit.lower == limit.upper]
    rows.append(np.eye(cells, dtype=np.int64)[structure.zeros])
    return np.concatenate([np.zeros((0, cells), dtype=np.int64), *rows])


def rank(rows: Matrix) -> int:
    """The rank over the rationals, by elimination."""
    left = [[Fraction(int(v)) for v in row] for row in rows]
    done = 0
    for column in range(rows.shape[1]):
        pivot = next((i for i in range(done, len(left)) if left[i][column]), None)
        if pivot is None:
            continue
        left[done], left[pivot] = left[pivot], left[done]
        for i in range(len(left)):
            if i != done and left[i][column]:
                factor = left[i][column] / left[done][column]
                left[i] = [a - factor * b for a, b in zip(left[i], left[done], strict=True)]
        done += 1
    return done


def determined(structure: Structure) -> np.ndarray:
    """Cells whose row of the kernel is zero."""
    facts = facts_of(structure)
    base = rank(facts)
    unit_rows = np.eye(structure.domain.cells, dtype=np.int64)
    return np.array([rank(np.vstack([facts, row])) == base for row in unit_rows])


def _vectors(cells: int, total: int) -> Iterator[tuple[int, ...]]:
    for chosen in itertools.combinations_with_replacement(range(cells + 1), total):
        vector = [0] * (cells + 1)
        for at in chosen:
            vector[at] += 1
        yield tuple(vector[:cells])


def changes(structure: Structure, rows: int, kind: str) -> Matrix:
    """All δ ≠ 0 with the facts kept, at most `rows` counts put and at most `rows` taken."""
    cells = structure.domain.cells
    facts = facts_of(structure)
    by_sum: dict[tuple[int, ...], list[tuple[int, ...]]] = defaultdict(list)
    for vector in _vectors(cells, rows):
        by_sum[tuple((facts @ np.array(vector)).tolist())].append(vector)
    found = []
    for same in by_sum.values():
        for put, taken in itertools.product(same, same):
            if any(p and t for p, t in zip(put, taken, strict=True)) or put == taken:
                continue
            if kind == "replace" and sum(put) != sum(taken):
                continue
            if kind == "add-or-remove" and any(put) and any(taken):
                continue
            found.append(np.array(put) - np.array(taken))
    made = np.array(found, dtype=np.int64).reshape(len(found), cells)
    return made[_has_room(structure, made)]


def _has_room(structure: Structure, made: Matrix) -> np.ndarray:
    inside = np.ones(len(made), dtype=bool)
    cells = structure.domain.cells
    for limit in structure.limits:
        if limit.lower > -FREE and limit.upper < FREE:
            moved = np.abs(made @ rows_of(limit.forms, cells).T)
            inside &= (moved <= limit.upper - limit.lower).all(axis=1)
    for fact in structure.facts:
        if fact.band is not None:
            inside &= (np.abs(made @ rows_of(fact.forms, cells).T) < fact.band).all(axis=1)
    return inside


@dataclass(frozen=True)
class Small:
    """k, the rows in all, every change, and the largest Σ ε|w·δ| and Σ ρ(w·δ)²."""

    units: int
    rows: int
    changes: Matrix
    kappa: float
    rho: float


def largest(structure: Structure, unit: Unit, most: int = 4) -> Small | None:
    """The units that leave nobody out and their largest losses; None where `most` rows are not enough."""
    open_ = ~determined(structure)
    for rows in range(unit.max_rows, most + 1, unit.max_rows):
        made = changes(structure, rows, unit.change)
        if (np.abs(made).sum(axis=0) > 0)[open_].all():
            kappa, rho = costs(structure, made)
            return Small(rows // unit.max_rows, rows, made, float(kappa.max()), float(rho.max()))
    return None


def costs(structure: Structure, made: Matrix) -> tuple[np.ndarray, np.ndarray]:
    """The pure loss and the ρ of every change."""
    kappa, rho = np.zeros(len(made)), np.zeros(len(made))
    for measured in structure.measured:
        moved = np.abs(made @ rows_of(measured.forms, structure.domain.cells).T)
        if measured.law.currency == "epsilon":
            kappa += measured.law.rate * moved.sum(axis=1)
        else:
            rho += measured.law.rate * (moved**2).sum(axis=1)
    return kappa, rho
