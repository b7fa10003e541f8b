"""Inequalities that a chain's state must keep to: ends for single values, and linear forms of several."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from congenial.errors import ArgumentError
from congenial.samplers.published import _limit_kernels as kernels
from congenial.samplers.published.lattices import whole_matrix
from congenial.samplers.published.rows import SparseRows


@dataclass(frozen=True, eq=False, repr=False)
class Limits:
    """lower ≤ z ≤ upper for each value of z, and forms·z ≥ least for each row of `forms`."""

    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    forms: SparseRows
    least: NDArray[np.float64]

    @classmethod
    def of(
        cls,
        width: int,
        lower: ArrayLike | None = None,
        upper: ArrayLike | None = None,
        forms: ArrayLike | None = None,
        least: ArrayLike | None = None,
    ) -> Limits:
        """Limits on `width` values; what is not given does not limit.

        Limits are on noise: a table s* with B·s ≥ b has forms B and least b - B·s*.
        """
        if (forms is None) != (least is None):
            raise ArgumentError("forms are limited from below by `least`: give both, or neither")
        low = _ends("lower", -math.inf if lower is None else lower, width)
        high = _ends("upper", math.inf if upper is None else upper, width)
        matrix = np.zeros((0, width), dtype=np.int64) if forms is None else whole_matrix(forms)
        if matrix.shape[1] != width:
            raise ArgumentError(f"the forms have {matrix.shape[1]} columns for {width} values")
        ends = _ends("least", [] if least is None else least, len(matrix))
        return cls(low, high, SparseRows.of(matrix), ends)

    @classmethod
    def nonnegative(cls, counts: ArrayLike) -> Limits:
        """Noise that leaves no count below zero."""
        return cls.of(np.size(counts), lower=-np.asarray(counts, dtype=np.float64).ravel())

    def keeps(self, i: int, value: float) -> bool:
        """Whether value i keeps to its ends."""
        return bool(self.lower[i] <= value <= self.upper[i])

    def hold(self, values: NDArray[Any]) -> bool:
        """Whether all values and all forms keep to their limits."""
        inside = bool(((self.lower <= values) & (values <= self.upper)).all())
        return inside and self.forms_hold(values)

    def forms_hold(self, values: NDArray[Any]) -> bool:
        """Whether all forms keep to their limits."""
        return all(s >= b for s, b in zip(self.forms.sums(values), self.least.tolist(), strict=True))

    @property
    def arrays(self) -> kernels.LimitArrays:
        """The limits as kernels read them."""
        return kernels.LimitArrays(self.lower, self.upper, *self.forms, self.least)

    def __repr__(self) -> str:
        return f"Limits({len(self.lower)} values, {len(self.least)} forms)"  # ends can be confidential counts


def _ends(name: str, given: ArrayLike, width: int) -> NDArray[np.float64]:
    values = np.asarray(given, dtype=np.float64)
    if values.ndim == 0:
        values = np.full(width, float(values))
    if values.shape != (width,) or np.isnan(values).any():
        raise ArgumentError(f"`{name}` must be {width} numbers, none of them NaN")
    return values
