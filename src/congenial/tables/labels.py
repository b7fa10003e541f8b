"""Where the labels of an axis come from: the request, a domain file, or the source.

Declared labels are public and are read without opening the source. A domain file has one row a leaf:
the column of each level, or the code where levels are prefixes of one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path as FilePath

from congenial.errors import Fault, RequestError, SourceError
from congenial.tables.domain import Axis, Domain, Path
from congenial.tables.naming import listed, rows_shown, shown
from congenial.tables.queries import RESERVED
from congenial.tables.rows import Rows, opened
from congenial.tables.specs import AxisAsked, level_names

MOST_CELLS = 2**28
"""The largest table: its counts take two gigabytes, and so does every whole copy of them."""
_OUTPUT = ("count", "draw")


def declared(
    axes: Sequence[AxisAsked], folder: FilePath, where: str = "table.axes"
) -> dict[str, Axis | None]:
    """The axes whose labels are declared; None for one that takes them from the source.

    Raises one `RequestError` with all that is wrong with the axes and their domain files.
    """
    faults = list(_name_faults(axes, where))
    found: dict[str, Axis | None] = {}
    for asked in axes:
        here = f"{where}.{asked.name}"
        own = list(_shape_faults(asked, here))
        faults += own
        found[asked.name] = None if own else _declared(asked, folder, here, faults)
    if faults:
        raise RequestError(faults)
    return found


def complete(axes: Sequence[Axis], where: str = "table.axes") -> Domain:
    """The domain of some axes, unless it has more cells than can be held."""
    domain = Domain(tuple(axes))
    if domain.cells > MOST_CELLS:
        sizes = " × ".join(f"{axis.name} {axis.size:,}" for axis in axes)
        what = f"the table would have {domain.cells:,} cells ({sizes})"
        say = f"at most {MOST_CELLS:,} can be held: drop an axis, or group its categories in the source."
        raise RequestError(Fault(where, what, say))
    return domain


def _name_faults(axes: Sequence[AxisAsked], where: str) -> Iterator[Fault]:
    if not axes:
        yield Fault(where, "the table has no axes", "name at least one column whose categories are counted.")
    names = [axis.name for axis in axes]
    for name in dict.fromkeys(names):
        if name in RESERVED or not name.strip():
            say = "queries give it a meaning; name the axis otherwise, and its column with `column:`."
            yield Fault(f"{where}.{name}", f"no axis may be called {shown(name)}", say)
        if names.count(name) > 1:
            yield Fault(f"{where}.{name}", f"two axes are called {shown(name)}", "each needs its own name.")
    owner = {name: name for name in names}  # a grouped axis becomes a column of its own name
    for axis in axes:
        for level in level_names(axis):
            other = owner.setdefault(level, axis.name)
            if other != axis.name or level in _OUTPUT:
                whose = f"axis {shown(other)} has it too" if other != axis.name else "the output needs it"
                say = f"{whose}: every level becomes a column of the output. Name it otherwise."
                yield Fault(f"{where}.{axis.name}", f"the name {shown(level)} is taken", say)


def _shape_faults(asked: AxisAsked, where: str) -> Iterator[Fault]:
    if asked.levels and asked.prefixes:
        yield Fault(
            where, "an axis has `levels` or `prefixes`, not both", "levels are columns; prefixes cut a code."
        )
    names = level_names(asked)
    if len(set(names)) < len(names) or not all(name.strip() for name in names):
        yield Fault(where, "the names of levels must differ, and none be empty", f"they are {listed(names)}.")
    lengths = [length for _, length in asked.prefixes]
    if any(b <= a for a, b in zip([0, *lengths], lengths, strict=False)):
        say = "prefixes run from coarse to fine, each longer than the last, as {state: 2, county: 5} do."
        yield Fault(f"{where}.prefixes", f"the lengths {listed([str(n) for n in lengths])} do not grow", say)
    if asked.categories is not None and asked.domain is not None:
        yield Fault(where, "labels are declared twice, by `categories` and by `domain`", "keep one of them.")
    if asked.categories is not None:
        yield from _category_faults(asked, f"{where}.categories")


def _category_faults(asked: AxisAsked, where: str) -> Iterator[Fault]:
    categories = list(asked.categories or ())
    wide = len(asked.levels) or 1
    if not categories:
        yield Fault(where, "the list of categories is empty", "name every label, those that are absent too.")
    seen: set[str | Path] = set()
    for category in categories:
        parts = (category,) if isinstance(category, str) else tuple(category)
        if len(parts) != wide:
            say = f"a leaf has a label on each level ({listed(asked.levels)}): use a `domain` file."
            yield Fault(where, f"{shown('/'.join(parts))} is not a leaf", say)
            return
        if not all(part.strip() for part in parts):
            yield Fault(where, "a category has no label", "labels are text, and not empty.")
        if category in seen:
            yield Fault(where, f"the category {shown('/'.join(parts))} stands twice", "name each label once.")
        seen.add(category)
    yield from _short_codes(asked, [c for c in categories if isinstance(c, str)], where)


def _short_codes(asked: AxisAsked, codes: Sequence[str], where: str) -> Iterator[Fault]:
    if asked.prefixes:
        name, length = asked.prefixes[-1]
        short = next((code for code in codes if len(code) < length), None)
        if short is not None:
            say = f"level {shown(name)} is its first {length}. Has a leading zero been lost?"
            yield Fault(where, f"the code {shown(short)} has only {len(short)} characters", say)


def _declared(asked: AxisAsked, folder: FilePath, where: str, faults: list[Fault]) -> Axis | None:
    if asked.domain is not None:
        try:
            return _from_file(asked, folder, f"{where}.domain")
        except (SourceError, RequestError) as error:
            faults += [Fault(f"{where}.domain", fault.what, fault.hint, fault.read) for fault in error.faults]
            return None
    if asked.categories is None:
        return None
    paths = [(c,) if isinstance(c, str) else tuple(c) for c in asked.categories]
    return axis_of(asked, list(zip(*paths, strict=True)))


def axis_of(asked: AxisAsked, columns: Sequence[Sequence[str]]) -> Axis:
    """The axis from the labels of its leaves on each level, or from their codes, in the order of output."""
    if asked.prefixes:
        codes = columns[0]
        columns = [[code[:length] for code in codes] for _, length in asked.prefixes]
    return Axis.from_columns(asked.name, level_names(asked), columns)


def _from_file(asked: AxisAsked, folder: FilePath, where: str) -> Axis:
    with opened(str(asked.domain), folder) as rows:
        wanted = asked.levels or (_label_column(asked, rows),)
        places = {name: rows.at(name) for name in wanted}
        faults = [rows.missing(name, where, "") for name, place in places.items() if place is None]
        if faults:
            raise SourceError(faults)
        table = rows.arrow(
            f"SELECT {', '.join(str(place) for place in places.values())} FROM {rows.relation}"
        )
        columns: list[list[str]] = [column.to_pylist() for column in table.columns]
        if not table.num_rows:
            raise rows.empty()
    faults = list(_leaf_faults(asked, columns, where))
    if faults:
        raise SourceError(faults)
    return axis_of(asked, columns)


def _label_column(asked: AxisAsked, rows: Rows) -> str:
    """The column of a domain file that holds the labels, or the codes."""
    likely = [asked.column, asked.name, asked.prefixes[-1][0] if asked.prefixes else None]
    named = next((name for name in likely if name is not None and name in rows.columns), None)
    if named is None and len(rows.columns) == 1:
        return rows.columns[0]
    return named or asked.column or asked.name


def _leaf_faults(asked: AxisAsked, columns: list[list[str]], where: str) -> Iterator[Fault]:
    leaves = list(zip(*columns, strict=True))
    blank = [at for at, leaf in enumerate(leaves, 1) if not all(label and label.strip() for label in leaf)]
    if blank:
        yield Fault(where, f"{rows_shown(blank)} of the domain file has no label", "every leaf needs one.")
        return
    first: dict[tuple[str, ...], int] = {}
    for at, leaf in enumerate(leaves, 1):
        if first.setdefault(leaf, at) != at:
            what = f"{rows_shown([first[leaf], at])} of the domain file are the same leaf"
            yield Fault(where, f"{what}, {shown('/'.join(leaf))}", "list every leaf once.")
            return
    yield from _short_codes(asked, columns[0], where)


def declared_domain_of(axes: Sequence[AxisAsked], folder: FilePath) -> Domain:
    """The domain of axes that are all declared; names those that are not."""
    found = declared(axes, folder)
    faults = []
    for name, axis in found.items():
        if axis is None:
            say = "without the source they are not known: list them as `categories`, or in a `domain` file."
            faults.append(
                Fault(f"table.axes.{name}", f"the labels of axis {shown(name)} are not declared", say)
            )
    if faults:
        raise RequestError(faults)
    return complete([axis for axis in found.values() if axis is not None])
