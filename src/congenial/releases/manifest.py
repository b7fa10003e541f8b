"""The manifest: everything that is said beside a released table, enough to rebuild its law.

    manifest     the version of this format, 1
    notices      what a reader must know first
    about        what the curator says of the release
    guarantee    what one unit can lose, as numbers and a sentence; null where none was computed
    certificate  how far the draw may be from its law: the allowance that the planner was given
    charge       the ledger's entry that paid for it; null where no ledger was kept
    request      the request without its source: measurements, facts, bounds, method, unit
    laws         the law of each measurement, in their order, with the scales that were used
    axes         the columns of the table: each axis with its levels, coarse to fine
    invariants   the facts with their values, the only counts here
    files        the SHA-256 of every other file
    versions     the software
    digest       the SHA-256 of all the above, so that a changed manifest is seen

No path, query text or hash of the source is in it, and no time or size that the counts determine. The
values of the facts are read off the *released* table, which has them exactly.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from congenial.errors import SourceError
from congenial.laws import DiscreteLaplace, Law
from congenial.problems.structure import Fact, Structure
from congenial.releases.versions import versions
from congenial.samplers.base import Certificate
from congenial.tables.domain import Domain

FORMAT = 1
KEYS = (
    "manifest", "notices", "about", "guarantee", "certificate", "charge", "request", "laws", "axes",
    "invariants", "files", "versions", "digest",
)  # fmt: skip


def make(
    *,
    request: Mapping[str, Any],
    structure: Structure,
    released: NDArray[np.int64] | None,
    certificate: Certificate | None,
    guarantee: Mapping[str, Any] | None,
    charge: Mapping[str, Any] | None,
    notices: Sequence[str],
) -> dict[str, Any]:
    """The manifest of a release, without its files and digest (`sealed` adds these).

    `request` is the public form of the request, `structure` its forms with the laws that were used,
    `released` the table y, None where it was suppressed: then no value of a fact is said either.
    """
    said = dict(request)
    about = said.pop("about", {})
    return {
        "manifest": FORMAT,
        "notices": list(notices),
        "about": about,
        "guarantee": None if guarantee is None else dict(guarantee),
        "certificate": None if certificate is None else certified(certificate),
        "charge": None if charge is None else dict(charge),
        "request": said,
        "laws": [law_said(measured.law) for measured in structure.measured],
        "axes": axes_said(structure.domain),
        "invariants": [] if released is None else [fact_said(fact, released) for fact in structure.facts],
        "versions": versions(),
    }


def law_said(law: Law) -> dict[str, Any]:
    """A law with its scales, as text and numbers."""
    if isinstance(law, DiscreteLaplace):
        return {"law": "discrete-laplace", "epsilon": law.epsilon}
    return {"law": "discrete-gaussian", "rho": law.rho, "sigma": law.sigma}


def certified(certificate: Certificate) -> dict[str, Any]:
    """A certificate, as text and numbers; `total_variation_log2` is null where it is zero."""
    tail = certificate.tail_log2
    return {
        "kind": certificate.kind,
        "relative_error": certificate.relative_error,
        "total_variation_log2": None if tail == float("-inf") else tail,
        "how": certificate.how,
    }


def axes_said(domain: Domain) -> list[dict[str, Any]]:
    """The axes and their levels; the labels stand in the table."""
    return [{"name": axis.name, "levels": list(axis.level_names)} for axis in domain.axes]


def fact_said(fact: Fact, released: NDArray[np.int64]) -> dict[str, Any]:
    """A fact with its values, or the bands that they lie in, read off the released table."""
    values = fact.forms.sums(released)
    said: dict[str, Any] = {"name": fact.forms.name, "of": [fact.forms.label(j) for j in range(len(values))]}
    if fact.band is None:
        return said | {"values": values.tolist()}
    starts = (values - 1) // fact.band * fact.band + 1
    return said | {"bands": [[int(start), int(start) + fact.band - 1] for start in starts]}


def sealed(manifest: Mapping[str, Any], files: Mapping[str, bytes]) -> dict[str, Any]:
    """The manifest with the hashes of the files beside it, and its own."""
    whole = {key: value for key, value in manifest.items() if key != "digest"}
    whole["files"] = {name: fingerprint(content) for name, content in files.items()}
    whole = {key: whole[key] for key in KEYS if key in whole}
    return whole | {"digest": digest(whole)}


def fingerprint(content: bytes) -> str:
    """The SHA-256 of a public file."""
    return "sha256:" + hashlib.sha256(content).hexdigest()


def digest(manifest: Mapping[str, Any]) -> str:
    """The SHA-256 of a manifest without its digest, whatever its layout on disk."""
    rest = {key: value for key, value in manifest.items() if key != "digest"}
    return fingerprint(json.dumps(rest, sort_keys=True, ensure_ascii=True, allow_nan=False).encode())


def to_bytes(manifest: Mapping[str, Any]) -> bytes:
    """The manifest as a file: JSON that a person can read."""
    return (json.dumps(manifest, indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode()


def from_bytes(content: bytes) -> dict[str, Any]:
    """A manifest read back; a `SourceError` where it is none, or of a later format."""
    try:
        found = json.loads(content.decode("utf-8"))
    except (ValueError, RecursionError):
        raise SourceError("manifest.json is not a manifest: it is not whole JSON.") from None
    if not isinstance(found, dict) or "manifest" not in found:
        raise SourceError("manifest.json is not the manifest of a release.")
    if found["manifest"] != FORMAT:
        raise SourceError(
            f"manifest.json has another format than this version of congenial reads, which is {FORMAT}. "
            "Use the version that it names under `versions`, or a later one."
        )
    missing = [key for key in KEYS if key not in found]
    if missing:
        raise SourceError(f"manifest.json is not whole: it lacks {', '.join(missing)}.")
    return found
