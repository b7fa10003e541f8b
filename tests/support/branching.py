"""A sampler's exact law, by taking every way at every fork once.

Integer forks have probabilities that are fractions, so equality is equality. Float weights fork with
their own ratios. A sampler that may retry for ever is cut where a path becomes improbable, and the
probability left unexplored bounds the error.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Sequence
from fractions import Fraction
from typing import Any

Probability = Fraction | float


class _CutError(Exception):
    """The path has become less probable than the cut."""


class Branching:
    """A source that follows a script and afterwards takes the first way at every fork."""

    def __init__(self, script: Sequence[int], cut: float = 0.0) -> None:
        self.forks: list[tuple[int, int]] = []  # (way taken, ways there were)
        self.probability: Probability = Fraction(1)
        self._script = script
        self._cut = cut

    def _way(self, ways: int) -> int:
        at = len(self.forks)
        way = self._script[at] if at < len(self._script) else 0
        self.forks.append((way, ways))
        return way

    def _took(self, probability: Probability) -> None:
        self.probability = self.probability * probability
        if self.probability < self._cut:
            raise _CutError

    def below(self, n: int) -> int:
        way = self._way(int(n))
        self._took(Fraction(1, int(n)))
        return way

    def belows(self, n: int) -> Iterator[int]:
        while True:
            yield self.below(n)

    def categorical(self, weights: Sequence[Any]) -> int:
        """A fork of every index with weight; exact where the weights are integers or fractions."""
        values = [w if isinstance(w, int | Fraction) else float(w) for w in weights]
        return self._weighted(values)

    def segmented(self, weights: Sequence[Any]) -> int:
        """The same fork: sources differ in rounding alone."""
        return self.categorical(weights)

    def tabled(self, table: Any) -> int:
        """A fork of every entry of an `IntegerTable`."""
        return self._weighted(list(table.weights))

    def _weighted(self, values: Sequence[int | float | Fraction]) -> int:
        possible = [i for i, w in enumerate(values) if w]
        i = possible[self._way(len(possible))]
        if all(isinstance(w, int | Fraction) for w in values):
            self._took(Fraction(values[i]) / sum(values))
        else:
            self._took(float(values[i]) / math.fsum(map(float, values)))
        return i


class ExactLaw(dict[Hashable, Probability]):
    """Outcome -> probability; `unexplored` is the probability of the paths that were cut."""

    unexplored: Probability = Fraction(0)


def exact_law(draw: Callable[[Any], Hashable], cut: float = 0.0) -> ExactLaw:
    """The law of `draw`, by taking every way at every fork once; paths less probable than `cut` end."""
    paths: dict[Hashable, list[Probability]] = {}
    lost: list[Probability] = []
    script: list[int] | None = []
    while script is not None:
        source = Branching(script, cut)
        try:
            outcome = draw(source)
            paths.setdefault(outcome, []).append(source.probability)
        except _CutError:
            lost.append(source.probability)
        forks = source.forks
        while forks and forks[-1][0] + 1 == forks[-1][1]:
            forks.pop()
        script = [way for way, _ in forks[:-1]] + [forks[-1][0] + 1] if forks else None
    law = ExactLaw({outcome: added(parts) for outcome, parts in paths.items()})
    law.unexplored = added(lost)
    return law


def added(parts: Sequence[Probability]) -> Probability:
    """The sum: exact for fractions, correctly rounded where there are floats."""
    if all(isinstance(p, Fraction) for p in parts):
        return sum(parts, Fraction(0))
    return math.fsum(float(p) for p in parts)


def pushed(law: dict[Any, Probability], f: Callable[[Any], Hashable]) -> dict[Hashable, Probability]:
    """The law of f(outcome)."""
    paths: dict[Hashable, list[Probability]] = {}
    for outcome, probability in law.items():
        paths.setdefault(f(outcome), []).append(probability)
    return {value: added(parts) for value, parts in paths.items()}


def total_variation(law: dict[Any, Probability], other: dict[Any, Probability]) -> float:
    """Half the sum of |differences|."""
    return 0.5 * math.fsum(float(abs(law.get(k, 0) - other.get(k, 0))) for k in {**law, **other})


def largest_log_ratio(law: dict[Any, Probability], other: dict[Any, Probability]) -> float:
    """The largest |ln| of the ratio of two probabilities of one outcome; infinite where one is zero."""
    worst = 0.0
    for k in {**law, **other}:
        p, q = law.get(k, 0), other.get(k, 0)
        if not p or not q:
            return math.inf
        # log1p of the exact difference: the ratio itself would round away what is looked for
        worst = max(worst, abs(math.log1p(float((p - q) / q))))
    return worst
