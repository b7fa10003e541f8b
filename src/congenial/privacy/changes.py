r"""What k units can change while the facts stay as they are.

A change δ keeps the facts, A δ = 0. Units of up to m rows, k of them, can make it if neither the counts put
nor the counts taken exceed k·m; `replace` puts as many as it takes, `add-or-remove` only puts or only
takes, `any` is free to do either. `k` is the largest, over the cells that the facts do not determine, of
the fewest units that move that cell: nobody is left out. It follows from facts, limits and domain.

    facts that nest           one count moves between two cells of a pool: k = 1    here
    two crossing chains       cycles                                                twoway.py
    full margins of a table   products of differences                               margins.py
    any others                integer programs over classes of cells                general.py
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from congenial.errors import Fault, NothingToProtectError
from congenial.privacy import general
from congenial.privacy.lattice import (
    ALONE,
    FIXED,
    READ,
    Integers,
    Labels,
    Lattice,
    Move,
    class_moves,
    left_out,
    untouched,
)
from congenial.privacy.margins import complex_of
from congenial.privacy.partitions import chained, classes, pools, two_chains
from congenial.privacy.reading import Family, Reading
from congenial.privacy.twoway import shortest
from congenial.requests.model import Change, Unit


@dataclass(frozen=True, eq=False)
class Changes:
    """What `units` units with `rows` rows in all can change, over the open cells of a reading.

    `reach[i]` bounds how far cell i can change; `change` is what the facts leave of the change asked for.
    """

    units: int
    rows: int
    change: Change
    reach: Integers
    lattice: Lattice

    @property
    def determined(self) -> NDArray[np.bool_]:
        """Open cells that the facts alone determine."""
        return np.asarray(self.lattice.least == 0)

    @property
    def nearest(self) -> Move:
        """A smallest admissible change, in counts."""
        return min(self.lattice.moves, key=lambda move: int(np.abs(move[1]).sum()))


def changes(reading: Reading, shape: tuple[int, ...], unit: Unit) -> Changes:
    """What as many units can change as leave nobody out; raises where nothing, or somebody, is left."""
    found = _lattice(reading, shape, unit)
    movable = found.least > 0
    if not movable.any() and not found.unsettled:
        raise NothingToProtectError(
            Fault(
                "",
                "the facts determine every cell, so that nothing is left to protect",
                "Publish fewer facts; or publish the table as it is, for that is what they do.",
                READ,
            )
        )
    units = -(-int(found.least.max(initial=1)) // unit.max_rows)
    rows = units * unit.max_rows
    if found.reach_of is None and len(found.chains) == 2:
        # a change is cycles that agree in sign; each moves a cell by one
        reach = np.where(movable, rows // np.maximum(found.least, 1), 0)
    else:
        reach = np.where(movable, rows, 0)
    return Changes(units, rows, _left(unit.change, found), reach, found)


def _left(asked: Change, found: Lattice) -> Change:
    """What the facts leave of the change asked for."""
    if asked != "any":
        return asked
    if found.keeps_total:
        return "replace"
    alone = int(np.count_nonzero(found.pool < 0)) == 1
    if found.chain is not None and alone and np.bincount(found.pool[found.pool >= 0]).max(initial=0) < 2:
        return "add-or-remove"
    return "any"


def _lattice(reading: Reading, shape: tuple[int, ...], unit: Unit) -> Lattice:
    partitions = [family for family in reading.facts if family.groups is not None]
    all_groups = len(partitions) == len(reading.facts)
    chain = chained(partitions) if all_groups else None
    if chain is not None:
        return _nested(chain, reading.size, unit)
    free = untouched(reading.facts, reading.size)
    if not all_groups:
        return general.lattice(reading, free, unit)
    if unit.change == "add-or-remove":
        return _added(partitions, reading, free, unit)
    two = two_chains(partitions, reading.size)
    if two is not None:
        return _twoway(two, partitions, free, unit)
    margins = complex_of(partitions, shape, reading.cells)
    known = margins.covered() * margins.least if margins is not None else np.zeros(reading.size, np.int64)
    if margins is not None and known.all():
        label, _ = classes(partitions, reading.size)
        reach = margins.reach_of
        return Lattice(known, label, tuple(margins.moves()), True, reach_of=reach)
    return general.lattice(reading, free, unit, known)


def _nested(chain: list[Family], cells: int, unit: Unit) -> Lattice:
    """Facts that nest: pools with a fixed sum each, and cells in none."""
    pool = pools(chain, cells) if chain else np.full(cells, -1, dtype=np.int64)
    loose = int(np.count_nonzero(pool < 0)) if cells else 0
    free = pool < 0
    sizes = np.bincount(pool[~free] if loose else pool, minlength=1)
    least = np.ones(cells, dtype=np.int64)
    if (sizes == 1).any():
        least[~free & (sizes == 1)[pool]] = 0
    if unit.change == "replace" and loose:
        if loose == 1:
            raise left_out(unit, ALONE)
        pool = np.where(free, len(sizes), pool)
        sizes = np.append(sizes, loose)
    if unit.change == "add-or-remove" and (sizes > 1).any():
        raise left_out(unit, FIXED)
    adds, pairs = unit.change != "replace", unit.change != "add-or-remove"
    moves = class_moves(pool, sizes, pool < 0, adds=adds, pairs=pairs)
    return Lattice(least, pool, moves, loose == 0, chain=tuple(chain), chains=(pool,))


def _twoway(two: tuple[Labels, Labels], facts: list[Family], free: NDArray[np.bool_], unit: Unit) -> Lattice:
    adds = unit.change == "any"
    cycles = shortest(*two, may_add=adds)
    if not adds and ((cycles.least == 0) & (shortest(*two, may_add=True).least > 0)).any():
        raise left_out(unit, ALONE)
    label, _ = classes(facts, len(free))
    pool = np.where(free, -1, label) if adds else label
    return Lattice(cycles.least, pool, cycles.moves, not cycles.adds, chains=two)


def _added(partitions: list[Family], reading: Reading, free: NDArray[np.bool_], unit: Unit) -> Lattice:
    """Counts are only added, or only taken away: in cells that stand in no fact."""
    two = two_chains(partitions, reading.size)
    if two is not None:
        movable = shortest(*two, may_add=True).least > 0
    else:
        given = general.columns(partitions, reading.size)
        fixed = general.determined(given)
        movable = np.ones(reading.size, dtype=bool) if fixed is None else ~fixed[given.label]
        movable |= (given.sizes >= 2)[given.label]
    if (movable & ~free).any():
        raise left_out(unit, FIXED)
    label = np.arange(len(free))
    moves = class_moves(label, np.ones_like(label), free, adds=True, pairs=False)
    return Lattice(free.astype(np.int64), np.where(free, -1, label), moves, False)
