"""Axes and domains: which cells a table has, before anybody counts anything.

A domain is public. An axis is a list of levels, coarse to fine; a flat axis has one. The leaves of
an axis are the nodes of its finest level, in the order of output; cells are the combinations of the
leaves of all axes, in C order (the last axis runs fastest).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import prod

import numpy as np
from numpy.typing import NDArray

Path = tuple[str, ...]
"""The labels from the coarsest level down to a node; a flat axis has paths of one label."""


@dataclass(frozen=True, eq=False)
class Level:
    """One level of an axis: its name, the label of each node, and the node above (coarsest: None).

    Nodes stand in the order of output, and the children of a node stand together.
    """

    name: str
    labels: tuple[str, ...]
    parent: NDArray[np.int32] | None = None


@dataclass(frozen=True, eq=False)
class Axis:
    """A named axis with its levels, coarse to fine."""

    name: str
    levels: tuple[Level, ...]

    @staticmethod
    def flat(name: str, categories: Sequence[str]) -> Axis:
        """An axis of one level, named as the axis."""
        return Axis(name, (Level(name, tuple(categories)),))

    @staticmethod
    def nested(name: str, levels: Sequence[str], paths: Sequence[Path]) -> Axis:
        """A hierarchy from the paths of its leaves, in the order of output (first seen, first out).

        Leaves of one parent need not stand together in `paths`; the axis groups them.
        """
        return Axis.from_columns(name, levels, list(zip(*paths, strict=True)) or [()] * len(levels))

    @staticmethod
    def from_columns(name: str, levels: Sequence[str], columns: Sequence[Sequence[str]]) -> Axis:
        """A hierarchy from the labels of its leaves, one column a level; the order is that of `nested`.

        **Cost.** A dictionary look-up and a place in one integer sort for each leaf and level.
        """
        made: list[Level] = []
        above = np.zeros(len(columns[0]), dtype=np.int64)
        for level, labels in zip(levels, columns, strict=True):
            seen: dict[str, int] = {}
            codes = np.array([seen.setdefault(label, len(seen)) for label in labels], dtype=np.int64)
            _, first, inverse = np.unique(above * len(seen) + codes, return_index=True, return_inverse=True)
            order = np.lexsort((first, above[first]))  # first seen within a parent
            first = first[order]
            parent = above[first].astype(np.int32) if made else None
            made.append(Level(level, tuple(labels[at] for at in first.tolist()), parent))
            rank = np.empty(len(order), dtype=np.int64)
            rank[order] = np.arange(len(order))
            above = rank[inverse]
        return Axis(name, tuple(made))

    @property
    def size(self) -> int:
        """Number of leaves."""
        return len(self.levels[-1].labels)

    @property
    def is_flat(self) -> bool:
        return len(self.levels) == 1

    @cached_property
    def level_names(self) -> tuple[str, ...]:
        return tuple(level.name for level in self.levels)

    @cached_property
    def _nodes(self) -> tuple[NDArray[np.int32], ...]:
        at = np.arange(self.size, dtype=np.int32)
        found = [at]
        for level in reversed(self.levels[1:]):
            assert level.parent is not None
            at = level.parent[at]
            found.append(at)
        return tuple(reversed(found))

    def nodes(self, depth: int) -> NDArray[np.int32]:
        """For each leaf, its node on level `depth` (0 is the coarsest)."""
        return self._nodes[depth]

    def path(self, depth: int, node: int) -> Path:
        """The labels from the coarsest level down to `node` on level `depth`."""
        labels: list[str] = []
        for level in reversed(self.levels[: depth + 1]):
            labels.append(level.labels[node])
            if level.parent is not None:
                node = int(level.parent[node])
        return tuple(reversed(labels))

    def paths(self, depth: int = -1) -> Iterator[Path]:
        """The paths of all nodes of a level, in the order of output."""
        depth %= len(self.levels)
        node: NDArray[np.int32] = np.arange(len(self.levels[depth].labels), dtype=np.int32)
        columns: list[Sequence[str]] = [self.levels[depth].labels]
        for at in range(depth, 0, -1):
            parent = self.levels[at].parent
            assert parent is not None
            node = parent[node]
            labels = self.levels[at - 1].labels
            columns.append([labels[n] for n in node.tolist()])
        return zip(*reversed(columns), strict=True)

    @cached_property
    def _index(self) -> dict[Path, tuple[int, int]]:
        return {
            path: (depth, node)
            for depth in range(len(self.levels))
            for node, path in enumerate(self.paths(depth))
        }

    def find(self, path: Path) -> tuple[int, int] | None:
        """(depth, node) of a path, or None where the axis has no such node."""
        return self._index.get(path)

    def leaf_columns(self) -> dict[str, NDArray[np.object_]]:
        """For each level, the label of every leaf's node on it: the columns of an output."""
        return {
            level.name: np.array(level.labels, dtype=object)[self.nodes(depth)]
            for depth, level in enumerate(self.levels)
        }


@dataclass(frozen=True, eq=False)
class Domain:
    """The complete, public list of cells: the product of the leaves of its axes."""

    axes: tuple[Axis, ...]
    shape: tuple[int, ...] = field(init=False)
    cells: int = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "shape", tuple(axis.size for axis in self.axes))
        object.__setattr__(self, "cells", prod(self.shape))

    def axis(self, name: str) -> Axis | None:
        return next((axis for axis in self.axes if axis.name == name), None)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(axis.name for axis in self.axes)

    def cell(self, index: int) -> str:
        """A cell as a person names it: `place=Ohio/Athens, sex=female`."""
        places = np.unravel_index(index, self.shape)
        return ", ".join(
            f"{axis.name}={'/'.join(axis.path(len(axis.levels) - 1, int(at)))}"
            for axis, at in zip(self.axes, places, strict=True)
        )
