r"""Few free dimensions: list the lattice of sums, draw a point of it, split the sums. Exact.

Where facts cross but leave at most about three free dimensions for the sums of the atoms, the points of
that small lattice inside the windows are listed with the product of the atoms' laws and of what
weighs their forms. One categorical draw picks a point; the tree divides each atom's sum among its cells.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod

import numpy as np

from congenial.problems.lattice import LARGEST, TooSteepError, kernel_basis
from congenial.samplers import _quotient_kernels as kernels
from congenial.samplers.base import Certificate, Filled, FloatArray, IntArray, Quote, Refusal, Source, Words
from congenial.samplers.crossing.tables import Terminal, Unary

NAME = "quotient"
MOST_DIMENSIONS = 3
MOST_POINTS = 4_000_000

_ROUND = 2.0**-53


@dataclass(frozen=True, eq=False, repr=False)
class QuotientDraws:
    """The points of a lattice with their probabilities, least first.

    **Law.** P(point) = weights[point] / sum(weights).
    **Exactness.** See `certificate`.
    **Cost.** One or two words and a search.
    """

    points: IntArray
    weights: FloatArray
    certificate: Certificate
    dimension: int
    width: int
    _sums: tuple[FloatArray, int, float, float] = field(repr=False)

    def draw(self, source: Source) -> IntArray:
        """One draw by the plain twin."""
        point: IntArray = self.points[source.categorical(self.weights)]
        return point.copy()

    def fill(self, words: Words, out: IntArray) -> Filled:
        """Rows of `out`, by the kernel."""
        return Filled(*kernels.fill(words, out, self.points, *self._sums))


def quote(unaries: Sequence[Unary], facts: IntArray) -> Quote | Refusal:
    """What listing would cost, from the sizes of windows alone."""
    free = len(unaries) - len(facts)
    if free > MOST_DIMENSIONS:
        return Refusal(NAME, f"{free} free dimensions; it lists at most {MOST_DIMENSIONS}")
    try:
        basis = kernel_basis(facts)
    except TooSteepError:
        return Refusal(NAME, f"its moves are larger than {LARGEST:.1g}")
    sides = _sides(unaries, basis)
    boxes = prod(high - low + 1 for low, high in sides)
    if boxes > MOST_POINTS:
        return Refusal(NAME, f"about {boxes:.1g} lattice points to list; it lists at most {MOST_POINTS:,}")
    setup = 1e-4 + 2e-8 * boxes * len(unaries)
    why = "the few points of its lattice are listed and one is drawn"
    return Quote(NAME, 6e-8, setup, 16.0 * boxes * (1 + len(unaries)), why)


def _sides(unaries: Sequence[Unary], basis: IntArray) -> list[tuple[int, int]]:
    """Intervals of the coordinates of all points inside the windows."""
    low = np.array([u.lo for u in unaries], dtype=np.float64)
    high = np.array([u.hi for u in unaries], dtype=np.float64)
    if len(basis) == 1:
        row = basis[0]
        moved = row != 0
        ends = np.stack([low[moved] / row[moved], high[moved] / row[moved]])
        return [(int(np.ceil(ends.min(axis=0).max() - 1e-9)), int(np.floor(ends.max(axis=0).min() + 1e-9)))]
    inverse = np.linalg.pinv(basis.astype(np.float64))
    found = []
    for column in inverse.T:
        one, two = column * low, column * high
        found.append(
            (
                int(np.floor(np.minimum(one, two).sum() - 1e-9)),
                int(np.ceil(np.maximum(one, two).sum() + 1e-9)),
            )
        )
    return found


def _listed(unaries: Sequence[Unary], basis: IntArray) -> IntArray:
    """All lattice points inside the windows."""
    sides = _sides(unaries, basis)
    axes = np.meshgrid(*(np.arange(a, b + 1) for a, b in sides), indexing="ij")
    points = np.stack([axis.reshape(-1) for axis in axes], axis=1) @ basis
    low = np.array([u.lo for u in unaries])
    high = np.array([u.hi for u in unaries])
    return points[((points >= low) & (points <= high)).all(axis=1)]


def prepare(unaries: Sequence[Unary], facts: IntArray, others: Sequence[Terminal]) -> QuotientDraws:
    """List the points and weigh them."""
    basis = kernel_basis(facts)
    points = _listed(unaries, basis)
    weights = np.ones(len(points))
    for at, unary in enumerate(unaries):
        weights *= unary.weights[points[:, at] - unary.lo]
    trimmed = sum(u.trimmed for u in unaries)
    rounding = sum(u.relative_error for u in unaries) + _ROUND * 2 * (len(unaries) + len(others))
    for form in others:
        value = points @ form.coefficients
        if form.table is not None:
            table = form.table
            inside = (value >= table.lo) & (value <= table.hi)
            top = float(table.weights.max())
            held = table.weights[np.clip(value - table.lo, 0, len(table.weights) - 1)] / top
            weights *= np.where(inside, held, 0.0)
            trimmed += table.trimmed / top
            rounding += table.relative_error
        if form.lower is not None:
            weights *= value >= form.lower
        if form.upper is not None:
            weights *= value <= form.upper
    order = np.argsort(weights, kind="stable")
    order = order[np.searchsorted(weights[order], 0.0, side="right") :]
    points, weights = np.ascontiguousarray(points[order]), weights[order]
    if not len(points):
        raise ValueError("no point of the lattice lies inside the windows")
    mass = float(weights.sum())
    missing = trimmed / mass * (1 + 1e-6)
    certificate = Certificate(
        "exact",
        relative_error=rounding + _ROUND * 6 * len(points),
        tail_log2=float(np.log2(missing)) if missing > 0 else float("-inf"),
        how=NAME,
    )
    return QuotientDraws(points, weights, certificate, len(basis), len(unaries), _cumulated(weights))


def _cumulated(weights: FloatArray) -> tuple[FloatArray, int, float, float]:
    """Sums from both ends towards the largest, its place, the mass before it and all mass."""
    top = int(np.argmax(weights))
    sums = weights.copy()
    sums[:top] = np.cumsum(weights[:top])
    sums[top:] = np.cumsum(weights[top:][::-1])[::-1]
    before = float(sums[top - 1]) if top else 0.0
    return sums, top, before, before + float(sums[top])
