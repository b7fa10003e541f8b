r"""FOR STUDY, NEVER FOR A RELEASE. A Metropolis chain on a lattice, all directions proposed in one sweep.

The state is a point of the lattice z = Σ_j v_j b_j. A sweep proposes v*_j = v_j + e_j in every direction j,
e_j independent and symmetric, and the whole of it is accepted with probability min(1, P(z*)/P(z)), or
refused. (Printed, the algorithm is called Gibbs within Metropolis. The loop over j only *draws*; nothing is
accepted before all directions have been proposed.)

**Source.** Dharangutte, Gao, Gong & Yu (2023), *Integer subspace differential privacy*, Algorithm 1. Their
letters: V's last columns are the rows of `Lattice.basis`, η is `Jumps`, q_ε is `Target`, π₀ is `scatter`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from congenial.errors import ArgumentError
from congenial.laws import Law
from congenial.randomness import Source as Stream
from congenial.samplers.base import Certificate, IntArray, Source, Words
from congenial.samplers.integer_table import joined
from congenial.samplers.published import _sweep_kernels as kernels
from congenial.samplers.published.jumps import Jumps
from congenial.samplers.published.lattices import Lattice
from congenial.samplers.published.targets import Target
from congenial.samplers.published.walking import Advance, refuse_system, walked


class SweepState(NamedTuple):
    """What the next step needs: coordinates in the basis, the noise there, and its size (see `Target`)."""

    coordinates: IntArray
    noise: IntArray
    size: int


class SweepInfo(NamedTuple):
    """For looking at: whether the sweep was accepted, and the chance that it had."""

    is_accepted: bool
    odds: float


class SweepTrace(NamedTuple):
    """The noise after every so many steps, one a row, and the part of all steps that were accepted."""

    noise: IntArray
    acceptance: float


@dataclass(frozen=True, eq=False)
class StudySweep:
    """Algorithm 1: a chain that tends to `target` on `lattice`.

    **Law.** Reversible with respect to `target`, whatever the (symmetric) jumps; only its limit has that law.
    **Exactness.** None after any number of steps; `meetings` estimates how far off.
    **Cost.** A few nanoseconds a direction that moves; 10³ to 10⁷ steps a usable draw.
    """

    lattice: Lattice
    target: Target
    jumps: Jumps

    certificate = Certificate("uncertified", how="a published Markov chain: for study, never for a release")

    def __post_init__(self) -> None:
        if self.jumps.directions != self.lattice.dimension:
            what = f"the jumps have {self.jumps.directions} directions, the lattice {self.lattice.dimension}"
            raise ArgumentError(what)

    @classmethod
    def of(cls, lattice: Lattice, target: Target, law: Law) -> StudySweep:
        """A chain whose jumps have a discrete law (double geometric with a = e^-s: DiscreteLaplace(s))."""
        return cls(lattice, target, Jumps.of(law, lattice.dimension))

    def init(self, coordinates: ArrayLike | None = None) -> SweepState:
        """The state at these coordinates; without any, at zero noise."""
        if coordinates is None:
            coordinates = np.zeros(self.lattice.dimension, dtype=np.int64)
        v = np.array(coordinates, dtype=np.int64)
        noise = self.lattice.point(v)
        return SweepState(v, noise, self.target.size(noise))

    def scatter(self, source: Source) -> SweepState:
        """A first state: one sweep of jumps from zero, as the paper begins."""
        refuse_system(source)
        return self.init(self.jumps.draw(source))

    def step(self, source: Source, state: SweepState) -> tuple[SweepState, SweepInfo]:
        """Propose a sweep, accept or refuse it whole."""
        refuse_system(source)
        proposed = self.init(state.coordinates + self.jumps.draw(source))
        odds = self.target.odds(state.size, proposed.size)
        is_accepted = source.uniform() <= odds
        return proposed if is_accepted else state, SweepInfo(is_accepted, odds)

    def walk(
        self, source: Stream, state: SweepState, steps: int, every: int = 0
    ) -> tuple[SweepState, SweepTrace]:
        """`steps` steps by the kernel: those of `step` on the same words. Keeps each `every`-th (0: none)."""
        v, noise, size, accepted, done = state.coordinates.copy(), state.noise.copy(), state.size, 0, 0
        keep = every or steps + 1
        out = np.empty((steps // keep, self.lattice.width), dtype=np.int64)
        scratch = np.empty((2, self.lattice.dimension), dtype=np.int64)

        def advance(words: Words, left: int) -> Advance:
            nonlocal size, accepted, done
            taken, used, more, size = kernels.walk(
                words, self.arrays, v, noise, size, left, done, keep, out, scratch
            )
            accepted, done = accepted + more, done + taken
            return Advance(taken, used)

        walked(source, steps, advance)
        return SweepState(v, noise, int(size)), SweepTrace(out, accepted / max(1, steps))

    @cached_property
    def arrays(self) -> kernels.ChainArrays:
        """The chain as kernels read it."""
        tables = (self.jumps.table, self.jumps.gaps, self.jumps.moves)
        high, low, guide, firsts = joined(tables)
        jump, gaps, moves = (
            kernels.Place(first, len(table), at, np.uint64(table.shift), table.offset)
            for table, (first, at) in zip(tables, firsts, strict=True)
        )
        return kernels.ChainArrays(
            *self.lattice.rows,
            high,
            low,
            guide,
            jump,
            gaps,
            moves,
            mass=self.jumps.mass,
            directions=self.lattice.dimension,
            by_gaps=self.jumps.by_gaps,
            rate=float(self.target.rate),
            power=self.target.power,
            is_root=self.target.norm == "l2",
        )
