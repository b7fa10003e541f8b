"""Twisted columns, compiled: the plain twin's draws on the same words.

`PreparedColumns.draw` in `twisted_draws.py` says what is drawn. What is faster here changes nothing: a
categorical draw walks a stored part of the cumulated weights, found through a guide table, and where
the stored part does not reach, the sums are run again from the tail in the same order; tests are mostly
decided by a bound (`_twisted_chance_kernels.py`); what depends on the remainders alone is gathered once
a column. Compiled without reference counts, which would cost more than the draws.
"""
# mypy: ignore-errors
# compiled code: numba decides the types, from arrays whose types its callers fix

import numpy as np
from numba import njit

from congenial.samplers._words import categorical, uniform
from congenial.samplers.crossing._twisted_chance_kernels import (
    AT,
    BEFORE,
    FIRST,
    FROM,
    GROUP_KEPT,
    GUIDE,
    GUIDES,
    HIGHEST,
    LAW_AT,
    LAW_HI,
    LAW_LO,
    LEFT,
    LIMIT,
    LOWEST,
    OUTSIDE,
    PEAK,
    RIGHT,
    STORED,
    TOP,
    VALUE,
    column_passes,
    convolve,
    fill_law,
    group_numbers,
    group_passes,
    multiplied,
)

SHORT = -1
"""Instead of a cursor: the draw needs more room."""


@njit(cache=True, inline="always", _nrt=False)
def bucket(target, scale):
    """The guide entry of a target: never decreasing in the target."""
    return min(int(target * scale), GUIDES - 1)


@njit(cache=True, _nrt=False)
def _from_the_tail(tables, t, j, s, upward, target):
    """The z at which the sum of φ(z)·V(s-z), run from one end, first reaches the target."""
    windows, numbers, facts = tables.windows, tables.numbers, tables.facts
    start = max(windows[t, j, LAW_LO], s - windows[t, j + 1, HIGHEST])
    stop = min(windows[t, j, LAW_HI], s - windows[t, j + 1, LOWEST])
    law = windows[t, j, LAW_AT] - windows[t, j, LAW_LO]
    after = windows[t, j + 1, FIRST] + s - windows[t, j + 1, LOWEST]
    total = 0.0
    if upward:
        z = start
        while True:
            total += numbers[law + z] * facts[after - z, VALUE]
            if total >= target or z == stop:
                return z
            z += 1
    z = stop
    while True:
        total += numbers[law + z] * facts[after - z, VALUE]
        if total >= target or z == start:
            return z
        z -= 1


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
        lo = tables.windows[tables.row_class[i], j, LAW_LO]
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
    sums, guides, order = tables.numbers, tables.guides, tables.order
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
            k = guides[marks[n, side, 2] + bucket(target, scale[n, side])]
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
def _forced_weight(tables, t, j, s, z):
    """φ(z)·V(s-z), zero outside the windows."""
    windows = tables.windows
    after = s - z
    if z < windows[t, j, LAW_LO] or z > windows[t, j, LAW_HI]:
        return 0.0
    if after < windows[t, j + 1, LOWEST] or after > windows[t, j + 1, HIGHEST]:
        return 0.0
    value = tables.facts[windows[t, j + 1, FIRST] + after - windows[t, j + 1, LOWEST], VALUE]
    return tables.numbers[windows[t, j, LAW_AT] + z - windows[t, j, LAW_LO]] * value


@njit(cache=True, inline="always", _nrt=False)
def _draw_column(
    words, at, tables, j, remainders, states, draw, whole, scale, marks, ends, waves, depth, room, spare
):
    """One column given its remainders and that it sums to zero: the cursor, past the end if unfinished.

    The rows outside the group are drawn until the group is likely enough to make up for their sum; then
    the group is drawn, all but its flattest row, which is forced and kept with chance h/max h. Where
    that fails time and again, since the sum is unlikely, it is drawn row by row given its sum.
    """
    size, rows = words.size, tables.rows
    last = _gather(tables, j, states, whole, scale, marks)
    outside = tables.column_marks[j, OUTSIDE]
    total = 0
    if outside < rows:
        known = multiplied(tables, j, states, outside, tables.column_marks[j, GROUP_KEPT], waves)
        numbers = group_numbers(tables, j, states)
        while True:
            total, at = _draw_rows(
                words, at, tables, j, remainders, 0, outside, -1, draw, whole, scale, marks
            )
            u, at = uniform(words, at)
            if at > size:
                return at
            if group_passes(tables, j, remainders, -total, u, waves, known, numbers, depth, room):
                break
    begin = outside if outside < rows else 0
    i = tables.order[j, last]
    peak = tables.facts[states[i], PEAK]
    for _ in range(tables.column_marks[j, LIMIT]):
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
    if spare.size == 0:
        return SHORT
    return _draw_one_by_one(words, at, tables, j, remainders, begin, -total, draw, spare, ends)


@njit(cache=True, _nrt=False)
def _draw_one_by_one(words, at, tables, j, remainders, begin, target, draw, spare, ends):
    """The rows from `begin` in the column's order given their sum: the cursor.

    Each row's weights are its law times the law of the sum of those after it, by direct convolution.
    `ends` notes, by row: where its law is stored, its length; where the sum from it on is, its length, its
    least value.
    """
    count, order = tables.rows - begin, tables.order
    weights, sums = spare[4:], spare
    room = 4
    for n in range(count):
        t = tables.row_class[order[j, begin + n]]
        room = max(room, 4 + tables.windows[t, j, LAW_HI] - tables.windows[t, j, LAW_LO] + 1)
    sums[room] = 1.0
    ends[count, 2], ends[count, 3], ends[count, 4] = room, 1, 0
    room += 1
    for n in range(count - 1, -1, -1):
        i = order[j, begin + n]
        start, width = fill_law(tables, tables.row_class[i], j, remainders[i], spare[room:])
        ends[n, 0], ends[n, 1] = room, width
        room += width
        before, size = ends[n + 1, 2], ends[n + 1, 3]
        convolve(sums, before, size, spare, ends[n, 0], width, spare[room:])
        ends[n, 2], ends[n, 3], ends[n, 4] = room, size + width - 1, ends[n + 1, 4] + start
        room += size + width - 1
    for n in range(count):
        low = ends[n, 4] - ends[n + 1, 4]
        rest = target - low - ends[n + 1, 4]
        first = max(0, rest - ends[n + 1, 3] + 1)
        last = min(ends[n, 1] - 1, rest)
        for k in range(first, last + 1):
            weights[k] = spare[ends[n, 0] + k] * sums[ends[n + 1, 2] + rest - k]
        k, at = _by_halves(words, at, weights, first, last + 1, spare[:2], spare[2:4])
        draw[order[j, begin + n]] = low + k
        target -= low + k
    return at


@njit(cache=True, _nrt=False)
def _by_halves(words, at, weights, first, last, pair, scratch):
    """A place in first … last-1 with probability in proportion to its weight: (place, cursor)."""
    while last - first > 1:
        middle = (first + last) // 2
        pair[0], pair[1] = 0.0, 0.0
        for k in range(first, middle):
            pair[0] += weights[k]
        for k in range(middle, last):
            pair[1] += weights[k]
        side = 0 if pair[1] == 0.0 else 1
        if pair[0] > 0.0 and pair[1] > 0.0:
            side, at = categorical(words, at, pair, scratch)
        if side == 0:
            last = middle
        else:
            first = middle
    return first, at


@njit(cache=True)
def _spare_size(tables):
    """What `_draw_one_by_one` needs in the column that needs most."""
    most = 8
    for j in range(tables.columns - 1):
        begin = tables.column_marks[j, OUTSIDE]
        begin = 0 if begin == tables.rows else begin
        widest, length, need = 1, 1, 8
        for n in range(tables.rows - 1, begin - 1, -1):
            t = tables.row_class[tables.order[j, n]]
            width = tables.windows[t, j, LAW_HI] - tables.windows[t, j, LAW_LO] + 1
            widest = max(widest, width)
            length += width - 1
            need += width + length
        most = max(most, need + widest)
    return most


@njit(cache=True)
def work_space(tables):
    """The longest sum of windows in any column."""
    longest = 1
    for j in range(tables.columns):
        length = 1
        for i in range(tables.rows):
            t = tables.row_class[i]
            length += tables.windows[t, j, LAW_HI] - tables.windows[t, j, LAW_LO] + 1
        longest = max(longest, length)
    return np.empty((3, longest))


@njit(cache=True)
def fill_columns(words, out, tables, depth):
    """Rows of `out` until they or the words run out: (draws, words, attempts, tests left undecided).

    Words and attempts of an unfinished draw are not counted.
    """
    rows = tables.rows
    integers = np.zeros((3, rows), dtype=np.int64)
    whole, scale = np.empty((rows, 3)), np.empty((rows, 2))
    marks = np.empty((rows, 2, 4), dtype=np.int64)
    ends = np.empty((rows + 1, 5), dtype=np.int64)
    waves = np.empty((2, tables.column_marks[:, STORED].max()))
    room, spare = work_space(tables), np.empty(0)
    done, used, attempts, undecided = 0, 0, 0, 0
    while True:
        found = _filled(
            words[used:], out[done:], tables, depth, integers, whole, scale, marks, ends, waves, room, spare
        )
        done += found[0]
        used += found[1]
        attempts += found[2]
        undecided += found[3]
        if not found[4]:
            return done, used, attempts, undecided
        # seldom needed: the draw is begun again on its own words, with the room that it asked for
        spare = np.empty(_spare_size(tables))


@njit(cache=True, _nrt=False)
def _filled(words, out, tables, depth, integers, whole, scale, marks, ends, waves, room, spare):
    """`fill_columns` in given work space; last, whether it wants `spare` to go on."""
    rows, columns = tables.rows, tables.columns
    remainders, states, draw = integers[0], integers[1], integers[2]
    at, used, done, attempts, counted, undecided = 0, 0, 0, 0, 0, 0
    while done < out.shape[0]:
        attempts += 1
        for i in range(rows):
            remainders[i] = 0
        accepted = True
        for j in range(columns - 1):
            for i in range(rows):
                t = tables.row_class[i]
                states[i] = tables.windows[t, j, FIRST] + remainders[i] - tables.windows[t, j, LOWEST]
            if j > 0:
                u, at = uniform(words, at)
                if at > words.size:
                    return done, used, counted, undecided, False
                accepted, unsure = column_passes(tables, j, remainders, states, u, waves, depth, room)
                undecided += unsure
                if not accepted:
                    break
            at = _draw_column(
                words, at, tables, j, remainders, states, draw, whole, scale, marks, ends, waves, depth,
                room, spare
            )  # fmt: skip
            if at > words.size or at == SHORT:
                return done, used, counted, undecided, at == SHORT
            for i in range(rows):
                out[done, tables.place[i * columns + j]] = draw[i]
                remainders[i] -= draw[i]
        if accepted:
            for i in range(rows):
                out[done, tables.place[i * columns + columns - 1]] = remainders[i]
            done += 1
            used = at
            counted = attempts
    return done, used, counted, undecided, False
