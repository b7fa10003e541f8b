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
from congenial.tables.long import long_table
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

    def query(self, query: Any) -> dict[str, int]:
        """The released count of every cell of a query, by its label.

        `query` is written as in a request: `"total"`, `"sex"`, `{"place": "state"}`, …
        """
        parts = partition(self.domain, as_query(query))
        sums = parts.sums(self.counts)
        return {parts.label(at): int(count) for at, count in enumerate(sums)}

    def to_arrow(self) -> Any:
        """A `pyarrow.Table`: one column an axis (a hierarchy: one a level), then `count`."""
        return long_table(self.domain, self.counts)

    def to_frame(self) -> Any:
        """A pandas data frame with the same columns, labels as text; needs pandas."""
        return self.to_arrow().to_pandas()

    def __repr__(self) -> str:
        axes = ", ".join(f"{axis.name} {axis.size}" for axis in self.domain.axes)
        return f"PublicTable({axes}: {self.domain.cells} cells)"

