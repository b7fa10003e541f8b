"""A lower bound on the loss of a sampler that is too large to enumerate, from draws at two tables.

    P(E | x) ≤ e^ε P(E | x') + δ   for every event E,

so that an event that is seen often at `x` and seldom at `x'` bounds ε from below (and, as the two
probabilities alone diverge less than the laws do, ρ as well). The event is a threshold on the ratio of the
laws' weights; a quarter of the draws chooses it, the others are counted, with Clopper and Pearson's limits.
What is found exceeds the truth with probability at most `false_alarm`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.stats import beta

from congenial.problems.structure import Structure

ALPHA = 1e-9
_ORDERS = (1.25, 1.5, 2.0, 4.0)


@dataclass(frozen=True)
class Seen:
    """Limits of the probability of an event: at least `often` at x, at most `seldom` at x'."""

    often: float
    seldom: float
    rates: tuple[float, float]
    draws: int

    def epsilon(self, delta: float) -> float:
        """The least ε that is consistent with what was seen."""
        return math.log((self.often - delta) / self.seldom) if self.often > delta else -math.inf

    @property
    def rho(self) -> float:
        """The least ρ that is consistent with it."""
        p, q = self.often, self.seldom
        if p <= q:
            return 0.0
        found = [p * math.log(p / q) + (1 - p) * math.log((1 - p) / (1 - q))]
        for order in _ORDERS:
            power = p**order * q ** (1 - order) + (1 - p) ** order * (1 - q) ** (1 - order)
            found.append(math.log(power) / (order - 1) / order)
        return max(found)


def seen(ours: np.ndarray, theirs: np.ndarray, false_alarm: float = ALPHA) -> Seen:
    """What the `ratio` of as many releases drawn at x, and at x', says of their laws."""
    pilot = len(ours) // 4
    at = _threshold(ours[:pilot], theirs[:pilot])
    hits = [int((score[pilot:] >= at).sum()) for score in (ours, theirs)]
    counted = len(ours) - pilot
    often = float(beta.ppf(false_alarm / 2, hits[0], counted - hits[0] + 1)) if hits[0] else 0.0
    seldom = float(beta.isf(false_alarm / 2, hits[1] + 1, counted - hits[1])) if hits[1] < counted else 1.0
    return Seen(often, seldom, (hits[0] / counted, hits[1] / counted), counted)


def ratio(structure: Structure, pair: tuple[np.ndarray, np.ndarray], rows: np.ndarray) -> np.ndarray:
    """ln of the weight at x over that at x', normalisers aside, for releases one a row."""
    found = np.zeros(len(rows))
    for measured in structure.measured:
        law = measured.law
        starts, cells, weights = measured.forms.rows
        for form in np.flatnonzero(measured.forms.sums(pair[1] - pair[0])).tolist():
            here = slice(int(starts[form]), int(starts[form + 1]))
            values, ours, theirs = (
                (table[..., cells[here]] @ weights[here]).astype(np.float64) for table in (rows, *pair)
            )
            found += law.rate * (np.abs(values - theirs) ** law.power - np.abs(values - ours) ** law.power)
    return found


def _threshold(ours: np.ndarray, theirs: np.ndarray) -> float:
    """The threshold at which the two rates, each for the worse, are farthest apart."""
    best, at = -math.inf, 0.0
    for candidate in np.unique(np.round(np.quantile(ours, np.linspace(0.02, 0.9, 45)), 9)):
        p, q = float((ours >= candidate - 1e-9).mean()), float((theirs >= candidate - 1e-9).mean())
        low = p - 6 * math.sqrt(p * (1 - p) / len(ours))
        high = q + 6 * math.sqrt((q * (1 - q) + 6 / len(theirs)) / len(theirs))
        if low > 0 and math.log(low / high) > best:
            best, at = math.log(low / high), float(candidate) - 1e-9
    return at
