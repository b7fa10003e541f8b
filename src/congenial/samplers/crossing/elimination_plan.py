"""Plans of weighted elimination: from a model with proven windows to a program."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from congenial.errors import Fault, NoSamplerError
from congenial.samplers.base import IntArray
from congenial.samplers.crossing.elimination_bound import Choice, Workspace, improve
from congenial.samplers.crossing.elimination_build import built
from congenial.samplers.crossing.elimination_model import Model
from congenial.samplers.crossing.elimination_order import Found, carried, coarse, nominal, search
from congenial.samplers.crossing.elimination_program import Program
from congenial.samplers.crossing.elimination_scheme import (
    Ranges,
    Scheme,
    ranges,
    scheme,
    smallest_first,
)
from congenial.samplers.crossing.elimination_windows import sides_of_sums

_LN2 = math.log(2)
EFFORT = 2e8
"""Multiplications a second, for turning seconds into effort."""


@dataclass(frozen=True)
class Limits:
    """What a plan may take: total variation (log2), seconds of search, bytes, steps of a tail's search."""

    allowance_log2: float
    seconds: float
    memory: float
    polish: int
    build: float = 30.0
    """Nominal seconds that building tables may take; never less than the search."""


@dataclass(frozen=True, eq=False)
class Planned:
    """A program, its log bound, its rounding, ln of what its windows of partial sums leave out."""

    program: Program
    log_bound: float
    relative_error: float
    tests: int
    log_left_out: float
    kind: str


def refused(why: str) -> NoSamplerError:
    """The sampler cannot serve."""
    what = f"weighted elimination cannot draw this block: {why}"
    return NoSamplerError(Fault("", what, "Fix coarser facts, or use fewer bounds."))


def by_tables(model: Model, point: IntArray, limits: Limits) -> Planned:
    """One variable after another, in an order and with buckets that a search found."""
    entries = int(limits.memory / 16 / max(1, model.variables))
    best = search(model, entries, limits.seconds)
    if best is None:
        raise refused("no order of elimination was found")
    spans, left_out = _certified_reach(best.model, best.order, point, limits)
    program, log_bound, error, tests = _finished(best, spans, limits)
    return Planned(program, log_bound, error, tests, left_out, "tables")


def _certified_reach(
    model: Model, order: Sequence[int], point: IntArray, limits: Limits
) -> tuple[Ranges, float]:
    """Ranges of the partial sums, long forms cut where their tails are proven small; ln of what that cost."""
    spans = ranges(model, order)
    widest = int((model.hi - model.lo).max(initial=1)) + 1
    wanted: list[tuple[int, int, int]] = []
    for k in range(len(model.ends)):
        touched = np.flatnonzero(model.rows[k, list(order)])
        for a, b in pairwise(touched):
            if spans.hi[a + 1, k] - spans.lo[a + 1, k] > 2.5 * widest:
                wanted.append((k, int(a) + 1, int(b) + 1))
    if not wanted:
        return spans, -math.inf
    chance = (limits.allowance_log2 - 2) * _LN2 - math.log(2 * len(wanted) + 1)
    directions = []
    for k, position, _ in wanted:
        c = np.zeros(model.variables)
        taken = list(order)[:position]
        c[taken] = model.rows[k, taken]
        directions.append(c)
    steps = limits.polish if len(wanted) <= 200 else 0
    lo, hi = spans.lo.copy(), spans.hi.copy()
    for (k, start, stop), c, (low, high) in zip(
        wanted, directions, sides_of_sums(model, point, directions, chance, steps), strict=True
    ):
        at = int(c @ point)
        lo[start:stop, k] = np.maximum(lo[start:stop, k], min(low, at))
        hi[start:stop, k] = np.minimum(hi[start:stop, k], max(high, at))
    return Ranges(lo, hi), chance + math.log(2 * len(wanted))


def _finished(best: Found, spans: Ranges, limits: Limits) -> tuple[Program, float, float, int]:
    """The program on full windows: buckets as large as the memory allows, weights from the coarse model."""
    model, order = best.model, best.order
    small, _ = coarse(model)
    symbols = _affordable(best, spans, limits)
    few = ranges(small, order)
    kept: Choice = {
        s.variable: best.choice[s.variable]
        for s in symbols.steps
        if s.variable in best.choice and len(best.choice[s.variable].weights) == len(s.buckets)
    }
    evaluations = int(min(200, max(10, limits.seconds / max(1e-9, nominal(small, symbols, few)))))
    _, choice = improve(Workspace(small, symbols, few), kept, evaluations)
    full = Workspace(model, symbols, spans)
    choice = carried(choice, small, best.grid, model)
    evaluations = int(min(30, 0.5 * limits.seconds / max(1e-9, nominal(model, symbols, spans))))
    if evaluations >= 4:
        _, choice = improve(full, choice, evaluations)
    program, log_bound, error = built(full, choice)
    return program, log_bound, error, symbols.tests


def _affordable(best: Found, spans: Ranges, limits: Limits) -> Scheme:
    """Buckets as large as was found good, as long as memory and time for the tables last."""
    entries = best.entries
    while True:
        symbols = scheme(best.model, best.order, smallest_first(spans, entries))
        sizes = [spans.size(p, s) for p, s in zip(symbols.positions, symbols.scopes, strict=True)]
        quick = nominal(best.model, symbols, spans) <= min(2 * limits.seconds + 0.5, limits.build)
        # twice for the tables of core and tail
        if 24.0 * sum(sizes) <= limits.memory and quick:
            return symbols
        if entries < 2:
            raise refused("its tables would need more memory or time than is allowed")
        entries //= 2
