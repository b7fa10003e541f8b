"""The nested part of a problem: a forest whose leaves are cells and whose nodes are forms.

Forms that are nested or disjoint make a tree: a node's value is the sum of its children's. A fixed
node cuts the tree, since what lies above and below it are then independent; what is left hangs under
roots. A root is fixed (its value is zero), free (weighed like any node) or joined (its value is drawn
together with others, because other forms cross: `crossing.py`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from congenial.laws import Law
from congenial.problems import _forest_kernels as kernels
from congenial.problems.structure import FREE

FIXED, OPEN, JOINED = -1, -2, -3
"""What stands in `Forest.parent` of a root."""

Laws = tuple[Law, ...]
"""The laws that weigh one value; their weights multiply. Empty: the value was not measured."""


@dataclass(frozen=True, eq=False, repr=False)
class Forest:
    """Nodes with children before parents; node i < len(cells) is the leaf of cell `cells[i]`.

    `law[v]` is an index into `laws` (entry 0 is the empty one). `lower`, `upper` limit a node's value.
    Nodes that the facts determine, or that are the same set as another, are not there.
    """

    cells: NDArray[np.int64]
    parent: NDArray[np.int64]
    law: NDArray[np.int64]
    lower: NDArray[np.int64]
    upper: NDArray[np.int64]
    laws: tuple[Laws, ...]

    @property
    def roots(self) -> NDArray[np.int64]:
        return np.flatnonzero(self.parent < 0)

    def root_of(self) -> NDArray[np.int64]:
        """For every node, the root it hangs under."""
        return np.asarray(kernels.roots_of(self.parent))

    def only(self, chosen: NDArray[np.bool_]) -> tuple[Forest, NDArray[np.int64]]:
        """The trees under chosen roots, and the new number of each node (-1: left out)."""
        if chosen[self.roots].all():
            return self, np.arange(len(self.parent))
        number, old, parent = kernels.only(self.parent, chosen)
        cells = self.cells[old[old < len(self.cells)]]
        forest = Forest(cells, parent, self.law[old], self.lower[old], self.upper[old], self.laws)
        return forest, number


class Planting:
    """A forest while it grows: partitions are joined to it one by one, fine to coarse."""

    def __init__(self, cells: int, zeros: NDArray[np.int64]) -> None:
        self.size = cells
        self.leaves = cells
        self._room(2 * cells + 16)
        self.top = np.arange(cells, dtype=np.int64)
        self.fixed[zeros] = True
        self.laws: list[Laws] = [()]

    def _room(self, room: int) -> None:
        def grown(name: str, fill: int, dtype: type) -> None:
            new: NDArray[Any] = np.full(room, fill, dtype=dtype)
            if hasattr(self, name):
                old = getattr(self, name)
                new[: len(old)] = old
            setattr(self, name, new)

        grown("parent", OPEN, np.int64)
        grown("fixed", 0, np.bool_)
        grown("law", 0, np.int64)
        grown("lower", -int(FREE), np.int64)
        grown("upper", int(FREE), np.int64)

    parent: NDArray[np.int64]
    fixed: NDArray[np.bool_]
    law: NDArray[np.int64]
    lower: NDArray[np.int64]
    upper: NDArray[np.int64]

    def join(self, groups: NDArray[np.int32], count: int) -> NDArray[np.int64] | None:
        """Make the groups of a partition nodes; their ids, or None where they cross what is there.

        A group that is the same set as a node is that node; an empty group is -1.
        """
        if self.size + count > len(self.parent):
            self._room(2 * (self.size + count))
        found, size = kernels.join(groups, count, self.top, self.parent, self.size)
        if size < 0:
            return None
        self.size = size
        return np.asarray(found)

    def weigh(self, nodes: NDArray[np.int64], law: Law) -> None:
        """Weigh the value of each node by a law, beside those that weigh it already."""
        nodes = nodes[nodes >= 0]
        before = self.law[nodes]
        for held in np.unique(before).tolist():
            both = (*self.laws[held], law)
            if both not in self.laws:
                self.laws.append(both)
            self.law[nodes[before == held]] = self.laws.index(both)

    def fix(self, nodes: NDArray[np.int64]) -> None:
        self.fixed[nodes[nodes >= 0]] = True

    def limit(self, nodes: NDArray[np.int64], lower: NDArray[np.int64], upper: NDArray[np.int64]) -> None:
        there = nodes >= 0
        nodes = nodes[there]
        self.lower[nodes] = np.maximum(self.lower[nodes], lower[there])
        self.upper[nodes] = np.minimum(self.upper[nodes], upper[there])

    def known(self, nodes: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Whether the facts so far fix the value of each node."""
        parent, fixed = self.parent[: self.size].copy(), self.fixed[: self.size].copy()
        same = kernels.settle(parent, fixed, np.empty(0, dtype=np.int64))
        return np.asarray(fixed[nodes] | (same[nodes] < 0))

    def grown(self, joined: NDArray[np.int64]) -> tuple[Forest, NDArray[np.int64]]:
        """Cut at fixed nodes, drop what is determined, merge what is the same.

        `joined` are nodes whose value is drawn elsewhere. Also returned: for each old node, its new
        number, or -1 where the facts determine it.
        """
        n = self.size
        parent, fixed = self.parent[:n].copy(), self.fixed[:n].copy()
        law, lower, upper = self.law[:n].copy(), self.lower[:n].copy(), self.upper[:n].copy()
        laws = list(self.laws)
        same = kernels.settle(parent, fixed, joined)
        self._merge(same, law, lower, upper, laws)
        kernels.drop_implied(parent, same, lower, upper, self.leaves)
        number, new_parent, old = kernels.renumber(parent, fixed, same, self.leaves)
        cells = old[old < self.leaves]
        forest = Forest(cells, new_parent, law[old], lower[old], upper[old], tuple(laws))
        return forest, number

    def _merge(
        self,
        same: NDArray[np.int64],
        law: NDArray[np.int64],
        lower: NDArray[np.int64],
        upper: NDArray[np.int64],
        laws: list[Laws],
    ) -> None:
        """Give what weighs and limits a node to the node that is the same set."""
        for v in np.flatnonzero(same != np.arange(len(same))).tolist():
            u = int(same[v])
            if u < 0:
                continue
            lower[u], upper[u] = max(lower[u], lower[v]), min(upper[u], upper[v])
            if law[v]:
                both = (*laws[law[u]], *laws[law[v]])
                if both not in laws:
                    laws.append(both)
                law[u] = laws.index(both)
