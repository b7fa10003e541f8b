"""A point that keeps all facts and limits: what certificates are measured against."""

from __future__ import annotations

import numpy as np

from congenial.samplers.base import IntArray
from congenial.samplers.crossing.elimination_model import Model, infeasible


def keeps(model: Model, y: IntArray) -> bool:
    """Whether a point lies in all windows, with weight."""
    if (y < model.lo).any() or (y > model.hi).any():
        return False
    values = model.rows @ y
    for law, at in zip(model.laws, y - model.lo, strict=True):
        if not law[int(at)] > 0:
            return False
    return all(
        end.lo <= v <= end.hi and end.table[int(v) - end.lo] > 0
        for end, v in zip(model.ends, values, strict=True)
    )


def likely_point(model: Model, seconds: float) -> IntArray | None:
    """A point inside all windows; None where none was found in time.

    The point nearest to zero, or to the laws' modes, if it keeps the facts; else an integer program that
    minimises the distance from the modes. A `ConflictError` where that program has no solution.
    """
    modes = model.lo + np.array([int(np.argmax(law)) for law in model.laws], dtype=np.int64)
    for trial in (np.clip(0, model.lo, model.hi), modes):
        found = np.asarray(trial, dtype=np.int64).reshape(model.variables)
        if keeps(model, found):
            return found
    return _solved(model, modes, seconds)


def _solved(model: Model, modes: IntArray, seconds: float) -> IntArray | None:
    from scipy.optimize import Bounds, LinearConstraint, milp

    m = model.variables
    rates = np.array([_rate(law) for law in model.laws])
    eye = np.eye(m)
    rows = model.rows.astype(np.float64)
    constraints = [
        LinearConstraint(
            np.hstack([rows, np.zeros_like(rows)]),
            np.array([end.lo for end in model.ends], dtype=np.float64),
            np.array([end.hi for end in model.ends], dtype=np.float64),
        ),
        LinearConstraint(np.hstack([eye, -eye]), -np.inf, modes.astype(np.float64)),
        LinearConstraint(np.hstack([eye, eye]), modes.astype(np.float64), np.inf),
    ]
    answer = milp(
        np.concatenate([np.zeros(m), rates]),
        integrality=np.concatenate([np.ones(m), np.zeros(m)]),
        bounds=Bounds(np.append(model.lo, np.zeros(m)), np.append(model.hi, np.full(m, np.inf))),
        constraints=constraints,
        options={"time_limit": seconds, "mip_rel_gap": 0.05},
    )
    if answer.status == 2:
        raise infeasible()
    if answer.x is None:
        return None
    found = np.rint(answer.x[:m]).astype(np.int64)
    return found if keeps(model, found) else None


def _rate(law: np.ndarray) -> float:
    """How fast the logarithm falls away from the mode."""
    top = int(np.argmax(law))
    sides = [float(np.log(law[top] / law[i])) for i in (top - 1, top + 1) if 0 <= i < len(law) and law[i] > 0]
    return max(1e-3, min(sides, default=1.0))
