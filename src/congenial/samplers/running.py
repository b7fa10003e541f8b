"""Draw rows with a kernel over a source: the words of every draw are its own, and none is skipped.

A kernel takes words in bulk and stops where they run out. What it had used of the unfinished draw is
given back and comes first the next time, with more words behind it. To begin that draw on fresh words
instead would favour draws that need few words: a wrong law. Words that no draw has used stay with the
source, so that a kernel and its plain twin leave it at the same word.
"""

from __future__ import annotations

from collections.abc import Callable

from congenial.errors import Fault, MachineError
from congenial.randomness import Source
from congenial.samplers.base import IntArray, Prepared

_MOST_WORDS = 1 << 28
"""Words that one draw may take: 2 GB. What needs more does not end."""


def run(
    prepared: Prepared,
    source: Source,
    out: IntArray,
    progress: Callable[[int], None] | None = None,
) -> None:
    """Fill every row of `out` with a draw; `progress` hears of each batch how many draws it had.

    **Law.** That of `prepared.draw`, row by row, on the same words.
    **Cost.** The kernel's. A prepared draw that takes many words may say how many as `words_hint`, so
    that no first attempt stops halfway.
    """
    done, total = 0, len(out)
    hint = max(1, int(getattr(prepared, "words_hint", 1)))
    least = hint
    while done < total:
        words = source.at_hand(least)
        filled = prepared.fill(words, out[done:])
        unused = len(words) - filled.words
        del words  # a view that is held would make the source lay its buffer aside
        source.give_back(unused)
        done += filled.draws
        if progress is not None and filled.draws:
            progress(filled.draws)
        # the unfinished draw had `unused` words, which were too few
        least = max(hint, 2 * unused)
        if done < total and unused > _MOST_WORDS:
            what = f"one draw did not end within {_MOST_WORDS} random words"
            raise MachineError(Fault("", what, "Its bounds may leave almost nothing: see `congenial plan`."))


def draw_rows(prepared: Prepared, source: Source, draws: int) -> IntArray:
    """`draws` draws, one a row."""
    import numpy as np

    out = np.empty((draws, prepared.width), dtype=np.int64)
    run(prepared, source, out)
    return out
