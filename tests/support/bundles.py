"""A release made by hand, without a confidential table: what tests of bundles begin with."""

from __future__ import annotations

from typing import Any

import numpy as np

from congenial.laws import DiscreteLaplace
from congenial.problems.compile import compile_structure
from congenial.releases import manifest
from congenial.releases.bundle import Release
from congenial.releases.public_table import PublicTable
from congenial.requests.builders import at_most, margin, measure, nonnegative, total, zeros
from congenial.requests.model import Request, Unit
from congenial.requests.resolve import public
from congenial.samplers.base import Certificate
from congenial.tables.domain import Axis, Domain

PLACES = [("Ohio", "Athens"), ("Ohio", "Lake"), ("Iowa", "Lake")]
DOMAIN = Domain((Axis.nested("place", ["state", "county"], PLACES), Axis.flat("age", ["0-17", "18+", "n/a"])))
RELEASED = np.array([3, 7, 0, 12, 5, 0, 8, 1, 0], dtype=np.int64)


def a_request(**changes: Any) -> Request:
    said: dict[str, Any] = {
        "measurements": [
            measure("cells", DiscreteLaplace(epsilon=0.5)),
            measure({"place": "county"}, DiscreteLaplace(epsilon=0.25)),
        ],
        "invariants": [total(), margin(place="state")],
        "bounds": [nonnegative(), at_most({"place": "county"}, 100), zeros(age=["n/a"])],
        "unit": Unit("person", max_rows=1),
        "about": {"title": "A table", "contact": ["a", "b"]},
    }
    return Request(**said | changes)


def a_release(released: np.ndarray = RELEASED, request: Request | None = None) -> Release:
    request = request or a_request()
    said = manifest.make(
        request=public(request),
        structure=compile_structure(DOMAIN, request),
        released=released,
        certificate=Certificate("exact", 1e-7, -80.0),
        guarantee=None,
        charge=None,
        notices=["No guarantee was computed."],
    )
    return Release(PublicTable(DOMAIN, released), said)
