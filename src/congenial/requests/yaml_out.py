"""Text as YAML that reads back as it stands: quoted only where it must be."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence

_PLAIN = re.compile(r"[0-9A-Za-z_<À-ɏ](?:[0-9A-Za-z_À-ɏ.+/()<=-]| (?! *$))*")
_DIGITS = re.compile(r"([0-9]+)")


def scalar(text: str) -> str:
    """One scalar of a flow mapping or list."""
    if _PLAIN.fullmatch(text) and text != "null" and not text.startswith("<<"):
        return text
    if text.isprintable() and "\ufeff" not in text:
        return "'" + text.replace("'", "''") + "'"
    return '"' + "".join(_escaped(sign) for sign in text) + '"'


def _escaped(sign: str) -> str:
    if sign in '"\\':
        return "\\" + sign
    if sign.isprintable():
        return sign
    return f"\\U{ord(sign):08x}"


def flow(texts: Sequence[str], wide: int = 100) -> str:
    """A list in brackets; a long one goes over several lines, indented below its key."""
    written = [scalar(text) for text in texts]
    line = f"[{', '.join(written)}]"
    if len(line) <= wide:
        return line
    # quoted texts may hold spaces, at which no line may be broken: keep each in one piece
    pieces = [piece.replace(" ", "\0") for piece in written]
    body = textwrap.fill(
        ", ".join(pieces), wide, initial_indent=" " * 6, subsequent_indent=" " * 6,
        break_long_words=False, break_on_hyphens=False,
    )  # fmt: skip
    return "[\n" + body.replace("\0", " ") + "]"


def natural(text: str) -> list[tuple[int, int, str]]:
    """A key that sorts `5-9` before `10-14`."""
    parts = _DIGITS.split(text)
    bare = (part.lstrip("0") if at % 2 else part for at, part in enumerate(parts))
    return [(0, len(part), part) if at % 2 else (1, 0, part) for at, part in enumerate(bare)]
