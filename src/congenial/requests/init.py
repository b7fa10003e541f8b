"""A first request for a file: its axes, its labels and one measurement, for the curator to check.

What columns are is guessed (`tables/inspection.py`); which of them are needed is worked out here. No
count and no number of rows stands in what is written, but labels do: they become public with a release,
and the comments say so.
"""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path as FilePath

from congenial.errors import Fault, MachineError, OutputError
from congenial.requests.grammar import OUTPUT_COLUMNS
from congenial.requests.yaml_out import flow, natural, scalar
from congenial.tables.domain import Path
from congenial.tables.queries import RESERVED
from congenial.tables.sources import Inspected, inspect_source

INLINE = 40
"""Up to so many labels stand in the request itself; more go to a domain file beside it."""

_MOST_CELLS = 1_000_000  # of records: axes beyond that are left to the curator
_MOST_LABELS = 1_000  # of one axis of records: more look like names or numbers, not categories
_TAKEN = {*RESERVED, *OUTPUT_COLUMNS, "all", "weight", "form"}


@dataclass(frozen=True)
class Proposal:
    """An axis as a first request could have it: columns, nested or one, or a code with prefixes."""

    name: str
    columns: tuple[str, ...]
    labels: int
    """How many leaves it has, at most."""
    prefixes: tuple[tuple[str, int], ...] = ()

    @property
    def is_flat(self) -> bool:
        return len(self.columns) == 1 and not self.prefixes


def write_request(
    source: str | os.PathLike[str], out: str | os.PathLike[str] | None = None, *, force: bool = False
) -> str:
    """Write a commented request for `source` that plans as it stands, and return its text.

    Long lists of labels and hierarchies go to domain files beside `out` (or in the current folder,
    where nothing but these is written). A file that exists is an `OutputError`, unless `force` is set.
    """
    path = FilePath(source)
    target = None if out is None else FilePath(out)
    folder = FilePath() if target is None else target.parent
    found = inspect_source(path)
    axes = _chosen(found, path)
    stem = (target or path).name.partition(".")[0]
    files = {a.name: f"{stem}.{_plain(a.name)}.csv" for a in axes if not a.is_flat or a.labels > INLINE}
    labels = {axis.name: _labels(path, axis) for axis in axes}
    text = _text(found, _from(path, folder), axes, labels, files)
    written = {folder / files[a.name]: _table(a, labels[a.name]) for a in axes if a.name in files}
    if target is not None:
        written[target] = text
    _write(written, force)
    return text


def _chosen(found: Inspected, path: FilePath) -> list[Proposal]:
    """The axes to begin with: for counts as few as tell the rows apart, for records what is no identity."""
    proposals = _proposals(found)
    if found.counts is None:
        kept: list[Proposal] = []
        for axis in proposals:
            tells_apart = axis.labels == found.rows > 2  # as an identity does
            many = axis.labels > _MOST_LABELS or prod(a.labels for a in [*kept, axis]) > _MOST_CELLS
            if not tells_apart and not many:
                kept.append(axis)
        proposals = kept
    else:
        for axis in reversed(proposals):
            rest = [other for other in proposals if other is not axis]
            if rest and len(_distinct(path, rest)) == found.rows:
                proposals = rest
    if not proposals:
        what = f"{path.name} has no column that could be an axis"
        hint = "an axis is a column of labels without gaps; write the request by hand, with a query: over it."
        raise OutputError(Fault("", what, hint))
    return proposals


def _proposals(found: Inspected) -> list[Proposal]:
    """Every axis that the columns offer, in their order; names differ, and mean nothing in a query."""
    names = [column.name for column in found.columns]
    taken = set(_TAKEN)
    offers: list[tuple[int, Proposal]] = []

    def offer(name: str, columns: tuple[str, ...], prefixes: tuple[tuple[str, int], ...] = ()) -> None:
        own = name
        while own in taken:
            own += "_"
        taken.update((own, *(columns if len(columns) > 1 else ()), *dict(prefixes)))
        labels = found.column(columns[-1]).labels
        offers.append((names.index(columns[0]), Proposal(own, columns, labels, prefixes)))

    flat = list(found.axes)
    for column, prefixes in found.codes:
        if taken.isdisjoint(dict(prefixes)) and not set(dict(prefixes)) & {*flat}:
            offer("place", (column,), prefixes)
        else:
            flat.append(column)
    for levels in found.hierarchies:
        if taken.isdisjoint(levels):
            offer("place" if "place" not in names else "group", levels)
        else:
            flat += levels
    for column in flat:
        offer(column, (column,))
    return [proposal for _, proposal in sorted(offers, key=lambda pair: pair[0])]


def _distinct(path: FilePath, axes: Iterable[Proposal]) -> Sequence[Path]:
    from congenial.tables.inspection import labels_of

    return labels_of(path, [column for axis in axes for column in axis.columns])


def _labels(path: FilePath, axis: Proposal) -> list[Path]:
    return sorted(_distinct(path, [axis]), key=lambda labels: [natural(label) for label in labels])


def _text(
    found: Inspected,
    source: str,
    axes: Sequence[Proposal],
    labels: dict[str, list[Path]],
    files: dict[str, str],
) -> str:
    """The request with its comments."""
    records = found.counts is None
    used = {column for axis in axes for column in axis.columns} | {found.counts}
    unused = [column.name for column in found.columns if column.name not in used]
    why = dict.fromkeys(unused, "rows are told apart without it") | dict(found.left_out)
    lines = [
        "# A first request, written by `congenial init`. Check every line before you release anything.",
        "congenial: 1",
        "about:",
        f"  title: {scalar(FilePath(source).name.partition('.')[0] or source)}",
        "",
        "table:",
        f"  source: {scalar(source)}",
    ]
    if found.encoding not in (None, "utf-8", "ascii"):
        lines.append(f"  encoding: {scalar(str(found.encoding))}")
    lines += _rows_are(found)
    lines += ["  axes:", *_about_labels(records)]
    for axis in axes:
        lines.append(f"    {scalar(axis.name)}: {_axis(axis, labels[axis.name], files.get(axis.name))}")
    lines += [f"    # not used: {_one_line(name)} ({_one_line(why[name])})" for name in unused]
    return "\n".join([*lines, "", *_rest(records, axes)]) + "\n"


def _rows_are(found: Inspected) -> list[str]:
    if found.counts is not None:
        return [f"  counts: {scalar(found.counts)}   # each row is a count; without this line, a record"]
    return ["  # Each row is taken as one record. If a column holds counts, name it: `counts: COLUMN`."]


def _about_labels(records: bool) -> list[str]:
    if not records:
        return [
            "    # These labels were read from the source, and the list becomes public. Check that it is the",
            "    # list you would have written without looking: add what is missing, drop what strays.",
        ]
    return [
        "    # !!! CHECK THESE LABELS. They were read from the records, and the list becomes public: a label",
        "    # !!! that is there because one person has it says that this person is in the data. Replace it",
        "    # !!! by the list that you would have written without looking at the records.",
    ]


def _axis(axis: Proposal, labels: Sequence[Path], file: str | None) -> str:
    parts = []
    if axis.prefixes:
        widths = ", ".join(f"{scalar(level)}: {width}" for level, width in axis.prefixes)
        parts += [f"column: {scalar(axis.columns[0])}", f"prefixes: {{{widths}}}"]
    elif len(axis.columns) > 1:
        parts.append(f"levels: {flow(axis.columns)}")
    elif axis.name != axis.columns[0]:
        parts.append(f"column: {scalar(axis.columns[0])}")
    if file is None:
        parts.append(f"categories: {flow([path[0] for path in labels])}")
    else:
        parts.append(f"domain: {scalar(file)}")
    return "{" + ", ".join(parts) + "}"


def _rest(records: bool, axes: Sequence[Proposal]) -> list[str]:
    first = axes[0]
    level = first.prefixes[0][0] if first.prefixes else first.columns[0]
    fact = scalar(first.name) if first.is_flat else f"{{{scalar(first.name)}: {scalar(level)}}}"
    why = "needed for records" if records else "taken for granted if it is left out"
    return [
        f"# Who the promise is about, and how many rows one of them can make up ({why}).",
        "unit: {name: person, max_rows: 1}",
        "",
        "# What is published with noise: here every cell, each losing epsilon for a count moved by one.",
        "measurements:",
        "  - {query: cells, law: discrete-laplace, epsilon: 0.5}",
        "",
        "# What must be published exactly. Every line costs protection; `congenial plan` says what.",
        "invariants:",
        "#  - total",
        f"#  - {fact}",
        "",
        "# What everybody knows of the true counts without looking at them.",
        "bounds:",
        "#  - nonnegative",
    ]


def _one_line(text: str) -> str:
    """Text of a source as a comment can hold it."""
    return " ".join("".join(sign if sign.isprintable() else " " for sign in text).split())


def _plain(name: str) -> str:
    """An axis's name as part of a file's."""
    return "".join(sign if sign.isalnum() or sign in "-_" else "_" for sign in name) or "axis"


def _table(axis: Proposal, labels: Sequence[Path]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(axis.columns)
    writer.writerows(labels)
    return text.getvalue()


def _from(path: FilePath, folder: FilePath) -> str:
    """The source as the request names it: relative to the request where that can be."""
    try:
        return FilePath(os.path.relpath(path, folder)).as_posix()
    except ValueError:  # another drive
        return path.absolute().as_posix()


def _write(files: dict[FilePath, str], force: bool) -> None:
    """Write all files, or none where one exists."""
    there = [path for path in files if path.exists()]
    if there and not force:
        names = ", ".join(path.name for path in there)
        hint = "name another file with --out, or write over it with --force."
        raise OutputError(Fault("", f"{names} exists already", hint))
    for path, text in files.items():
        if not path.parent.is_dir():
            raise OutputError(
                Fault("", f"there is no folder {path.parent.name!r} to write to", "make it first.")
            )
        try:
            path.write_text(text, encoding="utf-8", newline="")
        except OSError:
            what = f"{path.name} cannot be written"
            raise MachineError(Fault("", what, "may you write there, and is there room?")) from None
