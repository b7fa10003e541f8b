"""Reading single fields out of a tree of text: each reader returns a value or adds a fault, never stops.

A field that is wrong reads as None, so that everything else is still looked at and all faults of a
request are said at once. Faults carry paths; `numbered` gives each its line at the end.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from math import isfinite
from pathlib import Path as FilePath

from congenial.errors import Fault, nearest
from congenial.requests.nodes import Items, Keys, Node, Text, inside

_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_INTEGER = re.compile(r"[+-]?[0-9]+")
_NOT_FINITE = re.compile(r"[+-]?\.?(?:inf|infinity|nan)", re.IGNORECASE)

LARGEST = 2**62 - 1
"""The largest public number: 2⁶² stands for `no limit` inside."""


def shown(text: str) -> str:
    """A value of the request as a message shows it, however long it is."""
    flat = " ".join(text.split())
    return f"'{flat}'" if len(flat) <= 48 else f"'{flat[:45]}...'"


def kind_of(node: Node) -> str:
    """What a node is, in words."""
    if isinstance(node, Items):
        return "a list"
    if isinstance(node, Keys):
        return "a mapping"
    return "nothing" if node.is_nothing else f"the text {shown(node.text)}"


def one_of(names: Sequence[str]) -> str:
    """`a, b or c`."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}"


class Found(dict[str, Node]):
    """The values of the known keys of a mapping, and the keys that were meant by what has a fault."""

    def __init__(self) -> None:
        super().__init__()
        self.meant: set[str] = set()

    def speaks_of(self, *names: str) -> bool:
        """Whether one of these keys is given, or was meant to be."""
        return any(name in self or name in self.meant for name in names)


@dataclass
class Reader:
    """The faults of a request so far, and the folder that its files are found from."""

    folder: FilePath = field(default_factory=FilePath)
    faults: list[Fault] = field(default_factory=list)

    def fault(self, where: str, what: str, hint: str = "") -> None:
        self.faults.append(Fault(where, what, hint))

    def keys(
        self,
        node: Node,
        where: str,
        known: Sequence[str],
        needed: Sequence[str] = (),
        may_be_empty: Sequence[str] = (),
        example: str = "",
    ) -> Found | None:
        """The values of a mapping's known keys that are given; unknown and missing keys are faults."""
        if not isinstance(node, Keys):
            say = f"write {example}." if example else f"its keys are {', '.join(known)}."
            self.fault(where, f"a mapping is expected here, and this is {kind_of(node)}", say)
            return None
        found = Found()
        for key, value in node.entries:
            here = inside(where, key.text)
            if key.text not in known:
                found.meant.update(get_close_matches(key.text, known, n=1))
                say = f"the keys here are {', '.join(known)}. {nearest(key.text, known)}".rstrip()
                self.fault(here, f"unknown key {shown(key.text)}", say)
            elif not (isinstance(value, Text) and value.is_nothing):
                found[key.text] = value
            elif value.text == "" and key.text not in may_be_empty:
                found.meant.add(key.text)
                self.fault(here, f"'{key.text}' has no value", "give it one, or leave the key out.")
        for name in needed:
            if not found.speaks_of(name):
                self.fault(
                    inside(where, name), f"'{name}' is missing", f"write {example}." if example else ""
                )
        return found

    def text(self, node: Node | None, where: str) -> str | None:
        """A scalar, as it was typed; empty text is a fault."""
        if node is None:
            return None
        if isinstance(node, Text) and node.text.strip():
            return node.text
        what = "and this is empty" if isinstance(node, Text) else f"and this is {kind_of(node)}"
        self.fault(where, f"text is expected here, {what}")
        return None

    def choice(self, node: Node | None, where: str, known: Sequence[str], noun: str) -> str | None:
        """One of a few words."""
        found = self.text(node, where)
        if found is None or found in known:
            return found
        say = f"write {one_of(known)}. {nearest(found, known)}".rstrip()
        self.fault(where, f"unknown {noun} {shown(found)}", say)
        return None

    def number(self, node: Node | None, where: str, noun: str, most: float | None = None) -> float | None:
        """A finite decimal number above zero, such as 0.5 or 1e-2; at most `most`."""
        found = self.text(node, where)
        if found is None:
            return None
        wrong = number_fault(found, most)
        if not wrong:
            return float(found)
        self.fault(where, f"{noun} is {shown(found)}, which is {wrong}", "write a number such as 0.5.")
        return None

    def integer(self, node: Node | None, where: str, noun: str, least: int | None = None) -> int | None:
        """A whole number, at least `least`."""
        found = self.text(node, where)
        if found is None:
            return None
        wrong = ""
        if not _INTEGER.fullmatch(found):
            wrong = "not a whole number"
        elif len(found) > 20 or abs(int(found)) > LARGEST:
            wrong = "too large (at most 2^62 - 1)"
        elif least is not None and int(found) < least:
            wrong = f"below {least}"
        if not wrong:
            return int(found)
        say = f"write a whole number{'' if least is None else f' of at least {least}'}, such as 10."
        self.fault(where, f"{noun} is {shown(found)}, which is {wrong}", say)
        return None

    def items(self, node: Node | None, where: str, of: str, may_be_empty: bool = False) -> tuple[Node, ...]:
        """The members of a list of `of`."""
        if node is None:
            return ()
        if not isinstance(node, Items):
            self.fault(where, f"a list of {of} is expected here, and this is {kind_of(node)}")
            return ()
        if not node.items and not may_be_empty:
            self.fault(where, f"the list of {of} is empty")
        return node.items

    def texts(self, node: Node | None, where: str, of: str) -> tuple[str, ...]:
        """A list of texts, each once; what is not text is a fault and left out."""
        found: dict[str, None] = {}
        for at, item in enumerate(self.items(node, where, of)):
            here = f"{where}[{at}]"
            if not isinstance(item, Text):
                self.fault(here, f"text is expected here, and this is {kind_of(item)}")
            elif item.text in found:
                self.fault(here, f"{shown(item.text)} stands twice in the list of {of}")
            else:
                found[item.text] = None
        return tuple(found)

    def file(self, node: Node | None, where: str, of: str) -> FilePath | None:
        """The path of a file that is there, relative to the request."""
        found = self.text(node, where)
        if found is None:
            return None
        state = path_state(self.folder / found)
        if state:
            say = "paths are relative to the request."
            self.fault(where, f"the file of {of}, {shown(found)}, {state}", say)
        return self.folder / found


def number_fault(text: str, most: float | None = None) -> str:
    """What keeps a text from being a finite number above zero and at most `most`, or nothing."""
    if _NOT_FINITE.fullmatch(text):
        return "not finite"
    if not _NUMBER.fullmatch(text):
        return "not a number"
    value = float(text)
    if value <= 0:
        return "not above zero" if not re.search("[1-9]", text.lower().split("e")[0]) else _below(text)
    if not isfinite(value):
        return "too large"
    return f"above {most:g}" if most is not None and value > most else ""


def _below(text: str) -> str:
    return "not above zero" if text.startswith("-") else "too small"


def path_state(path: FilePath) -> str:
    """What keeps a path from being a file, or an empty string."""
    try:
        if path.is_file():
            return ""
        return "is a folder" if path.is_dir() else "does not exist"
    except (OSError, ValueError):
        return "cannot be looked at"


def numbered(faults: Iterable[Fault], lines: Mapping[str, int]) -> list[Fault]:
    """The faults with their lines: that of the path, else of the nearest thing around it; in order."""
    found: dict[Fault, None] = {}
    for fault in faults:
        line, where = fault.line, fault.where
        while line is None and where:
            line = lines.get(where)
            where = where[: max(where.rfind("."), where.rfind("["), 0)]
        line = line or lines.get("")
        found[replace(fault, line=line)] = None
    return sorted(found, key=lambda fault: (fault.line is None, fault.line or 0))
