"""The sections of a request that are not lists of queries: table, unit, promise, budget, method, about."""

from __future__ import annotations

import codecs
from dataclasses import replace
from typing import Any, cast

from congenial.errors import CongenialError, Fault, RequestError, nearest
from congenial.requests.checks import axes_faults
from congenial.requests.fields import Found, Reader, kind_of, one_of, shown
from congenial.requests.grammar import (
    AXIS_KEYS,
    BUDGET_KEYS,
    CHANGES,
    CURRENCIES,
    METHODS,
    PROJECTIONS,
    TABLE_KEYS,
    UNIT_KEYS,
    KnownAxes,
)
from congenial.requests.model import AxisSpec, Budget, Promise, TableSpec, Unit
from congenial.requests.nodes import Items, Keys, Node, Text, plain

_ENCODINGS = ("utf-8", "utf-16", "latin-1", "cp1252", "windows-1252", "iso-8859-1", "iso-8859-15")
_DELIMITERS = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "pipe": "|"}


def read_table(reader: Reader, node: Node) -> tuple[TableSpec | None, KnownAxes | None]:
    """Where the table comes from, and what the request itself says of its axes."""
    example = "{source: counts.csv, counts: n, axes: {sex: {categories: [female, male]}}}"
    found = reader.keys(node, "table", TABLE_KEYS, ("source", "axes"), example=example)
    if found is None:
        return None, None
    before = len(reader.faults)
    words = ("source", "query", "counts", "encoding")
    text = {key: reader.text(found.get(key), f"table.{key}") for key in words}
    text["encoding"] = _encoding(reader, text["encoding"])
    text["delimiter"] = _delimiter(reader, found.get("delimiter"))
    axes, known = _axes(reader, found.get("axes"))
    if len(reader.faults) > before or text["source"] is None or not axes:
        return None, known
    source = text.pop("source")
    assert source is not None
    return TableSpec(source, tuple(axes), folder=reader.folder, **text), known


def _encoding(reader: Reader, given: str | None) -> str | None:
    if given is None:
        return None
    try:
        codecs.lookup(given)
        return given
    except (LookupError, ValueError):
        say = f"write one such as utf-8, latin-1 or cp1252. {nearest(given, _ENCODINGS)}".rstrip()
        reader.fault("table.encoding", f"unknown encoding {shown(given)}", say)
    return None


def _delimiter(reader: Reader, node: Node | None) -> str | None:
    if isinstance(node, Text) and len(node.text) == 1:
        return node.text
    given = reader.text(node, "table.delimiter")
    if given is not None and given not in _DELIMITERS:
        say = "write one character in quotes, or tab, comma, semicolon or pipe."
        reader.fault("table.delimiter", f"{shown(given)} is not a delimiter", say)
    return _DELIMITERS.get(given or "")


def _axes(reader: Reader, node: Node | None) -> tuple[list[AxisSpec], KnownAxes | None]:
    if node is None:
        return [], None
    if not isinstance(node, Keys) or not node.entries:
        what = "has no axes" if isinstance(node, Keys) else f"is {kind_of(node)}, not a mapping of axes"
        reader.fault("table.axes", f"axes {what}", "write {sex: {categories: [female, male]}} or the like.")
        return [], None
    read = [_axis(reader, key.text, value) for key, value in node.entries]
    sound = [axis for axis in read if axis is not None]
    levels: dict[str, tuple[str, ...] | None] = dict.fromkeys(node.names)
    for axis in sound:
        levels[axis.name] = axis.levels or tuple(name for name, _ in axis.prefixes) or (axis.name,)
    known = KnownAxes(levels)
    if len(sound) == len(read):
        for axis in sound:
            if not axes_faults([axis]):
                _declare(reader, axis, known)
    if all(name in known.axes for name in levels):
        _complete(reader, known)
    return sound, known


def _axis(reader: Reader, name: str, node: Node) -> AxisSpec | None:
    where = f"table.axes.{name}"
    before = len(reader.faults)
    if not name.strip():
        reader.fault(where, "an axis has an empty name")
    if isinstance(node, Text) and node.is_nothing:
        return AxisSpec(name)
    example = f"{name}: {{categories: [...]}}" if isinstance(node, Items) else ""
    found = reader.keys(node, where, AXIS_KEYS, example=example)
    if found is None:
        return None
    from_source = reader.choice(found.get("labels"), f"{where}.labels", ["from-source"], "value")
    categories = reader.texts(found.get("categories"), f"{where}.categories", "categories")
    axis = AxisSpec(
        name,
        column=reader.text(found.get("column"), f"{where}.column"),
        levels=reader.texts(found.get("levels"), f"{where}.levels", "levels"),
        prefixes=_prefixes(reader, found.get("prefixes"), f"{where}.prefixes"),
        categories=categories if "categories" in found else None,
        domain=reader.file(found.get("domain"), f"{where}.domain", "the domain"),
        labels_from_source=from_source is not None,
    )
    return axis if len(reader.faults) == before else None


def _prefixes(reader: Reader, node: Node | None, where: str) -> tuple[tuple[str, int], ...]:
    if node is None:
        return ()
    if not isinstance(node, Keys) or not node.entries:
        say = "write {state: 2, county: 5}: each level with the length of its part of the code."
        reader.fault(where, f"a mapping of levels is expected here, and this is {kind_of(node)}", say)
        return ()
    found = []
    for key, value in node.entries:
        width = reader.integer(value, f"{where}.{key.text}", "the length of a prefix", least=1)
        found.append((key.text, width or 0))
    return tuple(found)


def _declare(reader: Reader, axis: AxisSpec, known: KnownAxes) -> None:
    """Keep the axis where its labels are declared; what is wrong with them or their file is a fault."""
    from congenial.tables.labels import declared

    where = f"table.axes.{axis.name}"
    try:
        found = declared((axis,), reader.folder)[axis.name]
    except CongenialError as error:
        faults = getattr(error, "faults", ()) or (Fault(where, str(error)),)
        reader.faults += [replace(fault, where=fault.where or where) for fault in faults]
        return
    if found is not None:
        known.axes[axis.name] = found


def _complete(reader: Reader, known: KnownAxes) -> None:
    """Keep the domain, unless it has more cells than can be held."""
    from congenial.tables.labels import complete

    try:
        known.domain = complete([known.axes[name] for name in known.levels])
    except RequestError as error:
        reader.faults += error.faults


def read_unit(reader: Reader, node: Node) -> Unit | None:
    """Who the promise is about."""
    before = len(reader.faults)
    found = reader.keys(node, "unit", UNIT_KEYS, example="{name: person, max_rows: 1}")
    if found is None:
        return None
    name = reader.text(found.get("name"), "unit.name")
    max_rows = reader.integer(found.get("max_rows"), "unit.max_rows", "max_rows", least=1)
    change = reader.choice(found.get("change"), "unit.change", CHANGES, "change")
    column = reader.text(found.get("column"), "unit.column")
    over = reader.choice(found.get("over"), "unit.over", ("refuse", "drop"), "value")
    if over == "drop" and "column" not in found:
        reader.fault("unit.over", "'over: drop' needs the unit's column", "name it with column: in unit.")
    if len(reader.faults) > before:
        return None
    return Unit(
        name or "person", max_rows or 1, cast(Any, change or "any"), column, cast(Any, over or "refuse")
    )


def read_promise(reader: Reader, node: Node) -> Promise | None:
    """What one unit may lose in all."""
    found = reader.keys(node, "promise", CURRENCIES, example="{epsilon: 1}")
    amount = None if found is None else _amount(reader, found, node, "promise")
    return None if amount is None else Promise(**amount)


def read_budget(reader: Reader, node: Node) -> Budget | None:
    """The ledger that a release is charged to."""
    before = len(reader.faults)
    example = "{ledger: spent.db, dataset: census, epsilon: 4}"
    found = reader.keys(node, "budget", BUDGET_KEYS, ("ledger", "dataset"), example=example)
    if found is None:
        return None
    ledger = reader.text(found.get("ledger"), "budget.ledger")
    dataset = reader.text(found.get("dataset"), "budget.dataset")
    amount = _amount(reader, found, node, "budget")
    if len(reader.faults) > before or amount is None or ledger is None or dataset is None:
        return None
    return Budget(reader.folder / ledger, dataset, **amount)


def _amount(reader: Reader, found: Found, node: Node, where: str) -> dict[str, float] | None:
    """Exactly one of epsilon and rho."""
    given = [key for key in CURRENCIES if key in found]
    if len(given) == 1:
        number = reader.number(found[given[0]], f"{where}.{given[0]}", given[0])
        return None if number is None else {given[0]: number}
    if given:
        reader.fault(f"{where}.rho", f"the {where} says both epsilon and rho", "keep one of them.")
    elif not found.speaks_of(*CURRENCIES):
        reader.fault(
            where, f"the {where} says neither epsilon nor rho", f"write {one_of(CURRENCIES)}: a number."
        )
    return None


def read_method(reader: Reader, node: Node) -> str | None:
    """How invariants are respected; projections are refused by name."""
    if isinstance(node, Keys):
        found = reader.keys(node, "method", ("project",), ("project",), example="method: condition")
        target = reader.choice((found or Found()).get("project"), "method.project", PROJECTIONS, "projection")
        if target is not None:
            say = f"write method: {one_of(METHODS)}."
            reader.fault("method.project", f"projection '{target}' is not built yet", say)
        return None
    if isinstance(node, Text) and node.text == "project":
        say = f"projections are not built yet; methods are {one_of(METHODS)}."
        reader.fault("method", "'project' is not built yet", say)
        return None
    return reader.choice(node, "method", METHODS, "method")


def read_version(reader: Reader, node: Node) -> None:
    """The version of the format, which is 1."""
    found = reader.text(node, "congenial")
    if found is not None and found != "1":
        reader.fault(
            "congenial", f"the format is {shown(found)}, and this version reads format 1", "write 1."
        )


def read_about(reader: Reader, node: Node) -> dict[str, Any]:
    """What the curator says of the release: text, lists and mappings of text, as they stand."""
    if not isinstance(node, Keys):
        say = "write {title: Counties by sex and age} or the like."
        reader.fault("about", f"a mapping is expected here, and this is {kind_of(node)}", say)
        return {}
    return cast(dict[str, Any], plain(node))


def read_unproven(reader: Reader, node: Node) -> str | None:
    """Whether what is not proven may be released, and said so."""
    return reader.choice(node, "unproven", ("refuse", "allow"), "value")


def section_of(name: str) -> str:
    """The section that a key belongs in, where it stands one level too high; else nothing."""
    sections = {"table": TABLE_KEYS, "unit": UNIT_KEYS, "budget": BUDGET_KEYS[:2], "promise": CURRENCIES}
    return next((section for section, keys in sections.items() if name in keys), "")
