"""The laws of leaves and the factors of nodes as finite tables, with what they leave out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from congenial.laws import Law
from congenial.samplers.base import FloatArray

WIDEST = 1 << 22
"""The longest window of one value that a table is made for."""

_SMALLEST = 1e-300
"""The largest weight being 1, smaller ones are left out: floats lose their relative accuracy there."""


@dataclass(frozen=True, eq=False)
class Window:
    """Weights of the values low, low+1, …, the largest of them 1; `tail` bounds the sum of those left out."""

    low: int
    weights: FloatArray
    tail: float


class TooWideError(Exception):
    """A window would be longer than tables are made for."""


def window(laws: tuple[Law, ...], lower: int, upper: int, tilt: float, log2_cut: float) -> Window:
    """The product of `laws` times exp(tilt·z) on lower … upper, as far as it counts.

    The laws are log-concave, so beyond an end whose next ratio is r < 1 at most weight·r/(1-r) is
    left; the window widens until that is below 2^log2_cut of the sum on both sides.
    """
    reach = min((law.reach(log2_cut) for law in laws), default=0)
    if not laws and tilt:
        reach = int(np.ceil(-log2_cut * 0.7 / abs(tilt))) + 1
    reach += 2
    while True:
        low, high = _ends(laws, lower, upper, tilt, reach)
        if high - low > WIDEST:
            raise TooWideError
        made = _weights(laws, low - 1, high + 1, tilt)
        inside = made[1:-1]
        total = float(inside.sum())
        tail = 0.0
        if low > lower:
            tail += _beyond(made[1], made[0])
        if high < upper:
            tail += _beyond(made[-2], made[-1])
        if tail <= 2.0**log2_cut * total:
            top = float(inside.max())
            held = np.flatnonzero(inside >= _SMALLEST * top)
            kept = inside[held[0] : held[-1] + 1]  # what lies beyond is too small for a float's precision
            tail = tail / top * (1 + 1e-9) + _SMALLEST * (len(inside) - len(kept))
            return Window(low + int(held[0]), kept / top, tail)
        reach = 2 * reach


def _ends(laws: tuple[Law, ...], lower: int, upper: int, tilt: float, reach: int) -> tuple[int, int]:
    """Where a window of this reach begins and ends: around 0, or from the limit that a pure tilt hangs on."""
    if laws:
        nearest = max(lower, 0) + min(upper, 0)
        return max(lower, nearest - reach), min(upper, nearest + reach)
    if tilt > 0:
        return max(lower, upper - reach), upper
    if tilt < 0:
        return lower, min(upper, lower + reach)
    return lower, upper


def _beyond(last: float, following: float) -> float:
    """A bound of the geometric rest behind the last weight."""
    ratio = following / last if last > 0 else 0.0
    return float(following / (1.0 - ratio)) if ratio < 1.0 else float("inf")


def _weights(laws: tuple[Law, ...], low: int, high: int, tilt: float) -> FloatArray:
    """Weights up to a factor; far out and with a tilt in the exponent, where nothing over- or underflows."""
    if not tilt and low <= 0 <= high:
        weights = np.ones(high - low + 1)
        for law in laws:
            weights *= law.weights(low, high)
        return weights
    z = np.arange(low, high + 1, dtype=np.float64)
    exponent = tilt * z
    for law in laws:
        exponent -= law.rate * np.abs(z) ** law.power
    return np.asarray(np.exp(exponent - exponent.max()))
