"""From a source to what it comes to: the front door of everything that reads files and databases.

Everything is read as text, so that labels stay what they are; declared labels are read first, and the
source is opened only when they are sound.
"""

from __future__ import annotations

from congenial.errors import Fault, RequestError
from congenial.tables.domain import Domain
from congenial.tables.inspection import Inspected, inspect_source, labels_of
from congenial.tables.labels import declared, declared_domain_of
from congenial.tables.rows import opened
from congenial.tables.specs import TableAsked, UnitAsked
from congenial.tables.tallies import Tally, refuse_undeclared_records, tallied


def declared_domain(spec: TableAsked) -> Domain:
    """The domain as the request declares it. The source is not opened.

    Raises a `RequestError` that names the axes whose labels only the source knows.
    """
    return declared_domain_of(spec.axes, spec.folder)


def read(spec: TableAsked, unit: UnitAsked | None) -> Tally:
    """Tabulate a source.

    Raises a `RequestError` where the axes are not sound and a `SourceError` where the data are not.
    **Cost.** One pass over a source of records, two where units are told by a column.
    """
    found = declared(spec.axes, spec.folder)
    if spec.counts is None:
        refuse_undeclared_records(spec.axes, found)
    elif unit is not None and unit.column is not None:
        say = "rows that are counts belong to nobody: leave `column` or `counts` out."
        raise RequestError(
            Fault("unit.column", "units are told by a column of records, and there are none", say)
        )
    with opened(
        spec.source, spec.folder, query=spec.query, encoding=spec.encoding, delimiter=spec.delimiter
    ) as rows:
        return tallied(rows, spec.axes, found, spec.counts, unit)


__all__ = ["Inspected", "declared_domain", "inspect_source", "labels_of", "read"]
