r"""FOR STUDY, NEVER FOR A RELEASE. A Metropolis chain on a hierarchy in which every node has its own noise.

The unconstrained mechanism measures each node v of a tree with a law p_v. Asked to agree (every node is
the sum of its children), the noise has

    P(z) ∝ Π_v p_v(Σ of the leaves below v),   within the limits.

One step moves all leaves at once by independent symmetric amounts, adds up the levels above, and is accepted
with probability min(1, P(z*)/P(z)), or refused.

**Source.** Liu, Sun, Zhou & Feng, *Two views of constrained differential privacy*, Algorithm 1 (M_MH). Their
letters: x̃ is the counts plus z, T_N is `parents`, f_{j+1,j} its sums, q the `steps`, A and a the `limits`.
Their q may be any proposal; here it is symmetric, as the normal one that they name, and cancels.
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
from congenial.samplers.published import _hierarchy_kernels as kernels
from congenial.samplers.published.deviates import Deviates, StudyLaw, odds
from congenial.samplers.published.limits import Limits
from congenial.samplers.published.walking import Advance, refuse_system, walked


class HierarchyState(NamedTuple):
    """What the next step needs: the noise of every node (whole numbers as floats), and log P there."""

    noise: FloatArray
    log_weight: float


class HierarchyInfo(NamedTuple):
    """For looking at: whether the step was accepted, kept to the limits, and the chance that it had."""

    is_accepted: bool
    is_inside: bool
    odds: float


class HierarchyTrace(NamedTuple):
    """The noise of all nodes after every so many steps, one a row, and the part of steps accepted."""

    noise: IntArray | FloatArray
    acceptance: float


@dataclass(frozen=True, eq=False, repr=False)
class StudyHierarchy:
    """Liu et al.'s M_MH.

    **Law.** Reversible with respect to P; only its limit has that law.
    **Exactness.** None after any number of steps.
    **Cost.** Some 5 ns a node and step. The more leaves, the smaller the steps that are accepted.
    """

    parents: IntArray
    laws: Deviates
    steps: Deviates
    limits: Limits

    certificate = Certificate("uncertified", how="a published Markov chain: for study, never for a release")

    @classmethod
    def of(
        cls,
        parents: Sequence[int],
        laws: StudyLaw | Sequence[StudyLaw],
        steps: StudyLaw | Sequence[StudyLaw],
        limits: Limits | None = None,
    ) -> StudyHierarchy:
        """A chain on nodes 0 … n-1 with `laws` and leaves that move by `steps`; roots have the parent -1."""
        tree = np.array(parents, dtype=np.int64)
        if any(not -1 <= parent < v for v, parent in enumerate(tree.tolist())):
            what = "a node stands before its parent, or names a parent that is no node"
            raise ArgumentError(Fault("", what, "List nodes from the root down; -1 is the parent of a root."))
        leaves = len(tree) - len(set(tree.tolist()) - {-1})
        found = cls(
            tree,
            Deviates.of(laws, len(tree)),
            Deviates.of(steps, leaves),
            Limits.of(len(tree)) if limits is None else limits,
        )
        if found.limits.lower.shape != tree.shape:
            what = f"the limits are on {len(found.limits.lower)} nodes; the tree has {len(tree)}"
            raise ArgumentError(what)
        if found.laws.is_whole != found.steps.is_whole:
            raise ArgumentError("laws and steps must both be on whole numbers, or both on real ones")
        return found

    @cached_property
    def leaves(self) -> IntArray:
        """The nodes without children."""
        return np.setdiff1d(np.arange(len(self.parents)), self.parents)

    def summed(self, noise: FloatArray) -> FloatArray:
        """Every node above the leaves as the sum of its children."""
        z = np.zeros(len(self.parents))
        z[self.leaves] = noise[self.leaves]
        for v in range(len(z) - 1, -1, -1):
            if self.parents[v] >= 0:
                z[self.parents[v]] += z[v]
        return z

    def init(self, leaves: ArrayLike | None = None) -> HierarchyState:
        """The state with this noise at the leaves; without any, at zero: the confidential counts."""
        z = np.zeros(len(self.parents))
        if leaves is not None:
            z[self.leaves] = np.asarray(leaves, dtype=np.float64)
        z = self.summed(z)
        if not self.limits.hold(z):
            what = "the noise to begin with breaks a limit"
            raise ArgumentError(Fault("", what, "Begin at zero: `init()`."))
        return HierarchyState(z, self.laws.log_weight(z))

    def propose(self, source: Source, noise: FloatArray) -> FloatArray | None:
        """All leaves moved and all nodes added up; None as soon as a limit is seen to be broken."""
        z = np.zeros(len(noise))
        for i, leaf in enumerate(self.leaves.tolist()):
            z[leaf] = noise[leaf] + self.steps.one(source, i)
            if not self.limits.keeps(leaf, z[leaf]):
                return None
        z = self.summed(z)
        return z if self.limits.hold(z) else None

    def step(self, source: Source, state: HierarchyState) -> tuple[HierarchyState, HierarchyInfo]:
        """Propose to move every leaf, accept or refuse all of it."""
        refuse_system(source)
        z = self.propose(source, state.noise)
        if z is None:
            return state, HierarchyInfo(False, False, 0.0)
        proposed = HierarchyState(z, self.laws.log_weight(z))
        chance = odds(proposed.log_weight - state.log_weight)
        is_accepted = source.uniform() <= chance
        return proposed if is_accepted else state, HierarchyInfo(is_accepted, True, chance)

    def walk(
        self, source: Stream, state: HierarchyState, steps: int, every: int = 0
    ) -> tuple[HierarchyState, HierarchyTrace]:
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
        return HierarchyState(z, float(log_weight)), HierarchyTrace(out, accepted / max(1, steps))

    @cached_property
    def arrays(self) -> kernels.ChainArrays:
        """The chain as kernels read it."""
        return kernels.ChainArrays(
            self.steps.arrays,
            self.limits.arrays,
            self.laws.rates,
            self.laws.powers,
            self.parents,
            self.leaves,
        )

    def __repr__(self) -> str:
        return f"StudyHierarchy({len(self.parents)} nodes, {len(self.leaves)} leaves)"
