"""Draws of weighted elimination, compiled: the plain twin's draws on the same words.

`elimination_program.py` says what is drawn, and how a program is laid out in one array of integers, `code`,
and one of floats, `numbers`. Every choice is a fork between two weights. Weights are summed in pairs, halves
folded together, and a value is found by walking down: its probability is right to a few roundings a level,
whatever the shape of the weights. Compiled without reference counts; the caller brings all room.
"""
# mypy: ignore-errors
# compiled code: numba decides the types, from arrays whose types its callers fix

from numba import njit, uint64

from congenial.samplers._words import uniform

# places in the head of a step, and how long it is
LINE, TOTAL, SLOTS, TESTS, GIVEN, HEAD = 0, 1, 2, 3, 4, 5
# places in the head of a slot
CELL, CORE_LO, CORE_HI, WHERE, WHERE_LO, WHERE_HI, Z_LO, MU, LENGTH, HELD, TAKEN, MOVED, SLOT = range(13)
# rows of `marks`
FIRST, COUNT, START, SPAN, PLACE, LEVEL = 0, 1, 2, 3, 4, 5


@njit(cache=True, inline="always", _nrt=False)
def _cut(first, last, a, low, high):
    """The z in first … last with low ≤ a·z ≤ high."""
    if a == 1:
        return max(first, low), min(last, high)
    if a > 0:
        return max(first, -((-low) // a)), min(last, high // a)
    if a < 0:
        return max(first, -(high // -a)), min(last, (-low) // -a)
    if low > 0 or high < 0:
        return first, first - 1
    return first, last


@njit(cache=True, inline="always", _nrt=False)
def fork(words, at, a, b):
    """0 with probability a / (a + b), else 1: `Source.categorical` on two positive weights."""
    u, at = uniform(words, at)
    if b > a:
        if u * (a + b) < a:
            return 0, at
        v, at = uniform(words, at)
        return 1, at
    v, at = uniform(words, at)
    if v * (b + a) <= b:
        return 1, at
    return 0, at


@njit(cache=True, inline="always", _nrt=False)
def _fold(tree, n, marks):
    """Sums of halves behind the n weights at the start of `tree`; (place of the last sum, levels)."""
    start, length, level = 0, n, 0
    marks[LEVEL, 0] = n
    while length > 1:
        half = (length + 1) // 2
        a, b, c = uint64(start), uint64(start + half), uint64(start + length)
        for i in range(length - half):
            k = uint64(i)
            tree[c + k] = tree[a + k] + tree[b + k]
        if length % 2:
            tree[start + length + half - 1] = tree[start + half - 1]
        start, length, level = start + length, half, level + 1
        marks[LEVEL, level] = length
    return start, level


@njit(cache=True, inline="always", _nrt=False)
def _descend(words, at, tree, root, level, marks):
    """An index with probability proportional to its weight."""
    i, start = 0, root
    while level > 0:
        half = marks[LEVEL, level]
        level -= 1
        start -= marks[LEVEL, level]
        if i + half < marks[LEVEL, level]:
            a, b = tree[start + i], tree[start + half + i]
            if a == 0.0:
                i += half
            elif b > 0.0:
                way, at = fork(words, at, a, b)
                if way == 1:
                    i += half
    return i, at


@njit(cache=True, inline="always", _nrt=False)
def _entry(code, p, count, registers):
    """Σ stride · register over `count` pairs from p."""
    found = 0
    for q in range(p, p + 2 * count, 2):
        found += registers[code[q]] * code[q + 1]
    return found


@njit(cache=True, inline="always", _nrt=False)
def _given(code, p, count, numbers, registers):
    """The product of `count` tables given back from p on, of their tails, and the place behind them."""
    bound, tail = 1.0, 1.0
    for _ in range(count):
        b = _entry(code, p + 3, code[p + 2], registers)
        bound *= numbers[code[p] + b]
        tail *= numbers[code[p + 1] + b]
        p += 3 + 2 * code[p + 2]
    return bound, tail, p


@njit(cache=True, inline="always", _nrt=False)
def _feasible(code, p, registers):
    """The first and the last feasible z of the slot at p."""
    first = code[p + Z_LO]
    last = first + code[p + LENGTH] - 1
    q = p + SLOT
    for _ in range(code[p + HELD]):
        r = registers[code[q]]
        first, last = _cut(first, last, code[q + 1], code[q + 2] - r, code[q + 3] - r)
        q += 4
    return first, last


@njit(cache=True, inline="always", _nrt=False)
def _weigh(code, p, numbers, registers, first, last, tree):
    """Weights of first … last at the start of `tree`; the place behind the slot's tables."""
    n = last - first + 1
    a = uint64(code[p + MU] + first - code[p + Z_LO])
    for j in range(n):
        tree[j] = numbers[a + uint64(j)]
    q = p + SLOT + 4 * code[p + HELD]
    for _ in range(code[p + TAKEN]):
        step = code[q + 1]
        b = code[q] + first * step + _entry(code, q + 3, code[q + 2], registers)
        if step == 1:
            c = uint64(b)
            for j in range(n):
                tree[j] *= numbers[c + uint64(j)]
        else:
            for j in range(n):
                tree[j] *= numbers[b + j * step]
        q += 3 + 2 * code[q + 2]
    return q


@njit(cache=True, inline="always", _nrt=False)
def _move(code, p, q, values, registers):
    """Move the registers of the slot at p by its value; the place behind it. Its moves begin at q."""
    z = values[code[p + CELL]]
    for _ in range(code[p + MOVED]):
        registers[code[q]] += code[q + 1] * z
        q += 2
    return q


@njit(cache=True, inline="always", _nrt=False)
def _single(words, at, code, p, numbers, registers, values, tree, marks):
    """The step at p with one slot: (whether it goes on, N/D, cursor, place behind it)."""
    tests = code[p + TESTS] != 0
    bound, tail, p = _given(code, p + HEAD, code[p + GIVEN], numbers, registers)
    first, last = _feasible(code, p, registers)
    if first > last:
        return False, 0.0, at, p
    low, high = code[p + CORE_LO], code[p + CORE_HI]
    aside = False
    if low <= high:
        core = bound - tail if tests else bound
        if tail > 0.0:
            aside = True
            if core > 0.0:
                way, at = fork(words, at, tail, core)
                aside = way == 0
        if aside:
            bound = tail
        else:
            bound = core
            first, last = max(first, low), min(last, high)
            if first > last:
                return False, 0.0, at, p
    q = _weigh(code, p, numbers, registers, first, last, tree)
    if aside:
        for z in range(max(first, low), min(last, high) + 1):
            tree[z - first] = 0.0
    root, level = _fold(tree, last - first + 1, marks)
    total = tree[root]
    if not total > 0.0:
        return False, 0.0, at, p
    ratio = 0.0
    if tests:
        ratio = total / bound
        if total < bound:
            way, at = fork(words, at, total, bound - total)
            if way == 1:
                return False, ratio, at, p
    j, at = _descend(words, at, tree, root, level, marks)
    values[code[p + CELL]] = first + j
    return True, ratio, at, _move(code, p, q, values, registers)


@njit(cache=True, inline="always", _nrt=False)
def _splits(code, p, registers):
    """Whether the slot at p tells core from tail in this state."""
    return (
        code[p + CORE_LO] <= code[p + CORE_HI]
        and code[p + WHERE_LO] <= registers[code[p + WHERE]] <= code[p + WHERE_HI]
    )


@njit(cache=True, inline="always", _nrt=False)
def _budget(words, at, code, p, numbers, registers, tree, marks):
    """Of the line at p: (first slot in its tail, or their number; bound; cursor). Notes where slots begin."""
    slots = code[p + SLOTS]
    each = code[p + GIVEN] // slots
    q = p + HEAD
    for s in range(slots):
        tree[slots + s], tree[s], q = _given(code, q, each, numbers, registers)
    for s in range(slots):
        marks[PLACE, s] = q
        q += SLOT + 4 * code[q + HELD]
        for _ in range(code[marks[PLACE, s] + TAKEN]):
            q += 3 + 2 * code[q + 2]
        q += 2 * code[marks[PLACE, s] + MOVED]
    after = 1.0
    for s in range(slots - 1, -1, -1):
        core, tail = tree[slots + s], tree[s]
        if not _splits(code, marks[PLACE, s], registers):
            core, tail = core + tail, 0.0
        tree[s] = after * tail
        tree[slots + s] = core
        after *= core + tail
    before = 1.0
    for s in range(slots):
        tree[s] *= before
        before *= tree[slots + s]
    root, level = _fold(tree, slots, marks)
    total = tree[root]
    if total > 0.0:
        way = 0
        if before > 0.0:
            way, at = fork(words, at, total, before)
        if way == 0:
            aside, at = _descend(words, at, tree, root, level, marks)
            return aside, tree[aside], at
    return slots, before, at


@njit(cache=True, inline="always", _nrt=False)
def _suffix(rows, sums, marks, slots):
    """sums[i] is the law of what the slots behind slot i add up to, from marks[START, i] on."""
    marks[START, slots - 1] = 0
    marks[SPAN, slots - 1] = 1
    sums[slots - 1, 0] = 1.0
    for i in range(slots - 2, -1, -1):
        count, span = marks[COUNT, i + 1], marks[SPAN, i + 1]
        marks[START, i] = marks[FIRST, i + 1] + marks[START, i + 1]
        marks[SPAN, i] = count + span - 1
        for u in range(marks[SPAN, i]):
            sums[i, u] = 0.0
        for j in range(count):
            w = rows[i + 1, j]
            k = uint64(j)
            for u in range(span):
                sums[i, k + uint64(u)] += w * sums[i + 1, u]


@njit(cache=True, _nrt=False)
def _line(words, at, code, p, numbers, registers, values, tree, rows, sums, marks):
    """The line step at p: (whether it goes on, N/D, cursor, place behind it)."""
    slots = code[p + SLOTS]
    left = code[p + TOTAL]
    aside, bound, at = _budget(words, at, code, p, numbers, registers, tree, marks)
    for order in range(slots):
        q = marks[PLACE, order]
        first, last = _feasible(code, q, registers)
        low, high = code[q + CORE_LO], code[q + CORE_HI]
        split = _splits(code, q, registers)
        if split and order < aside:
            first, last = max(first, low), min(last, high)
        if first > last:
            return False, 0.0, at, q
        _weigh(code, q, numbers, registers, first, last, tree)
        n = last - first + 1
        marks[FIRST, order], marks[COUNT, order] = first, n
        for j in range(n):
            rows[order, j] = tree[j]
        if split and order == aside:
            for z in range(max(first, low), min(last, high) + 1):
                rows[order, z - first] = 0.0
    _suffix(rows, sums, marks, slots)
    ratio = 0.0
    q = p
    for order in range(slots):
        start, span = marks[START, order], marks[SPAN, order]
        begin = marks[FIRST, order]
        first = max(begin, left - start - span + 1)
        last = min(begin + marks[COUNT, order] - 1, left - start)
        n = last - first + 1
        if n <= 0:
            return False, ratio, at, p
        for j in range(n):
            tree[j] = rows[order, first + j - begin] * sums[order, left - first - j - start]
        root, level = _fold(tree, n, marks)
        total = tree[root]
        if not total > 0.0:
            return False, ratio, at, p
        if order == 0:
            ratio = total / bound
            if total < bound:
                way, at = fork(words, at, total, bound - total)
                if way == 1:
                    return False, ratio, at, p
        j, at = _descend(words, at, tree, root, level, marks)
        left -= first + j
        values[code[marks[PLACE, order] + CELL]] = first + j
    for order in range(slots):
        p = marks[PLACE, order]
        q = p + SLOT + 4 * code[p + HELD]
        for _ in range(code[p + TAKEN]):
            q += 3 + 2 * code[q + 2]
        q = _move(code, p, q, values, registers)
    return True, ratio, at, q


@njit(cache=True, _nrt=False)
def fill_rows(words, out, code, numbers, expand, registers, values, tree, rows, sums, marks, most):
    """Rows of `out` by rejection, `most` attempts at most; (rows, words of them, attempts, largest N/D)."""
    at = used = attempts = done = 0
    worst = 0.0
    while done < out.shape[0] and attempts < most:
        registers[:] = 0
        begun = at
        accepted = True
        p = 1
        for _ in range(code[0]):
            if code[p + LINE] != 0:
                accepted, ratio, at, p = _line(
                    words, at, code, p, numbers, registers, values, tree, rows, sums, marks
                )
            else:
                accepted, ratio, at, p = _single(
                    words, at, code, p, numbers, registers, values, tree, marks
                )
            if at > words.size:
                return done, used, attempts, worst
            worst = max(worst, ratio)
            if not accepted:
                break
        attempts += 1
        if accepted:
            for e in range(expand.shape[1]):
                z = expand[2, e]
                if expand[0, e] >= 0:
                    z += expand[1, e] * values[expand[0, e]]
                out[done, e] = z
            done += 1
            used = at
        elif at == begun:
            break  # no choice was left and none serves: it would never end
    return done, used, attempts, worst
