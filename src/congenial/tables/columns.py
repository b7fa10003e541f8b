"""Which columns of the rows an axis is read from, and which leaf a row belongs to.

A flat axis reads a column, `prefixes` cut one code, a hierarchy reads the levels that the rows have; the
others are joined from the domain, where the levels at hand tell every leaf from every other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from congenial.errors import Fault
from congenial.tables.connections import literal
from congenial.tables.domain import Axis, Path
from congenial.tables.labels import axis_of
from congenial.tables.naming import looks_like_a_number, near, shown
from congenial.tables.rows import Rows
from congenial.tables.specs import AxisAsked

_MOST_NAMED = 5


@dataclass(frozen=True, eq=False)
class Reading:
    """An axis and the columns of the rows that it is read from."""

    asked: AxisAsked
    axis: Axis | None
    names: tuple[str, ...]
    """Columns as the source calls them."""
    columns: tuple[str, ...]
    """The same columns as SQL calls them."""
    depths: tuple[int, ...]
    """The level that each column names; the finest for a code."""

    @property
    def cut(self) -> int | None:
        """How many characters of a code name a leaf."""
        return self.asked.prefixes[-1][1] if self.asked.prefixes else None

    @property
    def keys(self) -> tuple[str, ...]:
        """SQL for the labels that name a leaf."""
        return tuple(f"left({c}, {self.cut})" for c in self.columns) if self.cut else self.columns

    @property
    def blank(self) -> str:
        """SQL: whether a label is missing."""
        return "(" + " OR ".join(f"{c} IS NULL OR trim({c}) = ''" for c in self.columns) + ")"

    @property
    def short(self) -> str:
        """SQL: whether a code is too short to name a leaf."""
        return f"(length({self.columns[0]}) < {self.cut})" if self.cut else "false"

    @property
    def said(self) -> str:
        """The columns as a message names them."""
        few = "column" if len(self.names) == 1 else "columns"
        return f"{few} {', '.join(self.names)}"


def reading(rows: Rows, asked: AxisAsked, axis: Axis | None, faults: list[Fault]) -> Reading | None:
    """Find the columns of an axis; None, and faults, where they are not there."""
    where = f"axis {asked.name}"
    if not asked.levels:
        finest = max(len(asked.prefixes) - 1, 0)
        return _reading(rows, asked, axis, (asked.column or asked.name,), (finest,), where, faults)
    finest = len(asked.levels) - 1
    names = (*asked.levels[:-1], asked.column or asked.levels[-1])
    depths = tuple(d for d in range(finest + 1) if d == finest or axis is None or rows.at(names[d]))
    found = _reading(rows, asked, axis, tuple(names[d] for d in depths), depths, where, faults)
    if found is not None and len(depths) <= finest:
        faults += _ambiguous(found, where)
    return found


def _reading(
    rows: Rows,
    asked: AxisAsked,
    axis: Axis | None,
    names: tuple[str, ...],
    depths: tuple[int, ...],
    where: str,
    faults: list[Fault],
) -> Reading | None:
    columns = tuple(rows.at(name) for name in names)
    faults += [rows.missing(n, where, "") for n, c in zip(names, columns, strict=True) if c is None]
    if None in columns:
        return None
    return Reading(asked, axis, names, tuple(str(c) for c in columns), depths)


def _ambiguous(found: Reading, where: str) -> Iterator[Fault]:
    """Levels that the source lacks can be joined only where those it has name each leaf once."""
    assert found.axis is not None
    seen: set[Path] = set()
    for path in found.axis.paths():
        have = tuple(path[depth] for depth in found.depths)
        if have in seen:
            lacks = next(n for d, n in enumerate(found.asked.levels) if d not in found.depths)
            what = f"{shown('/'.join(have))} stands under several parents, and the source does not say which"
            yield Fault(where, what, f"the source needs the column {shown(lacks)} too.")
            return
        seen.add(have)


def with_labels(rows: Rows, found: Reading, tally: str) -> Reading:
    """A reading whose axis has the labels that occur, sorted."""
    sound = f"NOT {found.blank} AND NOT {found.short}"
    names = ", ".join(f"{key} AS k{at}" for at, key in enumerate(found.keys))
    table = rows.arrow(f"SELECT DISTINCT {names} FROM {tally} WHERE {sound}")
    paths = sorted(zip(*(column.to_pylist() for column in table.columns), strict=True))
    columns: Sequence[Sequence[str]] = list(zip(*paths, strict=True)) or [()] * len(found.keys)
    return replace(found, axis=axis_of(found.asked, columns))


def give_leaves(rows: Rows, found: Reading, name: str) -> None:
    """Let SQL see the leaves of an axis: their labels k0, k1, … and their places."""
    import pyarrow as pa

    assert found.axis is not None
    levels = list(zip(*found.axis.paths(), strict=True)) or [()] * len(found.axis.levels)
    table: dict[str, Any] = {
        f"k{at}": pa.array(levels[depth], pa.string()) for at, depth in enumerate(found.depths)
    }
    table["leaf"] = pa.array(range(found.axis.size), pa.int32())
    rows.connection.give(name, pa.table(table))


def matches(found: Reading, leaves: str) -> str:
    """SQL: whether a row stands in a leaf."""
    return " AND ".join(f"{leaves}.k{at} = {key}" for at, key in enumerate(found.keys))


def undeclared(rows: Rows, found: Reading, tally: str, leaves: str) -> Iterator[Fault]:
    """Labels of the rows that are not declared: named with the near one, or by their rows."""
    assert found.axis is not None
    keys = ", ".join(f"{key} AS k{at}" for at, key in enumerate(found.keys))
    ordered = ", ".join(f"k{at}" for at in range(len(found.keys)))
    strange = rows.fetch(
        f"SELECT DISTINCT {keys} FROM {tally} AS t WHERE NOT {found.blank} AND NOT {found.short} "
        f"AND NOT EXISTS (SELECT 1 FROM temp.main.{leaves} WHERE {matches(found, leaves)}) "
        f"ORDER BY {ordered} LIMIT 200"
    )
    numbers = [labels for labels in strange if any(looks_like_a_number(label) for label in labels)]
    words = [labels for labels in strange if labels not in numbers]
    known = ["/".join(path[d] for d in found.depths) for path in found.axis.paths()] if words else []
    declared_by = "its `domain` file" if found.asked.domain else "`categories`"
    for labels in words[:_MOST_NAMED]:
        text = "/".join(labels)
        say = f"the labels of axis {shown(found.asked.name)} are those of {declared_by}. {near(text, known)}"
        yield Fault(found.said, f"the label {shown(text)} is not declared", say.strip())
    if len(words) > _MOST_NAMED:
        yield Fault(
            found.said,
            f"{len(words) - _MOST_NAMED} more labels are not declared",
            "see whether it is the right column.",
        )
    if numbers:
        which = rows.numbers_where(_any_of(found, numbers[:20]))
        say = f"they look like numbers, so they are not shown here; the axis has the labels of {declared_by}."
        yield Fault(found.said, f"the labels in {which} are not declared", say)


def _any_of(found: Reading, labels: Sequence[tuple[str, ...]]) -> str:
    one = (
        " AND ".join(f"{key} = {literal(label)}" for key, label in zip(found.keys, row, strict=True))
        for row in labels
    )
    return " OR ".join(f"({condition})" for condition in one)


def unlabelled(rows: Rows, found: Reading, tally: str) -> Iterator[Fault]:
    """Rows without a label, and codes too short to name a leaf."""
    if rows.fetch(f"SELECT 1 FROM {tally} WHERE {found.blank} LIMIT 1"):
        which = rows.numbers_where(found.blank)
        say = "give such rows a label of their own, such as 'unknown', or leave them out by `query`."
        yield Fault(found.said, f"{which} of {rows.name} has no label", say)
    if rows.fetch(f"SELECT 1 FROM {tally} WHERE {found.short} AND NOT {found.blank} LIMIT 1"):
        which = rows.numbers_where(f"{found.short} AND NOT {found.blank}")
        level = shown(found.asked.prefixes[-1][0])
        say = f"level {level} is its first {found.cut}. Has a leading zero been lost?"
        yield Fault(
            found.said, f"{which} of {rows.name} has a code with fewer than {found.cut} characters", say
        )
