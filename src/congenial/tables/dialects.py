"""How a text file is written: its encoding, its delimiter, its header and its line ends.

A file is looked through once, as bytes, in pieces of a megabyte. What DuckDB reads as it stands is left
alone (UTF-8, one kind of line end); anything else is written anew (`rewriting.py`).
"""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path as FilePath
from typing import TextIO

from congenial.errors import Fault, RequestError, SourceError
from congenial.tables.naming import near, rows_shown, shown
from congenial.tables.signs import Signs, look_through, unpacked

DELIMITERS = {"comma": ",", "semicolon": ";", "tab": "\t", "pipe": "|"}
_SAMPLE = 1 << 18
_BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


@dataclass(frozen=True)
class Dialect:
    """How a text file is written, and what its first row names."""

    path: FilePath
    encoding: str
    delimiter: str
    columns: tuple[str, ...]
    skip: int = 0
    """Lines before the header."""
    zipped: bool = False
    plain: bool = True
    """Whether lines end alike, and no line is blank that could be taken for a row."""

    rows: int | None = None
    """How many rows there must be, where lines tell: no quotation marks, no blank lines."""

    @property
    def as_it_stands(self) -> bool:
        """Whether DuckDB can read the file itself."""
        return self.plain and self.encoding in ("utf-8", "utf-8-sig") and not self.skip

    @property
    def parted_by(self) -> str:
        """The delimiter as a person says it."""
        return next((name for name, sign in DELIMITERS.items() if sign == self.delimiter), self.delimiter)


@contextmanager
def legible(path: FilePath) -> Iterator[None]:
    """Faults of a compressed file, said in our words."""
    try:
        yield
    except (gzip.BadGzipFile, EOFError, zlib.error):
        say = "it ends early, or was changed after it was written: unpack it, or fetch it again."
        raise SourceError(Fault("", f"{shown(path.name)} is a damaged gzip file", say)) from None


def find(path: FilePath, encoding: str | None = None, delimiter: str | None = None) -> Dialect:
    """The dialect of a text file; raises a `SourceError` where it is not text with a header.

    `encoding` and `delimiter` are believed where they are given. **Cost.** One pass over the bytes.
    """
    delimiter = _delimiter(delimiter)
    with path.open("rb") as raw:
        zipped = raw.read(2) == b"\x1f\x8b"
    codec = _codec(encoding)
    with legible(path):
        seen = look_through(path, zipped)
        codec = codec or _encoding(seen)
        _refuse_what_is_not_text(path, seen, codec, stated=encoding)
        text = _sample(path, zipped, codec)
    skip, header, found = _header(path, text, delimiter)
    plain = seen.ends <= 1 and not (len(header) == 1 and seen.blank_end)
    simple = skip == 0 and not codec.startswith("utf-16") and not codec.startswith("utf-32")
    rows = seen.lines - 1 if simple and seen.lines is not None else None
    return Dialect(path, codec, found, tuple(header), skip, zipped, plain, rows)


def _delimiter(given: str | None) -> str | None:
    if given is None:
        return None
    found = DELIMITERS.get(given.casefold(), "\t" if given == "\\t" else given)
    if len(found) != 1 or found in '"\r\n' or found.isalnum():
        say = "write one character, or comma, semicolon, tab or pipe."
        raise RequestError(Fault("table.delimiter", f"{shown(given)} is not a delimiter", say))
    return found


def _codec(given: str | None) -> str | None:
    if given is None:
        return None
    try:
        found = codecs.lookup(given)
        "".encode(given)
    except (LookupError, UnicodeError):
        known = ["utf-8", "latin-1", "windows-1252", "windows-1250", "iso-8859-2", "utf-16", "shift_jis"]
        say = f"write one such as {', '.join(known)}. {near(given, known)}"
        raise RequestError(Fault("table.encoding", f"{shown(given)} is not an encoding", say)) from None
    return "utf-8-sig" if found.name in ("utf-8", "ascii") else found.name


def _encoding(seen: Signs) -> str:
    for mark, name in _BOMS:
        if seen.start.startswith(mark):
            return name
    if seen.utf8:
        return "utf-8"
    return "cp1252" if seen.cp1252 else "latin-1"


def _refuse_what_is_not_text(path: FilePath, seen: Signs, codec: str, stated: str | None) -> None:
    if not seen.any or seen.start.strip() in [mark for mark, _ in _BOMS]:
        raise SourceError(Fault("", f"{shown(path.name)} is empty", "it should hold a header and rows."))
    if seen.nul and not codec.startswith(("utf-16", "utf-32")):
        say = "congenial reads CSV, Parquet, Arrow IPC and DuckDB files; save it as one of them."
        raise SourceError(Fault("", f"{shown(path.name)} is a binary file of a kind not known here", say))
    if codec in ("utf-8", "utf-8-sig") and not seen.utf8:
        by = "although `encoding` says so" if stated else "although it begins with the mark of UTF-8"
        say = "offices often write windows-1252 or latin-1: say it with `encoding:`."
        raise SourceError(Fault("", f"{shown(path.name)} is not written in UTF-8, {by}", say))


@contextmanager
def text_of(path: FilePath, zipped: bool, codec: str) -> Iterator[TextIO]:
    """The text of a file, line ends as they stand."""
    with unpacked(path, zipped) as file:
        yield io.TextIOWrapper(file, encoding=codec, newline="")


def _sample(path: FilePath, zipped: bool, codec: str) -> str:
    try:
        with text_of(path, zipped, codec) as file:
            return file.read(_SAMPLE)
    except UnicodeError:
        raise wrong_encoding(path, codec) from None


def wrong_encoding(path: FilePath, codec: str) -> SourceError:
    """The error for a file that its encoding does not fit."""
    say = "say with `encoding:` how it is written, such as utf-8, windows-1252 or latin-1."
    return SourceError(Fault("", f"{shown(path.name)} cannot be read as {codec}", say))


def _header(path: FilePath, text: str, delimiter: str | None) -> tuple[int, list[str], str]:
    """(lines before the header, the names it holds, the delimiter)."""
    lines = list(io.StringIO(text, newline=""))
    skip = next((at for at, line in enumerate(lines) if line.strip()), 0)
    first = lines[skip].strip() if lines else ""
    if len(first) == 5 and first.lower().startswith("sep="):  # as Excel writes and reads it
        delimiter, skip = delimiter or first[4], skip + 1
    body = "".join(lines[skip:])
    found = delimiter or _likely_delimiter(body)
    records = _records(body, found, most=1)
    if not records:
        say = "its first row should name the columns."
        raise SourceError(Fault("", f"{shown(path.name)} has no header", say))
    _refuse_duplicates(path, records[0])
    return skip, records[0], found


def _refuse_duplicates(path: FilePath, header: list[str]) -> None:
    places: dict[str, list[int]] = {}
    for at, name in enumerate(header, start=1):
        places.setdefault(name, []).append(at)
    faults = []
    for name, same in places.items():
        if len(same) > 1 and name.strip():
            what = f"{rows_shown(same, 'column')} of {shown(path.name)} have the same name"
            faults.append(Fault("", what, "give each its own, so that none is taken for another."))
    if faults:
        raise SourceError(faults)


def _likely_delimiter(text: str) -> str:
    """The delimiter that cuts most rows into as many parts as the header, at least two."""
    best, how_good = ",", (0.0, 0)
    for delimiter in DELIMITERS.values():
        records = _records(text, delimiter, most=500)
        if len(text) >= _SAMPLE // 2 and len(records) > 1:
            records.pop()  # it may be cut short
        wide = len(records[0]) if records else 0
        if wide > 1:
            agree = sum(len(record) == wide for record in records) / len(records)
            if (agree, wide) > how_good:
                best, how_good = delimiter, (agree, wide)
    return best


def _records(text: str, delimiter: str, most: int) -> list[list[str]]:
    found: list[list[str]] = []
    try:
        for record in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter):
            if record:
                found.append(record)
            if len(found) == most:
                break
    except csv.Error:
        return found
    return found
