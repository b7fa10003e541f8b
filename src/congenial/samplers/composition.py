r"""One fixed sum: discrete Laplace noise on n cells given that it sums to s, by counting stars and bars.

A discrete Laplace number is the difference of two geometric ones, z = g - h. The parts of n geometric
numbers given their sum are a *uniform weak composition* of that sum, whatever the law's parameter. So
given Σz = s the noise falls apart into one number and two shapes: H = Σh is drawn from a table,

    P(H) ∝ C(H+s+n-1, n-1) C(H+n-1, n-1) a^{2H},   a = e^{-ε},  H ≥ max(0, -s),

and then g is a uniform composition of H+s, h one of H, independently. A uniform composition is a uniform
choice of n-1 bars among total+n-1 places. The shapes are drawn with integers alone, exactly; the table
is good to 2^-128 an entry. `docs/explanation/composition.md` has the proof.

Groups of cells, each with its own fixed sum, are independent and share a draw; groups of equal size
share a table. Bounds out of reach are set aside: a group that breaks one is drawn again.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from congenial.errors import NoSamplerError
from congenial.laws import DiscreteLaplace
from congenial.problems.structure import FREE
from congenial.randomness import LANES_16, MOST_BELOWS
from congenial.samplers import _composition_kernels as kernels
from congenial.samplers.base import Certificate, Filled, IntArray, Quote, Refusal, Source, Words
from congenial.samplers.cells import checked_cells, sides
from congenial.samplers.integer_table import IntegerTable, joined
from congenial.samplers.uniform_compositions import MOST_ENTRIES, total_table, uniform_composition

NAME = "composition"
READ = "docs/explanation/composition.md"

_LEAST_ACCEPTANCE = 1 / 16


@dataclass(frozen=True, eq=False)
class Group:
    """Cells whose noise is discrete Laplace with `epsilon` each and sums to `total`."""

    cells: IntArray
    epsilon: float
    total: int = 0

    @property
    def law(self) -> DiscreteLaplace:
        return DiscreteLaplace(self.epsilon)


@dataclass(frozen=True, eq=False, repr=False)
class Composition:
    """Groups with fixed sums, ready to draw; a row has `width` cells, of which only theirs are written.

    **Law.** For each group independently P(z) ∝ e^{-ε Σ|z_i|} on Σz_i = total, and within its bounds.
    **Exactness.** Given H exactly; H from a table whose total variation is in `certificate`.
    **Cost.** Some 10 ns a cell; a quarter of a word, or half of one, a place tried.
    **Source.** DESIGN 4.1; g, h, N there are `plus`, `minus` and their common total here.
    """

    width: int
    certificate: Certificate
    words_hint: int
    tables: tuple[IntegerTable, ...]
    plan: IntArray
    cells: IntArray
    lower: IntArray
    upper: IntArray
    places: int
    _arrays: tuple[Words, Words, IntArray] = field(repr=False)

    def draw(self, source: Source) -> IntArray:
        """One draw by the plain twin; cells outside the groups are zero."""
        row = np.zeros(self.width, dtype=np.int64)
        for group, table in zip(self.plan.tolist(), self.tables, strict=True):
            first, parts = group[kernels.CELL], group[kernels.PARTS]
            span = slice(first, first + parts)
            while True:
                h = source.tabled(table) + table.offset
                plus = uniform_composition(source, h + group[kernels.PLUS], parts)
                minus = uniform_composition(source, h + group[kernels.MINUS], parts)
                z = np.array(plus, dtype=np.int64) - np.array(minus, dtype=np.int64)
                if not group[kernels.BOUNDED] or bool(
                    ((z >= self.lower[span]) & (z <= self.upper[span])).all()
                ):
                    break
            row[self.cells[span]] = z
        return row

    def fill(self, words: Words, out: IntArray) -> Filled:
        """Rows of `out`, by the kernel, until they or the words run out."""
        high, low, guide = self._arrays
        done, used = kernels.fill(
            words, out, self.plan, self.cells, high, low, guide, self.lower, self.upper, self.places
        )
        return Filled(done, used)


def acceptance_bound(epsilon: float, lower: IntArray, upper: IntArray) -> float:
    """A lower bound of the chance that noise summing to zero keeps to lower ≤ z ≤ upper, maybe below 0.

    Given Σz = 0, z_i has the law f·g with g, the others' sum, even and falling away from zero; so |z_i|
    is stochastically smaller than under f alone. Each side of a cell breaks with half the chance that
    |z_i| goes beyond it, and the chances of all sides are added.
    """
    law = DiscreteLaplace(epsilon)
    reach, times = np.unique(np.concatenate((-lower, upper)), return_counts=True)
    inside = reach < FREE // 2
    broken = [
        0.5 * law.tail(w) * k for w, k in zip(reach[inside].tolist(), times[inside].tolist(), strict=True)
    ]
    return 1.0 - math.fsum(broken)


def quote(
    groups: Sequence[Group], lower: IntArray | None = None, upper: IntArray | None = None
) -> Quote | Refusal:
    """What a draw of `groups` would cost, or why it is refused; nothing is built."""
    seconds = setup = memory = 0.0
    seen: set[tuple[int, float, int]] = set()
    for group in groups:
        parts = len(group.cells)
        size, mode = _size(parts, group.epsilon, abs(group.total))
        if size > MOST_ENTRIES or 2 * mode + abs(group.total) + parts >= MOST_BELOWS:
            return Refusal(NAME, f"its table of totals would have {size:.2g} entries")
        chance = _chance(group, lower, upper)
        if chance < _LEAST_ACCEPTANCE:
            return Refusal(NAME, "bounds are within reach: too many draws would break one")
        tried = _tried(mode, parts) + _tried(mode + abs(group.total), parts)
        seconds += (30e-9 + 1.8e-9 * tried + 4e-9 * parts) / chance
        key = (parts, float(group.epsilon), abs(group.total))
        if key not in seen:
            setup, memory = setup + 40e-6 + 0.2e-6 * size, memory + 40.0 * size
        seen.add(key)
    why = "one fixed sum and the same law on every cell: a table of totals and two uniform compositions"
    return Quote(NAME, seconds, setup, memory + 8.0 * sum(len(g.cells) for g in groups), why)


def prepare(
    groups: Sequence[Group],
    width: int,
    allowance: float = 2.0**-80,
    *,
    lower: IntArray | None = None,
    upper: IntArray | None = None,
) -> Composition:
    """Build the tables of `groups`, disjoint sets of the cells 0 … width-1.

    `lower`, `upper`: how far each of the `width` cells' noise may go (±FREE: any way); a group that
    breaks one is drawn again. `allowance`: the total variation that one draw of all groups may have;
    what cannot keep to it is refused (`NoSamplerError`).
    """
    cells = checked_cells([g.cells for g in groups], width, lower, upper)
    made: dict[tuple[int, float, int], IntegerTable] = {}
    order, bounded = [], []
    variation = hint = 0.0
    for group in groups:
        key = (len(group.cells), float(group.epsilon), abs(int(group.total)))
        if key not in made:
            made[key] = total_table(*key)
        chance = _chance(group, lower, upper)
        if chance < _LEAST_ACCEPTANCE:
            raise NoSamplerError("bounds are within reach of a fixed sum: too many draws would break one")
        # given its bounds, a group's variation is at most the table's over the chance of keeping to them
        variation += made[key].variation / chance * (1 + 1e-9)
        hint += _words(*key) / chance
        order.append(made[key])
        bounded.append(_is_bounded(group, lower, upper))
    if variation > allowance:
        raise NoSamplerError("the tables of totals are not within the total variation that was allowed")
    high, low, guide, places = joined(order)
    low_side, high_side = sides(cells, lower, upper)
    return Composition(
        width=width,
        certificate=_certificate(variation),
        words_hint=int(hint) + 1,
        tables=tuple(order),
        plan=_plan(groups, order, places, bounded),
        cells=cells,
        lower=low_side,
        upper=high_side,
        places=max([1, *(_places(g, t) for g, t in zip(groups, order, strict=True))]),
        _arrays=(high, low, guide),
    )


def _places(group: Group, table: IntegerTable) -> int:
    """The most places that a composition of the group can have."""
    return table.offset + len(table) + abs(int(group.total)) + len(group.cells)


def _plan(
    groups: Sequence[Group],
    tables: Sequence[IntegerTable],
    places: Sequence[tuple[int, int]],
    bounded: Sequence[bool],
) -> IntArray:
    """One row a group, as the kernel reads it."""
    rows, at = [], 0
    for group, table, (first, guide), has_bounds in zip(groups, tables, places, bounded, strict=True):
        parts, s = len(group.cells), int(group.total)
        row = [at, parts, max(s, 0), max(-s, 0), first, len(table), guide, table.shift, table.offset]
        rows.append([*row, int(has_bounds)])
        at += parts
    return np.array(rows, dtype=np.int64).reshape(-1, 10)


def _certificate(variation: float) -> Certificate:
    return Certificate(
        "exact",
        relative_error=0.0,
        tail_log2=math.log2(variation) if variation else -math.inf,
        how="uniform compositions in integers; a table of totals to 128 bits",
    )


def _is_bounded(group: Group, lower: IntArray | None, upper: IntArray | None) -> bool:
    low, high = sides(group.cells, lower, upper)
    return bool((low > -FREE).any() or (high < FREE).any())


def _chance(group: Group, lower: IntArray | None, upper: IntArray | None) -> float:
    """A lower bound of the chance that a draw of the group keeps to its bounds."""
    if not _is_bounded(group, lower, upper):
        return 1.0
    if group.total:
        return 0.0  # nothing is proven there
    return acceptance_bound(group.epsilon, *sides(group.cells, lower, upper))


def _size(parts: int, epsilon: float, s: int) -> tuple[float, float]:
    """About how many entries the table of totals has, and its mode."""
    a2 = math.exp(-2 * epsilon)
    square, linear = -math.expm1(-2 * epsilon), (2 + s) - a2 * (2 * parts + s)
    root = math.sqrt(max(0.0, linear * linear - 4 * square * ((1 + s) - a2 * parts * (parts + s))))
    mode = max(0.0, (root - linear) / (2 * square))
    # the log of the ratio of neighbours falls at this rate around the mode
    bend = 1 / (mode + 1) + 1 / (mode + s + 1) - 1 / (mode + parts) - 1 / (mode + s + parts)
    deviation = min(1 / math.sqrt(max(bend, 1e-300)), 2 / epsilon + mode)
    return 14 * deviation + min(mode, 14 * deviation) + 70 / epsilon + 2, mode


def _tried(total: float, parts: int) -> float:
    """Expected number of places tried for a uniform composition."""
    places = total + parts - 1
    wanted = min(parts - 1, total)
    return places * math.log(places / (places - wanted)) if wanted > 0 else 0.0


def _words(parts: int, epsilon: float, s: int) -> float:
    """A number of words that a draw seldom exceeds."""
    _, mode = _size(parts, epsilon, s)
    lanes = [4 if total + parts - 1 <= LANES_16 else 2 for total in (mode, mode + s)]
    tried = [_tried(mode, parts), _tried(mode + s, parts)]
    return 4 + 1.15 * sum(t / k for t, k in zip(tried, lanes, strict=True))
