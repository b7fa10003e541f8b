"""Which tables are eliminated together at which variable: the symbols of weighted elimination.

Variables are eliminated from the last of the order to the first. Each table knows some registers (partial
sums of forms). At a variable, the tables that it touches fall into those whose registers are all opened by
it (their values are known before it, so they only weigh the variable) and the others, which are grouped
into *buckets*: the tables of one bucket become one table over all their registers. One bucket is exact
elimination; several cost acceptance; large buckets cost memory.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from congenial.samplers.base import IntArray
from congenial.samplers.crossing.elimination_model import Model


@dataclass(frozen=True)
class Bucket:
    """Tables that are eliminated together, and the table that they leave behind."""

    takes: tuple[int, ...]
    gives: int


@dataclass(frozen=True)
class Step:
    """One variable, the tables that only weigh it, and the buckets of the others."""

    variable: int
    free: tuple[int, ...]
    buckets: tuple[Bucket, ...]


@dataclass(frozen=True)
class Scheme:
    """All steps in the order of drawing; `scopes[t]` are the registers of table t, at `positions[t]` steps.

    Tables 0 … K-1 are the ends of the forms.
    """

    steps: tuple[Step, ...]
    scopes: tuple[tuple[int, ...], ...]
    positions: tuple[int, ...]

    @property
    def tests(self) -> int:
        """Steps that can reject."""
        return sum(len(step.buckets) > 1 for step in self.steps)


@dataclass(frozen=True, eq=False)
class Ranges:
    """For every number of steps taken (rows) and every form: the values its register may have."""

    lo: IntArray
    hi: IntArray

    def size(self, position: int, scope: Sequence[int]) -> int:
        """How many entries a table over `scope` has."""
        return math.prod(max(1, int(self.hi[position, k] - self.lo[position, k]) + 1) for k in scope)


def ranges(model: Model, order: Sequence[int], reach: Ranges | None = None) -> Ranges:
    """What interval arithmetic says (reached from zero, able to reach the end), inside `reach`."""
    rows = model.rows[:, list(order)]
    first, last = model.lo[list(order)], model.hi[list(order)]
    lo, hi = _sums(np.minimum(rows * first, rows * last)), _sums(np.maximum(rows * first, rows * last))
    end_lo = np.array([end.lo for end in model.ends], dtype=np.int64)
    end_hi = np.array([end.hi for end in model.ends], dtype=np.int64)
    low = np.maximum(lo, end_lo - (hi[-1] - hi))
    high = np.minimum(hi, end_hi - (lo[-1] - lo))
    if reach is not None:
        low, high = np.maximum(low, reach.lo), np.minimum(high, reach.hi)
    return Ranges(low, np.maximum(high, low))


def likely_reach(model: Model, order: Sequence[int]) -> Ranges:
    """Where partial sums probably stay: a guess, for comparing orders, never for a draw."""
    spread, middle = np.zeros(model.variables), np.zeros(model.variables)
    for e, law in enumerate(model.laws):
        z = model.lo[e] + np.arange(len(law))
        middle[e] = float(law @ z)
        spread[e] = float(law @ (z - middle[e]) ** 2)
    rows = model.rows[:, list(order)]
    far = np.abs(rows) * np.maximum(model.hi - model.lo, 1)[list(order)] / 2
    width = np.maximum.accumulate(np.vstack([np.zeros(len(rows)), far.T]), axis=0)
    width = width + 3 * np.sqrt(_sums(rows**2 * spread[list(order)]))
    centre = np.zeros(width.shape)
    np.cumsum((rows * middle[list(order)]).T, axis=0, out=centre[1:])
    return Ranges((centre - width).astype(np.int64), (centre + width + 1).astype(np.int64))


def _sums(parts: NDArray[Any]) -> NDArray[Any]:
    """Partial sums along the order: one row for each number of steps taken."""
    found = np.zeros((parts.shape[1] + 1, parts.shape[0]), dtype=parts.dtype)
    np.cumsum(parts.T, axis=0, out=found[1:])
    return found


Merge = Callable[[list[tuple[int, ...]], int], list[list[int]]]
"""Groups the scopes that meet at a position into buckets: lists of indices."""


def smallest_first(spans: Ranges, limit: int) -> Merge:
    """Join the two groups whose common table is smallest, as long as it has at most `limit` entries."""

    def merge(scopes: list[tuple[int, ...]], position: int) -> list[list[int]]:
        groups = [[i] for i in range(len(scopes))]
        unions = [set(scope) for scope in scopes]
        while len(groups) > 1:
            sizes = [
                (spans.size(position, tuple(unions[a] | unions[b])), a, b)
                for a, b in combinations(range(len(groups)), 2)
            ]
            size, a, b = min(sizes)
            if size > limit:
                break
            groups[a] += groups.pop(b)
            unions[a] |= unions.pop(b)
        return groups

    return merge


def scheme(model: Model, order: Sequence[int], merge: Merge) -> Scheme:
    """Eliminate symbolically from the last variable of `order` to the first."""
    touched = [tuple(int(k) for k in np.flatnonzero(model.rows[:, e])) for e in order]
    opened: dict[int, int] = {}
    for i, forms in enumerate(touched):
        for k in forms:
            opened.setdefault(k, i)
    count = len(model.ends)
    scopes: list[tuple[int, ...]] = [(k,) for k in range(count)]
    positions = [len(order)] * count
    waiting = set(range(count))
    steps: list[Step] = []
    for i in reversed(range(len(order))):
        here = [t for t in sorted(waiting) if set(scopes[t]) & set(touched[i])]
        waiting -= set(here)
        before = {t: tuple(k for k in scopes[t] if opened[k] < i) for t in here}
        held = [t for t in here if before[t]]
        buckets = []
        for group in merge([before[t] for t in held], i) if held else []:
            scope = tuple(sorted({k for g in group for k in before[held[g]]}))
            buckets.append(Bucket(tuple(held[g] for g in group), len(scopes)))
            waiting.add(len(scopes))
            scopes.append(scope)
            positions.append(i)
        steps.append(Step(int(order[i]), tuple(t for t in here if not before[t]), tuple(buckets)))
    return Scheme(tuple(reversed(steps)), tuple(scopes), tuple(positions))


def entries(found: Scheme, spans: Ranges) -> int:
    """Entries of all tables together."""
    pairs = zip(found.positions, found.scopes, strict=True)
    return sum(spans.size(position, scope) for position, scope in pairs)


def work(model: Model, found: Scheme, spans: Ranges) -> float:
    """Multiplications of one pass over all tables."""
    total = 0.0
    for step in found.steps:
        length = len(model.laws[step.variable])
        for bucket in step.buckets:
            size = spans.size(found.positions[bucket.gives], found.scopes[bucket.gives])
            total += float(size) * length * len(bucket.takes)
    return total
