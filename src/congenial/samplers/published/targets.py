"""The laws on a lattice that the chains of Dharangutte et al. aim for."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from congenial.errors import ArgumentError
from congenial.samplers.base import IntArray


@dataclass(frozen=True)
class Target:
    """P(z) ∝ exp(-rate·‖z‖) on a lattice, ‖z‖ the sum of |z_i| (l1), the Euclidean norm (l2) or its square.

    **Source.** Dharangutte et al. (2023): `l1` and `l2` are the generalized Laplace mechanism (Definition
    9, rate ε), `squared` the generalized Gaussian (Definition 13, rate 1/2σ²; centre 0).
    """

    norm: Literal["l1", "l2", "squared"]
    rate: float

    def __post_init__(self) -> None:
        if self.norm not in ("l1", "l2", "squared"):
            raise ArgumentError(f"the norm of a target is {self.norm!r}; it must be l1, l2 or squared")
        if not (self.rate > 0 and math.isfinite(self.rate)):
            raise ArgumentError(f"the rate of a target is {self.rate!r}; it must be positive and finite")

    @property
    def power(self) -> int:
        """What |z_i| is raised to before it is added up."""
        return 1 if self.norm == "l1" else 2

    def size(self, noise: IntArray) -> int:
        """Σ |z_i|^power, a whole number."""
        return sum(abs(int(z)) ** self.power for z in noise)

    def odds(self, size: int, proposed: int) -> float:
        """The chance that a move from one size to another is accepted: min(1, P(z*)/P(z))."""
        more = math.sqrt(proposed) - math.sqrt(size) if self.norm == "l2" else float(proposed - size)
        return 1.0 if more <= 0 else math.exp(-self.rate * more)
