"""A structure around a centre: the law of the noise, with every limit counted from where the table stands.

The centre is the confidential table for a release, or a public one where the posterior of the counts
is drawn around a release: the same law, the same samplers.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from congenial.errors import ConflictError, Fault
from congenial.problems.structure import FREE, Forms, Limit, Structure


@dataclass(frozen=True, eq=False)
class Slack:
    """How far the noise of each form may go: lower ≤ w·z ≤ upper, ±FREE where nothing stops it."""

    forms: Forms
    lower: NDArray[np.int64]
    upper: NDArray[np.int64]


@dataclass(frozen=True, eq=False, repr=False)
class Problem:
    """Law (1): P(z) ∝ Π f_j(w_j·z) · 1[A z = 0] · 1[B(x+z) ≥ b], x the centre."""

    structure: Structure
    slacks: tuple[Slack, ...]
    confidential: bool = True

    def __repr__(self) -> str:
        return f"Problem({self.structure.domain.cells} cells)"


def make_problem(structure: Structure, centre: NDArray[np.int64], *, confidential: bool = True) -> Problem:
    """Put a structure around a centre; a centre outside the limits is a `ConflictError`."""
    slacks = []
    faults: list[Fault] = []
    for limit in structure.limits:
        slack = _slack(limit, centre)
        faults += _broken(limit.forms, slack)
        slacks.append(slack)
    for fact in structure.facts:
        if fact.band is not None:
            values = fact.forms.sums(centre)
            start = (values - 1) // fact.band * fact.band + 1
            slacks.append(Slack(fact.forms, start - values, start + fact.band - 1 - values))
    if len(structure.zeros) and (centre[structure.zeros] != 0).any():
        faults.append(
            Fault(
                "bounds",
                "the table has counts in cells that the request declares zero by logic",
                "Correct the table, or take these cells out of `zeros`.",
            )
        )
    if faults:
        raise ConflictError(faults, subject="The table against its bounds")
    return Problem(structure, tuple(slacks), confidential)


def _slack(limit: Limit, centre: NDArray[np.int64]) -> Slack:
    values = limit.forms.sums(centre)
    lower = np.full(len(values), -FREE) if limit.lower <= -FREE else limit.lower - values
    upper = np.full(len(values), FREE) if limit.upper >= FREE else limit.upper - values
    return Slack(limit.forms, lower, upper)


def _broken(forms: Forms, slack: Slack) -> list[Fault]:
    """One fault a limit: which forms, never how far."""
    out = np.flatnonzero((slack.lower > 0) | (slack.upper < 0))
    if not len(out):
        return []
    some = ", ".join(forms.label(int(j)) for j in out[:3])
    if len(out) > 3:
        some += f" and {len(out) - 3} more"
    return [
        Fault(
            forms.where,
            f"the table breaks the bound on '{forms.name}' at {some}",
            "A bound is a public statement about the true counts.\n"
            "Correct the table, widen the bound or drop it.",
            line=forms.line,
        )
    ]
