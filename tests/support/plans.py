"""A request on small axes taken the whole way: compiled, decomposed, prepared; and its law beside it.

`law_at` is the law of the plain twin at given points: every choice of a draw without bounds set aside is
determined by what comes out, so that its probability is a product of the twin's own ratios.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from congenial.planning import drawing as drawings
from congenial.planning.drawing import Drawing, prepare
from congenial.problems.decompose import Layout, decompose
from congenial.problems.problem import Problem, make_problem
from congenial.problems.structure import FREE, Forms, Structure
from congenial.samplers.tree.sampler import TreeDraws
from support.branching import Branching, _CutError
from support.brute import SmallProblem, brute_force
from support.structures import Axes, structure

RIGHT = 1e-12


@dataclass(frozen=True)
class Case:
    """A table on small axes and what is asked of it."""

    axes: Axes
    x: Sequence[int]
    measured: Sequence[Any]
    facts: Sequence[Any] = ()
    bounds: Sequence[Any] = ()
    window: Any = 10

    @property
    def structure(self) -> Structure:
        return structure(self.axes, self.measured, self.facts, self.bounds)

    @property
    def problem(self) -> Problem:
        return make_problem(self.structure, np.array(self.x, dtype=np.int64))

    @property
    def layout(self) -> Layout:
        return decompose(self.problem)

    def prepared(self, monkeypatch: Any = None, allowance: float | None = None) -> Drawing:
        """The drawing, with trees only if `monkeypatch` is given, within 2^allowance."""
        if monkeypatch is None:
            return prepare(self.layout)
        with monkeypatch.context() as patch:
            patch.setattr(drawings, "_assign", only_trees)
            if allowance is not None:
                patch.setattr(drawings, "LOG2_ALLOWANCE", allowance)
            return prepare(self.layout)

    def small(self, window: Any = None) -> SmallProblem:
        """The problem as rows, for `brute_force`."""
        made = self.structure
        cells = made.domain.cells
        measured = [(row, m.law) for m in made.measured for row in dense(m.forms, cells)]
        facts = [row for fact in made.facts if fact.band is None for row in dense(fact.forms, cells)]
        facts += [np.eye(cells, dtype=np.int64)[cell].tolist() for cell in made.zeros.tolist()]
        bands = [(row, fact.band) for fact in made.facts if fact.band for row in dense(fact.forms, cells)]
        limits = [
            (row, None if limit.lower <= -FREE else limit.lower, None if limit.upper >= FREE else limit.upper)
            for limit in made.limits
            for row in dense(limit.forms, cells)
        ]
        window = self.window if window is None else window
        return SmallProblem(self.x, measured, facts, bands, limits, window)

    def law(self, window: Any = None) -> tuple[np.ndarray, np.ndarray]:
        """(points, probabilities) of law (1) by enumeration."""
        found = brute_force(self.small(window))
        return np.array(list(found), dtype=np.int64), np.array(list(found.values()), dtype=np.float64)


_ASSIGN = drawings._assign


def only_trees(forest: Any) -> np.ndarray:
    """Every root that nothing crosses is a tree."""
    assigned = _ASSIGN(forest)
    return np.where((assigned >= 0) & (assigned < drawings.TREE), drawings.TREE, assigned)


def dense(forms: Forms, cells: int) -> list[list[int]]:
    """Forms as rows; those without cells are left out."""
    starts, where, weights = forms.rows
    rows = np.zeros((forms.count, cells), dtype=np.int64)
    for j in range(forms.count):
        for at in range(int(starts[j]), int(starts[j + 1])):
            rows[j, where[at]] += weights[at]
    return [row.tolist() for row in rows if row.any()]


def form_rows(forms: Forms, cells: int) -> np.ndarray:
    """Forms as a matrix."""
    return np.array(dense(forms, cells), dtype=np.int64).reshape(-1, cells)


def twin_draw(made: Drawing, source: Any) -> np.ndarray:
    """One draw of the whole table by the plain twins, part by part as `Drawing.draws` goes."""
    row = np.zeros(made.layout.width, dtype=np.int64)
    for part in made.parts:
        row += part.prepared.draw(source)
    if made.tree is not None:
        given = np.zeros(len(made.tree.joined_slots), dtype=np.int64)
        for choice, columns in zip(made.choices, made._joined, strict=True):
            given[columns] = choice.prepared.draw(source)
        row += made.tree.draw_given(source, given)
    return row


def one_attempt(draw: Callable[[Any], Any], most: int) -> Callable[[Any], Any]:
    """A draw that is given up when it begins again; `most` is the number of forks of one attempt."""

    class Once:
        def __init__(self, source: Branching) -> None:
            self._source = source

        def __getattr__(self, name: str) -> Any:
            if len(self._source.forks) >= most:
                raise _CutError
            return getattr(self._source, name)

    return lambda source: draw(Once(source))


def forks(made: Drawing) -> int:
    """How many choices one attempt of a draw has, where there are trees and quotients alone."""
    assert not made.parts
    assert made.tree is not None
    return len(made.tree.splits.table) + len(made.tree.free_slots) + len(made.choices)


def slot_values(tree: TreeDraws, points: np.ndarray) -> np.ndarray:
    """The value of every slot of a tree's program at given noise, one row a point."""
    value = np.zeros((len(points), tree.splits.slots), dtype=np.int64)
    cells = tree.grown.forest.cells
    value[:, : len(cells)] = points[:, cells]
    s = tree.splits
    for into, one, two in zip(s.into[::-1], s.one[::-1], s.two[::-1], strict=True):
        value[:, into] = value[:, one] + value[:, two]
    return value


def slot_laws(tree: TreeDraws) -> list[tuple[int, np.ndarray]]:
    """The law of every slot of a tree without joined roots, (lowest value, probabilities).

    The laws of the roots are pushed down the program, a split at a time, by the twin's own weights.
    """
    g, s = tree.grown, tree.splits
    laws: list[tuple[int, np.ndarray]] = [(0, np.ones(1)) for _ in range(s.slots)]
    for slot in tree.free_slots.tolist():
        t = int(g.message[g.label[slot]])
        laws[slot] = int(g.low[t]), g.table(t) / math.fsum(g.table(t).tolist())
    for t, into, one, two in zip(
        s.table.tolist(), s.into.tolist(), s.one.tolist(), s.two.tolist(), strict=True
    ):
        low, weights = laws[into]
        a, b = int(g.left[t]), int(g.right[t])
        left, right = np.zeros(int(g.size[a])), np.zeros(int(g.size[b]))
        for at in np.flatnonzero(weights).tolist():
            first, row = tree.split_weights(t, low + at)
            row = row * (weights[at] / math.fsum(row.tolist()))
            begin = first - int(g.low[a])
            left[begin : begin + len(row)] += row
            end = low + at - first - int(g.low[b])
            right[end - len(row) + 1 : end + 1] += row[::-1]
        laws[one], laws[two] = (int(g.low[a]), left), (int(g.low[b]), right)
    return laws


def chance(first: int, weights: np.ndarray, at: np.ndarray) -> np.ndarray:
    """P(at) of a choice among first, first+1, … with these weights; zero outside."""
    inside = (at >= first) & (at < first + len(weights))
    held = weights[np.clip(at - first, 0, len(weights) - 1)] / math.fsum(weights.tolist())
    return np.where(inside, held, 0.0)


def tree_law_at(tree: TreeDraws, points: np.ndarray, *, watched: bool = True) -> np.ndarray:
    """P of the twin at points, given its joined roots; not normalised where bounds were set aside."""
    g, s = tree.grown, tree.splits
    value = slot_values(tree, points)
    found = np.ones(len(points))
    for slot in tree.free_slots.tolist():
        t = int(g.message[g.label[slot]])
        found *= chance(int(g.low[t]), g.table(t), value[:, slot])
    for t, into, one in zip(s.table.tolist(), s.into.tolist(), s.one.tolist(), strict=True):
        a, b = int(g.left[t]), int(g.right[t])
        least, most = g.low[a] + g.low[b], g.low[a] + g.low[b] + g.size[a] + g.size[b] - 2
        for total in np.unique(value[:, into]).tolist():
            here = value[:, into] == total
            if not least <= total <= most:
                found[here] = 0.0
                continue
            first, weights = tree.split_weights(t, total)
            found[here] *= chance(first, weights, value[here, one])
    for root in np.flatnonzero(g.forest.parent == -1).tolist():
        found[value[:, root] != 0] = 0.0
    if watched:
        x = value[:, g.watched]
        found[((x < g.watched_low) | (x > g.watched_high)).any(axis=1)] = 0.0
    inside = np.zeros(points.shape[1], dtype=bool)
    inside[g.forest.cells] = True
    found[(points[:, ~inside] != 0).any(axis=1)] = 0.0
    return found


def law_at(made: Drawing, points: np.ndarray) -> np.ndarray:
    """P of the whole draw at points, for trees and quotients."""
    assert not made.parts
    assert made.tree is not None
    found = tree_law_at(made.tree, points)
    value = slot_values(made.tree, points)
    for choice, columns in zip(made.choices, made._joined, strict=True):
        listed, weights = choice.prepared.points, choice.prepared.weights
        total = math.fsum(weights.tolist())
        held = {tuple(point): w / total for point, w in zip(listed.tolist(), weights.tolist(), strict=True)}
        sums = value[:, made.tree.joined_slots[columns]]
        found *= np.array([held.get(tuple(row), 0.0) for row in sums.tolist()])
    return found


def variation(sampled: np.ndarray, true: np.ndarray) -> float:
    """Total variation between a law given at points, which may have more elsewhere, and a true one."""
    elsewhere = max(0.0, 1.0 - math.fsum(sampled.tolist()))
    return 0.5 * (math.fsum(np.abs(sampled - true).tolist()) + elsewhere)


def agrees(case: Case, monkeypatch: Any, window: Any = None) -> Drawing:
    """The sampler's law is the enumerated one, and the enumeration left nothing out that matters."""
    made = case.prepared(monkeypatch)
    assert made.refused == ()
    assert made.certificate.tail_log2 <= drawings.LOG2_ALLOWANCE
    points, true = case.law(window)
    found = law_at(made, points)
    aside = len(made.tree.grown.watched) > 0
    assert 1 - 1e-6 * (1 + aside) < found.sum() < 1 + RIGHT
    assert (found[true > 1e-22] > 0).all()
    inside = found > 0
    ratio = (found[inside] / found.sum()) / (true[inside] / true[inside].sum())
    assert np.abs(ratio - 1).max() < min(RIGHT, made.certificate.relative_error + 1e-14)
    return made
