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

# columns of `Tables.facts`: what a remainder's draw and tests need
LEFT, RIGHT, PEAK, BOUND, REST, UP, DOWN, GROUP_BOUND, GROUP_REST = range(9)
FACTS = 9
# columns of `Tables.marks`: place of the largest weight; stored sums, how many; guide; frequencies
TOP, AT, BEFORE, FROM, GUIDE, WAVE = range(6)
MARKS = 6
# columns of `Tables.column_marks`
KEPT, GROUP_KEPT, STORED, PERIOD, OUTSIDE, PHASE = range(6)

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
    waves               by state where `marks` says so: first characteristic values, real, then imaginary
    phases              by column from `PHASE`: cosine and sine of the grid's turns
    column_marks        by column: frequencies kept for the tests of the column and the group, and
                        stored; N; rows outside the group; see the constants above
    order               by column: the rows, those of the group last
    slack               by column: rounding of a squeeze; a factor of the group's wrap bound
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
    phases: FloatArray
    column_marks: IntArray
    order: IntArray
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


@njit(cache=True, inline="always", _nrt=False)
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


@njit(cache=True, _nrt=False)
def _from_the_tail(tables, t, j, s, upward, target):
    """The z at which the sum of φ(z)·V(s-z), run from one end, first reaches the target."""
    lo, law_at = tables.law_lo[t, j], tables.law_at[t, j]
    lowest, value_at = tables.lowest[t, j + 1], tables.first[t, j + 1]
    start = max(lo, s - tables.highest[t, j + 1])
    stop = min(tables.law_hi[t, j], s - lowest)
    total = 0.0
    if upward:
        z = start
        while True:
            total += tables.law[law_at + z - lo] * tables.value[value_at + s - z - lowest]
            if total >= target or z == stop:
                return z
            z += 1
    z = stop
    while True:
        total += tables.law[law_at + z - lo] * tables.value[value_at + s - z - lowest]
        if total >= target or z == start:
            return z
        z -= 1


@njit(cache=True, _nrt=False)
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


@njit(cache=True, _nrt=False)
def chance_of_sum(tables, j, remainders, begin, target, room):
    """P(sum of the rows from `begin` in the column's order = target), in the order in which the twin adds.

    `room` is work space: three rows as long as all windows together.
    """
    law, size, lo, width = 0, 1, 0, 0
    room[law, 0] = 1.0
    for n in range(begin, tables.rows):
        i = tables.order[j, n]
        start, width = _fill_law(tables, tables.row_class[i], j, remainders[i], room[2])
        lo += start
        if n == tables.rows - 1:
            break
        _convolve(room[law], 0, size, room[2], 0, width, room[1 - law])
        size += width - 1
        law = 1 - law
    total = 0.0
    for k in range(width):
        m = target - lo - k
        if 0 <= m < size:
            total += room[2, k] * room[law, m]
    return total


@njit(cache=True, _nrt=False)
def _trimmed_chance(tables, j, remainders, begin, target, room):
    """(p, cut): the same chance lies between p and p + cut; tails of partial sums are cut as they grow."""
    law, first, size, lo, cut = 0, 0, 1, 0, 0.0
    room[law, 0] = 1.0
    for n in range(begin, tables.rows):
        i = tables.order[j, n]
        start, width = _fill_law(tables, tables.row_class[i], j, remainders[i], room[2])
        a, b, lost = _core(room[2], width)
        _convolve(room[law], first, size, room[2], a, b - a, room[1 - law])
        law = 1 - law
        first, last, more = _core(room[law], size + b - a - 1)
        size = last - first
        lo += start + a + first
        cut += lost + more
    p = room[law, first + target - lo] if 0 <= target - lo < size else 0.0
    return p, cut


@njit(cache=True, _nrt=False)
def _convolve(law, first, size, one, start, width, out):
    """out = law[first …] ⊛ one[start …], term by term of `one`."""
    for k in range(size + width - 1):
        out[k] = 0.0
    for k in range(width):
        h = one[start + k]
        for m in range(size):
            out[k + m] += h * law[first + m]


@njit(cache=True, _nrt=False)
def _core(law, size):
    """The range that leaves out at most `_TRIM` at either end, and what it leaves out."""
    a, lost = 0, 0.0
    while a < size - 1 and lost + law[a] <= _TRIM:
        lost += law[a]
        a += 1
    b, more = size, 0.0
    while b > a + 1 and more + law[b - 1] <= _TRIM:
        b -= 1
        more += law[b]
    return a, b, lost + more


@njit(cache=True, inline="always", _nrt=False)
def _multiplied(tables, j, states, begin, kept, waves):
    """Products of the first ĥ of the rows from `begin` in the column's order; False if a row has none."""
    marks, stored, order = tables.marks, tables.waves, tables.order
    width = tables.column_marks[j, STORED]
    for m in range(kept):
        waves[0, m] = 1.0
        waves[1, m] = 0.0
    for n in range(begin, tables.rows):
        at = marks[states[order[j, n]], WAVE]
        if at < 0:
            return False
        for m in range(kept):
            a, b = stored[at + m], stored[at + width + m]
            x, y = waves[0, m], waves[1, m]
            waves[0, m] = x * a - y * b
            waves[1, m] = x * b + y * a
    return True


@njit(cache=True, inline="always", _nrt=False)
def _squeezed(u, p, below, above, bound):
    """1 if u ≤ chance/bound for every chance in p-below … p+above, -1 if for none, else 0."""
    if u <= (p - below) / bound * (1.0 - ROUNDING):
        return 1
    if u > (p + above) / bound * (1.0 + ROUNDING):
        return -1
    return 0


@njit(cache=True, _nrt=False)
def _by_convolution(tables, j, remainders, begin, target, u, bound, depth, room):
    """Whether u ≤ chance/bound, by convolution: trimmed, and in full where that does not decide."""
    if depth <= 1:
        p, cut = _trimmed_chance(tables, j, remainders, begin, target, room)
        sure = _squeezed(u, p, 0.0, cut, bound)
        if sure != 0:
            return sure > 0
    return u <= chance_of_sum(tables, j, remainders, begin, target, room) / bound


@njit(cache=True, inline="always", _nrt=False)
def _column_passes(tables, j, remainders, states, u, waves, depth, room):
    """Whether u ≤ P(Σ Z = 0) / Π H, and 1 if the frequencies did not decide it.

    `depth` begins at a later way of deciding: for tests, which show that all ways agree.
    """
    facts = tables.facts
    bound, rest, up, down = 1.0, 1.0, 1.0, 1.0
    for n in range(tables.rows):
        state = states[tables.order[j, n]]
        bound *= facts[state, BOUND]
        rest *= facts[state, REST]
        up *= facts[state, UP]
        down *= facts[state, DOWN]
    kept, period = tables.column_marks[j, KEPT], tables.column_marks[j, PERIOD]
    if depth == 0 and _multiplied(tables, j, states, 0, kept, waves):
        p = 1.0
        for m in range(kept):
            p += waves[0, m] if 2 * (m + 1) == period else 2.0 * waves[0, m]
        around = rest * (1.0 + ROUNDING) + tables.slack[j, 0]
        sure = _squeezed(u, p / period, around + up + down, around, bound)
        if sure != 0:
            return sure > 0, 0
    return _by_convolution(tables, j, remainders, 0, 0, u, bound, depth, room), 1


@njit(cache=True, inline="always", _nrt=False)
def _gather(tables, j, states, whole, scale, marks):
    """Copy what a column's draws need of each row's state, in the column's order.

    Returns the place in that order of the row with the flattest law among the group, or among all.
    """
    facts, stored = tables.facts, tables.marks
    begin = tables.column_marks[j, OUTSIDE]
    if begin == tables.rows:
        begin = 0
    last, flattest = 0, np.inf
    for n in range(tables.rows):
        i = tables.order[j, n]
        state = states[i]
        left, right = facts[state, LEFT], facts[state, RIGHT]
        total = left + right
        if n >= begin:
            height = facts[state, PEAK] / total
            if height < flattest:
                last, flattest = n, height
        whole[n, 0], whole[n, 1], whole[n, 2] = left, right, total
        at, before, guide = stored[state, AT], stored[state, BEFORE], stored[state, GUIDE]
        lo = tables.law_lo[tables.row_class[i], j]
        scale[n, 0] = GUIDES / left if left > 0.0 else 0.0
        scale[n, 1] = GUIDES / right
        # left part, then right part: first sum, how many, guide, z of the first sum
        marks[n, 0, 0] = at + 1 if at >= 0 else -1
        marks[n, 0, 1] = before
        marks[n, 0, 2] = guide
        marks[n, 0, 3] = lo + stored[state, TOP] - before
        marks[n, 1, 0] = at + 2 + before if at >= 0 else -1
        marks[n, 1, 1] = stored[state, FROM]
        marks[n, 1, 2] = guide + GUIDES
        marks[n, 1, 3] = lo + stored[state, TOP] + stored[state, FROM] - 1
    return last


@njit(cache=True, inline="always", _nrt=False)
def _draw_rows(words, at, tables, j, remainders, begin, end, skip, draw, whole, scale, marks):
    """Draw the rows at places begin … end-1 of the column's order, but `skip`: (their sum, cursor)."""
    sums, guides, order = tables.sums, tables.guides, tables.order
    total = 0
    for n in range(begin, end):
        if n == skip:
            continue
        u, at = uniform(words, at)
        target = u * whole[n, 2]
        side = 0
        if target >= whole[n, 0]:
            u, at = uniform(words, at)
            target = u * whole[n, 1]
            side = 1
        base = marks[n, side, 0]
        i = order[j, n]
        if base > 0 and target > sums[base - 1]:
            k = guides[marks[n, side, 2] + _bucket(target, scale[n, side])]
            count = marks[n, side, 1]
            while k < count - 1 and sums[base + k] < target:
                k += 1
            z = marks[n, side, 3] + (k if side == 0 else -k)
        else:
            z = _from_the_tail(tables, tables.row_class[i], j, remainders[i], side == 0, target)
        draw[i] = z
        total += z
    return total, at


@njit(cache=True, inline="always", _nrt=False)
def _group_passes(tables, j, remainders, target, u, waves, known, numbers, depth, room):
    """Whether u ≤ P(sum of the group = target) / Π H; `numbers` are its bound, rest and wrap bound."""
    period = tables.column_marks[j, PERIOD]
    if depth == 0 and known and 2 * abs(target) <= period:
        phases, start = tables.phases, tables.column_marks[j, PHASE]
        p = 1.0
        turn = 0
        step = target % period
        for m in range(tables.column_marks[j, GROUP_KEPT]):
            turn += step
            if turn >= period:
                turn -= period
            part = waves[0, m] * phases[start + turn, 0] - waves[1, m] * phases[start + turn, 1]
            p += part if 2 * (m + 1) == period else 2.0 * part
        around = numbers[1] * (1.0 + ROUNDING) + tables.slack[j, 0]
        sure = _squeezed(u, p / period, around + numbers[2], around, numbers[0])
        if sure != 0:
            return sure > 0
    begin = tables.column_marks[j, OUTSIDE]
    return _by_convolution(tables, j, remainders, begin, target, u, numbers[0], depth, room)


@njit(cache=True, inline="always", _nrt=False)
def _group_numbers(tables, j, states):
    """Bound, bound of the frequencies left out, bound of what wraps: products over the group's rows."""
    facts = tables.facts
    bound, rest, up, down = 1.0, 1.0, tables.slack[j, 1], tables.slack[j, 1]
    for n in range(tables.column_marks[j, OUTSIDE], tables.rows):
        state = states[tables.order[j, n]]
        bound *= facts[state, GROUP_BOUND]
        rest *= facts[state, GROUP_REST]
        up *= facts[state, UP]
        down *= facts[state, DOWN]
    return bound, rest, up + down


@njit(cache=True, inline="always", _nrt=False)
def _forced_weight(tables, t, j, s, z):
    """φ(z)·V(s-z), zero outside the windows."""
    after = s - z
    if z < tables.law_lo[t, j] or z > tables.law_hi[t, j]:
        return 0.0
    if after < tables.lowest[t, j + 1] or after > tables.highest[t, j + 1]:
        return 0.0
    value = tables.value[tables.first[t, j + 1] + after - tables.lowest[t, j + 1]]
    return tables.law[tables.law_at[t, j] + z - tables.law_lo[t, j]] * value


@njit(cache=True, inline="always", _nrt=False)
def _draw_column(words, at, tables, j, remainders, states, draw, whole, scale, marks, waves, depth, room):
    """One column given its remainders and that it sums to zero; the cursor, past the end if unfinished.

    The rows outside the group are drawn until the group is likely enough to make up for their sum; then
    the group is drawn, all but its flattest row, which is forced and kept with chance h/max h.
    """
    size, rows = words.size, tables.rows
    last = _gather(tables, j, states, whole, scale, marks)
    outside = tables.column_marks[j, OUTSIDE]
    total = 0
    if outside < rows:
        known = _multiplied(tables, j, states, outside, tables.column_marks[j, GROUP_KEPT], waves)
        numbers = _group_numbers(tables, j, states)
        while True:
            total, at = _draw_rows(
                words, at, tables, j, remainders, 0, outside, -1, draw, whole, scale, marks
            )
            u, at = uniform(words, at)
            if at > size:
                return at
            if _group_passes(tables, j, remainders, -total, u, waves, known, numbers, depth, room):
                break
    begin = outside if outside < rows else 0
    i = tables.order[j, last]
    peak = tables.facts[states[i], PEAK]
    while True:
        more, at = _draw_rows(
            words, at, tables, j, remainders, begin, rows, last, draw, whole, scale, marks
        )
        if at > size:
            return at
        forced = -total - more
        weight = _forced_weight(tables, tables.row_class[i], j, remainders[i], forced)
        if weight > 0.0:
            u, at = uniform(words, at)
            if at > size:
                return at
            if u <= weight / peak:
                draw[i] = forced
                return at


@njit(cache=True)
def work_space(tables):
    """The longest sum of windows in any column."""
    longest = 1
    for j in range(tables.columns):
        length = 1
        for i in range(tables.rows):
            t = tables.row_class[i]
            length += tables.law_hi[t, j] - tables.law_lo[t, j] + 1
        longest = max(longest, length)
    return np.empty((3, longest))


@njit(cache=True)
def fill_columns(words, out, tables, depth):
    """Rows of `out` until they or the words run out: (draws, words, attempts, tests left undecided).

    Words and attempts of an unfinished draw are not counted.
    """
    rows = tables.rows
    return _filled(
        words,
        out,
        tables,
        depth,
        np.zeros((3, rows), dtype=np.int64),
        np.empty((rows, 3)),
        np.empty((rows, 2)),
        np.empty((rows, 2, 4), dtype=np.int64),
        np.empty((2, tables.column_marks[:, STORED].max())),
        work_space(tables),
    )


@njit(cache=True, _nrt=False)
def _filled(words, out, tables, depth, row_state, whole, scale, marks, waves, room):
    """`fill_columns` in given work space; compiled without reference counts, which cost more than draws."""
    rows, columns = tables.rows, tables.columns
    remainders, states, draw = row_state[0], row_state[1], row_state[2]
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
                accepted, unsure = _column_passes(tables, j, remainders, states, u, waves, depth, room)
                undecided += unsure
                if not accepted:
                    break
            at = _draw_column(
                words, at, tables, j, remainders, states, draw, whole, scale, marks, waves, depth, room
            )
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
