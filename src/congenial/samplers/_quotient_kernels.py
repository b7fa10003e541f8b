"""The kernel of `quotient.py`: a categorical draw from sums made once."""
# mypy: ignore-errors
# compiled code: numba decides the types, from arrays whose types its callers fix

import numpy as np
from numba import njit

from congenial.samplers._words import uniform


@njit(cache=True)
def fill(words, out, points, sums, top, before, total):
    """Draw rows of `out` from `points`; (draws finished, words they used)."""
    at, used = 0, 0
    for d in range(out.shape[0]):
        u, at = uniform(words, at)
        target = u * total
        if target < before:
            # the first of the ascending sums that reaches the target
            low, high = 0, top - 1
            while low < high:
                middle = (low + high) // 2
                if sums[middle] >= target:
                    high = middle
                else:
                    low = middle + 1
        else:
            v, at = uniform(words, at)
            target = v * sums[top]
            # the last of the descending sums that reaches the target
            low, high = top, points.shape[0] - 1
            while low < high:
                middle = (low + high + 1) // 2
                if sums[middle] >= target:
                    low = middle
                else:
                    high = middle - 1
        if at > words.size:
            return d, used
        for j in range(points.shape[1]):
            out[d, j] = points[low, j]
        used = at
    return np.int64(out.shape[0]), used
