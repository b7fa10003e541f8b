"""Is law (1) a law at all? Every direction that facts and limits leave open must be weighed.

(1) has a normaliser if and only if no direction d ≠ 0 keeps all facts, goes against no limit however far
one follows it, and moves no measured form: along any other, the product of the laws falls off
geometrically. A cell is *free* if some such direction moves it.

In the forest this is read off from below. A node is *loose* if its value can run off upwards or downwards
with all weights below it standing still; it *leaks* if one part of it can run off upwards and another
downwards, its own value unmoved. Where nodes are joined by forms that cross, a linear program says which
of them run.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from congenial.errors import Fault, NoLawError
from congenial.problems import _forest_kernels as kernels
from congenial.problems.crossing import Crossing
from congenial.problems.decompose import Layout
from congenial.problems.forest import OPEN
from congenial.problems.linear import Rows, maximised
from congenial.problems.structure import FREE
from congenial.tables.domain import Domain

_MOVED = 1e-7
"""A coordinate of a direction (the largest is 1) from which it counts as moved."""


def check_normaliser(layout: Layout, domain: Domain) -> None:
    """Raise a `NoLawError` that names the cells which nothing keeps from running off."""
    cells = free_cells(layout)
    if len(cells):
        raise NoLawError(_fault(cells, domain))


def free_cells(layout: Layout) -> NDArray[np.int64]:
    """The cells that some unweighed direction moves, sorted.

    **Cost.** Nothing where every cell is weighed; a pass over the nodes otherwise, and a few linear
    programs over the atoms of each crossing that has loose ones.
    """
    forest = layout.forest
    leaves = len(forest.cells)
    if not (forest.law[:leaves] == 0).any():
        return np.empty(0, dtype=np.int64)
    up, down, leak = kernels.directions(forest.parent, forest.law, forest.lower, forest.upper, int(FREE))
    loose = up | down
    runs = np.zeros(len(forest.parent), dtype=bool)
    roots = forest.roots
    runs[roots] = (forest.parent[roots] == OPEN) & loose[roots]
    for crossing in layout.crossings:
        runs[crossing.atoms] = _running(crossing, up[crossing.atoms], down[crossing.atoms])
    if not (runs.any() or leak.any()):
        return np.empty(0, dtype=np.int64)
    return np.sort(forest.cells[_followed(forest.parent, runs, leak, loose)[:leaves]])


def _followed(
    parent: NDArray[np.int64], runs: NDArray[np.bool_], leak: NDArray[np.bool_], loose: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """The nodes that run: roots that do, and every loose part of a node that runs or leaks.

    A loose part of a node that runs can follow it, or run with another that runs the other way; a loose
    part of a node that leaks has such another.
    """
    found = runs.tolist()
    above, leaks, can = parent.tolist(), leak.tolist(), loose.tolist()
    for v in range(len(found) - 1, -1, -1):
        p = above[v]
        if p >= 0:
            found[v] = can[v] and (found[p] or leaks[p])
    return np.array(found, dtype=bool)


def _running(crossing: Crossing, up: NDArray[np.bool_], down: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Atoms that can run off together, all facts kept and no measured or limited form moved.

    The directions are a cone. Weights drawn once and for all, over the atoms not yet found, are
    maximised over it, and minimised: if neither moves, those atoms stand still in every direction (a
    rational direction on which such weights sum to zero would be a coincidence of 50 bits).
    """
    width = len(up)
    found = np.zeros(width, dtype=bool)
    if not (up | down).any():
        return found
    rows, low, high = _cone(crossing)
    weights = 1.0 + np.random.Generator(np.random.PCG64(1)).random(width)
    lower, upper = np.where(down, -1.0, 0.0), np.where(up, 1.0, 0.0)
    sign = 1.0
    still = 0
    while still < 2 and not found.all():
        cost = np.where(found, 0.0, sign * weights)
        moved = maximised(cost, lower, upper, rows, low, high)
        assert moved is not None, "a cone within a box has a vertex that maximises"
        new = (np.abs(moved) > _MOVED) & ~found
        still = 0 if new.any() else still + 1
        sign = sign if new.any() else -sign
        found |= np.abs(moved) > _MOVED
    return found


def _cone(crossing: Crossing) -> tuple[Rows, NDArray[np.float64], NDArray[np.float64]]:
    """The directions that keep facts and weights and go against no limit, as rows with their ends."""
    given = list(crossing.facts)
    low, high = [0.0] * len(given), [0.0] * len(given)
    for form in crossing.others:
        given.append(form.weights)
        low.append(0.0 if form.laws or form.lower > -FREE else -np.inf)
        high.append(0.0 if form.laws or form.upper < FREE else np.inf)
    return Rows.dense(len(crossing.atoms), given), np.array(low), np.array(high)


def _fault(cells: NDArray[np.int64], domain: Domain) -> Fault:
    named = "; ".join(domain.cell(int(cell)) for cell in cells[:4])
    more = f" and {len(cells) - 4} more" if len(cells) > 4 else ""
    return Fault(
        "measurements",
        "nothing that is measured, fixed or bounded keeps the noise of some cells from running off",
        f"the law of the noise has no normaliser. Free are {named}{more}.\n"
        "Measure `cells` (or a query that tells these cells apart), or bound them on both sides.",
        "docs/how-to/conflicting-bounds.md",
    )
