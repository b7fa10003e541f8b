r"""Unit moves where measured families cross: the two cells of a pool whose columns differ most.

Moving a count from a to b costs Σ rate over the forms that hold one of the two and not the other. Two cells
that share no form cost their own sums together, which is an upper bound; the farthest cell from the dearest
one, and the farthest from that, mostly attain it. Where they do not, small pools are compared pair by pair,
and for what is left the upper bound is what is said.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from congenial.privacy.partitions import Labels, classes
from congenial.privacy.reading import Family

Floats = NDArray[np.float64]
_PAIRS = 4_000_000  # comparisons of cells that one pool may take
_POOLS = 200


@dataclass(frozen=True, eq=False)
class Costed:
    """A family of groups and what a move of one costs at each."""

    family: Family
    rate: float


@dataclass(frozen=True)
class Farthest:
    """The dearest unit move between two cells of a pool (or a bound above it); -inf where there is none."""

    cost: float
    is_exact: bool


def farthest(costed: Sequence[Costed], pool: Labels) -> Farthest:
    """The dearest move of a count between two cells with the same label; labels below 0 are no pool."""
    held = np.flatnonzero(pool >= 0)
    if not len(held):
        return Farthest(float("-inf"), True)
    order = held[np.argsort(pool[held], kind="stable")]
    starts = np.flatnonzero(np.diff(pool[order], prepend=-1))
    ends = np.append(starts[1:], len(order))
    above = _above(costed, pool, order, starts, ends)
    best, exact = float("-inf"), True
    for tried, which in enumerate(np.argsort(-above, kind="stable")):
        if above[which] <= best * (1 + 1e-12) or above[which] == float("-inf"):
            break
        if tried == _POOLS:
            return Farthest(float(above[which]), False)
        found = _in_pool(costed, order[starts[which] : ends[which]], float(above[which]))
        if found.cost > best:
            best, exact = found.cost, found.is_exact
    return Farthest(best, exact)


def _above(
    costed: Sequence[Costed],
    pool: Labels,
    order: NDArray[np.int64],
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
) -> Floats:
    """For each pool the two largest sums of its cells' forms, but for forms that hold the whole pool."""
    sums = np.zeros(len(order))
    for part in costed:
        assert part.family.groups is not None
        group = part.family.groups[order]
        low = np.minimum.reduceat(group, starts)
        shared = (low == np.maximum.reduceat(group, starts)) & (low >= 0)
        sums += np.where((group >= 0) & ~np.repeat(shared, ends - starts), part.rate, 0.0)
    first = np.maximum.reduceat(sums, starts)
    top = np.flatnonzero(sums == np.repeat(first, ends - starts))
    which = np.searchsorted(starts, top, side="right") - 1
    sums[top[np.unique(which, return_index=True)[1]]] = float("-inf")
    second: Floats = first + np.maximum.reduceat(sums, starts)
    return second


def _in_pool(costed: Sequence[Costed], cells: NDArray[np.int64], above: float) -> Farthest:
    columns = np.stack([_groups(part)[cells] for part in costed])
    rates = np.array([part.rate for part in costed])
    at, best = int(np.argmax((rates[:, None] * (columns >= 0)).sum(axis=0))), 0.0
    for _ in range(4):
        apart = _apart(columns, rates, at)
        at = int(np.argmax(apart))
        best = max(best, float(apart[at]))
    if best >= above * (1 - 1e-12):
        return Farthest(best, True)
    kept = _kinds(costed, columns, cells)
    if len(kept) ** 2 * len(rates) > _PAIRS * 10:
        return Farthest(above, False)
    for i in kept:
        best = max(best, float(_apart(columns, rates, i).max()))
    return Farthest(best, True)


def _kinds(
    costed: Sequence[Costed], columns: NDArray[np.int32], cells: NDArray[np.int64]
) -> NDArray[np.int64]:
    """A cell of every kind: cells that differ in families of single cells alone are of one kind."""
    shared = [
        Family(part.family.name, part.family.count, groups=columns[at])
        for at, part in enumerate(costed)
        if not part.family.is_single
    ]
    single = [
        Family(part.family.name, 2, groups=(columns[at] >= 0).astype(np.int32))
        for at, part in enumerate(costed)
        if part.family.is_single
    ]
    label, _ = classes([*shared, *single], len(cells))
    return np.unique(label, return_index=True)[1]


def _groups(part: Costed) -> NDArray[np.int32]:
    assert part.family.groups is not None
    return part.family.groups


def _apart(columns: NDArray[np.int32], rates: Floats, at: int) -> Floats:
    """What a move from one cell to each other cell costs."""
    mine = columns[:, at : at + 1]
    differ = columns != mine
    held = (columns >= 0).astype(np.float64) + (mine >= 0)
    found: Floats = (rates[:, None] * (differ * held)).sum(axis=0)
    return found
