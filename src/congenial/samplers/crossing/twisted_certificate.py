r"""How far twisted columns can be from their law: what windows leave out, over what the margins leave in.

With N₁ = P(Σ Z = 0 in column 1) · Π_i M_i1(0), the bound that the sampler starts from, and `a` the
chance that an attempt ends in a draw, the unnormalised mass of all arrays inside the windows is a·N₁.
An array outside has rows that went wrong; a row's factor is then at most R_i times M_i1(0), where R_i
adds up, over its columns, the mass beyond a cell's window times the largest V after it, and
Σ A(-s)·M(s) over dropped remainders (Hölder's inequality holds with such a row's factor at 1, so the
other rows' tables still serve). Hence the part of the law that is left out is at most

    β = ( Π_i (1 + R_i) - 1 ) / ( P(Σ Z = 0 in column 1) · a ).

Only `a` has to be measured. A pilot draws until it has `SUCCESSES` draws; had an attempt less than
chance `a`, needing so few attempts would have probability at most exp(-n·KL(SUCCESSES/n ‖ a)), and `a` is
taken so small that this is below the failure that β has room for. That failure is part of β.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from congenial.randomness import SystemSource
from congenial.samplers.crossing import _twisted_kernels as kernels
from congenial.samplers.crossing.twisted_build import Built, Missing

SUCCESSES = 100
_LEAST_ACCEPTANCE = 2.0**-13
_MOST_WORDS = 1 << 24


class TooRareError(Exception):
    """Attempts hardly ever end in a draw."""


class Pilot(NamedTuple):
    """What some draws took."""

    draws: int
    attempts: int
    words: int


def pilot(built: Built) -> Pilot:
    """What `SUCCESSES` draws take, with system randomness."""
    source = SystemSource()
    tables = built.tables
    cells = tables.rows * tables.columns
    size = max(1 << 14, 64 * cells)
    out = np.zeros((SUCCESSES, cells), dtype=np.int64)
    done = attempts = spent = 0
    words = source.take(size)
    while done < SUCCESSES:
        draws, used, tried, _ = kernels.fill_columns(words, out[done:], tables, 0)
        done, attempts, spent = done + draws, attempts + tried, spent + used
        if attempts * _LEAST_ACCEPTANCE > SUCCESSES or (not draws and len(words) >= _MOST_WORDS):
            raise TooRareError
        # an unfinished draw keeps its words
        words = np.concatenate([words[used:], source.take(size)])
        if not draws:
            size *= 2
    return Pilot(int(done), int(attempts), int(spent))


def least_acceptance_log2(successes: int, attempts: int, failure_log2: float) -> float:
    """The largest k ≤ 0 such that an acceptance below 2^k would show so few attempts too seldom."""
    seen = successes / attempts
    for k in range(1, 200):
        a = 2.0**-k
        if a >= seen:
            continue
        divergence = seen * math.log(seen / a)
        if seen < 1:
            divergence += (1 - seen) * (math.log1p(-seen) - math.log1p(-a))
        if attempts * divergence >= -failure_log2 * math.log(2):
            return float(-k)
    return -math.inf


def left_out_log2(
    missing: Sequence[Missing], counts: NDArray[np.int64], first_chance: float, acceptance_log2: float
) -> tuple[float, float]:
    """log2 of β's two parts: the laws' own windows, and the remainders dropped here."""
    scale = -math.log2(first_chance) - acceptance_log2
    found = []
    for logs in ([m.log2_windows for m in missing], [m.log2_remainders for m in missing]):
        top = max(logs)
        if top == -math.inf:
            found.append(top)
            continue
        total = top + math.log2(sum(float(n) * 2.0 ** (v - top) for n, v in zip(counts, logs, strict=True)))
        # Π(1 + R) - 1 ≤ 2 Σ R where Σ R ≤ 1; where it is not, there is no certificate anyway
        found.append(total + 1 + scale)
    return found[0], found[1]
