"""Independent blocks, as far as proofs need them: where laws meet, and where bounds meet a Gaussian."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from congenial.privacy import general
from congenial.privacy.changes import Changes
from congenial.privacy.fixed import fixed_groups
from congenial.privacy.prices import Binding
from congenial.privacy.reading import Family, Reading

MIXED = "discrete Laplace and discrete Gaussian meet in one block, and no statement is proven for the two"
BOUNDED = (
    "discrete Gaussian is conditioned on bounds that the facts do not imply, "
    "and then the rho of the noise alone is false"
)
WAYS_OUT = (
    "Use discrete Laplace throughout. (Drawing without bounds and projecting would cost nothing extra; it is "
    "not built yet.)"
)


def unproven(reading: Reading, changes: Changes, bounds: Binding) -> str:
    """Why no statement is proven for these laws together, or nothing."""
    currencies = {factor.currency for factor in reading.factors}
    if currencies <= {"epsilon"} or (currencies == {"rho"} and not bounds):
        return ""
    if currencies == {"rho"}:
        return BOUNDED
    block = _blocks(reading, changes, bounds)
    gauss = _touched(reading, changes, block, "rho")
    if (gauss & _touched(reading, changes, block, "epsilon")).any():
        return MIXED
    limited = np.zeros(len(gauss), dtype=bool)
    for bound in bounds.bounds:
        limited[block[_members(bound.family)]] = True
    return BOUNDED if (gauss & limited).any() else ""


def _members(family: Family) -> NDArray[np.int64]:
    """The cells of a family's forms."""
    if family.groups is None:
        assert family.row is not None
        return family.row[0]
    return np.flatnonzero(family.groups >= 0)


def _touched(
    reading: Reading, changes: Changes, block: NDArray[np.int64], currency: str
) -> NDArray[np.bool_]:
    """Blocks in which something is measured in a currency and can move."""
    found = np.zeros(int(block.max(initial=-1)) + 1, dtype=bool)
    for factor in reading.factors:
        if factor.currency == currency:
            found[block[_moving(factor.family, reading, changes)]] = True
    return found


def _moving(family: Family, reading: Reading, changes: Changes) -> NDArray[np.int64]:
    assert family.groups is not None
    if family.is_single:
        return np.flatnonzero((family.groups >= 0) & ~changes.determined)
    fixed = fixed_groups(family, reading, changes)
    return np.flatnonzero((family.groups >= 0) & ~fixed[family.groups])


def _blocks(reading: Reading, changes: Changes, bounds: Binding) -> NDArray[np.int64]:
    """For each open cell its block: facts without repetition, what is measured, bounds that may bind."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    size, width = reading.size, reading.size
    ends: list[tuple[NDArray[np.int64], NDArray[np.int64]]] = []
    for cells, group in _links(reading, changes, bounds):
        ends.append((cells, group + width))
        width += int(group.max(initial=-1)) + 1
    row = np.concatenate([cells for cells, _ in ends] or [np.empty(0, np.int64)])
    column = np.concatenate([nodes for _, nodes in ends] or [np.empty(0, np.int64)])
    graph = coo_array((np.ones(len(row)), (row, column)), shape=(width, width))
    _, label = connected_components(graph, directed=False)
    return np.unique(label[:size], return_inverse=True)[1].astype(np.int64)


def _links(
    reading: Reading, changes: Changes, bounds: Binding
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Cells and the form that joins them."""
    for pool in changes.lattice.chains:
        held = np.flatnonzero(pool >= 0)
        yield held, pool[held]
    if not changes.lattice.chains:
        yield from _fact_links(reading)
    for factor in reading.factors:
        cells = _moving(factor.family, reading, changes)
        assert factor.family.groups is not None
        yield cells, factor.family.groups[cells].astype(np.int64)
    for bound in bounds.bounds:
        cells = _members(bound.family)
        groups = bound.family.groups
        yield cells, groups[cells].astype(np.int64) if groups is not None else np.zeros_like(cells)


def _fact_links(reading: Reading) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Facts of any form: the rows of their echelon form, whose components are the finest there are."""
    given = general.columns(reading.facts, reading.size)
    if given.echelon is None:
        for family in reading.facts:
            cells = _members(family)
            groups = family.groups
            yield cells, groups[cells].astype(np.int64) if groups is not None else np.zeros_like(cells)
        return
    for row in given.echelon[0]:
        cells = np.flatnonzero(row[given.label] != 0)
        yield cells, np.zeros_like(cells)
