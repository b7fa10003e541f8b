"""What one look through the bytes of a text file finds: its letters, its line ends, its rows.

The file is read in pieces of a megabyte, at about the speed of the disk.
"""

from __future__ import annotations

import codecs
import gzip
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path as FilePath
from typing import BinaryIO, cast

PIECE = 1 << 20
_NOT_IN_1252 = bytes([0x81, 0x8D, 0x8F, 0x90, 0x9D])


@dataclass
class Signs:
    """What was seen so far."""

    start: bytes = b""
    tail: bytes = b""
    """The line ends that the last piece ended with."""
    any: bool = False
    """Whether there is more than white space."""
    utf8: bool = True
    cp1252: bool = True
    nul: bool = False
    quotes: bool = False
    blank: bool = False
    """Whether some line is empty."""
    crlf: int = 0
    lf: int = 0
    cr: int = 0

    @property
    def ends(self) -> int:
        """How many kinds of line end there are."""
        return sum(n > 0 for n in (self.crlf, self.lf - self.crlf, self.cr - self.crlf))

    @property
    def blank_end(self) -> bool:
        """Whether the last line is empty."""
        return len(self.tail.replace(b"\r\n", b"\n")) > 1

    @property
    def lines(self) -> int | None:
        """The number of lines, where each of them is a row or the header; None where that is not sure."""
        if self.quotes or self.blank or self.nul or self.ends > 1:
            return None
        return max(self.lf, self.cr) + (not self.tail)


def look_through(path: FilePath, zipped: bool) -> Signs:
    """Look through the bytes of a file. **Cost.** One pass."""
    seen = Signs()
    utf8 = codecs.getincrementaldecoder("utf-8")()
    pending = False
    with unpacked(path, zipped) as file:
        while piece := file.read(PIECE):
            seen.start = seen.start or piece[:64]
            _count_ends(seen, piece)
            seen.any = seen.any or bool(piece.strip())
            seen.nul = seen.nul or b"\0" in piece
            seen.quotes = seen.quotes or b'"' in piece
            if pending or not piece.isascii():
                seen.cp1252 = seen.cp1252 and len(piece.translate(None, _NOT_IN_1252)) == len(piece)
                pending = seen.utf8 and _decodes(utf8, piece, seen)
    seen.utf8 = seen.utf8 and not pending
    return seen


def _decodes(utf8: codecs.IncrementalDecoder, piece: bytes, seen: Signs) -> bool:
    """Feed a piece to the decoder; whether it is left in the middle of a letter."""
    try:
        utf8.decode(piece)
    except UnicodeDecodeError:
        seen.utf8 = False
        return False
    return bool(utf8.getstate()[0])


def _count_ends(seen: Signs, piece: bytes) -> None:
    joint = seen.tail + piece[:3]
    two = (b"\n\n", b"\r\r", b"\r\n\r\n")
    seen.blank = seen.blank or any(ends in piece or ends in joint for ends in two)
    seen.crlf += piece.count(b"\r\n") + (seen.tail.endswith(b"\r") and piece.startswith(b"\n"))
    seen.lf += piece.count(b"\n")
    seen.cr += piece.count(b"\r")
    bare = piece.rstrip(b"\r\n")
    seen.tail = piece[len(bare) :] if bare else (seen.tail + piece)[-64:]


@contextmanager
def unpacked(path: FilePath, zipped: bool) -> Iterator[BinaryIO]:
    """The bytes of a file, unpacked where it is a gzip file."""
    with path.open("rb") as raw:
        if not zipped:
            yield raw
            return
        with gzip.GzipFile(fileobj=raw) as unzipped:
            yield cast(BinaryIO, unzipped)
