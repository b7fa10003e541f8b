"""What tests of the ledger share: charges with defaults, workers in other processes, an editor's hands."""

from __future__ import annotations

import contextlib
import json
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from congenial.privacy import ledger
from congenial.privacy.ledger.opening import GUARDS

TOTAL = '{"facts":["total"]}'


def charge(path: str | Path, **said: Any) -> ledger.Receipt:
    """A charge of 0.25 to a budget of 1, unless said otherwise."""
    usual: dict[str, Any] = {
        "dataset": "d",
        "currency": "epsilon",
        "budget": "1",
        "amount": "0.25",
        "equivalence_class": TOTAL,
        "title": "a release",
        "about": {},
        "patience": 10.0,
    }
    return ledger.charge(path, **(usual | said))


class Worker:
    """One process that charges on command; `ask` sends, `answer` waits. None: it died."""

    def __init__(self) -> None:
        script = str(Path(__file__).with_name("ledger_worker.py"))
        self.process = subprocess.Popen(
            [sys.executable, script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert self.answer() is not None, "the worker could not start"

    def ask(self, **command: Any) -> None:
        assert self.process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.write(json.dumps({"do": "charge"} | command) + "\n")
            self.process.stdin.flush()

    def answer(self) -> dict[str, Any] | None:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        return dict(json.loads(line)) if line.endswith("\n") else None

    def end(self) -> int:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        code = self.process.wait(timeout=60)
        self.process.stdout.close()
        return code


@contextlib.contextmanager
def workers(many: int) -> Iterator[list[Worker]]:
    found = [Worker() for _ in range(many)]
    try:
        yield found
    finally:
        for one in found:
            one.end()


def once(**command: Any) -> tuple[dict[str, Any] | None, int]:
    """One command in a process of its own: its answer (None: it died) and its exit code."""
    one = Worker()
    one.ask(**command)
    answer = one.answer()
    return answer, one.end()


def edit(path: str | Path, *statements: str, guards_put_back: bool = True) -> None:
    """Change a ledger as somebody with an editor of databases can: guards off, edit, guards on again."""
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as link:
        names = [name for (name,) in link.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'")]
        for name in names:
            link.execute(f"DROP TRIGGER {name}")
        for statement in statements:
            link.execute(statement)
        if guards_put_back:
            for guard in GUARDS:
                link.execute(guard)
