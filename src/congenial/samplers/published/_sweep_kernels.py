"""Sweeps of a chain on a lattice, compiled: `sweeps.py` is the text to read.

Compiled without reference counts, which would cost more than the steps; so arrays to work in are handed in.
"""

# mypy: ignore-errors
# (numba gives these functions their types)

import math
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from congenial.samplers._integer_table_kernels import pick_in
from congenial.samplers._words import uniform


class Place(NamedTuple):
    """Where one `IntegerTable` stands among several that share their arrays."""

    first: int
    entries: int
    guide_first: int
    shift: np.uint64
    offset: int


class ChainArrays(NamedTuple):
    """A chain: basis, tables of jumps, target."""

    starts: NDArray[np.int64]
    places: NDArray[np.int64]
    weights: NDArray[np.int64]
    high: NDArray[np.uint64]
    low: NDArray[np.uint64]
    guide: NDArray[np.int64]
    jump: Place
    gaps: Place
    moves: Place
    mass: NDArray[np.float64]
    directions: int
    by_gaps: bool
    rate: float
    power: int
    is_root: bool


@njit(cache=True, inline="always", _nrt=False)
def picked(words, at, chain, table):
    """A whole number from one of the chain's tables; (number, cursor)."""
    k, at = pick_in(
        words,
        at,
        chain.high,
        chain.low,
        chain.guide,
        table.first,
        table.entries,
        table.guide_first,
        table.shift,
    )
    return k + table.offset, at


@njit(cache=True, inline="always", _nrt=False)
def propose(words, at, chain, index, value):
    """The directions that a sweep proposes to move and how far each; (how many, cursor)."""
    moved = 0
    if chain.by_gaps:
        j, at = picked(words, at, chain, chain.gaps)
        while j < chain.directions:
            e, at = picked(words, at, chain, chain.moves)
            index[moved] = j
            value[moved] = e
            moved += 1
            gap, at = picked(words, at, chain, chain.gaps)
            j += 1 + gap
    else:
        for j in range(chain.directions):
            e, at = picked(words, at, chain, chain.jump)
            if e != 0:
                index[moved] = j
                value[moved] = e
                moved += 1
    return moved, at


@njit(cache=True, inline="always", _nrt=False)
def shift(noise, size, chain, moved, index, value):
    """Add the moves to the noise; the size that it then has."""
    for k in range(moved):
        e = value[k]
        for n in range(chain.starts[index[k]], chain.starts[index[k] + 1]):
            cell = chain.places[n]
            before = noise[cell]
            after = before + e * chain.weights[n]
            noise[cell] = after
            if chain.power == 1:
                size += abs(after) - abs(before)
            else:
                size += after * after - before * before
    return size


@njit(cache=True, inline="always", _nrt=False)
def shift_back(noise, chain, moved, index, value):
    """Take the moves off again."""
    for k in range(moved):
        e = value[k]
        for n in range(chain.starts[index[k]], chain.starts[index[k] + 1]):
            noise[chain.places[n]] -= e * chain.weights[n]


@njit(cache=True, inline="always", _nrt=False)
def odds(chain, size, proposed):
    """The chance that a move from one size to another is accepted."""
    more = np.float64(proposed - size)
    if chain.is_root:
        more = math.sqrt(np.float64(proposed)) - math.sqrt(np.float64(size))
    if more <= 0:
        return 1.0
    return math.exp(-chain.rate * more)


@njit(cache=True, inline="always", _nrt=False)
def settle(u, chain, coordinates, noise, size, moved, index, value):
    """Accept or refuse the moves with the uniform `u`; (whether accepted, the size then)."""
    proposed = shift(noise, size, chain, moved, index, value)
    accepted = u <= odds(chain, size, proposed)
    if accepted:
        for k in range(moved):
            coordinates[index[k]] += value[k]
        size = proposed
    else:
        shift_back(noise, chain, moved, index, value)
    return accepted, size


@njit(cache=True, _nrt=False)
def walk(words, chain, coordinates, noise, size, steps, first, every, out, scratch):
    """Up to `steps` steps in place; step number `first` + t is kept in `out` where `every` divides it.

    (steps taken, words used, steps accepted, size)
    """
    index, value = scratch[0], scratch[1]
    at = 0
    accepted = 0
    for t in range(steps):
        begun = at
        moved, at = propose(words, at, chain, index, value)
        u, at = uniform(words, at)
        if at > words.size:
            return t, begun, accepted, size
        is_accepted, size = settle(u, chain, coordinates, noise, size, moved, index, value)
        accepted += is_accepted
        if (first + t + 1) % every == 0:
            row = (first + t + 1) // every - 1
            for i in range(noise.size):
                out[row, i] = noise[i]
    return steps, at, accepted, size
