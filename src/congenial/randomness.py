"""Where randomness comes from: one argument everywhere, words that serve once.

A `Source` hands out 64-bit words. Plain twins call `below`, `belows`, `categorical` and `tabled`; kernels
take words in bulk and give back what finished draws did not use (`samplers/running.py`). A release
accepts `SystemSource` alone: AES-256 in counter mode, keyed by the operating system, keyed anew after
a fork. A `SeededSource` repeats itself and makes simulations.
"""

from __future__ import annotations

import hashlib
import math
import os
import secrets
import sys
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING, NoReturn

import numpy as np
from numpy.typing import NDArray

from congenial.errors import ArgumentError, Fault

if TYPE_CHECKING:
    from congenial.samplers.integer_table import IntegerTable

BLOCK = 1 << 14
"""Words made at a time: few enough to stay in a core's cache until they are used."""

LANES_16 = 1 << 13
"""`belows` reads words as four lanes of 16 bits for integers up to here, as two of 32 beyond."""

MOST_BELOWS = 1 << 31

_ZEROS = bytes(8 * BLOCK)  # zeros in, key stream out


class _Held:
    """One attribute, to learn how many references an array has that nobody else holds."""

    def __init__(self) -> None:
        self.array = np.empty(1)


_HELD = _Held()
_ALONE = sys.getrefcount(_HELD.array)

SEGMENT = 128
"""Weights that `Source.segmented` adds up in one go."""


class Source:
    """A stream of words from AES-256-CTR under one key. Not to be copied, pickled or shared by threads."""

    def __init__(self, key: bytes) -> None:
        self._start(key)

    def _start(self, key: bytes) -> None:
        from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

        self._stream = Cipher(algorithms.AES(key), modes.CTR(bytes(16))).encryptor()
        self._buffer: NDArray[np.uint64] = np.empty(0, dtype=np.uint64)
        self._at = 0
        self._end = 0
        self._thread = threading.get_ident()
        self._process = os.getpid()

    def _after_fork(self) -> None:
        """What a child does that inherited the source: its parent goes on with the same words."""
        raise ArgumentError(
            Fault(
                "",
                "a seeded source was used after a fork: it would repeat its parent's words",
                "Make one in each process, from a seed of its own.",
            )
        )

    def _make(self, words: NDArray[np.uint64]) -> None:
        """Fill `words`, which have two more words behind them in memory that may be written over."""
        room = words.data.cast("B")
        for first in range(0, len(words) - 2, BLOCK):
            count = min(BLOCK, len(words) - 2 - first)
            zeros = _ZEROS if count == BLOCK else _ZEROS[: 8 * count]
            self._stream.update_into(zeros, room[8 * first : 8 * (first + count) + 15])

    def _more(self, least: int) -> None:
        """See that `least` words are at hand: those not yet served, and new ones behind them.

        The buffer is written over only where nobody holds a view of it, so that words that were
        handed out never change; otherwise a new one takes its place.
        """
        left = self._buffer[self._at : self._end].copy()
        end = max(BLOCK, least)
        if len(self._buffer) < end + 2 or sys.getrefcount(self._buffer) > _ALONE:
            self._buffer = np.empty(end + 2, dtype=np.uint64)
        self._buffer[: len(left)] = left
        self._make(self._buffer[len(left) : end + 2])
        self._at, self._end = 0, end

    def _check(self) -> None:
        if self._process != os.getpid():
            self._after_fork()
        if self._thread != threading.get_ident():
            what = "a source belongs to the thread that made it"
            raise ArgumentError(Fault("", what, "Make one in each thread: two would serve the same words."))

    def at_hand(self, least: int = 1) -> NDArray[np.uint64]:
        """All words that are made and not served, at least `least` of them; they are now served.

        **Cost.** About a nanosecond a word that had to be made; nothing for the others.
        """
        self._check()
        if self._end - self._at < least:
            self._more(least)
        found = self._buffer[self._at : self._end]
        self._at = self._end
        return found

    def take(self, n: int) -> NDArray[np.uint64]:
        """The next `n` words, which are now served."""
        self._check()
        if self._end - self._at < n:
            self._more(n)
        found = self._buffer[self._at : self._at + n]
        self._at += n
        return found

    def give_back(self, n: int) -> None:
        """Take back the last `n` words that were served since words were last made: no draw used them."""
        if not 0 <= n <= self._at:
            raise ValueError("more words given back than were taken")
        self._at -= n

    def word(self) -> int:
        """The next word."""
        return int(self.take(1)[0])

    def uniform(self) -> float:
        """A uniform on (0, 1] with at least 53 significant bits however small it is."""
        w, exponent = self.word(), -64
        if w >= 1 << 53:
            return w * 2.0**-64
        while w == 0:
            w, exponent = self.word(), exponent - 64
        zeros = 64 - w.bit_length()
        if zeros:
            w = ((w << zeros) & (2**64 - 1)) | (self.word() >> (64 - zeros))
        return math.ldexp(float(w), exponent - zeros)

    def below(self, n: int) -> int:
        """An integer uniform on 0 … n-1, exactly (Lemire's multiplication), 1 ≤ n < 2^64."""
        product = self.word() * n
        least = (1 << 64) % n
        while product & (2**64 - 1) < least:
            product = self.word() * n
        return product >> 64

    def belows(self, n: int) -> Iterator[int]:
        """Integers uniform on 0 … n-1 without end, exactly, several from one word; 1 ≤ n ≤ 2^31.

        Each word is cut into lanes, the lowest bits first, and each lane goes by Lemire's
        multiplication. What is left of the last word when the caller stops serves nothing else.
        """
        lane = 16 if n <= LANES_16 else 32
        mask = (1 << lane) - 1
        least = (1 << lane) % n
        while True:
            word = self.word()
            for shift in range(0, 64, lane):
                product = ((word >> shift) & mask) * n
                if product & mask >= least:
                    yield product >> lane

    def categorical(self, weights: NDArray[np.float64]) -> int:
        """An index with probability proportional to positive `weights`.

        **Law.** P(i) = weights[i] / sum(weights).
        **Exactness.** Inversion from both ends towards the largest weight. For unimodal weights each
        probability is right to a relative 6·n·2^-53 (`pick_error`), however small it is.
        **Cost.** One word, or two; now and then one more.
        """
        top = int(np.argmax(weights))
        left = np.cumsum(weights[:top])
        right = np.cumsum(weights[: top - len(weights) - 1 : -1]) if top else np.cumsum(weights[::-1])
        mass = float(left[-1]) if top else 0.0
        target = self.uniform() * (mass + float(right[-1]))
        if target < mass:
            return int(np.searchsorted(left, target))
        target = self.uniform() * float(right[-1])
        return len(weights) - 1 - int(np.searchsorted(right, target))

    def segmented(self, weights: NDArray[np.float64]) -> int:
        """As `categorical`, with a rounding that hardly grows with the number of weights.

        **Law.** P(i) = weights[i] / sum(weights).
        **Exactness.** Each side of the largest weight is cut in segments of `SEGMENT`, counted from the
        largest; a segment is drawn, then a place in it, each by inversion from its far end. For n
        unimodal weights each probability is right to a relative 6·(SEGMENT + n/SEGMENT)·2^-53.
        **Cost.** As `categorical` where a side is one segment; one word more where it is not.
        """
        top = int(np.argmax(weights))
        left, right = _outside_in(weights[:top]), _outside_in(weights[top:][::-1])
        before, after = (left[0][0] if top else 0.0), right[0][0]
        target = self.uniform() * (before + after)
        is_left = target < before
        if not is_left:
            target = self.uniform() * after
        outer, sums = left if is_left else right
        k = int(np.flatnonzero(outer >= target)[-1])
        if len(outer) > 1:
            target = self.uniform() * float(sums[k][-1])
        length = top if is_left else len(weights) - top
        at = length - sum(len(part) for part in sums[: k + 1]) + int(np.searchsorted(sums[k], target))
        return at if is_left else len(weights) - 1 - at

    def tabled(self, table: IntegerTable) -> int:
        """An index from a table of integer weights that sum to 2^128, exactly; two words."""
        high = self.word()
        return table.index((high << 64) | self.word())

    def __copy__(self) -> NoReturn:
        raise TypeError("a source cannot be copied: both copies would repeat the same words")

    def __deepcopy__(self, memo: object) -> NoReturn:
        self.__copy__()

    def __reduce__(self) -> NoReturn:
        raise TypeError("a source cannot be pickled: both copies would repeat the same words")

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


def _outside_in(weights: NDArray[np.float64]) -> tuple[NDArray[np.float64], list[NDArray[np.float64]]]:
    """Weights that end at the largest, in segments counted from there.

    (mass of each segment and all beyond it, the cumulated weights inside each).
    """
    ends = range(len(weights), 0, -SEGMENT)
    sums = [np.cumsum(weights[max(0, end - SEGMENT) : end]) for end in ends]
    masses = np.array([part[-1] for part in sums])
    return np.cumsum(masses[::-1])[::-1], sums


class SystemSource(Source):
    """Words that nobody can predict: the only source that a release accepts."""

    def __init__(self) -> None:
        super().__init__(secrets.token_bytes(32))

    def _after_fork(self) -> None:
        self._start(secrets.token_bytes(32))


class SeededSource(Source):
    """Words that a seed determines, for simulations; nothing drawn from it can be released."""

    def __init__(self, seed: int) -> None:
        if isinstance(seed, bool) or not isinstance(seed, int | np.integer):
            raise ArgumentError(f"the seed is {seed!r}; it must be an integer")
        super().__init__(hashlib.sha256(b"congenial simulation %d" % int(seed)).digest())
