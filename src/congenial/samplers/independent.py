"""Independent noise: cells that no fact and no other measurement ties together.

Each cell's number falls out of its law's table of whole-number weights (`integer_table.py`). A bound on a
cell by itself is kept by drawing that cell again, which leaves the law given the bound.

name          law                                    exact?   cost of a draw
independent   any law on each cell, bounds on cells  yes      two words a cell, some 5 ns
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from congenial.errors import NoSamplerError
from congenial.laws import Law
from congenial.problems.structure import FREE
from congenial.samplers import _independent_kernels as kernels
from congenial.samplers.base import Certificate, Filled, FloatArray, IntArray, Quote, Refusal, Source, Words
from congenial.samplers.cells import checked_cells, sides
from congenial.samplers.integer_table import IntegerTable, joined

NAME = "independent"

_MOST_ENTRIES = 1 << 24


@dataclass(frozen=True, eq=False)
class LawOnCells:
    """Cells whose noise is independent, with one law each."""

    cells: IntArray
    law: Law


@dataclass(frozen=True, eq=False, repr=False)
class Independent:
    """Cells with laws of their own, ready to draw; a row has `width` cells, of which only theirs are written.

    **Law.** P(z) ∝ Π f(z_i), each within its bounds.
    **Exactness.** Each table's own law, exactly; what that may miss is in `certificate`.
    **Cost.** Two words and one look-up a cell; more where a bound refuses.
    """

    width: int
    certificate: Certificate
    words_hint: int
    tables: tuple[IntegerTable, ...]
    plan: IntArray
    cells: IntArray
    lower: IntArray
    upper: IntArray
    _arrays: tuple[Words, Words, IntArray] = field(repr=False)

    def draw(self, source: Source) -> IntArray:
        """One draw by the plain twin; cells outside the groups are zero."""
        row = np.zeros(self.width, dtype=np.int64)
        for group, table in zip(self.plan.tolist(), self.tables, strict=True):
            for i in range(group[kernels.CELL], group[kernels.CELL] + group[kernels.COUNT]):
                z = source.tabled(table) + table.offset
                while group[kernels.BOUNDED] and not self.lower[i] <= z <= self.upper[i]:
                    z = source.tabled(table) + table.offset
                row[self.cells[i]] = z
        return row

    def fill(self, words: Words, out: IntArray) -> Filled:
        """Rows of `out`, by the kernel, until they or the words run out."""
        high, low, guide = self._arrays
        done, used = kernels.fill(words, out, self.plan, self.cells, high, low, guide, self.lower, self.upper)
        return Filled(done, used)


def quote(
    groups: Sequence[LawOnCells], lower: IntArray | None = None, upper: IntArray | None = None
) -> Quote | Refusal:
    """What a draw of `groups` would cost; nothing is built."""
    seconds, entries, cells = 0.0, 0.0, 0
    for group in groups:
        size = 2.0 * group.law.reach(-136) + 1
        if size > _MOST_ENTRIES:
            return Refusal(NAME, f"the table of a law would have {size:.2g} entries")
        entries += size
        cells += len(group.cells)
        seconds += 6e-9 * float((1 / _chances(group, lower, upper)).sum())
    setup = 40e-6 + 0.25e-6 * entries
    return Quote(NAME, seconds, setup, 40.0 * entries + 8.0 * cells, "no fact ties these cells together")


def prepare(
    groups: Sequence[LawOnCells],
    width: int,
    allowance: float = 2.0**-80,
    *,
    lower: IntArray | None = None,
    upper: IntArray | None = None,
) -> Independent:
    """Build the tables of `groups`, disjoint sets of the cells 0 … width-1.

    `lower`, `upper`: how far each of the `width` cells' noise may go (±FREE: any way). `allowance`:
    the total variation that one draw of all cells may have; what cannot keep to it is refused.
    """
    cells = checked_cells([g.cells for g in groups], width, lower, upper)
    tables: dict[Law, IntegerTable] = {}
    variation = hint = 0.0
    for group in groups:
        if group.law not in tables:
            tables[group.law] = IntegerTable.of_law(group.law)
        tried = float((1 / _chances(group, lower, upper)).sum())
        # given its bounds, a cell's variation is at most the table's over the chance of keeping to them
        variation += tables[group.law].variation * tried * (1 + 1e-9)
        hint += 2 * tried
    if variation > allowance:
        raise NoSamplerError("the tables of laws are not within the total variation that was allowed")
    order = [tables[g.law] for g in groups]
    high, low, guide, places = joined(order)
    plan, at = [], 0
    for group, table, place in zip(groups, order, places, strict=True):
        low_side, high_side = sides(group.cells, lower, upper)
        bounded = int((low_side > -FREE).any() or (high_side < FREE).any())
        count = len(group.cells)
        plan.append([at, count, place[0], len(table), place[1], table.shift, table.offset, bounded])
        at += count
    low_side, high_side = sides(cells, lower, upper)
    how = "one table of whole-number weights a law, to 128 bits"
    beta = math.log2(variation) if variation else -math.inf
    return Independent(
        width=width,
        certificate=Certificate("exact", relative_error=0.0, tail_log2=beta, how=how),
        words_hint=int(hint) + 1,
        tables=tuple(order),
        plan=np.array(plan, dtype=np.int64).reshape(-1, 8),
        cells=cells,
        lower=low_side,
        upper=high_side,
        _arrays=(high, low, guide),
    )


def _chances(group: LawOnCells, lower: IntArray | None, upper: IntArray | None) -> FloatArray:
    """For each cell, the chance that its law keeps to its bounds."""
    low, high = sides(group.cells, lower, upper)
    inside = np.asarray(group.law.cdf(high) - group.law.cdf(low - 1))
    return np.maximum(inside, float(group.law.pmf(0)) * (1 - 1e-9))
