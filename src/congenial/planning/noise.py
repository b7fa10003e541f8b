"""How large the noise will be: from the law where it is closed, else from a short simulation."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from congenial.planning.drawing import INDEPENDENT, Drawing
from congenial.problems.structure import FREE, Forms, Structure
from congenial.randomness import SeededSource
from congenial.samplers.base import IntArray

_SEED = 1
_MOST_DRAWS = 400
_LEAST_DRAWS = 12
_SECONDS = 1.0
_BATCH = 1 << 21


@dataclass(frozen=True)
class Noise:
    """The error of one query: mean absolute error of its cells, and the range that holds 90 % of them.

    `draws` is the number of simulated draws it was worked out from, 0 where the law is closed.
    """

    query: str
    law: str
    mean_abs: float
    range90: tuple[int, int]
    draws: int


def expected_noise(structure: Structure, drawing: Drawing, *, timed: bool = True) -> tuple[Noise, ...]:
    """The noise of the cells and of every measured query, over all their values alike.

    `timed`: stop simulating after about a second; without, the number of draws is fixed, so that the
    same request gives the same numbers.
    """
    asked = _asked(structure)
    if drawing.refused or not asked or not (drawing.parts or drawing.tree):
        return ()
    closed = _closed(drawing)
    if closed is not None:
        return tuple(closed if forms.groups is not None and forms.is_identity else None for forms, _ in asked)  # type: ignore[misc]
    errors: list[list[IntArray]] = [[] for _ in asked]
    source, done, began = SeededSource(_SEED), 0, time.monotonic()
    most = _MOST_DRAWS if timed else _LEAST_DRAWS * 4
    batch = max(1, min(32, _BATCH // max(1, drawing.layout.width)))
    while done < most:
        noise = drawing.draws(min(batch, most - done), source)
        for row in noise:
            for held, (forms, _) in zip(errors, asked, strict=True):
                held.append(forms.sums(row))
        done += len(noise)
        if timed and done >= _LEAST_DRAWS and time.monotonic() - began > _SECONDS:
            break
    return tuple(
        _summary(forms.name, law, np.concatenate(held), done)
        for held, (forms, law) in zip(errors, asked, strict=True)
    )


def _asked(structure: Structure) -> list[tuple[Forms, str]]:
    """The cells first, then every other measured query once, with what it is measured by."""
    found: dict[str, tuple[Forms, str]] = {}
    for measured in structure.measured:
        name = measured.forms.name
        law = _law(measured.law)
        if name in found:
            law = f"{found[name][1]}, {law}"
        found[name] = measured.forms, law
    return sorted(found.values(), key=lambda pair: -pair[0].count)


def _law(law: object) -> str:
    from congenial.laws import DiscreteLaplace

    if isinstance(law, DiscreteLaplace):
        return f"discrete Laplace, ε = {law.rate:.6g}"
    return f"discrete Gaussian, ρ = {law.rate:.6g}"  # type: ignore[attr-defined]


def _closed(drawing: Drawing) -> Noise | None:
    """Where every cell is independent with one law and no bound, the law's own moments."""
    forest = drawing.layout.forest
    kinds = drawing.assigned[forest.roots]
    if not len(kinds) or (kinds != INDEPENDENT).any() or len(np.unique(forest.law)) > 1:
        return None
    if (forest.lower > -FREE).any() or (forest.upper < FREE).any() or len(drawing.layout.determined):
        return None
    law = forest.laws[int(forest.law[0])][0]
    return Noise("cells", _law(law), law.mean_abs, (int(law.quantile(0.05)), int(law.quantile(0.95))), 0)


def _summary(name: str, law: str, errors: IntArray, draws: int) -> Noise:
    low, high = np.quantile(errors, [0.05, 0.95], method="inverted_cdf")
    return Noise(name, law, float(np.abs(errors).mean()), (int(low), int(high)), draws)
