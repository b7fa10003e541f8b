r"""Uniform weak compositions, and the law of what is composed: the two halves of a fixed sum.

A weak composition of `total` into n parts is a choice of n-1 bars among total+n-1 places, the stars
between two bars being a part. The kernels in `_composition_kernels.py` walk the same way over the same
words, the subset as a bitmap.
"""

from __future__ import annotations

import math

import numpy as np

from congenial.errors import Fault, NoSamplerError
from congenial.laws import DiscreteLaplace
from congenial.randomness import MOST_BELOWS
from congenial.samplers import _composition_kernels as kernels
from congenial.samplers.base import Source
from congenial.samplers.integer_table import IntegerTable, exp_floor, limbs

MOST_ENTRIES = 1 << 22

_SMALLEST = 2.0**-140
_STEEP = 200.0


def uniform_composition(source: Source, total: int, parts: int) -> list[int]:
    """Draw `parts` whole numbers, none negative, that sum to `total`.

    **Law.** Each of the C(total+parts-1, parts-1) ways equally likely.
    **Exactness.** Integer arithmetic; no floating point.
    **Cost.** A uniform subset of the bars or of the stars, whichever are fewer: at most 1.4 places
    tried for each that is marked.
    """
    bars = parts - 1
    places = total + bars
    marked = sorted(uniform_subset(source, places, min(bars, total)))
    found = [0] * parts
    if bars <= total:
        for part, (before, at) in enumerate(zip([-1, *marked], [*marked, places], strict=True)):
            found[part] = at - before - 1
    else:
        for rank, star in enumerate(marked):
            found[star - rank] += 1
    return found


def uniform_subset(source: Source, places: int, wanted: int) -> set[int]:
    """Draw `wanted` distinct ones of 0 … places-1, every subset equally likely: mark until distinct."""
    marked: set[int] = set()
    if wanted:
        for place in source.belows(places):
            marked.add(place)
            if len(marked) == wanted:
                break
    return marked


def total_table(parts: int, epsilon: float, total: int = 0) -> IntegerTable:
    """The law of H, the smaller of the two totals, for `parts` cells whose noise sums to `total`.

    **Law.** P(H) ∝ C(H+|total|+n-1, n-1) C(H+n-1, n-1) e^{-2εH}, H ≥ 0.
    **Exactness.** `variation` counts what rounding to 2^-128 and the tails beyond 2^-140 can move.
    **Cost.** Some 0.2 µs an entry; entries grow like √parts / ε.
    """
    rate = DiscreteLaplace(epsilon).exact_rate
    s = abs(total)
    if parts == 1 or epsilon > _STEEP:  # then H says nothing, or is zero but for 2^-500
        return IntegerTable.from_weights(0, [1], 0.0 if parts == 1 else 2.0**-500)
    first, mode, last, rest = kernels.window(parts, s, float(epsilon), _SMALLEST, MOST_ENTRIES)
    size = last - first + 1
    if size > MOST_ENTRIES or last + s + parts >= MOST_BELOWS:
        what = f"a fixed sum of {parts} cells at epsilon {epsilon:g} has noise too wide for a table of totals"
        raise NoSamplerError(Fault("", what, "Raise epsilon, or fix the sums of smaller groups."))
    down = 192 + math.floor(2 * epsilon / math.log(2) - 1e-9)
    up = 192 - math.floor(2 * epsilon / math.log(2) + 1e-9) - 1
    fall = limbs(exp_floor(2 * rate, down), 3)
    rise = limbs(exp_floor(-2 * rate, up), 3) if first < mode else np.zeros(3, dtype=np.uint64)
    weights = kernels.totals(parts, s, first, mode, last, fall, down, rise, max(up, 0))
    # three units of 2^-191 a step, all steps before it, every entry
    return IntegerTable.from_limbs(first, weights, rest + math.ldexp(3.0 * size * size, -191))
