"""The file of a ledger before it is opened: whether there is one, and how a new one is made.

A file is made beside its place, whole, and then given its name, so that a ledger is never seen half
made and an empty file under that name is never one of ours. A kill on the way leaves at most a hidden
file whose name ends in `.new`; it may be deleted.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import sqlite3
import stat
import time

from congenial.errors import ArgumentError
from congenial.privacy.composition import canonical
from congenial.privacy.ledger.chain import BEFORE_THE_FIRST
from congenial.privacy.ledger.opening import (
    APPLICATION,
    GUARDS,
    TABLES,
    VERSION,
    Step,
    append,
)
from congenial.privacy.ledger.refusals import not_a_ledger, refused, told, unreachable


def existing(place: str, name: str, patience: float) -> bool:
    """Whether there is a file to open; refuses what cannot be a ledger without opening it."""
    until = time.monotonic() + min(patience, 5.0)
    while True:
        try:
            found = os.stat(place)
        except FileNotFoundError:
            return False
        except OSError as error:
            raise unreachable(error, name) from None
        if stat.S_ISDIR(found.st_mode):
            raise refused(f"the ledger '{name}' is a folder", "Name a file in it, such as spent.db.")
        if not stat.S_ISREG(found.st_mode):
            raise not_a_ledger(name)
        if found.st_size:
            return True
        if time.monotonic() >= until:
            raise refused(
                f"the ledger '{name}' is an empty file",
                "A ledger is never empty, so this one was cut off or is something else. Put the last good "
                "copy back; delete the file only if nothing was ever charged to it.",
            )
        time.sleep(0.05)


def make(place: str, name: str, patience: float, now: str, step: Step) -> bool:
    """Make a new ledger without accounts; False where somebody else was faster.

    The file gets its name by a hard link (on Windows by a rename that refuses to replace), so no
    ledger is ever replaced by an empty one.
    """
    new = os.path.join(os.path.dirname(place), f".{os.path.basename(place)}.{secrets.token_hex(6)}.new")
    try:
        try:
            _write_new(new, now, patience)
            step("ledger made")
            mine = _given_its_name(new, place)
            _sync_folder(os.path.dirname(place))
            step("ledger named")
            return mine
        except sqlite3.Error as error:
            raise told(error, name) from None
        except OSError as error:
            raise unreachable(error, name) from None
    finally:
        for path in (new, f"{new}-wal", f"{new}-shm", f"{new}-journal"):
            with contextlib.suppress(OSError):
                os.unlink(path)


def _write_new(new: str, now: str, patience: float) -> None:
    """Write the tables, the guards and the first entry, complete in this one file.

    With a rollback journal, whose commit has filled the file itself; a write-ahead log is folded in
    when the file is closed, and nobody hears of it if the disk has no room for that. The log is only
    switched on at the end.
    """
    os.close(os.open(new, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o666))
    with contextlib.closing(sqlite3.connect(new, timeout=patience, isolation_level=None)) as link:
        prepare_to_make(link)
        link.execute("BEGIN IMMEDIATE")
        for statement in (*TABLES, *GUARDS):
            link.execute(statement)
        first = canonical({"kind": "ledger", "id": secrets.token_hex(16), "time": now, "version": VERSION})
        hash = append(link, BEFORE_THE_FIRST, 1, first)
        link.execute("INSERT INTO head VALUES (1, 1, ?)", (hash,))
        link.execute(f"PRAGMA application_id={APPLICATION}")
        link.execute(f"PRAGMA user_version={VERSION}")
        link.execute("COMMIT")
        link.execute("PRAGMA journal_mode=WAL")


def prepare_to_make(link: sqlite3.Connection) -> None:
    link.execute("PRAGMA journal_mode=DELETE")
    link.execute("PRAGMA synchronous=EXTRA")
    link.execute("PRAGMA fullfsync=ON")


def _given_its_name(new: str, place: str) -> bool:
    try:
        if os.name == "nt":
            os.rename(new, place)
        else:
            os.link(new, place)
    except FileExistsError:
        return False
    except OSError:  # a file system without hard links: take the name first, then fill it in one step
        try:
            os.close(os.open(place, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o666))
        except FileExistsError:
            return False
        os.replace(new, place)
    return True


def _sync_folder(folder: str) -> None:
    if os.name == "nt":
        return  # NTFS journals the entries of folders
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def real(name: str) -> str:
    """The file behind links, whose folder takes SQLite's side files."""
    if not name or "\0" in name:
        raise ArgumentError(f"the path of the ledger is {name!r}, which names no file")
    return os.path.realpath(name)
