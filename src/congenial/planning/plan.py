"""A plan: for every block the sampler, its cost, its certificate; what `explain()` prints.

A plan over a table is the curator's: which cells bounds can reach, what a draw costs, how large the
noise will be depend on the counts. A plan over a domain alone (`is_public`) says what does not.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from congenial.errors import ArgumentError, NoSamplerError
from congenial.planning.drawing import LOG2_ALLOWANCE, MOST_ROUNDING, Drawing
from congenial.problems.structure import Structure
from congenial.randomness import Source
from congenial.requests.model import Request
from congenial.samplers.base import Certificate
from congenial.tables.domain import Domain

if TYPE_CHECKING:
    from congenial.planning.noise import Noise


@dataclass(frozen=True)
class PlannedBlock:
    """Equal blocks of a plan, said once.

    `sampler` and `certificate` are None where no exact sampler serves; `why` says what was chosen and
    why, or what it would take. `seconds` is the expected time of one draw of one such block.
    """

    cells: int
    sampler: str | None
    certificate: Certificate | None
    repeats: int
    why: str
    seconds: float | None = None

    def to_json(self) -> dict[str, Any]:
        held = self.certificate
        certificate = None if held is None else {"kind": held.kind, "how": held.how}
        return {
            "cells": self.cells,
            "sampler": self.sampler,
            "certificate": certificate,
            "repeats": self.repeats,
            "why": self.why,
        }


@dataclass(frozen=True, eq=False, repr=False)
class Plan:
    """What would be drawn, how, at what cost. `print(plan)` explains it."""

    request: Request
    structure: Structure
    blocks: tuple[PlannedBlock, ...]
    notices: tuple[str, ...]
    drawing: Drawing
    guarantee: Any
    counts: NDArray[np.int64] | None

    @property
    def domain(self) -> Domain:
        return self.structure.domain

    @property
    def is_public(self) -> bool:
        """Whether no table was looked at."""
        return self.counts is None

    @property
    def centre(self) -> NDArray[np.int64]:
        """The flat counts that the noise is drawn around: confidential."""
        if self.counts is None:
            raise ArgumentError("this plan was made without data: it can explain, not draw.")
        return self.counts

    @property
    def allowance(self) -> Certificate:
        """What is public of the certificate: the limits that the planner was given and has met."""
        return Certificate("exact", MOST_ROUNDING, LOG2_ALLOWANCE, "within the allowance of the plan")

    @property
    def certificate(self) -> Certificate:
        """What was reached: it depends on the counts and is the curator's."""
        return self.drawing.certificate

    def require_samplers(self) -> None:
        """Raise a `NoSamplerError` where some block has no exact sampler."""
        if self.drawing.refused:
            raise NoSamplerError(self.drawing.refused, subject="The plan")

    def draws(
        self, many: int, source: Source, progress: Callable[[int, int], None] | None = None
    ) -> NDArray[np.int64]:
        """Noise: int64 (many, cells)."""
        if self.counts is None:
            raise ArgumentError("this plan was made without data: it can explain, not draw.")
        return self.drawing.draws(many, source, progress)

    @cached_property
    def noise(self) -> tuple[Noise, ...]:
        """How large the noise will be on the cells and every measured query; worked out when first asked."""
        from congenial.planning.noise import expected_noise

        return expected_noise(self.structure, self.drawing, timed=not self.is_public)

    @property
    def determined(self) -> NDArray[np.int64]:
        """The cells that the facts determine."""
        return self.drawing.layout.determined

    def explain(self) -> str:
        """The plan as a person reads it."""
        from congenial.planning.explain import explained

        return explained(self)

    def to_json(self) -> dict[str, Any]:
        """The plan as one document."""
        from congenial.planning.explain import documented

        return documented(self)

    def __str__(self) -> str:
        return self.explain()

    def __repr__(self) -> str:
        return f"Plan({self.domain.cells} cells, {sum(b.repeats for b in self.blocks)} blocks)"
