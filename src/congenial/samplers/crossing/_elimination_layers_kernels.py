"""Kernels for layers of a three-way table: a column's tables backward, and their derivative.

A row's state before column j is (t, g): what it has used of its total in this layer, and the sum of the
depths' remainders s_j + … + s_c. With the weights

    h(z) = law(z) · after(s + z) · rest(t + z, g - s),        F(t, g, s) = ( mean_m |ĥ(θ_m)|^p )^{1/p},

the column's table is B(t, g) = max_s F(t, g, s) / before(s), or the soft maximum at a temperature. F is at
most Σ h, so most s need no Fourier sum. Where z is split, F is the norm of the core and the sum of the tail.
Windows are given by their first value and their arrays.
"""
# mypy: ignore-errors
# compiled code: numba decides the types, from arrays whose types its callers fix

import numpy as np
from numba import njit


@njit(cache=True)
def _weights(h, law, law_lo, after, after_lo, rest, rest_t, rest_g, t, g, s, low, high):
    """h on the feasible z in low … high, from h[0] on; (how many, first z, sum)."""
    if not (rest_g <= g - s < rest_g + rest.shape[1]):
        return 0, 0, 0.0
    first = max(law_lo, after_lo - s, rest_t - t, low)
    last = min(law_lo + law.size, after_lo + after.size - s, rest_t + rest.shape[0] - t, high + 1)
    total = 0.0
    for z in range(first, last):
        v = law[z - law_lo] * after[s + z - after_lo] * rest[t + z - rest_t, g - s - rest_g]
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
def _ratios(
    h, ratios, order, law, law_lo, after, after_lo, before, before_lo, rest, rest_t, rest_g,
    t, g, low, high, cosines, sines, shares, p, drop,
):
    """F / before for every s that matters (zero for the others), in `ratios`; the largest."""
    for s in range(before.size):
        _, _, total = _weights(
            h, law, law_lo, after, after_lo, rest, rest_t, rest_g, t, g, before_lo + s, low, high
        )
        ratios[s] = total / before[s] if before[s] > 0.0 else 0.0
    order[:] = np.argsort(-ratios)
    best = 0.0
    for r in range(order.size):
        s = order[r]
        if ratios[s] <= best * drop or ratios[s] == 0.0:
            ratios[s] = 0.0
            continue
        n, _, total = _weights(
            h, law, law_lo, after, after_lo, rest, rest_t, rest_g, t, g, before_lo + s, low, high
        )
        ratios[s] = _norm(h, n, total, cosines, sines, shares, p) / before[s]
        best = max(best, ratios[s])
    return best


@njit(cache=True)
def column(
    law, law_lo, after, after_lo, before, before_lo, rest, rest_t, rest_g, t_lo, g_lo, low, high, near, far,
    whole, tail, cosines, sines, shares, p, temperature,
):
    """The tables of one row before one column, over all s, and of the tail of z where s is near.

    z is split at low … high for the s in near … far (indices of `before`) and not for the others.
    """
    h = np.zeros(law.size)
    ratios = np.zeros(before.size)
    order = np.zeros(before.size, dtype=np.int64)
    drop = np.exp(-14.0 * temperature)
    law_hi = law_lo + law.size - 1
    inside, outside = np.zeros(before.size), before.copy()
    inside[near : far + 1] = before[near : far + 1]
    outside[near : far + 1] = 0.0
    split = low > law_lo or high < law_hi
    for t in range(whole.shape[0]):
        for g in range(whole.shape[1]):
            value = _ratios(
                h, ratios, order, law, law_lo, after, after_lo, inside, before_lo, rest, rest_t, rest_g,
                t_lo + t, g_lo + g, low, high, cosines, sines, shares, p, drop,
            )
            if temperature > 0.0 and value > 0.0:
                total = 0.0
                for s in range(before.size):
                    if ratios[s] > 0.0:
                        total += (ratios[s] / value) ** (1.0 / temperature)
                value *= total**temperature
            worst = 0.0
            if split:
                for s in range(near, far + 1):
                    _, _, left = _weights(
                        h, law, law_lo, after, after_lo, rest, rest_t, rest_g,
                        t_lo + t, g_lo + g, before_lo + s, law_lo, low - 1,
                    )
                    _, _, right = _weights(
                        h, law, law_lo, after, after_lo, rest, rest_t, rest_g,
                        t_lo + t, g_lo + g, before_lo + s, high + 1, law_hi,
                    )
                    worst = max(worst, (left + right) / before[s])
                value = max(value + worst, _ratios(
                    h, ratios, order, law, law_lo, after, after_lo, outside, before_lo, rest, rest_t, rest_g,
                    t_lo + t, g_lo + g, law_lo, law_hi, cosines, sines, shares, p, drop,
                ))
            whole[t, g] = value
            tail[t, g] = worst


@njit(cache=True)
def column_flow(
    law, law_lo, after, after_lo, before, before_lo, rest, rest_t, rest_g, t_lo, g_lo, mass,
    cosines, sines, shares, p, temperature, to_after, to_before, to_rest, to_law,
):
    """Send the mass of a column's table on: to `after`, `rest` and the law, and away from `before`.

    Returns where the mass was largest.
    """
    h = np.zeros(law.size)
    q = np.zeros(law.size)
    ratios = np.zeros(before.size)
    order = np.zeros(before.size, dtype=np.int64)
    drop = np.exp(-14.0 * temperature)
    low, high = law_lo, law_lo + law.size - 1
    middle = 0.0
    mode_t, mode_g = 0, 0
    for t in range(mass.shape[0]):
        for g in range(mass.shape[1]):
            if mass[t, g] > middle:
                middle, mode_t, mode_g = mass[t, g], t, g
            if mass[t, g] < 1e-9:
                continue
            best = _ratios(
                h, ratios, order, law, law_lo, after, after_lo, before, before_lo, rest, rest_t, rest_g,
                t_lo + t, g_lo + g, low, high, cosines, sines, shares, p, drop,
            )
            if best == 0.0:
                continue
            whole = 0.0
            for s in range(before.size):
                if ratios[s] > 0.0:
                    ratios[s] = (ratios[s] / best) ** (1.0 / temperature)
                    whole += ratios[s]
            for s in range(before.size):
                share = mass[t, g] * ratios[s] / whole
                if share < 1e-10:
                    continue
                to_before[s] -= share
                n, first, total = _weights(
                    h, law, law_lo, after, after_lo, rest, rest_t, rest_g,
                    t_lo + t, g_lo + g, before_lo + s, low, high,
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
                    to_rest[t_lo + t + z - rest_t, g_lo + g - before_lo - s - rest_g] += part
    return mode_t, mode_g
