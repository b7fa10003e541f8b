"""What facts of one kind leave open, before anybody counts units; and the refusals that follow from it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from congenial.errors import Fault, RequestError
from congenial.privacy.reading import Family
from congenial.requests.model import Unit

Integers = NDArray[np.int64]
Labels = NDArray[np.int64]
Move = tuple[NDArray[np.int64], NDArray[np.int64]]
"""A change as open cells and what is added to each."""

READ = "docs/explanation/what-is-promised.md"


@dataclass(frozen=True, eq=False)
class Lattice:
    """The changes {δ : A δ = 0} of some facts.

    `least[i]`: the fewest rows that move cell i, 0 where the facts determine it. `pool`: one count may
    move between cells of one pool; -1 stands in no fact and may change alone. `moves`: a smallest move of
    every size that occurs.
    """

    least: Integers
    pool: Labels
    moves: tuple[Move, ...]
    keeps_total: bool
    is_exact: bool = True
    chain: tuple[Family, ...] | None = None
    """The facts fine to coarse, where they nest."""
    chains: tuple[Labels, ...] = ()
    """The facts as disjoint pools of cells: one labelling where they nest, two where two chains cross."""
    reach_of: Callable[[Family, int], int] | None = None
    """How far the forms of a family can move with so many rows, where more is known than that."""
    unsettled: str = ""
    """Why the smallest moves could not be found, or nothing."""


def untouched(facts: Sequence[Family], cells: int) -> NDArray[np.bool_]:
    """Cells that stand in no fact."""
    free = np.ones(cells, dtype=bool)
    for family in facts:
        if family.groups is not None:
            free &= family.groups < 0
        elif family.row is not None:
            free[family.row[0]] = False
    return free


def class_moves(
    label: Labels, sizes: Integers, free: NDArray[np.bool_], *, adds: bool, pairs: bool = True
) -> tuple[Move, ...]:
    """One count added to a cell in no fact, and one moved between two cells that all facts treat alike."""
    moves: list[Move] = []
    if adds and free.any():
        moves.append((np.array([int(np.argmax(free))]), np.array([1])))
    if not pairs:
        return tuple(moves)
    if (sizes >= 2).any():
        which = int(np.argmax(sizes >= 2))
        first = int(np.argmax(label == which))
        second = first + 1 + int(np.argmax(label[first + 1 :] == which))
        moves.append((np.array([first, second]), np.array([1, -1])))
    elif adds and int(np.count_nonzero(free)) > 1:
        one, other = np.flatnonzero(free)[:2]
        moves.append((np.array([one, other]), np.array([1, -1])))
    return tuple(moves)


def left_out(unit: Unit, why: str) -> RequestError:
    """The refusal of a change that some cells cannot undergo."""
    return RequestError(
        Fault(
            "unit.change",
            f"'{unit.change}' leaves some cells without protection: {why}",
            "Leave `change` away (any), so that every admissible change is compared.",
            READ,
        )
    )


ALONE = "the facts let some cells change only together with the total"
FIXED = "a fact fixes a sum that adding or removing a unit would change"
