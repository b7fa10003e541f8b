"""Rows that name cells: files of forms and of structural zeros, or lists in the request.

A file is CSV with a header (comma, semicolon or tab; UTF-8). Its columns are the axes, or the levels
of a hierarchy; files of forms have `weight`, and `form` where there are several. Everything is text.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from pathlib import Path as FilePath

import numpy as np
from numpy.typing import NDArray

from congenial.errors import Fault, nearest
from congenial.requests.fields import path_state, shown
from congenial.requests.model import Row
from congenial.tables.domain import Axis, Domain

HEAVIEST = 2**31 - 1
"""The largest weight: sums of weights times counts stay inside 64 bits."""

_SHOWN = 8  # faults of one file that are written out


class RowFaults:
    """The faults of the rows of one file or list: the first few, then how many more."""

    def __init__(self, where: str, file: str | None) -> None:
        self.where = where
        self.file = file
        self.faults: list[Fault] = []
        self.count = 0

    def add(self, row: int | None, what: str, hint: str = "") -> None:
        """A fault of row `row` (of the header or the whole where None)."""
        self.count += 1
        if self.count > _SHOWN:
            return
        where = self.where if self.file or row is None else f"{self.where}[{row}]"
        if self.file:
            what = f"row {row} of {shown(self.file)}: {what}" if row else f"{shown(self.file)}: {what}"
        self.faults.append(Fault(where, what, hint))

    def done(self) -> list[Fault]:
        """All faults, with a last one that counts those that are not written out."""
        if self.count > _SHOWN:
            what = f"{self.count - _SHOWN} more rows have faults"
            self.faults.append(Fault(self.where, what, "mend those above and look again."))
        return self.faults


def read_rows(path: FilePath, weighted: bool, say: RowFaults) -> tuple[Row, ...]:
    """The rows of a file; every fault goes to `say`."""
    table = list(_records(path, say))
    if not table:
        if not say.count:
            say.add(None, "the file is empty", "it needs a header and rows.")
        return ()
    header = [name.strip() for name in table[0][1]]
    if not _header_is_sound(header, weighted, say):
        return ()
    if len(table) == 1 and not say.count:
        say.add(None, "the file has a header and no rows")
    rows = (_row(number, header, record, weighted, say) for number, record in table[1:])
    return tuple(row for row in rows if row is not None)


def _records(path: FilePath, say: RowFaults) -> Iterator[tuple[int, list[str]]]:
    state = path_state(path)
    if state:
        say.add(None, f"the file {state}")
        return
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except OSError:
        say.add(None, "the file cannot be read")
        return
    except UnicodeDecodeError:
        say.add(None, "the file is not UTF-8 text", "save it as CSV in UTF-8.")
        return
    first = text.partition("\n")[0]
    delimiter = max(",;\t", key=first.count)
    reader = csv.reader(text.splitlines(keepends=True), delimiter=delimiter, strict=True)
    try:
        for number, record in enumerate(reader, start=1):
            if record:
                yield number, record
    except csv.Error:
        say.add(reader.line_num, "quotes are not closed, or something follows them", "")


def _header_is_sound(header: Sequence[str], weighted: bool, say: RowFaults) -> bool:
    before = say.count
    for name in sorted({name for name in header if header.count(name) > 1}):
        say.add(None, f"column {shown(name)} stands twice")
    if weighted and "weight" not in header:
        near = nearest("weight", header)
        say.add(
            None, "the column 'weight' is missing", f"it holds a whole number for each cell. {near}".rstrip()
        )
    return say.count == before


def _row(number: int, header: Sequence[str], record: list[str], weighted: bool, say: RowFaults) -> Row | None:
    if len(record) != len(header):
        say.add(number, f"it has {len(record)} fields, and the header has {len(header)}")
        return None
    fields = dict(zip(header, record, strict=True))
    form = fields.pop("form", "") if weighted else ""
    weight = whole_weight(fields.pop("weight"), number, say) if weighted else 1
    if weight is None:
        return None
    return Row(tuple((name, (label,)) for name, label in fields.items()), weight, form, number)


def whole_weight(text: str, row: int, say: RowFaults) -> int | None:
    """A weight: a whole number within ±(2³¹-1)."""
    digits = text.strip().removeprefix("-").removeprefix("+")
    if not digits.isdecimal() or not digits.isascii():
        say.add(row, f"weight is {shown(text)}, which is not a whole number")
    elif len(digits) > 10 or int(digits) > HEAVIEST:
        say.add(row, f"weight is {shown(text)}, which is too large", f"at most {HEAVIEST}.")
    else:
        return -int(digits) if text.strip().startswith("-") else int(digits)
    return None


class Places:
    """The nodes of one axis by the columns that rows have for it.

    The labels in those columns lead to a node where they fit just one.
    """

    def __init__(self, axis: Axis, columns: Sequence[str]) -> None:
        self.axis = axis
        names = axis.level_names
        self.columns = [name for name in names if name in columns]
        self.by_path = axis.name in columns and not self.columns
        if self.by_path:
            self.columns = [axis.name]
        depths = [names.index(name) for name in self.columns] if not self.by_path else [len(names) - 1]
        self.depth = depths[-1] if depths else -1
        self._found: dict[tuple[str, ...], int] = {}
        if depths:
            self._fill(depths)

    @property
    def are_leaves(self) -> bool:
        return self.depth == len(self.axis.levels) - 1

    def _fill(self, depths: Sequence[int]) -> None:
        at = np.arange(len(self.axis.levels[self.depth].labels), dtype=np.int32)
        columns: list[list[str]] = []
        for depth in range(self.depth, -1, -1):
            level = self.axis.levels[depth]
            if depth in depths:
                columns.insert(0, [level.labels[node] for node in at.tolist()])
            if level.parent is not None:
                at = level.parent[at]
        for node, labels in enumerate(zip(*columns, strict=True)):
            self._found[labels] = -1 if labels in self._found else node

    def find(self, row: Row, say: RowFaults) -> tuple[int, int] | None:
        """(depth, node) of the row on this axis, or None after a fault."""
        at = dict(row.at)
        for name in self.columns:
            path = at[name]
            if len(path) > 1:
                found = self.axis.find(path) if self.by_path else None
                if found is None:
                    text = shown("/".join(path))
                    say.add(row.number, f"unknown category {text} of axis '{self.axis.name}'")
                return found
        labels = tuple(at[name][-1] for name in self.columns)
        node = self._found.get(labels)
        if node is not None and node >= 0:
            return self.depth, node
        text = shown("/".join(labels))
        if node is None:
            known = ["/".join(known) for known in self._found] if len(self._found) <= 5000 else []
            what = f"unknown category {text} of axis '{self.axis.name}'"
            say.add(row.number, what, nearest("/".join(labels), known))
        else:
            need = ", ".join(self.axis.level_names[: self.depth + 1])
            what = f"{text} is more than one node of axis '{self.axis.name}'"
            say.add(row.number, what, f"give the columns {need}.")
        return None


def place_forms(
    domain: Domain, rows: Sequence[Row], say: RowFaults
) -> tuple[list[str], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """(names, starts, cells, weights) of the forms that rows make; faults go to `say`.

    Forms stand in the order of their first rows, the cells of each in their own order; weights of zero
    are left out. Cost: linear in rows, and in the nodes of the axes that they name.
    """
    found: dict[str, dict[int, int]] = {}
    for row, nodes in _placed(domain, rows, say, leaves=True):
        cell = _cell(domain, [node for _, node in nodes])
        form = found.setdefault(row.form, {})
        if cell in form:
            say.add(
                row.number, f"the cell {domain.cell(cell)} stands in the form twice", "add the weights up."
            )
        form[cell] = row.weight
    for name, form in found.items():
        if not any(form.values()) and not say.count:
            what = f"form {shown(name)} has no weight but zero" if name else "all weights are zero"
            say.add(None, what, "a form weighs at least one cell.")
    kept = [sorted((cell, weight) for cell, weight in form.items() if weight) for form in found.values()]
    starts = np.zeros(len(kept) + 1, dtype=np.int64)
    np.cumsum([len(form) for form in kept], out=starts[1:])
    flat = np.array([pair for form in kept for pair in form], dtype=np.int64).reshape(-1, 2)
    return list(found), starts, flat[:, 0].copy(), flat[:, 1].copy()


def place_zeros(domain: Domain, rows: Sequence[Row], say: RowFaults) -> NDArray[np.int64]:
    """The cells that rows name, sorted: each row the product of its nodes with every unnamed axis."""
    mask = np.zeros(domain.shape, dtype=bool)
    leaves: dict[tuple[str, int, int], NDArray[np.intp]] = {}
    for _, nodes in _placed(domain, rows, say, leaves=False):
        cut = []
        for axis, (depth, node) in zip(domain.axes, nodes, strict=True):
            key = axis.name, depth, node
            if key not in leaves:
                leaves[key] = np.arange(axis.size) if depth < 0 else np.flatnonzero(axis.nodes(depth) == node)
            cut.append(leaves[key])
        mask[np.ix_(*cut)] = True
    return np.flatnonzero(mask.reshape(-1)).astype(np.int64)


def hold_zeros(domain: Domain, rows: Sequence[Row], say: RowFaults) -> None:
    """Hold rows of structural zeros against a domain, without its cells."""
    for _ in _placed(domain, rows, say, leaves=False):
        pass


def _cell(domain: Domain, nodes: Sequence[int]) -> int:
    cell = 0
    for size, node in zip(domain.shape, nodes, strict=True):
        cell = cell * size + node
    return cell


def _placed(
    domain: Domain, rows: Sequence[Row], say: RowFaults, leaves: bool
) -> Iterator[tuple[Row, list[tuple[int, int]]]]:
    """Each sound row with its (depth, node) on every axis; (-1, 0) where it names no node."""
    places: dict[tuple[str, ...], list[Places] | None] = {}
    for row in rows:
        columns = tuple(name for name, _ in row.at)
        if columns not in places:
            places[columns] = _places(domain, columns, row, say, leaves)
        known = places[columns]
        if known is None:
            continue
        nodes = [place.find(row, say) if place.columns else (-1, 0) for place in known]
        sound = [node for node in nodes if node is not None]
        if len(sound) == len(nodes):
            short = [p for p, (depth, _) in zip(known, sound, strict=True) if depth + 1 < len(p.axis.levels)]
            if leaves and short:
                say.add(row.number, f"it names a node of axis '{short[0].axis.name}' above its leaves")
            else:
                yield row, sound


def _places(
    domain: Domain, columns: Sequence[str], row: Row, say: RowFaults, leaves: bool
) -> list[Places] | None:
    """How rows with these columns name nodes; None after a fault of the columns."""
    before = say.count
    head = None if say.file else row.number
    known = [*domain.names, *(name for axis in domain.axes for name in axis.level_names)]
    taken = [name for name in known if name in ("weight", "form")]
    if taken and leaves:
        say.add(
            head, f"'{taken[0]}' is a column of every list of forms, and a name in the table", "rename it."
        )
    for name in columns:
        if name not in known:
            kinds = "the axes' columns" + (", weight and form" if leaves else "")
            say.add(
                head, f"unknown column {shown(name)}", f"columns are {kinds}. {nearest(name, known)}".rstrip()
            )
    for axis in domain.axes:
        beside = [name for name in axis.level_names if name in columns and name != axis.name]
        if axis.name in columns and beside and axis.name not in axis.level_names:
            say.add(head, f"the column '{axis.name}' stands beside '{beside[0]}', a level of it", "keep one.")
    found = [Places(axis, columns) for axis in domain.axes] if say.count == before else []
    for place in found:
        if leaves and not place.are_leaves and say.count == before:
            finest = place.axis.level_names[-1]
            hint = "every row names one cell, with a label for each axis."
            say.add(head, f"the column '{finest}' of axis '{place.axis.name}' is missing", hint)
    return found if say.count == before else None
