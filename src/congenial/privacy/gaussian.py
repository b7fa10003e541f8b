r"""The discrete Gaussian on a lattice: the same ρ as without invariants, and what others paid for it.

Noise `P(z) ∝ e^{-‖z‖²/2σ²}` on the lattice {A z = 0} has, for a shift `v` of the lattice,
`D_α(P ‖ P shifted by v) ≤ α‖v‖²/2σ²`. *Proof.* Completing the square leaves
`e^{α(α-1)‖v‖²/2σ²}` times the sum of the Gaussian over the lattice shifted by (α-1)v... over that of the
lattice itself, and a shifted lattice's Gaussian sum is at most the centred one (Poisson summation: its
Fourier coefficients are positive). So nothing depends on the dimension. Theorem 14 of Dharangutte et al.
bounds the tail of ‖z‖ instead, and its σ grows with the dimension.
"""

from __future__ import annotations

import math

from congenial.errors import ArgumentError
from congenial.privacy.conversions import delta_of, smooth_delta


def smooth_sigma(epsilon: float, delta: float, least_square: int = 2) -> float:
    """The least σ (rounded up) with (ε, δ)-smooth privacy on an integer lattice, by the ρ of its shifts.

    For every squared distance r² = `least_square`, `least_square` + 1, … the conversion of ρ = r²/2σ² at
    ε·r must not exceed the smooth slack δ(e^{εr} - 1)/(e^ε - 1).
    """
    if not (0 < delta < 1 and epsilon > 0 and least_square > 0):
        raise ArgumentError("smooth privacy needs epsilon > 0, 0 < delta < 1 and a distance above 0")
    low, high = 0.0, 1.0
    while not _is_smooth(high, epsilon, delta, least_square):
        low, high = high, 2 * high
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (low, middle) if _is_smooth(middle, epsilon, delta, least_square) else (middle, high)
    return high


def _is_smooth(sigma: float, epsilon: float, delta: float, least: int) -> bool:
    last = (math.log1p(math.expm1(epsilon) / delta) / epsilon) ** 2  # beyond, the slack is 1
    square = least
    while square <= last:
        step = max(1, square // 200)  # every square at first, then stretches, each at its worst ends
        r = math.sqrt(square)
        rho = (square + step - 1) / (2 * sigma * sigma)
        if delta_of(rho, epsilon * r) > smooth_delta(delta, epsilon, r):
            return False
        square += step
    return True


def theorem14_sigma(epsilon: float, delta: float, dimension: int, determinant: float) -> float:
    """σ of Dharangutte et al.'s generalized Gaussian, with the least constant that their proof allows.

    σ² = 2 c ln(1/δ)/ε² with c > 3 ln K and (2c/3 - 1 - 2n) ln(1/δ) ≥ n ln c, K = 4·2ⁿ Vₙ / √det(CᵀC), n the
    lattice's dimension, Vₙ the volume of the unit ball, `determinant` det(CᵀC) of a basis C.
    **Source.** Definition 13, Theorem 14 and its proof (the paper states c only up to a constant).
    """
    if not 0 < delta < epsilon < math.exp(-1):
        raise ArgumentError("Theorem 14 needs 0 < delta < epsilon < 1/e")
    ball = dimension / 2 * math.log(math.pi) - math.lgamma(dimension / 2 + 1)
    log_k = math.log(4) + dimension * math.log(2) + ball - math.log(determinant) / 2
    steep = math.log(1 / delta)
    c = max(3 * log_k, 1.0)
    while (2 * c / 3 - 1 - 2 * dimension) * steep < dimension * math.log(c):
        c *= 1.001
    return math.sqrt(2 * c * steep) / epsilon
