"""From rows to counts: one number for every cell of the domain, zeros included.

Records are tabulated by SQL and never pass through Python; counts are parsed from text, exactly, and a
cell may be given once.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from congenial.errors import Fault, RequestError, SourceError
from congenial.tables.columns import (
    Reading,
    give_leaves,
    matches,
    reading,
    undeclared,
    unlabelled,
    with_labels,
)
from congenial.tables.domain import Axis, Domain
from congenial.tables.labels import complete
from congenial.tables.naming import columns_shown, rows_shown, shown
from congenial.tables.rows import Rows
from congenial.tables.specs import AxisAsked, UnitAsked
from congenial.tables.units import kept_rows

LARGEST = 2**53
"""The largest count, and the largest total."""

_WHOLE = "([+]?[0-9]+|-0+)([.]0*)?"
_BLANK = " \t\u00a0\u202f"


@dataclass(frozen=True, eq=False)
class Tally:
    """What rows come to: a domain, its counts in the order of cells, and what a release must say."""

    domain: Domain
    counts_confidential: NDArray[np.int64]
    notices: tuple[str, ...]

    def __repr__(self) -> str:
        return f"Tally({self.domain.cells} cells)"


def tallied(
    rows: Rows,
    asked: Sequence[AxisAsked],
    declared: dict[str, Axis | None],
    counts: str | None,
    unit: UnitAsked | None,
) -> Tally:
    """Count the rows of every cell, or add up what they count.

    Raises a `SourceError` with all that can be seen at once: columns first, then what is in them.
    """
    readings, column = _columns(rows, asked, declared, counts, unit)
    notices, faults = list(_from_source(readings, counts is None)), list[Fault]()
    if column is not None:
        tally = _entered(rows, readings, column)
        faults += _count_faults(rows, tally, str(counts))
    elif unit is not None and unit.column is not None:
        kept, said = kept_rows(rows, unit, _needed(readings), faults)
        notices += said
        tally = _tabulated(kept, readings)
    else:
        tally = _tabulated(rows, readings)
        rows.whole(tally, "sum(n)")
    for found in readings:
        faults += unlabelled(rows, found, tally)
    readings = [found if found.axis else with_labels(rows, found, tally) for found in readings]
    domain = complete([found.axis for found in readings if found.axis])
    places, n = _placed(rows, readings, tally)
    for at, place in enumerate(places):
        if (place < 0).any():
            faults += undeclared(rows, readings[at], tally, f"leaves{at}")
    if counts is not None and not faults:
        faults += _repeated(rows, readings, tally, counts)
    if faults:
        raise SourceError(faults)
    return Tally(domain, _summed(domain, places, n), tuple(notices))


def _columns(
    rows: Rows,
    asked: Sequence[AxisAsked],
    declared: dict[str, Axis | None],
    counts: str | None,
    unit: UnitAsked | None,
) -> tuple[list[Reading], str | None]:
    """The columns of every axis and of the counts."""
    faults: list[Fault] = []
    found = [reading(rows, axis, declared[axis.name], faults) for axis in asked]
    column = None
    if counts is not None:
        column = rows.at(counts)
        if column is None:
            faults.append(rows.missing(counts, "counts", " to read counts from"))
        for one in found:
            if one is not None and counts in one.names:
                what = f"column {shown(counts)} is read as counts and as axis {shown(one.asked.name)}"
                faults.append(Fault("counts", what, "counts and categories are different columns."))
    if unit is not None and unit.column is not None and rows.at(unit.column) is None:
        faults.append(rows.missing(unit.column, "unit", " to tell units by"))
    if faults:
        raise SourceError(faults)
    return [one for one in found if one is not None], column


def refuse_undeclared_records(
    asked: Sequence[AxisAsked],
    declared: dict[str, Axis | None],
    where: str = "table.axes",
    allow: str = "`labels: from-source`",
) -> None:
    """Labels of records must be declared, or said to come from the source."""
    faults = []
    for axis in asked:
        if declared[axis.name] is None and not axis.labels_from_source:
            what = f"the labels of axis {shown(axis.name)} are not declared"
            say = (
                "the labels that occur in records would themselves reveal who is there: list all that could\n"
                f"occur as `categories` or in a `domain` file, or allow it with {allow}."
            )
            faults.append(Fault(f"{where}.{axis.name}", what, say))
    if faults:
        raise RequestError(faults)


def _from_source(readings: Sequence[Reading], records: bool) -> Iterator[str]:
    for found in readings:
        if found.axis is None:
            start = f"The labels of axis {shown(found.asked.name)} were taken from the source"
            if records:
                yield f"{start}, which are records: the list itself says which of them occur there."
            else:
                yield f"{start}: this list was taken as public."


def _needed(readings: Sequence[Reading]) -> list[str]:
    return sorted({column for found in readings for column in found.columns})


def _tabulated(rows: Rows, readings: Sequence[Reading]) -> str:
    columns = ", ".join(_needed(readings))
    rows.run(
        f"CREATE TEMP TABLE tally AS SELECT {columns}, count(*) AS n FROM {rows.relation} GROUP BY {columns}"
    )
    return "temp.main.tally"


def _entered(rows: Rows, readings: Sequence[Reading], column: str) -> str:
    """Counts as entered, with the number of their row; `n` is NULL where it is no count."""
    clean = f"trim({column}, '{_BLANK}')"
    digits = f"ltrim(split_part({clean}, '.', 1), '+-')"
    whole = f"CASE WHEN regexp_full_match({clean}, '{_WHOLE}') THEN TRY_CAST({digits} AS HUGEINT) END"
    columns = ", ".join(_needed(readings))
    rows.run(
        f"CREATE TEMP TABLE tally AS SELECT nth, {columns}, entry, "
        f"CASE WHEN whole <= {LARGEST} THEN CAST(whole AS BIGINT) END AS n FROM ("
        f"SELECT row_number() OVER () AS nth, {columns}, {column} AS entry, {whole} AS whole "
        f"FROM {rows.relation})"
    )
    rows.whole("temp.main.tally")
    return "temp.main.tally"


_KINDS = (
    ("missing", r"", "leave the row out, or write 0 where nothing was counted"),
    ("negative", r"[-−–]\s*[\d.,'’\s]+|\([\d.,]+\)", "a table of counts has none below zero"),
    (
        "with marks between thousands",
        r"[+]?\d{1,3}([,'’ \u00a0\u202f_]\d{3})+([.,]0*)?|\d{1,3}(\.\d{3}){2,}",
        "write digits alone",
    ),
    (
        "larger than 2^53",
        r"[+]?\d+([.]0*)?|[+]?\d(\.\d+)?[eE][+]?\d{2,}",
        "counts of that size cannot be added up exactly",
    ),
    (
        "not a whole number",
        r"[+]?\d*[.,]\d+([eE][+-]?\d+)?|[+]?\d+[eE][+-]?\d+",
        "write whole numbers; a mark between thousands must go",
    ),
)


def _count_faults(rows: Rows, tally: str, counts: str) -> Iterator[Fault]:
    """Entries that are no counts, by kind and row; never by what was entered."""
    wrong: dict[str, list[int]] = {}
    hints = {kind: hint for kind, _, hint in _KINDS}
    for row, entry in rows.fetch(f"SELECT nth, entry FROM {tally} WHERE n IS NULL ORDER BY nth LIMIT 1000"):
        text = (entry or "").strip()
        kind = next((kind for kind, pattern, _ in _KINDS if re.fullmatch(pattern, text)), "not a number")
        wrong.setdefault(kind, []).append(row)
    for kind, which in wrong.items():
        what = f"the count in {rows_shown(which)} of {rows.name} is {kind}"
        say = (
            f"{hints.get(kind, 'is it the right column?')}; rows are counted from the first below the header."
        )
        yield Fault(f"column {counts}", what, say)
    if not wrong:
        [(total,)] = rows.fetch(f"SELECT sum(n) FROM {tally}")
        if total is not None and total > LARGEST:
            what = f"the counts of {rows.name} add up to more than 2^53"
            yield Fault(f"column {counts}", what, "tables of that size cannot be added up exactly.")


def _repeated(rows: Rows, readings: Sequence[Reading], tally: str, counts: str) -> Iterator[Fault]:
    columns = ", ".join(_needed(readings))
    twice = rows.fetch(
        f"SELECT min(nth), max(nth) FROM {tally} GROUP BY {columns} HAVING count(*) > 1 ORDER BY 1 LIMIT 1"
    )
    if not twice:
        return
    named = {name for found in readings for name in found.names} | {counts}
    others = [name for name in rows.columns if name not in named]
    say = "each cell is given once: take one of them out, or add them up by `query`."
    if others:
        say += f"\nColumns that no axis reads: {columns_shown(others, 6)}. Should one be an axis?"
    yield Fault("", f"{rows_shown(twice[0])} of {rows.name} count the same cell", say)


def _placed(
    rows: Rows, readings: Sequence[Reading], tally: str
) -> tuple[list[NDArray[np.int64]], NDArray[np.int64]]:
    """For every row of the tally its leaf on each axis (-1: none), and its count (0 where it is wrong)."""
    joins, leaves = "", []
    for at, found in enumerate(readings):
        give_leaves(rows, found, f"leaves{at}")
        joins += f" LEFT JOIN temp.main.leaves{at} ON {matches(found, f'leaves{at}')}"
        leaves.append(f"coalesce(leaves{at}.leaf, -1) AS at{at}")
    table = rows.arrow(f"SELECT {', '.join(leaves)}, coalesce(n, 0) AS n FROM {tally}{joins}")
    columns = [column.to_numpy().astype(np.int64) for column in table.columns]
    return columns[:-1], columns[-1]


def _summed(domain: Domain, places: Sequence[NDArray[np.int64]], n: NDArray[np.int64]) -> NDArray[np.int64]:
    cell = np.zeros(len(n), dtype=np.int64)
    for place, size in zip(places, domain.shape, strict=True):
        cell = cell * size + place
    counts = np.zeros(domain.cells, dtype=np.int64)
    np.add.at(counts, cell, n)
    return counts
