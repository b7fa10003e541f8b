"""Where randomness comes from: one argument everywhere, words that serve once.

A `Source` hands out 64-bit words. Plain twins call `below`, `categorical` and `tabled`; kernels take
words in bulk with `take`, and give back what finished draws did not use. A release accepts
`SystemSource` alone: AES-256 in counter mode, keyed by the operating system, keyed anew after a fork.
A `SeededSource` repeats itself and makes simulations.
"""

from __future__ import annotations

import hashlib
import math
import os
import secrets
import threading
from typing import TYPE_CHECKING, NoReturn

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from congenial.samplers.integer_table import IntegerTable

_BLOCK = 1 << 14


class Source:
    """A stream of words from AES-256-CTR under one key. Not to be copied, pickled or shared by threads."""

    def __init__(self, key: bytes) -> None:
        self._start(key)

    def _start(self, key: bytes) -> None:
        from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

        self._stream = Cipher(algorithms.AES(key), modes.CTR(bytes(16))).encryptor()
        self._words: NDArray[np.uint64] = np.empty(0, dtype=np.uint64)
        self._at = 0
        self._thread = threading.get_ident()
        self._process = os.getpid()

    def _rekey(self) -> NoReturn | None:
        raise RuntimeError("a seeded source was used after a fork: it would repeat its words")

    def _more(self, least: int) -> None:
        """Keep the words not yet served and put at least `least` new ones behind them."""
        new = max(_BLOCK, least)
        made = np.empty(new, dtype=np.uint64)
        # zeros in, key stream out
        self._stream.update_into(bytes(8 * new), memoryview(made).cast("B"))
        left = self._words[self._at :]
        self._words = np.concatenate([left, made]) if len(left) else made
        self._at = 0

    def _check(self) -> None:
        if self._process != os.getpid():
            self._rekey()
        if self._thread != threading.get_ident():
            raise RuntimeError("a source belongs to the thread that made it; make one for each")

    def word(self) -> int:
        """The next word."""
        return int(self.take(1)[0])

    def take(self, n: int) -> NDArray[np.uint64]:
        """The next `n` words, which are now served."""
        self._check()
        if self._at + n > len(self._words):
            self._more(self._at + n - len(self._words))
        found = self._words[self._at : self._at + n]
        self._at += n
        return found

    def give_back(self, n: int) -> None:
        """Take back the last `n` words of the last `take`: no draw has used them."""
        if not 0 <= n <= self._at:
            raise ValueError("more words given back than were taken")
        self._at -= n

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

    def categorical(self, weights: NDArray[np.float64]) -> int:
        """An index with probability proportional to positive `weights`.

        **Law.** P(i) = weights[i] / sum(weights).
        **Exactness.** Inversion from both ends towards the largest weight. For unimodal weights each
        probability is right to a relative 6·n·2^-53 (`pick_error`), however small it is.
        **Cost.** One word, or two; now and then one more.
        """
        top = int(np.argmax(weights))
        left = np.cumsum(weights[:top])
        right = np.cumsum(weights[:top - len(weights) - 1:-1]) if top else np.cumsum(weights[::-1])
        mass = float(left[-1]) if top else 0.0
        target = self.uniform() * (mass + float(right[-1]))
        if target < mass:
            return int(np.searchsorted(left, target))
        target = self.uniform() * float(right[-1])
        return len(weights) - 1 - int(np.searchsorted(right, target))

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


class SystemSource(Source):
    """Words that nobody can predict: the only source that a release accepts."""

    def __init__(self) -> None:
        super().__init__(secrets.token_bytes(32))

    def _rekey(self) -> None:
        self._start(secrets.token_bytes(32))


class SeededSource(Source):
    """Words that a seed determines, for simulations; nothing drawn from it can be released."""

    def __init__(self, seed: int) -> None:
        super().__init__(hashlib.sha256(b"congenial simulation %d" % seed).digest())
