"""Exact transition probabilities of a chain, by taking every way at every fork of one step."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Any

from support.branching import Branching, exact_law

Row = dict[Hashable, float]


class _Uniform:
    """A uniform number of which only comparisons are known: each narrows where it may lie."""

    def __init__(self, source: Branching) -> None:
        self._source, self._low, self._high = source, 0.0, 1.0

    def __le__(self, bound: float) -> bool:
        if bound >= self._high:
            return True
        if bound <= self._low:
            return False
        chance = (bound - self._low) / (self._high - self._low)
        if self._source._way(2) == 0:
            self._source._took(chance)
            self._high = bound
            return True
        self._source._took(1 - chance)
        self._low = bound
        return False


class WithUniform:
    """A branching source whose uniforms fork where they are compared."""

    def __init__(self, source: Branching) -> None:
        self._source = source

    def uniform(self) -> Any:
        return _Uniform(self._source)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._source, name)


def step_law(step: Callable[[Any], Hashable], cut: float = 0.0) -> tuple[Row, float]:
    """(where one step may lead, with which probability; the probability of paths that were cut)."""
    law = exact_law(lambda source: step(WithUniform(source)), cut)
    return {to: float(p) for to, p in law.items()}, float(law.unexplored)


def transition_rows(
    states: Iterable[Any], step: Callable[[Any, Any], Hashable], cut: float = 0.0
) -> tuple[dict[Hashable, Row], float]:
    """(a row for each state, the largest probability that was cut from one)."""
    rows, lost = {}, 0.0
    for state in states:
        rows[state], cut_off = step_law(lambda source, here=state: step(source, here), cut)
        lost = max(lost, cut_off)
    return rows, lost


def imbalance(rows: Mapping[Hashable, Row], law: Mapping[Hashable, float]) -> float:
    """The largest |π(a)K(a, b) - π(b)K(b, a)| over max of both, for states that have rows."""
    worst = 0.0
    for a, row in rows.items():
        for b in row:
            if b in rows:
                there, back = law[a] * row[b], law[b] * rows[b].get(a, 0.0)
                worst = max(worst, abs(there - back) / max(there, back))
    return worst


def drift(rows: Mapping[Hashable, Row], law: Mapping[Hashable, float]) -> float:
    """Total variation between π and πK, for rows that lead to states with rows alone."""
    after = dict.fromkeys(law, 0.0)
    for a, row in rows.items():
        for b, p in row.items():
            after[b] += law[a] * p
    return 0.5 * math.fsum(abs(after[a] - law[a]) for a in law)


def is_irreducible(rows: Mapping[Hashable, Row]) -> bool:
    """Whether every state that has a row can be reached from every other through such states."""
    reverse: dict[Hashable, Row] = {a: {} for a in rows}
    for a, row in rows.items():
        for b, p in row.items():
            if p > 0 and b in reverse:
                reverse[b][a] = p
    start = next(iter(rows))
    return all(_reached(start, graph) == set(rows) for graph in (rows, reverse))


def _reached(start: Hashable, graph: Mapping[Hashable, Row]) -> set[Hashable]:
    seen, frontier = {start}, [start]
    while frontier:
        for b, p in graph[frontier.pop()].items():
            if p > 0 and b in graph and b not in seen:
                seen.add(b)
                frontier.append(b)
    return seen
