"""The largest loss between any two tables of a class, by computing law (1) for every table.

Everything is listed: the tables whose cells lie in 0 … top and within the bounds, their classes (equal
facts, equal bands), the releases each table can become, the law of every table on them, and all pairs of
tables that the units could make of one another. Nothing here comes from `congenial.privacy`.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from congenial.problems.structure import FREE, Structure
from congenial.requests.model import Unit
from support.small_changes import changes, facts_of, rows_of

Matrix = np.ndarray


@dataclass(frozen=True)
class Worst:
    """The largest log-ratio, and the largest D_α / α for each order, over all pairs of tables."""

    pure: float
    renyi: Mapping[float, float] = field(default_factory=dict)
    pairs: int = 0


def worst(
    structure: Structure,
    unit: Unit,
    rows: int,
    *,
    top: int,
    wide: int = 0,
    orders: Sequence[float] = (),
    tables: Sequence[Sequence[int]] | None = None,
) -> Worst:
    """The worst pair among tables with cells in 0 … top (or among `tables`).

    Releases reach `wide` beyond them on both sides, unless bounds stop them; without bounds every table's
    law has the same normaliser, which need not be known.
    """
    kinds = {tuple(change) for change in changes(structure, rows, unit.change).tolist()}
    every = tables_of(structure, top) if tables is None else np.array(tables, dtype=np.int64)
    pure, pairs = -np.inf, 0
    renyi = dict.fromkeys(orders, -np.inf)
    for members in classes_of(structure, every):
        laws = laws_of(structure, members, top, wide)
        for i, j in itertools.product(range(len(members)), repeat=2):
            if tuple((members[j] - members[i]).tolist()) not in kinds:
                continue
            pairs += 1
            pure = max(pure, float((laws[i] - laws[j]).max()))
            for order in orders:
                terms = order * laws[i] - (order - 1) * laws[j]
                renyi[order] = max(renyi[order], float(_log_sum(terms)) / (order - 1) / order)
    return Worst(pure, renyi, pairs)


def tables_of(structure: Structure, top: int) -> Matrix:
    cells = structure.domain.cells
    made = np.array(list(itertools.product(range(top + 1), repeat=cells)), dtype=np.int64)
    return made[_inside(structure, made)]


def _inside(structure: Structure, made: Matrix) -> np.ndarray:
    inside = (made[:, structure.zeros] == 0).all(axis=1)
    for limit in structure.limits:
        values = made @ rows_of(limit.forms, structure.domain.cells).T
        inside &= ((values >= limit.lower) & (values <= limit.upper)).all(axis=1)
    return inside


def _bands(structure: Structure, made: Matrix) -> Matrix:
    found = [np.zeros((len(made), 0), dtype=np.int64)]
    for fact in structure.facts:
        if fact.band is not None:
            found.append((made @ rows_of(fact.forms, structure.domain.cells).T - 1) // fact.band)
    return np.concatenate(found, axis=1)


def classes_of(structure: Structure, every: Matrix) -> list[Matrix]:
    keys = np.concatenate([every @ facts_of(structure).T, _bands(structure, every)], axis=1)
    classes: dict[tuple[int, ...], list[np.ndarray]] = defaultdict(list)
    for key, table in zip(keys.tolist(), every, strict=True):
        classes[tuple(key)].append(table)
    return [np.array(members) for members in classes.values() if len(members) > 1]


def laws_of(structure: Structure, members: Matrix, top: int, wide: int) -> Matrix:
    """The log of the law of every table, on the releases of its class."""
    releases = _releases(structure, members[0], top, wide)
    costs = np.zeros((len(members), len(releases)))
    for measured in structure.measured:
        forms = rows_of(measured.forms, structure.domain.cells)
        apart = np.abs((releases @ forms.T)[None, :, :] - (members @ forms.T)[:, None, :])
        costs += measured.law.rate * (apart.astype(np.float64) ** measured.law.power).sum(axis=2)
    bounded = bool(structure.limits) or any(fact.band is not None for fact in structure.facts)
    centred = _log_sum(-costs) if bounded else _log_sum(-costs[[len(members) // 2]])
    return -costs - np.atleast_1d(centred)[:, None]


def _releases(structure: Structure, member: np.ndarray, top: int, wide: int) -> Matrix:
    """Every y with the facts of a table, inside the bounds, at most `wide` outside of 0 … top."""
    facts = facts_of(structure)
    reduced, pivots = _echelon(np.concatenate([facts, (facts @ member)[:, None]], axis=1))
    cells = structure.domain.cells
    free = [i for i in range(cells) if i not in pivots]
    low, high = _box(structure, top, wide)
    axes = [np.arange(low[i], high[i] + 1) for i in free]
    grid = np.stack([axis.ravel() for axis in np.meshgrid(*axes, indexing="ij")], axis=1) if free else None
    count = len(grid) if grid is not None else 1
    made = np.zeros((count, cells), dtype=np.int64)
    whole = np.ones(count, dtype=bool)
    for at, i in enumerate(free):
        made[:, i] = grid[:, at]
    for row, pivot in zip(reduced, pivots, strict=True):
        scale = int(np.lcm.reduce([value.denominator for value in row]))
        weights = np.array([int(value * scale) for value in row], dtype=np.int64)
        value = np.full(count, weights[-1])
        for i in free:
            value = value - weights[i] * made[:, i]
        whole &= value % scale == 0
        made[:, pivot] = value // scale
    made = made[whole]
    inside = _inside(structure, made) & (_bands(structure, made) == _bands(structure, member[None])).all(
        axis=1
    )
    return made[inside]


def _box(structure: Structure, top: int, wide: int) -> tuple[list[int], list[int]]:
    cells = structure.domain.cells
    low, high = [-wide] * cells, [top + wide] * cells
    for limit in structure.limits:
        for row in rows_of(limit.forms, cells):
            at = np.flatnonzero(row)
            if len(at) == 1 and row[at[0]] == 1:
                if limit.lower > -FREE:
                    low[at[0]] = max(low[at[0]], limit.lower)
                if limit.upper < FREE:
                    high[at[0]] = min(high[at[0]], limit.upper)
    return low, high


def _echelon(rows: Matrix) -> tuple[list[list[Fraction]], list[int]]:
    left = [[Fraction(int(v)) for v in row] for row in rows]
    pivots: list[int] = []
    for column in range(rows.shape[1] - 1):
        at = next((i for i in range(len(pivots), len(left)) if left[i][column]), None)
        if at is None:
            continue
        done = len(pivots)
        left[done], left[at] = left[at], left[done]
        head = left[done][column]
        left[done] = [value / head for value in left[done]]
        for i in range(len(left)):
            if i != done and left[i][column]:
                factor = left[i][column]
                left[i] = [a - factor * b for a, b in zip(left[i], left[done], strict=True)]
        pivots.append(column)
    return left[: len(pivots)], pivots


def _log_sum(terms: Matrix) -> np.ndarray:
    top = terms.max(axis=-1, keepdims=True)
    return (top + np.log(np.exp(terms - top).sum(axis=-1, keepdims=True))).squeeze(-1)
