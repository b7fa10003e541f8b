"""Tables from frames: pandas, polars, pyarrow or a DuckDB relation, through narwhals.

A frame's columns become text as DuckDB writes it, so that a frame and the file it came from give the
same labels.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from pathlib import Path as FilePath
from typing import Any

from congenial.errors import ArgumentError, CongenialError, Fault, SourceError
from congenial.tables.connections import quiet
from congenial.tables.domain import Axis, Domain, Path
from congenial.tables.labels import declared
from congenial.tables.naming import near, shown
from congenial.tables.rows import of_arrow
from congenial.tables.specs import FrameAxis, UnitAsked
from congenial.tables.tallies import Tally, refuse_undeclared_records, tallied

AxesGiven = Iterable[object] | Mapping[str, object]
Labels = Mapping[str, Sequence[str | Path]]

_GRAMMAR = (
    "write a list of columns, or a mapping from axis to its column, to its levels coarse to fine, or to\n"
    "{'column': …, 'levels': […], 'prefixes': {…}, 'categories': […], 'domain': file}."
)


def read_frame(
    frame: object,
    axes: AxesGiven,
    counts: str | None,
    *,
    categories: Labels | None,
    domain: Domain | None,
    labels_from_source: bool,
    unit: UnitAsked | None,
) -> Tally:
    """Tabulate a frame of counts, or of records where `counts` is None."""
    asked = axes_given(axes, categories or {}, labels_from_source)
    if counts is not None and unit is not None and unit.column is not None:
        raise ArgumentError(
            Fault("unit.column", "units are told by a column of records, and these rows are counts")
        )
    if domain is None:
        found = declared(asked, FilePath(), where="axes")
    else:
        found = {axis.name: _from_domain(axis, domain) for axis in asked}
    if counts is None:
        refuse_undeclared_records(asked, found, "axes", "`labels_from_source=True`")
    wanted = {axis.column or axis.name for axis in asked if not axis.levels}
    wanted |= {name for axis in asked for name in (*axis.levels, axis.column) if axis.levels and name}
    wanted |= {name for name in (counts, unit.column if unit else None) if name}
    with of_arrow(_arrow(frame, wanted)) as rows:
        return tallied(rows, asked, found, counts, unit)


def axes_given(axes: AxesGiven, categories: Labels, labels_from_source: bool = False) -> list[FrameAxis]:
    """The axes that `Table.from_frame` was given: names, mappings from name to levels, or both mixed."""
    given: list[tuple[object, object]] = []
    if isinstance(axes, str) or not isinstance(axes, Iterable):
        raise ArgumentError(Fault("axes", f"{axes!r} does not say what the axes are", _GRAMMAR))
    for one in [axes] if isinstance(axes, Mapping) else axes:
        given += list(one.items()) if isinstance(one, Mapping) else [(one, None)]
    made = [_axis(name, how, categories, labels_from_source) for name, how in given]
    names = [axis.name for axis in made]
    for name in categories:
        if name not in names:
            say = f"the axes are {', '.join(names)}. {near(name, names)}"
            raise ArgumentError(Fault("categories", f"there is no axis {shown(name)}", say))
    return made


def _axis(name: object, how: object, categories: Labels, labels_from_source: bool) -> FrameAxis:
    if isinstance(name, FrameAxis):
        return name
    if not isinstance(name, str):
        raise ArgumentError(Fault("axes", f"{name!r} is not the name of an axis", _GRAMMAR))
    said: dict[str, Any] = {"labels_from_source": labels_from_source}
    if name in categories:
        said["categories"] = _labels(name, categories[name])
    if isinstance(how, str):
        said["column"] = how
    elif isinstance(how, Mapping):
        said |= _details(name, how)
    elif isinstance(how, Sequence):
        said["levels"] = tuple(how)
    elif how is not None:
        raise ArgumentError(
            Fault(f"axes.{name}", f"{how!r} does not say where the axis is read from", _GRAMMAR)
        )
    if not all(isinstance(level, str) for level in said.get("levels", ())):
        raise ArgumentError(Fault(f"axes.{name}", "levels are the names of columns", _GRAMMAR))
    return FrameAxis(name, **said)


def _details(name: str, how: Mapping[str, Any]) -> dict[str, Any]:
    known = [field.name for field in fields(FrameAxis) if field.name != "name"]
    unknown = [key for key in how if key not in known]
    if unknown:
        say = f"{near(str(unknown[0]), known)} {_GRAMMAR}".strip()
        raise ArgumentError(Fault(f"axes.{name}", f"{unknown[0]!r} says nothing of an axis", say))
    said = dict(how)
    if "levels" in said:
        said["levels"] = tuple(said["levels"])
    if "prefixes" in said:
        said["prefixes"] = tuple(dict(said["prefixes"]).items())
    if said.get("categories") is not None:
        said["categories"] = _labels(name, said["categories"])
    if said.get("domain") is not None:
        said["domain"] = FilePath(said["domain"])
    return said


def _labels(name: str, labels: Sequence[object]) -> tuple[str | Path, ...]:
    made: list[str | Path] = []
    for label in labels:
        path = tuple(label) if isinstance(label, list | tuple) else label
        if not (isinstance(path, str) or (isinstance(path, tuple) and all(isinstance(p, str) for p in path))):
            say = "labels are text, also where they look like numbers: write '20'."
            raise ArgumentError(Fault(f"categories.{name}", f"{label!r} is not a label", say))
        made.append(path)
    return tuple(made)


def _from_domain(asked: FrameAxis, domain: Domain) -> Axis:
    axis = domain.axis(asked.name)
    if axis is None:
        say = f"its axes are {', '.join(domain.names)}. {near(asked.name, domain.names)}"
        raise ArgumentError(Fault("domain", f"the domain has no axis {shown(asked.name)}", say))
    wanted = len(asked.levels or asked.prefixes) or 1
    if len(axis.levels) != wanted:
        what = f"axis {shown(asked.name)} has {len(axis.levels)} levels in the domain and {wanted} in `axes`"
        raise ArgumentError(Fault("domain", what, _GRAMMAR))
    return axis


def _arrow(frame: object, wanted: set[str]) -> Any:
    """The columns wanted, as a pyarrow table; those that are missing are found out later."""
    import narwhals as nw

    def broken() -> CongenialError:
        what = "a column of the frame mixes values of several kinds"
        return SourceError(Fault("", what, "make it text: frame['x'] = frame['x'].astype(str)."))

    try:
        native = nw.from_native(frame)  # type: ignore[call-overload]
    except TypeError:
        kind = type(frame).__name__
        say = "give a frame of pandas, polars or pyarrow, or a DuckDB relation."
        raise ArgumentError(Fault("frame", f"a {kind} is not a frame", say)) from None
    except nw.exceptions.NarwhalsError:
        raise _odd_names() from None
    names = native.collect_schema().names()
    _refuse_odd_names(names)
    if not wanted <= set(names):
        native = native.head(0)  # the error about columns needs their names alone
    else:
        native = native.select([name for name in names if name in wanted])
    with quiet(broken):
        try:
            collected = native.collect("pyarrow") if isinstance(native, nw.LazyFrame) else native
            return collected.to_arrow()
        except (OSError, MemoryError):
            raise
        except Exception:  # whatever library is behind the frame: its text may quote values
            raise broken() from None


def _refuse_odd_names(names: Sequence[object]) -> None:
    if not all(isinstance(name, str) for name in names) or len(set(names)) < len(names):
        raise _odd_names()


def _odd_names() -> SourceError:
    say = "name every column with text, each differently."
    return SourceError(Fault("", "the frame's columns have no names, or share them", say))
