"""Linear programs, by HiGHS: what conflicts and free directions are asked of.

The simplex method is asked for by name, because a vertex is wanted and not just an optimum: the support of
a vertex is minimal. Floats come back; whoever states something proves it in integers.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

_STEPS = 200_000
"""Iterations of the simplex method: a limit on work and not on time, so that answers stay the same."""


@dataclass(frozen=True, eq=False)
class Rows:
    """Sparse rows over `width` variables: row i has `index` and `value` from `starts[i]` to `starts[i+1]`."""

    width: int
    starts: Integers
    index: Integers
    value: Floats

    @staticmethod
    def dense(width: int, rows: list[Integers]) -> Rows:
        """Rows that are written out."""
        where = [np.flatnonzero(row) for row in rows]
        starts = np.cumsum([0, *map(len, where)])
        none = np.empty(0, dtype=np.int64)
        value = np.concatenate([none, *(row[at] for row, at in zip(rows, where, strict=True))])
        return Rows(width, starts, np.concatenate([none, *where]), value.astype(np.float64))


def maximised(
    cost: Floats, lower: Floats, upper: Floats, rows: Rows, row_lower: Floats, row_upper: Floats
) -> Floats | None:
    """A vertex that maximises cost · v subject to lower ≤ v ≤ upper and row_lower ≤ rows ≤ row_upper.

    None where there is none, or where it was not found within the limit on work.
    """
    import highspy

    program = highspy.HighsLp()
    program.num_col_, program.num_row_ = rows.width, len(row_lower)
    program.col_cost_, program.col_lower_, program.col_upper_ = cost, lower, upper
    program.row_lower_, program.row_upper_ = row_lower, row_upper
    program.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    program.a_matrix_.start_ = rows.starts.astype(np.int32)
    program.a_matrix_.index_ = rows.index.astype(np.int32)
    program.a_matrix_.value_ = rows.value
    program.sense_ = highspy.ObjSense.kMaximize
    solver = highspy.Highs()
    solver.setOptionValue("output_flag", False)
    solver.setOptionValue("solver", "simplex")
    solver.setOptionValue("threads", 1)
    solver.setOptionValue("simplex_iteration_limit", _STEPS)
    solver.passModel(program)
    solver.run()
    if solver.getModelStatus() != highspy.HighsModelStatus.kOptimal:
        return None
    return np.array(solver.getSolution().col_value, dtype=np.float64)
