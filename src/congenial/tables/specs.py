"""What this room asks of a request: the shape of the values that say where a table comes from.

The request's own values (`requests/model.py`) have this shape, and so have those that `Table.from_frame`
makes; this room knows neither.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path as FilePath
from typing import Literal, Protocol

from congenial.tables.domain import Path


class AxisAsked(Protocol):
    """How an axis is found in rows, and where its labels come from."""

    @property
    def name(self) -> str: ...
    @property
    def column(self) -> str | None: ...
    @property
    def levels(self) -> tuple[str, ...]: ...
    @property
    def prefixes(self) -> tuple[tuple[str, int], ...]: ...
    @property
    def categories(self) -> Sequence[str | Path] | None: ...
    @property
    def domain(self) -> FilePath | None: ...
    @property
    def labels_from_source(self) -> bool: ...


class TableAsked(Protocol):
    """A source, a query over it, its counts and its axes."""

    @property
    def source(self) -> str: ...
    @property
    def axes(self) -> Sequence[AxisAsked]: ...
    @property
    def query(self) -> str | None: ...
    @property
    def counts(self) -> str | None: ...
    @property
    def encoding(self) -> str | None: ...
    @property
    def delimiter(self) -> str | None: ...
    @property
    def folder(self) -> FilePath: ...


class UnitAsked(Protocol):
    """Who the promise is about, and how many rows of the source one of them may make up."""

    @property
    def max_rows(self) -> int: ...
    @property
    def column(self) -> str | None: ...
    @property
    def over(self) -> Literal["refuse", "drop"]: ...


@dataclass(frozen=True)
class FrameAxis:
    """An axis of a frame, as `Table.from_frame` was told of it."""

    name: str
    column: str | None = None
    levels: tuple[str, ...] = ()
    prefixes: tuple[tuple[str, int], ...] = ()
    categories: tuple[str | Path, ...] | None = None
    domain: FilePath | None = None
    labels_from_source: bool = False


def level_names(axis: AxisAsked) -> tuple[str, ...]:
    """The levels that the axis will have; a flat axis has one, named as the axis."""
    return axis.levels or tuple(name for name, _ in axis.prefixes) or (axis.name,)
