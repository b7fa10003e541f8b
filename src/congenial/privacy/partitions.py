"""Families of groups: which nest, what their facts come down to, which cells they treat alike.

Everything is a few passes over arrays, without a sort where families nest: a nation's block groups take
some milliseconds.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from congenial.privacy.reading import Family

Labels = NDArray[np.int64]


def refines(fine: Family, coarse: Family) -> bool:
    """Whether each group of `fine` lies inside one group of `coarse`, or outside all of them."""
    assert fine.groups is not None
    assert coarse.groups is not None
    if fine is coarse or fine.is_single:
        return True
    here, there = fine.groups, coarse.groups
    if not fine.is_full:
        inside = here >= 0
        here, there = here[inside], there[inside]
    value = np.zeros(fine.count, dtype=np.int32)
    value[here] = there
    return bool((value[here] == there).all())


def same(one: Family, other: Family) -> bool:
    """Whether two families are the same groups of cells under the same numbers."""
    if one is other:
        return True
    if one.groups is None or other.groups is None:
        return False
    return one.groups is other.groups or bool(np.array_equal(one.groups, other.groups))


def chained(families: Sequence[Family]) -> list[Family] | None:
    """The families fine to coarse, where each nests in those behind it; None where two of them cross."""
    if any(family.groups is None for family in families):
        return None
    order = sorted(families, key=_mean_size)
    for at, fine in enumerate(order):
        for coarse in order[at + 1 :]:
            if not refines(fine, coarse):
                return None
            if coarse.is_full:  # what nests in it nests in everything behind it
                break
    return order


def _mean_size(family: Family) -> float:
    covered = int(family.sizes.sum())
    used = int(np.count_nonzero(family.sizes))
    return covered / used if used else 0.0


def distinct(families: Sequence[Family]) -> list[Family]:
    """The families without repetition."""
    found: list[Family] = []
    for family in families:
        if not any(same(family, other) for other in found):
            found.append(family)
    return found


def pools(chain: Sequence[Family], cells: int) -> Labels:
    """What facts that nest come down to: disjoint pools of cells with a fixed sum each, -1 in none.

    A cell's pool is what the finest fact around it leaves once the facts inside that one are taken away.
    """
    if len(chain) == 1:
        assert chain[0].groups is not None
        return chain[0].groups.astype(np.int64)
    label = np.full(cells, -1, dtype=np.int64)
    before = 0
    for family in chain:
        assert family.groups is not None
        fresh = (label < 0) & (family.groups >= 0)
        label[fresh] = family.groups[fresh] + before
        before += family.count
    return label


def two_chains(families: Sequence[Family], cells: int) -> tuple[Labels, Labels] | None:
    """The pools of two chains that hold all the facts, or None where there are no such two."""
    if any(family.groups is None for family in families):
        return None
    crossing: list[list[int]] = [[] for _ in families]
    for i, one in enumerate(families):
        for j in range(i):
            if chained([one, families[j]]) is None:
                crossing[i].append(j)
                crossing[j].append(i)
    side: dict[int, int] = {}
    for start in range(len(families)):
        if start in side:
            continue
        side[start] = 0
        ahead = [start]
        while ahead:
            at = ahead.pop()
            for near in crossing[at]:
                if near not in side:
                    side[near] = 1 - side[at]
                    ahead.append(near)
                elif side[near] == side[at]:
                    return None
    found = []
    for which in (0, 1):
        chain = chained([family for at, family in enumerate(families) if side[at] == which])
        if chain is None:  # each two of them nest, but not in one order for all
            return None
        found.append(pools(chain, cells) if chain else np.full(cells, -1, dtype=np.int64))
    return found[0], found[1]


def classes(families: Sequence[Family], cells: int) -> tuple[Labels, int]:
    """Cells that every family treats alike, numbered from 0; and how many classes there are."""
    label = np.zeros(cells, dtype=np.int64)
    count = 1
    for family in families:
        if family.groups is not None:
            column = family.groups.astype(np.int64) + 1
        else:
            assert family.row is not None
            column = np.zeros(cells, dtype=np.int64)
            column[family.row[0]] = family.row[1] - min(int(family.row[1].min()), 0) + 1
        _, label = np.unique(label * (int(column.max(initial=0)) + 1) + column, return_inverse=True)
        count = int(label.max(initial=-1)) + 1
    return label, count


def determined_groups(family: Family, pool: Labels) -> NDArray[np.bool_]:
    """Which groups of a family facts with these pools determine: those made of whole pools."""
    assert family.groups is not None
    fixed = np.ones(family.count, dtype=bool)
    group = family.groups.astype(np.int64)
    free = pool < 0
    fixed[group[free & (group >= 0)]] = False
    kept, group = pool[~free], group[~free]
    if len(kept):
        count = int(kept.max()) + 1
        value = np.zeros(count, dtype=np.int64)
        value[kept] = group
        split = np.zeros(count, dtype=bool)
        split[kept[value[kept] != group]] = True
        cut = group[split[kept]]
        fixed[cut[cut >= 0]] = False
    return fixed
