"""A request in YAML or JSON, read whole: every fault of form and of meaning at once, with its line.

Text becomes a tree (`yaml_text.py`, `json_text.py`), the tree becomes values (`sections.py`,
`items.py`), and the values are held against each other (`checks.py`). No source is opened: queries are
held against the axes as far as the request itself declares them.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path as FilePath
from typing import Any, Literal, TypeVar, cast

from congenial.errors import Fault, RequestError
from congenial.requests import json_text, yaml_text
from congenial.requests.checks import Draft, meaning_faults
from congenial.requests.fields import Found, Reader, kind_of, numbered
from congenial.requests.grammar import REQUEST_KEYS, KnownAxes
from congenial.requests.items import ItemReader
from congenial.requests.model import Request, Unit
from congenial.requests.nodes import Keys, Node, Text, lines
from congenial.requests.sections import (
    read_about,
    read_budget,
    read_method,
    read_promise,
    read_table,
    read_unit,
    read_unproven,
    read_version,
    section_of,
)

Item = TypeVar("Item")

LONGEST = 64 * 2**20
"""Bytes of a request; more is surely the wrong file."""


def read_request(path: str | os.PathLike[str], *, needs_table: bool = True) -> Request:
    """Read a request from a file: JSON by its suffix, else YAML.

    Raises a `RequestError` with all faults. `needs_table`: whether the file must say where its table
    comes from.
    """
    file = FilePath(path)
    kind: Literal["yaml", "json"] = "json" if file.suffix.lower() == ".json" else "yaml"
    return read_text(_contents(file), file.absolute().parent, kind, needs_table=needs_table, name=file.name)


def read_text(
    text: str,
    folder: str | os.PathLike[str] = ".",
    kind: Literal["yaml", "json"] = "yaml",
    *,
    needs_table: bool = True,
    name: str = "The request",
) -> Request:
    """Read a request from text; the files that it names are found from `folder`."""
    faults: list[Fault] = []
    root = (json_text if kind == "json" else yaml_text).parse(text, faults)
    if isinstance(root, Text) and root.is_nothing:
        root = None
    if root is None and not faults:
        hint = "write at least table and measurements; congenial init FILE writes a first one."
        faults.append(Fault("", f"{name} is empty", hint))
    if root is None:
        raise RequestError(numbered(faults, {}), subject=name)
    return read_node(root, FilePath(folder).absolute(), faults, needs_table=needs_table, name=name)


def read_node(
    root: Node, folder: FilePath, faults: list[Fault], *, needs_table: bool, name: str = "The request"
) -> Request:
    """The request of a tree; `faults` are those that the tree has already."""
    reader = Reader(folder, faults)
    draft, rest = _read(reader, root, needs_table)
    reader.faults += meaning_faults(draft)
    if reader.faults:
        raise RequestError(numbered(reader.faults, dict(lines(root, ""))), subject=name)
    unit = draft.unit or Unit(assumed=True)
    fields = {key: getattr(draft, key) for key in ("measurements", "invariants", "bounds", "promise")}
    method = cast(Any, draft.method)
    return Request(**fields, unit=unit, method=method, budget=draft.budget, table=draft.table, **rest)


def _contents(path: FilePath) -> str:
    try:
        if path.is_dir():
            raise RequestError(f"{path.name} is a folder, not a request")
        if path.stat().st_size > LONGEST:
            raise RequestError(Fault("", f"{path.name} is too large to be a request", "is it the source?"))
        data = path.read_bytes()
    except FileNotFoundError:
        what = f"there is no request {str(path)!r}"
        raise RequestError(Fault("", what, "congenial init FILE writes a first one.")) from None
    except (OSError, ValueError):
        raise RequestError(f"the request {path.name!r} cannot be read") from None
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        what = f"{path.name} is not UTF-8 text"
        raise RequestError(Fault("", what, "save it as text in UTF-8.", line=line)) from None


def _read(reader: Reader, root: Node, needs_table: bool) -> tuple[Draft, dict[str, Any]]:
    """As much of the request as can be read, and the fields that nothing else depends on."""
    draft = Draft(unit=None)
    rest: dict[str, Any] = {}
    if not isinstance(root, Keys):
        hint = "it begins with keys such as table: and measurements:."
        reader.fault("", f"a request is a mapping, and this is {kind_of(root)}", hint)
        draft.broken.update(REQUEST_KEYS)
        return draft, rest
    needed = ("table",) if needs_table else ()
    before = len(reader.faults)
    lists = ("invariants", "bounds", "measurements", "about")
    found = reader.keys(root, "", REQUEST_KEYS, needed, lists, example=_TEN_LINES) or Found()
    _place_strays(reader, before)
    draft.broken = {*found.meant, *(fault.where for fault in reader.faults[before:])}
    section = _Section(reader, draft, found)
    section("congenial", read_version)
    rest["about"] = section("about", read_about) or {}
    draft.table, known = section("table", read_table) or (None, None)
    draft.unit = section("unit", read_unit)
    draft.promise = section("promise", read_promise)
    draft.budget = section("budget", read_budget)
    draft.method = section("method", read_method) if "method" in found else "condition"
    rest["unproven"] = section("unproven", read_unproven) or "refuse"
    _read_lists(reader, draft, found, known)
    return draft, rest


_TEN_LINES = "table: {source: …, axes: {…}} and measurements: [{query: cells, law: …, epsilon: …}]"


class _Section:
    """Reads one section, and notes it as broken where it has faults."""

    def __init__(self, reader: Reader, draft: Draft, found: Found) -> None:
        self.reader, self.draft, self.found = reader, draft, found

    def __call__(self, name: str, read: Callable[[Reader, Node], Item]) -> Item | None:
        if name not in self.found:
            return None
        before = len(self.reader.faults)
        value = read(self.reader, self.found[name])
        if len(self.reader.faults) > before:
            self.draft.broken.add(name)
        return value


def _read_lists(reader: Reader, draft: Draft, found: Found, known: KnownAxes | None) -> None:
    items = ItemReader(reader, known, promised="promise" in found)
    section = _Section(reader, draft, found)

    def listed(name: str, one: Callable[[Node, str], Item | None]) -> list[Item]:
        def read(reader: Reader, node: Node) -> list[Item]:
            members = reader.items(node, name, name, may_be_empty=True)
            each = (one(member, f"{name}[{at}]") for at, member in enumerate(members))
            return [item for item in each if item is not None]

        return section(name, read) or []

    draft.measurements = listed("measurements", items.measurement)
    draft.invariants = listed("invariants", items.invariant)
    draft.bounds = listed("bounds", items.bound)


def _place_strays(reader: Reader, before: int) -> None:
    """Say of a key that stands one level too high where it belongs."""
    for at, fault in enumerate(reader.faults[before:], start=before):
        section = section_of(fault.where) if fault.what.startswith("unknown key") else ""
        if section:
            reader.faults[at] = replace(fault, hint=f"'{fault.where}' stands inside '{section}'.")
