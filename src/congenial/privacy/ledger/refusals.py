"""What a ledger refuses, in words: what is wrong, what was charged, what to do next.

A wrong file or a broken one is a `BudgetError` (exit 2), a machine that does not let us write a
`MachineError` (exit 1). SQLite's own texts never pass through.
"""

from __future__ import annotations

import sqlite3

from congenial.errors import BudgetError, CongenialError, Fault, MachineError

READ = "docs/how-to/keep-a-ledger.md"
NOTHING = "Nothing was charged and nothing was drawn."
REBUILT = "its file was cut off, overwritten or rebuilt"


def damaged(name: str, why: str) -> BudgetError:
    """A ledger that is one no longer: nothing is charged to it, and what to do."""
    return refused(
        f"the ledger '{name}' is broken: {why}",
        "Nothing is charged to a ledger that cannot be trusted. Keep the file, find out who or what changed "
        "it (`congenial ledger` shows what still stands), and put the last good copy back with what was "
        "released since then.",
    )


def told(error: sqlite3.Error, name: str, doubt: str = NOTHING) -> CongenialError:
    """An error of SQLite as one of ours. `doubt` says what may have been charged."""
    code = getattr(error, "sqlite_errorcode", 0)
    kind = code & 0xFF
    if kind == sqlite3.SQLITE_NOTADB:
        return not_a_ledger(name)
    if kind in (
        sqlite3.SQLITE_CORRUPT,
        sqlite3.SQLITE_ERROR,
        sqlite3.SQLITE_CONSTRAINT,
        sqlite3.SQLITE_MISMATCH,
    ):
        return damaged(name, REBUILT)
    what, hint = _MACHINE.get(kind, ("could not be used", f"SQLite reports {_code_name(error)}."))
    return MachineError(Fault("", f"the ledger '{name}' {what}", f"{doubt} {hint}", READ))


def _code_name(error: sqlite3.Error) -> str:
    return str(getattr(error, "sqlite_errorname", "an error without a name"))


_WAIT = (
    "was held by another program all the time that this one waited",
    "Let the other release end, or close the program that has the file open, and run this again.",
)
_WRITE = (
    "cannot be written",
    "SQLite writes to the file and beside it: give the user who runs this write permission to the "
    "file and to its folder, on a disk that is not read-only, and run this again.",
)
_MACHINE = {
    sqlite3.SQLITE_BUSY: _WAIT,
    sqlite3.SQLITE_LOCKED: _WAIT,
    sqlite3.SQLITE_PROTOCOL: _WAIT,
    sqlite3.SQLITE_READONLY: _WRITE,
    sqlite3.SQLITE_PERM: _WRITE,
    sqlite3.SQLITE_CANTOPEN: _WRITE,
    sqlite3.SQLITE_FULL: ("could not be written: the disk is full", "Make room and run this again."),
    sqlite3.SQLITE_IOERR: (
        "could not be read or written: the disk refused",
        "Look whether it is full, at its quota, or failing; then run this again.",
    ),
    sqlite3.SQLITE_NOMEM: ("needs more memory than there is", "Free some memory and run this again."),
}


def refused(what: str, hint: str) -> BudgetError:
    return BudgetError(Fault("", what, hint, READ))


def not_a_ledger(name: str) -> BudgetError:
    return refused(
        f"'{name}' is not a ledger",
        "It was left as it is. Name the ledger, or a file that does not exist yet, to begin one.",
    )


def unreachable(error: OSError, name: str) -> CongenialError:
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        return refused(
            f"the folder of the ledger '{name}' does not exist",
            "Make the folder, or correct the path; it is read from where the request stands.",
        )
    return MachineError(
        Fault("", f"the ledger '{name}' cannot be reached or made", f"Nothing was charged. {_WRITE[1]}", READ)
    )
