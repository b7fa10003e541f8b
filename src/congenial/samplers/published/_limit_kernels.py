"""Limits of a chain's state, compiled: `limits.py` is the text to read."""

# mypy: ignore-errors
# (numba gives these functions their types)

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray


class LimitArrays(NamedTuple):
    """Ends of single values, and sparse forms with the least value of each."""

    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    starts: NDArray[np.int64]
    places: NDArray[np.int64]
    weights: NDArray[np.int64]
    least: NDArray[np.float64]


@njit(cache=True, inline="always", _nrt=False)
def keeps(limits, i, value):
    """Whether value i keeps to its ends."""
    return limits.lower[i] <= value and value <= limits.upper[i]


@njit(cache=True, inline="always", _nrt=False)
def forms_hold(limits, values):
    """Whether all forms keep to their limits."""
    good = True
    for row in range(limits.least.size):
        total = 0.0
        for n in range(limits.starts[row], limits.starts[row + 1]):
            total += limits.weights[n] * values[limits.places[n]]
        if total < limits.least[row]:
            good = False
            break
    return good
