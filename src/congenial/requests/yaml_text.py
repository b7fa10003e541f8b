"""YAML as a tree of text: `no`, `01001`, `1:30` and `1e-2` stay what was typed.

PyYAML's composed nodes are read without resolving a single scalar. What YAML can say and a request
has no use for (tags, merge keys, keys that are not text, several documents) is a fault, never a guess.
"""

from __future__ import annotations

from typing import Any

from congenial.errors import Fault
from congenial.requests.nodes import DEEPEST, MOST, Items, Keys, Node, Text, half_signs, inside, unique

_COMMON = {
    "mapping values are not allowed": (
        "a ':' stands where no key can be",
        "put text with ': ' in it in quotes; else look at how this line and the one before are indented.",
    ),
    "found undefined alias": ("'*' refers to a name that no '&' gave", "put a label with '*' in quotes."),
    "found unexpected end of stream": ("quotes are opened and not closed", "close them."),
    "found unknown escape character": (
        "a backslash in double quotes begins an escape that YAML does not know",
        "write single quotes, or two backslashes.",
    ),
    "could not find expected ':'": ("this line is not a key with a value", "write 'key: value'."),
    "expected ',' or": ("a bracket is opened and not closed, or a comma is missing", "look here and above."),
    "expected <block end>": (
        "this line does not belong to what stands above it",
        "lines of one list or mapping begin in the same column.",
    ),
    "expected '<document start>'": ("text follows after the end of the request", "remove it."),
    "found duplicate anchor": ("'&' gives a name twice", "names after '&' differ."),
}


def parse(text: str, faults: list[Fault]) -> Node | None:
    """The one document of a YAML text, or None where there is none; faults are added to `faults`.

    Cost: linear in the text, about 10⁵ labels a second.
    """
    import yaml

    loader: Any = None
    try:
        loader = yaml.BaseLoader(text)
        root = loader.get_node() if loader.check_node() else None
        if loader.check_node():
            line = loader.get_node().start_mark.line + 1
            faults.append(Fault("", "a second document begins", "a file holds one request.", line=line))
    except yaml.YAMLError as error:
        faults.append(_syntax(text, error))
        return None
    except (ValueError, OverflowError):  # an escape beyond Unicode
        faults.append(Fault("", "an escape in double quotes stands for no sign", "write the sign itself."))
        return None
    except RecursionError:
        faults.append(Fault("", "lists and mappings stand in each other too deeply"))
        return None
    finally:
        if loader is not None:
            loader.dispose()
    return None if root is None else _Walk(faults).node(root, "", ())


class _Walk:
    """One pass over composed nodes; counts them, so that aliases cannot grow without end."""

    def __init__(self, faults: list[Fault]) -> None:
        self.faults = faults
        self.seen = 0

    def node(self, node: Any, where: str, above: tuple[int, ...]) -> Node:
        line = node.start_mark.line + 1
        self.seen += 1
        if id(node) in above:
            return self._refuse(where, line, "'*' refers to what it stands in")
        if len(above) > DEEPEST:
            return self._refuse(where, line, "lists and mappings stand in each other too deeply")
        if self.seen > MOST:
            return self._refuse(where, line, "the request is too large when its aliases are written out")
        standard = {"scalar": "str", "sequence": "seq", "mapping": "map"}[node.id]
        if node.tag != f"tag:yaml.org,2002:{standard}":
            what = "a tag ('!') stands before the value"
            self._refuse(where, line, what, "values are text as typed; remove the tag, or quote the text.")
        above = (*above, id(node))
        if node.id == "scalar":
            half_signs(node.value, where, line, self.faults)
            return Text(node.value, node.style is None, line)
        if node.id == "sequence":
            items = (self.node(item, f"{where}[{at}]", above) for at, item in enumerate(node.value))
            return Items(tuple(items), line)
        return self._mapping(node, where, above)

    def _mapping(self, node: Any, where: str, above: tuple[int, ...]) -> Keys:
        entries = []
        for key, value in node.value:
            line = key.start_mark.line + 1
            if key.id != "scalar":
                self._refuse(where, line, "a key is not text", "write 'key: value'; quote text with braces.")
            elif key.value == "<<" and key.style is None:
                self._refuse(where, line, "merge keys ('<<') are not read", "write the keys out.")
            else:
                here = inside(where, key.value)
                entries.append((Text(key.value, key.style is None, line), self.node(value, here, above)))
        return Keys(unique(entries, where, self.faults), node.start_mark.line + 1)

    def _refuse(self, where: str, line: int, what: str, hint: str = "") -> Text:
        fault = Fault(where, what, hint, line=line)
        if fault not in self.faults and self.seen <= MOST + 1:
            self.faults.append(fault)
        return Text("?", line=line)


def _syntax(text: str, error: Any) -> Fault:
    """A fault in our words for an error of the parser."""
    position = getattr(error, "position", None)
    if position is not None:
        line = text.count("\n", 0, position) + 1
        return Fault("", "a control character stands in the text", "remove it.", line=line)
    mark = getattr(error, "problem_mark", None)
    problem = str(getattr(error, "problem", "") or "")
    place = None if mark is None else min(mark.line, text.count("\n")) + 1
    what, hint = "this line cannot be read as YAML", "look at its quotes, brackets and indentation."
    if "cannot start any token" in problem and mark is not None:
        what, hint = _no_token(text, mark)
    for known, say in _COMMON.items():
        if known in problem:
            what, hint = say
            break
    opened = getattr(error, "context_mark", None)
    if opened is not None and "opened" in what and opened.line + 1 != place:
        hint += f" What is open begins on line {opened.line + 1}."
    return Fault("", what, hint, line=place)


def _no_token(text: str, mark: Any) -> tuple[str, str]:
    sign = text[mark.index : mark.index + 1]
    if sign == "\t":
        return "a tab stands where YAML wants spaces", "indent with spaces."
    return f"'{sign}' cannot begin a value", "put the text in quotes."
