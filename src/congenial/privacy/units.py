"""Moves of one count: what the dearest of each kind costs, in a tree or pair by pair."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from congenial.privacy.changes import Changes
from congenial.privacy.fixed import fixed_groups
from congenial.privacy.nested import NONE, Step, longest
from congenial.privacy.pairs import Costed, farthest
from congenial.privacy.partitions import chained, distinct, same
from congenial.privacy.prices import Binding
from congenial.privacy.reading import Factor, Family, Reading
from congenial.requests.model import Unit


@dataclass(frozen=True)
class Dearest:
    """What the dearest moves of one count cost; -inf where there is none.

    `joined`: from cell to cell. `apart`: from one independent block to another, the cost of each.
    `alone`: into or out of a cell in no fact. `per_count`: what any cell costs, whatever else moves.
    """

    joined: float
    apart: tuple[float, float]
    alone: float
    per_count: float
    is_exact: bool

    @property
    def largest(self) -> float:
        return max(self.joined, sum(self.apart), self.alone)


class UnitMoves:
    """The moves of one count that a request leaves; independent blocks are told apart where all nests."""

    def __init__(self, reading: Reading, changes: Changes, bounds: Binding, unit: Unit) -> None:
        self.reading, self.changes, self.bounds = reading, changes, bounds
        self.pairs = unit.change != "add-or-remove"
        self.adds = unit.change != "replace"

    @cached_property
    def tree(self) -> list[Family] | None:
        """Facts, factors and bounds as one tree fine to coarse, or None where they cross."""
        if any(bound.family.groups is None for bound in self.bounds.bounds):
            return None
        inner = [bound.family for bound in self.bounds.bounds if not bound.family.is_single]
        return chained(distinct([*self.facts, *(factor.family for factor in self.reading.factors), *inner]))

    @cached_property
    def facts(self) -> list[Family]:
        """The facts where they nest; elsewhere the pools between whose cells one count may move."""
        if self.changes.lattice.chain is not None:
            return list(self.changes.lattice.chain)
        pool = self.changes.lattice.pool
        return [Family("", int(pool.max(initial=-1)) + 1, groups=pool.astype(np.int32))]

    def dearest(self, factors: Sequence[Factor]) -> Dearest:
        """The dearest moves for some factors."""
        if self.tree is None:
            return self._crossing(factors)
        steps = [
            Step(
                family,
                sum(factor.rate for factor in factors if same(factor.family, family)),
                any(same(family, fact) for fact in self.facts),
            )
            for family in self.tree
        ]
        found = longest(steps, self.reading.size)
        return Dearest(
            found.joined if self.pairs else NONE,
            (found.first, found.second) if self.pairs else (NONE, NONE),
            found.first if self.adds else NONE,
            found.highest if self.changes.lattice.chain is not None else self._highest(factors),
            True,
        )

    def _crossing(self, factors: Sequence[Factor]) -> Dearest:
        pool = self.changes.lattice.pool
        costs = self.costs(factors)
        joined, exact = NONE, True
        if self.pairs:
            loose = np.where(pool < 0, pool.max(initial=-1) + 1, pool)
            found = farthest([Costed(factor.family, factor.rate) for factor in factors], loose)
            joined, exact = found.cost, found.is_exact
        alone = float(costs[pool < 0].max(initial=NONE)) if self.adds else NONE
        return Dearest(joined, (NONE, NONE), alone, float(costs.max(initial=0.0)), exact)

    def _highest(self, factors: Sequence[Factor]) -> float:
        return float(self.costs(factors).max(initial=0.0))

    def costs(self, factors: Sequence[Factor]) -> NDArray[np.float64]:
        """What a count moved by one costs in each cell, whatever else moves."""
        cost = np.zeros(self.reading.size)
        for factor in factors:
            groups = factor.family.groups
            assert groups is not None
            if factor.family.is_single:
                held = (groups >= 0) & ~self.changes.determined
            else:
                fixed = fixed_groups(factor.family, self.reading, self.changes)
                held = (groups >= 0) & ~fixed[groups]
            cost += np.where(held, factor.rate, 0.0)
        return cost
