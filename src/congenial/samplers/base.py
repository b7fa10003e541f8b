"""What every sampler answers to, and the values that pass between samplers and planner."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from congenial.samplers.integer_table import IntegerTable

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]
Words = NDArray[np.uint64]


@dataclass(frozen=True)
class Certificate:
    """How far what is drawn may be from the law.

    exact: |ln| of the ratio of any joint probability inside the windows is at most `relative_error`
    (η), and what lies outside has probability at most `tail_mass` (β, as log2 in `tail_log2`).
    """

    kind: Literal["exact", "converged", "uncertified"]
    relative_error: float = 0.0
    tail_log2: float = float("-inf")
    how: str = ""


@dataclass(frozen=True)
class Quote:
    """What a draw would cost: nothing is built to answer."""

    sampler: str
    seconds: float
    setup_seconds: float
    memory: float
    why: str


@dataclass(frozen=True)
class Refusal:
    """Why a sampler does not take a block."""

    sampler: str
    why: str


class Filled(NamedTuple):
    """Draws finished, and words that the finished draws used."""

    draws: int
    words: int


class Source(Protocol):
    """Where a plain twin gets its randomness: always an argument, never a global."""

    def below(self, n: int) -> int:
        """An integer uniform on 0 … n-1, exactly."""

    def belows(self, n: int) -> Iterator[int]:
        """Integers uniform on 0 … n-1 without end, exactly, several from one word; n at most 2^31."""

    def categorical(self, weights: FloatArray) -> int:
        """An index with probability proportional to positive `weights`, to their relative accuracy."""

    def segmented(self, weights: FloatArray) -> int:
        """As `categorical`, with a rounding that hardly grows with the number of weights."""

    def uniform(self) -> float:
        """A uniform on (0, 1] with at least 53 significant bits however small it is."""

    def tabled(self, table: IntegerTable) -> int:
        """An index from a table of integer weights that sum to 2^128, exactly."""


class Prepared(Protocol):
    """Tables built once; draws are rows of `width` integers."""

    @property
    def width(self) -> int:
        """Integers a row."""

    @property
    def certificate(self) -> Certificate:
        """How far a draw may be from its law."""

    def draw(self, source: Source) -> IntArray:
        """One draw by the plain twin."""

    def fill(self, words: Words, out: IntArray) -> Filled:
        """Rows of `out`, by the kernel, until they or the words run out.

        The words of an unfinished draw are not counted: it is begun again on the same words.
        """
