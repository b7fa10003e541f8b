"""The lists of a request: measurements, invariants and bounds, each item by itself."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path as FilePath
from typing import Any

from congenial.errors import ArgumentError, RequestError
from congenial.laws import DiscreteGaussian, DiscreteLaplace, Law
from congenial.requests.fields import Found, Reader, kind_of, shown
from congenial.requests.grammar import (
    BOUND_KEYS,
    INVARIANT_KEYS,
    LAWS,
    MEASUREMENT_KEYS,
    SCALES,
    KnownAxes,
    query_faults,
    read_query,
    stands_long,
)
from congenial.requests.model import Bound, FormsFile, Invariant, Measurement, Row, Zeros
from congenial.requests.nodes import Items, Keys, Node, Text, inside, plain
from congenial.requests.rows import RowFaults, hold_zeros, place_forms, read_rows, whole_weight
from congenial.tables.domain import Path
from congenial.tables.queries import CELLS, Groups, as_query

_KINDS: dict[str, type[DiscreteLaplace] | type[DiscreteGaussian]] = {
    "discrete-laplace": DiscreteLaplace,
    "discrete-gaussian": DiscreteGaussian,
}
_EXAMPLE = "{query: cells, law: discrete-laplace, epsilon: 0.5}"


@dataclass
class ItemReader:
    """Reads items with the same reader, axes and promise."""

    reader: Reader
    known: KnownAxes | None = None
    promised: bool = False

    def measurement(self, node: Node, where: str) -> Measurement | None:
        """A query with a law on each of its cells."""
        reader = self.reader
        if not stands_long(node, MEASUREMENT_KEYS, self.known):
            if read_query(reader, node, where, self.known) is not None:
                reader.fault(
                    where, "a measurement has a law, and this is a query alone", f"write {_EXAMPLE}."
                )
            return None
        found = reader.keys(node, where, MEASUREMENT_KEYS, ("query", "law"), example=_EXAMPLE)
        assert found is not None
        query = read_query(reader, found.get("query"), f"{where}.query", self.known)
        law = self._law(found, where)
        if query is None or law is None:
            return None
        return Measurement(query, law, where, node.line)

    def _law(self, found: Found, where: str) -> Law | None:
        """The law, with its one scale or its share; None where anything of it is wrong."""
        reader = self.reader
        before = len(reader.faults)
        name = reader.choice(found.get("law"), f"{where}.law", tuple(LAWS), "law")
        given: dict[str, float | None] = {}
        for key in (*SCALES, "share"):
            if key in found:
                most = 1.0 if key == "share" else None
                given[key] = reader.number(found[key], f"{where}.{key}", key, most)
        if name is None:
            return None
        scales = LAWS[name]
        wrong = [key for key in given if key in SCALES and key not in scales]
        for key in wrong:
            say = f"it takes {' or '.join(scales)}, or a share of a promise."
            reader.fault(f"{where}.{key}", f"{name} takes no {key}", say)
        right = [key for key in given if key not in wrong]
        if len(right) > 1:
            self._one_of(right, where)
        elif not found.speaks_of(*SCALES, "share"):
            needed = "share" if self.promised else " or ".join(scales)
            reader.fault(f"{where}.{'share' if self.promised else scales[0]}", f"'{needed}' is missing")
        if len(reader.faults) > before or not right:
            return None
        try:
            return _KINDS[name](**{right[0]: given[right[0]]})
        except ArgumentError as error:
            reader.fault(f"{where}.{right[0]}", error.faults[0].what, error.faults[0].hint)
            return None

    def _one_of(self, given: list[str], where: str) -> None:
        reader = self.reader
        if "share" not in given:
            reader.fault(f"{where}.{given[1]}", f"{given[0]} and {given[1]} both set the scale", "keep one.")
        elif self.promised:
            what = f"{given[0]} stands beside a promise, which sets the scale"
            reader.fault(f"{where}.{given[0]}", what, "keep share, the part of the promise that it gets.")
        else:
            what = f"a share needs a promise, and {given[0]} sets the scale already"
            reader.fault(f"{where}.share", what, "keep one of them.")

    def invariant(self, node: Node, where: str) -> Invariant | None:
        """A fact: a bare query, a query with or without a band, or forms."""
        if not stands_long(node, INVARIANT_KEYS, self.known):
            query = read_query(self.reader, node, where, self.known)
            return None if query is None else Invariant(query, where=where, line=node.line)
        found = self._one_subject(node, where, INVARIANT_KEYS, "{query: {place: state}}")
        if found is None:
            return None
        before = len(self.reader.faults)
        name = self.reader.text(found.get("name"), f"{where}.name") or ""
        band = self.reader.integer(found.get("band"), f"{where}.band", "band", least=2)
        query = read_query(self.reader, found.get("query"), f"{where}.query", self.known)
        forms = self.forms(found.get("forms"), f"{where}.forms", name)
        if len(self.reader.faults) > before:
            return None
        return Invariant(query, forms, band, name, where, node.line)

    def bound(self, node: Node, where: str) -> Bound | None:
        """An inequality: `nonnegative`, limits on a query or on forms, or structural zeros."""
        example = "nonnegative, {query: cells, at_most: 100} or {zeros: {age: [0-17]}}"
        if isinstance(node, Text) or not stands_long(node, BOUND_KEYS, self.known):
            if isinstance(node, Text) and node.text == "nonnegative":
                return Bound(CELLS, at_least=0, name="nonnegative", where=where, line=node.line)
            if isinstance(node, Text):
                self.reader.choice(node, where, ["nonnegative"], "bound")
            elif read_query(self.reader, node, where, self.known) is not None:
                self.reader.fault(
                    where, "a bound has a limit, and this is a query alone", f"write {example}."
                )
            return None
        found = self._one_subject(node, where, BOUND_KEYS, example)
        if found is None:
            return None
        before = len(self.reader.faults)
        name = self.reader.text(found.get("name"), f"{where}.name") or ""
        least, most = (
            self.reader.integer(found.get(key), f"{where}.{key}", key) for key in ("at_least", "at_most")
        )
        query = read_query(self.reader, found.get("query"), f"{where}.query", self.known)
        forms = self.forms(found.get("forms"), f"{where}.forms", name)
        zeros = self.zeros(found.get("zeros"), f"{where}.zeros")
        self._limits(found, where)
        if least is not None and most is not None and least > most and forms is not None:
            self.reader.fault(where, f"at_least {least} and at_most {most} contradict each other")
        if len(self.reader.faults) > before:
            return None
        return Bound(query, forms, zeros, least, most, name, where, node.line)

    def _limits(self, found: Found, where: str) -> None:
        given = [key for key in ("at_least", "at_most") if key in found]
        if "zeros" in found and given:
            self.reader.fault(f"{where}.{given[0]}", f"zeros take no {given[0]}", "they are zero.")
        elif not found.speaks_of("zeros", "at_least", "at_most"):
            self.reader.fault(where, "the bound has no limit", "write at_least, at_most or both.")

    def _one_subject(self, node: Node, where: str, known: tuple[str, ...], example: str) -> Found | None:
        """The keys of an item that speaks of exactly one of query, forms and zeros."""
        before = len(self.reader.faults)
        found = self.reader.keys(node, where, known, example=example)
        assert found is not None
        subjects = [key for key in ("query", "forms", "zeros") if key in found]
        if len(subjects) == 1:
            return found
        if len(subjects) > 1:
            what = f"{subjects[0]} and {subjects[1]} stand in one item"
            self.reader.fault(f"{where}.{subjects[1]}", what, "make two items of them.")
        elif len(self.reader.faults) == before:
            words = " or ".join(key for key in ("query", "forms", "zeros") if key in known)
            self.reader.fault(where, f"{words} is missing", f"write {example}.")
        return None

    def forms(self, node: Node | None, where: str, name: str) -> FormsFile | None:
        """Integer linear forms: a file, or rows written out."""
        if node is None:
            return None
        if isinstance(node, Items):
            rows = self.rows(node, where, weighted=True)
            form = FormsFile(name or "forms", rows=rows)
        else:
            path = self.reader.file(node, where, "forms")
            form = FormsFile(name or (path.stem if path else ""), path)
        self._hold(where, form.path, form.rows, weighted=True)
        return form

    def zeros(self, node: Node | None, where: str) -> Zeros | None:
        """Cells that are zero by logic: labels of some axes, a file, or rows written out."""
        if node is None:
            return None
        if isinstance(node, Keys):
            return self._zero_labels(node, where)
        if isinstance(node, Items):
            zeros = Zeros(rows=self.rows(node, where, weighted=False))
        else:
            zeros = Zeros(path=self.reader.file(node, where, "zeros"))
        self._hold(where, zeros.path, zeros.rows, weighted=False)
        return zeros

    def _zero_labels(self, node: Keys, where: str) -> Zeros | None:
        before = len(self.reader.faults)
        if not node.entries:
            self.reader.fault(where, "zeros name no axis", "write {age: [0-17], sex: [male]}.")
        labels: dict[str, Any] = {}
        for key, value in node.entries:
            if isinstance(value, Items) and value.items:
                labels[key.text] = plain(value)
            else:
                say = f"write {key.text}: [{value.text}]." if isinstance(value, Text) and value.text else ""
                here = inside(where, key.text)
                self.reader.fault(
                    here, f"a list of labels is expected here, and this is {_empty(value)}", say
                )
        zeros = zero_labels(self.reader, labels, where, self.known) if labels else None
        return zeros if len(self.reader.faults) == before else None

    def rows(self, node: Items, where: str, weighted: bool) -> tuple[Row, ...]:
        """Rows written out: columns with labels or paths, and `weight` and `form` of a form."""
        if not node.items:
            self.reader.fault(where, "the list of rows is empty")
        say = RowFaults(where, None)
        rows = [self._row(item, f"{where}[{at}]", at, weighted, say) for at, item in enumerate(node.items)]
        self.reader.faults += say.done()
        return tuple(row for row in rows if row is not None)

    def _row(self, node: Node, where: str, at: int, weighted: bool, say: RowFaults) -> Row | None:
        if not isinstance(node, Keys):
            say.add(at, f"a row is a mapping from columns to labels, and this is {kind_of(node)}")
            return None
        columns: list[tuple[str, Path]] = []
        special = {"weight": "", "form": ""}
        for key, value in node.entries:
            parts = value.items if isinstance(value, Items) else (value,)
            texts = tuple(part.text for part in parts if isinstance(part, Text))
            if len(texts) < len(parts) or not texts:
                say.add(at, f"{shown(key.text)} is not a label or the path of a node")
            elif weighted and key.text in special:
                special[key.text] = texts[0] if len(texts) == 1 else "a list"
            else:
                columns.append((key.text, texts))
        weight = whole_weight(special["weight"], at, say) if weighted else 1
        return None if weight is None else Row(tuple(columns), weight, special["form"], at)

    def _hold(self, where: str, path: FilePath | None, rows: tuple[Row, ...], weighted: bool) -> None:
        """Hold rows against the domain where the request declares all of it."""
        domain = None if self.known is None else self.known.domain
        if path is not None and not path.is_file():
            return
        say = RowFaults(where, None if path is None else path.name)
        found = rows if path is None else read_rows(path, weighted, say)
        if domain is not None and found and not say.count:
            if weighted:
                place_forms(domain, found, say)
            else:
                hold_zeros(domain, found, say)
        self.reader.faults += say.done()


def _empty(node: Node) -> str:
    return "an empty list" if isinstance(node, Items) else kind_of(node)


def zero_labels(reader: Reader, labels: dict[str, Any], where: str, known: KnownAxes | None) -> Zeros | None:
    """Structural zeros as labels of some axes: the grammar of one group on each axis."""
    try:
        query = as_query({axis: {"zeros": list(members)} for axis, members in labels.items()}, where)
        faults = [] if known is None else query_faults(query, known, where)
    except RequestError as error:
        faults = list(error.faults)
    for fault in faults:
        reader.fault(fault.where.replace(".zeros[", "["), fault.what, fault.hint)
    if faults:
        return None
    return Zeros(tuple((axis, part.groups[0][1]) for axis, part in query.parts if isinstance(part, Groups)))
