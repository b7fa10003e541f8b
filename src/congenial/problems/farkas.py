r"""Demands that no table can meet: found, made irreducible, and proven in integers.

By Farkas' lemma no real y meets all ends lower ≤ w·y ≤ upper if and only if some of them, each taken a
number of times, add up to a contradiction: the forms on the lower side sum to the same form as those on
the upper side, and the lower ends to more than the upper ends. How often each is taken is a point of a
polytope, by how much they contradict each other its value. At a *vertex* of positive value the ends are
irreducible: leave one out, and the rest can be met (Gleeson & Ryan, 1990). A linear program finds the
vertex in floats; what is returned was added up again in integers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import lcm

import numpy as np

from congenial.problems.demands import (
    CellEnds,
    Conflict,
    Demand,
    IntArray,
    Mask,
    Share,
    Side,
    ends_of_cells,
    floats,
    suspicious,
)
from congenial.problems.linear import Rows, maximised
from congenial.problems.structure import FREE

_LARGEST = 100_000
"""Ends beyond which no linear program is tried: naming a conflict is not worth minutes."""

_POSITIVE = 1e-9


def irreducible(demands: Sequence[Demand], cells: int) -> Conflict | None:
    """Demands that no real table meets, none of which can be left out; None where none was found.

    **Exactness.** What is returned is a contradiction in integers. Nothing is found where only rounding
    to integers makes one, or where the linear program would be larger than its limit.
    **Cost.** A few passes over the cells a demand where their forms nest and can be met; else linear
    programs over the sums that the forms tell apart, one for each demand that is in the conflict.
    """
    region = suspicious(demands, cells)
    if region is None:
        return None
    found = _contradiction(demands, region)
    if found is None:
        return None
    names = _named(found)
    for one in sorted(names, key=lambda demand: _LEFT_OUT_FIRST.index(demand.kind)):
        if one in names and len(names) > 1:
            fewer = _contradiction([other for other in names if other is not one], region)
            if fewer is not None:
                found, names = fewer, _named(fewer)
    return found


_LEFT_OUT_FIRST = ("counts", "zeros", "fact", "bound")


def _named(conflict: Conflict) -> list[Demand]:
    found: list[Demand] = []
    for share in conflict:
        if share.demand not in found:
            found.append(share.demand)
    return found


@dataclass(frozen=True, eq=False)
class _Candidates:
    """Forms of more than one cell, all inside the region: demand, form, ends, and their rows."""

    demand: IntArray
    form: IntArray
    lower: IntArray
    upper: IntArray
    starts: IntArray
    cells: IntArray
    weights: IntArray


def _contradiction(demands: Sequence[Demand], region: Mask) -> Conflict | None:
    """Ends that add up to a contradiction, irreducible as ends, or None."""
    ends = ends_of_cells(demands, len(region))
    clash = np.flatnonzero(region & (ends.low > ends.high))
    if len(clash):
        return _added(demands, ends, _rows(demands, np.zeros(len(region), dtype=bool)), {}, clash[:1])
    rows = _rows(demands, region)
    many = len(rows.form)
    if not many or many > _LARGEST:
        return None
    times = _vertex(rows, ends, region)
    return None if times is None else _added(demands, ends, rows, times)


def _rows(demands: Sequence[Demand], region: Mask) -> _Candidates:
    parts: list[tuple[IntArray, ...]] = []
    for at, demand in enumerate(demands):
        if demand.is_on_cells:
            continue
        starts, cells, weights = demand.forms.rows
        length = np.diff(starts)
        outside = np.concatenate([[0], np.cumsum(~region[cells])])
        whole = (outside[starts[1:]] == outside[starts[:-1]]) & (region.any() | (length == 0))
        form = np.flatnonzero(whole & ((demand.lower > -FREE) | (demand.upper < FREE)))
        kept = np.repeat(np.isin(np.arange(len(length)), form), length)
        by = np.full(len(form), at)
        parts.append(
            (by, form, demand.lower[form], demand.upper[form], length[form], cells[kept], weights[kept])
        )
    none = np.empty(0, dtype=np.int64)
    whole_parts = [np.concatenate([none, *(part[k] for part in parts)]) for k in range(7)]
    by, form, lower, upper, length, cells, weights = whole_parts
    return _Candidates(by, form, lower, upper, np.concatenate([[0], np.cumsum(length)]), cells, weights)


def _vertex(rows: _Candidates, ends: CellEnds, region: Mask) -> dict[tuple[int, Side], Fraction] | None:
    """How often each end of each row is taken at the best vertex, as far as floats can say.

    Variables are the ends: of rows, and of sums of cells that all rows treat alike. They are at least
    zero, add up to one, and cancel over every such sum.
    """
    atom, sample = _alike(rows, region)
    width, forms = len(sample), len(rows.form) + len(sample)
    low, high = (np.bincount(atom[region], floats(end[region]), width) for end in (ends.low, ends.high))
    end = np.concatenate([floats(rows.lower), low, -floats(rows.upper), -high])
    taken = np.flatnonzero(np.isfinite(end))
    if len(taken) > _LARGEST:
        return None
    best = maximised(
        end[taken] / max(1.0, float(np.abs(end[taken]).max(initial=0.0))),
        np.zeros(len(taken)),
        np.ones(len(taken)),
        _cancelling(rows, sample, taken),
        np.append(np.zeros(width), 1.0),
        np.append(np.zeros(width), 1.0),
    )
    if best is None:
        return None
    top = float(best.max())
    found: dict[tuple[int, Side], Fraction] = {}
    for at in np.flatnonzero(best > _POSITIVE * top).tolist():
        side, form = divmod(int(taken[at]), forms)
        if form < len(rows.form):  # the ends of cells follow from those of rows
            many = Fraction(float(best[at]) / top).limit_denominator(100_000)
            found[form, "upper" if side else "lower"] = many
    return found


def _alike(rows: _Candidates, region: Mask) -> tuple[IntArray, IntArray]:
    """Cells of the region that every row treats alike: (their number for each cell, one cell of each).

    Told apart by a sum of random words, one a row: cells that happen to have the same sum would only
    hide a conflict, with a chance below 2^-28.
    """
    words = np.random.Generator(np.random.PCG64(2)).integers(1, 2**64, len(rows.form), np.uint64, False)
    marks = np.zeros(len(region), dtype=np.uint64)
    np.add.at(marks, rows.cells, rows.weights.astype(np.uint64) * words[_row_of(rows)])
    inside = np.flatnonzero(region)
    _, first, number = np.unique(marks[inside], return_index=True, return_inverse=True)
    atom = np.full(len(region), -1, dtype=np.int64)
    atom[inside] = number
    return atom, inside[first]


def _cancelling(rows: _Candidates, sample: IntArray, taken: IntArray) -> Rows:
    """The matrix with a row for each sum of alike cells, in which the ends cancel, and a row of ones."""
    width, many = len(sample), len(rows.form)
    where = np.argsort(sample)
    near = np.minimum(np.searchsorted(sample[where], rows.cells), max(0, width - 1))
    is_sample = sample[where][near] == rows.cells if width else np.zeros(0, dtype=bool)
    form = np.concatenate([_row_of(rows)[is_sample], many + np.arange(width)])
    atom = np.concatenate([where[near[is_sample]], np.arange(width)])
    weight = np.concatenate([rows.weights[is_sample], np.ones(width, dtype=np.int64)])
    column = np.full(2 * (many + width), -1)
    column[taken] = np.arange(len(taken))
    columns = column[np.concatenate([form, many + width + form])]
    lines, values = np.concatenate([atom, atom]), np.concatenate([weight, -weight])
    kept = np.flatnonzero(columns >= 0)
    kept = kept[np.argsort(lines[kept], kind="stable")]
    starts = np.cumsum(np.concatenate([[0], np.bincount(lines[kept], minlength=width), [len(taken)]]))
    return Rows(
        len(taken),
        starts,
        np.concatenate([columns[kept], np.arange(len(taken))]),
        np.concatenate([values[kept], np.ones(len(taken))]).astype(np.float64),
    )


def _row_of(rows: _Candidates) -> IntArray:
    """For each entry of the rows, its row."""
    return np.repeat(np.arange(len(rows.form)), np.diff(rows.starts))


def _added(
    demands: Sequence[Demand],
    ends: CellEnds,
    rows: _Candidates,
    times: dict[tuple[int, Side], Fraction],
    clash: IntArray | None = None,
) -> Conflict | None:
    """The shares of a contradiction if the ends, added up in integers, are one."""
    scale = lcm(*(many.denominator for many in times.values()))
    taken: dict[tuple[int, Side], list[tuple[int, int]]] = {}
    left: dict[int, int] = {}
    for (row, side), many in times.items():
        often = int(many * scale)
        taken.setdefault((int(rows.demand[row]), side), []).append((int(rows.form[row]), often))
        part = slice(int(rows.starts[row]), int(rows.starts[row + 1]))
        sign = often if side == "lower" else -often
        for cell, weight in zip(rows.cells[part].tolist(), rows.weights[part].tolist(), strict=True):
            left[cell] = left.get(cell, 0) + sign * weight
    for cell, rest in sorted(left.items()):
        if rest:
            by = ends.high_by if rest > 0 else ends.low_by
            taken.setdefault((int(by[cell]), "upper" if rest > 0 else "lower"), []).append((cell, abs(rest)))
    for cell in () if clash is None else clash.tolist():
        taken.setdefault((int(ends.low_by[cell]), "lower"), []).append((cell, 1))
        taken.setdefault((int(ends.high_by[cell]), "upper"), []).append((cell, 1))
    if any(at < 0 for at, _ in taken):
        return None  # an end that is not there: the floats were not good enough
    shares = tuple(_share(demands[at], side, forms) for (at, side), forms in sorted(taken.items()))
    gap = sum(share.total if share.side == "lower" else -share.total for share in shares)
    return shares if gap > 0 else None


def _share(demand: Demand, side: Side, forms: list[tuple[int, int]]) -> Share:
    forms = sorted(forms)
    which = np.array([form for form, _ in forms], dtype=np.int64)
    return Share(demand, side, which, tuple(many for _, many in forms))
