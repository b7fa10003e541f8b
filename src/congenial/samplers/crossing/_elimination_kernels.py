"""Kernels of weighted elimination: tables backward, their derivative forward, draws.

A *bucket* is a set of tables that are eliminated together. Its factors look up `pool` at
`const[f] + Σ_d state[d]·strides[f, d] + z·steps[f]`; `held` lists the registers among them with the
interval in which the tables know them, so that each state knows its feasible z beforehand.

In a draw every choice is a fork between two weights. Weights are summed in pairs, halves folded
together, and a value is found by walking down: its probability is right to a few roundings a level,
whatever the shape of the weights.
"""
# mypy: ignore-errors
# compiled code: numba decides the types, from arrays whose types its callers fix

import numpy as np
from numba import njit

from congenial.samplers._words import uniform


@njit(cache=True)
def _cut(first, last, a, low, high):
    """The z in first … last with low ≤ a·z ≤ high."""
    if a > 0:
        return max(first, -((-low) // a)), min(last, high // a)
    if a < 0:
        return max(first, -(high // -a)), min(last, (-low) // -a)
    if low > 0 or high < 0:
        return first, first - 1
    return first, last


@njit(cache=True)
def _place(s, lo, shape, const, strides, steps, held, held_at, zlo, n, state, base):
    """Decode state number s; its feasible z, with `base` pointing each factor at the first of them."""
    rest = s
    for d in range(shape.size - 1, -1, -1):
        state[d] = lo[d] + rest % shape[d]
        rest //= shape[d]
    first, last = zlo, zlo + n - 1
    for h in range(held_at.size):
        r = state[held_at[h]] if held_at[h] >= 0 else 0
        first, last = _cut(first, last, held[h, 0], held[h, 1] - r, held[h, 2] - r)
    for f in range(const.size):
        b = const[f] + first * steps[f]
        for d in range(shape.size):
            b += state[d] * strides[f, d]
        base[f] = b
    return first, last


@njit(cache=True)
def eliminate(lo, shape, const, strides, steps, held, held_at, weights, zlo, pool, out):
    """out[state] = Σ_z weights[z] · Π_f pool[…]; held rows: (a, low, high), held_at: place in state or -1."""
    factors, n = const.size, weights.size
    state = lo.copy()
    base = np.zeros(factors, dtype=np.int64)
    for s in range(out.size):
        first, last = _place(s, lo, shape, const, strides, steps, held, held_at, zlo, n, state, base)
        total = 0.0
        if factors == 1:
            b0, s0 = base[0], steps[0]
            for i in range(last - first + 1):
                total += weights[first - zlo + i] * pool[b0 + i * s0]
        elif factors == 2:
            b0, s0, b1, s1 = base[0], steps[0], base[1], steps[1]
            for i in range(last - first + 1):
                total += weights[first - zlo + i] * pool[b0 + i * s0] * pool[b1 + i * s1]
        else:
            for i in range(last - first + 1):
                v = weights[first - zlo + i]
                for f in range(factors):
                    v *= pool[base[f] + i * steps[f]]
                total += v
        out[s] = total


@njit(cache=True)
def eliminate_logs(lo, shape, const, strides, steps, held, held_at, logs, zlo, pool, out):
    """The logarithm of what `eliminate` finds, from logarithms: nothing underflows."""
    factors, n = const.size, logs.size
    state = lo.copy()
    base = np.zeros(factors, dtype=np.int64)
    terms = np.zeros(n)
    for s in range(out.size):
        first, last = _place(s, lo, shape, const, strides, steps, held, held_at, zlo, n, state, base)
        top = -np.inf
        for i in range(last - first + 1):
            v = logs[first - zlo + i]
            for f in range(factors):
                v += pool[base[f] + i * steps[f]]
            terms[i] = v
            top = max(top, v)
        if top > -np.inf:
            total = 0.0
            for i in range(last - first + 1):
                if terms[i] > top - 45.0:
                    total += np.exp(terms[i] - top)
            top += np.log(total + (last - first + 1) * 2.9e-20)
        out[s] = top


@njit(cache=True)
def flow(
    lo, shape, const, strides, steps, held, held_at, logs, zlo, pool, sums, mass, into, onto
):
    """Send the mass of every state on to the z and the tables that it came from.

    `logs`, `pool` and `sums` are logarithms. `into` (as long as `pool`) and `onto` (as `logs`) receive
    the mass; returns the mean of the factors' summed logarithms.
    """
    factors, n = const.size, logs.size
    state = lo.copy()
    base = np.zeros(factors, dtype=np.int64)
    mean = 0.0
    for s in range(mass.size):
        if mass[s] < 1e-12 or sums[s] == -np.inf:
            continue
        first, last = _place(s, lo, shape, const, strides, steps, held, held_at, zlo, n, state, base)
        for i in range(last - first + 1):
            u = 0.0
            for f in range(factors):
                u += pool[base[f] + i * steps[f]]
            x = logs[first - zlo + i] + u - sums[s]
            if x > -37.0:
                v = mass[s] * np.exp(x)
                onto[first - zlo + i] += v
                mean += v * u
                for f in range(factors):
                    into[base[f] + i * steps[f]] += v
    return mean


@njit(cache=True)
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


@njit(cache=True)
def _fold(tree, n, lengths):
    """Sums of halves behind the n weights at the start of `tree`; the number of levels above them."""
    start, length, level = 0, n, 0
    lengths[0] = n
    while length > 1:
        half = (length + 1) // 2
        there = start + length
        for i in range(length - half):
            tree[there + i] = tree[start + i] + tree[start + half + i]
        if length % 2:
            tree[there + half - 1] = tree[start + half - 1]
        start, length, level = there, half, level + 1
        lengths[level] = length
    return start, level


@njit(cache=True)
def _descend(words, at, tree, root, level, lengths):
    """An index with probability proportional to its weight."""
    i, start = 0, root
    while level > 0:
        half = lengths[level]
        level -= 1
        start -= lengths[level]
        if i + half < lengths[level]:
            a, b = tree[start + i], tree[start + half + i]
            if a == 0.0:
                i += half
            elif b > 0.0:
                way, at = fork(words, at, a, b)
                if way == 1:
                    i += half
    return i, at


@njit(cache=True)
def _feasible(program, s, registers):
    """The first and the last feasible z of a slot."""
    first = program.zlo[s]
    last = first + program.mu_at[s + 1] - program.mu_at[s] - 1
    for h in range(program.held_at[s], program.held_at[s + 1]):
        r = registers[program.held[h, 0]]
        first, last = _cut(first, last, program.held[h, 1], program.held[h, 2] - r, program.held[h, 3] - r)
    return first, last


@njit(cache=True)
def _weigh(program, s, registers, first, last, tree):
    """Weights of first … last at the start of `tree`."""
    n = last - first + 1
    start = program.mu_at[s] + first - program.zlo[s]
    for j in range(n):
        tree[j] = program.mu[start + j]
    for f in range(program.taken_at[s], program.taken_at[s + 1]):
        step = program.taken[f, 1]
        b = program.taken[f, 0] + first * step
        for p in range(program.taken[f, 2], program.taken[f, 2] + program.taken[f, 3]):
            b += registers[program.place[p, 0]] * program.place[p, 1]
        if step == 1:
            for j in range(n):
                tree[j] *= program.pool[b + j]
        else:
            for j in range(n):
                tree[j] *= program.pool[b + j * step]


@njit(cache=True)
def _given(program, begin, end, registers):
    """The product of tables that a step gives back, and the product of their tails."""
    bound, tail = 1.0, 1.0
    for f in range(begin, end):
        b = 0
        for p in range(program.given[f, 2], program.given[f, 2] + program.given[f, 3]):
            b += registers[program.place[p, 0]] * program.place[p, 1]
        bound *= program.pool[program.given[f, 0] + b]
        tail *= program.pool[program.given[f, 1] + b]
    return bound, tail


@njit(cache=True)
def _suffix(rows, firsts, counts, slots, sums, starts, lengths):
    """sums[i] is the law of what the slots behind slot i add up to, from starts[i] on."""
    starts[slots - 1] = 0
    lengths[slots - 1] = 1
    sums[slots - 1, 0] = 1.0
    for i in range(slots - 2, -1, -1):
        starts[i] = firsts[i + 1] + starts[i + 1]
        lengths[i] = counts[i + 1] + lengths[i + 1] - 1
        for u in range(lengths[i]):
            sums[i, u] = 0.0
        for j in range(counts[i + 1]):
            w = rows[i + 1, j]
            for u in range(lengths[i + 1]):
                sums[i, j + u] += w * sums[i + 1, u]


@njit(cache=True)
def _splits(program, s, registers):
    """Whether the slot of a line tells core from tail in this state."""
    r = registers[program.where[s, 0]]
    return program.where[s, 1] <= r <= program.where[s, 2]


@njit(cache=True)
def _budget(words, at, program, i, registers, tree, levels):
    """Which slot of a line is the first in its tail (none: the number of slots), the bound, the cursor."""
    start, slots = program.given_at[i], program.slot_at[i + 1] - program.slot_at[i]
    each = (program.given_at[i + 1] - start) // slots
    after = 1.0
    for s in range(slots - 1, -1, -1):
        core, tail = _given(program, start + s * each, start + (s + 1) * each, registers)
        if not _splits(program, program.slot_at[i] + s, registers):
            core, tail = core + tail, 0.0
        tree[s] = after * tail
        tree[slots + s] = core
        after *= core + tail
    before = 1.0
    for s in range(slots):
        tree[s] *= before
        before *= tree[slots + s]
    root, level = _fold(tree, slots, levels)
    total = tree[root]
    if total > 0.0:
        way = 0
        if before > 0.0:
            way, at = fork(words, at, total, before)
        if way == 0:
            aside, at = _descend(words, at, tree, root, level, levels)
            return aside, tree[aside], at
    return slots, before, at


@njit(cache=True)
def _line(
    words, at, program, i, registers, values, tree, levels, rows, firsts, counts, sums, starts, lengths
):
    """One line step: (whether it goes on, N/D, cursor)."""
    begin = program.slot_at[i]
    slots = program.slot_at[i + 1] - begin
    aside, bound, at = _budget(words, at, program, i, registers, tree, levels)
    for order in range(slots):
        s = begin + order
        first, last = _feasible(program, s, registers)
        low, high = program.core_lo[s], program.core_hi[s]
        if not _splits(program, s, registers):
            low = high + 1
        if low <= high and order < aside:
            first, last = max(first, low), min(last, high)
        if first > last:
            return False, 0.0, at
        _weigh(program, s, registers, first, last, tree)
        firsts[order], counts[order] = first, last - first + 1
        for j in range(counts[order]):
            rows[order, j] = tree[j]
        if low <= high and order == aside:
            for z in range(max(first, low), min(last, high) + 1):
                rows[order, z - first] = 0.0
    _suffix(rows, firsts, counts, slots, sums, starts, lengths)
    left = program.total[i]
    ratio = 0.0
    for order in range(slots):
        first, last = firsts[order], firsts[order] + counts[order] - 1
        start = starts[order]
        first, last = _cut(first, last, -1, start - left, start + lengths[order] - 1 - left)
        n = last - first + 1
        if n <= 0:
            return False, ratio, at
        for j in range(n):
            tree[j] = rows[order, first + j - firsts[order]] * sums[order, left - first - j - start]
        root, level = _fold(tree, n, levels)
        total = tree[root]
        if not total > 0.0:
            return False, ratio, at
        if order == 0:
            ratio = total / bound
            if total < bound:
                way, at = fork(words, at, total, bound - total)
                if way == 1:
                    return False, ratio, at
        j, at = _descend(words, at, tree, root, level, levels)
        left -= first + j
        values[program.cell[begin + order]] = first + j
    return True, ratio, at


@njit(cache=True)
def _single(words, at, program, i, registers, values, tree, levels):
    """One step with one variable: (whether it goes on, N/D, cursor)."""
    s = program.slot_at[i]
    ratio = 0.0
    first, last = _feasible(program, s, registers)
    if first > last:
        return False, ratio, at
    tests = program.tests[i] != 0
    low, high = program.core_lo[s], program.core_hi[s]
    bound = 1.0
    aside = False
    if tests or low <= high:
        bound, tail = _given(program, program.given_at[i], program.given_at[i + 1], registers)
        if low <= high:
            core = bound - tail if tests else bound
            bound = core
            if tail > 0.0:
                if core > 0.0:
                    way, at = fork(words, at, tail, core)
                    aside = way == 0
                else:
                    aside = True
            if aside:
                bound = tail
            else:
                first, last = max(first, low), min(last, high)
                if first > last:
                    return False, ratio, at
    _weigh(program, s, registers, first, last, tree)
    if aside:
        for z in range(max(first, low), min(last, high) + 1):
            tree[z - first] = 0.0
    root, level = _fold(tree, last - first + 1, levels)
    total = tree[root]
    if not total > 0.0:
        return False, ratio, at
    if tests:
        ratio = total / bound
        if total < bound:
            way, at = fork(words, at, total, bound - total)
            if way == 1:
                return False, ratio, at
    j, at = _descend(words, at, tree, root, level, levels)
    values[program.cell[s]] = first + j
    return True, ratio, at


@njit(cache=True)
def fill_rows(words, out, program, most):
    """Rows of `out` by rejection, `most` attempts at most; (rows, words of them, attempts, largest N/D)."""
    steps = program.line.size
    longest = 1
    for s in range(program.cell.size):
        longest = max(longest, program.mu_at[s + 1] - program.mu_at[s])
    widest = 1
    for i in range(steps):
        if program.line[i]:
            widest = max(widest, program.slot_at[i + 1] - program.slot_at[i])
    tree = np.zeros(2 * max(longest, widest) + 70)
    levels = np.zeros(70, dtype=np.int64)
    rows = np.zeros((widest, longest))
    sums = np.zeros((widest, widest * longest))
    firsts, counts = np.zeros(widest, dtype=np.int64), np.zeros(widest, dtype=np.int64)
    starts, lengths = np.zeros(widest, dtype=np.int64), np.zeros(widest, dtype=np.int64)
    registers = program.registers.copy()
    values = np.zeros(program.cell.size + 1, dtype=np.int64)
    at = used = attempts = done = 0
    worst = 0.0
    while done < out.shape[0] and attempts < most:
        registers[:] = 0
        begun = at
        accepted = True
        for i in range(steps):
            if program.line[i]:
                accepted, ratio, at = _line(
                    words, at, program, i, registers, values, tree, levels,
                    rows, firsts, counts, sums, starts, lengths,
                )
            else:
                accepted, ratio, at = _single(words, at, program, i, registers, values, tree, levels)
            if at > words.size:
                return done, used, attempts, worst
            worst = max(worst, ratio)
            if not accepted:
                break
            for s in range(program.slot_at[i], program.slot_at[i + 1]):
                z = values[program.cell[s]]
                for k in range(program.moved_at[s], program.moved_at[s + 1]):
                    registers[program.moved[k, 0]] += program.moved[k, 1] * z
        attempts += 1
        if accepted:
            for e in range(program.parent.size):
                out[done, e] = program.base[e]
                if program.parent[e] >= 0:
                    out[done, e] += program.slope[e] * values[program.parent[e]]
            done += 1
            used = at
        elif at == begun:
            break  # no choice was left and none serves: it would never end
    return done, used, attempts, worst


@njit(cache=True)
def log_moments(starts, z, logs, eta, full, value, mean):
    """For each law: ln Σ e^{log+ηz} and its mean where `full`, else the largest exponent and its z."""
    for e in range(starts.size - 1):
        top = -np.inf
        best = starts[e]
        for i in range(starts[e], starts[e + 1]):
            v = logs[i] + eta[e] * z[i]
            if v > top:
                top = v
                best = i
        value[e] = top
        mean[e] = z[best]
        if full[e]:
            total = 0.0
            first = 0.0
            for i in range(starts[e], starts[e + 1]):
                v = np.exp(logs[i] + eta[e] * z[i] - top)
                total += v
                first += v * z[i]
            value[e] += np.log(total)
            mean[e] = first / total
