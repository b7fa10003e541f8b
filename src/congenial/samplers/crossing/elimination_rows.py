"""Integer rows: which columns and rows are independent, and shorter rows with the same solutions."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from congenial.samplers.base import FloatArray, IntArray
from congenial.samplers.crossing._elimination_kernels import independent

_PRIME = 2**31 - 1
"""Independence modulo a prime implies independence over the integers."""


def independent_rows(rows: IntArray, order: Iterable[int]) -> list[int]:
    """Rows that are independent, chosen greedily in `order`; as many as the rank modulo a large prime."""
    return independent_columns(rows.T, order)


def independent_columns(rows: IntArray, order: Iterable[int]) -> list[int]:
    """Columns that are independent, chosen greedily in `order`: the other columns determine them."""
    if not rows.size:
        return []
    matrix = np.ascontiguousarray(rows % _PRIME, dtype=np.int64)
    return [int(e) for e in independent(matrix, np.array(list(order), dtype=np.int64), _PRIME)]


def free_shares(rows: IntArray, costs: FloatArray, sets: int) -> FloatArray:
    """For each column, in how many of some sets of free variables it is, as a share of all sets.

    The variables outside a greedy basis of columns determine the others. Bases are chosen at random, those
    with costly columns more often, and mixed evenly: where many columns are alike, so are their shares.
    """
    rng = np.random.default_rng(0)
    free = np.ones(rows.shape[1])
    for _ in range(sets):
        order = np.argsort(-(costs + rng.gumbel(size=len(costs))), kind="stable")
        free[independent_columns(rows, order)] -= 1.0 / sets
    return np.where(free < 0.5 / sets, 0.0, free)


def distinct(rows: IntArray) -> list[int]:
    """The first of each set of rows that are equal up to sign."""
    seen: set[bytes] = set()
    kept = []
    for k, row in enumerate(rows):
        where = np.flatnonzero(row)
        if not len(where):
            continue
        key = (row * (1 if row[where[0]] > 0 else -1)).tobytes()
        if key not in seen:
            seen.add(key)
            kept.append(k)
    return kept


def shortened(rows: IntArray, values: IntArray) -> tuple[IntArray, IntArray]:
    """Rows with the same integer solutions of rows · z = values, with fewer nonzeros where a sum or
    difference of two rows has fewer than the longer of the two.

    Each exchange adds ±1 times one row to another, which is unimodular; then rows are divided by their
    common divisors, which keeps the solutions if the values are divisible (else there is none, and the
    row is kept as it is).
    """
    rows, values = rows.copy(), values.copy()
    changed = True
    while changed:
        changed = False
        for i in range(len(rows)):
            best = (int(np.count_nonzero(rows[i])), int(np.abs(rows[i]).sum()))
            for j in range(len(rows)):
                for sign in (1, -1) if i != j else ():
                    trial = rows[i] + sign * rows[j]
                    size = (int(np.count_nonzero(trial)), int(np.abs(trial).sum()))
                    if size < best and size[0]:
                        rows[i], values[i] = trial, values[i] + sign * values[j]
                        best, changed = size, True
    for i in range(len(rows)):
        g = math.gcd(*(int(a) for a in rows[i]))
        if g > 1 and values[i] % g == 0:
            rows[i] //= g
            values[i] //= g
    return rows, values
