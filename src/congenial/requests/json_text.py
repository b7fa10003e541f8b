"""JSON as a tree of text: a number stays the literal that was typed, a key that comes twice is a fault.

Python's reader has no lines and keeps the last of equal keys, so this walks the text itself; strings
and literals follow RFC 8259 (and a test holds it against `json.loads`).
"""

from __future__ import annotations

import json
import re

from congenial.errors import Fault
from congenial.requests.nodes import DEEPEST, Items, Keys, Node, Text, half_signs, inside, unique

_SPACE = re.compile(r"[ \t\n\r]*")
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_LITERAL = re.compile(r"true|false|null|-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")


class _Broken(Exception):
    """Where the text stops being JSON, and why."""

    def __init__(self, at: int, what: str) -> None:
        super().__init__(what)
        self.at = at
        self.what = what


def parse(text: str, faults: list[Fault]) -> Node | None:
    """The value of a JSON text, or None where it is none; faults are added to `faults`."""
    walk = _Walk(text, faults)
    try:
        return walk.whole()
    except _Broken as broken:
        hint = "a request with comments and without quotes can be written in YAML (.yaml)."
        faults.append(Fault("", broken.what, hint, line=walk.line(broken.at)))
        return None


class _Walk:
    def __init__(self, text: str, faults: list[Fault]) -> None:
        self.text = text
        self.faults = faults
        self.at = 0
        self._counted = (0, 1)

    def line(self, at: int) -> int:
        """The line of a position; positions come in order, so each newline is counted once."""
        before, line = self._counted if at >= self._counted[0] else (0, 1)
        line += self.text.count("\n", before, at)
        self._counted = (at, line)
        return line

    def whole(self) -> Node | None:
        if self._next() == "":
            return None
        root = self._value("", 0)
        if self._next() != "":
            raise _Broken(self.at, "text follows after the end of the request")
        return root

    def _next(self) -> str:
        found = _SPACE.match(self.text, self.at)
        self.at = found.end() if found else self.at
        return self.text[self.at : self.at + 1]

    def _value(self, where: str, depth: int) -> Node:
        sign, line = self._next(), self.line(self.at)
        if depth > DEEPEST:
            raise _Broken(self.at, "lists and objects stand in each other too deeply")
        if sign == '"':
            text = self._string()
            half_signs(text, where, line, self.faults)
            return Text(text, line=line)
        if sign == "[":
            return Items(tuple(self._list(where, depth)), line)
        if sign == "{":
            return Keys(unique(self._object(where, depth), where, self.faults), line)
        found = _LITERAL.match(self.text, self.at)
        if not found:
            raise _Broken(self.at, "a value is missing here, or is not JSON")
        self.at = found.end()
        return Text(found[0], plain=True, line=line)

    def _string(self) -> str:
        found = _STRING.match(self.text, self.at)
        try:
            value = json.loads(found[0]) if found else None
        except ValueError:
            value = None
        if found is None or not isinstance(value, str):
            raise _Broken(self.at, "a text is not closed, or holds a line break or an escape unknown to JSON")
        self.at = found.end()
        return value

    def _list(self, where: str, depth: int) -> list[Node]:
        self.at += 1
        items: list[Node] = []
        if self._next() == "]":
            self.at += 1
            return items
        while True:
            items.append(self._value(f"{where}[{len(items)}]", depth + 1))
            if self._ends("]"):
                return items

    def _object(self, where: str, depth: int) -> list[tuple[Text, Node]]:
        self.at += 1
        entries: list[tuple[Text, Node]] = []
        if self._next() == "}":
            self.at += 1
            return entries
        while True:
            if self._next() != '"':
                raise _Broken(self.at, "a key in double quotes is missing here")
            line = self.line(self.at)
            key = Text(self._string(), line=line)
            if self._next() != ":":
                raise _Broken(self.at, "a ':' is missing here")
            self.at += 1
            entries.append((key, self._value(inside(where, key.text), depth + 1)))
            if self._ends("}"):
                return entries

    def _ends(self, bracket: str) -> bool:
        sign = self._next()
        if sign not in (",", bracket) or sign == "":
            raise _Broken(self.at, f"a ',' or '{bracket}' is missing here")
        self.at += 1
        return sign == bracket
