"""A request without defaults, as plain values that JSON can hold; and back.

The resolved form obeys the grammar of a request, so that what was written down can be read again:
every key stands in it, a key that says nothing is null, and every query is written out in full. (One
key more, `assumed: true`, stands in a unit that the request did not name.)
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path as FilePath
from typing import Any, TypeVar

from congenial.errors import Fault, RequestError
from congenial.laws import Law
from congenial.requests import nodes
from congenial.requests.model import AxisSpec, Bound, FormsFile, Invariant, Request, Row, TableSpec, Zeros
from congenial.requests.reading import read_node
from congenial.requests.rows import RowFaults, read_rows
from congenial.tables.queries import AtLevel, Every, Part, Query


def resolve(request: Request) -> dict[str, Any]:
    """The request with every key written out. Files are named from the request's folder."""
    folder = _folder(request)
    measured = [{"query": query_value(m.query), **_law(m.law)} for m in request.measurements]
    invariants = [_invariant(i, folder) for i in request.invariants]
    bounds = [_bound(b, folder) for b in request.bounds]
    return _whole(request, folder, measured, invariants, bounds)


def public(request: Request) -> dict[str, Any]:
    """The resolved request without its source, for the manifest: enough to rebuild the law.

    No path, column, query text or ledger stands in it; forms and zeros from files are written out. It
    can be read again by `request_from_resolved`.
    """
    faults: list[Fault] = []
    invariants = [_invariant(_written_out(i, faults), None) for i in request.invariants]
    bounds = [_bound(_zeros_written_out(_written_out(b, faults), faults), None) for b in request.bounds]
    if faults:
        raise RequestError(faults)
    measured = [{"query": query_value(m.query), **_law(m.law)} for m in request.measurements]
    found = _whole(request, FilePath(), measured, invariants, bounds)
    found["unit"] |= {"column": None, "over": "refuse"}
    return found | {"table": None, "budget": None}


def request_from_resolved(resolved: Mapping[str, Any], folder: str | os.PathLike[str] = ".") -> Request:
    """The request that `resolve` or `public` wrote down; raises a `RequestError` with all faults.

    `folder` is where the files it names are found from, as the request's own folder was.
    """
    unit = resolved.get("unit")
    assumed = isinstance(unit, Mapping) and unit.get("assumed") is True
    if isinstance(unit, Mapping) and assumed:
        said = {key: value for key, value in unit.items() if key != "assumed"}
        resolved = {**resolved, "unit": said}
    request = read_node(nodes.of(resolved), FilePath(folder), [], needs_table=False)
    return replace(request, unit=replace(request.unit, assumed=True)) if assumed else request


def _folder(request: Request) -> FilePath:
    return request.table.folder if request.table is not None else FilePath()


def _whole(
    request: Request,
    folder: FilePath,
    measured: Sequence[Mapping[str, Any]],
    invariants: Sequence[Mapping[str, Any]],
    bounds: Sequence[Mapping[str, Any]],
) -> dict[str, Any]:
    unit, promise, budget = request.unit, request.promise, request.budget
    return {
        "congenial": 1,
        "about": dict(request.about),
        "table": None if request.table is None else _table(request.table),
        "unit": {
            "name": unit.name,
            "max_rows": int(unit.max_rows),
            "change": unit.change,
            "column": unit.column,
            "over": unit.over,
            **({"assumed": True} if unit.assumed else {}),
        },
        "promise": None if promise is None else {"epsilon": promise.epsilon, "rho": promise.rho},
        "measurements": list(measured),
        "invariants": list(invariants),
        "bounds": list(bounds),
        "method": request.method,
        "budget": None
        if budget is None
        else {
            "ledger": _path(budget.ledger, folder),
            "dataset": budget.dataset,
            "epsilon": budget.epsilon,
            "rho": budget.rho,
        },
        "unproven": request.unproven,
    }


def _table(table: TableSpec) -> dict[str, Any]:
    return {
        "source": table.source,
        "query": table.query,
        "counts": table.counts,
        "axes": {axis.name: _axis(axis, table.folder) for axis in table.axes},
        "encoding": table.encoding,
        "delimiter": "tab" if table.delimiter == "\t" else table.delimiter,
    }


def _axis(axis: AxisSpec, folder: FilePath) -> dict[str, Any]:
    return {
        "column": axis.column,
        "levels": list(axis.levels) or None,
        "prefixes": dict(axis.prefixes) or None,
        "categories": None if axis.categories is None else list(axis.categories),
        "domain": None if axis.domain is None else _path(axis.domain, folder),
        "labels": "from-source" if axis.labels_from_source else None,
    }


def query_value(query: Query) -> Any:
    """A query as the grammar writes it: `cells`, `total`, or a mapping of axes."""
    if query.is_cells:
        return "cells"
    return {axis: _part(part) for axis, part in query.parts} or "total"


def _part(part: Part) -> Any:
    if isinstance(part, Every):
        return "all"
    if isinstance(part, AtLevel):
        return part.level
    return {name: [_label(path) for path in paths] for name, paths in part.groups}


def _label(path: Sequence[str]) -> str | list[str]:
    return path[0] if len(path) == 1 else list(path)


def _law(law: Law) -> dict[str, Any]:
    name = "discrete-laplace" if law.currency == "epsilon" else "discrete-gaussian"
    scales = {scale: getattr(law, scale, None) for scale in ("epsilon", "rho", "sigma", "share")}
    return {"law": name, **scales}


def _invariant(fact: Invariant, folder: FilePath | None) -> dict[str, Any]:
    return {
        "query": None if fact.query is None else query_value(fact.query),
        "forms": None if fact.forms is None else _forms(fact.forms, folder),
        "band": None if fact.band is None else int(fact.band),
        "name": fact.name or None,
    }


def _bound(bound: Bound, folder: FilePath | None) -> dict[str, Any]:
    return {
        "query": None if bound.query is None else query_value(bound.query),
        "forms": None if bound.forms is None else _forms(bound.forms, folder),
        "zeros": None if bound.zeros is None else _zeros(bound.zeros, folder),
        "at_least": None if bound.at_least is None else int(bound.at_least),
        "at_most": None if bound.at_most is None else int(bound.at_most),
        "name": bound.name or None,
    }


def _forms(forms: FormsFile, folder: FilePath | None) -> Any:
    if forms.path is not None and folder is not None:
        return _path(forms.path, folder)
    return [{**_at(row), "weight": row.weight, "form": row.form} for row in forms.rows]


def _zeros(zeros: Zeros, folder: FilePath | None) -> Any:
    if zeros.path is not None and folder is not None:
        return _path(zeros.path, folder)
    if zeros.rows:
        return [_at(row) for row in zeros.rows]
    return {axis: [_label(path) for path in paths] for axis, paths in zeros.labels}


def _at(row: Row) -> dict[str, Any]:
    return {column: _label(path) for column, path in row.at}


def _path(path: FilePath, folder: FilePath) -> str:
    return (path.relative_to(folder) if path.is_relative_to(folder) else path).as_posix()


Item = TypeVar("Item", Invariant, Bound)


def _written_out(item: Item, faults: list[Fault]) -> Item:
    """The item with the rows of its file in place of the file."""
    if item.forms is not None and item.forms.path is not None:
        rows = _rows(item.forms.path, True, f"{item.where}.forms", faults)
        item = replace(item, forms=FormsFile(item.forms.name, rows=rows))
    return item


def _zeros_written_out(bound: Bound, faults: list[Fault]) -> Bound:
    if bound.zeros is None or bound.zeros.path is None:
        return bound
    rows = _rows(bound.zeros.path, False, f"{bound.where}.zeros", faults)
    return replace(bound, zeros=Zeros(rows=rows))


def _rows(path: FilePath, weighted: bool, where: str, faults: list[Fault]) -> tuple[Row, ...]:
    say = RowFaults(where, path.name)
    rows = read_rows(path, weighted, say)
    faults += say.done()
    return rows
