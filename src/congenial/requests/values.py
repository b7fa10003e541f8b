"""Python values of a request held to account: types and ranges, all faults at once.

A file's values are read by `sections.py` and `items.py`; here the same is asked of objects.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import isfinite
from numbers import Integral, Real
from typing import Any

from congenial.errors import Fault, RequestError
from congenial.requests.checks import Draft, meaning_faults
from congenial.requests.fields import LARGEST, one_of, shown
from congenial.requests.grammar import CHANGES, METHODS
from congenial.requests.model import Bound, Budget, FormsFile, Invariant, Measurement, Promise, Request, Unit


def settled(request: Request) -> dict[str, Any]:
    """The fields of a request as they are kept: tuples, numbered paths, text in `about`.

    Raises a `RequestError` with all faults.
    """
    faults: list[Fault] = []
    kept: dict[str, Any] = {}
    kinds = {"measurements": Measurement, "invariants": Invariant, "bounds": Bound}
    for name, kind in kinds.items():
        items = []
        given = getattr(request, name)
        listed = given if isinstance(given, Sequence) and not isinstance(given, str) else (given,)
        for at, item in enumerate(listed):
            where = f"{name}[{at}]"
            if isinstance(item, kind):
                items.append(_placed(item, where))
            else:
                example = {"measurements": "cg.measure(…)", "invariants": "cg.total()"}.get(
                    name, "cg.nonnegative()"
                )
                what = f"{type(item).__name__} is not one of the {name}"
                faults.append(Fault(where, what, f"write {example} or the like."))
        kept[name] = tuple(items)
    kept["about"] = _as_text(request.about, "about", faults)
    faults += _value_faults(request, kept)
    if not faults:
        unit = None if request.unit.assumed and request.table is not None else request.unit
        fields = {key: getattr(request, key) for key in ("promise", "method", "budget", "table")}
        faults = meaning_faults(Draft(**{key: kept[key] for key in kinds}, unit=unit, **fields))
    if faults:
        raise RequestError(faults)
    return kept


def _placed(item: Any, where: str) -> Any:
    """The item with its path; forms and what is said of them have one name."""
    forms = getattr(item, "forms", None)
    if not isinstance(forms, FormsFile):
        return replace(item, where=where)
    name = item.name or forms.name
    return replace(item, where=where, name=name, forms=replace(forms, name=name))


def _value_faults(request: Request, kept: Mapping[str, Any]) -> list[Fault]:
    found: list[Fault] = []
    unit, promise, budget = request.unit, request.promise, request.budget
    if not isinstance(unit, Unit):
        found.append(
            Fault("unit", f"{type(unit).__name__} is not a unit", 'write cg.Unit("person", max_rows=1).')
        )
    else:
        found += unit_faults(unit)
    found += _currency_faults(promise, Promise, "promise", "cg.Promise(epsilon=1)")
    found += _currency_faults(budget, Budget, "budget", "cg.Budget(path, dataset, epsilon=4)")
    if request.method not in METHODS:
        say = f"methods are {one_of(METHODS)}; projections are not built yet."
        found.append(Fault("method", f"unknown method {shown(str(request.method))}", say))
    if request.unproven not in ("refuse", "allow"):
        found.append(Fault("unproven", f"{shown(str(request.unproven))} is neither refuse nor allow"))
    for bound in kept["bounds"]:
        found += _bound_faults(bound)
    for invariant in kept["invariants"]:
        found += _invariant_faults(invariant)
    return found


def unit_faults(unit: Unit) -> list[Fault]:
    """What cannot be of a unit."""
    found = []
    if not isinstance(unit.name, str) or not unit.name.strip():
        found.append(Fault("unit.name", "the unit has no name", "such as person or household."))
    if not _is_whole(unit.max_rows) or unit.max_rows < 1:
        found.append(
            Fault("unit.max_rows", f"max_rows is {unit.max_rows!r}", "write a whole number, at least 1.")
        )
    if unit.change not in CHANGES:
        found.append(Fault("unit.change", f"unknown change {unit.change!r}", f"write {one_of(CHANGES)}."))
    if unit.over not in ("refuse", "drop"):
        found.append(Fault("unit.over", f"unknown value {unit.over!r}", "write refuse or drop."))
    if unit.over == "drop" and unit.column is None:
        hint = "name the column that tells units apart."
        found.append(Fault("unit.over", "'over: drop' needs the unit's column", hint))
    return found


def _currency_faults(value: Any, kind: type, where: str, example: str) -> list[Fault]:
    if value is None:
        return []
    if not isinstance(value, kind):
        return [Fault(where, f"{type(value).__name__} is not a {where}", f"write {example}.")]
    given = [key for key in ("epsilon", "rho") if getattr(value, key) is not None]
    if len(given) != 1:
        said = "both epsilon and rho" if given else "neither epsilon nor rho"
        return [Fault(where, f"the {where} says {said}", "write one of them.")]
    number = getattr(value, given[0])
    if isinstance(number, bool) or not isinstance(number, Real):
        return [Fault(f"{where}.{given[0]}", f"{given[0]} is {number!r}, which is not a number")]
    if not isfinite(number) or number <= 0:
        return [Fault(f"{where}.{given[0]}", f"{given[0]} is {number!r}", "it is above zero and finite.")]
    return []


def _bound_faults(bound: Bound) -> list[Fault]:
    kinds = [bound.query, bound.forms, bound.zeros]
    if sum(kind is not None for kind in kinds) != 1:
        return [Fault(bound.where, "a bound is on one of query, forms and zeros")]
    limits = [limit for limit in (bound.at_least, bound.at_most) if limit is not None]
    if bound.zeros is not None:
        return [Fault(bound.where, "zeros take no at_least or at_most")] if limits else []
    if not limits:
        return [Fault(bound.where, "the bound has no limit", "write at_least, at_most or both.")]
    if any(not _is_whole(limit) or abs(limit) > LARGEST for limit in limits):
        return [Fault(bound.where, "a limit is not a whole number below 2^62")]
    if len(limits) == 2 and limits[0] > limits[1] and bound.forms is not None:
        return [Fault(bound.where, f"at_least {limits[0]} and at_most {limits[1]} contradict each other")]
    return []


def _invariant_faults(invariant: Invariant) -> list[Fault]:
    if (invariant.query is None) == (invariant.forms is None):
        return [Fault(invariant.where, "a fact is one of query and forms")]
    band = invariant.band
    if band is not None and (not _is_whole(band) or not 2 <= band <= LARGEST):
        return [Fault(f"{invariant.where}.band", f"band is {band!r}", "a whole number, at least 2.")]
    return []


def _is_whole(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)


def _as_text(value: Any, where: str, faults: list[Fault], depth: int = 0) -> Any:
    """`about` with every value as text, in lists and mappings as they were."""
    if isinstance(value, Mapping) and depth < 20:
        return {str(key): _as_text(item, f"{where}.{key}", faults, depth + 1) for key, item in value.items()}
    if not depth:
        faults.append(
            Fault(where, f"{type(value).__name__} is not a mapping", "such as {'title': 'Counties'}.")
        )
        return {}
    if isinstance(value, list | tuple) and depth < 20:
        return [_as_text(item, f"{where}[{at}]", faults, depth + 1) for at, item in enumerate(value)]
    named: dict[Any, str] = {True: "true", False: "false", None: "null"}
    return named[value] if value is None or isinstance(value, bool) else str(value)
