"""What can be wrong with a request although every value in it is sound. No domain is needed here.

The reader of files calls `meaning_faults` on as much as could be read; a `Request` made in Python is
first looked through value by value (`values.py`), then in the same way.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import fsum

from congenial.errors import Fault
from congenial.laws import Law
from congenial.requests.grammar import OUTPUT_COLUMNS
from congenial.requests.model import (
    AxisSpec,
    Bound,
    Budget,
    Invariant,
    Measurement,
    Promise,
    TableSpec,
    Unit,
)
from congenial.tables.queries import RESERVED, Groups, Query

_SHARES_SUM_WITHIN = 1e-9


@dataclass
class Draft:
    """A request as far as it could be read; `broken` names the sections that have faults."""

    measurements: Sequence[Measurement] = ()
    invariants: Sequence[Invariant] = ()
    bounds: Sequence[Bound] = ()
    unit: Unit | None = None
    promise: Promise | None = None
    method: str | None = "condition"
    budget: Budget | None = None
    table: TableSpec | None = None
    broken: set[str] = field(default_factory=set)


def meaning_faults(draft: Draft) -> list[Fault]:
    """Everything that does not fit together."""
    return [
        *_method(draft),
        *_promise(draft),
        *_budget(draft),
        *_change(draft),
        *_limits(draft.bounds),
        *_records(draft),
        *([] if draft.table is None else axes_faults(draft.table.axes)),
    ]


def _method(draft: Draft) -> list[Fault]:
    found = []
    empty = not draft.measurements and "measurements" not in draft.broken
    if empty and draft.method != "suppress" and "method" not in draft.broken:
        hint = (
            "write {query: cells, law: discrete-laplace, epsilon: 0.5}, or method: suppress to say nothing."
        )
        found.append(Fault("measurements", "nothing is measured", hint))
    if draft.method == "none":
        kept = [name for name in ("invariants", "bounds") if getattr(draft, name) or name in draft.broken]
        if kept:
            what = f"method 'none' adds independent noise and cannot keep {' and '.join(kept)}"
            found.append(Fault("method", what, "write method: condition, or take them out of the request."))
    return found


def _promise(draft: Draft) -> list[Fault]:
    if "promise" in draft.broken:
        return []
    found: list[Fault] = []
    for measurement in draft.measurements:
        found += _law_under(draft.promise, measurement)
    shares = [m.law.share for m in draft.measurements if m.law.share is not None]
    whole = "measurements" not in draft.broken and len(shares) == len(draft.measurements)
    if draft.promise is not None and shares and whole and abs(fsum(shares) - 1) > _SHARES_SUM_WITHIN:
        what = f"the shares of the promise sum to {fsum(shares):.12g}"
        found.append(Fault("measurements", what, "they sum to one."))
    return found


def _law_under(promise: Promise | None, measurement: Measurement) -> list[Fault]:
    law, where = measurement.law, measurement.where
    if promise is None:
        if law.share is None:
            return []
        hint = f"write promise: {{{law.currency}: 1}}, or give the law its own {_scales(law)}."
        return [Fault(f"{where}.share", "a share needs a promise, and there is none", hint)]
    currency = "epsilon" if promise.epsilon is not None else "rho"
    name = "discrete-laplace" if law.currency == "epsilon" else "discrete-gaussian"
    if law.currency != currency:
        other = "discrete-gaussian" if name == "discrete-laplace" else "discrete-laplace"
        what = f"a promise in {currency} takes {other}, and this is {name}"
        return [Fault(f"{where}.law", what, f"change the law, or promise {law.currency}.")]
    given = [scale for scale in ("epsilon", "rho", "sigma") if getattr(law, scale, None) is not None]
    if given:
        what = f"{given[0]} stands beside a promise, which sets the scale"
        return [Fault(f"{where}.{given[0]}", what, "write share, the part of the promise that it gets.")]
    return []


def _scales(law: Law) -> str:
    return "epsilon" if law.currency == "epsilon" else "rho or sigma"


def _budget(draft: Draft) -> list[Fault]:
    if draft.budget is None or "promise" in draft.broken:
        return []
    currency = "epsilon" if draft.budget.epsilon is not None else "rho"
    spent = {m.law.currency for m in draft.measurements}
    if draft.promise is not None:
        spent = {"epsilon" if draft.promise.epsilon is not None else "rho"}
    if len(spent) == 1 and currency not in spent and "measurements" not in draft.broken:
        what = f"the budget is in {currency}, and the request spends {spent.pop()}"
        return [Fault("budget", what, "a ledger keeps one currency for a dataset.")]
    return []


def _change(draft: Draft) -> list[Fault]:
    if draft.unit is None or draft.unit.change != "add-or-remove":
        return []
    fixing = [i for i in draft.invariants if i.band is None and i.query and fixes_total(i.query)]
    if not fixing:
        return []
    what = f"'add-or-remove' cannot be where {fixing[0].where} fixes the total: nobody can come or go"
    return [Fault("unit.change", what, "write replace or any, or drop the fact.")]


def fixes_total(query: Query) -> bool:
    """Whether a query's values add up to the total, whatever the domain."""
    return query.is_cells or not any(isinstance(part, Groups) for _, part in query.parts)


def _limits(bounds: Sequence[Bound]) -> list[Fault]:
    """Public numbers that contradict each other on the same query."""
    found: list[Fault] = []
    least: dict[Query, Bound] = {}
    most: dict[Query, Bound] = {}
    for bound in bounds:
        if bound.query is None:
            continue
        if bound.at_least is not None and _tighter(bound.at_least, least.get(bound.query), 1):
            least[bound.query] = bound
        if bound.at_most is not None and _tighter(-bound.at_most, most.get(bound.query), -1):
            most[bound.query] = bound
    for query, low in least.items():
        high = most.get(query)
        if high and low.at_least is not None and high.at_most is not None and low.at_least > high.at_most:
            later, other = (low, high) if bounds.index(low) > bounds.index(high) else (high, low)
            what = f"at_least {low.at_least} and at_most {high.at_most} on {query.name} contradict each other"
            hint = "" if later is other else f"the other one is {other.where}."
            found.append(Fault(later.where, what, hint))
    return found


def _tighter(value: int, than: Bound | None, sign: int) -> bool:
    if than is None:
        return True
    other = than.at_least if sign > 0 else than.at_most
    return other is None or value > sign * other


def _records(draft: Draft) -> list[Fault]:
    """What rows that are records need, and what only they can have."""
    table = draft.table
    if table is None:
        return []
    found = []
    if table.counts is None:
        if draft.unit is None and "unit" not in draft.broken:
            hint = "write unit: {name: person, max_rows: 1}; or counts: COLUMN where rows are counts."
            found.append(Fault("unit", "'unit' is missing, and every row of the source is a record", hint))
        for axis in table.axes:
            if axis.categories is None and axis.domain is None and not axis.labels_from_source:
                what = f"axis '{axis.name}' of records has no declared labels"
                hint = (
                    "the labels that occur would reveal who is present: write categories or a domain file;\n"
                )
                hint += "labels: from-source allows it, and the release says so."
                found.append(Fault(f"table.axes.{axis.name}", what, hint))
        return found
    for axis in table.axes:
        if table.counts in (axis.levels or (axis.column or axis.name,)):
            what = f"axis '{axis.name}' reads column '{table.counts}', which holds the counts"
            found.append(Fault(f"table.axes.{axis.name}", what, "its labels would publish the counts."))
    if draft.unit is not None and draft.unit.column is not None:
        what = "rows that are counts cannot be checked against a unit's column"
        found.append(Fault("unit.column", what, "drop it, or drop counts where rows are records."))
    return found


def axes_faults(axes: Sequence[AxisSpec]) -> list[Fault]:
    """Names that cannot be, and declarations that exclude each other."""
    found: list[Fault] = []
    owner: dict[str, str] = {}
    for axis in axes:
        where = f"table.axes.{axis.name}"
        levels = axis.levels or tuple(name for name, _ in axis.prefixes)
        for name in dict.fromkeys((axis.name, *levels)):
            found += _name_faults(name, axis.name, where)
            if owner.setdefault(name, axis.name) != axis.name:
                what = f"'{name}' names something of axis '{owner[name]}' and of axis '{axis.name}'"
                found.append(
                    Fault(where, what, "names of axes and levels are columns of the output; rename one.")
                )
        found += _exclusive(axis, where)
    return found


def _name_faults(name: str, axis: str, where: str) -> list[Fault]:
    if name == axis and name in RESERVED:
        return [Fault(where, f"no axis may be called '{name}'", "it is a word of queries; rename the axis.")]
    if name in OUTPUT_COLUMNS:
        hint = "the output has a column of that name; rename it, and give its column with column:."
        return [Fault(where, f"no axis or level may be called '{name}'", hint)]
    if name == "all":
        return [Fault(where, "no axis or level may be called 'all'", "it means every category; rename it.")]
    return []


def _exclusive(axis: AxisSpec, where: str) -> list[Fault]:
    given = {
        "levels": bool(axis.levels),
        "prefixes": bool(axis.prefixes),
        "column": axis.column is not None,
        "categories": axis.categories is not None,
        "domain": axis.domain is not None,
        "labels": axis.labels_from_source,
    }
    why = {
        ("levels", "prefixes"): "levels are columns of their own, prefixes are cut from one column.",
        ("levels", "column"): "the levels are the columns.",
        ("levels", "categories"): "nested labels stand in a domain file, one column a level.",
        ("categories", "domain"): "labels are declared once.",
        ("categories", "labels"): "labels are declared, or taken from the source.",
        ("domain", "labels"): "labels are declared, or taken from the source.",
    }
    found = []
    for (one, other), hint in why.items():
        if given[one] and given[other]:
            what = f"axis '{axis.name}' has both '{one}' and '{other}'"
            found.append(Fault(f"{where}.{other}", what, hint))
    widths = [width for _, width in axis.prefixes]
    if any(wide >= wider for wide, wider in pairwise(widths)):
        hint = "write the coarsest level first, each longer than the one before."
        found.append(Fault(f"{where}.prefixes", "prefixes do not grow from level to level", hint))
    return found
