r"""A structure as the privacy room reads it: equalities, factors and bounds over the cells that can move.

Structural zeros and bounds whose two sides meet are equalities. A family is a partition of cells (a part
of them: -1 is in no group), or one integer row; forms from a file whose weights are all alike are
groups too, so that most of what is written becomes families of groups.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from congenial.problems.structure import FREE, Forms, Structure

Groups = NDArray[np.int32]
Row = tuple[NDArray[np.int64], NDArray[np.int64]]


@dataclass(frozen=True, eq=False)
class Family:
    """Forms over the open cells: disjoint groups of cells, or one row (cells, weights)."""

    name: str
    count: int
    groups: Groups | None = None
    row: Row | None = None

    @cached_property
    def is_full(self) -> bool:
        """Whether every cell stands in a group."""
        return self.is_identity or (
            self.groups is not None and (len(self.groups) == 0 or int(self.groups.min()) >= 0)
        )

    @cached_property
    def is_identity(self) -> bool:
        """Whether group i is cell i."""
        groups = self.groups
        return (
            groups is not None
            and len(groups) == self.count
            and bool((groups == np.arange(self.count, dtype=np.int32)).all())
        )

    @cached_property
    def sizes(self) -> NDArray[np.int64]:
        """Cells in each group."""
        assert self.groups is not None
        if self.is_full:
            return np.bincount(self.groups, minlength=self.count)
        return np.bincount(self.groups[self.groups >= 0], minlength=self.count)

    @cached_property
    def is_single(self) -> bool:
        """Whether every group is one cell."""
        return self.is_identity or (self.groups is not None and int(self.sizes.max(initial=0)) <= 1)

    def values(self, change: NDArray[np.int64]) -> NDArray[np.int64]:
        """The value of every form at a dense change (or table) over the open cells."""
        if self.groups is not None:
            inside = self.groups >= 0
            found = np.zeros(self.count, dtype=np.int64)
            np.add.at(found, self.groups[inside], change[inside])
            return found
        assert self.row is not None
        return np.array([int(self.row[1] @ change[self.row[0]])], dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Factor:
    """Forms that a law weighs; `rate` is ε (epsilon) or ρ (rho) for a form moved by one.

    With `band`, what is weighed is the number of the band a form lies in, not its value (Gong & Meng,
    Example 5.2). No request asks for that; it is here so that their example runs through this code.
    """

    family: Family
    currency: str
    rate: float
    band: int | None = None


@dataclass(frozen=True, eq=False)
class Bounded:
    """Forms with limits that every compared table and every release keep; `room` is upper less lower."""

    family: Family
    lower: int
    upper: int
    band: int | None = None

    @property
    def has_lower(self) -> bool:
        return self.band is not None or self.lower > -int(FREE)

    @property
    def has_upper(self) -> bool:
        return self.band is not None or self.upper < int(FREE)

    @property
    def room(self) -> int:
        """How far a form can move inside."""
        if self.band is not None:
            return self.band - 1
        return self.upper - self.lower if self.has_lower and self.has_upper else int(FREE)


@dataclass(frozen=True, eq=False)
class Reading:
    """What is fixed, weighed and bounded over the open cells; `cells` are their places in the domain."""

    cells: NDArray[np.int64]
    facts: tuple[Family, ...]
    factors: tuple[Factor, ...]
    bounds: tuple[Bounded, ...]

    @property
    def size(self) -> int:
        return len(self.cells)


def read(structure: Structure) -> Reading:
    """Read a structure whose laws have scales."""
    taking = _Taking(structure)
    facts: list[Family] = []
    bounds: list[Bounded] = []
    for fact in structure.facts:
        made = taking.families(fact.forms, scaled=True)
        if fact.band is None or fact.band == 1:
            facts += made
        else:
            made = taking.families(fact.forms, scaled=False)
            bounds += [Bounded(family, -int(FREE), int(FREE), int(fact.band)) for family in made]
    for limit in structure.limits:
        made = taking.families(limit.forms, scaled=False)
        if limit.lower == limit.upper:
            facts += made
        elif limit.lower > -FREE or limit.upper < FREE:
            bounds += [Bounded(family, int(limit.lower), int(limit.upper)) for family in made]
    factors = tuple(
        Factor(family, measured.law.currency, measured.law.rate)
        for measured in structure.measured
        for family in taking.families(measured.forms, scaled=False)
    )
    return Reading(taking.cells, tuple(facts), factors, tuple(bounds))


class _Taking:
    """Forms made families over the cells that are not zero by logic."""

    def __init__(self, structure: Structure) -> None:
        total = structure.domain.cells
        self._all = len(structure.zeros) == 0
        if self._all:
            self.cells = np.arange(total, dtype=np.int64)
        else:
            stays = np.ones(total, dtype=bool)
            stays[structure.zeros] = False
            self.cells = np.flatnonzero(stays)
        self._place: NDArray[np.int64] | None = None
        self._total = total
        self._made: dict[tuple[int, bool], list[Family]] = {}

    def families(self, forms: Forms, *, scaled: bool) -> list[Family]:
        """The families of some forms; where `scaled`, a common factor of a form does not matter."""
        key = (id(forms), scaled and forms.groups is None)
        if key not in self._made:
            self._made[key] = self._families(forms, scaled)
        return self._made[key]

    def _families(self, forms: Forms, scaled: bool) -> list[Family]:
        if forms.groups is not None:
            groups = forms.groups if self._all else forms.groups[self.cells]
            return [Family(forms.name, forms.count, groups=groups)]
        return self._rows(forms, scaled)

    def _rows(self, forms: Forms, scaled: bool) -> list[Family]:
        starts, cells, weights = forms.rows
        if self._place is None:
            self._place = np.full(self._total, -1, dtype=np.int64)
            self._place[self.cells] = np.arange(len(self.cells))
        layers: list[tuple[Groups, int]] = []
        rows: list[Family] = []
        for j in range(forms.count):
            here = slice(int(starts[j]), int(starts[j + 1]))
            place, weight = _gathered(self._place[cells[here]], weights[here])
            if not len(place):
                continue
            if (weight == weight[0]).all() and (scaled or weight[0] == 1):
                self._lay(layers, place)
            else:
                rows.append(Family(forms.name, 1, row=(place, weight)))
        return [Family(forms.name, count, groups=groups) for groups, count in layers] + rows

    def _lay(self, layers: list[tuple[Groups, int]], place: NDArray[np.int64]) -> None:
        """Put a set of cells into the first layer where it meets no other."""
        for at, (groups, count) in enumerate(layers):
            if (groups[place] < 0).all():
                groups[place] = count
                layers[at] = (groups, count + 1)
                return
        groups = np.full(len(self.cells), -1, dtype=np.int32)
        groups[place] = 0
        layers.append((groups, 1))


def _gathered(place: NDArray[np.int64], weight: NDArray[np.int64]) -> Row:
    """The open cells of a form, each once, with a weight that is not zero."""
    inside = place >= 0
    found, where = np.unique(place[inside], return_inverse=True)
    total = np.zeros(len(found), dtype=np.int64)
    np.add.at(total, where, weight[inside])
    return found[total != 0], total[total != 0]
