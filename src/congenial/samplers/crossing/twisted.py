r"""Draw a two-way array of integers whose row sums and column sums are all zero, any law in each cell.

    P(z) ∝ Π_ij φ_ij(z_ij) · 1[Σ_j z_ij = 0 for every row] · 1[Σ_i z_ij = 0 for every column]

Column after column: given what each row still needs (its *remainder* s_i), the cells of a column are
drawn from φ_ij(z)·V_i,j+1(s_i - z), given that they add up to zero. V looks ahead: it is the law of the
rest of the row, twisted so that the tables that the columns will bring are foreseen as well as a
product over rows can. What the product misses is mended by rejection: before a column is drawn the
draw begins again unless a uniform is at most P(Σ Z = 0) / Π_i H_i, and Hölder's inequality on a grid of
frequencies makes that ratio at most one. The theorem and its proof: docs/explanation/twisted-columns.md.

The array is turned so that it has at least as many rows as columns: fewer tests, each over more rows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from congenial.errors import ArgumentError, ConflictError, Fault, NoSamplerError
from congenial.samplers.base import Certificate, Quote, Refusal
from congenial.samplers.crossing.tables import Unary
from congenial.samplers.crossing.tilts import classes, column_order, dual_tilts, tilted
from congenial.samplers.crossing.twisted_build import (
    Built,
    InfeasibleError,
    TooLargeError,
    build,
)
from congenial.samplers.crossing.twisted_certificate import (
    Pilot,
    TooRareError,
    least_acceptance_log2,
    left_out_log2,
    pilot,
)
from congenial.samplers.crossing.twisted_draws import PreparedColumns
from congenial.samplers.crossing.twisted_presolve import clipped

NAME = "twisted columns"
_ROOM_FOR_BOUND = 24  # by how many bits windows should do better than the allowance


@dataclass(frozen=True)
class TwistedColumns:
    """The sampler: arrays of `Unary` laws in, tables out. A structural zero is a law on one point.

    Rows that hold the same `Unary` objects in the same columns share their tables, so give like cells
    one object. Bounds on cells are ends of windows. Windows should leave out little enough: see
    `window_log2_mass`.
    """

    def quote(self, array: Sequence[Sequence[Unary]], memory_limit: float = 2e9) -> Quote | Refusal:
        """Expected seconds and memory, within a factor of about three; nothing is built."""
        wrong = _unfit(array)
        if wrong:
            return Refusal(NAME, wrong)
        if len(array) < len(array[0]):
            array = list(zip(*array, strict=True))
        groups = classes(array)
        rows, columns, kinds = len(array), len(array[0]), len(groups.laws)
        sizes = {law: _size(law) for row in groups.laws for law in row}
        deviation = math.sqrt(max(variance for _, variance in sizes.values()))
        # 2^-110 of a discrete Laplace law lies beyond 54 standard deviations
        width = min(max(length for length, _ in sizes.values()), 108 * deviation + 8)
        states = kinds * columns * (width + 8 * deviation * math.sqrt(columns))
        memory = states * 136 + kinds * columns * 10 * deviation * math.sqrt(columns) * (600 + 80 * deviation)
        if states * 136 > memory_limit:
            need = f"about {states * 136 / 1e9:.1f} GB"
            return Refusal(NAME, f"its tables would take {need}, more than the plan allows")
        evenly = all(law.lo == -law.hi for law in sizes)
        acceptance = 1.0 / (1.0 + 0.035 * math.log(rows * columns)) if evenly else 0.5
        return Quote(
            NAME,
            rows * columns * 1.2e-7 * (1 + rows * columns / 3000) / acceptance,
            states * (width * 4e-9 + 64 * deviation * math.sqrt(rows) * 1e-9) + 5e-4 * kinds * columns,
            min(memory, memory_limit),
            f"{rows}×{columns} array, {kinds} kinds of rows; acceptance perhaps {acceptance:.2f}",
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
        log2_mass = allowance_log2 - math.log2(len(array) * len(array[0])) - _ROOM_FOR_BOUND
        before = math.inf
        while True:
            try:
                built, counts = built_for(array, log2_mass, memory_limit)
                # were every attempt accepted, this much would be left out
                parts = left_out_log2(built.missing, counts, built.first_chance, 0.0)
                if max(parts) <= allowance_log2 - 2:
                    found = pilot(built)
                    least = least_acceptance_log2(found.draws, found.attempts, allowance_log2 - 3)
                    parts = parts[0] - least, parts[1] - least
                    if max(parts) <= allowance_log2 - 2:
                        return _prepared(built, found, allowance_log2, parts)
            except InfeasibleError:
                raise _infeasible() from None
            except TooLargeError:
                raise _too_large(memory_limit) from None
            except TooRareError:
                raise _too_rare() from None
            # tables trimmed less may do, unless it is the windows given that leave out too much
            worst = max(parts)
            if not worst < before - 1:
                raise _not_certified()
            log2_mass -= min(worst - allowance_log2 + 4, 200.0)
            before = worst


def window_log2_mass(allowance_log2: float, cells: int) -> float:
    """What the window of each cell's law may leave out, as log2, for an allowance to be met.

    Where bounds bind, tilted laws fall more slowly than the law itself; twice the exponent serves all but
    the steepest tilts, and windows longer than needed are trimmed before they cost anything.
    """
    return 2 * (allowance_log2 - math.log2(cells) - 30)


def built_for(
    array: Sequence[Sequence[Unary]], log2_mass: float, memory: float
) -> tuple[Built, NDArray[np.int64]]:
    """Implied bounds, turn, classes, tilts, order, tables; and how many rows each class has."""
    cut = clipped(array)
    if cut is None:
        raise InfeasibleError
    shape = (len(cut), len(cut[0]))
    cells = np.arange(shape[0] * shape[1], dtype=np.int64).reshape(shape)
    if shape[0] < shape[1]:
        cut, cells = [list(row) for row in zip(*cut, strict=True)], cells.T
    groups = classes(cut)
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
    place = np.ascontiguousarray(cells[:, order]).ravel()
    return build(laws, groups.of_row, place, log2_mass, memory), groups.row_counts


def _prepared(
    built: Built, found: Pilot, allowance_log2: float, parts: tuple[float, float]
) -> PreparedColumns:
    tables = built.tables
    failure = 2.0**-3  # of the allowance: the pilot's, see `least_acceptance_log2`
    tail = math.log2(sum(2.0 ** (part - allowance_log2) for part in parts) + failure)
    acceptance = found.draws / found.attempts
    certificate = Certificate(
        "exact",
        built.relative_error,
        tail + allowance_log2,
        f"twisted columns: rejection with a proven bound, {acceptance:.2f} of attempts accepted in a pilot",
    )
    words = found.words / found.draws
    return PreparedColumns(built, tables.rows * tables.columns, acceptance, words, certificate)


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
    what = "no table keeps the fixed margins inside the bounds of the cells"
    return ConflictError(Fault("", what, "Bounds and fixed sums contradict each other: widen or free one."))


def _too_large(limit: float) -> NoSamplerError:
    what = f"twisted columns would need more than the {limit / 1e9:.3g} GB of memory that the plan allows"
    return NoSamplerError(Fault("", what, "Allow more memory, or fix coarser margins."))


def _too_rare() -> NoSamplerError:
    what = "twisted columns would hardly ever accept an attempt here"
    return NoSamplerError(Fault("", what, "The bounds leave very uneven room: another sampler may serve."))


def _not_certified() -> NoSamplerError:
    what = "twisted columns cannot certify the total variation that the plan allows"
    return NoSamplerError(Fault("", what, "The windows of the cells leave out too much: `window_log2_mass`."))
