"""Two-way arrays small enough to enumerate, their laws by brute force, twisted columns driven by forks."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import support.branching as branching
from congenial.laws import DiscreteGaussian, DiscreteLaplace
from congenial.samplers.crossing.tables import Unary, point
from congenial.samplers.crossing.twisted import built_for
from congenial.samplers.crossing.twisted_draws import PreparedColumns
from support.branching import Branching, exact_law

Array = Sequence[Sequence[Unary]]
Law = dict[tuple[int, ...], float]


def boxed(law: Any, lower: int, upper: int) -> Unary:
    """A law on a short window, as if its ends were bounds."""
    weights = law.weights(lower, upper)
    return Unary(lower, weights / weights.sum(), 0.0, 2.0**-50, open_below=False, open_above=False)


def brute(array: Array) -> Law:
    """z -> P(z) on the windows, by every choice of the free cells."""
    rows, columns = len(array), len(array[0])
    inner = [range(u.lo, u.hi + 1) for row in array[:-1] for u in row[:-1]]
    found: Law = {}
    for choice in itertools.product(*inner):
        z = np.zeros((rows, columns), dtype=int)
        z[:-1, :-1] = np.array(choice).reshape(rows - 1, columns - 1)
        z[:-1, -1] = -z[:-1, :-1].sum(axis=1)
        z[-1] = -z[:-1].sum(axis=0)
        weight = 1.0
        for u, v in zip(itertools.chain(*array), z.ravel().tolist(), strict=True):
            weight *= float(u.weights[v - u.lo]) if u.lo <= v <= u.hi else 0.0
        if weight:
            found[tuple(z.ravel().tolist())] = weight
    whole = math.fsum(found.values())
    return {z: w / whole for z, w in found.items()}


class _Uniform:
    """A uniform that is only ever compared: it forks into at most q and above q."""

    def __init__(self, source: Branching) -> None:
        self._source = source

    def __le__(self, q: float) -> bool:
        if q <= 0 or q >= 1:
            return q >= 1
        return self._source.categorical([q, 1 - q]) == 0


class Forking(Branching):
    """A branching source with uniforms."""

    def uniform(self) -> _Uniform:
        return _Uniform(self)


def forked(draw: Callable[[Forking], Any]) -> dict[Any, float]:
    """The law of `draw` by taking every way."""
    plain = branching.Branching
    branching.Branching = Forking  # type: ignore[misc]
    try:
        return {outcome: float(p) for outcome, p in exact_law(draw).items()}
    finally:
        branching.Branching = plain  # type: ignore[misc]


class Conditioned(PreparedColumns):
    """The twin with its inner loops summed up: a part tried until it succeeds has the law given success."""

    def _until(self, name: str, source: Any, *arguments: Any) -> Any:
        known = self.__dict__.setdefault("_known", {})
        key = (name, *(tuple(a.tolist()) if isinstance(a, np.ndarray) else a for a in arguments))
        if key not in known:
            once = getattr(PreparedColumns, name)

            def tried(s: Any) -> Any:
                found = once(self, *arguments, s)
                return None if found is None else tuple(int(v) for v in found)

            known[key] = {z: p for z, p in forked(tried).items() if z is not None}
        outcomes = list(known[key])
        return np.array(outcomes[source.categorical(list(known[key].values()))])

    def try_outside(self, j: int, remainders: Any, source: Any) -> Any:
        return self._until("try_outside", source, j, remainders)

    def try_inside(self, j: int, remainders: Any, rows: Any, needed: int, source: Any) -> Any:
        return self._until("try_inside", source, j, remainders, rows, needed)


def prepared(
    array: Array, log2_mass: float = -900.0, kind: type = PreparedColumns, memory: float = 1e9
) -> Any:
    """Tables without a pilot; `log2_mass` as low as this trims nothing from a short window."""
    built, _ = built_for(array, log2_mass, memory)
    return kind(built, len(array) * len(array[0]), math.nan, math.nan, None)


def attempted(twin: PreparedColumns) -> tuple[Law, float]:
    """The law of an attempt that ends in a draw, and the chance that it does, by every way."""

    def once(source: Any) -> tuple[int, ...] | None:
        found = twin._attempt(source)
        return None if found is None else tuple(int(v) for v in found)

    law = forked(once)
    chance = 1.0 - law.pop(None, 0.0)
    return {z: p / chance for z, p in law.items()}, chance


def apart(law: Law, other: Law) -> float:
    """The largest |ln| of the ratio of two probabilities of one outcome."""
    if law.keys() != other.keys():
        return math.inf
    return max(abs(math.log(law[z] / other[z])) for z in law)


_SHAPES = {"2x2": (2, 2), "2x3": (2, 3), "3x2": (3, 2), "3x3": (3, 3)}
SHAPES = tuple(_SHAPES)
_COUNTS = np.array([[0, 2, 1], [1, 0, 2], [1, 1, 0]])


def array_of(shape: str, kind: str, bounds: str) -> list[list[Unary]]:
    """A case: unequal laws, `kind` laplace or gaussian; `bounds` free, nonnegative or zeros."""
    rows, columns = _SHAPES[shape]
    reach = 4 if shape == "2x2" else 3
    found = []
    for i in range(rows):
        row = []
        for j in range(columns):
            scale = 0.4 + 0.2 * ((2 * i + 3 * j) % 4)
            sigma = 1.4 / math.sqrt(scale)
            law = DiscreteLaplace(scale) if kind == "laplace" else DiscreteGaussian(sigma=sigma)
            lower = -min(reach, int(_COUNTS[i, j])) if bounds == "nonnegative" else -reach
            row.append(boxed(law, lower, reach))
        found.append(row)
    if bounds == "zeros":
        for k in range(min(rows, columns) - (rows + columns < 6)):
            found[k][k] = point()
    return found
