"""Noise for people who have a matrix and nothing else: A z = 0, a law a column, bounds on z.

The same planner and samplers as for tables; columns are cells, rows are facts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from congenial.errors import ArgumentError, ConflictError, Fault, NoSamplerError
from congenial.laws import EvenLaw, Law
from congenial.planning.drawing import Drawing, prepare
from congenial.planning.plan import PlannedBlock
from congenial.planning.planner import planned_blocks
from congenial.problems.decompose import decompose
from congenial.problems.problem import Problem, Slack
from congenial.problems.structure import FREE, Fact, Forms, Measured, Structure
from congenial.randomness import SeededSource, SystemSource
from congenial.samplers.base import Certificate
from congenial.tables.domain import Axis, Domain, Level

MOST_DENSE = 100_000
"""Columns of a dense matrix; more need a sparse one."""


@dataclass(frozen=True, eq=False, repr=False)
class NoisePlan:
    """How noise with A z = 0 would be drawn; `.draws(n)` draws it."""

    drawing: Drawing
    blocks: tuple[PlannedBlock, ...]
    columns: int

    @property
    def certificate(self) -> Certificate:
        return self.drawing.certificate

    def draws(self, many: int, seed: int | None = None) -> NDArray[np.int64]:
        """int64 (many, columns); words from the system, or from a seed for a simulation."""
        if self.drawing.refused:
            raise NoSamplerError(self.drawing.refused, subject="The matrix")
        if isinstance(many, bool) or not isinstance(many, int | np.integer) or many < 1:
            raise ArgumentError("the number of draws is a whole number of at least 1.")
        source = SystemSource() if seed is None else SeededSource(seed)
        return self.drawing.draws(int(many), source)

    def __repr__(self) -> str:
        return f"NoisePlan({self.columns} columns, {sum(b.repeats for b in self.blocks)} blocks)"


def sample_noise(
    A: Any,
    law: Law | Sequence[Law],
    *,
    draws: int,
    bounds: tuple[ArrayLike, ArrayLike] | None = None,
    seed: int | None = None,
) -> NDArray[np.int64]:
    """Draw integer noise from the law of independent columns, given A z = 0 and lower ≤ z ≤ upper.

    **Law.** P(z) ∝ Π f_j(z_j) · 1[A z = 0] · 1[lower ≤ z ≤ upper]. Exact: see `plan_noise(...).certificate`.
    `A` is an integer matrix, dense or SciPy sparse, one column a variable; `law` is one law or one a
    column; `bounds` are two arrays (or numbers), ±inf or None where there is none.
    """
    return plan_noise(A, law, bounds=bounds).draws(draws, seed)


def plan_noise(
    A: Any, law: Law | Sequence[Law], *, bounds: tuple[ArrayLike, ArrayLike] | None = None
) -> NoisePlan:
    """Choose and build samplers for a matrix; nothing is drawn."""
    forms, columns = _facts(A)
    domain = Domain((Axis("column", (Level("column", tuple(map(str, range(columns)))),)),))
    measured = tuple(_measured(law, columns))
    structure = Structure(domain, measured, (Fact(forms),), (), np.empty(0, dtype=np.int64))
    slacks = () if bounds is None else (_slack(bounds, columns),)
    _check_feasible(forms, slacks, columns)
    layout = decompose(Problem(structure, slacks, confidential=False))
    if columns and len(layout.determined) == columns:
        what = "A z = 0 has no solution but zero: nothing is left to draw"
        raise ArgumentError(Fault("A", what, "The columns of A are linearly independent."))
    _check_determined(layout.determined, slacks)
    drawing = prepare(layout)
    return NoisePlan(drawing, planned_blocks(drawing, is_public=False), columns)


def _facts(A: Any) -> tuple[Forms, int]:
    """The rows of A as forms."""
    from scipy import sparse

    if not sparse.issparse(A):
        A = np.asarray(A)
        if A.ndim != 2:
            raise ArgumentError(Fault("A", f"the matrix has {A.ndim} dimensions; it takes 2"))
        if A.shape[1] > MOST_DENSE:
            what = f"a dense matrix of {A.shape[1]:,} columns; more than {MOST_DENSE:,} need a sparse one"
            raise ArgumentError(Fault("A", what, "Give a scipy.sparse array."))
    rows = sparse.csr_array(A)
    rows.sum_duplicates()
    weights = np.asarray(rows.data)
    if weights.dtype.kind not in "iufb" or not np.isfinite(weights.astype(np.float64)).all():
        raise ArgumentError(Fault("A", "the matrix has entries that are not finite numbers"))
    whole = weights.astype(np.int64)
    if (whole != weights).any() or (np.abs(whole) > 2**31).any():
        what = "the matrix has entries that are not integers below 2^31 in size"
        raise ArgumentError(Fault("A", what, "Multiply each row by a common denominator."))
    forms = Forms(
        "A",
        "A",
        rows.shape[0],
        lambda row: f"row {row}",
        starts=rows.indptr.astype(np.int64),
        cells=rows.indices.astype(np.int64),
        weights=whole,
    )
    return forms, int(rows.shape[1])


def _measured(law: Law | Sequence[Law], columns: int) -> list[Measured]:
    """The laws as measurements, each on its columns."""
    laws = [law] * columns if isinstance(law, EvenLaw) else list(law)
    if len(laws) != columns:
        raise ArgumentError(
            Fault("law", f"{len(laws)} laws for {columns} columns", "Give one, or one a column.")
        )
    if not all(isinstance(one, EvenLaw) for one in laws):
        raise ArgumentError(Fault("law", "a law is DiscreteLaplace(...) or DiscreteGaussian(...)"))
    found = []
    for one in dict.fromkeys(laws):
        mine = np.array([other == one for other in laws])
        groups = np.where(mine, np.cumsum(mine) - 1, -1).astype(np.int32)
        found.append(Measured(Forms("cells", "law", int(mine.sum()), str, groups=groups), one))
    return found


def _slack(bounds: tuple[ArrayLike, ArrayLike], columns: int) -> Slack:
    """Bounds on z as limits."""
    if not isinstance(bounds, tuple | list) or len(bounds) != 2:
        raise ArgumentError(Fault("bounds", "bounds are a pair (lower, upper)"))
    ends = [_end(side, missing, columns) for side, missing in zip(bounds, (-np.inf, np.inf), strict=True)]
    if (ends[0] > ends[1]).any():
        at = int(np.flatnonzero(ends[0] > ends[1])[0])
        raise ConflictError(Fault("bounds", f"column {at} has a lower bound above its upper bound"))
    forms = Forms("bounds", "bounds", columns, str, groups=np.arange(columns, dtype=np.int32))
    return Slack(forms, ends[0], ends[1])


def _end(side: ArrayLike | None, missing: float, columns: int) -> NDArray[np.int64]:
    values = np.asarray(missing if side is None else side, dtype=np.float64)
    if np.isnan(values).any():
        raise ArgumentError(Fault("bounds", "bounds have entries that are not numbers"))
    if values.ndim > 1 or (values.ndim == 1 and len(values) != columns):
        raise ArgumentError(Fault("bounds", f"bounds take one number, or one for each of {columns} columns"))
    rounded = np.ceil(values) if missing < 0 else np.floor(values)
    rounded = np.clip(np.broadcast_to(rounded, (columns,)), -float(FREE), float(FREE))
    return np.asarray(rounded.astype(np.int64))


def _check_feasible(forms: Forms, slacks: tuple[Slack, ...], columns: int) -> None:
    """Bounds that leave zero out must leave some solution in (over the rationals)."""
    if all(((slack.lower <= 0) & (slack.upper >= 0)).all() for slack in slacks):
        return
    import highspy

    solver = highspy.Highs()
    solver.setOptionValue("output_flag", False)
    big = highspy.kHighsInf
    lower = np.where(slacks[0].lower > -FREE, slacks[0].lower, -big)
    upper = np.where(slacks[0].upper < FREE, slacks[0].upper, big)
    solver.addVars(columns, lower.astype(np.float64), upper.astype(np.float64))
    starts, cells, weights = forms.rows
    for row in range(forms.count):
        part = slice(int(starts[row]), int(starts[row + 1]))
        where = cells[part].astype(np.int32)
        solver.addRow(0.0, 0.0, len(where), where, weights[part].astype(np.float64))
    solver.run()
    if solver.getModelStatus() == highspy.HighsModelStatus.kInfeasible:
        raise ConflictError(Fault("bounds", "no z inside the bounds has A z = 0", "Widen the bounds."))


def _check_determined(determined: NDArray[np.int64], slacks: tuple[Slack, ...]) -> None:
    """Columns that A forces to zero must be allowed to be zero."""
    for slack in slacks:
        out = (slack.lower[determined] > 0) | (slack.upper[determined] < 0)
        if out.any():
            at = int(determined[out][0])
            raise ConflictError(
                Fault("bounds", f"A z = 0 forces column {at} to zero, which its bounds leave out")
            )
