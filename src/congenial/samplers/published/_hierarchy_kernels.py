"""Steps of the chain on a hierarchy, compiled: `hierarchy.py` is the text to read.

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
    """A chain: laws of the steps, limits, laws of the nodes, the tree."""

    steps: DeviateArrays
    limits: LimitArrays
    rates: NDArray[np.float64]
    powers: NDArray[np.int64]
    parents: NDArray[np.int64]
    leaves: NDArray[np.int64]


@njit(cache=True, inline="always", _nrt=False)
def propose(words, at, chain, noise, z):
    """Move all leaves, add up all nodes; (whether no limit is broken, cursor)."""
    inside = True
    for v in range(z.size):
        z[v] = 0.0
    for i in range(chain.leaves.size):
        leaf = chain.leaves[i]
        step, at = deviate(words, at, chain.steps, i)
        z[leaf] = noise[leaf] + step
        if not keeps(chain.limits, leaf, z[leaf]):
            inside = False
            break
    if inside:
        for v in range(z.size - 1, -1, -1):
            if not keeps(chain.limits, v, z[v]):
                inside = False
                break
            if chain.parents[v] >= 0:
                z[chain.parents[v]] += z[v]
    if inside:
        inside = forms_hold(chain.limits, z)
    return inside, at


@njit(cache=True, _nrt=False)
def walk(words, chain, noise, weight, steps, first, every, out, proposed):
    """Up to `steps` steps in place; step number `first` + t is kept in `out` where `every` divides it.

    (steps taken, words used, steps accepted, log weight)
    """
    at = 0
    accepted = 0
    for t in range(steps):
        begun = at
        inside, at = propose(words, at, chain, noise, proposed)
        if inside:
            u, at = uniform(words, at)
            if at <= words.size:
                found = log_weight(proposed, chain.rates, chain.powers)
                more = found - weight
                if more >= 0 or u <= math.exp(more):
                    weight = found
                    accepted += 1
                    for v in range(noise.size):
                        noise[v] = proposed[v]
        if at > words.size:
            return t, begun, accepted, weight
        if (first + t + 1) % every == 0:
            row = (first + t + 1) // every - 1
            for v in range(noise.size):
                out[row, v] = noise[v]
    return steps, at, accepted, weight
