r"""FOR STUDY, NEVER FOR A RELEASE. How far a chain still is from its law, from the times at which two meet.

Two chains with one law of movement begin apart; the first is L steps ahead. τ is the time at which the
first meets the second, which is then at τ - L. The total variation between the chain after l steps and
the law that it tends to is at most

    E max(0, ⌈(τ - L - l) / L⌉),

and the mean over independent pairs *estimates* this bound. An estimate is no proof: it has a standard
error, and it says nothing of meetings later than any that were seen.

**Source.** Dharangutte, Gao, Gong & Yu (2023), Algorithm 3; Biswas, Jacob & Vanetti (2019), Theorem 2.5.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from congenial.errors import ArgumentError
from congenial.randomness import Source
from congenial.samplers.published.coupling import Pair, until_met
from congenial.samplers.published.sweeps import StudySweep


@dataclass(frozen=True, eq=False)
class Meetings:
    """Times τ at which pairs met, the first chain `lag` steps ahead; pairs that had not met have `most`.

    If any had not, every figure here is a lower bound of itself.
    """

    lag: int
    times: NDArray[np.int64]
    unmet: int = 0

    def bound(self, steps: int) -> float:
        """The estimated bound of the total variation after `steps` steps."""
        return float(self._terms(steps).mean())

    def standard_error(self, steps: int) -> float:
        """That of `bound`, as far as the pairs seen can tell."""
        if len(self.times) < 2:
            return math.inf
        return float(self._terms(steps).std(ddof=1) / math.sqrt(len(self.times)))

    def steps_for(self, total_variation: float) -> int:
        """The fewest steps after which the estimated bound is at most `total_variation`."""
        if not total_variation > 0:
            what = f"no number of steps brings the total variation down to {total_variation!r}"
            raise ArgumentError(what)
        low, high = -1, int(self.times.max(initial=0))
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self.bound(middle) <= total_variation else (middle, high)
        return high

    def _terms(self, steps: int) -> NDArray[np.float64]:
        return np.maximum(0.0, np.ceil((self.times - self.lag - steps) / self.lag))


def meeting_time(chain: StudySweep, source: Source, lag: int, most: int) -> tuple[int, bool]:
    """When two chains meet, the first `lag` steps ahead: (τ, whether they have; if not, τ is `most`).

    Each begins with one sweep of jumps from zero.
    """
    if not 1 <= lag <= most:
        raise ArgumentError(f"the lag is {lag}; it must be at least 1, and at most the {most} steps allowed")
    ahead, _ = chain.walk(source, chain.scatter(source), lag)
    pair, taken = until_met(chain, source, Pair(ahead, chain.scatter(source)), most - lag)
    return (lag + taken, True) if pair.have_met else (most, False)


def meetings(chain: StudySweep, source: Source, lag: int, pairs: int, most: int = 10**7) -> Meetings:
    """The meeting times of `pairs` independent pairs of chains, none followed beyond `most` steps.

    **Cost.** Some 10⁻⁷ seconds a step and pair.
    """
    found = [meeting_time(chain, source, lag, most) for _ in range(pairs)]
    times = np.array([time for time, _ in found], dtype=np.int64)
    return Meetings(lag, times, sum(not met for _, met in found))
