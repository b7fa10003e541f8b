"""The table: labelled integer counts over a complete domain, and its coarsenings.

The counts are confidential. No `repr` shows them, and the attribute that holds them says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from congenial.errors import ArgumentError, Fault
from congenial.tables.connections import quiet
from congenial.tables.domain import Axis, Domain
from congenial.tables.frames import AxesGiven, Labels, read_frame
from congenial.tables.long import Kind, as_frame
from congenial.tables.queries import as_query, partition
from congenial.tables.sources import read
from congenial.tables.specs import TableAsked, UnitAsked
from congenial.tables.tallies import LARGEST


@dataclass(frozen=True, eq=False, repr=False)
class Table:
    """Labelled integer counts over a complete domain; cells run in C order of the axes."""

    domain: Domain
    counts_confidential: NDArray[np.int64]
    """The counts, flat and read-only. Confidential: nothing that leaves the house may be made of them."""
    notices: tuple[str, ...] = ()
    """What a release must say of how the table came about."""

    def __post_init__(self) -> None:
        counts = np.array(self.counts_confidential, dtype=np.int64, order="C").reshape(-1)
        if len(counts) != self.domain.cells:
            raise ArgumentError(
                f"{len(counts):,} counts do not fill the {self.domain.cells:,} cells of the domain."
            )
        counts.setflags(write=False)
        object.__setattr__(self, "counts_confidential", counts)

    @staticmethod
    def from_source(spec: TableAsked, unit: UnitAsked | None = None) -> Table:
        """Tabulate the source of a request: counts, or records of which none passes through Python.

        Raises a `RequestError` where the axes are not sound, a `SourceError` where the data are not, and
        a `MachineError` where they cannot be read.
        """
        found = read(spec, unit)
        return Table(found.domain, found.counts_confidential, found.notices)

    @staticmethod
    def from_frame(
        frame: object,
        axes: AxesGiven,
        counts: str | None = None,
        *,
        categories: Labels | None = None,
        domain: Domain | None = None,
        labels_from_source: bool = False,
        unit: UnitAsked | None = None,
    ) -> Table:
        """Tabulate a frame: pandas, polars, pyarrow or a DuckDB relation.

        `axes` names columns (`["sex", "age"]`), hierarchies (`{"place": ["state", "county"]}`) or both,
        mixed; `counts` names the column of counts, and where it is None every row is one record. Labels
        come from `categories` (or a whole `domain`); without, counts take those that occur, and records
        are refused unless `labels_from_source` says so.
        """
        found = read_frame(
            frame,
            axes,
            counts,
            categories=categories,
            domain=domain,
            labels_from_source=labels_from_source,
            unit=unit,
        )
        return Table(found.domain, found.counts_confidential, found.notices)

    @staticmethod
    def from_counts(domain: Domain | Sequence[Axis], counts: ArrayLike, notices: Sequence[str] = ()) -> Table:
        """A table from counts in memory: flat, or with a dimension an axis."""
        whole = domain if isinstance(domain, Domain) else Domain(tuple(domain))
        return Table(whole, _checked(counts, whole), tuple(notices))

    @property
    def axes(self) -> tuple[Axis, ...]:
        return self.domain.axes

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of leaves of every axis."""
        return self.domain.shape

    @property
    def cells(self) -> int:
        return self.domain.cells

    def query(self, query: object) -> Table:
        """The coarser table of a query: `cells`, `total`, an axis, a list of axes, or a mapping.

        Its axes are those that the query keeps; cells that stand in no group are left out.
        """
        part = partition(self.domain, as_query(query))
        return Table(part.coarse, part.sums(self.counts_confidential), self.notices)

    def to_frame(self, kind: Kind = "pyarrow") -> Any:
        """The counts, long: one column an axis (a hierarchy: one a level), and `count`. Confidential."""
        return as_frame(self.domain, self.counts_confidential, kind)

    def __repr__(self) -> str:
        axes = ", ".join(_described(axis) for axis in self.axes) or "total"
        return f"Table({axes}; {self.cells:,} cell{'s' if self.cells != 1 else ''}, counts confidential)"


def _described(axis: Axis) -> str:
    if axis.is_flat:
        return f"{axis.name} {axis.size:,}"
    levels = " > ".join(f"{level.name} {len(level.labels):,}" for level in axis.levels)
    return f"{axis.name}: {levels}"


def _checked(counts: ArrayLike, domain: Domain) -> NDArray[np.int64]:
    """Counts as integers; a message names a cell, never what it holds."""
    with quiet(lambda: ArgumentError("the counts are not an array of numbers.")):
        given = np.asarray(counts)
    if given.shape not in (domain.shape, (domain.cells,)):
        raise ArgumentError(f"counts of shape {given.shape} do not fit a domain of shape {domain.shape}.")
    flat = given.reshape(-1)
    if flat.dtype.kind not in "iuf":
        raise ArgumentError(Fault("", "the counts are not whole numbers", "give an array of integers."))
    wrong = {
        "missing": ~np.isfinite(flat) if flat.dtype.kind == "f" else np.zeros(len(flat), dtype=bool),
        "negative": flat < 0,
        "larger than 2^53": flat > LARGEST,
        "not a whole number": flat != np.trunc(flat),
    }
    for kind, where in wrong.items():
        if where.any():
            raise ArgumentError(f"the count of cell {domain.cell(int(np.argmax(where)))} is {kind}.")
    if len(flat) and float(flat.sum(dtype=np.float64)) > LARGEST:
        raise ArgumentError("the counts add up to more than 2^53.")
    return flat.astype(np.int64)
