"""Blocks with crossing facts that are small enough to enumerate, and their laws by brute force."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from congenial.laws import DiscreteGaussian, DiscreteLaplace
from congenial.samplers.crossing.tables import Terminal, Unary

Point = tuple[int, ...]


@dataclass(frozen=True)
class Case:
    """What `WeightedElimination.prepare` takes."""

    unaries: tuple[Unary, ...]
    terminals: tuple[Terminal, ...]


def boxed(law: DiscreteLaplace | DiscreteGaussian, lower: int, upper: int) -> Unary:
    """A law on a short window, as if its ends were bounds."""
    weights = law.weights(lower, upper)
    return Unary(lower, weights / weights.sum(), 0.0, 1e-15, open_below=False, open_above=False)


def facts(rows: Sequence[Sequence[int]]) -> tuple[Terminal, ...]:
    return tuple(Terminal(np.array(row, dtype=np.int64), "fact") for row in rows)


def margins(shape: tuple[int, ...], kept: Sequence[tuple[int, ...]]) -> list[list[int]]:
    """The rows of the margins of a table that keep the axes named; cells in C order."""
    rows = []
    cells = list(itertools.product(*(range(n) for n in shape)))
    for axes in kept:
        for labels in itertools.product(*(range(shape[a]) for a in axes)):
            rows.append([int(all(cell[a] == v for a, v in zip(axes, labels, strict=True))) for cell in cells])
    return rows


def brute(case: Case) -> dict[Point, float]:
    """z -> P(z), by enumerating all points of the windows that keep the facts."""
    points = np.zeros((1, 0), dtype=np.int64)
    weights = np.ones(1)
    for e, unary in enumerate(case.unaries):
        z = unary.lo + np.arange(len(unary.weights))
        points = np.column_stack([np.repeat(points, len(z), axis=0), np.tile(z, len(points))])
        weights = np.repeat(weights, len(z)) * np.tile(unary.weights, len(weights))
        keep = np.ones(len(points), dtype=bool)
        for t in case.terminals:
            if t.kind == "fact":
                keep &= _can_vanish(points, t.coefficients, case.unaries, e + 1)
        points, weights = points[keep], weights[keep]
    for t in case.terminals:
        weights = weights * _asked(t, points @ t.coefficients)
    total = math.fsum(weights)
    return {
        tuple(int(v) for v in row): float(w) / total
        for row, w in zip(points, weights, strict=True)
        if w > 0
    }


def _can_vanish(points: np.ndarray, row: np.ndarray, unaries: Sequence[Unary], done: int) -> np.ndarray:
    value = points @ row[:done]
    ends = [sorted((int(a) * u.lo, int(a) * u.hi)) for a, u in zip(row[done:], unaries[done:], strict=True)]
    return (value + sum(e[0] for e in ends) <= 0) & (value + sum(e[1] for e in ends) >= 0)


def _asked(t: Terminal, values: np.ndarray) -> np.ndarray:
    if t.kind == "fact":
        return (values == 0).astype(float)
    if t.kind == "limit":
        low = -np.inf if t.lower is None else t.lower
        high = np.inf if t.upper is None else t.upper
        return ((values >= low) & (values <= high)).astype(float)
    assert t.table is not None
    inside = (values >= t.table.lo) & (values <= t.table.hi)
    return np.where(inside, t.table.weights[np.clip(values - t.table.lo, 0, len(t.table.weights) - 1)], 0.0)


def _laws(kind: str, cells: int) -> list[DiscreteLaplace | DiscreteGaussian]:
    """Laws that differ from cell to cell."""
    scales = [0.4 + 0.15 * (e % 5) for e in range(cells)]
    if kind == "laplace":
        return [DiscreteLaplace(s) for s in scales]
    return [DiscreteGaussian(sigma=1.2 / math.sqrt(s)) for s in scales]


def case(name: str, kind: str, bounded: bool) -> Case:
    """A case of the issue: `kind` is laplace or gaussian; bounded: counts 0, 1, 2 stay non-negative."""
    cells, rows, reach = _SHAPES[name]
    laws = _laws(kind, cells)
    lower = [-min(reach, (e * e + 1) % 3 if e else 0) if bounded else -reach for e in range(cells)]
    unaries = tuple(boxed(law, low, reach) for law, low in zip(laws, lower, strict=True))
    terminals = facts(rows)
    if name == "2x2x2 noise at a margin":
        measured = boxed(DiscreteLaplace(0.7) if kind == "laplace" else DiscreteGaussian(sigma=1.5), -9, 9)
        terminals += tuple(
            Terminal(np.array(row, dtype=np.int64), "law", table=measured)
            for row in margins((2, 2, 2), [(0, 1)])
        )
    return Case(unaries, terminals)


_SHAPES: dict[str, tuple[int, list[list[int]], int]] = {
    "2x2": (4, margins((2, 2), [(0,), (1,)]), 4),
    "2x3": (6, margins((2, 3), [(0,), (1,)]), 3),
    "3x3": (9, margins((3, 3), [(0,), (1,)]), 2),
    "2x2x2": (8, margins((2, 2, 2), [(0, 1), (0, 2), (1, 2)]), 4),
    "3x3x2": (18, margins((3, 3, 2), [(0, 1), (0, 2), (1, 2)]), 2),
    "2x5 entries 0..3": (5, [[1, 2, 0, 3, 1], [0, 1, 3, 1, 2]], 4),
    "2x2x2 noise at a margin": (8, margins((2, 2, 2), [(0, 2), (1,)]), 1),
}

NAMES = tuple(_SHAPES)
