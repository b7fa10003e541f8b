r"""FOR STUDY, NEVER FOR A RELEASE. Two chains of `StudySweep` that each move by its law and tend to meet.

In each direction the second chain goes where the first one goes as often as its own law allows: a *maximal
coupling* of v_j + e and w_j + e'. Let the first go to v_j + e. With probability min(1, η(v_j+e-w_j)/η(e)) the
second goes to the same place; else it draws places w_j + f of its own until one passes the opposite test,
f kept with probability 1 - min(1, η(w_j+f-v_j)/η(f)). Both sweeps are accepted or refused with one uniform.

**Source.** Dharangutte, Gao, Gong & Yu (2023), Algorithm 2, after Biswas, Jacob & Vanetti (2019). As printed
its lines 11 to 13 mix the indices of the second chain: it is at time l-L throughout, and all directions
are proposed before either chain is accepted or refused.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from congenial.errors import ArgumentError
from congenial.randomness import Source as Stream
from congenial.samplers.base import IntArray, Source, Words
from congenial.samplers.published import _coupling_kernels as kernels
from congenial.samplers.published.jumps import Jumps
from congenial.samplers.published.sweeps import StudySweep, SweepState
from congenial.samplers.published.walking import Advance, refuse_system, walked


class Pair(NamedTuple):
    """The states of two chains; `second` may be at an earlier time than `first`."""

    first: SweepState
    second: SweepState

    @property
    def have_met(self) -> bool:
        """Whether both are in one state, where they stay together for ever."""
        return bool((self.first.coordinates == self.second.coordinates).all())


class PairInfo(NamedTuple):
    """For looking at: which of the two sweeps were accepted."""

    is_first_accepted: bool
    is_second_accepted: bool


def coupled_step(chain: StudySweep, source: Source, pair: Pair) -> tuple[Pair, PairInfo]:
    """One step of both chains.

    **Law.** Each of the two, looked at alone, moves by `chain.step`.
    **Cost.** Two steps, and two words in each direction where the chains differ.
    """
    refuse_system(source)
    (v, _, size), (w, _, other_size) = pair
    jumps = chain.jumps.draw(source)
    follows = np.array(
        [followed(chain.jumps, source, int(e), int(apart)) for e, apart in zip(jumps, v - w, strict=True)],
        dtype=np.int64,
    )
    first, second = chain.init(v + jumps), chain.init(w + follows)
    r = source.uniform()
    is_first = r <= chain.target.odds(size, first.size)
    is_second = r <= chain.target.odds(other_size, second.size)
    moved = Pair(first if is_first else pair.first, second if is_second else pair.second)
    return moved, PairInfo(is_first, is_second)


def followed(jumps: Jumps, source: Source, e: int, apart: int) -> int:
    """How far the second chain goes where the first goes by `e` from `apart` above it.

    **Law.** η, whatever `apart`, if `e` has law η; equal to apart + e as often as any such law can be.
    """
    if apart == 0:
        return e
    if source.uniform() <= jumps.eta(apart + e) / jumps.eta(e):
        return apart + e
    f = None
    while f is None:
        f = own_way(jumps, source, apart)
    return f


def own_way(jumps: Jumps, source: Source, apart: int) -> int | None:
    """A move of the second chain that the first is not there to share; None where it is."""
    f = jumps.one(source)
    return None if source.uniform() <= jumps.eta(f - apart) / jumps.eta(f) else f


def until_met(chain: StudySweep, source: Stream, pair: Pair, most: int) -> tuple[Pair, int]:
    """Coupled steps by the kernel until the chains meet, or `most` of them: (pair, steps taken)."""
    if most < 0:
        raise ArgumentError(f"the most steps that may be taken are {most}; they cannot be fewer than none")
    (v, z, z_size), (w, y, y_size) = _copied(pair.first), _copied(pair.second)
    scratch = np.empty((4, chain.lattice.dimension), dtype=np.int64)

    def advance(words: Words, left: int) -> Advance:
        nonlocal z_size, y_size
        taken, used, z_size, y_size, met = kernels.walk_together(
            words, chain.arrays, v, z, z_size, w, y, y_size, left, scratch
        )
        return Advance(taken, used, met)

    taken = 0 if pair.have_met else walked(source, most, advance)
    return Pair(SweepState(v, z, int(z_size)), SweepState(w, y, int(y_size))), taken


def _copied(state: SweepState) -> tuple[IntArray, IntArray, int]:
    return state.coordinates.copy(), state.noise.copy(), state.size
