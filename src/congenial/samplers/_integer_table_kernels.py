"""Looking a 128-bit word up in a table of integer weights, compiled."""

# mypy: ignore-errors
# (numba gives these functions their types)

import numpy as np
from numba import njit, uint64

from congenial.samplers._limb_kernels import trailing_zeros
from congenial.samplers._words import word


@njit(cache=True, inline="always")
def pick_in(words, at, high, low, guide, first, entries, guide_first, shift):
    """`pick` in a table whose entries start at `first` of shared arrays; (index, cursor)."""
    v_high = word(words, at)
    v_low = word(words, at + 1)
    i = first + guide[guide_first + np.int64(v_high >> shift)]
    last = first + entries - 1
    while i < last and (high[i] < v_high or (high[i] == v_high and low[i] <= v_low)):
        i += 1
    return i - first, at + 2


@njit(cache=True)
def pick(words, at, high, low, guide):
    """An index from an `IntegerTable`'s arrays, exactly by its weights; two words; (index, cursor)."""
    shift = uint64(64) - trailing_zeros(uint64(guide.size))
    return pick_in(words, at, high, low, guide, 0, high.size, 0, shift)
