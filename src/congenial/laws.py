# interface sketch, to be filled
from dataclasses import dataclass
@dataclass(frozen=True)
class DiscreteLaplace:
    epsilon: float | None = None
    share: float | None = None
@dataclass(frozen=True)
class DiscreteGaussian:
    rho: float | None = None
    sigma: float | None = None
    share: float | None = None
Law = DiscreteLaplace | DiscreteGaussian
