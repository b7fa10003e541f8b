"""Laws on tiny tables in fractions, and how far two of them are apart. Nothing here is sampled."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Hashable, Iterable, Mapping
from fractions import Fraction
from typing import TypeVar

Counts = tuple[int, ...]
Pair = tuple[Counts, Counts]
Outcome = TypeVar("Outcome", bound=Hashable)
Law = dict[Outcome, Fraction]


def tables(cells: int, total: int) -> list[Counts]:
    """All tables of non-negative counts with this total."""
    return [table for table in itertools.product(range(total + 1), repeat=cells) if sum(table) == total]


def conditioned(x: Counts, outcomes: Iterable[Counts], a: Fraction) -> Law[Counts]:
    """P(y | x) ∝ Π a^|yᵢ − xᵢ| on `outcomes`: discrete Laplace noise, conditioned."""
    weights = {y: a ** sum(abs(p - q) for p, q in zip(x, y, strict=True)) for y in outcomes}
    return normalised(weights)


def clamped(x: int, top: int, a: Fraction) -> Law[int]:
    """Discrete Laplace noise on one count, cut to 0 … top: loses exactly ln(1/a) a step."""
    inner = (1 - a) / (1 + a)
    return {y: (inner if 0 < y < top else 1 / (1 + a)) * a ** abs(y - x) for y in range(top + 1)}


def around(x: int, size: int, a: Fraction) -> Law[int]:
    """Noise on a circle: P(y | x) ∝ a^distance, the same law at every x."""
    return normalised({y: a ** min((y - x) % size, (x - y) % size) for y in range(size)})


def normalised(weights: Mapping[Outcome, Fraction]) -> Law[Outcome]:
    whole = sum(weights.values(), Fraction())
    return {y: weight / whole for y, weight in weights.items()}


def together(one: Law[Outcome], other: Callable[[Outcome], Law[Hashable]]) -> Law[tuple[Outcome, Hashable]]:
    """Two releases, the second chosen after seeing the first."""
    return {(y, z): p * q for y, p in one.items() for z, q in other(y).items()}


def pushed(law: Law[Outcome], move: Callable[[Outcome], Hashable]) -> Law[Hashable]:
    """The law of move(y)."""
    found: Law[Hashable] = {}
    for y, p in law.items():
        found[move(y)] = found.get(move(y), Fraction()) + p
    return found


def given(law: Law[Outcome], inside: Iterable[Outcome]) -> Law[Outcome]:
    """The law conditioned on a set of outcomes."""
    return normalised({y: law[y] for y in inside})


def mixed(weights: Iterable[Fraction], laws: Iterable[Law[Outcome]]) -> Law[Outcome]:
    found: Law[Outcome] = {}
    for weight, law in zip(weights, laws, strict=True):
        for y, p in law.items():
            found[y] = found.get(y, Fraction()) + weight * p
    return found


def apart(one: Mapping[Outcome, Fraction], other: Mapping[Outcome, Fraction]) -> float:
    """The largest log-ratio over all outcomes, in both directions; ∞ where one law can and one cannot."""
    worst = Fraction(1)
    for y in one.keys() | other.keys():
        p, q = one.get(y, Fraction()), other.get(y, Fraction())
        if p != q and not (p and q):
            return math.inf
        if p != q:
            worst = max(worst, p / q, q / p)
    return math.log(worst)


def worst(law: Callable[[Counts], Law[Outcome]], pairs: Iterable[Pair]) -> float:
    """What a release loses over pairs of tables; at least one pair is needed."""
    known: dict[Counts, Law[Outcome]] = {}
    found = -math.inf
    for x, other in pairs:
        for one in (x, other):
            if one not in known:
                known[one] = law(one)
        found = max(found, apart(known[x], known[other]))
    assert found >= 0, "no pair was compared"
    return found


def rows_changed(x: Counts, other: Counts) -> int:
    """How many rows have to be replaced to come from one table to another."""
    more = sum(max(0, q - p) for p, q in zip(x, other, strict=True))
    return max(more, sum(max(0, p - q) for p, q in zip(x, other, strict=True)))


def pairs(found: Iterable[Counts], rows: int, agree: Callable[[Counts], object]) -> list[Pair]:
    """Pairs of different tables within so many replaced rows that agree on a fact."""
    return [
        (x, other)
        for x, other in itertools.combinations(list(found), 2)
        if rows_changed(x, other) <= rows and agree(x) == agree(other)
    ]
