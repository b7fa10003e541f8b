r"""Draw a two-way array of integers whose row sums and column sums are all zero, any law in each cell.

    P(z) ∝ Π_ij φ_ij(z_ij) · 1[Σ_j z_ij = 0 for every row] · 1[Σ_i z_ij = 0 for every column]

Column after column: given what each row still needs (its *remainder* s_i), the cells of a column are
drawn from φ_ij(z)·V_i,j+1(s_i - z), given that they add up to zero. V looks ahead: it is the law of the
rest of the row, twisted so that the tables that the columns will bring are foreseen as well as a
product over rows can. What the product misses is mended by rejection: before a column is drawn the
draw begins again unless a uniform is at most P(Σ Z = 0) / Π_i H_i, and Hölder's inequality on a grid of
frequencies makes that ratio at most one. The theorem and its proof: docs/explanation/twisted-columns.md.

`draw` is the plain twin: every chance by direct convolution. `fill` is the kernel.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from congenial.errors import ArgumentError, ConflictError, Fault, NoSamplerError
from congenial.samplers.base import (
    Certificate,
    Filled,
    FloatArray,
    IntArray,
    Quote,
    Refusal,
    Source,
    Words,
)
from congenial.samplers.crossing import _twisted_kernels as kernels
from congenial.samplers.crossing.tables import Unary
from congenial.samplers.crossing.tilts import classes, column_order, dual_tilts, tilted
from congenial.samplers.crossing.twisted_build import (
    Built,
    InfeasibleError,
    TooLargeError,
    build,
    convolution_error,
)
from congenial.samplers.crossing.twisted_certificate import (
    SUCCESSES,
    TooRareError,
    least_acceptance_log2,
    left_out_log2,
    pilot,
)

NAME = "twisted columns"


@dataclass(frozen=True, eq=False, repr=False)
class PreparedColumns:
    """Tables for draws of an r×c array, row-major; see the module for the law."""

    built: Built
    width: int
    acceptance: float
    """Measured in a pilot: the part of attempts that end in a draw."""
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
        draws, used, _, _ = kernels.fill_columns(words, out, self.built.tables, 0)
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
        needed, last = -int(column.sum()), None
        while last is None:
            last = self.try_inside(j, remainders, inside, needed, source)
        column[inside] = last
        return column

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
            new = np.zeros(len(law) + len(one) - 1)
            for k, h in enumerate(one):
                new[k : k + len(law)] += h * law
            law, lo = new, lo + start
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
        t = tables.row_class[i]
        lowest, highest = int(tables.lowest[t, j + 1]), int(tables.highest[t, j + 1])
        lo, hi = int(tables.law_lo[t, j]), int(tables.law_hi[t, j])
        start, stop = max(lo, s - highest), min(hi, s - lowest)
        law = tables.law[int(tables.law_at[t, j]) + start - lo :][: stop - start + 1]
        first = int(tables.first[t, j + 1]) - lowest
        return start, law * tables.value[first + s - stop : first + s - start + 1][::-1]

    def _state(self, i: int, j: int, s: int) -> int:
        """Where the tables of row i with remainder s stand."""
        tables = self.built.tables
        t = tables.row_class[i]
        return int(tables.first[t, j]) + s - int(tables.lowest[t, j])

    def _total(self, state: int) -> float:
        facts = self.built.tables.facts[state]
        return float(facts[kernels.LEFT] + facts[kernels.RIGHT])

    @cached_property
    def memory(self) -> float:
        """Bytes of all tables."""
        return float(sum(a.nbytes for a in self.built.tables if isinstance(a, np.ndarray)))

    def __repr__(self) -> str:
        return f"PreparedColumns({self.built.tables.rows}×{self.built.tables.columns})"


@dataclass(frozen=True)
class TwistedColumns:
    """The sampler: arrays of `Unary` laws in, tables out. A structural zero is a law on one point.

    Rows that hold the same `Unary` objects in the same columns share their tables, so give like cells
    one object. Bounds on cells are ends of windows. Windows should leave out little enough: see
    `window_log2_mass`.
    """

    def quote(self, array: Sequence[Sequence[Unary]], memory_limit: float = 2e9) -> Quote | Refusal:
        """Expected seconds and memory; nothing is built, and the acceptance is a rule of thumb."""
        wrong = _unfit(array)
        if wrong:
            return Refusal(NAME, wrong)
        groups = classes(array)
        rows, columns, kinds = len(array), len(array[0]), len(groups.laws)
        sizes = {law: _size(law) for row in groups.laws for law in row}
        width = max(w for w, _ in sizes.values())
        variance = np.array([[sizes[law][1] for law in row] for row in groups.laws])
        remainders = width + 12 * math.sqrt(float(variance.sum(axis=1).max()))
        spread = math.sqrt(float((groups.row_counts @ variance).max()))
        period = 2.0 ** math.ceil(math.log2(8 * spread + 8))
        states = kinds * columns * remainders
        memory = states * (112 + 160) + 0.3 * states * 8 * min(width, 12 * math.sqrt(float(variance.max())) + 130)
        if states * 272 > memory_limit:
            return Refusal(NAME, f"its tables would take about {states * 272 / 1e9:.1f} GB, more than is allowed")
        evenly = all(law.lo == -law.hi for law in sizes)
        acceptance = 1.0 / (1.0 + 0.055 * math.log(rows * columns)) if evenly else 0.3
        picks = rows * columns * (1 + math.sqrt(rows))
        return Quote(
            NAME,
            (picks * 1.2e-8 + rows * columns * 5e-8) / acceptance,
            states * (width * 1.2e-8 + period * 2e-8) + 1e-3 * kinds * columns,
            min(memory, memory_limit),
            f"{rows}×{columns} array, {kinds} kinds of rows; acceptance about {acceptance:.2f} before a pilot",
        )

    def prepare(
        self,
        array: Sequence[Sequence[Unary]],
        allowance_log2: float = -80.0,
        memory_limit: float = 2e9,
    ) -> PreparedColumns:
        """Build the tables, measure the acceptance, and certify a total variation of 2^allowance_log2."""
        wrong = _unfit(array)
        if wrong:
            raise ArgumentError(Fault("", f"twisted columns cannot take this array: {wrong}"))
        log2_mass = allowance_log2 - math.log2(len(array) * len(array[0])) - 24
        for _ in range(4):
            try:
                built, counts = _built(array, log2_mass, memory_limit)
                attempts = pilot(built)
            except InfeasibleError:
                raise _infeasible() from None
            except TooLargeError:
                raise _too_large(memory_limit) from None
            except TooRareError:
                raise _too_rare() from None
            if not built.first_chance:
                raise _infeasible()
            acceptance_log2 = least_acceptance_log2(SUCCESSES, attempts, allowance_log2 - 3)
            windows, remainders = left_out_log2(built.missing, counts, built.first_chance, acceptance_log2)
            worst = max(windows, remainders)
            if worst <= allowance_log2 - 2:
                return _prepared(built, attempts, allowance_log2, windows, remainders)
            log2_mass -= worst - allowance_log2 + 4 if worst < math.inf else 200
        raise _not_certified()


def window_log2_mass(allowance_log2: float, cells: int) -> float:
    """What the window of each cell's law may leave out, as log2, for an allowance to be met.

    Where bounds bind, tilted laws fall more slowly than the law itself; twice the exponent serves all but
    the steepest tilts, and windows longer than needed are trimmed before they cost anything.
    """
    return 2 * (allowance_log2 - math.log2(cells) - 30)


def _built(
    array: Sequence[Sequence[Unary]], log2_mass: float, memory: float
) -> tuple[Built, NDArray[np.int64]]:
    """Classes, tilts, order, tables."""
    groups = classes(array)
    alpha, beta = dual_tilts(groups)
    done: dict[tuple[Unary, float], Unary] = {}
    laws = []
    for k, row in enumerate(groups.laws):
        tilts = [float(alpha[k] + beta[j]) for j in range(len(row))]
        for law, a in zip(row, tilts, strict=True):
            if (law, a) not in done:
                done[law, a] = tilted(law, a, log2_mass - 8)
        laws.append([done[law, a] for law, a in zip(row, tilts, strict=True)])
    order = column_order(laws, groups.row_counts)
    laws = [[row[j] for j in order] for row in laws]
    columns = len(order)
    place = (np.arange(len(array))[:, None] * columns + order[None, :]).ravel().astype(np.int64)
    return build(laws, groups.of_row, place, log2_mass, memory), groups.row_counts


def _prepared(
    built: Built, attempts: int, allowance_log2: float, windows: float, remainders: float
) -> PreparedColumns:
    tables = built.tables
    if convolution_error(tables) > kernels.ROUNDING / 8:
        raise _not_certified()
    tail = math.log2(2.0 ** (windows - allowance_log2) + 2.0 ** (remainders - allowance_log2) + 0.125)
    acceptance = SUCCESSES / attempts
    certificate = Certificate(
        "exact",
        built.relative_error,
        tail + allowance_log2,
        f"twisted columns: rejection with a proven bound, {acceptance:.2f} of attempts accepted in a pilot",
    )
    return PreparedColumns(built, tables.rows * tables.columns, acceptance, certificate)


def _unfit(array: Sequence[Sequence[Unary]]) -> str:
    """Why an array cannot be taken, or an empty string."""
    if not len(array) or any(len(row) != len(array[0]) for row in array):
        return "its rows differ in length, or there are none"
    if len(array) < 2 or len(array[0]) < 2:
        return "with one row or one column the margins determine every cell"
    return ""


def _size(law: Unary) -> tuple[int, float]:
    """Length of the window and variance."""
    z = np.arange(law.lo, law.hi + 1, dtype=np.float64)
    total = float(law.weights.sum())
    mean = float(law.weights @ z) / total
    return len(z), float(law.weights @ (z - mean) ** 2) / total


def _infeasible() -> ConflictError:
    return ConflictError(
        Fault(
            "",
            "no table keeps the fixed margins inside the bounds of the cells",
            "The bounds and the fixed row and column sums contradict each other. Widen a bound, or free a margin.",
        )
    )


def _too_large(limit: float) -> NoSamplerError:
    return NoSamplerError(
        Fault(
            "",
            f"twisted columns would need more than the {limit / 1e9:.1f} GB of memory that the plan allows",
            "Allow more memory, or fix coarser margins.",
        )
    )


def _too_rare() -> NoSamplerError:
    return NoSamplerError(
        Fault(
            "",
            "twisted columns would accept fewer than one attempt in 8192 here",
            "The bounds leave very uneven room. Another sampler, or fewer bounds, may serve.",
        )
    )


def _not_certified() -> NoSamplerError:
    return NoSamplerError(
        Fault(
            "",
            "twisted columns cannot certify the total variation that the plan allows",
            "The windows of the cells leave out too much; give them longer ones (`window_log2_mass`).",
        )
    )
