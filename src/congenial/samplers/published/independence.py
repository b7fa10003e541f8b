r"""FOR STUDY, NEVER FOR A RELEASE. A Metropolis chain whose proposals do not depend on where it is.

The law is p(z) given the facts A·z = 0 and the limits, z the noise s - s* on the confidential counts s*.
Cells of the *proposal index set* are drawn independently from q; the facts then force the others. The
proposal is accepted with probability min(1, w(z̃)/w(z)), w = p/q, and never where a limit is broken.

    p     laws on all cells, whole or real (the unconstrained mechanism)
    q     laws on the cells of the index set; here of any scale, such as p's with another ε̃
    I     the index set: as many cells as the facts leave free, so chosen that the others are determined

**Source.** Gong & Meng (2020), *Congenial differential privacy under mandated disclosure*, Algorithm 1, with
its letters; their s is s* + z here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from congenial.errors import ArgumentError, Fault
from congenial.randomness import Source as Stream
from congenial.samplers.base import Certificate, FloatArray, IntArray, Source, Words
from congenial.samplers.published import _independence_kernels as kernels
from congenial.samplers.published.deviates import Deviates, StudyLaw, odds
from congenial.samplers.published.index_set import Forced, proposal_index_set
from congenial.samplers.published.lattices import whole_matrix
from congenial.samplers.published.limits import Limits
from congenial.samplers.published.walking import Advance, refuse_system, walked


class IndependenceState(NamedTuple):
    """What the next step needs: the noise (whole numbers as floats), and log p - log q there."""

    noise: FloatArray
    log_weight: float


class IndependenceInfo(NamedTuple):
    """For looking at: whether the proposal was accepted, kept to the limits, and the chance that it had."""

    is_accepted: bool
    is_inside: bool
    odds: float


class IndependenceTrace(NamedTuple):
    """The noise after every so many steps, one a row, and the part of all steps that were accepted."""

    noise: IntArray | FloatArray
    acceptance: float


@dataclass(frozen=True, eq=False, repr=False)
class StudyIndependence:
    """Gong & Meng's Algorithm 1.

    **Law.** Reversible with respect to p given facts and limits; only its limit has that law.
    **Exactness.** None after any number of steps: w may be unbounded, and then the chain has no rate.
    **Cost.** A proposal costs some 3 ns a cell; of a hundred, few are accepted.
    """

    laws: Deviates
    proposals: Deviates
    forced: Forced
    limits: Limits

    certificate = Certificate("uncertified", how="a published Markov chain: for study, never for a release")

    @classmethod
    def of(
        cls,
        facts: ArrayLike,
        laws: StudyLaw | Sequence[StudyLaw],
        proposals: StudyLaw | Sequence[StudyLaw],
        limits: Limits | None = None,
        index_set: Sequence[int] | None = None,
    ) -> StudyIndependence:
        """A chain for p given facts·z = 0; `proposals` are the laws q of the cells of the index set."""
        matrix = whole_matrix(facts)
        width = matrix.shape[1]
        chosen = proposal_index_set(matrix) if index_set is None else tuple(index_set)
        forced = Forced.of(matrix, chosen)
        found = cls(
            Deviates.of(laws, width),
            Deviates.of(proposals, len(chosen)),
            forced,
            Limits.of(width) if limits is None else limits,
        )
        if found.limits.lower.shape != (width,):
            raise ArgumentError(f"the limits are on {len(found.limits.lower)} cells; the facts have {width}")
        if len(chosen) and found.laws.is_whole != found.proposals.is_whole:
            raise ArgumentError("laws and proposals must both be on whole numbers, or both on real ones")
        return found

    def init(self, noise: ArrayLike | None = None) -> IndependenceState:
        """The state at this noise; without any, at zero: the confidential table itself."""
        z = np.zeros(len(self.laws.laws)) if noise is None else np.array(noise, dtype=np.float64)
        if not (self.limits.hold(z) and self.forced.agrees(z)):
            what = "the noise to begin with breaks a fact or a limit"
            raise ArgumentError(Fault("", what, "Begin at zero: `init()`."))
        return IndependenceState(z, self.log_weight(z))

    def log_weight(self, noise: FloatArray) -> float:
        """log w = log p - log q, but for constants."""
        return self.laws.log_weight(noise) - self.proposals.log_weight(noise[self.forced.free])

    def propose(self, source: Source) -> FloatArray | None:
        """A proposal; None as soon as a limit is seen to be broken, or where no whole numbers solve."""
        z = np.zeros(len(self.laws.laws))
        for i, cell in enumerate(self.forced.free.tolist()):
            z[cell] = self.proposals.one(source, i)
            if not self.limits.keeps(cell, z[cell]):
                return None
        for cell, value in self.forced.solved(z, whole=self.laws.is_whole):
            if value is None or not self.limits.keeps(cell, value):
                return None
            z[cell] = value
        return z if self.limits.forms_hold(z) else None

    def step(self, source: Source, state: IndependenceState) -> tuple[IndependenceState, IndependenceInfo]:
        """Propose a table, accept or refuse it."""
        refuse_system(source)
        z = self.propose(source)
        if z is None:
            return state, IndependenceInfo(False, False, 0.0)
        proposed = IndependenceState(z, self.log_weight(z))
        chance = odds(proposed.log_weight - state.log_weight)
        is_accepted = source.uniform() <= chance
        return proposed if is_accepted else state, IndependenceInfo(is_accepted, True, chance)

    def walk(
        self, source: Stream, state: IndependenceState, steps: int, every: int = 0
    ) -> tuple[IndependenceState, IndependenceTrace]:
        """`steps` steps by the kernel: those of `step` on the same words. Keeps each `every`-th (0: none)."""
        z, log_weight, accepted, done = state.noise.copy(), state.log_weight, 0, 0
        keep = every or steps + 1
        out = self.laws.rows(steps // keep)
        scratch = np.empty(len(z))

        def advance(words: Words, left: int) -> Advance:
            nonlocal log_weight, accepted, done
            taken, used, more, log_weight = kernels.walk(
                words, self.arrays, z, log_weight, left, done, keep, out, scratch
            )
            accepted, done = accepted + more, done + taken
            return Advance(taken, used)

        walked(source, steps, advance)
        return IndependenceState(z, float(log_weight)), IndependenceTrace(out, accepted / max(1, steps))

    @cached_property
    def arrays(self) -> kernels.ChainArrays:
        """The chain as kernels read it."""
        return kernels.ChainArrays(
            self.proposals.arrays,
            self.limits.arrays,
            self.laws.rates,
            self.laws.powers,
            self.forced.free,
            self.forced.cells,
            *self.forced.rows,
            self.forced.divisors,
            self.laws.is_whole,
        )

    def __repr__(self) -> str:
        return f"StudyIndependence({len(self.laws.laws)} cells, {len(self.forced.free)} proposed)"
