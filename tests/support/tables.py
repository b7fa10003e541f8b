"""Sources for tests: text or bytes in, a table or the faults of one out."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from congenial.errors import CongenialError, Fault
from congenial.requests.model import AxisSpec, TableSpec, Unit
from congenial.tables.table import Table


def spec(
    folder: Path,
    content: str | bytes | None,
    axes: Sequence[str | AxisSpec],
    counts: str | None = "n",
    name: str = "source.csv",
    **more: Any,
) -> TableSpec:
    """A table spec over a file with that content; None leaves the file as it is."""
    if content is not None:
        folder.joinpath(name).write_bytes(content.encode() if isinstance(content, str) else content)
    made = tuple(AxisSpec(axis) if isinstance(axis, str) else axis for axis in axes)
    return TableSpec(name, made, counts=counts, folder=folder, **more)


def table(*args: Any, unit: Unit | None = None, **more: Any) -> Table:
    """The table of such a spec."""
    return Table.from_source(spec(*args, **more), unit or Unit())


def cells(found: Table) -> dict[tuple[str, ...], int]:
    """Counts by the labels of their cell, zeros left out; a hierarchy gives a label a level."""
    *labels, counts = found.to_frame().to_pydict().values()
    return {key: n for *key_, n in zip(*labels, counts, strict=True) if n for key in [tuple(key_)]}


def faults_of(kind: type[CongenialError], call: Any) -> tuple[Fault, ...]:
    """The faults that a call ends in."""
    with pytest.raises(kind) as caught:
        call()
    assert type(caught.value) is kind
    assert caught.value.__suppress_context__ or caught.value.__context__ is None, "a library's error shows"
    return caught.value.faults  # type: ignore[attr-defined,no-any-return]
