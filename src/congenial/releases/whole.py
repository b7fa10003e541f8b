"""Folders and files that appear whole or not at all.

What is written goes to a place of its own beside its final one (`.NAME.congenial-partial-…`, so that
what a killed process leaves behind can be recognised and deleted), is forced to the disk, and is then
renamed. Whoever looks at the final place sees nothing, the old one whole, or the new one whole.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from congenial.errors import OutputError
from congenial.releases.disk import disk_faults, exchanged, owner_only, rename, to_disk

MARK = ".congenial-partial-"
"""What the name of every unfinished folder or file carries."""


def _beside(place: Path) -> Path:
    """A new name beside `place`, short enough wherever the name of `place` is."""
    return place.with_name(f".{place.name[:100]}{MARK}{secrets.token_hex(4)}")


def leftovers(place: Path) -> list[Path]:
    """What processes that were killed left beside `place`; nothing reads it, it may be deleted."""
    place = _absolute(place)
    try:
        return sorted(place.parent.glob(f".{_literal(place.name[:100])}{MARK}*"))
    except OSError:
        return []


def _literal(name: str) -> str:
    return "".join(f"[{letter}]" if letter in "[*?" else letter for letter in name)


def _absolute(place: Path) -> Path:
    """Where `place` leads, links followed."""
    if "\0" in str(place):
        raise OutputError("the name of the output has a zero byte in it; name another place.")
    with disk_faults(place):
        return place.expanduser().resolve()


@contextlib.contextmanager
def _parents(place: Path) -> Iterator[None]:
    """The folders above `place`, made where they are missing, and taken away again if the work fails."""
    missing = [parent for parent in place.parents if not parent.exists()]
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        yield
    except BaseException:
        for parent in missing:
            with contextlib.suppress(OSError):
                parent.rmdir()
        raise


class NewFolder:
    """A folder in the making: write into `.path`, then `finish`; leaving the `with` discards the rest.

    The making begins before the work does, so that a folder that exists, or a disk that cannot be
    written, is known before anything is charged or drawn. With `replace`, a folder that exists is
    exchanged for the new one when that is finished, not before; `ours` says whether its contents are
    results that may be replaced, and all else is kept beside it (`.kept` says where).
    """

    def __init__(self, place: Path, *, replace: bool = False, ours: Callable[[Path], bool]) -> None:
        self.name = place
        self.place = _absolute(place)
        self.kept: Path | None = None
        self._replace = replace
        self._ours = ours
        self._leave = contextlib.ExitStack()
        _refuse_what_exists(self.name, self.place, replace)
        with disk_faults(place), contextlib.ExitStack() as leave:
            with contextlib.suppress(FileNotFoundError):
                os.lstat(self.place)  # a name too long is to be known now
            leave.enter_context(_parents(self.place))
            self.path = _beside(self.place)
            leave.callback(shutil.rmtree, self.path, ignore_errors=True)
            self.path.mkdir()
            self._leave = leave.pop_all()

    def write(self, name: str, content: bytes) -> None:
        """Put a file into the folder, and on the disk."""
        with disk_faults(self.name), (self.path / name).open("xb") as file:
            file.write(content)
            to_disk(file)

    def finish(self) -> None:
        """Put the folder in its place, whole."""
        with disk_faults(self.name):
            to_disk(self.path)
            if os.path.lexists(self.place):
                _refuse_what_exists(self.name, self.place, self._replace)
                self._exchange()
            else:
                rename(self.path, self.place)
            to_disk(self.place.parent)

    def _exchange(self) -> None:
        old = self.path
        if not exchanged(self.path, self.place):
            # where the system cannot swap two names, the place is empty for a moment
            old = _beside(self.place)
            rename(self.place, old)
            try:
                rename(self.path, self.place)
            except BaseException:
                rename(old, self.place)
                raise
        if self._ours(old):
            shutil.rmtree(old, ignore_errors=True)
        else:
            self.kept = _free(self.place)
            rename(old, self.kept)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._leave.__exit__(kind, error, trace)


def _refuse_what_exists(name: Path, place: Path, replace: bool) -> None:
    if not os.path.lexists(place):
        return
    if not place.is_dir():
        raise OutputError(f"'{name}' is a file, and results are a folder; name one that does not exist.")
    if not replace:
        raise OutputError(
            f"the folder '{name}' exists already; nothing was written. Name another one, or replace it "
            "with --force (from Python, force=True)."
        )
    ours = [Path.cwd()]
    with contextlib.suppress(RuntimeError):  # somebody without a home
        ours.append(Path.home())
    if any(place == p or place in p.parents for p in ours):
        raise OutputError(f"'{name}' holds the folder that you work in or your home; name a new folder.")


def _free(place: Path) -> Path:
    """The first of NAME.before-1, NAME.before-2, … that is not taken."""
    at = 1
    while os.path.lexists(place.with_name(f"{place.name}.before-{at}")):
        at += 1
    return place.with_name(f"{place.name}.before-{at}")


@contextlib.contextmanager
def new_file(place: Path, *, private: bool) -> Iterator[IO[bytes]]:
    """A file in the making, put in its place when the `with` ends well and discarded otherwise.

    A file that stood there is replaced. A `private` file can be read by its owner alone from before
    its first byte.
    """
    final = _absolute(place)
    if final.is_dir():
        raise OutputError(f"'{place}' is a folder; name a file in it.")
    partial = _beside(final)
    flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, "O_BINARY", 0)
    with disk_faults(place), _parents(final):
        try:
            with os.fdopen(os.open(partial, flags, 0o600 if private else 0o666), "wb") as file:
                if private:
                    owner_only(partial)
                yield file
                to_disk(file)
            os.replace(partial, final)
            to_disk(final.parent)
        finally:
            with contextlib.suppress(OSError):
                partial.unlink(missing_ok=True)


def write_file(place: Path, content: bytes, *, private: bool = False) -> None:
    """Write a file whole."""
    with new_file(place, private=private) as file:
        file.write(content)


__all__ = ["MARK", "NewFolder", "leftovers", "new_file", "write_file"]

