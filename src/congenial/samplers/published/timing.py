"""What a published chain costs until it may be used, by its own account: for benchmarks and pages.

The chain of Dharangutte et al. on the margins of an r×c table, in its friendliest form: the analytic basis,
the compiled kernel, and the best jump over a grid. Coupling says how many steps it needs; a clock says
how long a step takes (a step of one chain: what the coupling itself costs is not counted).
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from congenial.errors import ArgumentError
from congenial.laws import DiscreteLaplace
from congenial.randomness import SeededSource, Source
from congenial.samplers.published.lattices import Lattice
from congenial.samplers.published.meetings import Meetings, meetings
from congenial.samplers.published.sweeps import StudySweep
from congenial.samplers.published.targets import Target

SCALES = (0.5, 0.6, 0.7, 1.0, 1.5, 2.0, 2.5, 3.0)
"""Jumps tried, as the s of a = e^-s. Long jumps need fewer steps, rare ones cheaper steps: on the 4×4 table
at ε = .25 the time is much the same from .6 to 3."""

_PILOT = 64
_LAG = 1000
_COARSE = 0.1
_WARM = 1000
_BATCHES = 31
_BATCH = 5000


@dataclass(frozen=True)
class ChainTime:
    """How long a chain runs for one draw within a total variation, as its own coupling estimates it.

    `steps` with jumps of a = e^-`scale`, `seconds_per_step` on this machine now; `standard_error` is that
    of the estimated bound at `steps`. Where `is_lower_bound`, with every jump of the grid at least `unmet` of
    `pairs` pairs had not met within `steps` steps, more than the total variation allows.
    """

    steps: int
    seconds_per_step: float
    acceptance: float
    scale: float
    lag: int
    pairs: int
    unmet: int
    standard_error: float
    is_lower_bound: bool

    @property
    def seconds(self) -> float:
        """Steps times seconds a step."""
        return self.steps * self.seconds_per_step


def chain_time_to(
    total_variation: float,
    rows: int,
    columns: int,
    epsilon: float,
    *,
    scales: Sequence[float] = SCALES,
    pairs: int = 300,
    pilot: int = _PILOT,
    most: int = 10**6,
    source: Source | None = None,
) -> ChainTime:
    """Steps and time that the margins of a rows×columns table ask for at ε, with the best jump of a grid.

    A pilot of few pairs chooses the jump (by time to a coarser bound) and a lag as long as its longest
    meeting, which makes the bound as tight as it can be: the chance that a pair has not met. Then `pairs`
    pairs give the number of steps. If no jump lets a whole pilot meet within `most` steps, the answer is a
    lower bound: `most` steps at the price of the cheapest step of the grid.
    **Cost.** Seconds for a 4×4 table; for larger ones choose `pilot` and `most` small.
    """
    if not 0 < total_variation < 1:
        raise ArgumentError(f"a total variation lies between 0 and 1; {total_variation!r} does not")
    source = SeededSource(0) if source is None else source
    chains = {scale: margins_chain(rows, columns, epsilon, scale) for scale in scales}
    clocks = dict(zip(scales, seconds_per_step(list(chains.values()), source), strict=True))
    tried: dict[float, Meetings] = {}
    budget = math.inf
    for scale, chain in chains.items():
        tried[scale] = piloted(chain, source, pilot, int(min(most, budget / clocks[scale][0])))
        if not tried[scale].unmet:
            budget = min(budget, 4 * _late(tried[scale]) * clocks[scale][0])
    met = [scale for scale, found in tried.items() if not found.unmet]
    if not met:
        scale = min(clocks, key=lambda s: clocks[s][0])
        unmet = min(found.unmet for found in tried.values())
        return ChainTime(most, *clocks[scale], scale, _LAG, pilot, unmet, math.nan, True)
    scale = min(met, key=lambda s: tried[s].steps_for(_COARSE) * clocks[s][0])
    lag = tried[scale].lag
    found = meetings(chains[scale], source, lag, pairs, most + lag)
    steps = found.steps_for(total_variation)
    error, late = found.standard_error(steps), found.unmet > total_variation * pairs
    return ChainTime(steps, *clocks[scale], scale, lag, pairs, found.unmet, error, late)


def piloted(chain: StudySweep, source: Source, pairs: int, most: int) -> Meetings:
    """Meetings with a lag that no pair was later than, or some that had not met after `most` steps more.

    The lag is doubled until it serves: with a short one, chains whose jumps are rare begin together and
    seem to meet at once.
    """
    lag = _LAG
    while True:
        found = meetings(chain, source, lag, pairs, lag + most)
        if found.unmet or _late(found) <= lag:
            return found
        lag = 2 * _late(found)


def _late(found: Meetings) -> int:
    """How long the latest pair took to meet."""
    return int(found.times.max()) - found.lag


def margins_chain(rows: int, columns: int, epsilon: float, scale: float) -> StudySweep:
    """Algorithm 1 on the margins of a rows×columns table: ℓ1 target, double geometric jumps, a = e^-scale."""
    lattice = Lattice.from_margins((rows, columns), [(0,), (1,)])
    return StudySweep.of(lattice, Target("l1", epsilon), DiscreteLaplace(scale))


def seconds_per_step(chains: Sequence[StudySweep], source: Source) -> list[tuple[float, float]]:
    """(median seconds a step, acceptance) of each chain, over batches in turn."""
    states = [chain.walk(source, chain.init(), _WARM)[0] for chain in chains]
    times = np.empty((_BATCHES, len(chains)))
    accepted = np.empty((_BATCHES, len(chains)))
    for times_row, accepted_row in zip(times, accepted, strict=True):
        for k, chain in enumerate(chains):
            begin = time.perf_counter()
            states[k], trace = chain.walk(source, states[k], _BATCH)
            times_row[k] = (time.perf_counter() - begin) / _BATCH
            accepted_row[k] = trace.acceptance
    return list(zip(np.median(times, axis=0).tolist(), accepted.mean(axis=0).tolist(), strict=True))
