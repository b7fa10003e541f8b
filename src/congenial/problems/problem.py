"""A structure around a centre: the law of the noise, with every limit counted from where the table stands.

The centre is the confidential table for a release, or a public one where the posterior of the counts
is drawn around a release: the same law, the same samplers.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from congenial.errors import ConflictError
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
    slacks = [_slack(limit, centre) for limit in structure.limits]
    outside = [(slack.lower > 0).any() or (slack.upper < 0).any() for slack in slacks]
    if any(outside) or centre[structure.zeros].any():
        from congenial.problems.conflicts import explain_broken

        broken = [limit for limit, is_out in zip(structure.limits, outside, strict=True) if is_out]
        raise ConflictError(explain_broken(structure, centre, broken), subject="The table against its bounds")
    for fact in structure.facts:
        if fact.band is not None:
            values = fact.forms.sums(centre)
            start = (values - 1) // fact.band * fact.band + 1
            slacks.append(Slack(fact.forms, start - values, start + fact.band - 1 - values))
    return Problem(structure, tuple(slacks), confidential)


def without_centre(structure: Structure) -> Problem:
    """A problem whose limits are there, each at zero: enough to ask which directions they leave open."""
    slacks = []
    for limit in structure.limits:
        lower = np.full(limit.forms.count, -FREE if limit.lower <= -FREE else 0, dtype=np.int64)
        upper = np.full(limit.forms.count, FREE if limit.upper >= FREE else 0, dtype=np.int64)
        slacks.append(Slack(limit.forms, lower, upper))
    for fact in structure.facts:
        if fact.band is not None:
            nothing = np.zeros(fact.forms.count, dtype=np.int64)
            slacks.append(Slack(fact.forms, nothing, nothing))
    return Problem(structure, tuple(slacks), confidential=False)


def _slack(limit: Limit, centre: NDArray[np.int64]) -> Slack:
    values = limit.forms.sums(centre)
    lower = np.full(len(values), -FREE) if limit.lower <= -FREE else limit.lower - values
    upper = np.full(len(values), FREE) if limit.upper >= FREE else limit.upper - values
    return Slack(limit.forms, lower, upper)
