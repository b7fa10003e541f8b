"""Cut a problem into independent parts: a forest of nested forms, and crossings over its roots.

First the forms that nest with all others; then, over the atoms that remain, each connected part by
itself: where its forms nest after all (once redundant facts are gone) it joins the forest.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from congenial.laws import Law
from congenial.problems.crossing import Crossing, Row, part
from congenial.problems.forest import Forest, Planting
from congenial.problems.problem import Problem, Slack
from congenial.problems.structure import FREE, Forms


@dataclass(frozen=True, eq=False, repr=False)
class Layout:
    """A problem in parts: every root of the forest is a block, or belongs to one crossing.

    `determined` are the cells that the facts determine, sorted.
    """

    forest: Forest
    crossings: tuple[Crossing, ...]
    determined: NDArray[np.int64]
    width: int


@dataclass(frozen=True, eq=False)
class _Role:
    """Forms with what they do: weigh (law), fix (neither), or limit."""

    forms: Forms
    law: Law | None = None
    slack: Slack | None = None

    @property
    def is_fact(self) -> bool:
        return self.law is None and self.slack is None


def decompose(problem: Problem) -> Layout:
    """The layout of a problem."""
    structure = problem.structure
    roles = (
        [_Role(fact.forms) for fact in structure.facts if fact.band is None]
        + [_Role(measured.forms, law=measured.law) for measured in structure.measured]
        + [_Role(slack.forms, slack=slack) for slack in problem.slacks]
    )
    planting = Planting(structure.domain.cells, structure.zeros)
    crossing = _plant(planting, roles)
    if not crossing:
        forest, number = planting.grown(np.empty(0, dtype=np.int64))
        return _layout(forest, (), number, structure.domain.cells)
    return _join(planting, crossing, structure.domain.cells)


def _layout(forest: Forest, crossings: tuple[Crossing, ...], number: NDArray[np.int64], cells: int) -> Layout:
    return Layout(forest, crossings, np.flatnonzero(number[:cells] < 0), cells)


def _apply(planting: Planting, role: _Role, nodes: NDArray[np.int64]) -> None:
    if role.law is not None:
        planting.weigh(nodes, role.law)
    elif role.slack is not None:
        planting.limit(nodes, role.slack.lower, role.slack.upper)
    else:
        planting.fix(nodes)


def _plant(planting: Planting, roles: list[_Role]) -> list[_Role]:
    """Join what nests, fine to coarse, and return what crosses (nothing nested then lies above it)."""
    leaves = np.arange(planting.leaves, dtype=np.int64)
    coarse = []
    for role in roles:
        if role.forms.groups is not None and role.forms.is_identity:
            _apply(planting, role, leaves)
        else:
            coarse.append(role)
    order = sorted(_distinct(coarse), key=lambda same: -same[0].forms.count)
    crossing = _crossing(planting, [same[0] for same in order])
    nested = [same for same, crosses in zip(order, crossing, strict=True) if not crosses]
    nodes = _join_all(planting, [same[0].forms for same in nested])
    for same, found in zip(nested, nodes, strict=True):
        for role in same:
            _apply(planting, role, found)
    return [role for same, crosses in zip(order, crossing, strict=True) if crosses for role in same]


def _join_all(planting: Planting, forms: list[Forms]) -> list[NDArray[np.int64]]:
    """Make the groups of partitions nodes, given that any two groups are nested or disjoint.

    Partitions of all cells go in whole, fine to coarse. Where some leave cells out, one may lie below
    another here and above it there: then groups of one size go in together, small ones first.
    """
    trial = Planting(planting.leaves, np.empty(0, dtype=np.int64))
    if all(trial.join(form.groups, form.count) is not None for form in forms):  # type: ignore[arg-type]
        return [_joined(planting, form.groups, form.count) for form in forms]
    found = [np.full(form.count, -1, dtype=np.int64) for form in forms]
    sizes = [np.bincount(form.groups[form.groups >= 0], minlength=form.count) for form in forms]  # type: ignore[index,operator]
    steps = sorted((int(size), at) for at, held in enumerate(sizes) for size in np.unique(held[held > 0]))
    for size, at in steps:
        groups = forms[at].groups
        assert groups is not None, "forms in sparse rows are never planted"
        mine = np.append(sizes[at] == size, False)[groups]  # a cell of no group has -1: the last place
        nodes = _joined(planting, np.where(mine, groups, -1).astype(np.int32), forms[at].count)
        found[at] = np.maximum(found[at], nodes)
    return found


def _joined(planting: Planting, groups: NDArray[np.int32] | None, count: int) -> NDArray[np.int64]:
    assert groups is not None, "forms in sparse rows are never planted"
    nodes = planting.join(groups, count)
    assert nodes is not None, "groups that are nested or disjoint can be planted"
    return nodes


def _distinct(roles: list[_Role]) -> list[list[_Role]]:
    """Roles whose forms are the same partition, together."""
    found: list[list[_Role]] = []
    for role in roles:
        for same in found:
            if _equal(role.forms, same[0].forms):
                same.append(role)
                break
        else:
            found.append([role])
    return found


def _equal(a: Forms, b: Forms) -> bool:
    if a is b:
        return True
    if a.groups is None or b.groups is None or a.count != b.count:
        return False
    return a.groups is b.groups or bool(np.array_equal(a.groups, b.groups))


def _crossing(planting: Planting, roles: list[_Role]) -> list[bool]:
    """For each, whether it crosses another, or would cut an atom of those that do."""
    groups = [role.forms.groups for role in roles]
    crosses = [group is None for group in groups]
    nested = Planting(planting.leaves, np.empty(0, dtype=np.int64))
    if not any(crosses) and all(
        nested.join(role.forms.groups, role.forms.count) is not None  # type: ignore[arg-type]
        for role in roles
    ):
        return crosses
    for i, one in enumerate(groups):
        for j in range(i):
            other = groups[j]
            if one is None or other is None or (crosses[i] and crosses[j]):
                continue
            if not _laminar(one, other):
                crosses[i] = crosses[j] = True
    changed = True
    while changed:
        changed = False
        atoms = _atoms(planting.leaves, [role.forms for role, x in zip(roles, crosses, strict=True) if x])
        for i, group in enumerate(groups):
            if not crosses[i] and group is not None and not _inside(group, atoms):
                crosses[i] = changed = True
    return crosses


def _laminar(one: NDArray[np.int32], other: NDArray[np.int32]) -> bool:
    """Whether any group of one and any of the other are nested or disjoint."""
    both = (one >= 0) & (other >= 0)
    a, b = one[both].astype(np.int64), other[both].astype(np.int64)
    pairs, count = np.unique(a * (int(other.max()) + 1) + b, return_counts=True)
    left, right = np.divmod(pairs, int(other.max()) + 1)
    size_one = np.bincount(one[one >= 0])
    size_other = np.bincount(other[other >= 0])
    return bool(((count == size_one[left]) | (count == size_other[right])).all())


def _inside(group: NDArray[np.int32], atoms: NDArray[np.int64]) -> bool:
    """Whether every group lies inside one atom."""
    held = group >= 0
    pairs = np.unique(group[held].astype(np.int64) * (int(atoms.max()) + 1) + atoms[held])
    return len(pairs) == len(np.unique(group[held]))


def _atoms(cells: int, forms: list[Forms]) -> NDArray[np.int64]:
    """For each cell, its atom: cells that every form treats alike."""
    atom = np.zeros(cells, dtype=np.int64)
    for form in forms:
        if form.groups is not None:
            columns = [form.groups.astype(np.int64) + 1]
        else:
            columns = list(_dense(form, cells))
        for column in columns:
            column = column - column.min()
            _, atom = np.unique(atom * (int(column.max()) + 1) + column, return_inverse=True)
    return atom


def _touched(cells: int, forms: list[Forms]) -> NDArray[np.bool_]:
    """Cells that some form speaks of."""
    found = np.zeros(cells, dtype=bool)
    for form in forms:
        if form.groups is not None:
            found |= form.groups >= 0
        elif form.cells is not None:
            found[form.cells] = True
    return found


def _dense(forms: Forms, cells: int) -> NDArray[np.int64]:
    starts, where, weights = forms.rows
    dense = np.zeros((forms.count, cells), dtype=np.int64)
    for j in range(forms.count):
        part = slice(int(starts[j]), int(starts[j + 1]))
        dense[j, where[part]] = weights[part]
    return dense


def _join(planting: Planting, roles: list[_Role], cells: int) -> Layout:
    """Lay out a problem with forms that cross, over its atoms."""
    forms = [role.forms for role in roles]
    atom = np.where(_touched(cells, forms), _atoms(cells, forms), -1)
    _, sample, groups = np.unique(atom, return_index=True, return_inverse=True)
    if atom[sample[0]] < 0:  # cells that no such form touches stay what they are
        sample, groups = sample[1:], groups - 1
    nodes = _joined(planting, groups.astype(np.int32), len(sample))
    # what nested facts say already of an atom's sum is no longer for the crossing ones to say
    unknown = ~planting.known(nodes)
    nodes, sample = nodes[unknown], sample[unknown]
    parted = part(len(nodes), _rows(roles, sample, cells))
    planting.fix(nodes[parted.determined])
    crossings: list[Crossing] = []
    joined: list[int] = []
    for atoms, facts, others, names in parted.groups:
        mine = nodes[atoms]
        if not len(facts) and not others:
            continue
        if _nests(planting, mine, facts, others):
            continue
        joined += mine.tolist()
        crossings.append(Crossing(mine, facts, others, names))
    forest, number = planting.grown(np.array(joined, dtype=np.int64))
    numbered = tuple(Crossing(number[c.atoms], c.facts, c.others, c.names) for c in crossings)
    return _layout(forest, numbered, number, cells)


def _rows(roles: list[_Role], sample: NDArray[np.int64], cells: int) -> list[Row]:
    """The crossing forms as rows over atoms, each known by one of its cells; equal rows are made one."""
    merged: dict[tuple[bool, bytes], Row] = {}
    for role in roles:
        for j, weights in enumerate(_over(role.forms, sample, cells)):
            if not weights.any():
                continue
            laws = (role.law,) if role.law is not None else ()
            lower = int(role.slack.lower[j]) if role.slack else -int(FREE)
            upper = int(role.slack.upper[j]) if role.slack else int(FREE)
            key = (role.is_fact, weights.tobytes())
            held = merged.get(key)
            if held is not None:
                laws, lower, upper = (*held.laws, *laws), max(lower, held.lower), min(upper, held.upper)
            merged[key] = Row(weights, role.forms.name, laws, lower, upper, role.is_fact)
    return list(merged.values())


def _over(forms: Forms, sample: NDArray[np.int64], cells: int) -> NDArray[np.int64]:
    """Forms as dense rows over atoms, read off one cell of each atom."""
    found: NDArray[np.int64]
    if forms.groups is not None:
        found = (forms.groups[sample][None, :] == np.arange(forms.count)[:, None]).astype(np.int64)
    else:
        found = _dense(forms, cells)[:, sample]
    return found


def _nests(
    planting: Planting, nodes: NDArray[np.int64], facts: NDArray[np.int64], others: tuple[Row, ...]
) -> bool:
    """Join these forms to the forest if they nest; otherwise leave it as it was."""
    rows = [Row(weights, "", is_fact=True) for weights in facts] + list(others)
    if any(((row.weights != 0) & (row.weights != 1)).any() for row in rows):
        return False
    sets = [frozenset(np.flatnonzero(row.weights).tolist()) for row in rows]
    order = sorted(range(len(rows)), key=lambda i: len(sets[i]))
    for at, i in enumerate(order):
        for j in order[:at]:
            shared = len(sets[i] & sets[j])
            if shared and shared != len(sets[j]):
                return False
    where = {int(node): at for at, node in enumerate(nodes.tolist())}
    atom_of = np.array([where.get(int(top), -1) for top in planting.top], dtype=np.int64)
    for i in order:
        member = np.zeros(len(nodes) + 1, dtype=bool)
        member[list(sets[i])] = True
        groups = np.where(member[atom_of], 0, -1).astype(np.int32)
        found = planting.join(groups, 1)
        assert found is not None, "forms that nest as sets of atoms nest as sets of cells"
        _weigh_row(planting, rows[i], found)
    return True


def _weigh_row(planting: Planting, row: Row, nodes: NDArray[np.int64]) -> None:
    if row.is_fact:
        planting.fix(nodes)
    for law in row.laws:
        planting.weigh(nodes, law)
    planting.limit(nodes, np.array([row.lower]), np.array([row.upper]))
