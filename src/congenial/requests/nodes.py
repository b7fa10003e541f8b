"""A request as text with lines: scalars, lists and mappings, before anything has a type.

YAML, JSON and plain Python values all become this one tree (`yaml_text.py`, `json_text.py`, `of`
below). Every scalar is text exactly as it was typed; what it means is said by whoever reads it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from congenial.errors import Fault

DEEPEST = 40
"""Lists and mappings inside each other; no request comes near."""

_SURROGATE = re.compile("[\ud800-\udfff]")

MOST = 500_000
"""Nodes of one request, aliases written out."""


@dataclass(frozen=True)
class Text:
    """A scalar as it was typed; `plain` where it stood without quotes."""

    text: str
    plain: bool = False
    line: int | None = None

    @property
    def is_nothing(self) -> bool:
        """Whether the value was left out: empty, `~` or `null`, without quotes."""
        return self.plain and self.text in ("", "~", "null")


@dataclass(frozen=True)
class Items:
    """A list."""

    items: tuple[Node, ...]
    line: int | None = None


@dataclass(frozen=True)
class Keys:
    """A mapping; keys are text, in the order of the file, each once."""

    entries: tuple[tuple[Text, Node], ...]
    line: int | None = None

    def get(self, name: str) -> Node | None:
        return next((value for key, value in self.entries if key.text == name), None)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(key.text for key, _ in self.entries)


Node = Text | Items | Keys


def inside(where: str, key: str) -> str:
    """The path of a key of a mapping."""
    return f"{where}.{key}" if where else key


def of(value: object, depth: int = 0) -> Node:
    """The tree of plain Python values, as JSON would write them. Cost: one node a value."""
    if isinstance(value, str):
        return Text(value)
    if isinstance(value, Mapping) and depth < DEEPEST:
        return Keys(tuple((Text(str(key)), of(item, depth + 1)) for key, item in value.items()))
    if isinstance(value, Sequence) and not isinstance(value, bytes) and depth < DEEPEST:
        return Items(tuple(of(item, depth + 1) for item in value))
    if value is None or isinstance(value, bool | int | float):
        return Text(json.dumps(value), plain=True)
    return Text(str(value))


def plain(node: Node) -> object:
    """The tree as Python values: text, lists and dicts."""
    if isinstance(node, Text):
        return node.text
    if isinstance(node, Items):
        return [plain(item) for item in node.items]
    return {key.text: plain(value) for key, value in node.entries}


def lines(node: Node, where: str) -> Iterator[tuple[str, int]]:
    """(path, line) of a node and of all that stands in it."""
    if node.line is not None:
        yield where, node.line
    if isinstance(node, Items):
        for at, item in enumerate(node.items):
            yield from lines(item, f"{where}[{at}]")
    elif isinstance(node, Keys):
        for key, value in node.entries:
            here = inside(where, key.text)
            yield from lines(value, here)
            if key.line is not None:
                yield here, key.line


def half_signs(text: str, where: str, line: int, faults: list[Fault]) -> None:
    """A fault where escapes made half a sign, which no file can hold: `\\ud83d` without its second half."""
    if _SURROGATE.search(text):
        hint = "write the sign itself, or its code as \\U0001F600 in YAML."
        faults.append(Fault(where, "an escape such as \\ud83d stands for half a sign", hint, line=line))


def unique(
    entries: Sequence[tuple[Text, Node]], where: str, faults: list[Fault]
) -> tuple[tuple[Text, Node], ...]:
    """The entries of a mapping, the first of each key; a key that comes again is a fault."""
    first: dict[str, tuple[Text, Node]] = {}
    for key, value in entries:
        if key.text in first:
            at = first[key.text][0].line
            hint = f"it stands on line {at} already; " if at else ""
            what = f"'{key.text}' is written twice"
            faults.append(Fault(inside(where, key.text), what, f"{hint}keep one of them.", line=key.line))
        else:
            first[key.text] = (key, value)
    return tuple(first.values())
