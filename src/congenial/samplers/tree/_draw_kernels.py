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


@njit(cache=True, inline="always")
def _row(pool, start, low, size, a, b, s, out):
    """Cumulate the weights a[i]·b[s-i] from both ends towards the largest, into `out`.

    Returns (lowest i, how many, place of the largest, mass before it, all mass).
    """
    first = max(low[a], s - (low[b] + size[b] - 1))
    last = min(low[a] + size[a] - 1, s - low[b])
    n = last - first + 1
    at_a = start[a] + first - low[a]
    at_b = start[b] + s - first - low[b]
    for i in range(n):
        out[i] = pool[at_a + i] * pool[at_b - i]
    top = 0
    for i in range(1, n):
        if out[i] > out[top]:
            top = i
    before, after = 0.0, 0.0
    for i in range(top):
        before += out[i]
        out[i] = before
    for i in range(n - 1, top - 1, -1):
        after += out[i]
        out[i] = after
    return first, n, top, before, before + after


@njit(cache=True, inline="always")
def _pick(words, at, row, n, top, before, total):
    """The index that the words choose in a row made by `_row`; (index, cursor)."""
    u, at = uniform(words, at)
    target = u * total
    if target < before:
        i = top - 1
        while i > 0 and row[i - 1] >= target:
            i -= 1
        return i, at
    v, at = uniform(words, at)
    target = v * row[top]
    i = top
    while i < n - 1 and row[i + 1] >= target:
        i += 1
    return i, at


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
    value,
    scratch,
    row_base,
    row_at,
    row_head,
    row_mass,
    rows,
    room,
):
    """Draw rows of `out`; (draws finished, words they used).

    `given` has the values of joined roots, one row a draw. Rows of weights that a table has been asked
    for are kept where `row_base` says so, as long as `rows` has room (`room[0]` is what it used,
    `room[1]` the number of rows).
    """
    at, used = 0, 0
    for d in range(out.shape[0]):
        for j in range(joined_slot.size):
            value[joined_slot[j]] = given[d, j]
        for j in range(free_table.size):
            t = free_table[j]
            n = size[t]
            row = pool[start[t] : start[t] + n]
            top = 0
            for i in range(1, n):
                if row[i] > row[top]:
                    top = i
            before, after = 0.0, 0.0
            for i in range(top):
                before += row[i]
                scratch[i] = before
            for i in range(n - 1, top - 1, -1):
                after += row[i]
                scratch[i] = after
            i, at = _pick(words, at, scratch, n, top, before, before + after)
            value[free_slot[j]] = low[t] + i
            if at > words.size:
                return d, used
        for k in range(table.size):
            t = table[k]
            s = value[into[k]]
            a, b = left[t], right[t]
            base = row_base[t]
            place = np.int64(-1)
            if base >= 0:
                place = base + s - low[a] - low[b]
                kept = row_at[place]
                if kept >= 0:
                    begin = row_head[kept, 0]
                    n, top = row_head[kept, 2], row_head[kept, 3]
                    i, at = _pick(
                        words, at, rows[begin : begin + n], n, top, row_mass[kept, 0], row_mass[kept, 1]
                    )
                    x = row_head[kept, 1] + i
                    value[one[k]] = x
                    value[two[k]] = s - x
                    if at > words.size:
                        return d, used
                    continue
            first, n, top, before, total = _row(pool, start, low, size, a, b, s, scratch)
            if place >= 0 and room[0] + n <= rows.size and room[1] < row_head.shape[0]:
                kept, begin = room[1], room[0]
                rows[begin : begin + n] = scratch[:n]
                row_head[kept, 0], row_head[kept, 1], row_head[kept, 2] = begin, first, n
                row_head[kept, 3] = top
                row_mass[kept, 0], row_mass[kept, 1] = before, total
                row_at[place] = kept
                room[0] += n
                room[1] += 1
            i, at = _pick(words, at, scratch, n, top, before, total)
            value[one[k]] = first + i
            value[two[k]] = s - first - i
            if at > words.size:
                return d, used
        for j in range(cells.size):
            out[d, cells[j]] = value[j]
        used = at
    return out.shape[0], used
