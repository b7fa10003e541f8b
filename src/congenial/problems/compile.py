"""A request on a domain becomes a structure: forms with laws, facts and limits. No count is needed.

Queries become the groups of a partition, files of forms become sparse rows, structural zeros become
cells. What cannot be (an unknown label, a form without weight, public limits that contradict each
other) is said at once, with every other fault.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from congenial.errors import Fault, RequestError
from congenial.problems.structure import FREE, Fact, Forms, Limit, Measured, Structure
from congenial.requests.model import Bound, FormsFile, Invariant, Measurement, Request, Row, Zeros
from congenial.requests.rows import RowFaults, place_forms, place_zeros, read_rows
from congenial.tables.domain import Axis, Domain
from congenial.tables.queries import AtLevel, Every, Groups, Part, Partition, Query, partition


def compile_structure(domain: Domain, request: Request) -> Structure:
    """The structure of `request` on `domain`; raises a `RequestError` with all faults.

    Laws stand as they are given: a share stays a share until a promise has found its scale.
    **Cost.** A few passes over the cells for each query; rows of files are placed one by one.
    """
    compiler = _Compiler(domain)
    measured = [(compiler.query(m.query, m), m.law) for m in request.measurements]
    facts = [(compiler.subject(i), i.band) for i in request.invariants]
    limits = [(compiler.subject(b), b) for b in request.bounds if b.zeros is None]
    zeros = [compiler.zeros(b.zeros, b) for b in request.bounds if b.zeros is not None]
    found = tuple(Limit(forms, *_ends(bound)) for forms, bound in limits if forms is not None)
    compiler.faults += _contradictions(found) + _change(request, facts)
    if compiler.faults:
        raise RequestError(compiler.faults)
    return Structure(
        domain,
        tuple(Measured(forms, law) for forms, law in measured if forms is not None),
        tuple(Fact(forms, band) for forms, band in facts if forms is not None),
        found,
        np.unique(np.concatenate(zeros)) if zeros else np.zeros(0, dtype=np.int64),
    )


_Item = Measurement | Invariant | Bound


class _Compiler:
    """Compiles items on one domain; equal queries share their groups, faults are collected."""

    def __init__(self, domain: Domain) -> None:
        self.domain = domain
        self.faults: list[Fault] = []
        self._known: dict[Query, Forms] = {}

    def subject(self, item: Invariant | Bound) -> Forms | None:
        """The forms that a fact or a bound speaks of."""
        if item.query is not None:
            return self.query(item.query, item, item.name or _limit_name(item))
        assert item.forms is not None
        return self.forms(item.forms, item)

    def query(self, query: Query, item: _Item, name: str = "") -> Forms | None:
        """The groups of a query."""
        name = name or query.name
        known = self._known.get(query)
        if known is not None:
            return Forms(name, item.where, known.count, known.label, known.groups, line=item.line)
        try:
            groups, count = query_groups(self.domain, query, f"{item.where}.query")
        except RequestError as error:
            self.faults += [_lined(fault, item) for fault in error.faults]
            return None
        forms = Forms(name, item.where, count, _Labels(self.domain, query), groups, line=item.line)
        self._known[query] = forms
        return forms

    def forms(self, forms: FormsFile, item: _Item) -> Forms | None:
        """Sparse rows from a file, or written out."""
        say, rows = self._rows(forms, item, "forms")
        names, starts, cells, weights = place_forms(self.domain, rows, say)
        self.faults += [_lined(fault, item) for fault in say.done()]
        if say.count:
            return None
        labels = [name or forms.name for name in names]
        return Forms(
            forms.name,
            item.where,
            len(names),
            labels.__getitem__,
            starts=starts,
            cells=cells,
            weights=weights,
            line=item.line,
        )

    def zeros(self, zeros: Zeros, item: _Item) -> NDArray[np.int64]:
        """The cells that are zero by logic."""
        none = np.zeros(0, dtype=np.int64)
        if not zeros.labels:
            say, rows = self._rows(zeros, item, "zeros")
            cells = place_zeros(self.domain, rows, say)
            self.faults += [_lined(fault, item) for fault in say.done()]
            return cells if not say.count else none
        query = Query(tuple((axis, Groups((("zeros", nodes),))) for axis, nodes in zeros.labels))
        try:
            groups = partition(self.domain, query, f"{item.where}.zeros").groups
        except RequestError as error:
            self.faults += [_lined(fault, item) for fault in error.faults]
            return none
        return np.flatnonzero(groups >= 0).astype(np.int64)

    def _rows(self, given: FormsFile | Zeros, item: _Item, key: str) -> tuple[RowFaults, tuple[Row, ...]]:
        say = RowFaults(f"{item.where}.{key}", None if given.path is None else given.path.name)
        if given.path is None:
            if not given.rows:
                say.add(None, "there are no rows")
            return say, given.rows
        return say, read_rows(given.path, key == "forms", say)


class _Labels:
    """The names of a query's groups, worked out when the first one is asked for."""

    def __init__(self, domain: Domain, query: Query) -> None:
        self._made: Partition | tuple[Domain, Query] = (domain, query)

    def __call__(self, group: int) -> str:
        if isinstance(self._made, tuple):
            self._made = partition(*self._made)
        return self._made.label(group)


def query_groups(domain: Domain, query: Query, where: str = "query") -> tuple[NDArray[np.int32], int]:
    """The group of each cell as `Partition.groups` has it, and how many there are; no labels are made.

    **Cost.** A pass over the cells an axis; none where one axis has all the cells.
    """
    if query.is_cells:
        return np.arange(domain.cells, dtype=np.int32), domain.cells
    parts = dict(query.parts)
    codes = [_codes(axis, parts.pop(axis.name, None)) for axis in domain.axes]
    if parts or any(code is None for code in codes):
        cut = partition(domain, query, where)  # which says what is wrong
        return cut.groups, cut.count
    groups, total = np.zeros(1, dtype=np.int32), 1
    for code, count in (code for code in codes if code is not None):
        if len(code) == domain.cells:
            return code, count
        outside = None if groups.min() >= 0 and code.min() >= 0 else (groups < 0)[:, None] | (code < 0)
        groups = groups[:, None] * np.int32(count) + code
        groups = (groups if outside is None else np.where(outside, np.int32(-1), groups)).reshape(-1)
        total *= count
    return groups, total


def _codes(axis: Axis, part: Part | None) -> tuple[NDArray[np.int32], int] | None:
    """The group of each leaf of an axis; None where the part is not one of the axis."""
    if part is None:
        return np.zeros(axis.size, dtype=np.int32), 1
    if isinstance(part, Every):
        return axis.nodes(len(axis.levels) - 1), axis.size
    if isinstance(part, AtLevel):
        if part.level not in axis.level_names:
            return None
        depth = axis.level_names.index(part.level)
        return axis.nodes(depth), len(axis.levels[depth].labels)
    try:
        cut = partition(Domain((axis,)), Query(((axis.name, part),)))
    except RequestError:
        return None
    return cut.groups, cut.count


def _ends(bound: Bound) -> tuple[int, int]:
    least, most = bound.at_least, bound.at_most
    return -int(FREE) if least is None else int(least), int(FREE) if most is None else int(most)


def _limit_name(item: _Item) -> str:
    """A bound as messages name it: `{place: county} at_most 20`."""
    if not isinstance(item, Bound) or item.query is None:
        return ""
    ends = [f"{key} {value}" for key in ("at_least", "at_most") if (value := getattr(item, key)) is not None]
    return " ".join([item.query.name, *ends])


def _lined(fault: Fault, item: _Item) -> Fault:
    return Fault(fault.where, fault.what, fault.hint, fault.read, item.line)


def _contradictions(limits: Sequence[Limit]) -> list[Fault]:
    """Public limits on the same forms that no value can meet."""
    found: list[Fault] = []
    low: dict[tuple[int, bytes], Limit] = {}
    high: dict[tuple[int, bytes], Limit] = {}
    for limit in limits:
        if limit.forms.groups is None:
            continue
        key = limit.forms.count, limit.forms.groups.tobytes()
        low[key] = max(low.get(key, limit), limit, key=lambda found: found.lower)
        high[key] = min(high.get(key, limit), limit, key=lambda found: found.upper)
    for key, least in low.items():
        most = high[key]
        if least.lower > most.upper:
            what = f"'{least.forms.name}' and '{most.forms.name}' contradict each other"
            hint = f"no count is at least {least.lower} and at most {most.upper}."
            found.append(Fault(most.forms.where, what, hint, line=most.forms.line))
    return found


def _change(request: Request, facts: Sequence[tuple[Forms | None, int | None]]) -> list[Fault]:
    """Adding and removing cannot be where facts fix the total; with groups only a domain can tell."""
    if request.unit.change != "add-or-remove":
        return []
    for forms, band in facts:
        if forms is not None and forms.groups is not None and band is None and (forms.groups >= 0).all():
            what = f"'add-or-remove' cannot be where {forms.where} fixes the total: nobody can come or go"
            return [Fault("unit.change", what, "write replace or any, or drop the fact.")]
    return []


def structure_notices(structure: Structure) -> tuple[str, ...]:
    """What is no fault and yet not what a curator wants: measuring what is published exactly."""
    said = []
    for measured in structure.measured:
        fixed = next((fact for fact in structure.facts if _determines(fact, measured.forms)), None)
        if fixed is not None:
            said.append(
                f"'{measured.forms.name}' ({measured.forms.where}) is measured, and the fact "
                f"'{fixed.forms.name}' ({fixed.forms.where}) publishes it exactly: measuring it buys nothing."
            )
    return tuple(said)


def _determines(fact: Fact, forms: Forms) -> bool:
    """Whether every group of `forms` is a union of groups of the fact."""
    coarse, fine = forms.groups, fact.forms.groups
    if fact.band is not None or coarse is None or fine is None or forms.count < 1:
        return False
    inside = coarse >= 0
    if (fine[inside] < 0).any():
        return False
    above = np.full(fact.forms.count, -1, dtype=np.int32)
    above[fine[inside]] = coarse[inside]
    kept = fine >= 0
    return bool((above[fine[kept]] == coarse[kept]).all())
