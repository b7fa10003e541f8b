r"""From one privacy statement to another, as far as they follow.

    ρ        → (ε, δ)   for every ε (Canonne, Kamath & Steinke, Corollary 13); `epsilon_of`, `delta_of`
    ε        → ρ        ε²/2 (Bun & Steinke, Proposition 3.3); `rho_of`
    (ε, δ)   → ρ        does not follow; `rho_for` is the largest ρ whose conversion is (ε, δ)
    draw     → (ε, δ)   what windows and rounding add; `delta_of_windows`, `delta_of_draw`

Every result is rounded to the safe side of the floating-point search that finds it.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from congenial.errors import ArgumentError


def delta_of(rho: float, epsilon: float) -> float:
    """A δ for which ρ-zCDP implies (ε, δ)-DP.

    **Exactness.** The infimum over α > 1 of exp((α-1)(αρ-ε) + α ln(1-1/α)) / (α-1), to a relative 1e-9
    from above: every α gives a valid δ, and the exponent is convex.
    """
    _check(rho=rho)
    if rho == 0:
        return 0.0
    low, high = 1.0 + 1e-12, 2.0
    while _slope(high, rho, epsilon) < 0:
        high *= 2
    for _ in range(52):
        middle = (low + high) / 2
        low, high = (middle, high) if _slope(middle, rho, epsilon) < 0 else (low, middle)
    exponent = (high - 1) * (high * rho - epsilon) + high * math.log1p(-1 / high) - math.log(high - 1)
    return min(1.0, math.exp(min(exponent, 0.0)) * (1 + 1e-9))


def _slope(alpha: float, rho: float, epsilon: float) -> float:
    return (2 * alpha - 1) * rho - epsilon + math.log1p(-1 / alpha)


def epsilon_of(rho: float, delta: float) -> float:
    """The least ε (rounded up) for which `delta_of` shows that ρ-zCDP implies (ε, δ)-DP."""
    _check(rho=rho)
    _check_delta(delta)
    if delta_of(rho, 0.0) <= delta:
        return 0.0
    return _edge(lambda epsilon: delta_of(rho, epsilon) <= delta)[1]


def rho_for(epsilon: float, delta: float) -> float:
    """The largest ρ (rounded down) for which `delta_of` shows (ε, δ)-DP."""
    _check(epsilon=epsilon)
    _check_delta(delta)
    return _edge(lambda rho: delta_of(rho, epsilon) > delta)[0]


def rho_of(epsilon: float) -> float:
    """ε-DP implies ε²/2-zCDP."""
    _check(epsilon=epsilon)
    return math.nextafter(epsilon * epsilon / 2, math.inf)


def delta_of_windows(epsilon: float, tail: float) -> float:
    """(1+e^ε)·β: what a total variation of β at every table adds to a pure loss of ε."""
    return min(1.0, (1 + math.exp(min(epsilon, 700.0))) * tail)


def delta_of_draw(rho: float, epsilon: float, tail: float) -> float:
    """δ at ε for a draw within β of a ρ-zCDP law: e^{-(ε-ρ)²/4ρ} + (1+e^ε)β, ε ≥ ρ.

    **Source.** Bun & Steinke (2016), Proposition 1.3, for the first term.
    """
    _check(rho=rho)
    if epsilon < rho:
        return 1.0
    return min(1.0, math.exp(-((epsilon - rho) ** 2) / (4 * rho)) + delta_of_windows(epsilon, tail))


def smooth_delta(delta: float, epsilon: float, distance: float) -> float:
    """The slack of the smooth form at a distance: δ(e^{ε·distance} - 1)/(e^ε - 1), growing with it.

    **Source.** Dharangutte et al., Definition 2 and equation (2).
    """
    _check(epsilon=epsilon)
    return min(1.0, delta * math.expm1(min(epsilon * distance, 700.0)) / math.expm1(epsilon))


def posterior_interval(prior: float, loss: float) -> tuple[float, float]:
    """[e^{-L}π, min(1, e^{L}π)]: where a release can take a belief π about which of two tables is true."""
    if not 0 <= prior <= 1:
        raise ArgumentError(f"a prior probability lies between 0 and 1; it is {prior!r}")
    return math.exp(-loss) * prior, min(1.0, math.exp(min(loss, 700.0)) * prior)


def _edge(beyond: Callable[[float], bool]) -> tuple[float, float]:
    """The last point before and the first after which `beyond` holds, for one that holds from some x on."""
    low, high = 0.0, 1.0
    while not beyond(high):
        low, high = high, 2 * high
    for _ in range(64):
        middle = (low + high) / 2
        low, high = (low, middle) if beyond(middle) else (middle, high)
    return low, high


def _check(**values: float) -> None:
    for name, value in values.items():
        if not (value >= 0 and math.isfinite(value)):
            raise ArgumentError(f"{name} is {value!r}; it must be a finite number that is not negative")


def _check_delta(delta: float) -> None:
    if not 0 < delta < 1:
        raise ArgumentError(f"delta is {delta!r}; it must lie between 0 and 1")
