"""A look at a source, for a first request: its columns, and a guess at what they are.

What is guessed is for the curator to check: which column holds counts, which columns are levels of one
hierarchy, which is a code whose beginnings are. Nothing of it is public.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path as FilePath

from congenial.errors import SourceError
from congenial.tables.domain import Path
from congenial.tables.rows import Rows, opened

_COUNT_NAMES = (
    *("count", "counts", "n", "freq", "frequency", "population", "pop", "persons", "people", "number"),
    *("households", "total", "value", "obs", "cases", "anzahl", "effectif", "total_population", "num"),
)
_CODE_NAMES = ("id", "code", "geoid", "fips", "zip", "year", "key")
_WIDTHS = {
    5: (("state", 2), ("county", 5)),
    11: (("state", 2), ("county", 5), ("tract", 11)),
    12: (("state", 2), ("county", 5), ("tract", 11), ("block_group", 12)),
    15: (("state", 2), ("county", 5), ("tract", 11), ("block_group", 12), ("block", 15)),
}
"""Codes whose layout is known: those of the United States' census geography."""

_MOST_COLUMNS = 40
_MOST_CELLS = 10_000


@dataclass(frozen=True)
class Column:
    """What a column holds."""

    name: str
    labels: int
    """How many different labels it has."""
    missing: bool
    """Whether some row has none."""
    whole: bool
    """Whether every value is a whole number, none of them below zero."""
    width: int | None
    """The number of characters, where all labels have as many."""
    zeros: bool
    """Whether some label of several digits begins with a zero, as codes do and counts do not."""


@dataclass(frozen=True)
class Inspected:
    """A source as a first request could read it; `counts` is None where rows seem to be records."""

    source: str
    kind: str
    encoding: str | None
    delimiter: str | None
    rows: int
    columns: tuple[Column, ...]
    counts: str | None
    axes: tuple[str, ...]
    """Columns that a first request could take as flat axes, in the source's order."""
    hierarchies: tuple[tuple[str, ...], ...]
    """Columns that seem to be levels of one axis, coarse to fine."""
    codes: tuple[tuple[str, tuple[tuple[str, int], ...]], ...]
    """Columns whose beginnings seem to name levels, with the prefixes of each."""
    left_out: tuple[tuple[str, str], ...]
    """The other columns, each with the reason why it is no axis."""

    def column(self, name: str) -> Column:
        """The column of that name."""
        return next(column for column in self.columns if column.name == name)


def inspect_source(
    path: str | FilePath,
    *,
    folder: FilePath | None = None,
    query: str | None = None,
    encoding: str | None = None,
    delimiter: str | None = None,
) -> Inspected:
    """Look at a source: its columns and what they seem to be.

    Raises a `SourceError` where it cannot be read. **Cost.** A few passes over its columns.
    """
    where = folder or FilePath()
    with opened(str(path), where, query=query, encoding=encoding, delimiter=delimiter) as rows:
        n, columns = _columns(rows)
        if n == 0:
            raise rows.empty()
        counts = _counts(rows, n, columns)
        left_out = _left_out(rows, n, [c for c in columns if c.name != counts], counts is None)
        others = [c for c in columns if c.name != counts and c.name not in left_out]
        codes = _codes(rows, others)
        hierarchies = _hierarchies(rows, [c for c in others if not c.whole])
        parents = {name for chain in hierarchies for name in chain[:-1]}
        left_out |= _determined(rows, [c for c in others if c.name not in parents])
        hierarchies = tuple(chain for chain in hierarchies if chain[-1] not in left_out)
        levels = {name for chain in hierarchies for name in chain}
        if parents - levels:
            left_out |= _determined(rows, [c for c in others if c.name not in levels | set(left_out)])
        taken = levels | set(dict(codes)) | set(left_out)
        flat = [c for c in others if c.name not in taken]
        if counts is None:
            left_out |= _too_many(flat)
        return Inspected(
            source=str(path),
            kind=rows.kind,
            encoding=rows.dialect.encoding.removesuffix("-sig") if rows.dialect else None,
            delimiter=rows.dialect.delimiter if rows.dialect else None,
            rows=n,
            columns=columns,
            counts=counts,
            axes=tuple(c.name for c in flat if c.name not in left_out),
            hierarchies=hierarchies,
            codes=tuple((name, prefixes) for name, prefixes in codes if name not in left_out),
            left_out=tuple((c.name, left_out[c.name]) for c in columns if c.name in left_out),
        )


def labels_of(
    path: str | FilePath,
    columns: Sequence[str],
    *,
    folder: FilePath | None = None,
    query: str | None = None,
    encoding: str | None = None,
    delimiter: str | None = None,
) -> tuple[Path, ...]:
    """The combinations of labels that occur in some columns of a source, sorted: a list to be checked."""
    where = folder or FilePath()
    with opened(str(path), where, query=query, encoding=encoding, delimiter=delimiter) as rows:
        places = ", ".join(_place(rows, name) for name in columns)
        table = rows.arrow(f"SELECT DISTINCT {places} FROM {rows.relation}")
        paths = zip(*(column.to_pylist() for column in table.columns), strict=True)
        return tuple(sorted(path for path in paths if all(label and label.strip() for label in path)))


def _place(rows: Rows, name: str) -> str:
    place = rows.at(name)
    if place is None:
        raise SourceError(rows.missing(name, "", ""))
    return place


def _columns(rows: Rows) -> tuple[int, tuple[Column, ...]]:
    asked = ["count(*)"]
    for at in range(len(rows.columns)):
        c = f"c{at}"
        asked += [
            f"count(DISTINCT {c})",
            f"bool_or({c} IS NULL OR trim({c}) = '')",
            f"bool_and(regexp_full_match(trim({c}), '[+]?[0-9]+([.]0*)?'))",
            f"min(length({c}))",
            f"max(length({c}))",
            f"bool_or(regexp_full_match({c}, '0[0-9]+'))",
        ]
    [(n, *found)] = rows.fetch(f"SELECT {', '.join(asked)} FROM {rows.relation}")
    columns = []
    for at, name in enumerate(rows.columns):
        labels, missing, whole, least, most, zeros = found[6 * at : 6 * at + 6]
        width = most if most == least else None
        columns.append(Column(name, labels, bool(missing), bool(whole) and not missing, width, bool(zeros)))
    return n, tuple(columns)


def _counts(rows: Rows, n: int, columns: Sequence[Column]) -> str | None:
    """The column of counts: by its name, else the last of whole numbers that nothing else explains.

    It is one only if the other columns name no cell twice.
    """
    able = [c for c in columns if c.whole and not c.zeros and c.name.casefold() not in _CODE_NAMES]
    named = [c for c in able if c.name.casefold() in _COUNT_NAMES or _parts(c.name) & set(_COUNT_NAMES)]
    unnamed = [c for c in able if c not in named and columns and c is columns[-1]]
    for candidate in [*named, *unnamed]:
        others = [f"c{at}" for at, c in enumerate(columns) if c is not candidate]
        if not others:
            continue
        keys = ", ".join(others)
        twice = rows.fetch(f"SELECT 1 FROM {rows.relation} GROUP BY {keys} HAVING count(*) > 1 LIMIT 1")
        if not twice and (candidate in named or candidate.labels > 2):
            return candidate.name
    return None


def _parts(name: str) -> set[str]:
    return set(name.casefold().replace("-", "_").replace(" ", "_").split("_"))


def _codes(rows: Rows, columns: Sequence[Column]) -> tuple[tuple[str, tuple[tuple[str, int], ...]], ...]:
    """Codes of a known width, all digits, whose beginnings group them."""
    found = []
    for column in columns:
        prefixes = _WIDTHS.get(column.width or 0)
        likely = column.zeros or column.name.casefold() in _CODE_NAMES
        if prefixes and column.whole and likely and column.labels > 20:
            place = rows.at(column.name)
            asked = ", ".join(f"count(DISTINCT left({place}, {length}))" for _, length in prefixes)
            [sizes] = rows.fetch(f"SELECT {asked} FROM {rows.relation}")
            if sizes[0] < sizes[-1] and sizes[0] <= 100:
                found.append((column.name, prefixes))
    return tuple(found)


def _left_out(rows: Rows, n: int, columns: Sequence[Column], records: bool) -> dict[str, str]:
    """Columns that tell no categories apart, and why."""
    found: dict[str, str] = {}
    for column in columns:
        if not column.name.strip():
            found[column.name] = "it has no name"
        elif column.missing:
            found[column.name] = "some rows have no label in it"
        elif column.labels == 1 and len(columns) > 1:
            found[column.name] = "it has one label only"
        elif records and column.labels > max(20, n // 2):
            found[column.name] = "nearly every row has its own: it seems to name units"
    if len(found) == len(columns):
        return {name: why for name, why in found.items() if "no label" in why or "no name" in why}
    return found


def _too_many(flat: Sequence[Column]) -> dict[str, str]:
    """Of the columns of records those that a first table of moderate size has no room for."""
    cells, found = 1, {}
    for column in sorted(flat, key=lambda c: c.labels):
        if cells * column.labels > _MOST_CELLS:
            found[column.name] = "the first table would become too large"
        else:
            cells *= column.labels
    return found


def _hierarchies(rows: Rows, columns: Sequence[Column]) -> tuple[tuple[str, ...], ...]:
    """Chains of neighbouring columns where a label has one parent, or rarely more, of many."""
    chains: list[list[str]] = []
    words = [c for c in columns[:_MOST_COLUMNS] if c.labels > 1]
    for coarse, fine in pairwise(words):
        if coarse.labels * 2 <= fine.labels:
            pairs = _pairs(rows, rows.relation, fine.name, [coarse.name])[0]
            if pairs <= 2 * fine.labels and 4 * pairs <= coarse.labels * fine.labels:
                if chains and chains[-1][-1] == coarse.name:
                    chains[-1].append(fine.name)
                else:
                    chains.append([coarse.name, fine.name])
    return tuple(tuple(chain) for chain in chains)


def _determined(rows: Rows, columns: Sequence[Column]) -> dict[str, str]:
    """Columns that another one determines, such as a county's name beside its code.

    Of two that determine each other, the one that is written in words stays.
    """
    columns = columns[:_MOST_COLUMNS]
    rows.run(f"CREATE TEMP TABLE IF NOT EXISTS peek AS SELECT * FROM {rows.relation} LIMIT 10000")
    found: dict[str, str] = {}
    for by in sorted(columns, key=lambda c: (-c.labels, c.whole and not c.zeros)):
        if by.name in found:
            continue
        others = [c.name for c in columns if c is not by and c.labels <= by.labels and c.name not in found]
        for relation in ("temp.main.peek", rows.relation):  # most pairs fail on a few rows
            if others:
                alone, *pairs = _pairs(rows, relation, by.name, [by.name, *others])
                others = [name for name, n in zip(others, pairs, strict=True) if n == alone]
        found |= dict.fromkeys(others, f"{by.name} determines it")
    return found


def _pairs(rows: Rows, relation: str, one: str, others: Sequence[str]) -> list[int]:
    """How many pairs of labels occur, of one column with each of some others."""
    asked = ", ".join(f"count(DISTINCT ({rows.at(one)}, {rows.at(other)}))" for other in others)
    [found] = rows.fetch(f"SELECT {asked} FROM {relation}")
    return list(found)
