r"""The largest loss over all changes that the units can make.

Without bounds a change δ loses `Σ ε_j |w_j·δ|` where all factors are discrete Laplace, attained where the
release is one of the two tables; and ρ = `Σ (w_j·δ)²/2σ_j²` where all are discrete Gaussian. Both are (the
square of) a norm, so that where every change is a sum of unit moves (facts that nest, or one row in
all) the dearest unit move says everything: m of them lose m times as much, or m² times. Elsewhere the
maximum stands between the best of some moves and a bound by the cells' own costs; where they differ an
integer program decides, or the bound is stated and called one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from congenial.privacy import general
from congenial.privacy.changes import Changes
from congenial.privacy.lattice import Integers
from congenial.privacy.nested import NONE
from congenial.privacy.partitions import chained
from congenial.privacy.prices import Binding, price
from congenial.privacy.programs import Types, Weighed, dearest
from congenial.privacy.reading import Factor, Family, Reading
from congenial.privacy.swaps import dearest_swap
from congenial.privacy.units import Dearest, UnitMoves
from congenial.requests.model import Unit

_TYPES = {1: 400, 2: 120}  # the widest integer program for a loss, by the power of what it weighs
_STEPS = 12  # rows whose squares an integer program can count
_NEAR = 1e-12


@dataclass(frozen=True)
class Candidate:
    """A kind of change: what it loses without bounds, and (κ, ε*) of the blocks where bounds add to it."""

    kappa: float
    parts: tuple[tuple[float, float], ...] = ()

    def loss(self, scale: float = 1.0) -> float:
        """The loss where every ε is multiplied by `scale`."""
        return scale * self.kappa + sum(price(scale * k, scale * e) for k, e in self.parts)


@dataclass(frozen=True)
class Losses:
    """The largest losses. Each of `ways` is (steps, candidates): steps times their largest loss is a bound.

    `kappa` is the largest pure loss before bounds. `per_count` is what a count moved by one costs at most
    (in ε, in ρ), whatever else moves. `is_exact` speaks of all of them before bounds.
    """

    ways: tuple[tuple[int, tuple[Candidate, ...]], ...]
    kappa: float
    rho: float
    is_exact: bool
    per_count: tuple[float, float]

    def epsilon(self, scale: float = 1.0) -> float:
        """The largest pure loss where every ε is multiplied by `scale`."""
        return min(
            (steps * max(c.loss(scale) for c in candidates) for steps, candidates in self.ways), default=0.0
        )


def losses(reading: Reading, changes: Changes, bounds: Binding, unit: Unit) -> Losses:
    """The largest losses over the changes that the units can make."""
    moves = UnitMoves(reading, changes, bounds, unit)
    pure = _Account(moves, [factor for factor in reading.factors if factor.currency == "epsilon"], 1)
    gauss = _Account(moves, [factor for factor in reading.factors if factor.currency == "rho"], 2)
    kappa, exact = pure.most()
    rho, also = gauss.most()
    ways = _ways(pure, kappa, bounds) if pure.factors else ()
    return Losses(ways, kappa, rho, exact and also, (pure.one.per_count, gauss.one.per_count))


def _ways(pure: _Account, kappa: float, bounds: Binding) -> tuple[tuple[int, tuple[Candidate, ...]], ...]:
    """The ways to bound the pure loss: the whole change at once, or unit moves one after the other."""
    whole = (1, (_bounded(kappa, bounds),))
    if not bounds or not pure.adds_up:
        return (whole,)
    rows, one = pure.moves.changes.rows, pure.one
    pairs, nested = bounds.of_pairs, pure.moves.changes.lattice.chain is not None
    moves = [(one.joined, pairs), (one.alone, bounds.least)]
    candidates = [Candidate(cost, ((cost, least),)) for cost, least in moves if cost > NONE]
    if one.apart[1] > NONE and not nested:
        candidates.append(Candidate(sum(one.apart), ((sum(one.apart), pairs),)))
    elif one.apart[1] > NONE:
        # two independent blocks; a limit on one side adds only to the one that moves away from it
        sides = one.apart if bounds.has_lower and bounds.has_upper else one.apart[:1]
        candidates.append(Candidate(sum(one.apart), tuple((cost, pairs) for cost in sides)))
    steps = (rows, tuple(candidates))
    if rows == 1:
        return (steps,)
    return (steps, whole) if _nests(pure.moves.reading, bounds) else (whole,)


def _bounded(kappa: float, bounds: Binding) -> Candidate:
    return Candidate(kappa, ((kappa, bounds.least),) if bounds else ())


def _nests(reading: Reading, bounds: Binding) -> bool:
    """Whether facts and bounds are one tree: then unit moves lead from table to table inside the bounds."""
    return chained([*reading.facts, *(bound.family for bound in bounds.bounds)]) is not None


class _Account:
    """The largest Σ rate·|w·δ|^power for the factors of one currency."""

    def __init__(self, moves: UnitMoves, factors: Sequence[Factor], power: int) -> None:
        self.moves, self.factors, self.power = moves, factors, power
        changes = moves.changes
        self.adds_up = changes.lattice.chain is not None or changes.rows == 1
        """Whether every change is a sum of as many unit moves as it has rows, all of them admissible."""
        self.one = moves.dearest(factors) if factors else Dearest(NONE, (NONE, NONE), NONE, 0.0, True)

    def most(self) -> tuple[float, bool]:
        """The largest over all changes, and whether it is attained."""
        if not self.factors:
            return 0.0, True
        changes = self.moves.changes
        if self.adds_up:
            return float(changes.rows**self.power * max(self.one.largest, 0.0)), self.one.is_exact
        below, above = self._below(), self._above()
        if below >= above * (1 - _NEAR):
            return above, changes.lattice.is_exact
        swapped = self._swapped()
        if swapped is not None:
            return swapped, changes.lattice.is_exact
        types = _types(self.moves.reading, self.factors, changes)
        if len(types[0].sizes) > _TYPES[self.power] or (self.power == 2 and changes.rows > _STEPS):
            return above, False
        found = dearest(*types, changes.rows, self.power)
        if found.is_exact:
            return max(found.value, found.bound), changes.lattice.is_exact
        return min(above, found.bound), False

    def _swapped(self) -> float | None:
        """The dearest swap, where all changes are swaps."""
        lattice, rows = self.moves.changes.lattice, self.moves.changes.rows
        movable = lattice.least > 0
        if (
            rows != 2
            or len(lattice.chains) != 2
            or (lattice.least[movable] < 2).any()
            or not self.moves.pairs
        ):
            return None
        if (lattice.chains[0] < 0).any() and (lattice.chains[1] < 0).any() and self.moves.adds:
            return None
        return dearest_swap(*lattice.chains, self.factors, self.power)

    def _above(self) -> float:
        """A bound: counts put and taken each cost at most what the dearest cells cost.

        For squares, |w·δ|² ≤ |w·δ|·b with b the farthest that a form can move.
        """
        changes = self.moves.changes
        cost = np.zeros(self.moves.reading.size)
        for factor in self.factors:
            own = self.moves.costs([factor])
            if self.power == 2:
                own = own * self._reach(factor.family)
            cost += own
        first = int(np.argmax(cost))
        rest = float(np.delete(cost, first).max(initial=0.0)) if self.moves.pairs else 0.0
        return float(changes.rows * (cost[first] + rest))

    def _reach(self, family: Family) -> Integers | int:
        """How far the forms of a family can move, at most: cell by cell where they are cells."""
        changes = self.moves.changes
        if changes.lattice.reach_of is not None:
            return changes.lattice.reach_of(family, changes.rows)
        return changes.reach if family.is_single else changes.rows

    def _below(self) -> float:
        """The most that is lost by the changes at hand, each as often as the rows allow."""
        changes = self.moves.changes
        best = changes.rows**self.power * max(self.one.largest, 0.0) if self.one.is_exact else 0.0
        for cells, values in changes.lattice.moves:
            put, taken = int(values[values > 0].sum()), int(-values[values < 0].sum())
            change = np.zeros(self.moves.reading.size, dtype=np.int64)
            change[cells] = changes.rows // max(put, taken) * values
            best = max(best, sum(self._cost(factor, change) for factor in self.factors))
        return best

    def _cost(self, factor: Factor, change: NDArray[np.int64]) -> float:
        moved = np.abs(factor.family.values(change)).astype(np.float64)
        return float(factor.rate * (moved**self.power).sum())


def _types(reading: Reading, factors: Sequence[Factor], changes: Changes) -> tuple[Types, Weighed]:
    """The problem over types of cells, for an integer program."""
    shared = [factor for factor in factors if not factor.family.is_single]
    own = np.zeros(reading.size)
    for factor in factors:
        if factor.family.is_single:
            assert factor.family.groups is not None
            own += np.where(factor.family.groups >= 0, factor.rate, 0.0)
    _, code = np.unique(own, return_inverse=True)
    alike = Family("", int(code.max(initial=0)) + 1, groups=code.astype(np.int32))
    given = general.columns([*reading.facts, *(factor.family for factor in shared), alike], reading.size)
    parts = [general.rows_over([factor.family], given.sample) for factor in shared]
    rates = [np.full(part.shape[0], factor.rate) for part, factor in zip(parts, shared, strict=True)]
    types = Types(
        facts=general.rows_over(reading.facts, given.sample),
        sizes=given.sizes,
        balanced=changes.change == "replace",
        one_sided=changes.change == "add-or-remove",
        **general.rooms(reading.bounds, given.label, given.sample),
    )
    rows = general.rows_over([factor.family for factor in shared], given.sample)
    return types, Weighed(own[given.sample], rows, np.concatenate([np.empty(0), *rates]))
