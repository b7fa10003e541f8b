"""Set-up of twisted columns, compiled: every remainder of a row class at a column, one weight at a time.

The weights of remainder s are φ(z)·V(s-z). They are never stored all together: each function here walks
them again, in the order in which `Source.categorical` adds them up, so that sums are the same floats.
"""
# mypy: ignore-errors
# compiled code: numba decides the types, from arrays whose types its callers fix

import numpy as np
from numba import njit

from congenial.samplers.crossing._twisted_chance_kernels import AT, BEFORE, FROM, GUIDE, GUIDES
from congenial.samplers.crossing._twisted_kernels import bucket


@njit(cache=True)
def _range(law, law_lo, value, value_lo, s):
    """The feasible z: first and last place in the law, and where s-z stands in V for the first."""
    start = max(0, s - law_lo - (value_lo + value.size - 1))
    stop = min(law.size - 1, s - law_lo - value_lo)
    return start, stop, s - law_lo - value_lo


@njit(cache=True)
def scan(law, law_lo, value, value_lo, lo, left, right, top, peak, moments, first, last):
    """Masses before and from the largest weight on, and its place, for s = lo, lo+1, …

    For remainders at places first … last-1 also mean and mean square of z. Returns the largest ratio of
    a sum, run from its end, to the weight it ends with.
    """
    spread = 1.0
    for n in range(left.size):
        start, stop, turn = _range(law, law_lo, value, value_lo, lo + n)
        best, place = -1.0, start
        for k in range(start, stop + 1):
            w = law[k] * value[turn - k]
            if w > best:
                best, place = w, k
        total = 0.0
        for k in range(start, place):
            w = law[k] * value[turn - k]
            total += w
            if total > spread * w:
                spread = total / w
        left[n] = total
        total = 0.0
        for k in range(stop, place - 1, -1):
            w = law[k] * value[turn - k]
            total += w
            if total > spread * w:
                spread = total / w
        right[n], top[n], peak[n] = total, place, best
        if first <= n < last:
            whole = left[n] + right[n]
            mean, square = 0.0, 0.0
            for k in range(start, stop + 1):
                part = law[k] * value[turn - k] * (k + law_lo)
                mean += part
                square += part * (k + law_lo)
            moments[n - first, 0] = mean / whole
            moments[n - first, 1] = square / whole
    return spread


@njit(cache=True)
def fold(law, law_lo, value, value_lo, lo, total, out):
    """h on z modulo the period (the width of `out`), for s = lo, lo+1, …"""
    period = out.shape[1]
    for n in range(out.shape[0]):
        start, stop, turn = _range(law, law_lo, value, value_lo, lo + n)
        part = 1.0 / total[n]
        for m in range(period):
            out[n, m] = 0.0
        m = (start + law_lo) % period
        for k in range(start, stop + 1):
            out[n, m] += law[k] * value[turn - k] * part
            m += 1
            if m == period:
                m = 0


@njit(cache=True)
def exponential_means(law, law_lo, value, value_lo, lo, total, growing, falling, out):
    """Σ h(z)·growing(z) and Σ h(z)·falling(z), for s = lo, lo+1, …"""
    for n in range(out.shape[0]):
        start, stop, turn = _range(law, law_lo, value, value_lo, lo + n)
        up, down = 0.0, 0.0
        for k in range(start, stop + 1):
            w = law[k] * value[turn - k]
            up += w * growing[k]
            down += w * falling[k]
        out[n, 0] = up / total[n]
        out[n, 1] = down / total[n]


@njit(cache=True)
def pack(law, law_lo, value, value_lo, lo, top, share, sums, marks, guides):
    """Store the middle of each remainder's cumulated weights, `share` of the mass cut from either end.

    Layout from `marks[AT]`: the sum before the stored left part, the left part upward, the sum beyond
    the stored right part, the right part downward to the largest weight. Returns how much was written,
    or -1 if `sums` is too short.
    """
    upward = np.zeros(law.size + 1)
    downward = np.zeros(law.size + 1)
    at = 0
    for n in range(top.size):
        start, stop, turn = _range(law, law_lo, value, value_lo, lo + n)
        peak = top[n]
        upward[start] = 0.0
        for k in range(start, peak):
            upward[k + 1] = upward[k] + law[k] * value[turn - k]
        downward[stop + 1] = 0.0
        for k in range(stop, peak - 1, -1):
            downward[k] = downward[k + 1] + law[k] * value[turn - k]
        left, right = upward[peak], downward[peak]
        cut = share * (left + right)
        while start < peak and upward[start + 1] <= cut:
            start += 1
        while stop > peak and downward[stop] <= cut:
            stop -= 1
        if at + stop - start + 3 > sums.size:
            return -1
        marks[n, AT] = at
        marks[n, BEFORE] = peak - start
        marks[n, FROM] = stop - peak + 1
        marks[n, GUIDE] = 2 * GUIDES * n
        sums[at] = upward[start]
        for k in range(start, peak):
            sums[at + 1 + k - start] = upward[k + 1]
        at += 1 + peak - start
        guide = 2 * GUIDES * n
        _guide(sums[marks[n, AT] + 1 : at], left, guides[guide : guide + GUIDES])
        sums[at] = downward[stop + 1]
        for k in range(stop, peak - 1, -1):
            sums[at + 1 + stop - k] = downward[k]
        _guide(sums[at + 1 : at + 2 + stop - peak], right, guides[guide + GUIDES : guide + 2 * GUIDES])
        at += 2 + stop - peak
    return at


@njit(cache=True)
def _guide(sums, whole, guide):
    """For each bucket the first index whose sum falls into it or beyond."""
    k = 0
    scale = GUIDES / whole if whole > 0.0 else 0.0
    for b in range(GUIDES):
        while k < sums.size - 1 and bucket(sums[k], scale) < b:
            k += 1
        guide[b] = k
