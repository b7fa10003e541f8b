"""The privacy that an even law attains: Gong & Meng's Theorem A.1, for laws on the integers or the line."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from congenial.errors import ArgumentError, Fault
from congenial.laws import DiscreteGaussian, DiscreteLaplace, Law

Weight = Callable[[NDArray[np.float64]], NDArray[np.float64]]


def attained_epsilon(law: Law | Weight, *, step: float = 1.0, reach: float = 1000.0) -> float:
    r"""The least α such that shifting an even law by `d` loses at most α·d: its largest log-slope.

    Where f falls in |x| and f(x)e^{α|x|} rises, f(x-a)/f(x-b) ≤ e^{α|a-b|} for all a, b, and the least such
    α cannot be improved: it is the supremum of (ln f(x) - ln f(x+h))/h.

    **Exactness.** ε for discrete Laplace; infinite for discrete Gaussian, whose slope has no bound. Another
    law is given as its log-weight x ↦ ln f(x), looked at on 0, `step`, … `reach`: the supremum over that
    grid (on the integers, step 1, of all shifts within reach; on the line, of shifts by whole steps), so
    that a slope still growing at `reach` is not seen. A law that rises anywhere is refused.
    **Source.** Gong & Meng (2020), Theorem A.1, α as there; their ε/(2 max{β, 1-β}) comes out of it.
    """
    if isinstance(law, DiscreteLaplace):
        return law.rate
    if isinstance(law, DiscreteGaussian):
        return math.inf
    if not (step > 0 and reach >= step):
        raise ArgumentError(f"step {step!r} must be positive and reach {reach!r} no smaller")
    grid = np.arange(math.floor(reach / step) + 1, dtype=np.float64) * float(step)
    values = np.asarray(law(grid), dtype=np.float64)
    if values.shape != grid.shape or np.isnan(values).any() or not np.isfinite(values[0]):
        raise ArgumentError("a law is given as a function from an array of points to their log-weights")
    with np.errstate(invalid="ignore"):
        falls = np.where(np.isneginf(values[1:]) & np.isneginf(values[:-1]), 0.0, values[:-1] - values[1:])
    if float(falls.min()) < -1e-12 * (1 + float(np.abs(values[np.isfinite(values)]).max())):
        at = float(grid[int(np.argmin(falls))])
        hint = "Theorem A.1 speaks of laws that fall as |x| grows."
        raise ArgumentError(Fault("", f"the law rises between {at:g} and {at + step:g}", hint))
    return float(falls.max() / step)
