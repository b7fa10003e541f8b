"""From a scheme and its choice to a program: tables in one pool, steps with look-ups, rounding."""

from __future__ import annotations

import math

import numpy as np

from congenial.samplers.base import FloatArray
from congenial.samplers.crossing.elimination_bound import Choice, Pass, Workspace, backward, parts, slopes
from congenial.samplers.crossing.elimination_program import Look, Move, Program, Slot
from congenial.samplers.crossing.elimination_scheme import Step

_ULP = 2.0**-53
_FORK = 12.0
"""Rounding of one fork, in units in the last place: `Source.categorical` on two weights."""


_TAIL = 2.0**-9
"""How much of the mass of a step goes through the tail of z, on either side."""
_LEAST_LENGTH = 12


def built(space: Workspace, choice: Choice) -> tuple[Program, float, float]:
    """(program, log bound, relative error of a draw)."""
    found = backward(space, choice, keep=True)
    slopes(space, choice, found)
    pool = Pool()
    wanted = sorted({t for step in space.scheme.steps for b in step.buckets for t in (*b.takes, b.gives)})
    places = {t: pool.add(found.tables[t]) for t in wanted}
    moves = [_move(space, choice, found, i, places, pool) for i in range(len(space.scheme.steps))]
    model = space.model
    program = Program(
        tuple(moves), pool.joined(), len(model.ends), model.parent, model.slope, model.base
    )
    error = model.relative_error + sum(rounding(len(m.slots[0].mu), len(m.slots[0].taken)) for m in moves)
    return program, found.log_bound, error


class Pool:
    """Tables one behind another."""

    def __init__(self) -> None:
        self.tables: list[FloatArray] = []
        self.size = 0

    def add(self, table: FloatArray) -> int:
        self.tables.append(table)
        self.size += len(table)
        return self.size - len(table)

    def joined(self) -> FloatArray:
        return np.concatenate(self.tables) if self.tables else np.zeros(1)


def rounding(length: int, tables: int) -> float:
    """|ln| of what rounding does to the chance of one value at one step, acceptance included.

    Products of `tables` look-ups twice (as weights, and as the bound that cancels them), sums of `length`
    weights in pairs and one after another, and a fork a level with its own sums.
    """
    levels = math.ceil(math.log2(max(length, 2)))
    return (2 * tables + 8 + 2 * length + levels * (_FORK + 2) + 2 * _FORK) * _ULP


def _look(space: Workspace, t: int, place: int) -> Look:
    lo, _, strides = space.layout[t]
    places = tuple((k, int(s)) for k, s in zip(space.scheme.scopes[t], strides, strict=True))
    return Look(place - int(lo @ strides), places)


def _move(
    space: Workspace, choice: Choice, found: Pass, i: int, places: dict[int, int], pool: Pool
) -> Move:
    step = space.scheme.steps[i]
    column = space.model.rows[:, step.variable]
    taken = []
    for bucket in step.buckets:
        for t in bucket.takes:
            look = _look(space, t, places[t])
            taken.append((look, int(sum(column[k] * s for k, s in look.places))))
    lo = int(space.model.lo[step.variable])
    moved = tuple((int(k), int(column[k])) for k in np.flatnonzero(column))
    tests = len(step.buckets) > 1
    core = _core(found.through[i])
    within = (lo + core[0], lo + core[1]) if core else None
    slot = Slot(step.variable, lo, _mu(found, i), _held(space, step), tuple(taken), moved, within)
    if core is None:
        looks = [_look(space, bucket.gives, places[bucket.gives]) for bucket in step.buckets]
        return Move((slot,), tuple((look, look.const) for look in looks), tests)
    inside = np.zeros(len(found.base[i]), dtype=np.bool_)
    inside[core[0] : core[1] + 1] = True
    tails = [pool.add(table) for table in parts(space, choice, found, i, ~inside)]
    kept = [places[b.gives] for b in step.buckets]
    if not tests:
        kept = [pool.add(table) for table in parts(space, choice, found, i, inside)]
    given = []
    for bucket, first, aside in zip(step.buckets, kept, tails, strict=False):
        look = _look(space, bucket.gives, first)
        given.append((look, aside - first + look.const))
    if not step.buckets:
        given = [(Look(kept[0], ()), tails[0])]
    return Move((slot,), tuple(given), tests)


def _core(mass: FloatArray) -> tuple[int, int] | None:
    """The interval that nearly all mass goes through; None where the whole window is as short."""
    total = float(mass.sum())
    if len(mass) < _LEAST_LENGTH or not total > 0:
        return None
    first = int(np.searchsorted(np.cumsum(mass), _TAIL * total))
    last = len(mass) - 1 - int(np.searchsorted(np.cumsum(mass[::-1]), _TAIL * total))
    return (first, last) if first <= last and last - first + 1 <= 0.6 * len(mass) else None


def _mu(found: Pass, i: int) -> FloatArray:
    """The weights of z, scaled as the step's new tables are."""
    return found.base[i] * math.exp(-found.scale[i])


def _held(space: Workspace, step: Step) -> tuple[tuple[int, int, int, int], ...]:
    """The registers that limit z: (register, a, low, high) for low ≤ register + a·z ≤ high."""
    column = space.model.rows[:, step.variable]
    spans: dict[int, tuple[int, int]] = {}
    for bucket in step.buckets:
        for t in bucket.takes:
            lo, shape, _ = space.layout[t]
            for d, k in enumerate(space.scheme.scopes[t]):
                low, high = spans.get(k, (-(2**62), 2**62))
                spans[k] = (max(low, int(lo[d])), min(high, int(lo[d] + shape[d]) - 1))
    return tuple((k, int(column[k]), low, high) for k, (low, high) in spans.items())
