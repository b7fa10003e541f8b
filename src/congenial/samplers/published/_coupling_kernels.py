"""Two coupled chains on a lattice, compiled: `coupling.py` is the text to read."""

# mypy: ignore-errors
# (numba gives these functions their types)

from numba import njit

from congenial.samplers._words import uniform
from congenial.samplers.published._sweep_kernels import picked, propose, settle


@njit(cache=True, inline="always", _nrt=False)
def eta(chain, e):
    """η(e), zero outside the table's window."""
    k = e - chain.jump.offset
    if k < 0 or k >= chain.mass.size:
        return 0.0
    return chain.mass[k]


@njit(cache=True, inline="always", _nrt=False)
def follow(words, at, chain, v, w, moved, index, value, followed, amount):
    """The second chain's moves, as often as can be to where the first one's go; (how many, cursor)."""
    count, k = 0, 0
    for j in range(chain.directions):
        e = 0
        if k < moved and index[k] == j:
            e = value[k]
            k += 1
        f = e
        if v[j] != w[j]:
            apart = v[j] - w[j]
            u, at = uniform(words, at)
            f = apart + e
            if not u <= eta(chain, f) / eta(chain, e):
                while at <= words.size:
                    f, at = picked(words, at, chain, chain.jump)
                    u, at = uniform(words, at)
                    if not u <= eta(chain, f - apart) / eta(chain, f):
                        break
        if f != 0:
            followed[count] = j
            amount[count] = f
            count += 1
    return count, at


@njit(cache=True, _nrt=False)
def walk_together(words, chain, v, z, z_size, w, y, y_size, steps, scratch):
    """Up to `steps` coupled steps in place, until the chains meet.

    (steps taken, words used, the two sizes, whether they have met)
    """
    index, value, followed, amount = scratch[0], scratch[1], scratch[2], scratch[3]
    at = 0
    for t in range(steps):
        begun = at
        moved, at = propose(words, at, chain, index, value)
        count, at = follow(words, at, chain, v, w, moved, index, value, followed, amount)
        u, at = uniform(words, at)
        if at > words.size:
            return t, begun, z_size, y_size, False
        accepted, z_size = settle(u, chain, v, z, z_size, moved, index, value)
        other, y_size = settle(u, chain, w, y, y_size, count, followed, amount)
        if accepted or other:
            met = True
            for j in range(v.size):
                if v[j] != w[j]:
                    met = False
                    break
            if met:
                return t + 1, at, z_size, y_size, True
    return steps, at, z_size, y_size, False
