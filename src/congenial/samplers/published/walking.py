"""Many steps of a chain by its kernel: the words of every step are its own, and none is skipped."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from congenial.errors import ArgumentError, Fault, MachineError
from congenial.randomness import Source, SystemSource
from congenial.samplers.base import Words

_MOST_WORDS = 1 << 24
"""Words that one step may take: 128 MB. What needs more does not end."""


class Advance(NamedTuple):
    """Whole steps that a kernel took, the words that they used, and whether it is at its goal."""

    steps: int
    words: int
    is_done: bool = False


def walked(source: Source, steps: int, advance: Callable[[Words, int], Advance]) -> int:
    """Take up to `steps` steps by calls of `advance(words, how many more)`; how many were taken.

    A step that runs out of words is begun again on the same words with more behind them.
    **Privacy.** None: what a published chain draws is for study, so the source that releases use is
    refused.
    """
    refuse_system(source)
    done, least = 0, 64
    while done < steps:
        words = source.at_hand(least)
        taken = advance(words, steps - done)
        unused = len(words) - taken.words
        del words  # a view that is held would make the source lay its buffer aside
        source.give_back(unused)
        done += taken.steps
        if taken.is_done:
            break
        least = max(64, 2 * unused)
        if done < steps and unused > _MOST_WORDS:
            raise MachineError(f"one step of a chain did not end within {_MOST_WORDS} random words")
    return done


def refuse_system(source: object) -> None:
    """Published chains take seeded sources alone: none of their draws may end in a release."""
    if isinstance(source, SystemSource):
        what = "a published chain was given the system's source, which is for releases"
        hint = "Its draws are correlated and its law is only approached. Study it with SeededSource(seed)."
        raise ArgumentError(Fault("", what, hint, read="docs/explanation/published-chains.md"))
