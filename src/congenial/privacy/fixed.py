"""Which forms facts determine: what is measured or bounded there neither moves nor costs."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from congenial.privacy import general
from congenial.privacy.changes import Changes
from congenial.privacy.partitions import determined_groups
from congenial.privacy.reading import Family, Reading


def fixed_groups(family: Family, reading: Reading, changes: Changes) -> NDArray[np.bool_]:
    """Which forms of a family keep their value under every admissible change.

    Exact where the facts nest. Elsewhere a form that is said to move may not; never the other way round.
    """
    if family.groups is None:
        return np.zeros(family.count, dtype=bool)
    if not changes.lattice.chains:
        return _by_rank(family, reading)
    fixed = np.zeros(family.count, dtype=bool)
    for pool in changes.lattice.chains:
        fixed |= determined_groups(family, pool)
    return fixed


def _by_rank(family: Family, reading: Reading) -> NDArray[np.bool_]:
    """Forms made of whole classes of cells that are combinations of the facts."""
    assert family.groups is not None
    fixed = np.zeros(family.count, dtype=bool)
    given = general.columns(reading.facts, reading.size)
    value = np.zeros(len(given.sizes), dtype=np.int64)
    value[given.label] = family.groups
    split = family.groups[value[given.label] != family.groups]
    whole = np.ones(family.count, dtype=bool)
    whole[split[split >= 0]] = False
    held = value[given.label] != family.groups
    whole[value[given.label[held]][value[given.label[held]] >= 0]] = False
    for group in np.flatnonzero(whole & (family.sizes > 0)):
        fixed[group] = general.fixes(given, (value == group).astype(np.int64))
    return fixed
