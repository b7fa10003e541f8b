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
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from congenial.privacy import general
from congenial.privacy.changes import Changes
from congenial.privacy.fixed import fixed_groups
from congenial.privacy.nested import NONE, Step, longest
from congenial.privacy.pairs import Costed, farthest
from congenial.privacy.partitions import chained, distinct, same
from congenial.privacy.prices import Binding, price
from congenial.privacy.programs import Types, Weighed, dearest
from congenial.privacy.reading import Factor, Family, Reading
from congenial.requests.model import Unit

Floats = NDArray[np.float64]
_TYPES = 600  # the widest integer program for a loss
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

    `kappa` is the largest pure loss before bounds. `per_count` is what a count moved by one may cost (ε
    and ρ), whatever else moves.
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
    pure = [factor for factor in reading.factors if factor.currency == "epsilon"]
    gauss = [factor for factor in reading.factors if factor.currency == "rho"]
    ways, kappa, exact = _pure(reading, pure, changes, bounds, unit)
    rho, also = _most(reading, gauss, changes, bounds, unit, power=2)
    per_count = tuple(float(_costs(some, reading, changes).max(initial=0.0)) for some in (pure, gauss))
    return Losses(ways, kappa, rho, exact and also and not bounds, (per_count[0], per_count[1]))


def _pure(
    reading: Reading, factors: Sequence[Factor], changes: Changes, bounds: Binding, unit: Unit
) -> tuple[tuple[tuple[int, tuple[Candidate, ...]], ...], float, bool]:
    """The ways to bound the pure loss, the largest κ, and whether that is attained."""
    if not factors:
        return (), 0.0, True
    if not _adds_up(changes):
        kappa, exact = _most(reading, factors, changes, bounds, unit, power=1)
        return ((1, (_bounded(kappa, bounds),)),), kappa, exact
    units, exact = _units(reading, factors, changes, bounds, unit)
    if not units:
        return (), 0.0, exact
    rows = changes.rows
    kappa = rows * max(candidate.kappa for candidate in units)
    steps = (rows, tuple(units))
    if not bounds:
        return (steps,), kappa, exact
    whole = (1, (_bounded(kappa, bounds),))
    inside = changes.lattice.chain is not None and _nests(reading, bounds)
    return ((steps, whole) if rows == 1 or inside else (whole,)), kappa, exact


def _bounded(kappa: float, bounds: Binding) -> Candidate:
    return Candidate(kappa, ((kappa, bounds.least),) if bounds else ())


def _adds_up(changes: Changes) -> bool:
    """Whether every change is a sum of as many unit moves as it has rows, all of them admissible."""
    return changes.lattice.chain is not None or changes.rows == 1


def _nests(reading: Reading, bounds: Binding) -> bool:
    """Whether facts and bounds are one tree: then unit moves lead from table to table inside the bounds."""
    return chained([*reading.facts, *(bound.family for bound in bounds.bounds)]) is not None


def _units(
    reading: Reading, factors: Sequence[Factor], changes: Changes, bounds: Binding, unit: Unit
) -> tuple[list[Candidate], bool]:
    """The dearest unit moves of each kind."""
    pairs, adds = unit.change != "add-or-remove", unit.change != "replace"
    steps = _tree(reading, factors, changes, bounds)
    if steps is None:
        return _crossing_units(reading, factors, changes, bounds, pairs=pairs, adds=adds)
    found = longest(steps, reading.size)
    least = bounds.least
    candidates = []
    if pairs and found.joined > NONE:
        candidates.append(_bounded(found.joined, bounds))
    if pairs and found.second > NONE:
        sides = (found.first, found.second) if bounds.has_lower and bounds.has_upper else (found.first,)
        parts = tuple((kappa, least) for kappa in sides) if bounds else ()
        candidates.append(Candidate(found.first + found.second, parts))
    if adds and found.first > NONE:
        candidates.append(_bounded(found.first, bounds))
    return candidates, True


def _tree(
    reading: Reading, factors: Sequence[Factor], changes: Changes, bounds: Binding
) -> list[Step] | None:
    """Facts, factors and bounds as one tree fine to coarse, or None where they cross."""
    if any(bound.family.groups is None for bound in bounds.bounds):
        return None
    closing = changes.lattice.chain
    facts = list(closing) if closing is not None else [_pool_family(changes)]
    inner = [bound.family for bound in bounds.bounds if not bound.family.is_single]
    families = distinct([*facts, *(factor.family for factor in factors), *inner])
    order = chained(families)
    if order is None:
        return None
    return [
        Step(
            family,
            sum(factor.rate for factor in factors if same(factor.family, family)),
            any(family is fact for fact in facts),
        )
        for family in order
    ]


def _pool_family(changes: Changes) -> Family:
    """The cells between which one count may move, as facts that nest; for changes of one row."""
    pool = changes.lattice.pool
    return Family("", int(pool.max(initial=-1)) + 1, groups=pool.astype(np.int32))


def _crossing_units(
    reading: Reading,
    factors: Sequence[Factor],
    changes: Changes,
    bounds: Binding,
    *,
    pairs: bool,
    adds: bool,
) -> tuple[list[Candidate], bool]:
    """Unit moves where factors cross: pair by pair, and each cell in no fact by itself."""
    pool = changes.lattice.pool
    candidates, exact = [], True
    if pairs:
        loose = np.where(pool < 0, pool.max(initial=-1) + 1, pool)
        found = farthest([Costed(factor.family, factor.rate) for factor in factors], loose)
        exact = found.is_exact
        if found.cost > NONE:
            candidates.append(_bounded(found.cost, bounds))
    if adds and (pool < 0).any():
        alone = float(_costs(factors, reading, changes)[pool < 0].max())
        candidates.append(_bounded(alone, bounds))
    return candidates, exact


def _costs(factors: Sequence[Factor], reading: Reading, changes: Changes) -> Floats:
    """What a count moved by one costs in each cell, whatever else moves."""
    cost = np.zeros(reading.size)
    for factor in factors:
        groups = factor.family.groups
        assert groups is not None
        if factor.family.is_single:
            held = (changes.lattice.least > 0) & (groups >= 0)
        else:
            fixed = fixed_groups(factor.family, reading, changes)
            held = (groups >= 0) & ~fixed[groups]
        cost += np.where(held, factor.rate, 0.0)
    return cost


def _most(
    reading: Reading,
    factors: Sequence[Factor],
    changes: Changes,
    bounds: Binding,
    unit: Unit,
    *,
    power: int,
) -> tuple[float, bool]:
    """The largest Σ rate·|w·δ|^power over all changes, and whether it is attained."""
    if not factors:
        return 0.0, True
    if _adds_up(changes):
        units, exact = _units(reading, factors, changes, replace_none(bounds), unit)
        return changes.rows**power * max((c.kappa for c in units), default=0.0), exact
    below = _witnessed(reading, factors, changes, unit, power)
    above = _above(reading, factors, changes, power)
    if below >= above * (1 - _NEAR):
        return above, changes.lattice.is_exact
    types = _types(reading, factors, changes)
    if types is None:
        return above, False
    found = dearest(*types, changes.rows, power)
    if found.is_exact:
        return max(found.value, found.bound), changes.lattice.is_exact
    return min(above, found.bound), False


def replace_none(bounds: Binding) -> Binding:
    """No bounds: they change what is lost, not which changes there are."""
    return replace(bounds, bounds=())


def _above(reading: Reading, factors: Sequence[Factor], changes: Changes, power: int) -> float:
    """A bound: counts put and taken each cost at most what the dearest cells cost.

    For squares, |w·δ|² ≤ |w·δ|·b with b the farthest that a form can move.
    """
    rows = changes.rows
    if power == 1:
        cost = _costs(factors, reading, changes)
    else:
        cost = np.zeros(reading.size)
        for factor in factors:
            far: Floats | float = float(rows)
            if factor.family.is_single:
                far = changes.reach.astype(np.float64)
            cost += far * _costs([factor], reading, changes)
    first = int(np.argmax(cost))
    rest = np.delete(cost, first).max(initial=0.0) if changes.change != "add-or-remove" else 0.0
    return float(rows * (cost[first] + rest))


def _witnessed(
    reading: Reading, factors: Sequence[Factor], changes: Changes, unit: Unit, power: int
) -> float:
    """The most that is lost by some changes at hand, each as often as the rows allow."""
    best = 0.0
    for cells, values in changes.lattice.moves:
        put, taken = int(values[values > 0].sum()), int(-values[values < 0].sum())
        times = changes.rows // max(put, taken)
        change = np.zeros(reading.size, dtype=np.int64)
        change[cells] = times * values
        cost = 0.0
        for factor in factors:
            moved = np.abs(factor.family.values(change)).astype(np.float64)
            cost += factor.rate * float((moved**power).sum())
        best = max(best, cost)
    one = replace(changes, rows=1, lattice=replace(changes.lattice, chain=None))
    units, attained = _units(reading, factors, one, Binding((), np.inf, False, False), unit)
    if attained:
        best = max(best, changes.rows**power * max((c.kappa for c in units), default=0.0))
    return best


def _types(reading: Reading, factors: Sequence[Factor], changes: Changes) -> tuple[Types, Weighed] | None:
    """The problem over types of cells for an integer program, or None where there are too many."""
    shared = [factor for factor in factors if not factor.family.is_single]
    own = np.zeros(reading.size)
    for factor in factors:
        if factor.family.is_single:
            assert factor.family.groups is not None
            own += np.where(factor.family.groups >= 0, factor.rate, 0.0)
    _, code = np.unique(own, return_inverse=True)
    alike = Family("", int(code.max(initial=0)) + 1, groups=code.astype(np.int32))
    families = [*reading.facts, *(factor.family for factor in shared), alike]
    given = general.columns(families, reading.size)
    if len(given.sizes) > _TYPES:
        return None
    facts = general.rows_over(reading.facts, given.sample)
    rows = general.rows_over([factor.family for factor in shared], given.sample)
    rates = [np.full(_height(factor.family, given.sample), factor.rate) for factor in shared]
    types = Types(
        facts=facts,
        sizes=given.sizes,
        balanced=changes.change == "replace",
        one_sided=changes.change == "add-or-remove",
        **general.rooms(reading.bounds, given.label, given.sample),
    )
    weighed = Weighed(own[given.sample], rows, np.concatenate(rates) if rates else np.empty(0))
    return types, weighed


def _height(family: Family, sample: NDArray[np.int64]) -> int:
    assert family.groups is not None
    return len(np.unique(family.groups[sample][family.groups[sample] >= 0]))
