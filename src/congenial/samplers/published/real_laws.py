"""FOR STUDY, NEVER FOR A RELEASE. Real-valued Laplace and Gaussian laws, as two of the papers use them.

Floating-point numbers have gaps that depend on their size, so that real-valued noise in a computer
gives away what was noised; no release of this package uses it. Theory and teaching do.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from congenial.errors import ArgumentError
from congenial.samplers.base import Source


@dataclass(frozen=True)
class StudyLaplace:
    """Density ∝ e^{-ε|z|} on the real numbers; scale 1/ε."""

    epsilon: float
    power = 1

    def __post_init__(self) -> None:
        _positive("StudyLaplace", "epsilon", self.epsilon)

    @property
    def rate(self) -> float:
        """ε: what |z| is multiplied with."""
        return float(self.epsilon)

    @property
    def variance(self) -> float:
        """2/ε²."""
        return 2 / self.epsilon**2

    def draw(self, source: Source) -> float:
        """One number: an exponential one, with a sign."""
        size = -math.log(source.uniform()) / self.rate
        return -size if source.below(2) else size


@dataclass(frozen=True)
class StudyGaussian:
    """Density ∝ e^{-z²/2σ²} on the real numbers."""

    sigma: float
    power = 2

    def __post_init__(self) -> None:
        _positive("StudyGaussian", "sigma", self.sigma)

    @property
    def rate(self) -> float:
        """1/2σ²: what z² is multiplied with."""
        return 1 / (2 * self.sigma**2)

    @property
    def variance(self) -> float:
        """σ²."""
        return self.sigma**2

    def draw(self, source: Source) -> float:
        """One number, by Box and Muller."""
        size = math.sqrt(-math.log(source.uniform()) / self.rate)
        return size * math.cos(2 * math.pi * source.uniform())


def _positive(law: str, name: str, value: float) -> None:
    if not (value > 0 and math.isfinite(value)):
        raise ArgumentError(f"{law}: {name} is {value!r}; it must be positive and finite")
