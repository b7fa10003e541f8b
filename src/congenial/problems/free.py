"""Is law (1) a law at all? Every direction that facts and limits leave open must be weighed.

A node of the forest is *pinned* if its value and all below it are weighed, fixed or limited; otherwise
its sum can run off upwards or downwards, or its parts against each other (a leak), without any weight
falling.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from congenial.errors import Fault, NoLawError
from congenial.problems import _forest_kernels as kernels
from congenial.problems.crossing import Crossing
from congenial.problems.decompose import Layout
from congenial.problems.forest import OPEN
from congenial.problems.structure import FREE
from congenial.tables.domain import Domain


def check_normaliser(layout: Layout, domain: Domain) -> None:
    """Raise a `NoLawError` that names the cells which nothing keeps from running off."""
    forest = layout.forest
    leaves = len(forest.cells)
    if not (forest.law[:leaves] == 0).any():
        return
    up, down, leak = kernels.directions(forest.parent, forest.law, forest.lower, forest.upper, int(FREE))
    roots = forest.roots
    open_root = (forest.parent[roots] == OPEN) & (up[roots] | down[roots])
    bad = np.zeros(len(forest.parent), dtype=bool)
    bad[roots[open_root]] = True
    bad |= leak
    for crossing in layout.crossings:
        bad[crossing.atoms[_running(crossing, up, down)]] = True
    if not bad.any():
        return
    under = kernels.under(forest.parent, bad)[:leaves]
    cells = forest.cells[under & (up | down)[:leaves]]
    raise NoLawError(_fault(cells, domain))


def _running(crossing: Crossing, up: NDArray[np.bool_], down: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Atoms that can run off together, all facts kept and no measured or limited form moved."""
    import highspy

    atoms = crossing.atoms
    loose = up[atoms] | down[atoms]
    if not loose.any():
        return loose
    rows: list[tuple[NDArray[np.int64], float, float]] = [(row, 0.0, 0.0) for row in crossing.facts]
    for form in crossing.others:
        if form.laws:
            rows.append((form.weights, 0.0, 0.0))
        else:
            low = 0.0 if form.lower > -FREE else -highspy.kHighsInf
            rows.append((form.weights, low, 0.0 if form.upper < FREE else highspy.kHighsInf))
    found = np.zeros(len(atoms), dtype=bool)
    for at in np.flatnonzero(loose).tolist():
        for sign in (1.0, -1.0):
            if not found[at] and _can_move(rows, up[atoms], down[atoms], at, sign):
                found[at] = True
    return found


def _can_move(
    rows: list[tuple[Any, float, float]], up: NDArray[np.bool_], down: NDArray[np.bool_], at: int, sign: float
) -> bool:
    """Whether one atom's sum can move by one unit with the others following."""
    import highspy

    solver = highspy.Highs()
    solver.setOptionValue("output_flag", False)
    big = highspy.kHighsInf
    for i in range(len(up)):
        low, high = -big * bool(down[i]) if down[i] else 0.0, big if up[i] else 0.0
        if i == at:
            low, high = max(low, sign), min(high, sign)
            if low > high:
                return False
        solver.addVar(low, high)
    for weights, low, high in rows:
        where = np.flatnonzero(weights)
        solver.addRow(low, high, len(where), where.astype(np.int32), weights[where].astype(np.float64))
    solver.run()
    return bool(solver.getModelStatus() == highspy.HighsModelStatus.kOptimal)


def _fault(cells: NDArray[np.int64], domain: Domain) -> Fault:
    named = "; ".join(domain.cell(int(cell)) for cell in cells[:4])
    more = f" and {len(cells) - 4} more" if len(cells) > 4 else ""
    return Fault(
        "measurements",
        "nothing that is measured, fixed or bounded keeps the noise of some cells from running off",
        f"the law of the noise has no normaliser. Free are {named}{more}.\n"
        "Measure `cells` (or a query that tells these cells apart), or bound them on both sides.",
    )
