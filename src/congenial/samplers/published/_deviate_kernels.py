"""Independent numbers from laws, and log weights, compiled: `deviates.py` is the text to read."""

# mypy: ignore-errors
# (numba gives these functions their types)

import math
from typing import NamedTuple

import numpy as np
from numba import njit, uint64
from numpy.typing import NDArray

from congenial.samplers._integer_table_kernels import pick_in
from congenial.samplers._words import below, uniform

FIELDS = 5
FIRST, ENTRIES, GUIDE, SHIFT, OFFSET = range(FIELDS)


class DeviateArrays(NamedTuple):
    """One row of `plan` a number: where its table stands in the shared arrays (whole numbers only)."""

    high: NDArray[np.uint64]
    low: NDArray[np.uint64]
    guide: NDArray[np.int64]
    plan: NDArray[np.int64]
    rates: NDArray[np.float64]
    powers: NDArray[np.int64]
    is_whole: bool


@njit(cache=True, inline="always", _nrt=False)
def deviate(words, at, laws, i):
    """A number from law i; (number, cursor)."""
    if laws.is_whole:
        k, at = pick_in(
            words,
            at,
            laws.high,
            laws.low,
            laws.guide,
            laws.plan[i, FIRST],
            laws.plan[i, ENTRIES],
            laws.plan[i, GUIDE],
            uint64(laws.plan[i, SHIFT]),
        )
        z = np.float64(k + laws.plan[i, OFFSET])
    else:
        u, at = uniform(words, at)
        if laws.powers[i] == 1:
            z = -math.log(u) / laws.rates[i]
            is_negative, at = below(words, at, uint64(2))
            if is_negative:
                z = -z
        else:
            turn, at = uniform(words, at)
            z = math.sqrt(-math.log(u) / laws.rates[i]) * math.cos(2 * math.pi * turn)
    return z, at


@njit(cache=True, inline="always", _nrt=False)
def log_weight(values, rates, powers):
    """-Σ rate_i·|z_i|^power_i, added up from the left."""
    total = 0.0
    for i in range(values.size):
        z = values[i]
        if powers[i] == 1:
            total -= rates[i] * abs(z)
        else:
            total -= rates[i] * (z * z)
    return total
