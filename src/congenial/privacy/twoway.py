r"""Facts of two crossing chains: what moves is a cycle.

Rows are the pools of one chain, columns those of the other; a cell is an edge between its row and its
column. A change keeps every pool's sum exactly when it is a circulation, and a circulation is a sum of
alternating cycles that agree in sign, so that everything is said by the shortest cycle through an edge:
a cycle of 2ℓ edges is ℓ counts taken away and ℓ put elsewhere. Cells in no pool of a chain meet in a
vertex of their own (`ground`), whose sum is free where counts may be added: there an edge without a cell
joins the two grounds.

Two cells with the same row and column are a cycle of two; a 2×2 swap is one of four; an r×c table without
its diagonal, r = c = 3, has one cycle of six. An edge in no cycle is determined: a bridge.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from congenial.privacy.lattice import Labels, Move

_LONGEST = 12  # rows of a cycle that is shown although shorter ones exist


@dataclass(frozen=True, eq=False)
class Cycles:
    """For each cell the least counts that move with it (0: determined), and a shortest move for some."""

    least: NDArray[np.int64]
    moves: tuple[Move, ...]
    adds: bool
    """Whether some change adds counts."""


def shortest(rows: Labels, columns: Labels, *, may_add: bool) -> Cycles:
    """The shortest cycle through every cell.

    **Cost.** Cycles of two and four by counting (a matrix product); a search for each edge without one.
    """
    graph = _Graph(rows, columns, may_add)
    least = graph.least_of_edges()
    per_cell = least[graph.edge]
    return Cycles(per_cell, tuple(graph.some_moves(least)), graph.adds())


class _Graph:
    """The multigraph of the cells; edges are classes of cells, the last may be the one without a cell."""

    def __init__(self, rows: Labels, columns: Labels, may_add: bool) -> None:
        row = np.where(rows < 0, rows.max(initial=-1) + 1, rows)
        column = np.where(columns < 0, columns.max(initial=-1) + 1, columns)
        row_names, row = np.unique(row, return_inverse=True)
        column_names, column = np.unique(column, return_inverse=True)
        self.code, self.first, self.edge, self.size = np.unique(
            row * len(column_names) + column, return_index=True, return_inverse=True, return_counts=True
        )
        self.row, self.column = np.divmod(self.code, len(column_names))
        self.shape = (len(row_names), len(column_names))
        self.virtual = -1
        if may_add:
            self._ground(rows, columns, row, column)
        self.second = self._seconds()
        self._lists: tuple[list[list[int]], list[list[int]]] | None = None

    def _ground(self, rows: Labels, columns: Labels, row: Labels, column: Labels) -> None:
        """Join the two grounds; where only one chain leaves cells out, no count can be added."""
        if not ((rows < 0).any() and (columns < 0).any()):
            return
        r, c = int(row[np.argmax(rows < 0)]), int(column[np.argmax(columns < 0)])
        there = np.flatnonzero((self.row == r) & (self.column == c))
        if len(there):
            self.virtual = int(there[0])
            return
        self.virtual = len(self.row)
        self.row, self.column = np.append(self.row, r), np.append(self.column, c)
        self.size, self.first = np.append(self.size, 0), np.append(self.first, -1)

    def _seconds(self) -> Labels:
        """Another cell of each edge, where it has two."""
        second = np.full(len(self.row), -1, dtype=np.int64)
        other = np.flatnonzero(self.first[self.edge] != np.arange(len(self.edge)))
        second[self.edge[other]] = other
        return second

    def least_of_edges(self) -> NDArray[np.int64]:
        least = np.zeros(len(self.row), dtype=np.int64)
        four = self._in_a_swap()
        least[four] = 2
        least[self.size >= 2] = 1
        if self.virtual >= 0:
            least[self.virtual] = 1
        for edge in np.flatnonzero(least == 0):
            path = self._path(int(edge))
            least[edge] = (len(path) + 1) // 2 if path else 0
        return least

    def adds(self) -> bool:
        """Whether the edge without a cell lies in a cycle (or a cell beside it does what it does)."""
        return self.virtual >= 0 and (self.size[self.virtual] > 0 or bool(self._path(self.virtual)))

    def _in_a_swap(self) -> NDArray[np.bool_]:
        """Edges in a cycle of four: ways of three edges between their ends, less those over it."""
        from scipy.sparse import csr_array

        ones = np.ones(len(self.row), dtype=np.int64)
        table = csr_array((ones, (self.row, self.column)), shape=self.shape)
        table.data[:] = 1
        near = table @ table.T
        down, across = np.bincount(self.row), np.bincount(self.column)
        ways = np.zeros(len(self.row), dtype=np.int64)
        small = max(1, 2_000_000 // max(1, self.shape[1]))
        for start in range(0, self.shape[0], small):  # a band of rows at a time
            here = np.flatnonzero((self.row >= start) & (self.row < start + small))
            band = (near[start : start + small] @ table).toarray()
            ways[here] = band[self.row[here] - start, self.column[here]]
        found: NDArray[np.bool_] = ways > down[self.row] + across[self.column] - 1
        return found

    def _path(self, edge: int) -> list[int]:
        """Edges of a shortest way between the ends of an edge that does not use it; none for a bridge."""
        by_row, by_column = self._near()
        goal = int(self.column[edge])
        start = int(self.row[edge])
        came: dict[tuple[int, int], int] = {(0, start): -1}
        ahead: deque[tuple[int, int]] = deque([(0, start)])
        while ahead:
            side, at = ahead.popleft()
            for e in (by_row, by_column)[side][at]:
                if e == edge:
                    continue
                to = (1, int(self.column[e])) if side == 0 else (0, int(self.row[e]))
                if to in came:
                    continue
                came[to] = e
                if to == (1, goal):
                    return self._back(came, to)
                ahead.append(to)
        return []

    def _back(self, came: dict[tuple[int, int], int], at: tuple[int, int]) -> list[int]:
        path = []
        while came[at] >= 0:
            e = came[at]
            path.append(e)
            at = (0, int(self.row[e])) if at[0] == 1 else (1, int(self.column[e]))
        return path

    def _near(self) -> tuple[list[list[int]], list[list[int]]]:
        if self._lists is None:
            by_row: list[list[int]] = [[] for _ in range(self.shape[0])]
            by_column: list[list[int]] = [[] for _ in range(self.shape[1])]
            for e, (r, c) in enumerate(zip(self.row.tolist(), self.column.tolist(), strict=True)):
                by_row[r].append(e)
                by_column[c].append(e)
            self._lists = (by_row, by_column)
        return self._lists

    def some_moves(self, least: NDArray[np.int64]) -> list[Move]:
        """For each length that occurs, a shortest move through an edge that needs it."""
        moves = []
        for length in np.unique(least[least > 0]):
            edges = np.flatnonzero((least == length) & (self.size > 0))
            if len(edges):
                moves.append(self._move(int(edges[0]), int(length)))
        return moves + self._long_moves(int(least.max(initial=0)))

    def _long_moves(self, shortest: int) -> list[Move]:
        """Longer cycles, as many rows as columns, where they are plain to see: i to i and i to i+1."""
        rows = np.argsort(-np.bincount(self.row, minlength=self.shape[0]), kind="stable")
        columns = np.argsort(-np.bincount(self.column, minlength=self.shape[1]), kind="stable")
        moves = []
        for length in range(max(3, shortest + 1), min(_LONGEST, *self.shape) + 1):
            along = columns[:length]
            codes = np.concatenate([rows[:length], rows[:length]]) * self.shape[1]
            codes += np.concatenate([along, np.roll(along, -1)])
            edges = np.minimum(np.searchsorted(self.code, codes), len(self.code) - 1)
            if (self.code[edges] == codes).all():
                moves.append((self.first[edges], np.repeat(np.array([1, -1]), length)))
        return moves

    def _move(self, edge: int, length: int) -> Move:
        if length == 1:
            here = int(self.first[edge])
            if self.size[edge] >= 2:
                return np.array([here, self.second[edge]]), np.array([1, -1])
            return np.array([here]), np.array([1])  # parallel to the edge without a cell
        path = [edge, *self._path(edge)]
        signs = np.array([1, -1] * length, dtype=np.int64)
        kept = [at for at, e in enumerate(path) if self.first[e] >= 0]
        if self.virtual in path and self.first[self.virtual] >= 0:
            kept = list(range(len(path)))
        return self.first[np.array(path)[kept]], signs[kept]
