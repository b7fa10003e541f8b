"""Random tables and requests on small domains, for properties that hold of every one of them."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

from congenial.laws import DiscreteGaussian, DiscreteLaplace
from congenial.problems.structure import Structure
from congenial.requests.builders import (
    at_least,
    at_most,
    band,
    bound_forms,
    forms,
    measure,
    nonnegative,
    zeros,
)
from congenial.requests.model import Invariant
from congenial.tables.queries import as_query
from support.plans import Case, form_rows
from support.structures import domain

AXES: list[dict[str, Any]] = [
    {"a": 1},
    {"a": 5},
    {"a": 12},
    {"p": [2, 3, 1]},
    {"p": [[2, 1], [2, 2], [1]]},
    {"p": [[[2, 1], [1]], [[1, 2]]]},
    {"a": 2, "b": 2},
    {"a": 2, "b": 3},
    {"p": [2, 2], "a": 2},
    {"p": [[1, 2], [2]], "a": 2},
    {"p": [3, 1], "a": 2, "b": 2},
    {"a": 2, "b": 2, "c": 2},
    {"a": 2, "one": 1, "c": 4},
]

MEASURED = [measure("cells", DiscreteLaplace(1.0))]


@st.composite
def laws(draw: Any) -> Any:
    if draw(st.integers(0, 2)):
        return DiscreteLaplace(draw(st.sampled_from([0.05, 0.3, 0.7, 1.0, 2.0, 50.0])))
    return DiscreteGaussian(sigma=draw(st.sampled_from([0.3, 1.0, 2.5, 10.0])))


@st.composite
def queries(draw: Any, axes: dict[str, Any]) -> Any:
    """Some query of these axes: each summed out, kept, cut at a level or in groups."""
    made = domain(axes)
    parts: dict[str, Any] = {}
    for axis in made.axes:
        kind = draw(st.integers(0, 5))
        if kind <= 1:
            continue
        if kind == 2:
            parts[axis.name] = "all"
        elif kind <= 4 and not axis.is_flat:
            parts[axis.name] = draw(st.sampled_from(axis.level_names))
        else:
            parts[axis.name] = draw(groups(axis))
    return parts or draw(st.sampled_from(["total", "cells"]))


@st.composite
def groups(draw: Any, axis: Any) -> dict[str, list[Any]]:
    """Named groups of nodes of one level."""
    depth = draw(st.integers(0, len(axis.levels) - 1))
    nodes = [list(path) if len(path) > 1 else path[0] for path in axis.paths(depth)]
    where = draw(st.lists(st.integers(-1, 2), min_size=len(nodes), max_size=len(nodes)))
    found: dict[str, list[Any]] = {}
    for node, group in zip(nodes, where, strict=True):
        if group >= 0:
            found.setdefault(f"g{group}", []).append(node)
    return found or {"g": [nodes[0]]}


@st.composite
def facts(draw: Any, axes: dict[str, Any]) -> Any:
    kind = draw(st.integers(0, 9))
    if kind == 0:
        return forms(draw(weighted_rows(axes)), name="forms")
    if kind == 1:
        return band(draw(queries(axes)), draw(st.integers(2, 6)))
    query = draw(queries(axes))
    return Invariant(as_query("total" if query == "cells" else query))


@st.composite
def weighted_rows(draw: Any, axes: dict[str, Any]) -> list[dict[str, Any]]:
    """One form of up to three cells with small weights."""
    made = domain(axes)
    chosen = draw(st.lists(st.integers(0, made.cells - 1), min_size=1, max_size=3, unique=True))
    weights = st.sampled_from([-2, -1, 1, 1, 2, 3])
    return [{**_row(made, cell), "weight": draw(weights)} for cell in chosen]


@st.composite
def cases(draw: Any) -> Case:
    """A request that its table keeps to; it may have no law, or be served by no sampler."""
    axes = draw(st.sampled_from(AXES))
    made = domain(axes)
    counts = st.one_of(st.just(0), st.integers(0, 3), st.integers(0, 60), st.sampled_from([10**4, 2**45]))
    x = draw(st.lists(counts, min_size=made.cells, max_size=made.cells))
    measured = [measure("cells", draw(laws()))] if draw(st.integers(0, 7)) else []
    more = draw(st.lists(st.tuples(queries(axes), laws()), min_size=not measured, max_size=2))
    measured += [measure(query, law) for query, law in more]
    fixed = draw(st.lists(facts(axes), max_size=3))
    bounds = [nonnegative()] if draw(st.booleans()) else []
    for _ in range(draw(st.integers(0, 2))):
        bounds.append(draw(limits(axes, x)))
    if draw(st.integers(0, 4)) == 0 and 0 in x:
        bounds.append(zeros([_row(made, x.index(0))]))
    return Case(axes, x, measured, fixed, bounds)


@st.composite
def limits(draw: Any, axes: dict[str, Any], x: list[int]) -> Any:
    """A limit that the table keeps to, at the value of one of its forms or near it."""
    query = draw(queries(axes))
    values = _values(axes, query, x)
    slack = draw(st.sampled_from([0, 0, 1, 4, 30]))
    if draw(st.integers(0, 5)) == 0:
        rows = draw(weighted_rows(axes))
        case = Case(axes, x, MEASURED, [forms(rows, name="forms")])
        value = int(case.structure.facts[0].forms.sums(np.array(x, dtype=np.int64))[0])
        return bound_forms(rows, name="limit", at_least=value - slack)
    if draw(st.booleans()):
        return at_most(query, int(values.max()) + slack)
    return at_least(query, int(values.min()) - slack)


def _values(axes: dict[str, Any], query: Any, x: list[int]) -> np.ndarray:
    held = Case(axes, x, MEASURED, [Invariant(as_query(query))]).structure.facts[0].forms
    return held.sums(np.array(x, dtype=np.int64))


def _row(made: Any, cell: int) -> dict[str, Any]:
    """A cell as a row of labels."""
    where = np.unravel_index(cell, [axis.size for axis in made.axes])
    found = {}
    for axis, leaf in zip(made.axes, where, strict=True):
        path = axis.path(len(axis.levels) - 1, int(leaf))
        found[axis.name] = list(path) if len(path) > 1 else path[0]
    return found


def keeps_everything(case: Case, structure: Structure, noise: np.ndarray) -> np.ndarray:
    """Facts to the last unit, bands, limits and zeros on x + z, from the request's own forms."""
    x = np.array(case.x, dtype=np.int64)
    cells = structure.domain.cells
    good = np.ones(len(noise), dtype=bool)
    for fact in structure.facts:
        held = form_rows(fact.forms, cells)
        if fact.band is None:
            good &= (noise @ held.T == 0).all(axis=1)
        else:
            bands = [((table @ held.T) - 1) // fact.band for table in (noise + x, x)]
            good &= (bands[0] == bands[1]).all(axis=1)
    for limit in structure.limits:
        values = (noise + x) @ form_rows(limit.forms, cells).T
        good &= ((values >= limit.lower) & (values <= limit.upper)).all(axis=1)
    return good & (noise[:, structure.zeros] == 0).all(axis=1)
