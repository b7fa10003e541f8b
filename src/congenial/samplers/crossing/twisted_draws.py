"""Draws of twisted columns: the plain twin, column after column, and the door to the kernel.

Names as in `twisted.py`: `s`, a row's remainder, is what its columns from j on must add up to; h_ijs is
the law ∝ φ_ij(z)·V_i,j+1(s - z) of its next cell; a test compares a uniform with a chance over its bound.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from congenial.samplers.base import Certificate, Filled, FloatArray, IntArray, Source, Words
from congenial.samplers.crossing import _twisted_chance_kernels as kernels
from congenial.samplers.crossing._twisted_kernels import fill_columns
from congenial.samplers.crossing.twisted_build import Built


@dataclass(frozen=True, eq=False, repr=False)
class PreparedColumns:
    """Tables for draws of an r×c array, row-major; see `twisted.py` for the law."""

    built: Built
    width: int
    acceptance: float
    """Measured in a pilot: the part of attempts that end in a draw."""
    words: float
    """Words that a draw takes on average, measured in the same pilot."""
    certificate: Certificate

    def draw(self, source: Source) -> IntArray:
        """One array, flat in row-major order, by the plain twin.

        **Law.** Proportional to the product of the cells' laws on arrays with zero margins.
        **Exactness.** Sums and products of positive numbers; see `certificate`.
        **Cost.** Convolutions of whole windows: for reading and for proofs.
        """
        while True:
            found = self._attempt(source)
            if found is not None:
                return found

    def fill(self, words: Words, out: IntArray) -> Filled:
        """Rows of `out` by the kernel: the twin's draws on the same words."""
        draws, used, _, _ = fill_columns(words, out, self.built.tables, 0)
        return Filled(int(draws), int(used))

    def _attempt(self, source: Source) -> IntArray | None:
        """One way through the columns; None where a test says to begin again."""
        tables = self.built.tables
        remainders = np.zeros(tables.rows, dtype=np.int64)
        out = np.zeros(self.width, dtype=np.int64)
        for j in range(tables.columns - 1):
            if j and not source.uniform() <= self.odds(j, remainders):
                return None
            column = self.draw_column(j, remainders, source)
            out[tables.place[j :: tables.columns]] = column
            remainders = remainders - column
        out[tables.place[tables.columns - 1 :: tables.columns]] = remainders
        return out

    def odds(self, j: int, remainders: IntArray) -> float:
        """P(Σ Z = 0) / Π H in column j: at most one."""
        rows = self.built.tables.order[j]
        return self._chance(j, remainders, rows, 0) / self._bound(j, remainders, rows, kernels.BOUND)

    def draw_column(self, j: int, remainders: IntArray, source: Source) -> IntArray:
        """Column j given what each row needs and that it sums to zero, row by row.

        **Law.** Π_i h_i(z_i), given Σ z_i = 0. The rows outside the group come first, each by itself, and
        are kept with P(group = -their sum) over its bound; then the group, given its sum.
        """
        tables = self.built.tables
        outside, rest = np.split(tables.order[j], [tables.column_marks[j, kernels.OUTSIDE]])
        column = np.zeros(tables.rows, dtype=np.int64)
        if len(rest):
            found = None
            while found is None:
                found = self.try_outside(j, remainders, source)
            column[outside] = found
        inside = rest if len(rest) else outside
        column[inside] = self.draw_inside(j, remainders, inside, -int(column.sum()), source)
        return column

    def draw_inside(
        self, j: int, remainders: IntArray, rows: IntArray, needed: int, source: Source
    ) -> IntArray:
        """The given rows of column j given their sum: by forcing one, and if that fails often, one by one."""
        for _ in range(int(self.built.tables.column_marks[j, kernels.LIMIT])):
            found = self.try_inside(j, remainders, rows, needed, source)
            if found is not None:
                return found
        laws = [self._law(int(i), j, int(remainders[i])) for i in rows]
        after = [(0, np.ones(1))]
        for start, one in reversed(laws):
            after.append((after[-1][0] + start, _convolved(after[-1][1], one)))
        column = []
        for (start, one), (low, law) in zip(laws, reversed(after[:-1]), strict=True):
            first = max(0, needed - start - (low + len(law) - 1))
            last = min(len(one) - 1, needed - start - low)
            rest = needed - start - low - np.arange(first, last + 1)
            column.append(start + first + _by_halves(one[first : last + 1] * law[rest], source))
            needed -= column[-1]
        return np.array(column, dtype=np.int64)

    def try_outside(self, j: int, remainders: IntArray, source: Source) -> IntArray | None:
        """Draw the rows outside the group; None unless the group can make up for them often enough."""
        tables = self.built.tables
        outside, group = np.split(tables.order[j], [tables.column_marks[j, kernels.OUTSIDE]])
        found = np.array([self._pick(int(i), j, int(remainders[i]), source) for i in outside], dtype=np.int64)
        odds = self._chance(j, remainders, group, -int(found.sum()))
        odds /= self._bound(j, remainders, group, kernels.GROUP_BOUND)
        return found if source.uniform() <= odds else None

    def try_inside(
        self, j: int, remainders: IntArray, rows: IntArray, needed: int, source: Source
    ) -> IntArray | None:
        """Draw all rows but the one with the flattest law; force that one, and keep it or not."""
        tables = self.built.tables
        states = [self._state(int(i), j, int(remainders[i])) for i in rows]
        last = int(np.argmin([float(tables.facts[s, kernels.PEAK]) / self._total(s) for s in states]))
        found = np.zeros(len(rows), dtype=np.int64)
        for n, i in enumerate(rows):
            if n != last:
                found[n] = self._pick(int(i), j, int(remainders[i]), source)
        forced = needed - int(found.sum())
        start, weights = self._weights(int(rows[last]), j, int(remainders[rows[last]]))
        if not start <= forced < start + len(weights):
            return None
        peak = float(tables.facts[states[last], kernels.PEAK])
        if not source.uniform() <= float(weights[forced - start]) / peak:
            return None
        found[last] = forced
        return found

    def _pick(self, i: int, j: int, s: int, source: Source) -> int:
        start, weights = self._weights(i, j, s)
        return start + source.categorical(weights)

    def _chance(self, j: int, remainders: IntArray, rows: IntArray, target: int) -> float:
        """P(the rows' cells of column j sum to `target`), the rows taken as independent."""
        law, lo = np.ones(1), 0
        for i in rows[:-1]:
            start, one = self._law(int(i), j, int(remainders[i]))
            law, lo = _convolved(law, one), lo + start
        start, one = self._law(int(rows[-1]), j, int(remainders[rows[-1]]))
        chance = 0.0
        for k, h in enumerate(one):
            at = target - lo - start - k
            if 0 <= at < len(law):
                chance += float(h * law[at])
        return chance

    def _bound(self, j: int, remainders: IntArray, rows: IntArray, which: int) -> float:
        bound = 1.0
        for i in rows:
            bound *= float(self.built.tables.facts[self._state(int(i), j, int(remainders[i])), which])
        return bound

    def _law(self, i: int, j: int, s: int) -> tuple[int, FloatArray]:
        """h_ijs: the first z, and the probabilities."""
        start, weights = self._weights(i, j, s)
        return start, weights / self._total(self._state(i, j, s))

    def _weights(self, i: int, j: int, s: int) -> tuple[int, FloatArray]:
        """φ_ij(z)·V_i,j+1(s-z) on its feasible z: the first z, and the weights."""
        tables = self.built.tables
        _, _, _, law_at, lo, hi = tables.windows[tables.row_class[i], j].tolist()
        first, lowest, highest = tables.windows[tables.row_class[i], j + 1, :3].tolist()
        start, stop = max(lo, s - highest), min(hi, s - lowest)
        law = tables.numbers[law_at + start - lo : law_at + stop - lo + 1]
        after = first + s - lowest
        return start, law * tables.facts[after - stop : after - start + 1, kernels.VALUE][::-1]

    def _state(self, i: int, j: int, s: int) -> int:
        """Where the tables of row i with remainder s stand."""
        tables = self.built.tables
        first, lowest = tables.windows[tables.row_class[i], j, :2].tolist()
        return int(first + s - lowest)

    def _total(self, state: int) -> float:
        facts = self.built.tables.facts[state]
        return float(facts[kernels.LEFT] + facts[kernels.RIGHT])

    @property
    def memory(self) -> float:
        """Bytes of all tables."""
        return float(sum(a.nbytes for a in self.built.tables if isinstance(a, np.ndarray)))

    def __repr__(self) -> str:
        return f"PreparedColumns({self.built.tables.rows}×{self.built.tables.columns})"


def _convolved(law: FloatArray, one: FloatArray) -> FloatArray:
    """law ⊛ one, added up term by term of `one` as the kernel does."""
    new = np.zeros(len(law) + len(one) - 1)
    for k, h in enumerate(one):
        new[k : k + len(law)] += h * law
    return new


def _by_halves(weights: FloatArray, source: Source) -> int:
    """An index with probability in proportion to its weight, half by half.

    **Exactness.** Right to a relative 4·(number of weights) + 12·(halvings) roundings, whatever the
    weights' shape.
    """
    first, last = 0, len(weights)
    while last - first > 1:
        middle = (first + last) // 2
        # added up one after another, as the kernel does
        pair = np.array([np.cumsum(weights[a:b])[-1] for a, b in ((first, middle), (middle, last))])
        side = source.categorical(pair) if pair.all() else int(pair[1] > 0)
        first, last = (first, middle) if side == 0 else (middle, last)
    return first
