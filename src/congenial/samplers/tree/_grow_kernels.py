"""The upward pass: convolutions of positive numbers, each table made once and shared by all alike."""
# mypy: ignore-errors
# compiled code: numba decides the types, from arrays whose types its callers fix

import numpy as np
from numba import njit


@njit(cache=True)
def convolve(a, b, start, out):
    """out[k] = Σ a[i] b[start + k - i]: direct, positive terms, four rows at a time."""
    for k in range(out.size):
        out[k] = 0.0
    if a.size > b.size:
        a, b = b, a
    n, m, size = a.size, b.size, out.size
    i = 0
    while i + 4 <= n:
        x0, x1, x2, x3 = a[i], a[i + 1], a[i + 2], a[i + 3]
        # places where all four rows are inside b
        k0 = max(0, i + 3 - start)
        k1 = min(size, i + m - start)
        for k in range(max(0, i - start), min(k0, size)):
            j = start + k - i
            for step in range(4):
                if 0 <= j - step < m:
                    out[k] += a[i + step] * b[j - step]
        if k1 > k0:
            shift = start - i
            o = out[k0:k1]
            b0 = b[k0 + shift : k1 + shift]
            b1 = b[k0 + shift - 1 : k1 + shift - 1]
            b2 = b[k0 + shift - 2 : k1 + shift - 2]
            b3 = b[k0 + shift - 3 : k1 + shift - 3]
            for k in range(k1 - k0):
                o[k] += (x0 * b0[k] + x1 * b1[k]) + (x2 * b2[k] + x3 * b3[k])
        for k in range(max(k0, k1, 0), min(size, i + 3 + m - start)):
            j = start + k - i
            for step in range(4):
                if 0 <= j - step < m:
                    out[k] += a[i + step] * b[j - step]
        i += 4
    while i < n:
        k0, k1 = max(0, i - start), min(size, i + m - start)
        for k in range(k0, k1):
            out[k] += a[i] * b[start + k - i]
        i += 1


@njit(cache=True)
def _mirrored(values):
    """Whether a table reads the same from both ends."""
    n = values.size
    for i in range(n // 2):
        if values[i] != values[n - 1 - i]:
            return False
    return True


@njit(cache=True)
def _even_convolve(a, b, start, out):
    """`convolve` where both are mirrored and `out` lies evenly around their middle: half of it is copied."""
    n = out.size
    half = n // 2
    convolve(a, b, start + half, out[half:])
    for i in range(half):
        out[i] = out[n - 1 - i]


@njit(cache=True)
def _trimmed(values, cut):
    """(first, last + 1, mass outside) of the shortest middle that leaves at most `cut` at either end."""
    first, last, lost = 0, values.size, 0.0
    gone = 0.0
    while first < last - 1 and gone + values[first] <= cut:
        gone += values[first]
        first += 1
    lost += gone
    gone = 0.0
    while last > first + 1 and gone + values[last - 1] <= cut:
        gone += values[last - 1]
        last -= 1
    return first, last, lost + gone


@njit(cache=True)
def _ensure(pool, size):
    if size <= pool.size:
        return pool
    return _resized(pool, max(size, 2 * pool.size))


@njit(cache=True)
def _resized(old, size):
    new = np.empty(size, dtype=old.dtype)
    for i in range(old.size):
        new[i] = old[i]
    return new


@njit(cache=True)
def _halves(many, wanted):
    """The powers that splitting `many` in halves goes through, most first; how many they are."""
    wanted[0] = many
    n = 1
    a, b = many, many
    while a > 1:
        a, b = a // 2, b - b // 2
        wanted[n] = a
        n += 1
        if b != a:
            wanted[n] = b
            n += 1
    return n


@njit(cache=True)
def _held(child, many, message, head, link, power, power_table):
    """The table of the sum of `many` alike, or -1 where it is not made yet."""
    if many == 1:
        return message[child]
    at = head[child]
    while at >= 0:
        if power[at] == many:
            return power_table[at]
        at = link[at]
    return -1


@njit(cache=True)
def _multiply(one, two, table, pool, used, start, low, size, error, logs, left, right, leaves, even, cut):
    """Enter the convolution of two tables as `table`; (pool, entries used)."""
    n = size[one] + size[two] - 1
    pool = _ensure(pool, used + n)
    a, b = pool[start[one] : start[one] + size[one]], pool[start[two] : start[two] + size[two]]
    even[table] = even[one] and even[two]
    if even[table]:
        _even_convolve(a, b, 0, pool[used : used + n])
    else:
        convolve(a, b, 0, pool[used : used + n])
    missing = error[one] + error[two] + error[one] * error[two]
    before = logs[one] + logs[two]
    used = _settle(
        pool, used, n, low[one] + low[two], table, start, low, size, error, logs, missing, before, cut
    )
    left[table], right[table], leaves[table] = one, two, leaves[one] + leaves[two]
    return pool, used


@njit(cache=True, nogil=True)
def grow(
    bag_start,
    bag_class,
    bag_count,
    node_low,
    node_high,
    factor,
    is_fixed,
    leaf_start,
    leaf_low,
    leaf_weights,
    leaf_error,
    leaf_broken,
    factor_start,
    factor_low,
    factor_weights,
    factor_tail,
    cut,
    room,
    most,
):
    """Tables of every class, from the leaf classes up.

    A table is (start in the pool, lowest value, size, error, broken, log of its mass, left, right,
    members): a normalised law with at most the mass `error` missing (relative) and at most the mass
    `broken` where a limit that was set aside does not hold, the two tables that it is the convolution of
    (-1 for leaves), and how many children it is the sum of.
    Returns (status, pool, those, the message of every class, the mass of every class before it was
    normalised: for a fixed root the probability of zero). `room` is the number of pool entries
    allowed; status 1: more are needed; `most` the number of
    multiplications, status 3: more are needed; 2: nothing is left inside the limits.
    """
    leaf_classes = leaf_low.size
    classes = leaf_classes + bag_start.size - 1
    message = np.full(classes, -1, dtype=np.int64)
    mass_of = np.ones(classes)
    spare = 2 * classes + 64
    start, low, size = np.empty(spare, np.int64), np.empty(spare, np.int64), np.empty(spare, np.int64)
    left, right, leaves = np.empty(spare, np.int64), np.empty(spare, np.int64), np.empty(spare, np.int64)
    error, broken, logs = np.empty(spare), np.empty(spare), np.empty(spare)
    even = np.zeros(spare, dtype=np.bool_)  # low + high = 0 and mirrored
    # powers, for each class a linked list of (how many, table)
    head = np.full(classes, -1, dtype=np.int64)
    link, power, power_table = np.empty(64, np.int64), np.empty(64, np.int64), np.empty(64, np.int64)
    powers = 0
    used = leaf_weights.size
    work = 0.0
    pool = _resized(leaf_weights, max(2 * used, 1 << 12))
    status = 0
    wanted = np.empty(128, dtype=np.int64)
    for c in range(leaf_classes):
        start[c], low[c], size[c] = leaf_start[c], leaf_low[c], leaf_start[c + 1] - leaf_start[c]
        error[c], left[c], right[c], leaves[c], logs[c] = leaf_error[c], -1, -1, 1, 0.0
        broken[c] = leaf_broken[c]
        message[c] = c
        own = leaf_weights[leaf_start[c] : leaf_start[c + 1]]
        even[c] = 2 * leaf_low[c] + own.size == 1 and _mirrored(own)
    count = leaf_classes
    for c in range(leaf_classes, classes):
        k = c - leaf_classes
        groups = bag_start[k + 1] - bag_start[k]
        if count + 130 * groups + 8 > start.size:
            spare = 2 * start.size + 130 * groups
            start, low, size = _resized(start, spare), _resized(low, spare), _resized(size, spare)
            left, right, leaves = _resized(left, spare), _resized(right, spare), _resized(leaves, spare)
            error, broken = _resized(error, spare), _resized(broken, spare)
            logs, even = _resized(logs, spare), _resized(even, spare)
        one, two = -1, -1
        for g in range(bag_start[k], bag_start[k + 1]):
            child, many = bag_class[g], bag_count[g]
            # one group alone is made below from its halves, only as far as the node's own law lets it count
            least = 1 if groups == 1 else 0
            for w in range(_halves(many, wanted) - 1, least - 1, -1):
                m = wanted[w]
                if _held(child, m, message, head, link, power, power_table) >= 0:
                    continue
                a = _held(child, m // 2, message, head, link, power, power_table)
                b = _held(child, m - m // 2, message, head, link, power, power_table)
                work += float(size[a]) * float(size[b])
                if used + size[a] + size[b] > room or work > most:
                    status = 1 if work <= most else 3
                    break
                pool, used = _multiply(
                    a, b, count, pool, used, start, low, size, error, logs, left, right, leaves, even, cut
                )
                broken[count] = broken[a] + broken[b]
                if powers == link.size:
                    link, power = _resized(link, 2 * powers), _resized(power, 2 * powers)
                    power_table = _resized(power_table, 2 * powers)
                power[powers], power_table[powers], link[powers] = m, count, head[child]
                head[child] = powers
                powers += 1
                count += 1
            if status:
                break
            if groups == 1:
                one = _held(child, many // 2, message, head, link, power, power_table)
                two = _held(child, many - many // 2, message, head, link, power, power_table)
                break
            table = _held(child, many, message, head, link, power, power_table)
            if two >= 0:
                work += float(size[one]) * float(size[two])
                if used + size[one] + size[two] > room or work > most:
                    status = 1 if work <= most else 3
                    break
                pool, used = _multiply(
                    one, two, count, pool, used, start, low, size, error, logs, left, right, leaves, even, cut
                )
                broken[count] = broken[one] + broken[two]
                one, two = count, table
                count += 1
            elif one >= 0:
                two = table
            else:
                one = table
        if status:
            break
        f = factor[k]
        lo = low[one] + low[two]
        hi = lo + size[one] + size[two] - 2
        lo, hi = max(lo, node_low[k]), min(hi, node_high[k])
        if f >= 0:
            lo = max(lo, factor_low[f])
            hi = min(hi, factor_low[f] + factor_start[f + 1] - factor_start[f] - 1)
        if is_fixed[k]:
            lo, hi = max(lo, 0), min(hi, 0)
        n = hi - lo + 1
        if n < 1:
            status = 2
            break
        work += float(n) * float(min(size[one], size[two]))
        if used + n > room or work > most:
            status = 1 if work <= most else 3
            break
        pool = _ensure(pool, used + n)
        made = pool[used : used + n]
        a, b = pool[start[one] : start[one] + size[one]], pool[start[two] : start[two] + size[two]]
        is_even = even[one] and even[two] and lo + hi == 0
        if is_even:
            _even_convolve(a, b, lo - low[one] - low[two], made)
        else:
            convolve(a, b, lo - low[one] - low[two], made)
        missing = error[one] + error[two] + error[one] * error[two]
        if f >= 0:
            shift = factor_start[f] + lo - factor_low[f]
            for t in range(n):
                made[t] *= factor_weights[shift + t]
            missing += factor_tail[f]
        mass = 0.0
        for t in range(n):
            mass += made[t]
        if not mass > 0.0:
            status = 2
            break
        before = logs[one] + logs[two]
        used = _settle(pool, used, n, lo, count, start, low, size, error, logs, missing / mass, before, cut)
        left[count], right[count], leaves[count] = one, two, 1
        even[count] = is_even and 2 * low[count] + size[count] == 1
        even[count] = even[count] and _mirrored(pool[start[count] : start[count] + size[count]])
        broken[count] = (broken[one] + broken[two]) / mass * (1.0 + 1e-6)
        mass_of[c] = mass
        message[c] = count
        count += 1
    return (
        status,
        pool[:used],
        start[:count],
        low[:count],
        size[:count],
        error[:count],
        broken[:count],
        logs[:count],
        left[:count],
        right[:count],
        leaves[:count],
        message,
        mass_of,
    )


@njit(cache=True)
def _settle(pool, used, n, lowest, table, start, low, size, error, logs, missing, log_before, cut):
    """Normalise and trim what was just made at the end of the pool, and enter it as `table`."""
    made = pool[used : used + n]
    mass = 0.0
    for t in range(n):
        mass += made[t]
    scale = 1.0 / mass
    for t in range(n):
        made[t] *= scale
    first, last, lost = _trimmed(made, cut)
    if first > 0:
        for t in range(first, last):
            made[t - first] = made[t]
    start[table], low[table], size[table] = used, lowest + first, last - first
    error[table] = (missing + lost) * (1.0 + 1e-6)
    logs[table] = log_before + np.log(mass)
    return used + last - first
