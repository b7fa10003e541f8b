"""The released table: counts that anybody may see, over their domain.

Another type than the confidential table on purpose: what takes one of these cannot be given the other.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from congenial.errors import ArgumentError
from congenial.tables.domain import Domain
from congenial.tables.long import Kind, as_frame
from congenial.tables.queries import as_query, partition


@dataclass(frozen=True, eq=False, repr=False)
class PublicTable:
    """Released counts; `counts` is flat, in the order of the domain's cells."""

    domain: Domain
    counts: NDArray[np.int64]

    def __post_init__(self) -> None:
        if self.counts.shape != (self.domain.cells,) or self.counts.dtype != np.int64:
            raise ArgumentError(f"a table of {self.domain.cells} cells takes as many 64-bit counts")
        kept = self.counts.copy()
        kept.flags.writeable = False
        object.__setattr__(self, "counts", kept)

    @property
    def shape(self) -> tuple[int, ...]:
        """Leaves of each axis."""
        return self.domain.shape

    @property
    def array(self) -> NDArray[np.int64]:
        """The counts with one dimension an axis, a hierarchy by its leaves."""
        return self.counts.reshape(self.shape)

    def query(self, query: object) -> PublicTable:
        """The coarser released table of a query, written as in a request: `"sex"`, `{"place": "state"}`, …

        Its axes are those that the query keeps; cells that stand in no group are left out.
        """
        part = partition(self.domain, as_query(query))
        return PublicTable(part.coarse, part.sums(self.counts))

    def to_frame(self, kind: Kind = "pyarrow") -> Any:
        """The counts, long: one column an axis (a hierarchy: one a level), and `count`."""
        return as_frame(self.domain, self.counts, kind)

    def __repr__(self) -> str:
        axes = ", ".join(f"{axis.name} {axis.size}" for axis in self.domain.axes)
        return f"PublicTable({axes}: {self.domain.cells} cells)"

