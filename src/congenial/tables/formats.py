"""What kind of thing a source is, told from its first bytes, and how DuckDB reads it."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path as FilePath
from urllib.parse import unquote, urlsplit

from congenial.errors import CongenialError, Fault, MachineError, SourceError
from congenial.tables.connections import Connection, literal, machine, quiet
from congenial.tables.dialects import Dialect, find
from congenial.tables.naming import shown
from congenial.tables.rewriting import unreadable, written_anew

_FOREIGN = {
    b"PK\x03\x04": "a zip archive or an Excel workbook",
    b"\xd0\xcf\x11\xe0": "an old Excel workbook",
    b"%PDF": "a PDF",
    b"\x89PNG": "an image",
    b"$FL2": "an SPSS file",
    b"BZh": "a bzip2 archive",
    b"\xfd7zXZ": "an xz archive",
    b"\x28\xb5\x2f\xfd": "a Zstandard archive",
}
_ENGINES = {"postgresql": "postgres", "postgres": "postgres", "mysql": "mysql", "sqlite": "sqlite"}


@dataclass(frozen=True, eq=False)
class Raw:
    """A source as SQL can select from it: a FROM clause, the names of its columns, and what may fail."""

    relation: str
    columns: tuple[str, ...]
    files: tuple[str, ...] | None
    """Files that DuckDB must go on seeing; None where another library reads, which needs more than files."""
    broken: Callable[[], CongenialError]
    """Works out what is wrong when reading fails."""
    dialect: Dialect | None = None
    kind: str = "csv"

    @property
    def is_database(self) -> bool:
        """Whether it holds several tables, so that only a query says which rows are meant."""
        return not self.relation


def raw(
    connection: Connection, source: str, folder: FilePath, encoding: str | None, delimiter: str | None
) -> Raw:
    """Open a source: a file relative to `folder`, or the URL of a database."""
    if "://" in source:
        return _attached(connection, source, folder)
    path = (folder / source).expanduser()
    try:
        kind = _kind(path)
        if kind == "csv":
            return _csv(connection, find(path, encoding, delimiter))
    except OSError as error:
        raise machine(error) from None
    say = "leave it out: it is for text files only."
    stated = [f"`{n}`" for n, v in (("encoding", encoding), ("delimiter", delimiter)) if v]
    if stated:
        raise SourceError(Fault("", f"{shown(path.name)} is not a text file; {stated[0]} means nothing", say))
    return {"parquet": _parquet, "arrow": _arrow, "duckdb": _duckdb, "sqlite": _sqlite}[kind](
        connection, path
    )


def _kind(path: FilePath) -> str:
    name = shown(path.name)
    if path.is_dir():
        raise SourceError(Fault("", f"{name} is a folder", "name one file in it as `source`."))
    if not path.exists():
        raise SourceError(Fault("", f"there is no file {name}", _neighbours(path)))
    with path.open("rb") as file:
        start = file.read(64)
    if start.startswith(b"\x1f\x8b"):
        with suppress(OSError, EOFError), gzip.open(path) as unzipped:
            start = unzipped.read(64)
        if _magic(start):
            raise SourceError(Fault("", f"{name} is packed with gzip", "only text may be: unpack it."))
        return "csv"
    for mark, what in _FOREIGN.items():
        if start.startswith(mark):
            say = "save it as CSV, Parquet or Arrow IPC."
            raise SourceError(Fault("", f"{name} is {what}, which is not read here", say))
    return _magic(start) or "csv"


def _magic(start: bytes) -> str:
    if start.startswith(b"PAR1"):
        return "parquet"
    if start.startswith((b"ARROW1", b"FEA1", b"\xff\xff\xff\xff")):
        return "arrow"
    if start[8:12] == b"DUCK":
        return "duckdb"
    return "sqlite" if start.startswith(b"SQLite format 3\0") else ""


def _neighbours(path: FilePath) -> str:
    where = "paths are taken relative to the request."
    with suppress(OSError):
        found = get_close_matches(path.name, [p.name for p in path.parent.iterdir()], n=1)
        return f"{where} Did you mean {shown(found[0])}?" if found else where
    return f"{where} Nor is there a folder {shown(path.parent.name)}."


def _glob(path: str) -> str:
    """A path whose signs DuckDB would read as a pattern, written so that it does not."""
    return "".join(f"[{sign}]" if sign in "*?[" else sign for sign in path)


def _csv(connection: Connection, dialect: Dialect) -> Raw:
    path, zipped = dialect.path.absolute(), dialect.zipped
    if not dialect.as_it_stands:
        path, zipped = written_anew(dialect, connection.folder), False
    columns = ", ".join(f"'c{at}': 'VARCHAR'" for at in range(len(dialect.columns)))
    relation = (
        f"read_csv({literal(_glob(str(path)))}, auto_detect = false, header = true, nullstr = '', "
        f"columns = {{{columns}}}, delim = {literal(dialect.delimiter)}, quote = '\"', escape = '\"', "
        f"compression = '{'gzip' if zipped else 'none'}')"
    )
    return Raw(relation, dialect.columns, (str(path), _glob(str(path))), lambda: unreadable(dialect), dialect)


def _damaged(path: FilePath, kind: str) -> Callable[[], CongenialError]:
    def broken() -> CongenialError:
        if not path.exists():
            return MachineError(Fault("", f"{shown(path.name)} went away while it was read"))
        say = "it may be damaged, incomplete, or written by a newer version: write it again."
        return SourceError(Fault("", f"{shown(path.name)} cannot be read as {kind}", say))

    return broken


def _parquet(connection: Connection, path: FilePath) -> Raw:
    import pyarrow.parquet as parquet

    broken = _damaged(path, "Parquet")
    with quiet(broken):
        columns = tuple(parquet.read_schema(path).names)
    full = str(path.absolute())
    relation = f"read_parquet({literal(_glob(full))}, binary_as_string = true)"
    return Raw(relation, columns, (full, _glob(full)), broken, kind="parquet")


def _arrow(connection: Connection, path: FilePath) -> Raw:
    import pyarrow as pa
    from pyarrow import feather, ipc

    broken = _damaged(path, "Arrow IPC")
    with quiet(broken), pa.memory_map(str(path)) as file:
        start = file.read(6)
        file.seek(0)
        if start.startswith(b"FEA1"):
            table = feather.read_table(path)
        else:
            table = (ipc.open_file(file) if start == b"ARROW1" else ipc.open_stream(file)).read_all()
    return framed(connection, table, broken)


def framed(connection: Connection, table: object, broken: Callable[[], CongenialError]) -> Raw:
    """A pyarrow table in memory."""
    columns = tuple(table.column_names)  # type: ignore[attr-defined]
    positional = table.rename_columns([f"c{at}" for at in range(len(columns))])  # type: ignore[attr-defined]
    connection.give("given", positional)
    return Raw("given", columns, (), broken, kind="arrow")


def _database(
    connection: Connection, sql: str, files: tuple[str, ...] | None, broken: Callable[[], CongenialError]
) -> Raw:
    with quiet(broken, own=False):
        connection.duck.execute(sql)
        connection.duck.execute("USE attached")
    return Raw("", (), files, broken, kind="database")


def _duckdb(connection: Connection, path: FilePath) -> Raw:
    def broken() -> CongenialError:
        say = "close it where it is open for writing, or write it with the version of DuckDB used here."
        return SourceError(Fault("", f"the database {shown(path.name)} cannot be opened", say))

    full = str(path.absolute())
    return _database(connection, f"ATTACH {literal(full)} AS attached (READ_ONLY)", (full,), broken)


def _sqlite(connection: Connection, path: FilePath) -> Raw:
    _load(connection, "sqlite")
    sql = f"ATTACH {literal(str(path.absolute()))} AS attached (TYPE sqlite, READ_ONLY)"
    return _database(connection, sql, None, _damaged(path, "SQLite"))


def _load(connection: Connection, engine: str) -> None:
    def missing() -> CongenialError:
        say = (
            f'install it once, on a machine that may fetch it: python -c "import duckdb; '
            f"duckdb.sql('INSTALL {engine}')\", or export the table to CSV or Parquet."
        )
        return SourceError(Fault("", f"DuckDB's extension for {engine} databases is not installed", say))

    with quiet(missing, own=False):
        connection.duck.execute(f"LOAD {engine}")


def _attached(connection: Connection, url: str, folder: FilePath) -> Raw:
    """A database behind a URL, read-only. No message shows the URL: it may hold a password."""
    scheme = url.split("://", 1)[0].casefold()
    engine = _ENGINES.get(scheme)
    if engine is None:
        known = ", ".join(_ENGINES)
        say = f"databases that can be read begin with {known}; fetch a file from the web first."
        raise SourceError(Fault("", f"{shown(scheme + '://')} is not a source that is read here", say))
    if engine == "sqlite":
        return _sqlite(connection, folder / unquote(url.split("://", 1)[1].removeprefix("/")))
    _load(connection, engine)

    def broken() -> CongenialError:
        say = "see that its address, name and password are right, and that it answers."
        return MachineError(Fault("", f"the {engine} database cannot be reached", say))

    sql = f"ATTACH {literal(_address(engine, url))} AS attached (TYPE {engine}, READ_ONLY)"
    return _database(connection, sql, None, broken)


def _address(engine: str, url: str) -> str:
    """A URL as DuckDB's extension for the engine takes it."""
    parts = urlsplit(url)
    if engine == "postgres":
        return url
    given = {
        "host": parts.hostname,
        "port": parts.port,
        "user": parts.username,
        "password": parts.password,
        "database": parts.path.removeprefix("/"),
    }
    return " ".join(f"{key}={unquote(str(value))}" for key, value in given.items() if value)
