r"""Families that nest: the dearest unit move in one pass from the leaves up.

A move of one count from cell `a` to cell `b` of a pool changes the nodes above `a` and above `b` below
the first node that holds both. It costs the sum of their rates, so the dearest move is the longest path
between two cells of a tree that is cut where facts stand. One pass keeps, for every node, the dearest way
from an open cell below it up to it, and the dearest two from different children.

**Cost.** A few array passes a family over the nodes below it; no sort.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from congenial.privacy.reading import Family

Floats = NDArray[np.float64]
NONE = float("-inf")


@dataclass(frozen=True, eq=False)
class Step:
    """A family in the tree: what a move of one costs at each of its nodes, and whether they are fixed."""

    family: Family
    rate: float = 0.0
    is_fact: bool = False


@dataclass(frozen=True)
class Longest:
    """The dearest moves of one count: -inf where there is none.

    `joined`: between two cells below a common node. `first`, `second`: from an open cell to the top, for
    the two dearest nodes that nothing joins; a move between them costs both, adding a count the first.
    `highest`: from any open cell up to where it ends, which is what a count moved by one costs at most.
    """

    joined: float
    first: float
    second: float
    highest: float


@dataclass(frozen=True, eq=False)
class _Open:
    """Nodes that no family so far has joined or closed: a cell of each, and the dearest way up to it."""

    cell: NDArray[np.int64] | None
    """None: every cell, in order."""
    way: Floats | float
    """One number where all ways cost the same."""
    size: int


def longest(chain: Sequence[Step], cells: int) -> Longest:
    """The dearest moves in the tree of a chain, fine to coarse."""
    at = _Open(None, 0.0, cells)
    joined, highest = NONE, 0.0
    for step in chain:
        if step.is_fact and at.size:
            highest = max(highest, float(np.max(at.way)))
        at, found = _join(at, step)
        joined = max(joined, found)
    first, second = _two(at.way, at.size)
    return Longest(joined, first, second, max(highest, first))


def _two(way: Floats | float, size: int) -> tuple[float, float]:
    if size == 0:
        return NONE, NONE
    if isinstance(way, float):
        return way, way if size > 1 else NONE
    top = int(np.argmax(way))
    first = float(way[top])
    rest = float(max(way[:top].max(initial=NONE), way[top + 1 :].max(initial=NONE)))
    return first, rest


def _join(at: _Open, step: Step) -> tuple[_Open, float]:
    """Join open nodes below each node of a family; also the dearest move between two of them."""
    groups = step.family.groups
    assert groups is not None
    if step.family.is_single and at.cell is None:
        return _leaves(at, step)
    group = groups if at.cell is None else groups[at.cell]
    outside: NDArray[np.int64] | None = None
    inside: NDArray[np.int64] | None = None
    way = at.way
    if not step.family.is_full:
        inside = np.flatnonzero(group >= 0)
        outside = np.flatnonzero(group < 0)
        group = group[inside]
        way = _part(way, inside)
    best, pair, count = _largest(group, way, step.family.count)
    used = np.flatnonzero(count)
    if step.is_fact:
        return _rest(at, outside), pair
    cell = np.zeros(step.family.count, dtype=np.int64)
    places = inside if inside is not None else np.arange(at.size)
    cell[group] = places if at.cell is None else at.cell[places]
    up: Floats | float = best + step.rate if isinstance(best, float) else best[used] + step.rate
    return _merged(_Open(cell[used], up, len(used)), _rest(at, outside)), pair


def _leaves(at: _Open, step: Step) -> tuple[_Open, float]:
    """Nodes of one cell each: nothing is joined."""
    if step.family.is_full:
        if step.is_fact:
            return _Open(np.empty(0, dtype=np.int64), 0.0, 0), NONE
        return _Open(None, at.way + step.rate, at.size), NONE
    assert step.family.groups is not None
    inside = step.family.groups >= 0
    if step.is_fact:
        return _rest(at, np.flatnonzero(~inside)), NONE
    return _Open(None, at.way + np.where(inside, step.rate, 0.0), at.size), NONE


def _largest(
    group: NDArray[np.int32], way: Floats | float, count: int
) -> tuple[Floats | float, float, NDArray[np.int64]]:
    """For each group the dearest way, over all groups the dearest pair in one group, and the sizes."""
    sizes = np.bincount(group, minlength=count)
    if isinstance(way, float):
        return way, 2 * way if int(sizes.max(initial=0)) > 1 else NONE, sizes
    best = np.full(count, NONE)
    np.maximum.at(best, group, way)
    holder = np.zeros(count, dtype=np.int64)
    hit = np.flatnonzero(way == best[group])
    holder[group[hit]] = hit
    rest = way.copy()
    rest[holder[sizes > 0]] = NONE
    second = np.full(count, NONE)
    np.maximum.at(second, group, rest)
    return best, float((best + second).max(initial=NONE)), sizes


def _part(way: Floats | float, which: NDArray[np.int64]) -> Floats | float:
    return way if isinstance(way, float) else way[which]


def _rest(at: _Open, outside: NDArray[np.int64] | None) -> _Open:
    if outside is None:
        return _Open(np.empty(0, dtype=np.int64), 0.0, 0)
    cell = outside if at.cell is None else at.cell[outside]
    return _Open(cell, _part(at.way, outside), len(outside))


def _merged(one: _Open, other: _Open) -> _Open:
    if other.size == 0:
        return one
    assert one.cell is not None
    assert other.cell is not None
    ways = [np.broadcast_to(np.asarray(part.way), (part.size,)) for part in (one, other)]
    return _Open(np.concatenate([one.cell, other.cell]), np.concatenate(ways), one.size + other.size)
