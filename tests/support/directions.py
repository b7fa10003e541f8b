"""Which cells unweighed directions move, by one linear program a cell and sign: slow and plain."""

from __future__ import annotations

import numpy as np

from congenial.problems.problem import Problem
from congenial.problems.structure import FREE, Forms


def dense(forms: Forms, cells: int) -> np.ndarray:
    """Forms as written-out rows."""
    rows = np.zeros((forms.count, cells))
    starts, where, weights = forms.rows
    for j in range(forms.count):
        part = slice(int(starts[j]), int(starts[j + 1]))
        rows[j, where[part]] = weights[part]
    return rows


def moved_cells(problem: Problem) -> list[int]:
    """The cells that some direction moves which keeps facts, goes against no limit and weighs nothing."""
    from scipy.optimize import linprog

    made = problem.structure
    cells = made.domain.cells
    still = [np.eye(cells)[made.zeros]]
    still += [dense(fact.forms, cells) for fact in made.facts if fact.band is None]
    still += [dense(measured.forms, cells) for measured in made.measured]
    against = [np.zeros((0, cells))]
    for slack in problem.slacks:
        rows = dense(slack.forms, cells)
        against += [-rows[slack.lower > -FREE], rows[slack.upper < FREE]]
    equal, unequal = np.concatenate(still), np.concatenate(against)
    found = []
    for cell in range(cells):
        for sign in (1, -1):
            cost = np.zeros(cells)
            cost[cell] = -sign
            best = linprog(cost, unequal, np.zeros(len(unequal)), equal, np.zeros(len(equal)), (-1, 1))
            if best.fun < -1e-6:
                found.append(cell)
                break
    return found
