"""Laws on a window of integers as whole-number weights that sum to exactly 2^128.

A float table cannot say a probability of 2^-90 beside one of .1 without rounding the rest away, and a
draw from it is never exactly the law it claims. Here the weights are integers, a draw takes two
words as one 128-bit number and finds the entry that it falls into: what is drawn has *exactly* the
table's law, and how far the table is from the law meant is one number, `variation`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from congenial.errors import ArgumentError
from congenial.laws import Law

Limbs = NDArray[np.uint64]

WHOLE = 1 << 128
_TAIL = -136.0
"""log2 of the mass that `of_law` leaves out: below the rounding of the table itself."""


@dataclass(frozen=True, eq=False, repr=False)
class IntegerTable:
    """Entries offset … offset+n-1; entry k has probability `weights[k]` / 2^128, exactly.

    `high` and `low` are the cumulative weights up to and with each entry (the last, 2^128, is written
    as all ones); `guide`, a power of two long, says where the search for a word begins.
    `variation` bounds the total variation between the table and the law that it stands for.
    """

    offset: int
    high: NDArray[np.uint64]
    low: NDArray[np.uint64]
    variation: float = 0.0
    guide: NDArray[np.int32] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "guide", _guide(self.high))

    @classmethod
    def from_weights(cls, offset: int, weights: Sequence[int], left_out: float = 0.0) -> IntegerTable:
        """A table proportional to whole numbers, each right to 2^-128; `left_out` adds to `variation`."""
        total = sum(weights)
        if total <= 0 or min(weights) < 0:
            raise ArgumentError("weights of a table must be whole numbers, none negative and some positive")
        weights = list(weights)
        while not weights[-1]:
            weights.pop()
        cumulative, running = [], 0
        for weight in weights[:-1]:
            running += weight
            cumulative.append(running * WHOLE // total)
        bounds = np.frombuffer(
            b"".join(min(c, WHOLE - 1).to_bytes(16, "little") for c in [*cumulative, WHOLE]), dtype="<u8"
        ).reshape(-1, 2)
        high, low = bounds[:, 1].astype(np.uint64), bounds[:, 0].astype(np.uint64)
        return cls(offset, high, low, _rounded(len(weights)) + left_out)

    @classmethod
    def from_limbs(cls, offset: int, weights: Limbs, left_out: float) -> IntegerTable:
        """The same for weights of three limbs each (`_limb_kernels`), an array of entries × 3."""
        from congenial.samplers import _limb_kernels as kernels

        weights = weights[: int(np.flatnonzero(weights.any(axis=1))[-1]) + 1]
        total = sum(int(limb) << (64 * i) for i, limb in enumerate(kernels.total_of(weights)))
        bits = total.bit_length() + 62  # makes `inverse` a number of 191 bits
        inverse = limbs((1 << (128 + bits)) // total, 3)
        high = np.empty(len(weights), dtype=np.uint64)
        low = np.empty(len(weights), dtype=np.uint64)
        kernels.thresholds(weights, inverse, bits, high, low)
        return cls(offset, high, low, _rounded(len(weights)) + left_out)

    @classmethod
    def of_law(cls, law: Law) -> IntegerTable:
        """The table of a law over all integers where it has mass above 2^-136 in all.

        **Exactness.** The law is that of the exact value of the double that names it. Weights come
        from repeated multiplication in units of 2^-192, which loses less than 2·reach² units.
        **Cost.** Some 50 ns and 16 bytes an entry.
        """
        from congenial.samplers import _limb_kernels as kernels

        reach = law.reach(_TAIL)
        if reach >= 1 << 26:
            raise ArgumentError(f"{law!r} reaches too far for a table: {2 * reach + 1} entries")
        half = np.empty((reach + 1, 3), dtype=np.uint64)
        if law.power == 1:
            kernels.grow_even(reach + 1, limbs(exp_floor(law.exact_rate), 3), np.empty(0, np.uint64), half)
        else:
            factor = limbs(exp_floor(2 * law.exact_rate), 3)
            kernels.grow_even(reach + 1, limbs(exp_floor(law.exact_rate), 3), factor, half)
        return cls.from_limbs(-reach, np.concatenate((half[:0:-1], half)), 2.0**_TAIL)

    def __len__(self) -> int:
        return len(self.high)

    def __repr__(self) -> str:
        return f"IntegerTable({self.offset} … {self.offset + len(self) - 1})"

    @property
    def shift(self) -> int:
        """How far a first word is shifted down to its place in `guide`."""
        return 65 - len(self.guide).bit_length()

    @cached_property
    def weights(self) -> tuple[int, ...]:
        """The weights as whole numbers; they sum to 2^128."""
        high, low = self.high.tolist(), self.low.tolist()
        bounds = [(h << 64) | w for h, w in zip(high[:-1], low[:-1], strict=True)]
        return tuple(b - a for a, b in zip([0, *bounds], [*bounds, WHOLE], strict=True))

    def index(self, v: int) -> int:
        """The entry that a 128-bit number falls into: the first whose cumulative weight is above it."""
        high, low = np.uint64(v >> 64), np.uint64(v & (2**64 - 1))
        i = int(self.guide[v >> 64 >> self.shift])
        last = len(self) - 1
        while i < last and (self.high[i] < high or (self.high[i] == high and self.low[i] <= low)):
            i += 1
        return i


def joined(
    tables: Sequence[IntegerTable],
) -> tuple[Limbs, Limbs, NDArray[np.int64], list[tuple[int, int]]]:
    """The arrays of several tables one behind the other: high, low, guide, and where each begins.

    A table that stands in the sequence more than once is stored once.
    """
    once = list({id(t): t for t in tables}.values())
    firsts = np.cumsum([0, *(len(t) for t in once)]).tolist()
    guides = np.cumsum([0, *(len(t.guide) for t in once)]).tolist()
    places = {id(t): (first, guide) for t, first, guide in zip(once, firsts, guides, strict=False)}
    none = np.empty(0, dtype=np.uint64)
    return (
        np.concatenate([none, *(t.high for t in once)]),
        np.concatenate([none, *(t.low for t in once)]),
        np.concatenate([np.empty(0, dtype=np.int64), *(t.guide.astype(np.int64) for t in once)]),
        [places[id(t)] for t in tables],
    )


def limbs(value: int, size: int) -> Limbs:
    """A whole number as `size` words, lowest first."""
    return np.array([(value >> (64 * i)) & (2**64 - 1) for i in range(size)], dtype=np.uint64)


def exp_floor(rate: Fraction, bits: int = 192) -> int:
    """e^-rate in units of 2^-bits, rounded down, exactly."""
    from flint import arb, ctx, fmpq

    before = ctx.prec
    try:
        precision = bits + 64
        while True:
            ctx.prec = precision
            ball = (-arb(fmpq(rate.numerator, rate.denominator))).exp() * arb(2) ** bits
            found = ball.floor().unique_fmpz()
            if found is not None:
                return int(found)
            precision *= 2
    finally:
        ctx.prec = before


def _rounded(entries: int) -> float:
    """What rounding cumulative weights down to 2^-128 can move: less than two units an entry."""
    return math.ldexp(entries, -128)


def _guide(high: NDArray[np.uint64]) -> NDArray[np.int32]:
    """For each of equally wide parts of the words, the first entry that reaches beyond its start."""
    bits = max(1, (2 * len(high) - 1).bit_length())
    starts = np.arange(1 << bits, dtype=np.uint64) << np.uint64(64 - bits)
    return np.searchsorted(high, starts, side="left").astype(np.int32)
