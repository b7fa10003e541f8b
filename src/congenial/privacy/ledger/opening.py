"""The file of a ledger, opened: SQLite with a write-ahead log, and guards that refuse to rewrite.

SQLite alone may open the file: closing any other handle on it would drop this process's locks, which
POSIX gives to the process and not to the handle. Every error of SQLite leaves this file as one of the
package's, with what to do next.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from urllib.parse import quote

from congenial.privacy.ledger.chain import Entry, Head, linked
from congenial.privacy.ledger.refusals import REBUILT, damaged, not_a_ledger, refused, told

APPLICATION = 0x434E474C
"""`CNGL`: what SQLite keeps in the file's header to say whose it is."""
VERSION = 1

TABLES = (
    "CREATE TABLE entries (position INTEGER PRIMARY KEY, content TEXT NOT NULL, hash TEXT NOT NULL)",
    "CREATE TABLE head (only INTEGER PRIMARY KEY CHECK (only = 1), entries INTEGER NOT NULL, "
    "hash TEXT NOT NULL)",
)
GUARDS = (
    "CREATE TRIGGER entries_are_not_changed BEFORE UPDATE ON entries "
    "BEGIN SELECT RAISE(ABORT, 'a ledger is only ever added to'); END",
    "CREATE TRIGGER entries_are_not_deleted BEFORE DELETE ON entries "
    "BEGIN SELECT RAISE(ABORT, 'a ledger is only ever added to'); END",
    "CREATE TRIGGER entries_follow_the_last BEFORE INSERT ON entries "
    "WHEN NEW.position IS NOT (SELECT count(*) + 1 FROM entries) "
    "BEGIN SELECT RAISE(ABORT, 'a ledger is only ever added to'); END",
    "CREATE TRIGGER head_is_not_deleted BEFORE DELETE ON head "
    "BEGIN SELECT RAISE(ABORT, 'a ledger is only ever added to'); END",
    "CREATE TRIGGER head_is_made_once BEFORE INSERT ON head WHEN (SELECT count(*) FROM head) > 0 "
    "BEGIN SELECT RAISE(ABORT, 'a ledger is only ever added to'); END",
    "CREATE TRIGGER head_moves_forward BEFORE UPDATE ON head "
    "WHEN NEW.entries <= OLD.entries OR NEW.entries IS NOT (SELECT count(*) FROM entries) "
    "BEGIN SELECT RAISE(ABORT, 'a ledger is only ever added to'); END",
)
"""INSERT is guarded too: INSERT OR REPLACE deletes rows without firing the triggers on DELETE."""

Step = Callable[[str], None]


def no_step(name: str) -> None:
    """Called between writes; tests put a crash here."""


@dataclass(frozen=True)
class Rows:
    """What the file holds, unjudged. `guarded` is False where tables or triggers are not as made."""

    entries: tuple[Entry, ...]
    heads: tuple[Head, ...]
    guarded: bool


@contextlib.contextmanager
def connected(place: str, name: str, patience: float, how: str = "mode=rw") -> Iterator[sqlite3.Connection]:
    """A connection to an existing file that is a ledger; `name` is the file in messages.

    What was begun and not committed is rolled back.
    """
    link = None
    try:
        link = sqlite3.connect(
            f"{_uri(place)}?{how}", uri=True, timeout=patience, isolation_level=None, cached_statements=0
        )
        link.text_factory = _text
        for pragma in ("trusted_schema=OFF", "fullfsync=ON", "checkpoint_fullfsync=ON"):
            link.execute(f"PRAGMA {pragma}")
        _check_whose(link, name)
        yield link
    except sqlite3.Error as error:
        raise told(error, name) from None
    except UnicodeDecodeError:  # a damaged schema, quoted in an error that Python could not decode
        raise damaged(name, REBUILT) from None
    finally:
        if link is not None:
            with contextlib.suppress(sqlite3.Error):
                link.rollback()
            with contextlib.suppress(sqlite3.Error):
                link.close()


def prepare_to_write(link: sqlite3.Connection) -> None:
    """Write-ahead log, synced at every commit.

    EXTRA is FULL, and where a file system cannot share the log's memory (SQLite then keeps its
    rollback journal) the folder is synced as well.
    """
    if link.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
        link.execute("PRAGMA journal_mode=WAL")
    link.execute("PRAGMA synchronous=EXTRA")


def rows(link: sqlite3.Connection) -> Rows:
    """All that stands in the file, as one transaction sees it."""
    found = link.execute("SELECT sql FROM sqlite_master WHERE substr(name, 1, 7) <> 'sqlite_'").fetchall()
    guarded = {sql for (sql,) in found} == {*TABLES, *GUARDS}
    entries = link.execute("SELECT position, content, hash FROM entries ORDER BY position").fetchall()
    heads = link.execute("SELECT entries, hash FROM head").fetchall()
    return Rows(
        tuple(Entry(_whole(at), str(content), str(hash)) for at, content, hash in entries),
        tuple(Head(_whole(count), str(hash)) for count, hash in heads),
        guarded,
    )


def _whole(value: object) -> int:
    return value if isinstance(value, int) else -1


def append(link: sqlite3.Connection, previous: str, position: int, content: str) -> str:
    """Write one entry inside the open transaction; returns its hash. The head is moved by `move_head`."""
    found = linked(previous, position, content)
    link.execute("INSERT INTO entries VALUES (?, ?, ?)", (position, content, found))
    return found


def move_head(link: sqlite3.Connection, position: int, hash: str) -> None:
    link.execute("UPDATE head SET entries = ?, hash = ?", (position, hash))


def _uri(place: str) -> str:
    path = place.replace(os.sep, "/")
    return "file://" + ("" if path.startswith("/") else "/") + quote(path)


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")  # an edited text then fails its hash instead of its decoding


def _check_whose(link: sqlite3.Connection, name: str) -> None:
    if link.execute("PRAGMA application_id").fetchone()[0] != APPLICATION:
        raise not_a_ledger(name)
    version = link.execute("PRAGMA user_version").fetchone()[0]
    if version > VERSION:
        raise refused(
            f"the ledger '{name}' is of version {version}, and this congenial knows version {VERSION}",
            "Nothing was charged. Install a newer congenial; a ledger does not go back to an older form.",
        )
    if version < 1:
        raise damaged(name, "its header was changed")
