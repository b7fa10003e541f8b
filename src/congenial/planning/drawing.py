"""A layout made ready to draw: each block with the cheapest sampler that is exact for it.

Blocks are the roots of the forest and its crossings. Cells alone go to `independent`, plain fixed
sums to `composition`, every other tree to `tree`; where forms cross, the sums of atoms are drawn by
the cheapest of the crossing samplers and the tree divides them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from congenial.errors import ArgumentError, Fault, NoSamplerError
from congenial.laws import DiscreteLaplace
from congenial.planning.crossings import Choice, choose
from congenial.privacy.guarantee import ROUNDING, TAIL_LOG2
from congenial.problems import _forest_kernels as forest_kernels
from congenial.problems.decompose import Layout
from congenial.problems.forest import FIXED, JOINED, OPEN, Forest
from congenial.problems.structure import FREE
from congenial.randomness import Source
from congenial.samplers import composition, independent
from congenial.samplers.base import Certificate, Filled, FloatArray, IntArray, Prepared, Words
from congenial.samplers.base import Source as AnySource
from congenial.samplers.running import run
from congenial.samplers.tree.growing import RefusedError, grow_forest
from congenial.samplers.tree.sampler import TreeDraws, ready

LOG2_ALLOWANCE = TAIL_LOG2
"""Total variation that a whole draw may have, as log2: what the guarantee of a release states."""

MOST_ROUNDING = ROUNDING
"""Relative rounding of a joint probability that a whole draw may have: what the guarantee states."""

MEMORY = 6e9
"""Bytes that the tables of a plan may take."""

_LEAST_ACCEPTANCE = 0.5

INDEPENDENT, COMPOSITION, TREE, CROSSING = 0, 1, 2, 3
"""Which sampler a root goes to."""


@dataclass(frozen=True, eq=False, repr=False)
class Part:
    """A sampler ready for some of the cells."""

    name: str
    prepared: Prepared


@dataclass(frozen=True, eq=False, repr=False)
class Drawing:
    """Everything that draws, part by part; `refused` says why some blocks have no sampler."""

    layout: Layout
    assigned: IntArray
    parts: tuple[Part, ...]
    tree: TreeDraws | None
    choices: tuple[Choice, ...]
    refused: tuple[Fault, ...] = ()
    _joined: tuple[IntArray, ...] = field(default=(), repr=False)

    @property
    def certificate(self) -> Certificate:
        """The parts' certificates together."""
        held = [part.prepared.certificate for part in self.parts]
        held += [self.tree.certificate] if self.tree is not None else []
        held += [choice.prepared.certificate for choice in self.choices if choice.prepared is not None]
        tails = [c.tail_log2 for c in held if c.tail_log2 > -np.inf]
        tail = float(np.logaddexp2.reduce(tails)) if tails else float("-inf")
        return Certificate("exact", sum(c.relative_error for c in held), tail, "all blocks")

    def draws(
        self, many: int, source: Source, progress: Callable[[int, int], None] | None = None
    ) -> IntArray:
        """Noise: `many` rows over all cells."""
        if self.refused:
            raise NoSamplerError(self.refused, subject="The plan")
        out = np.zeros((many, self.layout.width), dtype=np.int64)
        for part in self.parts:
            run(part.prepared, source, out)
        if self.tree is not None:
            given = np.zeros((many, len(self.tree.joined_slots)), dtype=np.int64)
            for choice, columns in zip(self.choices, self._joined, strict=True):
                assert choice.prepared is not None
                sums = np.empty((many, len(columns)), dtype=np.int64)
                run(choice.prepared, source, sums)
                given[:, columns] = sums
            run(_Given(self.tree, given), source, out)
        if progress is not None:
            progress(many, many)
        return out


class _Given:
    """A tree with the values of its joined roots, row by row; what `run` walks."""

    def __init__(self, tree: TreeDraws, given: IntArray) -> None:
        self.width = tree.width
        self.certificate = tree.certificate
        self.words_hint = 2 * len(tree.splits.table) + 2 * len(tree.free_slots) + 1
        self._tree = tree
        self._given = given

    def draw(self, source: AnySource) -> IntArray:
        row, self._given = self._given[0], self._given[1:]
        return self._tree.draw_given(source, row)

    def fill(self, words: Words, out: IntArray) -> Filled:
        filled = self._tree.fill_given(words, out, self._given)
        self._given = self._given[filled.draws :]
        return filled


def silent(layout: Layout) -> Drawing:
    """What draws nothing, for a release that says nothing."""
    return Drawing(layout, np.full(len(layout.forest.parent), -1, dtype=np.int64), (), None, ())


def prepare(layout: Layout) -> Drawing:
    """Choose and build the samplers of a layout."""
    forest = layout.forest
    assigned = _assign(forest)
    parts: list[Part] = []
    refused: list[Fault] = []
    allowance = LOG2_ALLOWANCE - 3
    for name, make in (("independent", _independent), ("composition", _composition)):
        try:
            prepared = make(forest, assigned, layout.width, 2.0**allowance)
        except (ArgumentError, NoSamplerError):
            refused.append(_too_much(name, "the noise is too wide for its tables"))
            continue
        if prepared is not None:
            parts.append(Part(name, prepared))
    tree: TreeDraws | None = None
    choices: tuple[Choice, ...] = ()
    joined: tuple[IntArray, ...] = ()
    chosen = np.isin(assigned, (TREE, CROSSING))
    if chosen.any():
        try:
            tree, choices, joined = _tree(layout, chosen, allowance)
            refused += [choice.refusal for choice in choices if choice.refusal is not None]
        except RefusedError as error:
            refused.append(_too_much("tree", str(error)))
    made = Drawing(layout, assigned, tuple(parts), tree, choices, tuple(refused), joined)
    over = _over(made.certificate)
    if over:
        refused += [_too_much("tree", why) for why in over]
        made = Drawing(layout, assigned, tuple(parts), tree, choices, tuple(refused), joined)
    return made


def _over(certificate: Certificate) -> list[str]:
    """In what a certificate exceeds the limits that the guarantee states."""
    found = []
    if certificate.relative_error > MOST_ROUNDING:
        found.append(
            f"its tables are so long that rounding could exceed the {MOST_ROUNDING:g} that a release may have"
        )
    if certificate.tail_log2 > LOG2_ALLOWANCE:
        found.append(f"its windows leave out more than the 2^{LOG2_ALLOWANCE:g} that a release may")
    return found


def _too_much(sampler: str, why: str) -> Fault:
    return Fault(
        "measurements",
        f"the sampler '{sampler}' would be exact here, but {why}",
        "Measure with less noise, bound fewer sums, or cut the table in parts.",
        "docs/explanation/samplers.md",
    )


def _assign(forest: Forest) -> IntArray:
    """For every node: the sampler of its root where it is a root, -1 elsewhere."""
    leaves = len(forest.cells)
    _, inner, same = forest_kernels.sizes(forest.parent, forest.law, leaves)
    assigned = np.full(len(forest.parent), -1, dtype=np.int64)
    roots = forest.roots
    assigned[roots] = TREE
    assigned[roots[forest.parent[roots] == JOINED]] = CROSSING
    plain = np.array([len(laws) == 1 for laws in forest.laws])
    laplace = np.array([len(laws) == 1 and isinstance(laws[0], DiscreteLaplace) for laws in forest.laws])
    lone = roots[(roots < leaves) & (forest.parent[roots] == OPEN)]
    around = (forest.lower[lone] <= 0) & (forest.upper[lone] >= 0)
    assigned[lone[plain[forest.law[lone]] & around]] = INDEPENDENT
    sums = roots[(roots >= leaves) & (forest.parent[roots] == FIXED)]
    sums = sums[(inner[sums] == 0) & (same[sums] > 0)]
    sums = sums[laplace[same[sums]]]
    if len(sums):
        assigned[sums[_acceptance(forest, sums) >= _LEAST_ACCEPTANCE]] = COMPOSITION
    return assigned


def _acceptance(forest: Forest, sums: IntArray) -> FloatArray:
    """For roots over like leaves, a lower bound of the chance that a composition keeps the limits.

    As `composition.acceptance_bound`, for many roots at once: below its limit a leaf goes with at most
    the chance that the law alone gives it.
    """
    leaves = len(forest.cells)
    rate = np.array([laws[0].rate if laws else 1.0 for laws in forest.laws])[forest.law[:leaves]]
    broken = np.zeros(leaves)
    for slack in (-forest.lower[:leaves], forest.upper[:leaves]):
        near = slack < FREE
        broken[near] += np.exp(-rate[near] * (slack[near] + 1)) / (1 + np.exp(-rate[near]))
    total = np.bincount(np.maximum(forest.parent[:leaves], 0), weights=broken, minlength=len(forest.parent))
    return np.asarray(1.0 - total[sums])


def _independent(forest: Forest, assigned: IntArray, width: int, allowance: float) -> Prepared | None:
    lone = np.flatnonzero(assigned == INDEPENDENT)
    if not len(lone):
        return None
    groups = [
        independent.LawOnCells(forest.cells[lone[forest.law[lone] == at]], forest.laws[at][0])
        for at in np.unique(forest.law[lone]).tolist()
    ]
    return independent.prepare(groups, width, allowance, **_limits(forest, lone, width))


def _composition(forest: Forest, assigned: IntArray, width: int, allowance: float) -> Prepared | None:
    sums = np.flatnonzero(assigned == COMPOSITION)
    if not len(sums):
        return None
    leaves = len(forest.cells)
    chosen = assigned == COMPOSITION
    mine = np.flatnonzero(chosen[np.maximum(forest.parent[:leaves], 0)] & (forest.parent[:leaves] >= 0))
    mine = mine[np.argsort(forest.parent[mine], kind="stable")]
    ends = np.flatnonzero(np.diff(forest.parent[mine])) + 1
    groups = []
    for member in np.split(mine, ends):
        law = forest.laws[forest.law[member[0]]][0]
        groups.append(composition.Group(forest.cells[member], law.rate))
    return composition.prepare(groups, width, allowance, **_limits(forest, mine, width))


def _limits(forest: Forest, leaves: IntArray, width: int) -> dict[str, IntArray]:
    """The limits of some leaves by cell, as keywords of `prepare`; none where nothing is limited."""
    if (forest.lower[leaves] <= -FREE).all() and (forest.upper[leaves] >= FREE).all():
        return {}
    lower, upper = np.full(width, -FREE), np.full(width, FREE)
    lower[forest.cells[leaves]] = forest.lower[leaves]
    upper[forest.cells[leaves]] = forest.upper[leaves]
    return {"lower": lower, "upper": upper}


def _tree(
    layout: Layout, chosen: NDArray[np.bool_], allowance: float
) -> tuple[TreeDraws, tuple[Choice, ...], tuple[IntArray, ...]]:
    """The forest's tables and, where forms cross, a sampler for each crossing over them."""
    forest, number = layout.forest.only(chosen)
    finer = 0.0
    for _ in range(3):
        grown = grow_forest(forest, allowance - finer, MEMORY)
        choices, short = choose(layout.crossings, grown, number, allowance, finer)
        if not short:
            break
        finer += short
    tree = ready(grown, layout.width, allowance)
    place = np.full(len(forest.parent), -1, dtype=np.int64)
    place[tree.joined_slots] = np.arange(len(tree.joined_slots))
    joined = tuple(place[number[crossing.atoms]] for crossing in layout.crossings)
    return tree, choices, joined
