"""What commands print: results on standard output, all else on standard error, paths unbroken."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterable
from types import TracebackType
from typing import Any, Self

PATIENCE = 1.0
"""Seconds of silence before a command says what it is doing."""


def show(text: str) -> None:
    """Print a result."""
    print(text)


def document(content: Any) -> None:
    """Print the one document of `--json`."""
    print(json.dumps(content, indent=2, allow_nan=False))


def tell(text: str) -> None:
    """Print what is not the result."""
    print(text, file=sys.stderr)


def notices(texts: Iterable[str], *, aside: bool = False) -> None:
    """Print notices; `aside` (with `--json`) on standard error."""
    for text in texts:
        (tell if aside else show)(f"note: {text}")


class Steps:
    """Says on standard error what is being done and how far it is, once that has taken a second.

    Only where a person watches: nothing is shown where standard error is not a terminal.
    """

    def __init__(self, what: str) -> None:
        self._what = what
        self._done, self._total = 0, 0
        self._lock = threading.Lock()
        self._over = False
        self._bar: Any = None
        self._task: Any = None
        self._timer = threading.Timer(PATIENCE, self._appear)
        self._timer.daemon = True

    def step(self, what: str) -> None:
        """From now on, `what` is being done."""
        with self._lock:
            self._what, self._done, self._total = what, 0, 0
            self._refresh()

    def progress(self, done: int, total: int) -> None:
        """`done` of `total` parts of this step are behind us."""
        with self._lock:
            self._done, self._total = done, total
            self._refresh()

    def _refresh(self) -> None:
        if self._bar is not None:
            total = self._total or None
            self._bar.update(self._task, description=self._what, completed=self._done, total=total)

    def _appear(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

        with self._lock:
            if not self._over:
                looks = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
                self._bar = Progress(*looks, console=Console(stderr=True), transient=True)
                self._task = self._bar.add_task(self._what, total=self._total or None)
                self._refresh()
                self._bar.start()

    def __enter__(self) -> Self:
        if sys.stderr is not None and sys.stderr.isatty():
            self._timer.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._timer.cancel()
        with self._lock:
            self._over = True
            if self._bar is not None:
                self._bar.stop()
