"""Integer rows: which columns and rows are independent, and shorter rows with the same solutions."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from congenial.samplers.base import IntArray

_PRIME = 2**31 - 1
"""Independence modulo a prime implies independence over the integers."""


def independent_rows(rows: IntArray, order: Iterable[int]) -> list[int]:
    """Rows that are independent, chosen greedily in `order`; as many as the rank modulo a large prime."""
    kept: list[int] = []
    reduced: list[tuple[int, IntArray]] = []
    for k in order:
        row = rows[k] % _PRIME
        for pivot, other in reduced:
            if row[pivot]:
                row = (row - row[pivot] * other) % _PRIME
        where = np.flatnonzero(row)
        if len(where):
            pivot = int(where[0])
            row = row * pow(int(row[pivot]), -1, _PRIME) % _PRIME
            reduced.append((pivot, row))
            kept.append(int(k))
    return kept


def independent_columns(rows: IntArray, order: Iterable[int]) -> list[int]:
    """Columns that are independent, chosen greedily in `order`: the other columns determine them."""
    return independent_rows(np.ascontiguousarray(rows.T), order)


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
