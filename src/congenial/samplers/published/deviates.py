"""Independent numbers, each from a law of its own, whole or real: what two of the chains propose."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from congenial.errors import ArgumentError, Fault
from congenial.laws import DiscreteGaussian, DiscreteLaplace
from congenial.samplers.base import FloatArray, IntArray, Source
from congenial.samplers.integer_table import IntegerTable, joined
from congenial.samplers.published import _deviate_kernels as kernels
from congenial.samplers.published.real_laws import StudyGaussian, StudyLaplace

StudyLaw = DiscreteLaplace | DiscreteGaussian | StudyLaplace | StudyGaussian


@dataclass(frozen=True, eq=False, repr=False)
class Deviates:
    """Numbers from `laws`, one each, all whole or all real.

    **Law.** log P(z) = -Σ rate_i·|z_i|^power_i and a constant.
    **Exactness.** Whole numbers have their tables' laws; real ones are rounded as floating point is.
    """

    laws: tuple[StudyLaw, ...]

    def __post_init__(self) -> None:
        if len({is_whole(law) for law in self.laws}) > 1:
            raise ArgumentError("laws on whole numbers and laws on real numbers cannot be mixed in one chain")

    @classmethod
    def of(cls, laws: StudyLaw | Sequence[StudyLaw], many: int) -> Deviates:
        """One law for each of `many` numbers; a law by itself serves all."""
        given = tuple(laws) if isinstance(laws, Sequence) else (laws,) * many
        if len(given) != many:
            what = f"there are {len(given)} laws for {many} numbers"
            raise ArgumentError(Fault("", what, "Give one for each, or one for all."))
        return cls(given)

    @property
    def is_whole(self) -> bool:
        """Whether the numbers are integers."""
        return bool(self.laws) and is_whole(self.laws[0])

    def rows(self, many: int) -> IntArray | FloatArray:
        """Room for so many rows of numbers, one a law."""
        shape = (many, len(self.laws))
        return np.empty(shape, dtype=np.int64) if self.is_whole else np.empty(shape, dtype=np.float64)

    @cached_property
    def tables(self) -> dict[StudyLaw, IntegerTable]:
        """A table for each discrete law."""
        return {
            law: IntegerTable.of_law(law)
            for law in self.laws
            if isinstance(law, DiscreteLaplace | DiscreteGaussian)
        }

    def one(self, source: Source, i: int) -> float:
        """A number from law i."""
        law = self.laws[i]
        if isinstance(law, StudyLaplace | StudyGaussian):
            return law.draw(source)
        table = self.tables[law]
        return float(source.tabled(table) + table.offset)

    def log_weight(self, values: NDArray[np.float64]) -> float:
        """log P of the values, but for the constant; added up from the left as the kernels do."""
        return log_weight(values, self.rates, self.powers)

    @cached_property
    def rates(self) -> NDArray[np.float64]:
        """What |z|^power is multiplied with."""
        return np.array([law.rate for law in self.laws], dtype=np.float64)

    @cached_property
    def powers(self) -> NDArray[np.int64]:
        """1 for Laplace laws, 2 for Gaussian ones."""
        return np.array([law.power for law in self.laws], dtype=np.int64)

    @cached_property
    def arrays(self) -> kernels.DeviateArrays:
        """The laws as kernels read them."""
        order = [self.tables[law] for law in self.laws if is_whole(law)]
        high, low, guide, firsts = joined(order)
        plan = np.zeros((len(self.laws), kernels.FIELDS), dtype=np.int64)
        for i, law in enumerate(self.laws):
            if is_whole(law):
                (first, at), table = firsts[i], order[i]
                plan[i] = first, len(table), at, table.shift, table.offset
        return kernels.DeviateArrays(high, low, guide, plan, self.rates, self.powers, self.is_whole)


def is_whole(law: StudyLaw) -> bool:
    """Whether a law is one on the integers."""
    return isinstance(law, DiscreteLaplace | DiscreteGaussian)


def log_weight(values: NDArray[np.float64], rates: NDArray[np.float64], powers: NDArray[np.int64]) -> float:
    """-Σ rate_i·|z_i|^power_i, added up from the left."""
    total = 0.0
    for z, rate, power in zip(values.tolist(), rates.tolist(), powers.tolist(), strict=True):
        total -= rate * (abs(z) if power == 1 else z * z)
    return total


def odds(more: float) -> float:
    """min(1, e^more): the chance that a move whose log weight is higher by `more` is accepted."""
    return 1.0 if more >= 0 else math.exp(more)
