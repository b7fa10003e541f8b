"""Queries: coarsenings of a table, as they are written and as partitions of the cells.

A query keeps an axis (its leaves), cuts it at a level, groups its categories, or sums it out. The
same grammar stands in measurements, invariants and bounds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from math import prod

import numpy as np
from numpy.typing import NDArray

from congenial.errors import Fault, RequestError, nearest
from congenial.tables.domain import Axis, Domain, Path


@dataclass(frozen=True)
class AtLevel:
    """Cut an axis at a named level."""

    level: str


@dataclass(frozen=True)
class Every:
    """Keep every leaf of an axis (`all`)."""


@dataclass(frozen=True)
class Groups:
    """Named groups of nodes of an axis; what stands in no group is left out."""

    groups: tuple[tuple[str, tuple[Path, ...]], ...]


Part = AtLevel | Every | Groups


@dataclass(frozen=True)
class Query:
    """A query as written: for each axis that is not summed out, how it is kept.

    `cells` keeps every axis; then `parts` is empty and `is_cells` is true.
    """

    parts: tuple[tuple[str, Part], ...] = ()
    is_cells: bool = False

    @cached_property
    def name(self) -> str:
        """The query as a person writes it: `cells`, `total`, `sex`, `{place: state}`."""
        if self.is_cells:
            return "cells"
        if not self.parts:
            return "total"
        if all(isinstance(part, Every) for _, part in self.parts):
            names = [axis for axis, _ in self.parts]
            return names[0] if len(names) == 1 else f"[{', '.join(names)}]"
        return "{" + ", ".join(f"{axis}: {_part_name(part)}" for axis, part in self.parts) + "}"


def _part_name(part: Part) -> str:
    if isinstance(part, AtLevel):
        return part.level
    if isinstance(part, Every):
        return "all"
    return "{" + ", ".join(name for name, _ in part.groups) + "}"


CELLS = Query(is_cells=True)
TOTAL = Query()


@dataclass(frozen=True, eq=False)
class Cut:
    """One axis of a partition: the group of each leaf (-1: in none) and the label of each group."""

    axis: Axis
    group: NDArray[np.int32]
    labels: tuple[Path, ...]
    columns: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Partition:
    """A query applied to a domain: a part of the cells' set, cut into groups."""

    query: Query
    domain: Domain
    cuts: tuple[Cut, ...]
    shape: tuple[int, ...] = field(init=False)
    count: int = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "shape", tuple(len(cut.labels) for cut in self.cuts))
        object.__setattr__(self, "count", prod(self.shape))

    @cached_property
    def groups(self) -> NDArray[np.int32]:
        """For each cell, its group in C order of the kept axes; -1 for cells in no group."""
        if self.query.is_cells:
            return np.arange(self.domain.cells, dtype=np.int32)
        if not self.cuts:
            return np.zeros(self.domain.cells, dtype=np.int32)
        kept = {cut.axis.name: cut for cut in self.cuts}
        total = np.zeros((1,) * len(self.domain.axes), dtype=np.int64)
        outside = np.zeros((1,) * len(self.domain.axes), dtype=bool)
        stride = self.count
        strides: dict[str, int] = {}
        for cut, size in zip(self.cuts, self.shape, strict=True):
            stride = stride // size if size else 0
            strides[cut.axis.name] = stride
        for at, axis in enumerate(self.domain.axes):
            cut_here = kept.get(axis.name)
            if cut_here is None:
                continue
            view = [1] * len(self.domain.axes)
            view[at] = axis.size
            group = cut_here.group.astype(np.int64).reshape(view)
            total = total + group * strides[axis.name]
            outside = outside | (group < 0)
        full = np.where(outside, -1, total)
        return np.ascontiguousarray(np.broadcast_to(full, self.domain.shape).reshape(-1), dtype=np.int32)

    def label(self, group: int) -> str:
        """A group as a person names it: `place=Ohio, sex=female`, or `total`."""
        if not self.cuts:
            return "total"
        places = np.unravel_index(group, self.shape)
        return ", ".join(
            f"{cut.axis.name}={'/'.join(cut.labels[int(at)])}"
            for cut, at in zip(self.cuts, places, strict=True)
        )

    def sums(self, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        """The sum of each group. `counts` is flat, in the order of cells."""
        inside = self.groups >= 0
        found = np.zeros(self.count, dtype=np.int64)
        np.add.at(found, self.groups[inside], counts[inside])
        return found


def partition(domain: Domain, query: Query, where: str = "query") -> Partition:
    """Apply a query to a domain; raises a `RequestError` with every fault of the query."""
    faults: list[Fault] = []
    if query.is_cells:
        return Partition(query, domain, tuple(_every(axis) for axis in domain.axes))
    wanted: Mapping[str, Part] = dict(query.parts)
    for name in wanted:
        if domain.axis(name) is None:
            known = ", ".join(domain.names)
            faults.append(
                Fault(where, f"unknown axis '{name}'", f"the axes are {known}. {nearest(name, domain.names)}")
            )
    cuts = []
    for axis in domain.axes:
        if axis.name in wanted:
            cut = _cut(axis, wanted[axis.name], where, faults)
            if cut is not None:
                cuts.append(cut)
    if faults:
        raise RequestError(faults)
    return Partition(query, domain, tuple(cuts))


def _every(axis: Axis) -> Cut:
    return _level(axis, len(axis.levels) - 1)


def _level(axis: Axis, depth: int) -> Cut:
    return Cut(axis, axis.nodes(depth), tuple(axis.paths(depth)), axis.level_names[: depth + 1])


def _cut(axis: Axis, part: Part, where: str, faults: list[Fault]) -> Cut | None:
    if isinstance(part, Every):
        return _every(axis)
    if isinstance(part, AtLevel):
        if part.level in axis.level_names:
            return _level(axis, axis.level_names.index(part.level))
        known = ", ".join(axis.level_names)
        say = f"its levels are {known}. {nearest(part.level, [*axis.level_names, 'all'])}"
        faults.append(Fault(where, f"unknown level '{part.level}' of axis '{axis.name}'", say))
        return None
    return _grouped(axis, part, where, faults)


def _grouped(axis: Axis, part: Groups, where: str, faults: list[Fault]) -> Cut | None:
    group = np.full(axis.size, -1, dtype=np.int32)
    before = len(faults)
    for at, (name, members) in enumerate(part.groups):
        if not members:
            faults.append(Fault(where, f"group '{name}' of axis '{axis.name}' is empty"))
        for path in members:
            found = axis.find(path)
            if found is None:
                faults.append(_unknown_label(axis, path, where))
                continue
            depth, node = found
            leaves = axis.nodes(depth) == node
            if (group[leaves] >= 0).any():
                other = part.groups[int(group[leaves].max())][0]
                what = f"'{'/'.join(path)}' of axis '{axis.name}' stands in '{name}' and in '{other}'"
                faults.append(Fault(where, what, "groups of one query must not overlap; write two queries."))
            group[leaves] = at
    if len(faults) > before:
        return None
    return Cut(axis, group, tuple((name,) for name, _ in part.groups), (axis.name,))


def _unknown_label(axis: Axis, path: Path, where: str) -> Fault:
    depth = min(len(path), len(axis.levels)) - 1
    known = ["/".join(p) for p in axis.paths(depth)]
    near = nearest("/".join(path), known)
    few = f"its categories are {', '.join(known)}. " if len(known) <= 12 else ""
    return Fault(where, f"unknown category '{'/'.join(path)}' of axis '{axis.name}'", few + near)
