"""A DuckDB of our own, and what it says put in our words.

It lives in memory, spills into a folder that only its owner can read and that goes away with it, loads
no extension by itself, sees no Python variable and, once closed off, no file but the source.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path as FilePath
from typing import Any

from congenial.errors import CongenialError, Fault, MachineError

Otherwise = Callable[[], CongenialError]
"""The error to raise where neither memory nor the disk is at fault."""


@dataclass(frozen=True, eq=False)
class Connection:
    """A DuckDB connection with the folder that belongs to it."""

    duck: Any
    folder: FilePath

    def run(self, sql: str, otherwise: Otherwise) -> None:
        """Run a statement for what it does."""
        with quiet(otherwise):
            self.duck.execute(sql)

    def rows(self, sql: str, otherwise: Otherwise) -> list[tuple[Any, ...]]:
        """The rows of a small result."""
        with quiet(otherwise):
            return list(self.duck.execute(sql).fetchall())

    def arrow(self, sql: str, otherwise: Otherwise) -> Any:
        """A result as a pyarrow table."""
        with quiet(otherwise):
            return self.duck.sql(sql).to_arrow_table()

    def give(self, name: str, table: Any) -> None:
        """Let SQL see a pyarrow table under a name."""
        self.duck.register(name, table)

    def close_off(self, allowed: Sequence[str]) -> None:
        """From here on no statement reaches a file that is not in `allowed`."""
        paths = ", ".join(literal(path) for path in allowed)
        self.duck.execute(f"SET allowed_paths = [{paths}]")
        self.duck.execute("SET enable_external_access = false")
        self.duck.execute("SET lock_configuration = true")


@contextmanager
def connected() -> Iterator[Connection]:
    """A new connection, closed and cleared away afterwards."""
    import duckdb

    with _own_folder() as folder:
        duck = duckdb.connect(
            ":memory:",
            config={
                "autoinstall_known_extensions": False,
                "autoload_known_extensions": False,
                "python_enable_replacements": False,
                "temp_directory": str(folder / "spill"),
            },
        )
        try:
            yield Connection(duck, folder)
        finally:
            duck.close()


@contextmanager
def _own_folder() -> Iterator[FilePath]:
    try:
        made = tempfile.TemporaryDirectory(prefix="congenial-", ignore_cleanup_errors=True)
    except OSError:
        say = "make room there, or name another folder in the variable TMPDIR."
        raise MachineError(Fault("", "no folder for temporary files can be made", say)) from None
    with made as name:
        yield FilePath(name)


@contextmanager
def quiet(otherwise: Otherwise, own: bool = True) -> Iterator[None]:
    """Errors of DuckDB, Arrow and the disk in our words: their own texts may quote rows.

    A statement of our `own` that is not understood is a defect, and no fault of the data.
    """
    import duckdb
    import pyarrow as pa

    try:
        yield
    except CongenialError:
        raise
    except duckdb.InterruptException:
        raise KeyboardInterrupt from None
    except (duckdb.OutOfMemoryException, pa.ArrowMemoryError, MemoryError):
        say = "the source needs more memory, or more room for temporary files, than there is."
        raise MachineError(Fault("", "memory ran out", say)) from None
    except (duckdb.ParserException, duckdb.BinderException, duckdb.CatalogException) as error:
        if own:
            raise AssertionError(f"a statement of our own was refused ({type(error).__name__})") from None
        raise otherwise() from None
    except (duckdb.Error, pa.ArrowException):
        raise otherwise() from None
    except RuntimeError as error:
        if "interrupt" in str(error).casefold():  # Ctrl-C while DuckDB works
            raise KeyboardInterrupt from None
        raise
    except OSError as error:
        if error.errno is None:  # Arrow's own, about what is in a file
            raise otherwise() from None
        raise machine(error) from None


def machine(error: OSError) -> MachineError:
    """What the operating system said, without a path that may be confidential."""
    reason = "the file cannot be read or written"
    if isinstance(error, PermissionError):
        return MachineError(Fault("", f"{reason}: permission denied", "give yourself the right to read it."))
    with suppress(TypeError, ValueError):
        from os import strerror

        if error.errno:
            reason = f"{reason}: {strerror(error.errno).lower()}"
    return MachineError(Fault("", reason, "look after the disk, and try again."))


def literal(text: str) -> str:
    """Text as SQL writes it."""
    return "'" + text.replace("'", "''") + "'"


def identifier(name: str) -> str:
    """A name as SQL writes it."""
    return '"' + name.replace('"', '""') + '"'
