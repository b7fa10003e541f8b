"""The nouns of a request as a person types them in Python: `cg.measure("cells", law)`, `cg.total()`, …

Queries take the grammar of the YAML: `cells`, `total`, an axis, a list of axes, or a mapping from an
axis to a level, to `all`, or to named groups. What is wrong with one is a `RequestError` at once.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path as FilePath
from typing import Any

from congenial.errors import ArgumentError, RequestError
from congenial.laws import DiscreteGaussian, DiscreteLaplace, Law
from congenial.requests import nodes
from congenial.requests.fields import Reader
from congenial.requests.items import ItemReader, zero_labels
from congenial.requests.model import Bound, FormsFile, Invariant, Measurement, Zeros
from congenial.tables.queries import CELLS, TOTAL, Query, as_query

Asked = Query | Invariant | str | Sequence[str] | Mapping[str, Any]
"""A query as a person writes it, or a fact whose query is meant (`cg.total()`, `cg.margin("sex")`)."""
Rows = str | os.PathLike[str] | Iterable[Mapping[str, Any]]
"""A file, or rows such as `{"place": ["Ohio", "Athens"], "sex": "female", "weight": 2}`."""


def measure(query: Asked, law: Law) -> Measurement:
    """Measure every cell of a query with noise of `law`."""
    if not isinstance(law, DiscreteLaplace | DiscreteGaussian):
        what = f"{type(law).__name__} is not a law"
        raise ArgumentError(f"{what}; write cg.DiscreteLaplace(epsilon=0.5) or cg.DiscreteGaussian(rho=0.1)")
    return Measurement(_query(query), law)


def total() -> Invariant:
    """The fact that the sum of all cells is published exactly."""
    return Invariant(TOTAL)


def margin(*axes: str, **parts: Any) -> Invariant:
    """The fact that a margin is published exactly.

    `margin("sex")`, `margin("sex", "age")`, `margin(place="state")` for a level, and
    `margin(age={"voting": VOTING})` for named groups; together they are joint.
    """
    if not axes and not parts:
        raise ArgumentError("a margin names an axis, such as cg.margin('sex'); the sum of all is cg.total()")
    if not parts:
        return Invariant(as_query(list(axes)))
    twice = [axis for axis in axes if axis in parts]
    if twice:
        raise ArgumentError(f"cg.margin names the axis {twice[0]!r} twice")
    return Invariant(as_query({**dict.fromkeys(axes, "all"), **parts}))


def band(query: Asked, width: int) -> Invariant:
    """The fact that publishes only the band of `width` that each count of a query lies in."""
    return Invariant(_query(query), band=width)


def forms(rows: Rows, *, name: str = "") -> Invariant:
    """Integer linear forms of the cells, published exactly: a CSV file or rows with their weights."""
    return Invariant(forms=_forms(rows, name))


def nonnegative() -> Bound:
    """Every cell is at least zero."""
    return Bound(CELLS, at_least=0, name="nonnegative")


def at_least(query: Asked, limit: int) -> Bound:
    """Every count of a query is at least a public number."""
    return Bound(_query(query), at_least=limit)


def at_most(query: Asked, limit: int) -> Bound:
    """Every count of a query is at most a public number."""
    return Bound(_query(query), at_most=limit)


def bound_forms(
    rows: Rows, *, name: str = "", at_least: int | None = None, at_most: int | None = None
) -> Bound:
    """Limits on integer linear forms of the cells."""
    return Bound(forms=_forms(rows, name), at_least=at_least, at_most=at_most)


def zeros(rows: Rows | None = None, /, **labels: Sequence[str | Sequence[str]]) -> Bound:
    """Cells that are zero by logic: `zeros(age=["0-17"], sex=["male"])`, a CSV file, or rows."""
    if (rows is None) == (not labels):
        raise ArgumentError("cg.zeros takes labels, such as age=['0-17'], or one file or list of rows")
    reader = Reader()
    if labels:
        listed = [axis for axis, members in labels.items() if isinstance(members, str)]
        if listed:
            raise ArgumentError(f"cg.zeros takes lists: write {listed[0]}=[{labels[listed[0]]!r}]")
        found = zero_labels(reader, dict(labels), "zeros", None)
    elif isinstance(rows, str | os.PathLike):
        found = Zeros(path=FilePath(rows))
    else:
        found = ItemReader(reader).zeros(_listed(rows), "zeros")
    if reader.faults or found is None:
        raise RequestError(reader.faults)
    return Bound(zeros=found)


def _query(query: Asked) -> Query:
    if isinstance(query, Invariant):
        if query.query is None or query.band is not None:
            raise ArgumentError("a query is expected here, and this fact is not a query alone")
        return query.query
    return as_query(query)


def _forms(rows: Rows, name: str) -> FormsFile:
    if isinstance(rows, str | os.PathLike):
        path = FilePath(rows)
        return FormsFile(name or path.stem, path)
    reader = Reader()
    found = ItemReader(reader).forms(_listed(rows), "forms", name)
    if reader.faults or found is None:
        raise RequestError(reader.faults)
    return found


def _listed(rows: object) -> nodes.Node:
    if not isinstance(rows, Iterable) or isinstance(rows, Mapping | bytes):
        raise ArgumentError(
            "rows are a list of mappings, such as [{'sex': 'female', 'weight': 2}], or a file"
        )
    return nodes.of(list(rows))
