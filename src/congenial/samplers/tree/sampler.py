r"""Nested queries: noise that keeps a tree of facts, any law at any node, any limits. Exact.

If measured, fixed and limited forms nest, law (1) is a tree. Upward: the message of a node,
m_v(t) = f_v(t) · (⊛ children m_c)(t), on a finite window. Downward: a node's value is divided among its
children by splits, each drawing one part given the sum of two: P(i | s) ∝ a(i) b(s-i). A draw is a flat
list of such splits, from the roots to the cells; the values of joined roots are given.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from congenial.problems.forest import JOINED, OPEN
from congenial.randomness import SEGMENT
from congenial.samplers.base import Certificate, Filled, FloatArray, IntArray, Source, Words
from congenial.samplers.tree import _draw_kernels as kernels
from congenial.samplers.tree.growing import Grown

_ROUND = 2.0**-53
_KEPT = 192 * 2**20
"""Bytes of split rows kept for the next draw."""


@dataclass(frozen=True, eq=False, repr=False)
class Splits:
    """The program of a draw: divide slot `into` between slots `one` and `two` by table `table`."""

    table: IntArray
    into: IntArray
    one: IntArray
    two: IntArray
    slots: int


@dataclass(frozen=True, eq=False, repr=False)
class TreeDraws:
    """A forest ready to draw.

    **Law.** (1) restricted to the forest's cells, given the values of its joined roots.
    **Exactness.** See `certificate`: windows leave out `tail`, floats round by `relative_error`.
    **Cost.** A split a cell: a table look-up where the row is kept, a window's length where it is not.
    """

    grown: Grown
    splits: Splits
    certificate: Certificate
    width: int
    free_slots: IntArray
    joined_slots: IntArray
    cut: float
    _kept: tuple[IntArray, IntArray, FloatArray, IntArray] = field(repr=False)

    def draw_given(self, source: Source, given: IntArray) -> IntArray:
        """One draw by the plain twin; `given` has the values of the joined roots, in their order."""
        g = self.grown
        while True:
            value = np.zeros(self.splits.slots, dtype=np.int64)
            value[self.joined_slots] = given
            for slot in self.free_slots.tolist():
                t = int(g.message[g.label[slot]])
                value[slot] = g.low[t] + source.segmented(g.table(t))
            s = self.splits
            for t, into, one, two in zip(s.table, s.into, s.one, s.two, strict=True):
                first, weights = self.split_weights(int(t), int(value[into]))
                value[one] = first + source.segmented(weights)
                value[two] = value[into] - value[one]
            x = value[g.watched]
            if ((g.watched_low <= x) & (x <= g.watched_high)).all():
                break
        out = np.zeros(self.width, dtype=np.int64)
        out[g.forest.cells] = value[: len(g.forest.cells)]
        return out

    def split_weights(self, t: int, total: int) -> tuple[int, FloatArray]:
        """(lowest left part, weights of it and the following ones) where table t's value is `total`."""
        g = self.grown
        a, b = int(g.left[t]), int(g.right[t])
        first = max(int(g.low[a]), total - int(g.low[b] + g.size[b] - 1))
        last = min(int(g.low[a] + g.size[a] - 1), total - int(g.low[b]))
        ahead = g.table(a)[first - g.low[a] : last - g.low[a] + 1]
        behind = g.table(b)[total - last - g.low[b] : total - first - g.low[b] + 1][::-1]
        weights = ahead * behind
        top = int(np.argmax(weights))
        least = self.cut * weights[top]
        begin = int(np.searchsorted(weights[: top + 1], least))
        end = len(weights) - int(np.searchsorted(weights[top:][::-1], least))
        return first + begin, weights[begin:end]

    def draw(self, source: Source) -> IntArray:
        """One draw by the plain twin, of a forest without joined roots."""
        return self.draw_given(source, np.empty(0, dtype=np.int64))

    def fill_given(self, words: Words, out: IntArray, given: IntArray) -> Filled:
        """Rows of `out` by the kernel, given one row a draw of the joined roots' values."""
        g, s = self.grown, self.splits
        done, used = kernels.fill(
            words,
            out,
            given,
            g.pool,
            g.start,
            g.low,
            g.size,
            g.left,
            g.right,
            s.table,
            s.into,
            s.one,
            s.two,
            g.message[g.label[self.free_slots]],
            self.free_slots,
            self.joined_slots,
            g.forest.cells,
            g.watched,
            g.watched_low,
            g.watched_high,
            self.cut,
            np.zeros(s.slots, dtype=np.int64),  # fixed roots stay zero
            np.empty(int(g.size.max(initial=1))),
            *self._kept,
        )
        return Filled(done, used)

    def fill(self, words: Words, out: IntArray) -> Filled:
        """Rows of `out` by the kernel, of a forest without joined roots."""
        return self.fill_given(words, out, np.empty((len(out), 0), dtype=np.int64))


def ready(grown: Grown, width: int, log2_allowance: float) -> TreeDraws:
    """The program and the certificate of a grown forest; `width` is the number of cells of a row."""
    g = grown
    splits = Splits(
        *kernels.program(
            g.starts, g.children, g.label, g.message, g.left, g.right, g.members, len(g.forest.cells)
        )
    )
    used = np.bincount(splits.table, minlength=len(g.size))
    joint = np.flatnonzero(used)
    shorter = np.minimum(g.size[g.left[joint]], g.size[g.right[joint]])
    parent = g.forest.parent
    free = np.flatnonzero(parent == OPEN)
    free_sizes = g.size[g.message[g.label[free]]]
    # a table's entry adds a quarter of `shorter` terms one by one; a pick as `Source.segmented` says
    rounding = g.leaf_rounding + _ROUND * float(
        (used[joint] * (shorter / 4 + 12.0 + _picked(shorter))).sum() + (_picked(free_sizes) + 8.0).sum()
    )
    # every split leaves out at most `cut` of its largest weight, a window's length of times
    cut = 2.0 ** np.floor(log2_allowance - 2 - np.log2(max(1.0, float((used[joint] * shorter).sum()))))
    missing = g.missing + cut * float((used[joint] * shorter).sum())
    certificate = Certificate(
        "exact",
        relative_error=rounding,
        tail_log2=float(np.log2(missing)) if missing > 0 else float("-inf"),
        how="tree",
    )
    return TreeDraws(
        g,
        splits,
        certificate,
        width,
        free,
        np.flatnonzero(parent == JOINED),
        float(cut),
        _cache(g, joint, used),
    )


def _picked(length: IntArray) -> FloatArray:
    """What a pick from a row of this length rounds by, in units of 2^-53."""
    return 6.0 * (np.minimum(length, SEGMENT) + length / SEGMENT)


def _cache(g: Grown, joint: IntArray, used: IntArray) -> tuple[IntArray, IntArray, FloatArray, IntArray]:
    """Room for split rows, given to the tables that a draw asks most often.

    (first place of each table's sums or -1, where each sum's row begins or -1, the rows, room used).
    """
    sums = g.size[g.left[joint]] + g.size[g.right[joint]] - 1
    likely = np.minimum(sums, 400) * np.minimum(g.size[g.left[joint]], g.size[g.right[joint]])
    order = np.argsort(-used[joint], kind="stable")
    many = int(np.searchsorted(np.cumsum(8.0 * likely[order]), 4 * _KEPT))
    allowed = order[: max(many, 1)]
    row_base = np.full(len(g.size), -1, dtype=np.int64)
    ends = np.cumsum(sums[allowed])
    row_base[joint[allowed]] = ends - sums[allowed]
    places = int(ends[-1]) if len(ends) else 0
    entries = int(min(_KEPT // 8, float(((likely / np.minimum(sums, 400) + 8) * sums)[allowed].sum())))
    return row_base, np.full(places, -1, dtype=np.int64), np.empty(entries), np.zeros(1, dtype=np.int64)
