r"""Law (1) of the design by enumeration, for problems small enough.

    P(z) ∝ Π_j f_j(w_j·z) · 1[A z = 0] · 1[lower ≤ B(x+z) ≤ upper]

Everything is given as plain lists. Cells are assigned one after another; partial assignments that can no
longer satisfy a fact or a limit inside the window are dropped.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

Row = Sequence[int]


@dataclass(frozen=True)
class SmallProblem:
    """What `brute_force` enumerates.

    measured  (row, law): law is a `congenial` law, or a function from an integer to an exact Fraction
    facts     rows with w·z = 0
    bands     (row, width): w·(x+z) lies in the band of w·x; bands are 1…width, width+1…2·width, …
    limits    (row, lower, upper) on w·(x+z); None where there is none
    window    one integer w (every z in -w … w), or one pair a cell
    """

    x: Sequence[int]
    measured: Sequence[tuple[Row, Any]]
    facts: Sequence[Row] = ()
    bands: Sequence[tuple[Row, int]] = ()
    limits: Sequence[tuple[Row, int | None, int | None]] = ()
    window: int | Sequence[tuple[int, int]] = 10
    most: int = field(default=5_000_000)


def unit_rows(cells: int) -> list[list[int]]:
    """The rows of the identity: each cell by itself."""
    return [[int(i == j) for i in range(cells)] for j in range(cells)]


def each_cell(cells: int, law: Any) -> list[tuple[Row, Any]]:
    """Every cell measured with `law`."""
    return [(row, law) for row in unit_rows(cells)]


def nonnegative(cells: int) -> list[tuple[Row, int | None, int | None]]:
    """Every cell at least zero."""
    return [(row, 0, None) for row in unit_rows(cells)]


def rational_laplace(a: Fraction) -> Callable[[int], Fraction]:
    """a^|z|, exactly: discrete Laplace with a = e^{-ε}."""
    return lambda z: Fraction(a) ** abs(z)


def admissible(problem: SmallProblem) -> np.ndarray:
    """Every z in the window that satisfies facts, bands and limits, one a row."""
    cells = len(problem.x)
    window = problem.window
    ranges = [(-window, window)] * cells if isinstance(window, int) else list(window)
    intervals = _intervals(problem)
    found = np.zeros((1, 0), dtype=np.int64)
    sums = [np.zeros(1, dtype=np.int64) for _ in intervals]
    for cell, (lo, hi) in enumerate(ranges):
        values = np.arange(lo, hi + 1)
        rows = np.repeat(np.arange(len(found)), len(values))
        z = np.tile(values, len(found))
        keep = np.ones(len(z), dtype=bool)
        sums = [s[rows] + row[cell] * z for s, (row, _, _) in zip(sums, intervals, strict=True)]
        for s, (row, low, high) in zip(sums, intervals, strict=True):
            rest = [(w * a, w * b) for w, (a, b) in zip(row[cell + 1 :], ranges[cell + 1 :], strict=True)]
            keep &= s + sum(max(ends) for ends in rest) >= low
            keep &= s + sum(min(ends) for ends in rest) <= high
        found = np.column_stack([found[rows], z])[keep]
        sums = [s[keep] for s in sums]
        if len(found) > problem.most:
            raise ValueError("too many points to enumerate: choose a smaller window")
    return found


def _intervals(problem: SmallProblem) -> list[tuple[Row, int, int]]:
    """Each fact, band and limit as an interval for w·z."""
    far = 1 << 60
    out: list[tuple[Row, int, int]] = [(row, 0, 0) for row in problem.facts]
    for row, width in problem.bands:
        at = sum(w * x for w, x in zip(row, problem.x, strict=True))
        first = (at - 1) // width * width + 1
        out.append((row, first - at, first + width - 1 - at))
    for row, lower, upper in problem.limits:
        at = sum(w * x for w, x in zip(row, problem.x, strict=True))
        out.append((row, -far if lower is None else lower - at, far if upper is None else upper - at))
    return out


def brute_force(problem: SmallProblem) -> dict[tuple[int, ...], Any]:
    """z -> P(z): floats good to 1e-14 relative, or exact fractions where every law is a function."""
    points = admissible(problem)
    forms = [points @ np.asarray(row, dtype=np.int64) for row, _ in problem.measured]
    laws = [law for _, law in problem.measured]
    keys = [tuple(int(v) for v in row) for row in points]
    if laws and all(not hasattr(law, "weights") for law in laws):
        exact = [_product(laws, [int(f[i]) for f in forms]) for i in range(len(points))]
        whole = sum(exact, Fraction(0))
        return {key: w / whole for key, w in zip(keys, exact, strict=True)}
    weight = np.ones(len(points))
    for f, law in zip(forms, laws, strict=True):
        reach = int(np.abs(f).max(initial=0))
        weight *= law.weights(-reach, reach)[f + reach]
    total = math.fsum(weight)
    return {key: float(w) / total for key, w in zip(keys, weight, strict=True)}


def _product(laws: Sequence[Any], values: Sequence[int]) -> Fraction:
    weight = Fraction(1)
    for law, value in zip(laws, values, strict=True):
        weight *= law(value)
    return weight
