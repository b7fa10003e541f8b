"""Statistical tests that say what they would catch, and are so sure that they never flake.

A test computes its sample size from the near-wrong laws that it must reject; the right law is refused
with probability at most `false_alarm` (α), a near-wrong one accepted with at most `miss` (β).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

ALPHA = 1e-9
BETA = 1e-9


@dataclass(frozen=True)
class Evidence:
    """What a test that passed has shown."""

    draws: int
    discrepancy: float
    false_alarm: float
    miss: float
    rejected: tuple[str, ...]


def draws_needed(gap: float, false_alarm: float = ALPHA, miss: float = BETA) -> int:
    """Draws that separate two laws whose distribution functions lie `gap` apart (Massart's bound)."""
    noise = math.sqrt(math.log(2 / false_alarm) / 2) + math.sqrt(math.log(2 / miss) / 2)
    return math.ceil((noise / gap) ** 2)


def cdf_gap(pmf: Any, other: Any) -> float:
    """The largest difference of the distribution functions of two laws on 0 … len-1."""
    size = max(len(pmf), len(other))
    wide = [np.pad(np.asarray(p, dtype=float), (0, size - len(p))) for p in (pmf, other)]
    return float(np.abs(np.cumsum(wide[0]) - np.cumsum(wide[1])).max())


def has_law(draws: Any, pmf: Any, false_alarm: float = ALPHA) -> bool:
    """Whether draws on 0 … len(pmf)-1 stay as near to `pmf` as chance allows (others: no)."""
    draws = np.asarray(draws)
    if draws.min() < 0 or draws.max() >= len(pmf):
        return False
    seen = np.bincount(draws, minlength=len(pmf)) / len(draws)
    return cdf_gap(seen, pmf) <= math.sqrt(math.log(2 / false_alarm) / (2 * len(draws)))


def check_law(
    draw: Callable[[int], Any],
    pmf: Any,
    near_wrong: Mapping[str, Any],
    *,
    false_alarm: float = ALPHA,
    miss: float = BETA,
    most: int = 50_000_000,
) -> Evidence:
    """`draw(n)` has law `pmf`, and the test is strong enough to reject every law in `near_wrong`.

    Draws outside 0 … len(pmf)-1 are refused: give `pmf` a last entry for what lies beyond.
    """
    gap = min(cdf_gap(pmf, wrong) for wrong in near_wrong.values())
    n = draws_needed(gap, false_alarm, miss)
    assert n <= most, f"a discrepancy of {gap:.2g} needs {n} draws: choose another statistic"
    draws = draw(n)
    evidence = Evidence(n, gap, false_alarm, miss, tuple(near_wrong))
    assert has_law(draws, pmf, false_alarm), f"the draws do not have the law they should: {evidence}"
    for name, wrong in near_wrong.items():
        assert not has_law(draws, wrong, false_alarm), f"cannot tell the law from '{name}': {evidence}"
    return evidence


def marginal(law: Mapping[Any, Any], f: Callable[[Any], int], lo: int, hi: int) -> np.ndarray:
    """The pmf of f(outcome) on lo … hi, what lies beyond gathered at the two ends."""
    pmf = np.zeros(hi - lo + 1)
    for outcome, probability in law.items():
        pmf[min(max(f(outcome), lo), hi) - lo] += float(probability)
    return pmf


def clipped(values: Any, lo: int, hi: int) -> np.ndarray:
    """Draws as places on `marginal`'s lo … hi."""
    return np.clip(np.asarray(values), lo, hi) - lo
