"""Kernels of weighted elimination: tables backward, their derivative forward, tails, independent columns.

A *bucket* is a set of tables that are eliminated together. Its factors look up `pool` at
`const[f] + Σ_d state[d]·strides[f, d] + z·steps[f]`; `held` lists the registers among them with the
interval in which the tables know them, so that each state knows its feasible z beforehand.
"""
# mypy: ignore-errors
# compiled code: numba decides the types, from arrays whose types its callers fix

import numpy as np
from numba import njit


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
def log_moments(starts, z, logs, eta, shares, value, mean):
    """For each law f: s · ln Σ (f e^{ηz})^{1/s}, s its share, and its slope in η; at s = 0 the largest."""
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
        if shares[e] > 0.0:
            total = 0.0
            first = 0.0
            for i in range(starts[e], starts[e + 1]):
                v = (logs[i] + eta[e] * z[i] - top) / shares[e]
                if v > -60.0:
                    v = np.exp(v)
                    total += v
                    first += v * z[i]
            # what is skipped is at most e^-60 a term
            value[e] += shares[e] * np.log(total + 1e-26 * (starts[e + 1] - starts[e]))
            mean[e] = first / total


@njit(cache=True)
def independent(matrix, order, prime):
    """Independent columns, greedily in `order`; `matrix` has entries modulo a prime and is changed."""
    rows = matrix.shape[0]
    kept = np.zeros(min(rows, order.size), dtype=np.int64)
    rank = 0
    for e in order:
        if rank == rows:
            break
        pivot = -1
        for r in range(rank, rows):
            if matrix[r, e] != 0:
                pivot = r
                break
        if pivot < 0:
            continue
        for c in range(matrix.shape[1]):
            matrix[rank, c], matrix[pivot, c] = matrix[pivot, c], matrix[rank, c]
        inverse, base, power = 1, matrix[rank, e], prime - 2
        while power:
            if power & 1:
                inverse = inverse * base % prime
            base = base * base % prime
            power >>= 1
        for c in range(matrix.shape[1]):
            matrix[rank, c] = matrix[rank, c] * inverse % prime
        for r in range(rank + 1, rows):
            factor = matrix[r, e]
            if factor != 0:
                for c in range(matrix.shape[1]):
                    matrix[r, c] = (matrix[r, c] - factor * matrix[rank, c]) % prime
        kept[rank] = e
        rank += 1
    return kept[:rank]
