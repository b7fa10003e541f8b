"""Compositions, compiled: the table of the common total, uniform subsets in a bitmap, the draws.

Each function uses the same words as its plain twin in `composition.py` and returns the same value.
"""

# mypy: ignore-errors
# (numba gives these functions their types)

import math

import numpy as np
from numba import njit, uint64

from congenial.samplers._integer_table_kernels import pick_in
from congenial.samplers._limb_kernels import divide_small, shift_down, times, times_word, trailing_zeros

_LANES_16 = 1 << 13  # as in `randomness.LANES_16`
_ONE = uint64(1)

# columns of `Composition.plan`: one row a group
CELL, PARTS, PLUS, MINUS, TABLE, ENTRIES, GUIDE, SHIFT, OFFSET, BOUNDED = range(10)


@njit(cache=True)
def window(n, s, epsilon, smallest, most):
    """Where P(H) ∝ C(H+s+n-1, n-1)·C(H+n-1, n-1)·a^{2H} is above `smallest` of its largest value.

    Returns (first H, one of the largest, last H, what the two tails hold against the largest); stops
    early where there would be more than `most` entries.
    """
    a2 = math.exp(-2 * epsilon)
    # H(H+s) = a²(H+n-1)(H+s+n-1), nearly: the positive root
    square = -math.expm1(-2 * epsilon)
    linear = (2 + s) - a2 * (2 * n + s)
    constant = (1 + s) - a2 * n * (n + s)
    root = (-linear + math.sqrt(max(0.0, linear * linear - 4 * square * constant))) / (2 * square)
    mode = max(0, int(root))
    w, last, ratio = 1.0, mode, 0.5
    while w > smallest and last - mode <= most:
        ratio = a2 * ((last + n) / (last + 1.0)) * ((last + s + n) / (last + s + 1.0))
        w *= ratio
        last += 1
    rest = 2 * w / max(1 - ratio, 1e-12)
    w, first, ratio = 1.0, mode, 0.5
    while w > smallest and first > 0 and last - first <= most:
        ratio = (first / (first + n - 1.0)) * ((first + s) / (first + s + n - 1.0)) / a2
        w *= ratio
        first -= 1
    if first > 0:
        rest += 2 * w / max(1 - ratio, 1e-12)
    return first, mode, last, rest


@njit(cache=True)
def totals(n, s, first, mode, last, fall, fall_bits, rise, rise_bits):
    """Weights of H = first … last, three limbs each, from the mode outwards.

    a² is `fall` >> `fall_bits` and 1/a² `rise` >> `rise_bits`, both three limbs with the top bit set.
    Each step rounds down by less than three units of 2^-191 of the largest weight.
    """
    weights = np.empty((last - first + 1, 3), dtype=np.uint64)
    p = np.empty(5, dtype=np.uint64)
    wide = np.empty(8, dtype=np.uint64)
    q = np.empty(4, dtype=np.uint64)
    weights[mode - first, 0] = uint64(0)
    weights[mode - first, 1] = uint64(0)
    weights[mode - first, 2] = uint64(1 << 63)
    for k in range(mode, last):
        _step(weights[k - first], uint64(k + n), uint64(k + s + n), fall, fall_bits, p, wide, q)
        divide_small(q, 4, uint64(k + 1))
        divide_small(q, 4, uint64(k + s + 1))
        weights[k + 1 - first] = q[:3]
    for k in range(mode, first, -1):
        _step(weights[k - first], uint64(k), uint64(k + s), rise, rise_bits, p, wide, q)
        divide_small(q, 4, uint64(k + n - 1))
        divide_small(q, 4, uint64(k + s + n - 1))
        weights[k - 1 - first] = q[:3]
    return weights


@njit(cache=True)
def _step(weight, one, other, factor, bits, p, wide, q):
    p[:3] = weight
    times_word(p, 3, one)
    times_word(p, 4, other)
    times(p, 5, factor, 3, wide)
    shift_down(wide, 8, bits, q, 4)


@njit(cache=True)
def mark(words, at, places, wanted, marks):
    """Mark `wanted` distinct ones of `places`, every subset equally likely; the new cursor.

    `marks` is a bitmap, cleared here. Lanes of a word as in `Source.belows`; a refused lane or a place
    that is marked already changes nothing, so no branch hangs on it.
    """
    for slot in range((places + 63) >> 6):
        marks[slot] = uint64(0)
    n = uint64(places)
    if places <= _LANES_16:
        lane, lanes = uint64(16), 4
    else:
        lane, lanes = uint64(32), 2
    mask = (_ONE << lane) - _ONE
    least = (_ONE << lane) % n
    count = 0
    while count < wanted:
        if at >= words.size:
            return words.size + 1
        w = words[at]
        at += 1
        if count + lanes <= wanted:
            for _ in range(lanes):
                product = (w & mask) * n
                w >>= lane
                place = product >> lane
                slot = place >> uint64(6)
                bit = uint64((product & mask) >= least) << (place & uint64(63))
                old = marks[slot]
                marks[slot] = old | bit
                count += (bit & ~old) != uint64(0)
        else:
            for _ in range(lanes):
                product = (w & mask) * n
                w >>= lane
                place = product >> lane
                slot = place >> uint64(6)
                bit = uint64(((product & mask) >= least) & (count < wanted)) << (place & uint64(63))
                old = marks[slot]
                marks[slot] = old | bit
                count += (bit & ~old) != uint64(0)
    return at


@njit(cache=True)
def add_composition(words, at, total, parts, sign, cells, row, marks):
    """Add `sign` times a uniform weak composition of `total` into `parts` to row[cells]; the new cursor.

    parts-1 bars among total+parts-1 places, or the stars between them, whichever are fewer.
    """
    bars = parts - 1
    places = total + bars
    wanted = min(bars, total)
    slots = 0
    if wanted > 0:
        slots = (places + 63) >> 6
        at = mark(words, at, places, wanted, marks)
        if at > words.size:
            return at
    if bars <= total:
        part = 0
        before = -1
        for slot in range(slots):
            w = marks[slot]
            base = slot << 6
            while w != uint64(0):
                place = base + np.int64(trailing_zeros(w))
                row[cells[part]] += sign * (place - before - 1)
                before = place
                part += 1
                w &= w - _ONE
        row[cells[part]] += sign * (places - 1 - before)
    else:
        star = 0
        for slot in range(slots):
            w = marks[slot]
            base = slot << 6
            while w != uint64(0):
                row[cells[base + np.int64(trailing_zeros(w)) - star]] += sign
                star += 1
                w &= w - _ONE
    return at


@njit(cache=True)
def _outside(row, cells, lower, upper):
    broken = False
    for i in range(cells.size):
        z = row[cells[i]]
        broken |= (z < lower[i]) | (z > upper[i])
    return broken


@njit(cache=True)
def _draw_group(words, at, row, group, cells, high, low, guide, marks):
    """One group's cells of `row`; the new cursor."""
    for i in range(cells.size):
        row[cells[i]] = 0
    h, at = pick_in(
        words, at, high, low, guide, group[TABLE], group[ENTRIES], group[GUIDE], uint64(group[SHIFT])
    )
    if at > words.size:
        return at
    h += group[OFFSET]
    at = add_composition(words, at, h + group[PLUS], group[PARTS], 1, cells, row, marks)
    if at > words.size:
        return at
    return add_composition(words, at, h + group[MINUS], group[PARTS], -1, cells, row, marks)


@njit(cache=True)
def fill(words, out, plan, cells, high, low, guide, lower, upper, places):
    """Rows of `out` until they or the words run out: (draws, words that they used)."""
    marks = np.empty((places + 63) >> 6, dtype=np.uint64)
    used = 0
    for done in range(out.shape[0]):
        at = used
        row = out[done]
        for g in range(plan.shape[0]):
            group = plan[g]
            first, end = group[CELL], group[CELL] + group[PARTS]
            while True:
                at = _draw_group(words, at, row, group, cells[first:end], high, low, guide, marks)
                if at > words.size:
                    return done, used
                if group[BOUNDED] == 0 or not _outside(
                    row, cells[first:end], lower[first:end], upper[first:end]
                ):
                    break
        used = at
    return out.shape[0], used
