"""Twisted columns, compiled: the plain twin's draws on the same words, most tests decided by a bound.

`PreparedColumns.draw` in `twisted.py` says what is drawn. Three things are faster here and change nothing:

* a categorical draw walks a stored part of the cumulated weights, found through a guide table; where
  the stored part does not reach, the sums are run again from the tail, in the same order;
* `u ≤ p / ΠH` is decided by an interval around p from a few frequencies; where u falls inside it, by
  direct convolution with trimmed tails (an interval again); where that does not decide either, by
  the twin's own sums. Every interval is wider than all rounding, so the answer is the twin's;
* what depends on the remainders alone is gathered once a column.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from congenial.samplers._words import uniform
from congenial.samplers.base import FloatArray, IntArray

GUIDES = 32
"""Entries of each of a state's two guide tables."""

# columns of `Tables.facts`: what a remainder's draw and test need, one cache line
LEFT, RIGHT, PEAK, BOUND, REST, UP, DOWN, SPARE = range(8)
# columns of `Tables.marks`
TOP, AT, BEFORE, FROM, GUIDE = range(5)

_TRIM = 1e-13  # tails dropped by the second squeeze, a row
ROUNDING = 1e-9  # relative room that squeezes leave for rounding; `twisted.py` checks that it is enough


class Tables(NamedTuple):
    """All tables of a plan, flat. A *state* is a row class, a column and a remainder.

    rows, columns       their numbers
    row_class           class of each row
    place               where cell (i, j) of the draw stands in the output
    first, lowest, highest   by class and column: index of the first state; range of remainders
    law_at, law_lo, law_hi   by class and column: window of the cell's law in `law`
    value               by state: V, scaled
    facts, marks        by state: see the constants above
    waves, wave_at      first characteristic values (real parts, then imaginary), and where a class starts
    kept, period, chosen, slack  by column: frequencies kept, N, 1 if the column is tested, rounding
    sums, guides        cumulated weights and guide tables of stored states
    """

    rows: int
    columns: int
    row_class: IntArray
    place: IntArray
    first: IntArray
    lowest: IntArray
    highest: IntArray
    law: FloatArray
    law_at: IntArray
    law_lo: IntArray
    law_hi: IntArray
    value: FloatArray
    facts: FloatArray
    marks: IntArray
    waves: FloatArray
    wave_at: IntArray
    kept: IntArray
    period: IntArray
    slack: FloatArray
    sums: FloatArray
    guides: IntArray


@njit(cache=True)
def pack_states(matrix, top, share, sums, marks, guides, at, guide_at):
    """Store the middle of each row's cumulated weights, `share` of the mass cut from either end.

    Layout from `marks[AT]`: the sum before the stored left part, the left part upward, the sum beyond
    the stored right part, the right part downward to the largest weight. Returns the ends written.
    """
    width = matrix.shape[1]
    upward = np.zeros(width + 1)
    downward = np.zeros(width + 1)
    for row in range(matrix.shape[0]):
        peak = top[row]
        for k in range(peak):
            upward[k + 1] = upward[k] + matrix[row, k]
        downward[width] = 0.0
        for k in range(width - 1, peak - 1, -1):
            downward[k] = downward[k + 1] + matrix[row, k]
        left, right = upward[peak], downward[peak]
        cut = share * (left + right)
        start, stop = 0, width - 1
        while start < peak and upward[start + 1] <= cut:
            start += 1
        while stop > peak and downward[stop] <= cut:
            stop -= 1
        marks[row, AT] = at
        marks[row, BEFORE] = peak - start
        marks[row, FROM] = stop - peak + 1
        marks[row, GUIDE] = guide_at
        sums[at] = upward[start]
        for k in range(start, peak):
            sums[at + 1 + k - start] = upward[k + 1]
        at += 1 + peak - start
        _guide(sums[marks[row, AT] + 1 : at], left, guides[guide_at : guide_at + GUIDES])
        sums[at] = downward[stop + 1]
        for k in range(stop, peak - 1, -1):
            sums[at + 1 + stop - k] = downward[k]
        _guide(sums[at + 1 : at + 2 + stop - peak], right, guides[guide_at + GUIDES : guide_at + 2 * GUIDES])
        at += 2 + stop - peak
        guide_at += 2 * GUIDES
    return at, guide_at


@njit(cache=True, inline="always")
def _bucket(target, scale):
    """The guide entry of a target: never decreasing in the target."""
    return min(int(target * scale), GUIDES - 1)


@njit(cache=True)
def _guide(sums, whole, guide):
    """For each bucket the first index whose sum falls into it or beyond."""
    k = 0
    scale = GUIDES / whole if whole > 0.0 else 0.0
    for b in range(GUIDES):
        while k < sums.size - 1 and _bucket(sums[k], scale) < b:
            k += 1
        guide[b] = k


@njit(cache=True)
def _from_the_tail(tables, law_at, law_lo, law_hi, value_at, lowest, highest, s, upward, target):
    """The z at which the sum of φ(z)·V(s-z), run from one end, first reaches the target."""
    start = max(law_lo, s - highest)
    stop = min(law_hi, s - lowest)
    total = 0.0
    if upward:
        z = start
        while True:
            total += tables.law[law_at + z - law_lo] * tables.value[value_at + s - z - lowest]
            if total >= target or z == stop:
                return z
            z += 1
    z = stop
    while True:
        total += tables.law[law_at + z - law_lo] * tables.value[value_at + s - z - lowest]
        if total >= target or z == start:
            return z
        z -= 1


@njit(cache=True)
def _fill_law(tables, t, j, s, out):
    """h_js for one row class on its feasible z; (first z, how many)."""
    after = tables.first[t, j + 1]
    lowest, highest = tables.lowest[t, j + 1], tables.highest[t, j + 1]
    lo, at = tables.law_lo[t, j], tables.law_at[t, j]
    start = max(lo, s - highest)
    stop = min(tables.law_hi[t, j], s - lowest)
    state = tables.first[t, j] + s - tables.lowest[t, j]
    total = tables.facts[state, LEFT] + tables.facts[state, RIGHT]
    for z in range(start, stop + 1):
        out[z - start] = tables.law[at + z - lo] * tables.value[after + s - z - lowest] / total
    return start, stop - start + 1


@njit(cache=True)
def chance_of_zero(tables, j, remainders):
    """P(Σ Z = 0) in column j by direct convolution, in the order in which the twin adds."""
    widest = 0
    for i in range(tables.rows):
        t = tables.row_class[i]
        widest = max(widest, tables.law_hi[t, j] - tables.law_lo[t, j] + 1)
    one = np.empty(widest)
    law = np.empty(tables.rows * widest + 1)
    new = np.empty(tables.rows * widest + 1)
    law[0] = 1.0
    lo, size = 0, 1
    for i in range(tables.rows):
        start, width = _fill_law(tables, tables.row_class[i], j, remainders[i], one)
        lo += start
        if i == tables.rows - 1:
            break
        for k in range(size + width - 1):
            new[k] = 0.0
        for k in range(width):
            h = one[k]
            for m in range(size):
                new[k + m] += h * law[m]
        size += width - 1
        law, new = new, law
    total = 0.0
    for k in range(width):
        m = -lo - k
        if 0 <= m < size:
            total += one[k] * law[m]
    return total


@njit(cache=True)
def _trimmed_chance(tables, j, remainders):
    """(p, cut): P(Σ Z = 0) lies between p and p + cut; tails of the partial sums are cut as they grow."""
    widest = 0
    for i in range(tables.rows):
        t = tables.row_class[i]
        widest = max(widest, tables.law_hi[t, j] - tables.law_lo[t, j] + 1)
    one = np.empty(widest)
    law = np.ones(1)
    lo, cut = 0, 0.0
    for i in range(tables.rows):
        start, width = _fill_law(tables, tables.row_class[i], j, remainders[i], one)
        a, b, lost = _core(one[:width])
        cut += lost
        new = np.zeros(law.size + b - a - 1)
        for k in range(a, b):
            h = one[k]
            for m in range(law.size):
                new[k - a + m] += h * law[m]
        lo += start + a
        a, b, lost = _core(new)
        cut += lost
        law = new[a:b]
        lo += a
    p = law[-lo] if 0 <= -lo < law.size else 0.0
    return p, cut


@njit(cache=True)
def _core(law):
    """The range that leaves out at most `_TRIM` at either end, and what it leaves out."""
    a, lost = 0, 0.0
    while a < law.size - 1 and lost + law[a] <= _TRIM:
        lost += law[a]
        a += 1
    b, more = law.size, 0.0
    while b > a + 1 and more + law[b - 1] <= _TRIM:
        b -= 1
        more += law[b]
    return a, b, lost + more


@njit(cache=True)
def _passes(tables, j, remainders, states, u, real, imaginary, depth):
    """Whether u ≤ P(Σ Z = 0) / Π H, and how it was decided (0 by frequencies, 1 and 2 by convolution).

    `depth` begins at a later way of deciding: for tests, which show that all ways agree.
    """
    kept = tables.kept[j]
    bound, rest, up, down = 1.0, 1.0, 1.0, 1.0
    for m in range(kept):
        real[m] = 1.0
        imaginary[m] = 0.0
    for i in range(tables.rows):
        state = states[i]
        facts = tables.facts[state]
        bound *= facts[BOUND]
        if depth == 0:
            rest *= facts[REST]
            up *= facts[UP]
            down *= facts[DOWN]
            t = tables.row_class[i]
            at = tables.wave_at[t, j] + (state - tables.first[t, j]) * 2 * kept
            for m in range(kept):
                a, b = tables.waves[at + m], tables.waves[at + kept + m]
                x, y = real[m], imaginary[m]
                real[m] = x * a - y * b
                imaginary[m] = x * b + y * a
    if depth == 0:
        period = tables.period[j]
        p = 1.0
        for m in range(kept):
            p += real[m] if 2 * (m + 1) == period else 2.0 * real[m]
        p /= period
        around = rest * (1.0 + ROUNDING) + tables.slack[j]
        if u <= (p - around - (up + down)) / bound * (1.0 - ROUNDING):
            return True, 0
        if u > (p + around) / bound * (1.0 + ROUNDING):
            return False, 0
    if depth <= 1:
        p, cut = _trimmed_chance(tables, j, remainders)
        if u <= p / bound * (1.0 - ROUNDING):
            return True, 1
        if u > (p + cut) / bound * (1.0 + ROUNDING):
            return False, 1
    return u <= chance_of_zero(tables, j, remainders) / bound, 2


@njit(cache=True)
def _draw_column(words, at, tables, j, remainders, states, draw, whole, scale, marks):
    """One column given its remainders and that it sums to zero; the cursor, past the end if unfinished.

    All rows but the one with the flattest law are drawn by themselves; that one is forced, and kept
    with probability h(forced)/max h.
    """
    rows = tables.rows
    last, flattest = 0, np.inf
    for i in range(rows):
        facts = tables.facts[states[i]]
        left, right = facts[LEFT], facts[RIGHT]
        total = left + right
        if facts[PEAK] / total < flattest:
            last, flattest = i, facts[PEAK] / total
        whole[i, 0], whole[i, 1], whole[i, 2] = left, right, total
        scale[i, 0] = GUIDES / left if left > 0.0 else 0.0
        scale[i, 1] = GUIDES / right
        marks[i] = tables.marks[states[i]]
    size = words.size
    t_last = tables.row_class[last]
    lowest, highest = tables.lowest[t_last, j + 1], tables.highest[t_last, j + 1]
    law_lo, law_hi = tables.law_lo[t_last, j], tables.law_hi[t_last, j]
    law_at, value_at = tables.law_at[t_last, j], tables.first[t_last, j + 1]
    while True:
        forced = 0
        for i in range(rows):
            if i == last:
                continue
            t = tables.row_class[i]
            u, at = uniform(words, at)
            target = u * whole[i, 2]
            mark = marks[i]
            stored = mark[AT]
            below = target < whole[i, 0]
            if not below:
                v, at = uniform(words, at)
                target = v * whole[i, 1]
            if stored >= 0:
                if below:
                    base, count, guide, scaling = stored + 1, mark[BEFORE], mark[GUIDE], scale[i, 0]
                else:
                    base = stored + 2 + mark[BEFORE]
                    count, guide, scaling = mark[FROM], mark[GUIDE] + GUIDES, scale[i, 1]
                if target > tables.sums[base - 1]:
                    k = tables.guides[guide + _bucket(target, scaling)]
                    while k < count - 1 and tables.sums[base + k] < target:
                        k += 1
                    z = tables.law_lo[t, j] + (mark[TOP] - count + k if below else mark[TOP] + count - 1 - k)
                    draw[i] = z
                    forced -= z
                    continue
            z = _from_the_tail(
                tables,
                tables.law_at[t, j],
                tables.law_lo[t, j],
                tables.law_hi[t, j],
                tables.first[t, j + 1],
                tables.lowest[t, j + 1],
                tables.highest[t, j + 1],
                remainders[i],
                below,
                target,
            )
            draw[i] = z
            forced -= z
        if at > size:
            return at
        after = remainders[last] - forced
        if forced < law_lo or forced > law_hi or after < lowest or after > highest:
            continue
        weight = tables.law[law_at + forced - law_lo] * tables.value[value_at + after - lowest]
        u, at = uniform(words, at)
        if at > size:
            return at
        if u <= weight / tables.facts[states[last], PEAK]:
            draw[last] = forced
            return at


@njit(cache=True)
def fill_columns(words, out, tables, depth):
    """Rows of `out` until they or the words run out: (draws, words, attempts, squeezes undecided).

    Words and attempts of an unfinished draw are not counted.
    """
    rows, columns = tables.rows, tables.columns
    remainders = np.zeros(rows, dtype=np.int64)
    states = np.zeros(rows, dtype=np.int64)
    draw = np.zeros(rows, dtype=np.int64)
    whole = np.empty((rows, 3))
    scale = np.empty((rows, 2))
    marks = np.empty((rows, 5), dtype=np.int64)
    most = 1
    for j in range(columns):
        most = max(most, tables.kept[j])
    real = np.empty(most)
    imaginary = np.empty(most)
    at, used, done, attempts, counted, undecided = 0, 0, 0, 0, 0, 0
    while done < out.shape[0]:
        attempts += 1
        for i in range(rows):
            remainders[i] = 0
        accepted = True
        for j in range(columns - 1):
            for i in range(rows):
                t = tables.row_class[i]
                states[i] = tables.first[t, j] + remainders[i] - tables.lowest[t, j]
            if j > 0:
                u, at = uniform(words, at)
                if at > words.size:
                    return done, used, counted, undecided
                accepted, way = _passes(tables, j, remainders, states, u, real, imaginary, depth)
                undecided += way > 0
                if not accepted:
                    break
            at = _draw_column(words, at, tables, j, remainders, states, draw, whole, scale, marks)
            if at > words.size:
                return done, used, counted, undecided
            for i in range(rows):
                out[done, tables.place[i * columns + j]] = draw[i]
                remainders[i] -= draw[i]
        if accepted:
            for i in range(rows):
                out[done, tables.place[i * columns + columns - 1]] = remainders[i]
            done += 1
            used = at
            counted = attempts
    return done, used, counted, undecided
