"""The rows of a source as SQL sees them: a view whose columns are text and are called c0, c1, …

Names of columns are matched exactly, capitals included, and never by SQL, which would not. A `query:`
is one SELECT over a view called `source` (or over the tables of a database); it reaches no other file.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path as FilePath
from typing import Any

from congenial.errors import CongenialError, Fault, RequestError, SourceError
from congenial.tables.connections import Connection, Otherwise, connected, identifier, quiet
from congenial.tables.dialects import Dialect
from congenial.tables.formats import Raw, framed, raw
from congenial.tables.naming import columns_shown, looks_like_a_number, near, rows_shown, shown
from congenial.tables.rewriting import first_bad_record

_SOURCE, _ASKED, _ROWS = "temp.main.source", "temp.main.asked", "temp.main.congenial_rows"


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows to be counted, and how messages speak of them."""

    connection: Connection
    name: str
    columns: tuple[str, ...]
    broken: Otherwise
    relation: str = _ROWS
    dialect: Dialect | None = None
    kind: str = "csv"
    expected: int | None = None
    """How many rows there must be, where that is known."""

    def at(self, column: str) -> str | None:
        """What SQL calls a column, or None where there is no such column."""
        return f"c{self.columns.index(column)}" if column in self.columns else None

    def missing(self, column: str, where: str, why: str) -> Fault:
        """The fault that a column is not there."""
        known = [name for name in self.columns if not looks_like_a_number(name)]
        say = f"its columns are {columns_shown(self.columns)}. {near(column, known)}".strip()
        return Fault(where, f"{self.name} has no column {shown(column)}{why}", say)

    def run(self, sql: str) -> None:
        """Run a statement for what it does."""
        self.connection.run(sql, self.broken)

    def fetch(self, sql: str) -> list[tuple[Any, ...]]:
        """The rows of a small result."""
        return self.connection.rows(sql, self.broken)

    def arrow(self, sql: str) -> Any:
        """A result as a pyarrow table."""
        return self.connection.arrow(sql, self.broken)

    def empty(self) -> SourceError:
        """The error that there is nothing to count."""
        say = "it has a header, and nothing below it." if self.dialect else "there is nothing to count."
        return SourceError(Fault("", f"{self.name} has no rows", say))

    def whole(self, relation: str, number: str = "count(*)") -> None:
        """Refuse rows that are none, or not as many as the file has lines: none is lost in silence."""
        [(n,)] = self.fetch(f"SELECT {number} FROM {relation}")
        if not n:
            raise self.empty()
        if self.expected is not None and n != self.expected:
            raise self.broken()

    def numbers_where(self, condition: str, most: int = 4) -> str:
        """The first rows that meet a condition, as a message names them; rows count from 1."""
        numbered = f"SELECT row_number() OVER () AS nth, * FROM {self.relation}"
        found = self.fetch(f"SELECT nth FROM ({numbered}) WHERE {condition} LIMIT {most}")
        return rows_shown([row for (row,) in found])


@contextmanager
def opened(
    source: str,
    folder: FilePath,
    *,
    query: str | None = None,
    encoding: str | None = None,
    delimiter: str | None = None,
) -> Iterator[Rows]:
    """The rows of a file or a database, or of a query over it."""
    with connected() as connection:
        yield _rows(connection, raw(connection, source, folder, encoding, delimiter), _short(source), query)


@contextmanager
def of_arrow(table: Any) -> Iterator[Rows]:
    """The rows of a pyarrow table in memory."""

    def broken() -> CongenialError:
        return SourceError(
            Fault("", "the frame cannot be read", "it may hold values of a kind not known here.")
        )

    with connected() as connection:
        yield _rows(connection, framed(connection, table, broken), "the frame", None)


def _short(source: str) -> str:
    """What messages call a source; never more of a URL than its scheme."""
    if "://" in source:
        return f"the {source.split('://', 1)[0]} database"
    return shown(FilePath(source).name)


def _rows(connection: Connection, source: Raw, name: str, query: str | None) -> Rows:
    _refuse_duplicates(source.columns, name)
    if query is None and source.is_database:
        say = "write `query: select … from …`."
        raise SourceError(Fault("", f"{name} is a database, and no `query` says which rows are meant", say))
    relation, columns, broken = source.relation, source.columns, source.broken
    if query is not None:
        relation, columns = _ASKED, _ask(connection, source, query)
        broken, name = _fails_on_a_value(source), f"the result of `query` over {name}"
    elif source.files is not None:
        connection.close_off(source.files)
    text = ", ".join(f"CAST(c{at} AS VARCHAR) AS c{at}" for at in range(len(columns)))
    names = ", ".join(f"c{at}" for at in range(len(columns)))
    connection.run(f"CREATE TEMP VIEW congenial_rows AS SELECT {text} FROM {relation} AS t({names})", broken)
    expected = source.dialect.rows if source.dialect and query is None else None
    return Rows(
        connection, name, columns, broken, dialect=source.dialect, kind=source.kind, expected=expected
    )


def _refuse_duplicates(columns: Sequence[str], name: str) -> None:
    twice = sorted({column for column in columns if columns.count(column) > 1 and column.strip()})
    if twice:
        what = f"{name} has several columns called {columns_shown(twice)}"
        say = "give each its own name, so that none is taken for another."
        raise SourceError(Fault("", what, say))


def _ask(connection: Connection, source: Raw, query: str) -> tuple[str, ...]:
    """Make the view `asked` of a query; the names of its columns."""
    statement = _one_select(connection, query)
    if not source.is_database:
        _offer(connection, source)
    if source.files is not None:
        connection.close_off(source.files)
    refused = _refusal(source, query)
    with quiet(refused, own=False):
        columns = tuple(connection.duck.sql(statement).columns)
    _refuse_duplicates(columns, "the result of `query`")
    with quiet(refused, own=False):
        connection.duck.execute(f"CREATE TEMP VIEW asked AS {statement}")
    return columns


def _one_select(connection: Connection, query: str) -> str:
    import duckdb

    what, say = "the query is not one SELECT statement", "write `select … from source`."
    try:
        statements = connection.duck.extract_statements(query)
    except duckdb.Error:
        what = "the query is not valid SQL"
        raise RequestError(Fault("table.query", what, f"it is read as DuckDB's SQL; {say}")) from None
    if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
        raise RequestError(Fault("table.query", what, say))
    return str(statements[0].query)


def _offer(connection: Connection, source: Raw) -> None:
    """Make the view `source`, with the columns' own names."""
    folded = [column.casefold() for column in source.columns]
    alike = sorted({c for c in source.columns if folded.count(c.casefold()) > 1})
    if alike:
        what = f"SQL cannot tell apart the columns {columns_shown(alike)}"
        raise SourceError(Fault("table.query", what, "rename them, or do without `query`."))
    places = range(len(source.columns))
    names = ", ".join(f"c{at} AS {identifier(source.columns[at] or f'column {at + 1}')}" for at in places)
    under = ", ".join(f"c{at}" for at in places)
    connection.run(
        f"CREATE TEMP VIEW source AS SELECT {names} FROM {source.relation} AS t({under})", source.broken
    )


def _refusal(source: Raw, query: str) -> Otherwise:
    """What to say where DuckDB does not take a query; its own text is not passed on."""

    def refused() -> CongenialError:
        if source.is_database:
            say = "see that its tables and columns are there."
        else:
            say = f"the source is called `source`; its columns are {columns_shown(source.columns)}."
        if source.kind == "csv" and not source.is_database:
            say += "\nColumns of a text file are text: write cast(n as bigint) where a number is meant."
        what = "the query names a table, a column or a function that is not there"
        return RequestError(Fault("table.query", what, f"{say}\nOther files cannot be read by it."))

    return refused


def _fails_on_a_value(source: Raw) -> Otherwise:
    def failed() -> CongenialError:
        bad = first_bad_record(source.dialect) if source.dialect else None
        if bad:
            return bad
        what = "the query fails on a value of the source"
        say = "a cast or a calculation in it does not fit every row; try_cast gives NULL instead."
        return SourceError(Fault("table.query", what, say))

    return failed
