"""Small tables that the papers print, for tests, examples and reproductions."""

from __future__ import annotations

from congenial.tables.domain import Axis, Domain
from congenial.tables.table import Table

_WRITTEN = (
    "0-5 6-10 11-15 16-17 18-19 20 21 22-24 25-29 30-34 35-39 40-44 45-49 50-54 55-59 60-61 62-64 65-66 "
    "67-69 70-74 75-79 80-84 85+"
)
_AGES = _WRITTEN.split()
_WOMEN = [8, 6, 3, 6, 4, 4, 4, 8, 5, 7, 7, 6, 1, 5, 4, 4, 9, 6, 2, 8, 8, 8, 7]
_MEN = [3, 4, 5, 8, 6, 4, 5, 5, 5, 6, 10, 7, 3, 2, 5, 11, 6, 4, 7, 4, 5, 3, 8]

VOTING_AGES = tuple(_AGES[4:])
"""The ages of `sex_by_age` that may vote."""


def sex_by_age() -> Table:
    """256 people by sex and 23 ages: Gong & Meng (2020), Table 1 (top)."""
    domain = Domain((Axis.flat("sex", ["female", "male"]), Axis.flat("age", _AGES)))
    return Table.from_counts(domain, [_WOMEN, _MEN])
