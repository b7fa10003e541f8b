"""The plan of a three-way table: axes and orders, foresight on a coarse copy, windows with proof."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from congenial.errors import ConflictError
from congenial.samplers.base import IntArray
from congenial.samplers.crossing.elimination_layers import Frame, Key, Windows, frame, windows
from congenial.samplers.crossing.elimination_layers_build import (
    arranged,
    coarse_windows,
    foreseen,
    layered,
    learned,
    memory,
    splits_of,
    tables,
    work,
)
from congenial.samplers.crossing.elimination_lines import Lines, lines_of
from congenial.samplers.crossing.elimination_model import Model, reduce
from congenial.samplers.crossing.elimination_order import coarse
from congenial.samplers.crossing.elimination_plan import EFFORT, Limits, Planned
from congenial.samplers.crossing.elimination_rows import distinct
from congenial.samplers.crossing.elimination_windows import Tails
from congenial.samplers.crossing.tables import Terminal, Unary

_LN2 = math.log(2)


def table_of(unaries: Sequence[Unary], terminals: Sequence[Terminal]) -> Model | None:
    """The plain model of a three-way table with all its lines fixed; None for any other block."""
    if any(t.kind != "fact" for t in terminals):
        return None
    kept = distinct(np.array([t.coefficients for t in terminals], dtype=np.int64).reshape(-1, len(unaries)))
    model = reduce(unaries, [terminals[k] for k in kept], plain=True)
    lines = lines_of(model)
    # with an axis of two, the other samplers see a two-way table
    return model if lines is not None and min(lines.shape) > 2 else None


def by_layers(model: Model, point: IntArray, limits: Limits) -> Planned | None:
    """Layers of columns; None where the tables would need more memory or time than is allowed."""
    lines = lines_of(model)
    if lines is None:
        return None
    small, grid = coarse(model, 7.0)
    try:
        lines, _ = arranged(small, lines)
        few = coarse_windows(frame(small, lines))
    except ConflictError:
        return None
    table = frame(model, lines)
    spans, left_out = _certified(model, table, point, limits)
    if memory(table, spans) > limits.memory or work(table, spans) > limits.build * EFFORT:
        return None
    # rows that are alike at full width are alike on the coarse copy
    rough = _like(frame(small, lines), table)
    cost = 4 * work(rough, few) + 1e5 * len(table.laws)
    evaluations = int(min(100, limits.seconds * EFFORT / cost / 3))
    few, taught = learned(rough, evaluations)
    splits = splits_of(rough, few, taught, table, spans, grid)
    depth = foreseen(rough, few, taught.depth, table, spans, grid)
    found = tables(table, spans, depth, splits)
    program, error = layered(model, table, spans, found, splits)
    return Planned(program, found.log_bound, error, program.tests, left_out, "layers")


def _like(rough: Frame, table: Frame) -> Frame:
    """The coarse frame with the classes of the full one."""
    if len(rough.first) == len(table.first):
        return rough
    laws, lo, powers = {}, {}, {}
    for k, a, j in table.laws:
        b = int(rough.of_row[table.first[a]])
        laws[k, a, j], lo[k, a, j] = rough.laws[k, b, j], rough.lo[k, b, j]
        powers[k, a, j] = table.powers[k, a, j]
    return replace(
        rough, of_row=table.of_row, first=table.first, counts=table.counts, laws=laws, lo=lo, powers=powers
    )


def _certified(model: Model, table: Frame, point: IntArray, limits: Limits) -> tuple[Windows, float]:
    """Windows of all partial sums with proven tails, around a point; ln of what they leave out."""
    _, c, d = table.lines.shape
    sides = 2 * 3 * c * d * len(table.first) * max(table.counts)
    chance = (limits.allowance_log2 - 2) * _LN2 - math.log(sides)
    tails = Tails(model, point)
    known: dict[object, tuple[int, int]] = {}
    alike = _alike(table)

    def reach(cells: list[Key]) -> tuple[int, int]:
        variables = [int(table.lines.cells[cell]) for cell in cells]
        variables = [e for e in variables if e >= 0]
        name: object = tuple(variables)
        if alike:
            name = (len({j for _, j, _ in cells}), len({k for _, _, k in cells}))
        if name not in known:
            direction = np.zeros(model.variables)
            direction[variables] = 1.0
            known[name] = tails.sides(direction, chance, limits.polish)
        low, high = known[name]
        at = int(sum(point[e] for e in variables))
        return min(low, at), max(high, at)

    return windows(table, reach), chance + math.log(sides)


def _alike(table: Frame) -> bool:
    """Whether all cells have one law and all totals are zero."""
    lines: Lines = table.lines
    totals = (lines.depth, lines.row, lines.column)
    laws = {(table.lo[key], table.laws[key].tobytes()) for key in table.laws}
    return len(laws) == 1 and bool((lines.cells >= 0).all()) and not any(t.any() for t in totals)
