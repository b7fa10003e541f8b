"""The words of a request: its keys, and its queries held against the axes that it declares itself.

The key tables are read by the readers and by the JSON Schema, so that the two cannot differ.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches

from congenial.errors import Fault, RequestError, nearest
from congenial.requests.fields import Reader
from congenial.requests.nodes import Keys, Node, plain
from congenial.tables.domain import Axis, Domain
from congenial.tables.queries import RESERVED, AtLevel, Groups, Part, Query, as_query, partition

REQUEST_KEYS = (
    "congenial",
    "about",
    "table",
    "unit",
    "promise",
    "measurements",
    "invariants",
    "bounds",
    "method",
    "budget",
    "unproven",
)
TABLE_KEYS = ("source", "query", "counts", "axes", "encoding", "delimiter")
AXIS_KEYS = ("column", "levels", "prefixes", "categories", "domain", "labels")
UNIT_KEYS = ("name", "max_rows", "change", "column", "over")
CURRENCIES = ("epsilon", "rho")
BUDGET_KEYS = ("ledger", "dataset", *CURRENCIES)
LAWS: Mapping[str, tuple[str, ...]] = {
    "discrete-laplace": ("epsilon",),
    "discrete-gaussian": ("rho", "sigma"),
}
"""Each law and the scales that name it, one at a time."""
SCALES = ("epsilon", "rho", "sigma")
MEASUREMENT_KEYS = ("query", "law", *SCALES, "share")
INVARIANT_KEYS = ("query", "forms", "band", "name")
BOUND_KEYS = ("query", "forms", "zeros", "at_least", "at_most", "name")
METHODS = ("condition", "none", "suppress")
PROJECTIONS = ("l2", "l1", "topdown", "multinomial-mode")
CHANGES = ("any", "replace", "add-or-remove")
OUTPUT_COLUMNS = ("draw", "count")
"""Columns beside the axes in what `release` and `simulate` write."""


@dataclass
class KnownAxes:
    """The axes as far as the request itself says: names always, levels and labels where declared."""

    levels: Mapping[str, tuple[str, ...] | None]
    """Level names by axis; None where they could not be read."""
    axes: dict[str, Axis] = field(default_factory=dict)
    """The axes whose labels are declared."""
    domain: Domain | None = None
    """The domain, where the labels of every axis are declared."""


def stands_long(node: Node, keys: Sequence[str], known: KnownAxes | None) -> bool:
    """Whether an item of a list is `{query: …}` or the like, and not a bare query.

    `query`, `forms` and `zeros` cannot be axes, so they decide; otherwise a mapping that names no
    axis, and looks as if it were meant so, is read as the long form with that key misspelt or missing.
    """
    if not isinstance(node, Keys) or not node.entries:
        return False
    if any(name in RESERVED for name in node.names):
        return True
    if known is not None and any(name in known.levels for name in node.names):
        return False
    near = get_close_matches
    words = [key for key in keys if key in RESERVED]
    return any(name in keys or near(name, words, n=1, cutoff=0.75) for name in node.names)


def read_query(reader: Reader, node: Node | None, where: str, known: KnownAxes | None) -> Query | None:
    """A query, held against what is known of the axes; None where it has a fault."""
    if node is None:
        return None
    try:
        query = as_query(plain(node), where)
    except RequestError as error:
        reader.faults += error.faults
        return None
    faults = [] if known is None else query_faults(query, known, where)
    if isinstance(node, Keys):
        faults = [_nearer(fault, node, where) for fault in faults]
    reader.faults += faults
    return None if faults else query


def query_faults(query: Query, known: KnownAxes, where: str) -> list[Fault]:
    """Unknown axes, levels and labels of a query, as far as the request itself can tell."""
    faults: list[Fault] = []
    for name, part in query.parts:
        if name not in known.levels:
            names = list(known.levels)
            say = f"the axes are {', '.join(names)}. {nearest(name, [*names, 'cells', 'total'])}".rstrip()
            faults.append(Fault(where, f"unknown axis '{name}'", say))
        elif name in known.axes:
            faults += _part_faults(known.axes[name], part, where)
        elif isinstance(part, AtLevel):
            faults += _level_faults(name, known.levels[name], part, where)
    return faults


def _part_faults(axis: Axis, part: Part, where: str) -> list[Fault]:
    if not isinstance(part, Groups):  # a whole level needs no look at its labels
        return _level_faults(axis.name, axis.level_names, part, where) if isinstance(part, AtLevel) else []
    try:
        partition(Domain((axis,)), Query(((axis.name, part),)), where)
    except RequestError as error:
        return list(error.faults)
    return []


def _level_faults(axis: str, levels: tuple[str, ...] | None, part: AtLevel, where: str) -> list[Fault]:
    if levels is None or part.level in levels:
        return []
    say = f"its levels are {', '.join(levels)}. {nearest(part.level, [*levels, 'all'])}".rstrip()
    return [Fault(where, f"unknown level '{part.level}' of axis '{axis}'", say)]


def _nearer(fault: Fault, node: Keys, where: str) -> Fault:
    """The fault with the line of the axis that it speaks of; its path stays that of the query."""
    named = [key for key, _ in node.entries if f"axis '{key.text}'" in fault.what]
    return replace(fault, line=named[0].line) if named and fault.where == where else fault
