"""Bounds that cannot hold: among themselves, beside the facts, or for this table; said by name.

`public_conflict` looks at no count. `explain_broken` is asked when a table breaks a bound: where facts and
bounds alone are to blame it names an irreducible set of them, else the bound and some of the cells. The
only numbers in a message are those that the request itself has, and their sums.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from congenial.errors import Fault
from congenial.problems.demands import Conflict, Demand, Share
from congenial.problems.farkas import irreducible
from congenial.problems.structure import FREE, Fact, Forms, Limit, Structure

READ = "docs/how-to/conflicting-bounds.md"
_SHOWN = 3


def public_conflict(structure: Structure) -> tuple[Fault, ...]:
    """One fault, an irreducible set of bounds that no table of counts can meet; none where there is none.

    Facts have values that are not known here and demand nothing; counts are never negative.
    **Cost.** Nothing to speak of where a table of zeros, or one of large counts, meets all bounds;
    otherwise that of `irreducible`.
    """
    if _met_by_zeros(structure) or _met_by_large_counts(structure):
        return ()
    bounds = [_bound(limit) for limit in structure.limits]
    found = _small(bounds, [], _always(structure), structure.domain.cells)
    return () if found is None else (_fault(found, bounds),)


def explain_broken(
    structure: Structure, counts: NDArray[np.int64], broken: Sequence[Limit]
) -> tuple[Fault, ...]:
    """Why a table breaks bounds: a fault for each conflict with the facts, and for each bound left over.

    `broken` are the limits that `counts` break; that structural zeros are broken is found here. The values
    of facts decide which conflict there is, and stand in no message.
    """
    kept = [_bound(limit) for limit in structure.limits if limit not in broken]
    kept += [_fact(fact, counts) for fact in structure.facts]
    zeros, never_negative = _always(structure)
    always = [never_negative] if (counts >= 0).all() else []  # a released table may have counts below zero
    to_explain = [_bound(limit) for limit in broken]
    if counts[structure.zeros].any():
        to_explain.insert(0, zeros)
    else:
        always.append(zeros)
    faults = []
    while to_explain:
        found = _small(to_explain, kept, always, structure.domain.cells)
        if found is None:
            break
        blamed = [share.demand for share in found]
        faults.append(_fault(found, to_explain))
        to_explain = [demand for demand in to_explain if demand not in blamed]
    return (*faults, *(_broken(demand, counts) for demand in to_explain))


def _small(
    blamed: Sequence[Demand], others: Sequence[Demand], always: Sequence[Demand], cells: int
) -> Conflict | None:
    """An irreducible conflict, one of two demands (beside what always holds) where there is such a one."""
    found = irreducible([*blamed, *others, *always], cells)
    if found is None or len({share.demand for share in found} - set(always)) <= 2:
        return found
    for at, one in enumerate(blamed):
        for other in [*blamed[at + 1 :], *others]:
            pair = irreducible([one, other, *always], cells)
            if pair is not None:
                return pair
    return found


# --- demands


def _bound(limit: Limit) -> Demand:
    forms = limit.forms
    lower, upper = (np.full(forms.count, end, dtype=np.int64) for end in (limit.lower, limit.upper))
    return Demand("bound", _bound_name(limit), forms, lower, upper)


def _bound_name(limit: Limit) -> str:
    """The name of a bound with its numbers, which the name of a file of forms does not have."""
    name = limit.forms.name
    if limit.forms.groups is not None:
        return name
    ends = [f"at_least {limit.lower}"] if limit.lower > -FREE else []
    ends += [f"at_most {limit.upper}"] if limit.upper < FREE else []
    return " ".join([name, *ends])


def _fact(fact: Fact, counts: NDArray[np.int64]) -> Demand:
    lower = upper = fact.forms.sums(counts)
    if fact.band is not None:
        lower = (lower - 1) // fact.band * fact.band + 1
        upper = lower + fact.band - 1
    return Demand("fact", fact.forms.name, fact.forms, lower, upper)


def _always(structure: Structure) -> list[Demand]:
    """What holds without being asked for: cells that are zero by logic, and that counts are counts."""
    cells = structure.domain.cells
    each = np.arange(cells, dtype=np.int32)
    forms = Forms("cells", "bounds", cells, structure.domain.cell, each)
    low, high = np.full(cells, -FREE, dtype=np.int64), np.full(cells, FREE, dtype=np.int64)
    low[structure.zeros] = high[structure.zeros] = 0
    none, nothing = np.full(cells, FREE, dtype=np.int64), np.zeros(cells, dtype=np.int64)
    return [Demand("zeros", "zeros", forms, low, high), Demand("counts", "counts", forms, nothing, none)]


def _met_by_zeros(structure: Structure) -> bool:
    return all(limit.lower <= 0 <= limit.upper for limit in structure.limits)


def _met_by_large_counts(structure: Structure) -> bool:
    """Whether only lower ends ask for something, of sums of which each has a cell that may be large."""
    free = np.ones(structure.domain.cells, dtype=bool)
    free[structure.zeros] = False
    for limit in structure.limits:
        if limit.upper < FREE or limit.forms.groups is None:
            return False
        if limit.lower > 0:
            groups = limit.forms.groups[free]
            if not np.bincount(groups[groups >= 0], minlength=limit.forms.count).all():
                return False
    return True


# --- sentences


def _fault(conflict: Conflict, blamed: Sequence[Demand]) -> Fault:
    """A conflict as a person reads it, at the last of the demands that are to blame."""
    demands = list(dict.fromkeys(share.demand for share in conflict))
    asked = [demand for demand in demands if demand.kind != "counts"]
    main = [demand for demand in blamed if demand in asked][-1]
    others = [_called(demand) for demand in asked if demand is not main]
    what = f"{_called(main)} cannot hold"
    if others:
        what += f" together with {_listed(others)}"
    if len(asked) < len(demands):
        what += ", as no count is negative" if others else ": no count is negative"
    hint = "\n".join([*_reasons(conflict), _advice(conflict, main, demands)])
    return Fault(main.forms.where, what, hint, READ, main.forms.line)


def _called(demand: Demand) -> str:
    if demand.kind == "fact":
        return f"the fact '{demand.name}'"
    return "the cells that are zero by logic" if demand.kind == "zeros" else f"'{demand.name}'"


def _reasons(conflict: Conflict) -> list[str]:
    """What each bound asks for or leaves, in numbers of the request; what facts do, in words."""
    said = []
    for share in conflict:
        name = share.demand.name
        if share.demand.kind == "bound" and share.side == "lower":
            said.append(f"'{name}' asks for at least {share.total} over {_forms(share)}.")
        elif share.demand.kind == "bound":
            said.append(f"'{name}' leaves at most {share.total} over {_forms(share)}.")
        elif share.demand.kind == "zeros" and share.side == "upper":
            said.append(f"Zero by logic: {_forms(share)}.")
    facts = [share for share in conflict if share.demand.kind == "fact"]
    sides = {share.side for share in facts}
    has = (
        "does not fit"
        if len(sides) > 1
        else "has more than that"
        if "lower" in sides
        else "has less than that"
    )
    said += [
        f"The fact '{f.demand.name}' {has} at {_forms(f)}, and is to be published exactly." for f in facts
    ]
    return said


def _forms(share: Share) -> str:
    """Which forms, and how often where that is not once."""
    named = [
        (f"{many} × " if many != 1 else "") + share.demand.forms.label(form)
        for form, many in zip(share.forms[:_SHOWN].tolist(), share.times, strict=False)
    ]
    more = len(share.forms) - _SHOWN
    return "; ".join(named) + (f" and {more} more" if more > 0 else "")


def _advice(conflict: Conflict, main: Demand, demands: Sequence[Demand]) -> str:
    facts = [demand for demand in demands if demand.kind == "fact"]
    or_fact = "" if not facts else ", or drop the fact" if len(facts) == 1 else ", or drop a fact"
    if main.kind == "zeros":
        return f"Take cells out of `zeros`{or_fact}."
    if sum(demand.kind == "bound" for demand in demands) > 1:
        return f"Widen a bound or drop one{or_fact}."
    sides = {share.side for share in conflict if share.demand is main}
    verb = {"lower": "Lower", "upper": "Raise"}[sides.pop()] if len(sides) == 1 else "Widen"
    return f"{verb} the bound or drop it{or_fact}."


def _broken(demand: Demand, counts: NDArray[np.int64]) -> Fault:
    """A bound that this table breaks: where, never how far nor how often."""
    values = demand.forms.sums(counts)
    out = np.flatnonzero((values < demand.lower) | (values > demand.upper))
    some = "; ".join(demand.forms.label(int(form)) for form in out[:_SHOWN])
    others = " and others" if len(out) > _SHOWN else ""
    if demand.kind == "zeros":
        what = f"the table has counts in cells that are zero by logic: {some}{others}"
        hint = "Correct the table, or take these cells out of `zeros`."
    else:
        what = f"the table breaks the bound '{demand.name}' at {some}{others}"
        hint = (
            "A bound is a public statement about the true counts.\n"
            "Correct the table, widen the bound or drop it."
        )
    return Fault(demand.forms.where, what, hint, READ, demand.forms.line)


def _listed(words: Sequence[str]) -> str:
    return " and ".join([", ".join(words[:-1]), words[-1]]) if len(words) > 1 else words[0]
