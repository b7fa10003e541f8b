"""The JSON Schema of a request, for editors and for whoever writes requests by program.

It says what form a request has; what a value means (that an axis exists, that shares sum to one) only
`read_request` can say. Scalars may come as text or as what YAML and JSON make of them.
"""

from __future__ import annotations

from typing import Any

from congenial.requests.grammar import (
    AXIS_KEYS,
    BOUND_KEYS,
    BUDGET_KEYS,
    CHANGES,
    CURRENCIES,
    INVARIANT_KEYS,
    LAWS,
    MEASUREMENT_KEYS,
    METHODS,
    REQUEST_KEYS,
    SCALES,
    TABLE_KEYS,
    UNIT_KEYS,
)
from congenial.tables.queries import RESERVED

Schema = dict[str, Any]

_SCALE = r"(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?"
_ABOVE_ZERO = rf"^\+?(?=[^eE]*[1-9]){_SCALE}$"


def json_schema() -> Schema:
    """The schema of a request, as plain values (JSON Schema, draft 2020-12)."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "congenial request, format 1",
        "description": "Measurements, invariants, bounds and method: what a curator asks for.",
        **_object(REQUEST_KEYS, _sections(), ("table",)),
        "if": {"required": ["method"], "properties": {"method": {"const": "suppress"}}},
        "else": {"required": ["measurements"], "properties": {"measurements": {"minItems": 1}}},
        "$defs": _definitions(),
    }


def _ref(name: str) -> Schema:
    return {"$ref": f"#/$defs/{name}"}


def _object(keys: tuple[str, ...], values: dict[str, Schema], needed: tuple[str, ...] = ()) -> Schema:
    """A mapping with these keys and no others; null stands for a key left out."""
    optional = {key: {"anyOf": [values[key], {"type": "null"}]} for key in keys if key not in needed}
    properties = {key: values[key] if key in needed else optional[key] for key in keys}
    found: Schema = {"type": "object", "properties": properties, "additionalProperties": False}
    return found | ({"required": list(needed)} if needed else {})


def _one_of(*keys: str) -> Schema:
    """Exactly one of these keys is given."""
    return {"oneOf": [{"required": [key], "properties": {key: {"not": {"type": "null"}}}} for key in keys]}


def _some_of(*keys: str) -> Schema:
    return {"anyOf": [{"required": [key], "properties": {key: {"not": {"type": "null"}}}} for key in keys]}


def _list(of: Schema, least: int = 1) -> Schema:
    return {"type": "array", "items": of, "minItems": least}


def _words(*words: str) -> Schema:
    return {"enum": list(words)}


def _sections() -> dict[str, Schema]:
    about = "Copied to manifest, ledger and report: title, period, contact, …"
    return {
        "congenial": {"description": "The version of the format.", "enum": [1, "1"]},
        "about": {"type": "object", "description": about},
        "table": _ref("table"),
        "unit": _ref("unit"),
        "promise": _ref("promise"),
        "measurements": _list(_ref("measurement"), 0),
        "invariants": _list(_ref("invariant"), 0),
        "bounds": _list(_ref("bound"), 0),
        "method": _words(*METHODS),
        "budget": _ref("budget"),
        "unproven": _words("refuse", "allow"),
    }


def _definitions() -> dict[str, Schema]:
    return {**_scalars(), **_tables(), **_queries(), **_promises(), **_lists()}


def _scalars() -> dict[str, Schema]:
    whole = {"type": "integer", "minimum": 1}
    return {
        "text": {"type": ["string", "number", "boolean"], "pattern": r"\S"},
        "label": {"type": ["string", "number", "boolean", "null"]},
        "path": {"type": "string", "pattern": r"\S", "description": "A file, relative to the request."},
        "above-zero": {
            "anyOf": [
                {"type": "number", "exclusiveMinimum": 0, "maximum": 1.7e308},
                {"type": "string", "pattern": _ABOVE_ZERO},
            ]
        },
        "share": {
            "anyOf": [
                {"type": "number", "exclusiveMinimum": 0, "maximum": 1},
                {"type": "string", "pattern": _ABOVE_ZERO},
            ]
        },
        "whole": {"anyOf": [{"type": "integer"}, {"type": "string", "pattern": r"^[+-]?\d+$"}]},
        "counting": {"anyOf": [whole, {"type": "string", "pattern": r"^\+?0*[1-9]\d*$"}]},
        "width": {
            "anyOf": [whole | {"minimum": 2}, {"type": "string", "pattern": r"^\+?0*([2-9]|[1-9]\d+)$"}]
        },
    }


def _tables() -> dict[str, Schema]:
    text = _ref("text")
    categories = _list(_ref("label"))
    axis = {
        "column": text,
        "levels": _list(text) | {"uniqueItems": True, "description": "Columns, coarse to fine."},
        "prefixes": {"type": "object", "minProperties": 1, "additionalProperties": _ref("counting")},
        "categories": categories | {"description": "The labels, in the order of the output."},
        "domain": _ref("path"),
        "labels": _words("from-source"),
    }
    clashes = [("levels", "prefixes"), ("levels", "column"), ("levels", "categories")]
    clashes += [("categories", "domain"), ("categories", "labels"), ("domain", "labels")]
    reserved = {"propertyNames": {"not": {"enum": [*sorted(RESERVED), "all", "count", "draw"]}}}
    one_axis = _object(AXIS_KEYS, axis) | {"allOf": [{"not": _both(*pair)} for pair in clashes]}
    axes = {"type": "object", "minProperties": 1, "additionalProperties": _ref("axis"), **reserved}
    table = {
        "source": {"type": "string", "pattern": r"\S"},
        "query": text | {"description": "A SELECT over the source."},
        "counts": text | {"description": "The column of counts; without it a row is a record."},
        "axes": axes,
        "encoding": text,
        "delimiter": {"anyOf": [{"type": "string", "maxLength": 1, "minLength": 1}, _DELIMITER_WORDS]},
    }
    return {
        "table": _object(TABLE_KEYS, table, ("source", "axes")),
        "axis": {"anyOf": [one_axis, {"enum": [None, ""]}]},
    }


_DELIMITER_WORDS = _words("tab", "\\t", "comma", "semicolon", "pipe")


def _both(one: str, other: str) -> Schema:
    given = {"not": {"type": "null"}}
    return {"required": [one, other], "properties": {one: given, other: given}}


def _queries() -> dict[str, Schema]:
    node = {"anyOf": [_ref("label"), _list(_ref("text"))]}
    groups = {"type": "object", "minProperties": 1, "additionalProperties": _list(node)}
    not_reserved = {"not": {"enum": sorted(RESERVED)}}
    axes = {
        "type": "object",
        "minProperties": 1,
        "propertyNames": not_reserved,
        "additionalProperties": {"anyOf": [_ref("text"), groups]},
    }
    cell = {"type": "object", "minProperties": 1, "additionalProperties": node}
    return {
        "query": {
            "description": "cells, total, an axis, a list of axes, or a mapping from axis to level or groups",
            "anyOf": [_ref("text"), _list({"allOf": [_ref("text"), not_reserved]}), axes],
        },
        "forms": {"anyOf": [_ref("path"), _list(cell | {"required": ["weight"]})]},
        "zeros": {
            "anyOf": [
                _ref("path"),
                _list(cell),
                {"type": "object", "minProperties": 1, "additionalProperties": _list(node)},
            ]
        },
    }


def _promises() -> dict[str, Schema]:
    amounts = dict.fromkeys(CURRENCIES, _ref("above-zero"))
    text = _ref("text")
    unit = {
        "name": text,
        "max_rows": _ref("counting"),
        "change": _words(*CHANGES),
        "column": text,
        "over": _words("refuse", "drop"),
    }
    budget = {"ledger": _ref("path"), "dataset": text, **amounts}
    drop = {"required": ["over"], "properties": {"over": {"const": "drop"}}}
    return {
        "unit": _object(UNIT_KEYS, unit) | {"if": drop, "then": {"required": ["column"]}},
        "promise": _object(CURRENCIES, amounts) | _one_of(*CURRENCIES),
        "budget": _object(BUDGET_KEYS, budget, ("ledger", "dataset")) | _one_of(*CURRENCIES),
    }


def _lists() -> dict[str, Schema]:
    query, text, whole = _ref("query"), _ref("text"), _ref("whole")
    scales = dict.fromkeys(SCALES, _ref("above-zero"))
    measured = {"query": query, "law": _words(*LAWS), **scales, "share": _ref("share")}
    fact = {"query": query, "forms": _ref("forms"), "band": _ref("width"), "name": text}
    bound = {"query": query, "forms": _ref("forms"), "zeros": _ref("zeros"), "name": text}
    limits = {"at_least": whole, "at_most": whole}
    measurement = _object(MEASUREMENT_KEYS, measured, ("query", "law"))
    long_fact = _object(INVARIANT_KEYS, fact) | _one_of("query", "forms")
    long_bound = _object(BOUND_KEYS, {**bound, **limits}) | _one_of("query", "forms", "zeros")
    limited = {
        "if": _some_of("zeros"),
        "then": {"not": _some_of("at_least", "at_most")},
        "else": _some_of("at_least", "at_most"),
    }
    return {
        "measurement": measurement | {"allOf": [_scale_of(law) for law in LAWS]} | _one_of(*SCALES, "share"),
        "invariant": {"anyOf": [query, long_fact]},
        "bound": {"anyOf": [{"const": "nonnegative"}, {"allOf": [long_bound, limited]}]},
    }


def _scale_of(law: str) -> Schema:
    others = [scale for scale in SCALES if scale not in LAWS[law]]
    named = {"required": ["law"], "properties": {"law": {"const": law}}}
    return {"if": named, "then": {"not": _some_of(*others)}}
