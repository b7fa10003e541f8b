"""Differentially private tables that keep mandated facts exact.

    table = cg.Table.from_frame(frame, axes=["sex", "age"], counts="n")
    request = cg.Request(
        measurements=[cg.measure("cells", cg.DiscreteLaplace(epsilon=0.5))],
        invariants=[cg.total()],
        bounds=[cg.nonnegative()],
    )
    print(cg.plan(table, request))
    cg.release(table, request).save("counts-2020")

Every name below is imported when it is first used, so that `import congenial` stays quick.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from congenial.errors import (
        ArgumentError,
        BudgetError,
        ConflictError,
        CongenialError,
        MachineError,
        NoLawError,
        NoSamplerError,
        NothingToProtectError,
        NotProvenError,
        OutputError,
        RequestError,
        SourceError,
    )
    from congenial.laws import DiscreteGaussian, DiscreteLaplace
    from congenial.planning import Plan, plan
    from congenial.planning.matrix import NoisePlan, plan_noise, sample_noise
    from congenial.publish import release, simulate
    from congenial.releases.bundle import Release, load
    from congenial.releases.verify import Verification, verify
    from congenial.requests.builders import (
        at_least,
        at_most,
        band,
        bound_forms,
        forms,
        margin,
        measure,
        nonnegative,
        total,
        zeros,
    )
    from congenial.requests.model import Budget, Promise, Request, Unit
    from congenial.requests.reading import read_request
    from congenial.tables.domain import Axis, Domain
    from congenial.tables.table import Table

_HOME = {
    "congenial.errors": (
        "ArgumentError", "BudgetError", "ConflictError", "CongenialError", "MachineError", "NoLawError",
        "NoSamplerError", "NotProvenError", "NothingToProtectError", "OutputError", "RequestError",
        "SourceError",
    ),
    "congenial.laws": ("DiscreteGaussian", "DiscreteLaplace"),
    "congenial.planning": ("Plan", "plan"),
    "congenial.planning.matrix": ("NoisePlan", "plan_noise", "sample_noise"),
    "congenial.publish": ("release", "simulate"),
    "congenial.releases.bundle": ("Release", "load"),
    "congenial.releases.verify": ("Verification", "verify"),
    "congenial.requests.builders": (
        "at_least", "at_most", "band", "bound_forms", "forms", "margin", "measure", "nonnegative", "total",
        "zeros",
    ),
    "congenial.requests.model": ("Budget", "Promise", "Request", "Unit"),
    "congenial.requests.reading": ("read_request",),
    "congenial.tables.domain": ("Axis", "Domain"),
    "congenial.tables.table": ("Table",),
}  # fmt: skip
_WHERE = {name: module for module, names in _HOME.items() for name in names}

__all__ = [
    "ArgumentError",
    "Axis",
    "Budget",
    "BudgetError",
    "ConflictError",
    "CongenialError",
    "DiscreteGaussian",
    "DiscreteLaplace",
    "Domain",
    "MachineError",
    "NoLawError",
    "NoSamplerError",
    "NoisePlan",
    "NotProvenError",
    "NothingToProtectError",
    "OutputError",
    "Plan",
    "Promise",
    "Release",
    "Request",
    "RequestError",
    "SourceError",
    "Table",
    "Unit",
    "Verification",
    "at_least",
    "at_most",
    "band",
    "bound_forms",
    "forms",
    "load",
    "margin",
    "measure",
    "nonnegative",
    "plan",
    "plan_noise",
    "read_request",
    "release",
    "sample_noise",
    "simulate",
    "total",
    "verify",
    "zeros",
]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from congenial.releases.versions import version

        return version()
    if name not in _WHERE:
        raise AttributeError(f"module 'congenial' has no attribute {name!r}")
    found = getattr(import_module(_WHERE[name]), name)
    globals()[name] = found  # the next use finds it at once
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, "__version__"})
