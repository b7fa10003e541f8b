"""What a draw runs: steps as values for the plain twin, and laid out in arrays for the kernel.

A step draws one variable, or all variables of a *line*: slots whose values add up to `total` and that share
no register, drawn one after another from suffix convolutions. Before the choice the draw begins again
unless N, the sum of all weights, wins a fork against D - N, where D is the product of the tables that the
step gives back (see `elimination_bound`: N ≤ D). Where z is split, a fork decides first between its core,
which is all that is looked at then, and its tail: D is the sum of a bound for each.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from congenial.samplers.base import FloatArray, IntArray, Source, Words
from congenial.samplers.crossing import _elimination_draw_kernels as kernels

FAR = 2**62


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
    """Registers that limit z: (register, a, low, high) for low ≤ register + a·z ≤ high."""
    taken: tuple[tuple[Look, int], ...]
    """Tables after the step, and how far z moves in them."""
    moved: tuple[tuple[int, int], ...]
    """Registers that z moves: (register, a)."""
    core: tuple[int, int] | None = None
    where: tuple[int, int, int] = (0, -FAR, FAR)
    """In a line: a register, and where it must lie for z to be split."""

    def splits(self, registers: IntArray) -> bool:
        """Whether z is split into core and tail in this state."""
        register, low, high = self.where
        return self.core is not None and bool(low <= registers[register] <= high)


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


@dataclass(frozen=True, eq=False)
class Program:
    """Steps, the pool that they look up, and how the variables make up the original ones."""

    moves: tuple[Move, ...]
    pool: FloatArray
    registers: int
    parent: IntArray
    slope: IntArray
    base: IntArray

    @cached_property
    def code(self) -> IntArray:
        """All steps in one array: see `_elimination_draw_kernels` for the places."""
        found = [len(self.moves)]
        at = len(self.pool)
        for move in self.moves:
            found += [int(move.line), move.total, len(move.slots), int(move.tests), len(move.given)]
            for look, tail in move.given:
                found += [look.const, tail, len(look.places), *_flat(look.places)]
            for slot in move.slots:
                core = slot.core or (1, 0)
                found += [slot.cell, *core, *slot.where, slot.lo, at, len(slot.mu)]
                found += [len(slot.held), len(slot.taken), len(slot.moved), *_flat(slot.held)]
                for look, step in slot.taken:
                    found += [look.const, step, len(look.places), *_flat(look.places)]
                found += _flat(slot.moved)
                at += len(slot.mu)
        return np.array(found, dtype=np.int64)

    @cached_property
    def numbers(self) -> FloatArray:
        """The pool, and behind it the weights of all slots."""
        return np.concatenate([self.pool, *(slot.mu for move in self.moves for slot in move.slots)])

    @cached_property
    def expand(self) -> IntArray:
        """Rows: the variable that each original one depends on, its slope, its base."""
        return np.array([self.parent, self.slope, self.base], dtype=np.int64)

    @property
    def memory(self) -> float:
        """Bytes of the tables."""
        return float(self.numbers.nbytes + self.code.nbytes)

    @property
    def tests(self) -> int:
        """Steps that can reject."""
        return sum(move.tests for move in self.moves)

    @property
    def split(self) -> int:
        """Slots whose z has core and tail."""
        return sum(slot.core is not None for move in self.moves for slot in move.slots)

    def fill(self, words: Words, out: IntArray, most: int = FAR) -> tuple[int, int, int, float]:
        """Rows of `out` by the kernel: (rows, words used by them, attempts, largest N/D seen)."""
        longest = max((len(slot.mu) for move in self.moves for slot in move.slots), default=1)
        widest = max((len(move.slots) for move in self.moves), default=1)
        cells = max((slot.cell for move in self.moves for slot in move.slots), default=0)
        draws, used, attempts, worst = kernels.fill_rows(
            words,
            out,
            self.code,
            self.numbers,
            self.expand,
            np.zeros(max(self.registers, 1), dtype=np.int64),
            np.zeros(cells + 1, dtype=np.int64),
            np.zeros(2 * max(longest, 2 * widest) + 70),
            np.zeros((widest, longest)),
            np.zeros((widest, widest * longest)),
            np.zeros((6, max(70, widest)), dtype=np.int64),
            most,
        )
        return int(draws), int(used), int(attempts), float(worst)


def _flat(rows: Sequence[Sequence[int]]) -> list[int]:
    return [int(v) for row in rows for v in row]


def attempt(program: Program, source: Source) -> IntArray | None:
    """One way through the steps by the plain twin; None where a step begins again."""
    registers = np.zeros(max(program.registers, 1), dtype=np.int64)
    values: dict[int, int] = {}
    for move in program.moves:
        step = _line if move.line else _single
        drawn = step(move, program.pool, registers, source)
        if drawn is None:
            return None
        for slot, z in zip(move.slots, drawn, strict=True):
            values[slot.cell] = z
            for k, a in slot.moved:
                registers[k] += a * z
    found = program.base.copy()
    for e, p in enumerate(program.parent):
        if p >= 0:
            found[e] += program.slope[e] * values[int(p)]
    return found


def _single(move: Move, pool: FloatArray, registers: IntArray, source: Source) -> list[int] | None:
    """A value for a step with one variable: first core or tail, then go on or not, then the value."""
    (slot,) = move.slots
    first, weights = _weights(slot, pool, registers)
    bound, tail = _given(move.given, pool, registers)
    if slot.core is not None and len(weights):
        core = bound - tail if move.tests else bound
        if tail > 0.0 and (not core > 0.0 or source.categorical(np.array([tail, core])) == 0):
            first, weights, bound = *_outside(first, weights, slot.core), tail
        else:
            first, weights, bound = *_inside(first, weights, slot.core), core
    if not len(weights):
        return None
    levels = folded(weights)
    total = float(levels[-1][0])
    if not total > 0.0 or (move.tests and not _goes_on(total, bound, source)):
        return None
    return [first + descend(levels, source)]


def _inside(first: int, weights: FloatArray, core: tuple[int, int]) -> tuple[int, FloatArray]:
    """The weights of the core alone."""
    begin, end = cut(first, first + len(weights) - 1, 1, *core)
    return begin, weights[begin - first : max(end - first + 1, begin - first)]


def _outside(first: int, weights: FloatArray, core: tuple[int, int]) -> tuple[int, FloatArray]:
    """The weights with those of the core set to zero."""
    weights[max(core[0] - first, 0) : max(core[1] - first + 1, 0)] = 0.0
    return first, weights


def _line(move: Move, pool: FloatArray, registers: IntArray, source: Source) -> list[int] | None:
    """Values for the slots of a line, one after another."""
    bound, aside = _budget(move, pool, registers, source)
    weights = []
    for order, slot in enumerate(move.slots):
        first, here = _weights(slot, pool, registers)
        if slot.core is not None and slot.splits(registers):
            if order < aside:
                first, here = _inside(first, here, slot.core)
            elif order == aside:
                first, here = _outside(first, here, slot.core)
        if not len(here):
            return None
        weights.append((first, here))
    left, rest = move.total, _suffixes(weights)
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


def _weights(slot: Slot, pool: FloatArray, registers: IntArray) -> tuple[int, FloatArray]:
    """The first feasible z of a slot, and the weights from there."""
    first, last = slot.lo, slot.lo + len(slot.mu) - 1
    for k, a, low, high in slot.held:
        first, last = cut(first, last, a, low - int(registers[k]), high - int(registers[k]))
    if last < first:
        return first, np.zeros(0)
    weights = slot.mu[first - slot.lo : last - slot.lo + 1].copy()
    for look, step in slot.taken:
        entry = _entry(look, registers) + step * first
        weights *= pool[entry + step * np.arange(len(weights))]
    return first, weights


def _entry(look: Look, registers: IntArray) -> int:
    return look.const + sum(int(registers[k]) * s for k, s in look.places)


def _budget(move: Move, pool: FloatArray, registers: IntArray, source: Source) -> tuple[float, int]:
    """The bound of a line, and which slot is the first in its tail (none: the number of slots)."""
    slots = len(move.slots)
    each = len(move.given) // slots
    pairs = [_given(move.given[s * each : (s + 1) * each], pool, registers) for s in range(slots)]
    for s, slot in enumerate(move.slots):
        if not slot.splits(registers):
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


def _given(
    given: Sequence[tuple[Look, int]], pool: FloatArray, registers: IntArray
) -> tuple[float, float]:
    """The product of tables that a step gives back, and the product of their tails."""
    bound = tail = 1.0
    for look, aside in given:
        entry = _entry(look, registers)
        bound *= float(pool[entry])
        tail *= float(pool[entry - look.const + aside])
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
