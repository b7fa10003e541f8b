"""Queries: coarsenings of a table, as they are written and as partitions of the cells.

A query keeps an axis (its leaves), cuts it at a level, groups its categories, or sums it out. The
same grammar stands in measurements, invariants and bounds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import prod

import numpy as np
from numpy.typing import NDArray

from congenial.errors import Fault, RequestError
from congenial.tables.domain import Axis, Domain, Level, Path
from congenial.tables.naming import listed, near, shown


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

RESERVED = frozenset({"cells", "total", "query", "forms", "zeros"})
"""Words of the grammar: no axis may have one as its name."""

_GRAMMAR = (
    "write cells, total, an axis, a list of axes, or a mapping from axis to a level, "
    "to all, or to named groups of labels."
)


def as_query(value: object, where: str = "query") -> Query:
    """A query from Python values, the same grammar as YAML's.

    `cells`, `total`, an axis's name (its margin), a list of names (a joint margin), or a mapping from
    axis to a level's name, to `all`, or to named groups, each a list of labels and paths. Raises one
    `RequestError` with every fault; whether axes, levels and labels exist is `partition`'s to say.
    """
    faults: list[Fault] = []
    query = _read(value, where, faults)
    if faults:
        raise RequestError(faults)
    return query


def _read(value: object, where: str, faults: list[Fault]) -> Query:
    if isinstance(value, Query):
        return value
    if value == "cells":
        return CELLS
    if value == "total":
        return TOTAL
    if isinstance(value, str):
        return _margin([value], where, faults)
    if isinstance(value, Mapping):
        return _mapping(value, where, faults)
    if isinstance(value, Sequence) and not isinstance(value, bytes):
        return _margin(value, where, faults)
    faults.append(Fault(where, f"{_shown(value)} is not a query", _GRAMMAR))
    return TOTAL


def _margin(names: Sequence[object], where: str, faults: list[Fault]) -> Query:
    if not names:
        faults.append(Fault(where, "the list of axes is empty", "for the sum of all cells write total."))
    seen: list[str] = []
    for at, name in enumerate(names):
        here = where if len(names) == 1 else f"{where}[{at}]"
        if _is_axis_name(name, here, faults):
            if name in seen:
                faults.append(Fault(here, f"axis '{name}' is named twice", "name each axis once."))
            seen.append(str(name))
    return Query(tuple((name, Every()) for name in seen))


def _is_axis_name(name: object, where: str, faults: list[Fault]) -> bool:
    if not isinstance(name, str):
        faults.append(Fault(where, f"{_shown(name)} is not the name of an axis", "names are text."))
    elif not name.strip():
        faults.append(Fault(where, "an axis has an empty name", _GRAMMAR))
    elif name in RESERVED:
        say = f"'{name}' is a word of the grammar; no axis may be called so. {_GRAMMAR}"
        faults.append(Fault(where, f"'{name}' cannot stand here", say))
    else:
        return True
    return False


def _mapping(value: Mapping[object, object], where: str, faults: list[Fault]) -> Query:
    if not value:
        faults.append(Fault(where, "the mapping of axes is empty", "for the sum of all cells write total."))
    parts: list[tuple[str, Part]] = []
    for name, how in value.items():
        if not _is_axis_name(name, where, faults):
            continue
        part = _part(how, str(name), f"{where}.{name}", faults)
        if part is not None:
            parts.append((str(name), part))
    return Query(tuple(parts))


def _part(how: object, axis: str, where: str, faults: list[Fault]) -> Part | None:
    if how == "all" or isinstance(how, Every):
        return Every()
    if isinstance(how, AtLevel | Groups):
        return how
    if isinstance(how, str) and how.strip():
        return AtLevel(how)
    if isinstance(how, Mapping) and how:
        groups = tuple(_group(name, members, where, faults) for name, members in how.items())
        return Groups(tuple(group for group in groups if group is not None))
    say = "write a level's name, all, or groups such as {adults: [18-64, 65+]}."
    faults.append(Fault(where, f"{_shown(how)} does not say how axis '{axis}' is kept", say))
    return None


def _group(
    name: object, members: object, where: str, faults: list[Fault]
) -> tuple[str, tuple[Path, ...]] | None:
    if not isinstance(name, str) or not name.strip():
        faults.append(Fault(where, f"{_shown(name)} is not the name of a group", "names are text."))
        return None
    where = f"{where}.{name}"
    if not isinstance(members, Sequence) or isinstance(members, str | bytes):
        say = f"write a list: [{members}]." if isinstance(members, str) else "write a list of labels."
        faults.append(Fault(where, f"group '{name}' is not a list of labels", say))
        return None
    if not members:
        faults.append(Fault(where, f"group '{name}' is empty", "name the categories that it joins."))
    paths = [_path(member, f"{where}[{at}]", faults) for at, member in enumerate(members)]
    return name, tuple(path for path in paths if path is not None)


def _path(member: object, where: str, faults: list[Fault]) -> Path | None:
    parts = member if isinstance(member, list | tuple) else (member,)
    if parts and all(isinstance(part, str) and part for part in parts):
        return tuple(str(part) for part in parts)
    say = "a label is text as it stands in the source, such as '20'; a node of a hierarchy is a list of them."
    faults.append(Fault(where, f"{_shown(member)} is not a label", say))
    return None


def _shown(value: object) -> str:
    """A value of the request as a message shows it, however long it is."""
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


@dataclass(frozen=True, eq=False)
class Cut:
    """One axis of a partition: the group of each leaf (-1: in none) and the label of each group."""

    axis: Axis
    group: NDArray[np.int32]
    count: int
    columns: tuple[str, ...]
    named: tuple[Path, ...] | None = None
    """The groups' own names; without them the groups are the nodes of a level."""

    @cached_property
    def labels(self) -> tuple[Path, ...]:
        if self.named is not None:
            return self.named
        return tuple(self.axis.paths(len(self.columns) - 1))


@dataclass(frozen=True, eq=False)
class Partition:
    """A query applied to a domain: a part of the cells' set, cut into groups."""

    query: Query
    domain: Domain
    cuts: tuple[Cut, ...]
    shape: tuple[int, ...] = field(init=False)
    count: int = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "shape", tuple(cut.count for cut in self.cuts))
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

    @cached_property
    def coarse(self) -> Domain:
        """The domain of the query's own cells: the axes that it keeps, as it keeps them."""
        return Domain(tuple(_kept(cut) for cut in self.cuts))

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
        if self.query.is_cells:
            return counts.copy()
        inside = self.groups >= 0
        found = np.zeros(self.count, dtype=np.int64)
        np.add.at(found, self.groups[inside], counts[inside])
        return found


def _kept(cut: Cut) -> Axis:
    """The axis that a query leaves of one."""
    depth = len(cut.columns) - 1
    axis = cut.axis
    if cut.columns == axis.level_names[: depth + 1] and cut.labels == tuple(axis.paths(depth)):
        return Axis(axis.name, axis.levels[: depth + 1])
    return Axis(axis.name, (Level(axis.name, tuple(path[-1] for path in cut.labels)),))


def partition(domain: Domain, query: Query, where: str = "query") -> Partition:
    """Apply a query to a domain; raises a `RequestError` with every fault of the query."""
    faults: list[Fault] = []
    if query.is_cells:
        return Partition(query, domain, tuple(_every(axis) for axis in domain.axes))
    wanted: Mapping[str, Part] = dict(query.parts)
    for name in wanted:
        if domain.axis(name) is None:
            say = f"the axes are {', '.join(domain.names)}. {near(name, domain.names)}".strip()
            faults.append(Fault(where, f"unknown axis '{name}'", say))
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
    return Cut(axis, axis.nodes(depth), len(axis.levels[depth].labels), axis.level_names[: depth + 1])


def _cut(axis: Axis, part: Part, where: str, faults: list[Fault]) -> Cut | None:
    if isinstance(part, Every):
        return _every(axis)
    if isinstance(part, AtLevel):
        if part.level in axis.level_names:
            return _level(axis, axis.level_names.index(part.level))
        say = f"its levels are {', '.join(axis.level_names)}. {near(part.level, [*axis.level_names, 'all'])}"
        if axis.find((part.level,)):
            say = f"that is a category: write {{{axis.name}: {{{part.level}: [{part.level}]}}}} for it alone."
        faults.append(Fault(where, f"unknown level '{part.level}' of axis '{axis.name}'", say.strip()))
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
                both = f"in '{name}' and in '{other}'" if other != name else f"twice in '{name}'"
                what = f"'{'/'.join(path)}' of axis '{axis.name}' stands {both}"
                faults.append(Fault(where, what, "groups of one query must not overlap; write two queries."))
            group[leaves] = at
    if len(faults) > before:
        return None
    names = tuple((name,) for name, _ in part.groups)
    return Cut(axis, group, len(names), (axis.name,), names)


def _unknown_label(axis: Axis, path: Path, where: str) -> Fault:
    what = f"unknown category {shown('/'.join(path))} of axis '{axis.name}'"
    if len(path) > len(axis.levels):
        say = f"the axis has {len(axis.levels)} levels ({', '.join(axis.level_names)})."
        return Fault(where, what, f"{say} Write a list of labels, each of them a category.")
    below = _below(axis, path[0]) if len(path) == 1 else None
    if below is not None:
        return Fault(where, what, f"a node of a hierarchy is its path: write [{', '.join(below)}].")
    known = ["/".join(p) for p in axis.paths(len(path) - 1)]
    few = f"its categories are {listed(known)}. " if len(known) <= 12 else ""
    return Fault(where, what, (few + near("/".join(path), known)).strip())


def _below(axis: Axis, label: str) -> Path | None:
    """The path of the first node below the first level that has a label."""
    for depth, level in enumerate(axis.levels[1:], start=1):
        if label in level.labels:
            return axis.path(depth, level.labels.index(label))
    return None
