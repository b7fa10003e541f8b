"""Recognise two families of facts that cross: rows and columns of an array of atoms."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from congenial.problems.crossing import Crossing


def rows_and_columns(crossing: Crossing) -> tuple[NDArray[np.int64], NDArray[np.int64]] | None:
    """(row of each atom, column of each atom) where the facts are just two-way margins, else None.

    The facts have independent rows, so one margin of the array may be missing: it follows from the
    others, which fix the total. Nothing but facts may join the atoms.
    """
    facts = crossing.facts
    if crossing.others or len(facts) < 3 or ((facts != 0) & (facts != 1)).any():
        return None
    side = _sides((facts @ facts.T) != 0)
    if side is None:
        return None
    found = []
    missing = 0
    for which in (0, 1):
        family = facts[side == which]
        if not len(family) or (family.sum(axis=0) > 1).any():
            return None
        label = np.where(family.any(axis=0), family.argmax(axis=0), len(family))
        missing += int((label == len(family)).any())
        found.append(label)
    pairs = found[0] * (len(facts) + 1) + found[1]
    if missing != 1 or len(np.unique(pairs)) != len(pairs):
        return None
    return found[0], found[1]


def _sides(touch: NDArray[np.bool_]) -> NDArray[np.int64] | None:
    """Two colours for facts so that facts that share an atom differ, or None."""
    side = np.full(len(touch), -1)
    for start in range(len(touch)):
        if side[start] >= 0:
            continue
        side[start] = 0
        waiting = [start]
        while waiting:
            at = waiting.pop()
            for other in np.flatnonzero(touch[at]).tolist():
                if other == at:
                    continue
                if side[other] < 0:
                    side[other] = 1 - side[at]
                    waiting.append(other)
                elif side[other] == side[at]:
                    return None
    return side
