"""Steps of the metropolized independence chain, compiled: `independence.py` is the text to read.

Compiled without reference counts, which would cost more than the steps; so arrays to work in are handed in.
"""

# mypy: ignore-errors
# (numba gives these functions their types)

import math
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from congenial.samplers._words import uniform
from congenial.samplers.published._deviate_kernels import DeviateArrays, deviate, log_weight
from congenial.samplers.published._limit_kernels import LimitArrays, forms_hold, keeps


class ChainArrays(NamedTuple):
    """A chain: laws that propose, limits, laws of the target, and how facts force cells."""

    proposals: DeviateArrays
    limits: LimitArrays
    rates: NDArray[np.float64]
    powers: NDArray[np.int64]
    free: NDArray[np.int64]
    cells: NDArray[np.int64]
    starts: NDArray[np.int64]
    places: NDArray[np.int64]
    weights: NDArray[np.int64]
    divisors: NDArray[np.int64]
    is_whole: bool


@njit(cache=True, inline="always", _nrt=False)
def propose(words, at, chain, z):
    """Draw the free cells, force the others; (whether no limit is broken, cursor)."""
    inside = True
    for i in range(chain.free.size):
        value, at = deviate(words, at, chain.proposals, i)
        cell = chain.free[i]
        z[cell] = value
        if not keeps(chain.limits, cell, value):
            inside = False
            break
    if inside:
        for k in range(chain.cells.size):
            total = 0.0
            for n in range(chain.starts[k], chain.starts[k + 1]):
                total += chain.weights[n] * z[chain.places[n]]
            divisor = chain.divisors[k]
            if chain.is_whole and divisor != 1 and np.int64(total) % divisor != 0:
                inside = False
                break
            cell = chain.cells[k]
            z[cell] = total / divisor
            if not keeps(chain.limits, cell, z[cell]):
                inside = False
                break
    if inside:
        inside = forms_hold(chain.limits, z)
    return inside, at


@njit(cache=True, inline="always", _nrt=False)
def weight_of(chain, z):
    """log p - log q, but for constants, added up as the twin does."""
    log_q = 0.0
    rates, powers = chain.proposals.rates, chain.proposals.powers
    for i in range(chain.free.size):
        value = z[chain.free[i]]
        if powers[i] == 1:
            log_q -= rates[i] * abs(value)
        else:
            log_q -= rates[i] * (value * value)
    return log_weight(z, chain.rates, chain.powers) - log_q


@njit(cache=True, _nrt=False)
def walk(words, chain, noise, weight, steps, first, every, out, proposed):
    """Up to `steps` steps in place; step number `first` + t is kept in `out` where `every` divides it.

    (steps taken, words used, steps accepted, log weight)
    """
    at = 0
    accepted = 0
    for t in range(steps):
        begun = at
        inside, at = propose(words, at, chain, proposed)
        if inside:
            u, at = uniform(words, at)
            if at <= words.size:
                found = weight_of(chain, proposed)
                more = found - weight
                if more >= 0 or u <= math.exp(more):
                    weight = found
                    accepted += 1
                    for i in range(noise.size):
                        noise[i] = proposed[i]
        if at > words.size:
            return t, begun, accepted, weight
        if (first + t + 1) % every == 0:
            row = (first + t + 1) // every - 1
            for i in range(noise.size):
                out[row, i] = noise[i]
    return steps, at, accepted, weight
