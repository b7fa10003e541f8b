"""Kernels for layers of a three-way table: a column's tables backward, and their derivative.

A row's state before column j is (g, t): the sum of the depths' remainders s_j + … + s_c, and what the row
has used of its total in this layer. With the weights

    h(z) = law(z) · after(s + z) · rest(g - s, t + z),        F(g, t, s) = ( mean_m |ĥ(θ_m)|^p )^{1/p},

the column's table is B(g, t) = max_s F(g, t, s) / before(s), or the soft maximum at a temperature. F is at
most Σ h, so most s need no Fourier sum. Where z is split, F is the norm of the core and the sum of the tail.
Windows are given by their first value and their arrays.
"""
# mypy: ignore-errors
# compiled code: numba decides the types, from arrays whose types its callers fix

import numpy as np
from numba import njit, uint64


@njit(cache=True)
def _weights(h, law, law_lo, after, after_lo, rest, rest_g, rest_t, g, t, s, low, high):
    """h on the feasible z in low … high, from h[0] on; (how many, first z, sum)."""
    if not (rest_g <= g - s < rest_g + rest.shape[0]):
        return 0, 0, 0.0
    first = max(law_lo, after_lo - s, rest_t - t, low)
    last = min(law_lo + law.size, after_lo + after.size - s, rest_t + rest.shape[1] - t, high + 1)
    total = 0.0
    for z in range(first, last):
        v = law[z - law_lo] * after[s + z - after_lo] * rest[g - s - rest_g, t + z - rest_t]
        h[z - first] = v
        total += v
    return max(0, last - first), first, total


@njit(cache=True)
def _norm(h, n, total, cosines, sines, shares, p):
    """( mean |ĥ|^p )^{1/p} of h with sum `total`."""
    mean = 0.0
    for m in range(shares.size):
        a, b = 0.0, 0.0
        for i in range(n):
            a += h[i] * cosines[m, i]
            b += h[i] * sines[m, i]
        mean += shares[m] * ((a * a + b * b) / (total * total)) ** (0.5 * p)
    return total * mean ** (1.0 / p)


@njit(cache=True)
def _sums(out, law, law_lo, after, after_lo, rest, rest_g, rest_t, g, t_lo, s, low, high):
    """out[t] = Σ h over z in low … high, for all t at once; `out` begins at t_lo."""
    out[:] = 0.0
    if not (rest_g <= g - s < rest_g + rest.shape[0]):
        return
    first = max(law_lo, after_lo - s, low)
    last = min(law_lo + law.size, after_lo + after.size - s, high + 1)
    row = g - s - rest_g
    for z in range(first, last):
        w = law[z - law_lo] * after[s + z - after_lo]
        begin = max(0, rest_t - z - t_lo)
        end = min(out.size, rest_t + rest.shape[1] - z - t_lo)
        there = uint64(begin + t_lo + z - rest_t)
        here = uint64(begin)
        for i in range(end - begin):
            out[here + uint64(i)] += w * rest[row, there + uint64(i)]


@njit(cache=True)
def _best(
    ratios, h, law, law_lo, after, after_lo, before, before_lo, rest, rest_g, rest_t,
    g, t, low, high, cosines, sines, shares, p, drop,
):
    """Bounds of F / before become F / before where they matter, and zero elsewhere; the largest."""
    best = 0.0
    done = np.zeros(ratios.size, dtype=np.bool_)
    while True:
        top = -1
        for s in range(ratios.size):
            if not done[s] and ratios[s] > 0.0 and (top < 0 or ratios[s] > ratios[top]):
                top = s
        if top < 0:
            return best
        if ratios[top] <= best * drop:
            for s in range(ratios.size):
                if not done[s]:
                    ratios[s] = 0.0
            return best
        done[top] = True
        n, _, total = _weights(
            h, law, law_lo, after, after_lo, rest, rest_g, rest_t, g, t, before_lo + top, low, high
        )
        ratios[top] = _norm(h, n, total, cosines, sines, shares, p) / before[top]
        best = max(best, ratios[top])


@njit(cache=True)
def _soft(ratios, best, temperature):
    """The soft maximum."""
    if temperature <= 0.0 or best <= 0.0:
        return best
    total = 0.0
    for s in range(ratios.size):
        if ratios[s] > 0.0:
            total += (ratios[s] / best) ** (1.0 / temperature)
    return best * total**temperature


@njit(cache=True)
def column(
    law, law_lo, after, after_lo, before, before_lo, rest, rest_g, rest_t, g_lo, t_lo, low, high, near, far,
    whole, tail, cosines, sines, shares, p, temperature,
):
    """The tables of one row before one column: over all s, and of the tail of z where s is near.

    z is split at low … high for the s in near … far (indices of `before`) and not for the others.
    """
    h = np.zeros(law.size)
    states, width = before.size, whole.shape[1]
    core = np.zeros((states, width))
    side = np.zeros(width)
    ratios = np.zeros(states)
    drop = np.exp(-14.0 * temperature)
    law_hi = law_lo + law.size - 1
    split = low > law_lo or high < law_hi
    tail[:] = 0.0
    for g in range(whole.shape[0]):
        for s in range(states):
            inside = split and near <= s <= far
            a, b = (low, high) if inside else (law_lo, law_hi)
            _sums(
                core[s], law, law_lo, after, after_lo, rest, rest_g, rest_t,
                g_lo + g, t_lo, before_lo + s, a, b,
            )
            if inside:
                _sums(
                    side, law, law_lo, after, after_lo, rest, rest_g, rest_t,
                    g_lo + g, t_lo, before_lo + s, law_lo, low - 1,
                )
                for t in range(width):
                    tail[g, t] = max(tail[g, t], side[t] / before[s])
                _sums(
                    side, law, law_lo, after, after_lo, rest, rest_g, rest_t,
                    g_lo + g, t_lo, before_lo + s, high + 1, law_hi,
                )
                for t in range(width):
                    tail[g, t] = max(tail[g, t], side[t] / before[s])
        # a tail has two sides: twice the larger is at least their sum
        for t in range(width):
            tail[g, t] *= 2.0
            for s in range(states):
                known = before[s] > 0.0 and (not split or near <= s <= far)
                ratios[s] = core[s, t] / before[s] if known else 0.0
            a, b = (low, high) if split else (law_lo, law_hi)
            value = _best(
                ratios, h, law, law_lo, after, after_lo, before, before_lo, rest, rest_g, rest_t,
                g_lo + g, t_lo + t, a, b, cosines, sines, shares, p, drop,
            )
            value = _soft(ratios, value, temperature) + tail[g, t]
            if split:
                for s in range(states):
                    known = before[s] > 0.0 and not near <= s <= far
                    ratios[s] = core[s, t] / before[s] if known and core[s, t] / before[s] > value else 0.0
                value = max(value, _best(
                    ratios, h, law, law_lo, after, after_lo, before, before_lo, rest, rest_g, rest_t,
                    g_lo + g, t_lo + t, law_lo, law_hi, cosines, sines, shares, p, drop,
                ))
            whole[g, t] = value


@njit(cache=True)
def column_flow(
    law, law_lo, after, after_lo, before, before_lo, rest, rest_g, rest_t, g_lo, t_lo, mass,
    cosines, sines, shares, p, temperature, to_after, to_before, to_rest, to_law,
):
    """Send the mass of a column's table on: to `after`, `rest` and the law, and away from `before`.

    Returns where the mass was largest.
    """
    h = np.zeros(law.size)
    q = np.zeros(law.size)
    ratios = np.zeros(before.size)
    drop = np.exp(-14.0 * temperature)
    low, high = law_lo, law_lo + law.size - 1
    middle = 0.0
    mode_g, mode_t = 0, 0
    for g in range(mass.shape[0]):
        for t in range(mass.shape[1]):
            if mass[g, t] > middle:
                middle, mode_g, mode_t = mass[g, t], g, t
            if mass[g, t] < 1e-9:
                continue
            for s in range(before.size):
                _, _, total = _weights(
                    h, law, law_lo, after, after_lo, rest, rest_g, rest_t,
                    g_lo + g, t_lo + t, before_lo + s, low, high,
                )
                ratios[s] = total / before[s] if before[s] > 0.0 else 0.0
            best = _best(
                ratios, h, law, law_lo, after, after_lo, before, before_lo, rest, rest_g, rest_t,
                g_lo + g, t_lo + t, low, high, cosines, sines, shares, p, drop,
            )
            if best == 0.0:
                continue
            whole = 0.0
            for s in range(before.size):
                if ratios[s] > 0.0:
                    ratios[s] = (ratios[s] / best) ** (1.0 / temperature)
                    whole += ratios[s]
            for s in range(before.size):
                share = mass[g, t] * ratios[s] / whole
                if share < 1e-10:
                    continue
                to_before[s] -= share
                n, first, total = _weights(
                    h, law, law_lo, after, after_lo, rest, rest_g, rest_t,
                    g_lo + g, t_lo + t, before_lo + s, low, high,
                )
                mean = 0.0
                q[:n] = 0.0
                for m in range(shares.size):
                    a, b = 0.0, 0.0
                    for i in range(n):
                        a += h[i] * cosines[m, i]
                        b += h[i] * sines[m, i]
                    size = (a * a + b * b) / (total * total)
                    if size > 1e-30:
                        power = shares[m] * size ** (0.5 * p)
                        mean += power
                        power /= size * total * total
                        for i in range(n):
                            q[i] += power * (a * cosines[m, i] + b * sines[m, i])
                for i in range(n):
                    part = share * h[i] * q[i] / mean
                    z = first + i
                    to_law[z - law_lo] += part
                    to_after[before_lo + s + z - after_lo] += part
                    to_rest[g_lo + g - before_lo - s - rest_g, t_lo + t + z - rest_t] += part
    return mode_g, mode_t
