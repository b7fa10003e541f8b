"""Whether a block is a three-way table whose facts are all its lines: each sum along each of three axes.

Lines are found from the facts alone: three families of facts, in each of which every variable stands once.
Two lines of different families that share a variable lie in one slice; slices are the connected pieces of
that relation, and give each variable its three coordinates. Missing cells are structural zeros.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from congenial.samplers.base import IntArray
from congenial.samplers.crossing.elimination_model import Model

Axes = tuple[int, int, int]


@dataclass(frozen=True, eq=False)
class Lines:
    """A table r×c×d: `cells[i, j, k]` is a variable or -1; totals by (i, j), by (i, k) and by (j, k)."""

    cells: IntArray
    depth: IntArray
    row: IntArray
    column: IntArray

    @property
    def shape(self) -> tuple[int, int, int]:
        """r, c, d: the slots of a line step, the columns of a layer, the layers."""
        r, c, d = self.cells.shape
        return r, c, d

    def turned(self, axes: Axes) -> Lines:
        """The same table with its axes in another order."""
        totals = {frozenset((0, 1)): self.depth, frozenset((0, 2)): self.row, frozenset((1, 2)): self.column}

        def total(a: int, b: int) -> IntArray:
            found = totals[frozenset((axes[a], axes[b]))]
            return found if axes[a] < axes[b] else np.ascontiguousarray(found.T)

        cells = np.ascontiguousarray(self.cells.transpose(axes))
        return Lines(cells, total(0, 1), total(0, 2), total(1, 2))

    def sorted_by(self, layers: IntArray, columns: IntArray) -> Lines:
        """The same table with its layers and columns in another order."""
        cells = np.ascontiguousarray(self.cells[:, columns][:, :, layers])
        column = np.ascontiguousarray(self.column[columns][:, layers])
        return Lines(cells, self.depth[:, columns].copy(), self.row[:, layers].copy(), column)


def lines_of(model: Model) -> Lines | None:
    """The lines of a model that is nothing but a three-way table; None for any other."""
    if not len(model.ends) or any(end.kind != "fact" for end in model.ends):
        return None
    if not ((model.rows == 0) | (model.rows == 1)).all():
        return None
    families = _families(model.rows)
    if families is None:
        return None
    z, y, x = (_row_of(model.rows, family) for family in families)
    i, j, k = _pieces(z, y), _pieces(z, x), _pieces(y, x)
    shape = tuple(int(v.max()) + 1 for v in (i, j, k))
    cells = np.full(shape, -1, dtype=np.int64)
    totals = []
    for of, a, b in ((z, i, j), (y, i, k), (x, j, k)):
        total = np.zeros((int(a.max()) + 1, int(b.max()) + 1), dtype=np.int64)
        owner = np.full(total.shape, -1, dtype=np.int64)
        for e in range(model.variables):
            if owner[a[e], b[e]] not in (-1, of[e]):
                return None
            owner[a[e], b[e]] = of[e]
            total[a[e], b[e]] = model.ends[int(of[e])].lo
        totals.append(total)
    for e in range(model.variables):
        if cells[i[e], j[e], k[e]] >= 0:
            return None
        cells[i[e], j[e], k[e]] = e
    return Lines(cells, *totals) if min(shape) >= 2 else None


def _families(rows: IntArray) -> list[list[int]] | None:
    """Three sets of facts, each variable once in each: the first set that a fact fits into takes it."""
    families: list[list[int]] = []
    covered: list[IntArray] = []
    for k, row in enumerate(rows):
        for family, seen in zip(families, covered, strict=True):
            if not (seen & row).any():
                family.append(k)
                seen |= row
                break
        else:
            families.append([k])
            covered.append(row.copy())
    return families if len(families) == 3 and all(seen.all() for seen in covered) else None


def _row_of(rows: IntArray, family: list[int]) -> IntArray:
    found: IntArray = np.array(family, dtype=np.int64)[np.argmax(rows[family], axis=0)]
    return found


def _pieces(a: IntArray, b: IntArray) -> IntArray:
    """For each variable the number of the connected piece of lines that it lies in."""
    parent: dict[int, int] = {}

    def top(v: int) -> int:
        while parent.setdefault(v, v) != v:
            v = parent[v]
        return v

    for u, v in zip(a, b, strict=True):
        parent[top(int(u))] = top(int(v))
    tops = [top(int(u)) for u in a]
    number: dict[int, int] = {}
    return np.array([number.setdefault(t, len(number)) for t in tops], dtype=np.int64)
