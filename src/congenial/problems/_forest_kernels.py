"""Compiled loops over the nodes of a forest. Children stand before parents everywhere."""
# mypy: ignore-errors
# compiled code: numba decides the types, from arrays whose types its callers fix

import numpy as np
from numba import njit

_FIXED, _OPEN, _JOINED = -1, -2, -3  # as in forest.py
_FREE = 2**62


@njit(cache=True)
def join(groups, count, top, parent, size):
    """Make each group a node above the nodes in `top` that it is made of.

    Returns (node of each group, number of nodes), the latter -1 where a group cuts through a node.
    `top` (the highest node of each cell) and `parent` change in place, and only where all is well.
    """
    unseen = -2
    owner = np.full(size, unseen, dtype=np.int64)
    parts = np.zeros(count, dtype=np.int64)
    first = np.full(count, -1, dtype=np.int64)
    for cell in range(top.size):
        node, group = top[cell], np.int64(groups[cell])
        if owner[node] == unseen:
            owner[node] = group
            if group >= 0:
                parts[group] += 1
                first[group] = node
        elif owner[node] != group:
            return first, -1
    for group in range(count):
        if parts[group] > 1:
            first[group] = size
            size += 1
    for cell in range(top.size):
        group = np.int64(groups[cell])
        if group >= 0 and parts[group] > 1:
            node = top[cell]
            if node < owner.size:
                parent[node] = first[group]
                top[cell] = first[group]
    return first, size


@njit(cache=True)
def settle(parent, fixed, joined):
    """Cut the forest at fixed nodes and find what they imply; `parent` and `fixed` change in place.

    A node whose children are all determined is determined; where a fixed node has one child left, that
    is fixed too; a node with one child left is the same set as that child. Returns for each node the
    node that it is the same as: itself, a descendant, or -1 where it is determined.
    Determined leaves are fixed; a fixed node above others stays, as the root of what it fixes.
    """
    n = parent.size
    held = np.zeros(n, dtype=np.bool_)
    for v in joined:
        held[v] = True
    loose = np.zeros(n, dtype=np.int64)
    child_sum = np.zeros(n, dtype=np.int64)
    leaf = np.ones(n, dtype=np.bool_)
    for v in range(n):
        if parent[v] >= 0:
            leaf[parent[v]] = False
    empty = np.zeros(n, dtype=np.bool_)
    for v in range(n):
        empty[v] = fixed[v] if leaf[v] else loose[v] == 0
        if parent[v] >= 0 and not (fixed[v] or empty[v]):
            loose[parent[v]] += 1
            child_sum[parent[v]] += v
    for v in range(n - 1, -1, -1):
        if fixed[v] and not leaf[v] and loose[v] == 1:
            only = child_sum[v]
            fixed[only] = True
            loose[v] = 0
            if leaf[only]:
                empty[only] = True
        if loose[v] == 0 and not leaf[v]:
            empty[v] = True
    same = np.empty(n, dtype=np.int64)
    for v in range(n):
        if empty[v] and (leaf[v] or loose[v] == 0):
            same[v] = -1
        elif not leaf[v] and not fixed[v] and loose[v] == 1:
            same[v] = same[child_sum[v]]
        else:
            same[v] = v
    for v in range(n):
        if same[v] == -1:
            parent[v] = _FIXED
    for v in range(n):
        if same[v] != v:
            continue
        if fixed[v]:
            parent[v] = _FIXED
            continue
        up, is_held = parent[v], held[v]
        while up >= 0 and same[up] == v:
            is_held = is_held or held[up]
            up = parent[up]
        if is_held:
            parent[v] = _JOINED
        else:
            parent[v] = up if up >= 0 else _OPEN
    return same


@njit(cache=True)
def drop_implied(parent, same, lower, upper, leaves):
    """Take away limits on a node that the limits below it already imply."""
    n = parent.size
    low = np.zeros(n, dtype=np.int64)
    high = np.zeros(n, dtype=np.int64)
    for v in range(n):
        if same[v] != v:
            continue
        if v >= leaves:
            if low[v] >= lower[v]:
                lower[v] = -_FREE
            if high[v] <= upper[v]:
                upper[v] = _FREE
            lo, hi = max(low[v], lower[v]), min(high[v], upper[v])
        else:
            lo, hi = lower[v], upper[v]
        up = parent[v]
        if up >= 0:
            # at most _FREE in size, so that no sum of two overflows
            low[up] = -_FREE if lo == -_FREE or low[up] == -_FREE else max(low[up] + lo, -_FREE)
            high[up] = _FREE if hi == _FREE or high[up] == _FREE else min(high[up] + hi, _FREE)


@njit(cache=True)
def renumber(parent, fixed, same, leaves):
    """Number the nodes that stay; (new number of each old node or -1, new parents, old numbers)."""
    n = parent.size
    number = np.full(n, -1, dtype=np.int64)
    count = 0
    for v in range(n):
        if same[v] == v:
            number[v] = count
            count += 1
    old = np.empty(count, dtype=np.int64)
    new = np.empty(count, dtype=np.int64)
    for v in range(n):
        if same[v] == v:
            old[number[v]] = v
            new[number[v]] = number[parent[v]] if parent[v] >= 0 else parent[v]
        elif same[v] >= 0:
            number[v] = number[same[v]]
    return number, new, old


@njit(cache=True)
def roots_of(parent):
    """For each node the root above it."""
    n = parent.size
    root = np.empty(n, dtype=np.int64)
    for v in range(n - 1, -1, -1):
        root[v] = v if parent[v] < 0 else root[parent[v]]
    return root


@njit(cache=True)
def directions(parent, law, lower, upper, free):
    """Where each node's value can run off unweighed: (upwards, downwards, its parts against each other)."""
    n = parent.size
    up, down = np.zeros(n, dtype=np.bool_), np.zeros(n, dtype=np.bool_)
    leak = np.zeros(n, dtype=np.bool_)
    children = np.zeros(n, dtype=np.int64)
    ups, downs = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
    both = np.zeros(n, dtype=np.int64)
    for v in range(n):
        if children[v] == 0:
            can_up, can_down = True, True
        else:
            can_up, can_down = ups[v] > 0, downs[v] > 0
            if can_up and can_down and not (ups[v] == 1 and downs[v] == 1 and both[v] == 1):
                leak[v] = True
        if law[v] > 0 or parent[v] == _FIXED:
            can_up, can_down = False, False
        up[v] = can_up and upper[v] >= free
        down[v] = can_down and lower[v] <= -free
        p = parent[v]
        if p >= 0:
            children[p] += 1
            ups[p] += up[v]
            downs[p] += down[v]
            both[p] += up[v] and down[v]
    return up, down, leak


@njit(cache=True)
def sizes(parent, law, leaves):
    """For each node: leaves below it, nodes that hang directly under it and are not leaves, the law of
    its leaves (-1 where they differ)."""
    n = parent.size
    below = np.zeros(n, dtype=np.int64)
    inner = np.zeros(n, dtype=np.int64)
    same = np.full(n, -2, dtype=np.int64)
    for v in range(n):
        if v < leaves:
            below[v] = 1
            same[v] = law[v]
        p = parent[v]
        if p >= 0:
            below[p] += below[v]
            inner[p] += v >= leaves
            if same[p] == -2:
                same[p] = same[v]
            elif same[p] != same[v]:
                same[p] = -1
    return below, inner, same


@njit(cache=True)
def only(parent, chosen):
    """Nodes whose root is chosen: (new number of each node or -1, old numbers, new parents)."""
    n = parent.size
    keep = np.zeros(n, dtype=np.bool_)
    for v in range(n - 1, -1, -1):
        keep[v] = chosen[v] if parent[v] < 0 else keep[parent[v]]
    number = np.full(n, -1, dtype=np.int64)
    count = 0
    for v in range(n):
        if keep[v]:
            number[v] = count
            count += 1
    old = np.empty(count, dtype=np.int64)
    new = np.empty(count, dtype=np.int64)
    for v in range(n):
        if keep[v]:
            old[number[v]] = v
            new[number[v]] = number[parent[v]] if parent[v] >= 0 else parent[v]
    return number, old, new
