"""Sources whose words are written down: to feed twin and kernel alike, to interrupt, and to count."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from congenial.randomness import Source


class OutOfWordsError(Exception):
    """The script has no more words."""


class Listed(Source):
    """A source that serves the words of a list, in bulk only up to the next of `stops`.

    A stop at k makes a kernel see k words at first, and more only when it asks again.
    """

    def __init__(self, words: Sequence[int] | np.ndarray, stops: Sequence[int] = ()) -> None:
        self.words = np.asarray(words, dtype=np.uint64)
        self.stops = sorted(stops)
        self.used = 0

    def at_hand(self, least: int = 1) -> np.ndarray:
        ends = [stop for stop in self.stops if stop - self.used >= least]
        end = min([*ends, len(self.words)])
        if end - self.used < least:
            raise OutOfWordsError
        found = self.words[self.used : end]
        self.used = end
        return found

    def take(self, n: int) -> np.ndarray:
        if self.used + n > len(self.words):
            raise OutOfWordsError
        self.used += n
        return self.words[self.used - n : self.used]

    def give_back(self, n: int) -> None:
        assert 0 <= n <= self.used
        self.used -= n


def some_words(n: int, seed: int = 0) -> np.ndarray:
    """`n` words that a test can repeat."""
    return np.random.default_rng(seed).integers(0, 2**64, n, dtype=np.uint64)
