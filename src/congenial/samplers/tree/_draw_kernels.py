"""The downward pass: a flat list of splits, each dividing a known sum between two tables."""
# mypy: ignore-errors
# compiled code: numba decides the types, from arrays whose types its callers fix

import numpy as np
from numba import njit

from congenial.randomness import SEGMENT
from congenial.samplers._words import uniform


@njit(cache=True)
def program(starts, children, label, message, left, right, members, leaves):
    """The splits that take the value of every root to its leaves, parents first.

    A split is (table, slot of the sum, slot of the left part, slot of the right part). Slots below
    the number of nodes are the nodes', those above hold sums of several children.
    Returns (splits, number of slots).
    """
    n = starts.size - 1
    room = max(leaves, 1)
    table, into = np.empty(room, np.int64), np.empty(room, np.int64)
    one, two = np.empty(room, np.int64), np.empty(room, np.int64)
    stack = np.empty((256, 3), dtype=np.int64)
    count, slots = 0, n
    for v in range(n - 1, -1, -1):
        if starts[v + 1] == starts[v]:
            continue
        depth = 1
        stack[0, 0], stack[0, 1], stack[0, 2] = message[label[v]], v, starts[v]
        while depth > 0:
            depth -= 1
            t, slot, first = stack[depth, 0], stack[depth, 1], stack[depth, 2]
            a, b = left[t], right[t]
            table[count], into[count] = t, slot
            if members[a] == 1:
                one[count] = children[first]
            else:
                one[count] = slots
                slots += 1
            if members[b] == 1:
                two[count] = children[first + members[a]]
            else:
                two[count] = slots
                slots += 1
            if depth + 2 > stack.shape[0]:
                bigger = np.empty((2 * stack.shape[0], 3), dtype=np.int64)
                for i in range(stack.shape[0]):
                    for j in range(3):
                        bigger[i, j] = stack[i, j]
                stack = bigger
            if members[b] > 1:
                stack[depth, 0], stack[depth, 1] = b, two[count]
                stack[depth, 2] = first + members[a]
                depth += 1
            if members[a] > 1:
                stack[depth, 0], stack[depth, 1], stack[depth, 2] = a, one[count], first
                depth += 1
            count += 1
    return table[:count], into[:count], one[:count], two[:count], slots


HEAD = 3
"""Entries before a kept row: lowest value, length, place of the largest. Segments and sums follow."""


@njit(cache=True, inline="always")
def _largest(values, n):
    """The first place of the largest of n values, by four running maxima."""
    m0 = m1 = m2 = m3 = values[0]
    i = 0
    while i + 4 <= n:
        m0 = values[i] if values[i] > m0 else m0
        m1 = values[i + 1] if values[i + 1] > m1 else m1
        m2 = values[i + 2] if values[i + 2] > m2 else m2
        m3 = values[i + 3] if values[i + 3] > m3 else m3
        i += 4
    while i < n:
        m0 = values[i] if values[i] > m0 else m0
        i += 1
    m0 = max(max(m0, m1), max(m2, m3))
    i = 0
    while values[i] != m0:
        i += 1
    return i


@njit(cache=True, inline="always")
def _row(pool, start, low, size, a, b, s, cut, out):
    """The weights a[i]·b[s-i], into `out`.

    Ends where the (unimodal) weights are below `cut` of the largest are left out.
    Returns (lowest i, of it in `out` the first that counts, how many, place of the largest).
    """
    first = max(low[a], s - (low[b] + size[b] - 1))
    last = min(low[a] + size[a] - 1, s - low[b])
    n = last - first + 1
    at_a = start[a] + first - low[a]
    at_b = start[b] + s - first - low[b]
    ahead = pool[at_a : at_a + n]
    behind = pool[at_b - n + 1 : at_b + 1]
    for i in range(n):
        out[i] = ahead[i] * behind[n - 1 - i]
    top = _largest(out, n)
    least = cut * out[top]
    begin, high = 0, top
    while begin < high:
        middle = (begin + high) // 2
        if out[middle] < least:
            begin = middle + 1
        else:
            high = middle
    low_end, end = top, n - 1
    while low_end < end:
        middle = (low_end + end + 1) // 2
        if out[middle] < least:
            end = middle - 1
        else:
            low_end = middle
    return first + begin, begin, end + 1 - begin, top - begin


@njit(cache=True, inline="always")
def _segments(top, n):
    """How many segments lie before the largest, and from it on."""
    return (top + SEGMENT - 1) // SEGMENT, (n - top + SEGMENT - 1) // SEGMENT


@njit(cache=True, inline="always")
def _cumulate(row, offset, n, top, outer):
    """Cumulate a row in place from its far ends inwards, segment by segment (`Source.segmented`).

    `outer` gets the mass of each segment and all beyond it: those before the largest, then the others.
    """
    ahead, behind = _segments(top, n)
    if ahead <= 1 and behind == 1:
        before, after = 0.0, 0.0
        i, j = offset, offset + n - 1
        middle = offset + top
        while i < middle and j >= middle:
            before += row[i]
            after += row[j]
            row[i] = before
            row[j] = after
            i += 1
            j -= 1
        while i < middle:
            before += row[i]
            row[i] = before
            i += 1
        while j >= middle:
            after += row[j]
            row[j] = after
            j -= 1
        outer[0] = before
        outer[ahead] = after
        return
    beyond = 0.0
    for k in range(ahead - 1, -1, -1):
        total = 0.0
        for i in range(offset + max(0, top - (k + 1) * SEGMENT), offset + top - k * SEGMENT):
            total += row[i]
            row[i] = total
        beyond += total
        outer[k] = beyond
    beyond = 0.0
    for k in range(behind - 1, -1, -1):
        total = 0.0
        last = offset + min(n, top + (k + 1) * SEGMENT) - 1
        for i in range(last, offset + top + k * SEGMENT - 1, -1):
            total += row[i]
            row[i] = total
        beyond += total
        outer[ahead + k] = beyond


@njit(cache=True, inline="always")
def _pick(words, at, outer, row, offset, n, top):
    """The index that the words choose in a row made by `_cumulate`; (index, cursor)."""
    ahead, behind = _segments(top, n)
    before = outer[0] if ahead > 0 else 0.0
    after = outer[ahead]
    u, at = uniform(words, at)
    target = u * (before + after)
    if target < before:
        i = offset + top - 1
        last = offset
        if ahead > 1:
            k = 0
            while k + 1 < ahead and outer[k + 1] >= target:
                k += 1
            i -= k * SEGMENT
            last = max(offset, i + 1 - SEGMENT)
            v, at = uniform(words, at)
            target = v * row[i]
        while i > last and row[i - 1] >= target:
            i -= 1
        return i - offset, at
    v, at = uniform(words, at)
    target = v * after
    i = offset + top
    last = offset + n - 1
    if behind > 1:
        k = 0
        while k + 1 < behind and outer[ahead + k + 1] >= target:
            k += 1
        i += k * SEGMENT
        last = min(last, i + SEGMENT - 1)
        v, at = uniform(words, at)
        target = v * row[i]
    while i < last and row[i + 1] >= target:
        i += 1
    return i - offset, at


@njit(cache=True)
def _free(words, at, pool, begin, n, scratch, outer):
    """An index from a whole table."""
    for i in range(n):
        scratch[i] = pool[begin + i]
    top = _largest(scratch, n)
    _cumulate(scratch, 0, n, top, outer)
    return _pick(words, at, outer, scratch, 0, n, top)


@njit(cache=True)
def fill(
    words,
    out,
    given,
    pool,
    start,
    low,
    size,
    left,
    right,
    table,
    into,
    one,
    two,
    free_table,
    free_slot,
    joined_slot,
    cells,
    watched,
    watched_low,
    watched_high,
    cut,
    value,
    scratch,
    row_base,
    row_at,
    rows,
    room,
):
    """Draw rows of `out`; (draws finished, words they used).

    `given` has the values of joined roots, one row a draw. Leaves in `watched` must end between their
    limits, or the draw begins again. A row of weights that a table has been asked for is kept where
    `row_base` says so, as long as `rows` has room (`room[0]` is what it used).
    """
    at, used, d = 0, 0, 0
    outer = np.empty(scratch.size // SEGMENT + 4)
    while d < out.shape[0]:
        for j in range(joined_slot.size):
            value[joined_slot[j]] = given[d, j]
        for j in range(free_table.size):
            t = free_table[j]
            i, at = _free(words, at, pool, start[t], size[t], scratch, outer)
            value[free_slot[j]] = low[t] + i
            if at > words.size:
                return d, used
        for k in range(table.size):
            t = table[k]
            s = value[into[k]]
            a, b = left[t], right[t]
            base = row_base[t]
            place = base + s - low[a] - low[b]
            if base >= 0 and row_at[place] >= 0:
                begin = row_at[place]
                n, top = np.int64(rows[begin + 1]), np.int64(rows[begin + 2])
                ahead, behind = _segments(top, n)
                i, at = _pick(words, at, rows[begin + HEAD :], rows, begin + HEAD + ahead + behind, n, top)
                x = np.int64(rows[begin]) + i
            else:
                first, offset, n, top = _row(pool, start, low, size, a, b, s, cut, scratch)
                _cumulate(scratch, offset, n, top, outer)
                i, at = _pick(words, at, outer, scratch, offset, n, top)
                x = first + i
                begin = room[0]
                ahead, behind = _segments(top, n)
                body = begin + HEAD + ahead + behind
                if base >= 0 and body + n <= rows.size:
                    rows[begin], rows[begin + 1], rows[begin + 2] = first, n, top
                    for j in range(ahead + behind):
                        rows[begin + HEAD + j] = outer[j]
                    for j in range(n):
                        rows[body + j] = scratch[offset + j]
                    row_at[place] = begin
                    room[0] = body + n
            value[one[k]] = x
            value[two[k]] = s - x
            if at > words.size:
                return d, used
        kept = True
        for j in range(watched.size):
            x = value[watched[j]]
            if x < watched_low[j] or x > watched_high[j]:
                kept = False
                break
        if kept:
            for j in range(cells.size):
                out[d, cells[j]] = value[j]
            used = at
            d += 1
    return d, used
