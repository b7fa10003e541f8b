"""The downward pass: a flat list of splits, each dividing a known sum between two tables."""

import numpy as np
from numba import njit

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
                bigger[: stack.shape[0]] = stack
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


HEAD = 5
"""Entries before a kept row: lowest value, length, place of the largest, mass before it, all mass."""


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
    """Cumulate the weights a[i]·b[s-i] from both ends towards the largest, into `out`.

    Ends where the (unimodal) weights are below `cut` of the largest are left out.
    Returns (lowest i, how many, place of the largest, mass before it, all mass).
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
    before, after = 0.0, 0.0
    i, j = begin, end
    while i < top and j >= top:
        before += out[i]
        after += out[j]
        out[i] = before
        out[j] = after
        i += 1
        j -= 1
    while i < top:
        before += out[i]
        out[i] = before
        i += 1
    while j >= top:
        after += out[j]
        out[j] = after
        j -= 1
    return first + begin, begin, end + 1 - begin, top - begin, before, before + after


@njit(cache=True, inline="always")
def _pick(words, at, row, offset, n, top, before, total):
    """The index that the words choose in a row made by `_row`, which begins at `offset`; (index, cursor)."""
    u, at = uniform(words, at)
    target = u * total
    if target < before:
        i = offset + top - 1
        while i > offset and row[i - 1] >= target:
            i -= 1
        return i - offset, at
    v, at = uniform(words, at)
    i = offset + top
    target = v * row[i]
    last = offset + n - 1
    while i < last and row[i + 1] >= target:
        i += 1
    return i - offset, at


@njit(cache=True)
def _free(words, at, pool, begin, n, scratch):
    """An index from a whole table."""
    row = pool[begin : begin + n]
    top = _largest(row, n)
    before, after = 0.0, 0.0
    for i in range(top):
        before += row[i]
        scratch[i] = before
    for i in range(n - 1, top - 1, -1):
        after += row[i]
        scratch[i] = after
    return _pick(words, at, scratch, 0, n, top, before, before + after)


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
    while d < out.shape[0]:
        for j in range(joined_slot.size):
            value[joined_slot[j]] = given[d, j]
        for j in range(free_table.size):
            t = free_table[j]
            i, at = _free(words, at, pool, start[t], size[t], scratch)
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
                i, at = _pick(words, at, rows, begin + HEAD, n, top, rows[begin + 3], rows[begin + 4])
                x = np.int64(rows[begin]) + i
            else:
                first, offset, n, top, before, total = _row(
                    pool, start, low, size, a, b, s, cut, scratch
                )
                i, at = _pick(words, at, scratch, offset, n, top, before, total)
                x = first + i
                begin = room[0]
                if base >= 0 and begin + HEAD + n <= rows.size:
                    rows[begin], rows[begin + 1], rows[begin + 2] = first, n, top
                    rows[begin + 3], rows[begin + 4] = before, total
                    rows[begin + HEAD : begin + HEAD + n] = scratch[offset : offset + n]
                    row_at[place] = begin
                    room[0] = begin + HEAD + n
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
