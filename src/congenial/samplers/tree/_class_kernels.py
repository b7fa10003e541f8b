"""Find what is alike in a forest: equal leaves, then nodes with equal children, from the leaves up."""
# mypy: ignore-errors
# compiled code: numba decides the types, from arrays whose types its callers fix

import numpy as np
from numba import njit, uint64


@njit(cache=True, inline="always")
def _mixed(h):
    """A word stirred (the finaliser of SplitMix64), for hash tables only."""
    h = (h ^ (h >> uint64(30))) * uint64(0xBF58476D1CE4E5B9)
    h = (h ^ (h >> uint64(27))) * uint64(0x94D049BB133111EB)
    return h ^ (h >> uint64(31))


@njit(cache=True)
def distinct(keys):
    """(class of each row, first row of each class) of an int64 matrix; classes in order of appearance."""
    n, width = keys.shape
    room = 16
    while room < 2 * n:
        room *= 2
    slots = np.full(room, -1, dtype=np.int64)
    label = np.empty(n, dtype=np.int64)
    first = np.empty(n, dtype=np.int64)
    count = 0
    for i in range(n):
        h = uint64(0)
        for j in range(width):
            h = _mixed(h + uint64(keys[i, j]) + uint64(0x9E3779B97F4A7C15))
        at = np.int64(h & uint64(room - 1))
        while True:
            held = slots[at]
            if held < 0:
                slots[at] = count
                first[count] = i
                label[i] = count
                count += 1
                break
            same = True
            for j in range(width):
                if keys[first[held], j] != keys[i, j]:
                    same = False
                    break
            if same:
                label[i] = held
                break
            at = (at + 1) & (room - 1)
    return label, first[:count].copy()


@njit(cache=True)
def children_of(parent):
    """Children of every node, in compressed form (starts, nodes)."""
    n = parent.size
    starts = np.zeros(n + 1, dtype=np.int64)
    for v in range(n):
        if parent[v] >= 0:
            starts[parent[v] + 1] += 1
    for v in range(n):
        starts[v + 1] += starts[v]
    fill = starts[:-1].copy()
    nodes = np.empty(starts[n], dtype=np.int64)
    for v in range(n):
        up = parent[v]
        if up >= 0:
            nodes[fill[up]] = v
            fill[up] += 1
    return starts, nodes


@njit(cache=True)
def classify(starts, children, leaf_class, leaf_classes, trait):
    """Give nodes with the same trait and the same multiset of child classes one class.

    Sorts `children` of each node by class in place. Returns (class of every node, first node of each
    class beyond the leaf classes).
    """
    n = starts.size - 1
    leaves = leaf_class.size
    label = np.empty(n, dtype=np.int64)
    label[:leaves] = leaf_class
    room = 16
    while room < 2 * (n - leaves) + 2:
        room *= 2
    slots = np.full(room, -1, dtype=np.int64)
    first = np.empty(n - leaves, dtype=np.int64)
    count = 0
    for v in range(leaves, n):
        a, b = starts[v], starts[v + 1]
        _sort(children, a, b, label)
        h = _mixed(uint64(trait[v]) + uint64(0x9E3779B97F4A7C15))
        for i in range(a, b):
            h = _mixed(h + uint64(label[children[i]]) + uint64(0x9E3779B97F4A7C15))
        at = np.int64(h & uint64(room - 1))
        while True:
            held = slots[at]
            if held < 0:
                slots[at] = count
                first[count] = v
                label[v] = leaf_classes + count
                count += 1
                break
            u = first[held]
            same = trait[u] == trait[v] and starts[u + 1] - starts[u] == b - a
            if same:
                for i in range(b - a):
                    if label[children[starts[u] + i]] != label[children[a + i]]:
                        same = False
                        break
            if same:
                label[v] = leaf_classes + held
                break
            at = (at + 1) & (room - 1)
    return label, first[:count].copy()


@njit(cache=True)
def _sort(children, a, b, label):
    """Sort children[a:b] by class, stably: runs of 32 by insertion, then merged."""
    run = 32
    for first in range(a, b, run):
        for i in range(first + 1, min(first + run, b)):
            node = children[i]
            key = label[node]
            j = i - 1
            while j >= first and label[children[j]] > key:
                children[j + 1] = children[j]
                j -= 1
            children[j + 1] = node
    if b - a <= run:
        return
    spare = np.empty(b - a, dtype=np.int64)
    while run < b - a:
        for first in range(a, b, 2 * run):
            i, middle = first, min(first + run, b)
            j, last = middle, min(first + 2 * run, b)
            for at in range(first - a, last - a):
                if j >= last or (i < middle and label[children[i]] <= label[children[j]]):
                    spare[at] = children[i]
                    i += 1
                else:
                    spare[at] = children[j]
                    j += 1
        for i in range(b - a):
            children[a + i] = spare[i]
        run *= 2


@njit(cache=True)
def heights(parent):
    """For every node the longest way down to a leaf."""
    height = np.zeros(parent.size, dtype=np.int64)
    for v in range(parent.size):
        up = parent[v]
        if up >= 0 and height[up] <= height[v]:
            height[up] = height[v] + 1
    return height


@njit(cache=True)
def totals(parent, value):
    """For every node the sum over the leaves below it; `value` has one entry a node, zero off the leaves."""
    total = value.copy()
    for v in range(parent.size):
        if parent[v] >= 0:
            total[parent[v]] += total[v]
    return total


@njit(cache=True)
def ranges(parent, lower, upper, free):
    """How far each node's value can go given the limits of all others; `free` stands for no limit."""
    n = parent.size
    low, high = lower.copy(), upper.copy()
    for _ in range(2):
        total_low = np.zeros(n, dtype=np.int64)
        total_high = np.zeros(n, dtype=np.int64)
        open_low = np.zeros(n, dtype=np.int64)
        open_high = np.zeros(n, dtype=np.int64)
        inner = np.zeros(n, dtype=np.bool_)
        for v in range(n):
            if inner[v]:
                if open_low[v] == 0:
                    low[v] = max(low[v], total_low[v])
                if open_high[v] == 0:
                    high[v] = min(high[v], total_high[v])
            up = parent[v]
            if up >= 0:
                inner[up] = True
                if low[v] <= -free:
                    open_low[up] += 1
                else:
                    total_low[up] += low[v]
                if high[v] >= free:
                    open_high[up] += 1
                else:
                    total_high[up] += high[v]
        for v in range(n - 1, -1, -1):
            up = parent[v]
            if up < 0:
                continue
            others = open_low[up] - (1 if low[v] <= -free else 0)
            if others == 0 and high[up] < free:
                rest = total_low[up] - (0 if low[v] <= -free else low[v])
                if high[up] - rest < high[v]:
                    if high[v] >= free:
                        open_high[up] -= 1
                    else:
                        total_high[up] -= high[v]
                    high[v] = high[up] - rest
                    total_high[up] += high[v]
            others = open_high[up] - (1 if high[v] >= free else 0)
            if others == 0 and low[up] > -free:
                rest = total_high[up] - (0 if high[v] >= free else high[v])
                if low[up] - rest > low[v]:
                    if low[v] <= -free:
                        open_low[up] -= 1
                    else:
                        total_low[up] -= low[v]
                    low[v] = low[up] - rest
                    total_low[up] += low[v]
    return low, high


@njit(cache=True)
def bags(starts, children, label, first):
    """The multiset of child classes of one node of each class: (starts, child classes, how many)."""
    count = 0
    for v in first:
        for i in range(starts[v], starts[v + 1]):
            if i == starts[v] or label[children[i]] != label[children[i - 1]]:
                count += 1
    bag_start = np.zeros(first.size + 1, dtype=np.int64)
    bag_class = np.empty(count, dtype=np.int64)
    bag_count = np.zeros(count, dtype=np.int64)
    at = -1
    for k in range(first.size):
        v = first[k]
        for i in range(starts[v], starts[v + 1]):
            if i == starts[v] or label[children[i]] != label[children[i - 1]]:
                at += 1
                bag_class[at] = label[children[i]]
            bag_count[at] += 1
        bag_start[k + 1] = at + 1
    return bag_start, bag_class, bag_count
