"""Which tables a statement compares, as a canonical text: facts, bounds, unit and change.

Facts that another fact implies are left out. A query whose name does not say which cells it groups, and
forms from a file, carry a digest of what they are, so that two definitions under one name stay apart.
All of it is public.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from congenial.privacy.composition import TableClass
from congenial.privacy.partitions import refines
from congenial.privacy.reading import Family
from congenial.problems.structure import FREE, Fact, Forms, Structure
from congenial.requests.model import Change, Unit
from congenial.tables.domain import Domain


def table_class(structure: Structure, unit: Unit, units: int, change: Change) -> TableClass:
    """The tables that a guarantee about `units` units compares."""
    facts = [_fact(fact, structure.domain) for fact in _needed(structure.facts)]
    if len(structure.zeros):
        facts.append({"zeros": len(structure.zeros), "cells": _digest(structure.zeros)})
    bounds = []
    for limit in structure.limits:
        said = _named(limit.forms, structure.domain)
        sides = {"at_least": limit.lower, "at_most": limit.upper}
        bounds.append(said | {key: int(value) for key, value in sides.items() if abs(value) < FREE})
    return TableClass.of(facts, bounds, units=units, unit=unit.name, max_rows=unit.max_rows, change=change)


def _needed(facts: Sequence[Fact]) -> list[Fact]:
    """The facts without those that a finer one implies, and without repetition."""
    kept: list[Fact] = []
    for at, fact in enumerate(facts):
        others = [other for i, other in enumerate(facts) if i != at and other.band is None]
        if fact.band is None:
            others = [o for o in others if not _implies(fact.forms, o.forms) or facts.index(o) < at]
        if not any(_implies(other.forms, fact.forms) for other in others):
            kept.append(fact)
    return kept


def _implies(fine: Forms, coarse: Forms) -> bool:
    """Whether every group of `coarse` is made of whole groups of `fine`."""
    if fine.groups is None or coarse.groups is None or fine.count < coarse.count:
        return False
    if fine.groups is coarse.groups:
        return True
    if bool(((coarse.groups >= 0) & (fine.groups < 0)).any()):
        return False
    return refines(Family("", fine.count, fine.groups), Family("", coarse.count, coarse.groups))


def _fact(fact: Fact, domain: Domain) -> Any:
    said = _named(fact.forms, domain)
    if fact.band is not None and fact.band > 1:
        return said | {"band": fact.band}
    return said["query"] if said.keys() == {"query"} else said


def _named(forms: Forms, domain: Domain) -> dict[str, Any]:
    if forms.groups is not None and _is_plain(forms.name, domain):
        return {"query": forms.name}
    key = "query" if forms.groups is not None else "forms"
    parts = [forms.groups] if forms.groups is not None else [forms.starts, forms.cells, forms.weights]
    return {key: forms.name, "cells": _digest(*(np.asarray(part) for part in parts))}


def _digest(*parts: np.ndarray[Any, Any]) -> str:
    made = hashlib.sha256()
    for part in parts:
        made.update(np.ascontiguousarray(part, dtype="<i8").tobytes())
    return made.hexdigest()[:16]


def _is_plain(name: str, domain: Domain) -> bool:
    """Whether a query's name says which cells it groups: axes, and levels of axes."""
    if name in ("cells", "total", "nonnegative", *domain.names):
        return True
    inner = name[1:-1].split(", ")
    if name.startswith("["):
        return all(axis in domain.names for axis in inner)
    if not name.startswith("{"):
        return False
    for part in inner:
        axis = domain.axis(part.partition(": ")[0])
        if axis is None or part.partition(": ")[2] not in ("all", *axis.level_names):
            return False
    return True
