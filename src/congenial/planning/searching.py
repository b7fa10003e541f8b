r"""A search for the pair of tables that loses most: what bounds cost at least.

The guarantee bounds the loss of every pair from above; each pair that is looked at bounds it from below. The
tables begin as the confidential one, as all that may move piled into one cell, and as evenly spread; counts
are then moved about in both of the pair, as long as that makes the loss larger. What is found is never a
guarantee. Where the confidential table takes part, it is as confidential as that is.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from congenial.errors import ArgumentError
from congenial.laws import DiscreteLaplace
from congenial.planning.normaliser import ROUNDING, crosses, is_inside, kappa, log_normaliser
from congenial.privacy.guarantee import Findings
from congenial.problems.decompose import decompose
from congenial.problems.problem import without_centre
from congenial.problems.structure import Structure
from congenial.samplers.base import IntArray

MOST_CELLS = 2000
"""Cells of the largest table that is searched."""

_EFFORT = 60_000  # cells times normalisers
_MOST, _LEAST = 300, 40  # normalisers that a search may work out
_PAIRS = 300  # moves whose κ is looked at, and how many of the dearest are tried
_DEAREST = 3
_SIZES = (1, 4, 16, 64, 256, 1024)
_SEED = 5


@dataclass(frozen=True)
class PriceFound:
    """A pair of tables that loses at least `loss`: the second is the first plus `move` (cells, counts).

    `kappa` is what it would lose without bounds; `invented` says that the confidential table had no part.
    """

    loss: float
    kappa: float
    move: tuple[tuple[int, int], ...]
    invented: bool
    looked_at: int

    @property
    def price(self) -> float:
        """What bounds add for this pair, as a part of what it would lose without."""
        return self.loss / self.kappa - 1 if self.kappa else 0.0


@dataclass(frozen=True)
class NotSearched:
    """Why no pair was looked for, or none found."""

    why: str


def search_price(
    structure: Structure, found: Findings, counts: IntArray | None = None
) -> PriceFound | NotSearched:
    """The dearest pair that a short search meets; the same for the same request and counts.

    **Exactness.** A lower bound: the pair's own loss, less the rounding of two normalisers.
    **Cost.** Some hundred upward passes over small trees, at most a second or two; large tables are not
    searched.
    """
    why = _unsearchable(structure, found)
    if why:
        return NotSearched(why)
    if crosses(decompose(without_centre(structure)).forest):
        return NotSearched("forms cross, so that no normaliser falls out of a tree")
    search = _Search(structure, found)
    search.run(counts)
    return search.best or NotSearched("no pair of tables inside the bounds was met")


def _unsearchable(structure: Structure, found: Findings) -> str:
    if found.unproven or not all(isinstance(m.law, DiscreteLaplace) for m in structure.measured):
        return "only discrete Laplace with a proven guarantee has a loss to search for"
    if not found.bounds:
        return "no bound can bind: the loss is attained by every table"
    if structure.domain.cells > MOST_CELLS:
        return f"the table has more than {MOST_CELLS:,} cells"
    return ""


@dataclass
class _Search:
    """The state of a search: normalisers worked out so far, and the best pair."""

    structure: Structure
    found: Findings
    best: PriceFound | None = None
    left: int = 0
    _pair: tuple[IntArray, IntArray] | None = None
    _known: dict[bytes, float | None] = field(default_factory=dict)
    _random: np.random.Generator = field(default_factory=lambda: np.random.default_rng(_SEED))

    def run(self, counts: IntArray | None) -> None:
        cells = self.structure.domain.cells
        self.left = max(_LEAST, min(_MOST, _EFFORT // cells))
        moves = self._dearest()
        for start, invented in self._starts(counts, moves):
            if self.left < _LEAST // 2:
                break
            for move in moves:
                self._try(start, start + move, invented)
                self._try(start, start - move, invented)
        while self.left > 0 and self._pair is not None and self.best is not None:
            self.left -= 1
            step = self._step()
            if step is not None:
                self._try(self._pair[0] + step, self._pair[1] + step, self.best.invented)

    def _least(self) -> IntArray:
        """The table with the least counts that the bounds on single cells allow, or none at all."""
        low = np.zeros(self.structure.domain.cells, dtype=np.int64)
        for limit in self.structure.limits:
            if limit.forms.is_identity:
                low = np.clip(low, limit.lower, limit.upper)
        return low

    def _try(self, one: IntArray, other: IntArray, invented: bool) -> None:
        """Look at a pair in both orders."""
        if not is_inside(self.structure, one, other):
            return
        ours, theirs = self._log(one), self._log(other)
        if ours is None or theirs is None:
            return
        least = kappa(self.structure, one - other)
        for first, second, ratio in ((one, other, theirs - ours), (other, one, ours - theirs)):
            loss = least + ratio - ROUNDING
            if self.best is None or loss > self.best.loss:
                self._pair = first, second
                change = second - first
                moved = tuple((int(cell), int(change[cell])) for cell in np.flatnonzero(change))
                self.best = PriceFound(loss, least, moved, invented, len(self._known))

    def _log(self, table: IntArray) -> float | None:
        """ln C of a table; None where its tables would be too large."""
        key = table.tobytes()
        if key not in self._known:
            self.left -= 1
            try:
                self._known[key] = log_normaliser(self.structure, table)
            except ArgumentError:
                self._known[key] = None
        return self._known[key]

    def _dearest(self) -> list[IntArray]:
        """Admissible changes of as many rows as the units have, those with the largest κ."""
        found = {move.tobytes(): move for move in self._moves()}
        return sorted(found.values(), key=lambda move: -kappa(self.structure, move))[:_DEAREST]

    def _moves(self) -> Iterator[IntArray]:
        changes = self.found.changes
        pool, movable = changes.lattice.pool, np.flatnonzero(changes.lattice.least > 0)
        alone = movable[pool[movable] < 0]
        for _ in range(_PAIRS):
            one = int(self._random.choice(movable))
            if pool[one] < 0 and changes.change != "replace":
                yield self._change((one, changes.rows))
            alike = alone if pool[one] < 0 else np.flatnonzero(pool == pool[one])
            alike = alike[alike != one]
            if len(alike) and changes.change != "add-or-remove":
                yield self._change((one, -changes.rows), (int(self._random.choice(alike)), changes.rows))

    def _change(self, *parts: tuple[int, int]) -> IntArray:
        """A change of the open cells, over all cells."""
        change = np.zeros(self.structure.domain.cells, dtype=np.int64)
        for cell, by in parts:
            change[self.found.reading.cells[cell]] = by
        return change

    def _starts(self, counts: IntArray | None, moves: list[IntArray]) -> Iterator[tuple[IntArray, bool]]:
        """Tables to begin with, and whether they are invented."""
        if counts is not None:
            yield counts, False
        for move in moves:
            at = int(np.argmin(move)) if move.min() < 0 else int(np.argmax(move))
            if counts is not None:
                yield self._piled(counts, at), False
            for size in _SIZES:
                yield self._least() + size * int(np.abs(move).max()) * (np.arange(len(move)) == at), True
        if counts is not None:
            yield self._spread(counts), False
        open_ = np.zeros(self.structure.domain.cells, dtype=np.int64)
        open_[self.found.reading.cells] = 1
        for size in _SIZES[:2]:
            yield self._least() + size * open_, True

    def _piled(self, counts: IntArray, at: int) -> IntArray:
        """The counts of every pool in one cell of it, `at` where that is one."""
        cells, pool = self.found.reading.cells, self.found.changes.lattice.pool
        made = counts.copy()
        for label in np.unique(pool[pool >= 0]):
            held = cells[pool == label]
            heap = at if at in held else int(held[0])
            total = int(made[held].sum())
            made[held] = 0
            made[heap] = total
        return made

    def _spread(self, counts: IntArray) -> IntArray:
        """The counts of every pool as even as whole numbers allow."""
        cells, pool = self.found.reading.cells, self.found.changes.lattice.pool
        made = counts.copy()
        for label in np.unique(pool[pool >= 0]):
            held = cells[pool == label]
            each, rest = divmod(int(made[held].sum()), len(held))
            made[held] = each
            made[held[:rest]] += 1
        return made

    def _step(self) -> IntArray | None:
        """Some counts moved between two cells of a pool, or put into or taken from a cell in none."""
        pool = self.found.changes.lattice.pool
        movable = np.flatnonzero(self.found.changes.lattice.least > 0)
        one, by = int(self._random.choice(movable)), int(self._random.choice((1, 1, 2, 8)))
        if pool[one] < 0:
            return self._change((one, by * int(self._random.choice((-1, 1)))))
        alike = np.flatnonzero(pool == pool[one])
        alike = alike[alike != one]
        if not len(alike):
            return None
        return self._change((one, -by), (int(self._random.choice(alike)), by))
