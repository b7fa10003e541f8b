"""The request as Python values: the nouns of the public interface, frozen and without a table.

A request in YAML or JSON is read into the same values (`reading.py`), so that everything behind this
file knows one model. A `Request` refuses all that can be refused without a domain when it is made
(`values.py`, `checks.py`); the rest is said when it meets one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path as FilePath
from typing import Any, Literal

from congenial.laws import DiscreteGaussian, DiscreteLaplace, Law
from congenial.tables.domain import Path
from congenial.tables.queries import Query

Change = Literal["any", "replace", "add-or-remove"]
Method = Literal["condition", "none", "suppress"]


@dataclass(frozen=True)
class Unit:
    """Who the promise is about, and how many rows of the table one of them can make up."""

    name: str = "person"
    max_rows: int = 1
    change: Change = "any"
    column: str | None = None
    over: Literal["refuse", "drop"] = "refuse"
    assumed: bool = False
    """True where the request did not say it (counts only); the release says so."""


@dataclass(frozen=True)
class Promise:
    """What one unit may lose in all: ε for discrete Laplace, ρ for discrete Gaussian; exactly one."""

    epsilon: float | None = None
    rho: float | None = None


@dataclass(frozen=True)
class Measurement:
    """A query with a law on each of its cells."""

    query: Query
    law: Law
    where: str = field(default="measurements", compare=False)
    line: int | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Row:
    """A cell, or a node on every axis that is named, as a file or a list names it.

    `at` has columns (an axis, or a level of a hierarchy) and what stands in them: a label, or the path
    of a node. `number` is the row of the file (its header is row 1) or the place in the list.
    """

    at: tuple[tuple[str, Path], ...]
    weight: int = 1
    form: str = ""
    number: int = field(default=0, compare=False)


@dataclass(frozen=True)
class FormsFile:
    """Integer linear forms from a file (`path`), or written out (`rows`)."""

    name: str
    path: FilePath | None = None
    rows: tuple[Row, ...] = ()


@dataclass(frozen=True)
class Invariant:
    """A fact that is published exactly: a query or forms; with `band`, only the band it lies in."""

    query: Query | None = None
    forms: FormsFile | None = None
    band: int | None = None
    name: str = ""
    where: str = field(default="invariants", compare=False)
    line: int | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Zeros:
    """Cells that are zero by logic: nodes of some axes (their product), or rows, from a file or not."""

    labels: tuple[tuple[str, tuple[Path, ...]], ...] = ()
    path: FilePath | None = None
    rows: tuple[Row, ...] = ()


@dataclass(frozen=True)
class Bound:
    """An inequality on every cell of a query or on every form; or structural zeros."""

    query: Query | None = None
    forms: FormsFile | None = None
    zeros: Zeros | None = None
    at_least: int | None = None
    at_most: int | None = None
    name: str = ""
    where: str = field(default="bounds", compare=False)
    line: int | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Budget:
    """The ledger that a release is charged to."""

    ledger: FilePath
    dataset: str
    epsilon: float | None = None
    rho: float | None = None


@dataclass(frozen=True)
class AxisSpec:
    """How an axis is found in a source and where its labels come from."""

    name: str
    column: str | None = None
    levels: tuple[str, ...] = ()
    prefixes: tuple[tuple[str, int], ...] = ()
    categories: tuple[str, ...] | None = None
    domain: FilePath | None = None
    labels_from_source: bool = False


@dataclass(frozen=True)
class TableSpec:
    """Where the table comes from: a source, a query over it, its counts and its axes."""

    source: str
    axes: tuple[AxisSpec, ...]
    query: str | None = None
    counts: str | None = None
    encoding: str | None = None
    delimiter: str | None = None
    folder: FilePath = field(default_factory=FilePath)


@dataclass(frozen=True)
class Request:
    """Measurements, invariants, bounds, method: what the curator asks for."""

    measurements: Sequence[Measurement]
    invariants: Sequence[Invariant] = ()
    bounds: Sequence[Bound] = ()
    unit: Unit = field(default_factory=lambda: Unit(assumed=True))
    promise: Promise | None = None
    method: Method = "condition"
    budget: Budget | None = None
    unproven: Literal["refuse", "allow"] = "refuse"
    about: Mapping[str, Any] = field(default_factory=dict)
    """What the curator says of the release: text, lists and mappings of text."""
    table: TableSpec | None = None

    def __post_init__(self) -> None:
        from congenial.requests.values import settled

        for name, value in settled(self).items():
            object.__setattr__(self, name, value)


__all__ = [
    "AxisSpec",
    "Bound",
    "Budget",
    "DiscreteGaussian",
    "DiscreteLaplace",
    "FormsFile",
    "Invariant",
    "Measurement",
    "Promise",
    "Request",
    "Row",
    "TableSpec",
    "Unit",
    "Zeros",
]
