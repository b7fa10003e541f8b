"""What a draw runs: steps laid out in arrays for the kernel, and the plain twin that reads the same arrays.

A step draws one variable, or all variables of a *line*: slots whose values add up to `total` and that share
no register, drawn one after another from suffix convolutions. Before the choice the draw begins again
unless N, the sum of all weights, wins a fork against D - N, where D is the product of the tables that the
step gives back (see `elimination_bound`: N ≤ D).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from congenial.samplers.base import FloatArray, IntArray, Source


class Program(NamedTuple):
    """Arrays for `_elimination_kernels.fill_rows`. Steps own slots; slots own rows of the other arrays."""

    slot_at: IntArray
    line: IntArray
    """1 where the slots of a step add up to `total`."""
    total: IntArray
    tests: IntArray
    given_at: IntArray
    given: IntArray
    """Of each table given back: constant, constant of its tail, first row of `place`, rows of `place`."""
    cell: IntArray
    core_lo: IntArray
    core_hi: IntArray
    """For each slot: the core of z; no tail where core_lo > core_hi."""
    where: IntArray
    """For each slot of a line: register, low, high; z is split while the register lies in low … high."""
    zlo: IntArray
    mu_at: IntArray
    mu: FloatArray
    held_at: IntArray
    held: IntArray
    """Of each register that limits z: register, a, low, high."""
    taken_at: IntArray
    taken: IntArray
    """Of each table looked up: constant, step in z, first row of `place`, rows of `place`."""
    moved_at: IntArray
    moved: IntArray
    """Of each register that z moves: register, a."""
    place: IntArray
    """Register and stride."""
    pool: FloatArray
    registers: IntArray
    """As many zeros as there are registers."""
    parent: IntArray
    slope: IntArray
    base: IntArray

    @property
    def memory(self) -> float:
        """Bytes."""
        return float(sum(a.nbytes for a in self))


@dataclass(frozen=True, eq=False)
class Look:
    """A table in the pool: where its entry for registers all zero would stand, and (register, stride)."""

    const: int
    places: tuple[tuple[int, int], ...]


@dataclass(frozen=True, eq=False)
class Slot:
    """One variable in a step."""

    cell: int
    lo: int
    mu: FloatArray
    held: tuple[tuple[int, int, int, int], ...]
    taken: tuple[tuple[Look, int], ...]
    """Tables after the step, and how far z moves in them."""
    moved: tuple[tuple[int, int], ...]
    core: tuple[int, int] | None = None
    where: tuple[int, int, int] = (0, -(2**62), 2**62)
    """In a line: a register, and where it must lie for z to be split."""


@dataclass(frozen=True, eq=False)
class Move:
    """A step: its slots, the tables before it, whether it can reject, whether its slots add up to `total`.

    Where a slot has a `core`, `given` has the place of each table and the constant of its tail: the table
    made of the z outside the core. In a line every slot has equally many tables, and `given` is its core's;
    so it is in a single step that cannot reject. In one that can, `given` is made of all z.
    """

    slots: tuple[Slot, ...]
    given: tuple[tuple[Look, int], ...]
    tests: bool
    line: bool = False
    total: int = 0


def assemble(
    moves: Sequence[Move], pool: FloatArray, registers: int, parent: IntArray, slope: IntArray, base: IntArray
) -> Program:
    """Lay the steps out in arrays."""
    place: list[tuple[int, int]] = []

    def look(found: Look) -> tuple[int, int]:
        place.extend(found.places)
        return len(place) - len(found.places), len(found.places)

    given = [(g.const, tail, *look(g)) for move in moves for g, tail in move.given]
    slots = [slot for move in moves for slot in move.slots]
    taken = [(t.const, step, *look(t)) for slot in slots for t, step in slot.taken]
    return Program(
        _ends([len(move.slots) for move in moves]),
        _ints([int(move.line) for move in moves]),
        _ints([move.total for move in moves]),
        _ints([int(move.tests) for move in moves]),
        _ends([len(move.given) for move in moves]),
        _rows(given, 4),
        _ints([slot.cell for slot in slots]),
        _ints([slot.core[0] if slot.core else 1 for slot in slots]),
        _ints([slot.core[1] if slot.core else 0 for slot in slots]),
        _rows([slot.where for slot in slots], 3),
        _ints([slot.lo for slot in slots]),
        _ends([len(slot.mu) for slot in slots]),
        np.concatenate([slot.mu for slot in slots]) if slots else np.zeros(0),
        _ends([len(slot.held) for slot in slots]),
        _rows([h for slot in slots for h in slot.held], 4),
        _ends([len(slot.taken) for slot in slots]),
        _rows(taken, 4),
        _ends([len(slot.moved) for slot in slots]),
        _rows([m for slot in slots for m in slot.moved], 2),
        _rows(place, 2),
        pool,
        np.zeros(max(registers, 1), dtype=np.int64),
        parent,
        slope,
        base,
    )


def _ints(values: Sequence[int]) -> IntArray:
    return np.array(values, dtype=np.int64)


def _ends(lengths: Sequence[int]) -> IntArray:
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


def _rows(values: Sequence[Sequence[int]], width: int) -> IntArray:
    return np.array(values, dtype=np.int64).reshape(len(values), width)


def attempt(program: Program, source: Source) -> IntArray | None:
    """One way through the steps by the plain twin; None where a step begins again."""
    registers = program.registers.copy()
    values = np.zeros(len(program.cell), dtype=np.int64)
    for i in range(len(program.line)):
        step = _line if program.line[i] else _single
        drawn = step(program, i, registers, source)
        if drawn is None:
            return None
        for s, z in zip(range(program.slot_at[i], program.slot_at[i + 1]), drawn, strict=True):
            values[program.cell[s]] = z
            for k, a in program.moved[program.moved_at[s] : program.moved_at[s + 1]]:
                registers[k] += a * z
    known = program.parent >= 0
    found = program.base.copy()
    found[known] += program.slope[known] * values[program.parent[known]]
    return found


def _single(program: Program, i: int, registers: IntArray, source: Source) -> list[int] | None:
    """A value for a step with one variable: first core or tail, then go on or not, then the value."""
    s = int(program.slot_at[i])
    first, weights = _weights(program, s, registers)
    bound, tail = _given(program, int(program.given_at[i]), int(program.given_at[i + 1]), registers)
    tests = bool(program.tests[i])
    low, high = int(program.core_lo[s]), int(program.core_hi[s])
    if low <= high and len(weights):
        core = bound - tail if tests else bound
        if tail > 0.0 and (not core > 0.0 or source.categorical(np.array([tail, core])) == 0):
            weights[max(low - first, 0) : max(high - first + 1, 0)] = 0.0
            bound = tail
        else:
            begin, end = cut(first, first + len(weights) - 1, 1, low, high)
            weights = weights[begin - first : max(end - first + 1, begin - first)]
            first, bound = begin, core
    if not len(weights):
        return None
    levels = folded(weights)
    total = float(levels[-1][0])
    if not total > 0.0 or (tests and not _goes_on(total, bound, source)):
        return None
    return [first + descend(levels, source)]


def _line(program: Program, i: int, registers: IntArray, source: Source) -> list[int] | None:
    """Values for the slots of a line, one after another."""
    slots = range(program.slot_at[i], program.slot_at[i + 1])
    bound, aside = _budget(program, i, registers, source)
    weights = []
    for order, s in enumerate(slots):
        first, here = _weights(program, s, registers)
        low, high = int(program.core_lo[s]), int(program.core_hi[s])
        if not _splits(program, s, registers):
            low = high + 1
        if low <= high and order < aside:
            begin, end = cut(first, first + len(here) - 1, 1, low, high)
            first, here = begin, here[begin - first : max(end - first + 1, begin - first)]
        elif low <= high and order == aside:
            here[max(low - first, 0) : max(high - first + 1, 0)] = 0.0
        if not len(here):
            return None
        weights.append((first, here))
    left, rest = int(program.total[i]), _suffixes(weights)
    drawn: list[int] = []
    for (first, here), (start, after) in zip(weights, rest, strict=True):
        begin, given = _given_rest(first, here, left, start, after)
        if not len(given):
            return None
        levels = folded(given)
        total = float(levels[-1][0])
        if not total > 0.0:
            return None
        if not drawn and not _goes_on(total, bound, source):
            return None
        drawn.append(begin + descend(levels, source))
        left -= drawn[-1]
    return drawn


def _goes_on(total: float, bound: float, source: Source) -> bool:
    """True with chance total / bound."""
    return not total < bound or source.categorical(np.array([total, bound - total])) == 0


def _weights(program: Program, s: int, registers: IntArray) -> tuple[int, FloatArray]:
    """The first feasible z of a slot, and the weights from there."""
    lo = first = int(program.zlo[s])
    last = lo + int(program.mu_at[s + 1] - program.mu_at[s]) - 1
    for k, a, low, high in program.held[program.held_at[s] : program.held_at[s + 1]]:
        first, last = cut(first, last, int(a), int(low - registers[k]), int(high - registers[k]))
    if last < first:
        return first, np.zeros(0)
    start = int(program.mu_at[s]) + first - lo
    weights = program.mu[start : start + last - first + 1].copy()
    for const, step, at, count in program.taken[program.taken_at[s] : program.taken_at[s + 1]]:
        entry = const + step * first + _entry(program, at, count, registers)
        weights *= program.pool[entry + step * np.arange(len(weights))]
    return first, weights


def _entry(program: Program, at: int, count: int, registers: IntArray) -> int:
    rows = program.place[at : at + count]
    return int(registers[rows[:, 0]] @ rows[:, 1])


def _budget(program: Program, i: int, registers: IntArray, source: Source) -> tuple[float, int]:
    """Which slot of a line is the first in its tail (none: the number of slots), and the bound for that."""
    start, slots = int(program.given_at[i]), int(program.slot_at[i + 1] - program.slot_at[i])
    each = (int(program.given_at[i + 1]) - start) // slots
    pairs = [_given(program, start + s * each, start + (s + 1) * each, registers) for s in range(slots)]
    for s in range(slots):
        if not _splits(program, int(program.slot_at[i]) + s, registers):
            pairs[s] = (pairs[s][0] + pairs[s][1], 0.0)
    parts = np.zeros(slots)
    after = 1.0
    for s in range(slots - 1, -1, -1):
        parts[s] = after * pairs[s][1]
        after *= pairs[s][0] + pairs[s][1]
    before = 1.0
    for s in range(slots):
        parts[s] *= before
        before *= pairs[s][0]
    levels = folded(parts)
    tail = float(levels[-1][0])
    if tail > 0.0 and (not before > 0.0 or source.categorical(np.array([tail, before])) == 0):
        aside = descend(levels, source)
        return float(parts[aside]), aside
    return before, slots


def _splits(program: Program, s: int, registers: IntArray) -> bool:
    """Whether the slot of a line tells core from tail in this state."""
    register, low, high = program.where[s]
    return bool(low <= registers[register] <= high)


def _given(program: Program, start: int, stop: int, registers: IntArray) -> tuple[float, float]:
    """The product of tables that a step gives back, and the product of their tails."""
    bound = tail = 1.0
    for const, aside, at, count in program.given[start:stop]:
        entry = _entry(program, at, count, registers)
        bound *= float(program.pool[const + entry])
        tail *= float(program.pool[aside + entry])
    return bound, tail


def _suffixes(weights: list[tuple[int, FloatArray]]) -> list[tuple[int, FloatArray]]:
    """For each slot of a line: the law of the sum of the slots behind it."""
    found: list[tuple[int, FloatArray]] = [(0, np.ones(1))] * len(weights)
    for order in range(len(weights) - 2, -1, -1):
        first, here = weights[order + 1]
        start, after = found[order + 1]
        sums = np.zeros(len(here) + len(after) - 1)
        for j, w in enumerate(here):
            sums[j : j + len(after)] += w * after
        found[order] = (first + start, sums)
    return found


def _given_rest(
    first: int, weights: FloatArray, left: int, start: int, after: FloatArray
) -> tuple[int, FloatArray]:
    """Weights of a slot when what is left must come out of the slots behind it."""
    begin, end = cut(first, first + len(weights) - 1, -1, start - left, start + len(after) - 1 - left)
    if end < begin:
        return begin, np.zeros(0)
    z = np.arange(begin, end + 1)
    return begin, weights[z - first] * after[left - z - start]


def cut(first: int, last: int, a: int, low: int, high: int) -> tuple[int, int]:
    """The z in first … last with low ≤ a·z ≤ high."""
    if a > 0:
        return max(first, -(-low // a)), min(last, high // a)
    if a < 0:
        return max(first, -(high // -a)), min(last, -low // -a)
    return (first, last) if low <= 0 <= high else (first, first - 1)


def folded(weights: FloatArray) -> list[FloatArray]:
    """Weights, then sums of halves folded together, down to the sum of all."""
    levels = [weights]
    while len(levels[-1]) > 1:
        below = levels[-1]
        half = (len(below) + 1) // 2
        sums = below[:half].copy()
        sums[: len(below) - half] += below[half:]
        levels.append(sums)
    return levels


def descend(levels: list[FloatArray], source: Source) -> int:
    """An index with probability proportional to its weight: a fork a level."""
    i = 0
    for below in reversed(levels[:-1]):
        half = (len(below) + 1) // 2
        if i + half < len(below):
            a, b = float(below[i]), float(below[i + half])
            if a == 0.0 or (b > 0.0 and source.categorical(np.array([a, b])) == 1):
                i += half
    return i
