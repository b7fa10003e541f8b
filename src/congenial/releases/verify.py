"""Whether a bundle is whole, keeps the facts and bounds that it names, and lets its law be rebuilt.

Everything is worked out from the folder alone; anybody who has it can check it. That the draw was made
from the law cannot be seen from one draw: the certificate says what is proven about that.
"""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from congenial.errors import CongenialError, SourceError
from congenial.laws import DiscreteGaussian, DiscreteLaplace, Law
from congenial.problems.structure import Structure
from congenial.releases import bundle, manifest
from congenial.releases.public_table import PublicTable
from congenial.requests.model import Request
from congenial.requests.resolve import request_from_resolved


@dataclass(frozen=True)
class Check:
    """One thing that was looked at: what it is called, whether it holds, what was found."""

    name: str
    holds: bool
    found: str


@dataclass(frozen=True)
class Verification:
    """Every check of a bundle, in order."""

    folder: str
    checks: tuple[Check, ...]

    @property
    def holds(self) -> bool:
        """Whether every check holds."""
        return all(check.holds for check in self.checks)

    def to_json(self) -> dict[str, Any]:
        """The same as plain values."""
        checks = [{"check": c.name, "holds": c.holds, "found": c.found} for c in self.checks]
        return {"folder": self.folder, "holds": self.holds, "checks": checks}

    def __str__(self) -> str:
        wide = max(len(check.name) for check in self.checks)
        lines = [f"{'ok ' if c.holds else 'NOT'}  {c.name:<{wide}}  {c.found}" for c in self.checks]
        return "\n".join(lines)


@dataclass(frozen=True)
class _Bundle:
    """What the checks look at: the files as they stand, the manifest, the table."""

    content: Mapping[str, bytes]
    said: Mapping[str, Any]
    table: PublicTable


def verify(place: str | os.PathLike[str]) -> Verification:
    """Check the bundle in a folder; a `SourceError` where there is none."""
    folder = Path(place)
    said = manifest.from_bytes(bundle.read(folder, bundle.MANIFEST))
    if bundle.is_silent(said):
        silent = _checked("silence", lambda: _silence(folder, said))
        return Verification(str(folder), (_checked("files", lambda: _files({}, said)), silent))
    content = {name: bundle.read(folder, name) for name in (bundle.PARQUET, bundle.CSV)}
    checks = [_checked("files", lambda: _files(content, said))]
    try:
        table = bundle.table_of(content[bundle.PARQUET], said)
    except CongenialError as error:
        return Verification(str(folder), (*checks, Check("table", False, str(error))))
    whole = _Bundle(content, said, table)
    checks.append(_checked("table", lambda: _same_table(whole)))
    try:
        request, structure = rebuilt(said, table)
    except (CongenialError, KeyError, TypeError, ValueError, AttributeError):
        failed = "the request in the manifest does not make a law over this table"
        return Verification(str(folder), (*checks, Check("law", False, failed)))
    checks.append(_checked("law", lambda: _law(whole, structure)))
    checks.append(_checked("facts", lambda: _facts(whole, structure)))
    checks.append(_checked("bounds", lambda: _bounds(whole, structure)))
    checks.append(_checked("guarantee", lambda: _guarantee(whole, request, structure)))
    return Verification(str(folder), tuple(checks))


class _Not(Exception):
    """A check that does not hold, with what was found."""


def _checked(name: str, check: Callable[[], str]) -> Check:
    try:
        return Check(name, True, check())
    except _Not as found:
        return Check(name, False, str(found))


def rebuilt(said: Mapping[str, Any], table: PublicTable) -> tuple[Request, Structure]:
    """The request and its structure, from a manifest and the domain of its table."""
    from congenial.problems.compile import compile_structure

    request = request_from_resolved({**said["request"], "about": said["about"]})
    laws = [_read_law(law) for law in said["laws"]]
    if len(laws) != len(request.measurements):
        raise SourceError("the manifest has more or fewer laws than measurements.")
    measured = [replace(m, law=law) for m, law in zip(request.measurements, laws, strict=True)]
    used = replace(request, measurements=tuple(measured), promise=None)
    return request, compile_structure(table.domain, used)


def _read_law(said: Mapping[str, Any]) -> Law:
    if said["law"] == "discrete-laplace":
        return DiscreteLaplace(epsilon=said["epsilon"])
    if said["rho"] is not None:
        return DiscreteGaussian(rho=said["rho"])
    return DiscreteGaussian(sigma=said["sigma"])


def _files(content: Mapping[str, bytes], said: Mapping[str, Any]) -> str:
    if manifest.digest(said) != said["digest"]:
        raise _Not("the manifest was changed after it was written")
    for name in content:
        if said["files"].get(name) != manifest.fingerprint(content[name]):
            raise _Not(f"{name} is not the file that the manifest names")
    return "every file is the one that was written"


def _silence(folder: Path, said: Mapping[str, Any]) -> str:
    if said["files"] or said["invariants"] or any((folder / name).exists() for name in bundle.FILES[:2]):
        raise _Not("the method is suppress, and yet there is a table, or the value of a fact")
    return "nothing is said of any count"


def _same_table(whole: _Bundle) -> str:
    wanted = whole.table.to_frame()
    try:
        text = io.StringIO(whole.content[bundle.CSV].decode("utf-8"), newline="")
        header, *rows = csv.reader(text)
    except (ValueError, csv.Error):
        raise _Not(f"{bundle.CSV} cannot be read") from None
    columns = [column.to_pylist() for column in wanted.columns]
    columns[-1] = [str(count) for count in columns[-1]]
    if header != wanted.column_names or rows != [list(row) for row in zip(*columns, strict=True)]:
        raise _Not(f"{bundle.CSV} and {bundle.PARQUET} differ")
    return f"{whole.table.domain.cells:,} cells, each once, the same in both files"


def _law(whole: _Bundle, structure: Structure) -> str:
    if manifest.axes_said(structure.domain) != whole.said["axes"]:
        raise _Not("the axes that the manifest names are not those of the table")
    if [manifest.law_said(m.law) for m in structure.measured] != whole.said["laws"]:
        raise _Not("the laws that the manifest names are not those of its request")
    many = len(structure.measured)
    return f"rebuilt from the manifest: {many} measurement{'s' if many != 1 else ''}"


def _facts(whole: _Bundle, structure: Structure) -> str:
    stated = whole.said["invariants"]
    kept = [manifest.fact_said(fact, whole.table.counts) for fact in structure.facts]
    if len(stated) != len(kept):
        raise _Not("the manifest does not have the value of every fact")
    for one, other in zip(stated, kept, strict=True):
        if one != other:
            raise _Not(f"the table does not keep the fact '{other['name']}'")
    values = sum(len(fact["of"]) for fact in kept)
    return f"{values:,} value{'s' if values != 1 else ''} kept exactly" if values else "none asked for"


def _bounds(whole: _Bundle, structure: Structure) -> str:
    for limit in structure.limits:
        values = limit.forms.sums(whole.table.counts)
        if (values < limit.lower).any() or (values > limit.upper).any():
            raise _Not(f"the table breaks the bound on '{limit.forms.name}'")
    if np.any(whole.table.counts[structure.zeros]):
        raise _Not("a cell that is zero by logic is not zero")
    many = len(structure.limits) + bool(len(structure.zeros))
    return f"{many} kept" if many else "none asked for"


def _guarantee(whole: _Bundle, request: Request, structure: Structure) -> str:
    from congenial.privacy.guarantee import guarantee

    stated = whole.said["guarantee"]
    if stated is None:
        return "none was stated"
    try:
        again = guarantee(structure, request.unit, request.method).to_json()
    except CongenialError:
        raise _Not("the request in the manifest allows no guarantee") from None
    for key in ("epsilon", "delta", "rho", "unit", "units", "max_rows", "change", "proven"):
        if stated.get(key) != again[key]:
            raise _Not(f"worked out again from the manifest, its {key} is another")
    return "follows from the manifest" if stated["proven"] else "stated as not proven"
