"""From a table (or a domain) and a request to a plan."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from congenial.errors import ConflictError, Fault, NothingToProtectError
from congenial.planning.drawing import COMPOSITION, INDEPENDENT, TREE, Drawing, prepare, silent
from congenial.planning.plan import Plan, PlannedBlock
from congenial.privacy.guarantee import Guarantee, guarantee, stated
from congenial.privacy.promise import kept
from congenial.problems import _forest_kernels as forest_kernels
from congenial.problems.compile import compile_structure, structure_notices
from congenial.problems.conflicts import public_conflict
from congenial.problems.decompose import Layout, decompose
from congenial.problems.forest import JOINED
from congenial.problems.free import check_normaliser, free_cells
from congenial.problems.problem import Problem, make_problem, without_centre
from congenial.problems.structure import Structure
from congenial.requests.model import Request
from congenial.samplers.base import Certificate, IntArray, Prepared, Quote
from congenial.tables.domain import Domain
from congenial.tables.table import Table

_WHY = {
    INDEPENDENT: "no fact ties the cell to others: one look-up in a table of its law, exact to 2^-128",
    COMPOSITION: "one fixed sum over like cells, no bound in reach: two uniform compositions, integers only",
    TREE: "its forms nest: messages upwards, splits downwards",
}
_NAME = {INDEPENDENT: "independent", COMPOSITION: "composition", TREE: "tree"}
_SECONDS = {INDEPENDENT: 6e-9, COMPOSITION: 1.2e-8, TREE: 6e-8}


def plan(table: Table | Domain, request: Request) -> Plan:
    """Compile a request around a table and choose samplers; touches no budget.

    Over a domain instead of a table, says only what does not depend on counts.
    """
    domain = table if isinstance(table, Domain) else table.domain
    structure = compile_structure(domain, request)
    conflict = public_conflict(structure)
    if conflict:
        raise ConflictError(conflict)
    structure, said = _promised(structure, request)
    notices = structure_notices(structure)
    if isinstance(table, Domain):
        problem = Problem(structure, (), confidential=False)
        counts = None
    else:
        counts = table.counts_confidential
        problem = make_problem(structure, counts)
        notices = (*table.notices, *notices)
    layout = decompose(problem)
    if request.method == "suppress":
        return Plan(request, structure, (), notices, silent(layout), said, counts)
    _check_something_left(layout)
    check_normaliser(layout if counts is not None else _limited(structure, layout), domain)
    drawing = prepare(layout)
    blocks = planned_blocks(drawing, is_public=counts is None)
    if counts is None and (structure.limits or any(fact.band for fact in structure.facts)):
        blocks = tuple(_before_bounds(block) for block in blocks)
    return Plan(request, structure, blocks, notices, drawing, said, counts)


def _promised(structure: Structure, request: Request) -> tuple[Structure, Guarantee]:
    """The structure with the scales of its promise, and its guarantee; what can change is found once."""
    if request.promise is None or request.method == "suppress":
        return structure, guarantee(structure, request.unit, request.method)
    structure, found = kept(structure, request.unit, request.promise)
    return structure, stated(structure, request.unit, found)


def _limited(structure: Structure, layout: Layout) -> Layout:
    """A layout that knows which sums are limited: without counts, enough to see what can run off."""
    return decompose(without_centre(structure)) if len(free_cells(layout)) else layout


def _before_bounds(block: PlannedBlock) -> PlannedBlock:
    """What a plan without data can say of a block: the counts decide which bounds are felt."""
    if block.sampler == "determined":
        return block
    if block.sampler is None:
        return replace(block, why="depends on the counts: bounds keep what is not measured")
    return replace(block, why=f"before bounds, which the counts decide: {block.why}")


def _check_something_left(layout: Layout) -> None:
    if layout.width and len(layout.determined) == layout.width:
        raise NothingToProtectError(
            Fault(
                "invariants",
                "the facts determine every cell: nothing is left to protect",
                "A release would publish the table itself. Drop a fact.",
                "docs/explanation/what-is-promised.md",
            )
        )


def planned_blocks(drawing: Drawing, *, is_public: bool) -> tuple[PlannedBlock, ...]:
    """The blocks of a plan, equal ones once, large ones first; a public plan has nothing measured."""
    layout = drawing.layout
    found: list[PlannedBlock] = []
    if len(layout.determined):
        exact = Certificate("exact", how="the facts determine it")
        many = len(layout.determined)
        found.append(PlannedBlock(1, "determined", exact, many, "the facts publish this cell exactly"))
    found += _trees(drawing)
    found += _crossings(drawing, is_public=is_public)
    if is_public:
        found = [replace(block, seconds=None) for block in found]
    return tuple(sorted(found, key=lambda block: (-block.cells, block.sampler or "", block.why)))


def _trees(drawing: Drawing) -> list[PlannedBlock]:
    forest = drawing.layout.forest
    below, _, _ = forest_kernels.sizes(forest.parent, forest.law, len(forest.cells))
    roots = forest.roots
    roots = roots[forest.parent[roots] != JOINED]
    pairs, times = np.unique(
        np.stack([below[roots], drawing.assigned[roots]], axis=1), axis=0, return_counts=True
    )
    found = []
    for (cells, kind), repeats in zip(pairs.tolist(), times.tolist(), strict=True):
        certificate = _certificate_of(drawing, kind)
        refused = next((f for f in drawing.refused if f"'{_NAME[kind]}'" in f.what), None)
        if refused is not None:
            found.append(PlannedBlock(cells, None, None, repeats, refused.what))
        else:
            seconds = _SECONDS[kind] * cells
            found.append(PlannedBlock(cells, _NAME[kind], certificate, repeats, _WHY[kind], seconds))
    return found


def _certificate_of(drawing: Drawing, kind: int) -> Certificate | None:
    if kind == TREE:
        return drawing.tree.certificate if drawing.tree is not None else None
    return next((p.prepared.certificate for p in drawing.parts if p.name == _NAME[kind]), None)


def _crossings(drawing: Drawing, *, is_public: bool) -> list[PlannedBlock]:
    forest = drawing.layout.forest
    below, _, _ = forest_kernels.sizes(forest.parent, forest.law, len(forest.cells))
    chosen = {id(choice.crossing): choice for choice in drawing.choices}
    counted: dict[tuple[object, ...], int] = {}
    first: dict[tuple[object, ...], PlannedBlock] = {}
    for crossing in drawing.layout.crossings:
        cells = int(below[crossing.atoms].sum())
        choice = chosen.get(id(crossing))
        if choice is None or choice.prepared is None:
            refusal = choice.refusal if choice else None
            block = PlannedBlock(cells, None, None, 1, refusal.hint if refusal else "no tables")
        else:
            taken = next(q for q in choice.quotes if q.sampler == choice.sampler)
            shape = _shape(crossing.atoms, crossing.dimension)
            seconds = taken.seconds if isinstance(taken, Quote) else 0.0
            reached = "" if is_public else _reached(choice.prepared)
            why = f"{shape}: {reached or taken.why}"
            certificate = choice.prepared.certificate
            if is_public:  # how it was certified is measured: a pilot accepts as chance will have it
                certificate = replace(certificate, how=str(choice.sampler))
            block = PlannedBlock(cells, choice.sampler, certificate, 1, why, seconds + 6e-8 * cells)
        key = (block.cells, block.sampler, block.why)
        counted[key] = counted.get(key, 0) + 1
        first.setdefault(key, block)
    return [
        PlannedBlock(b.cells, b.sampler, b.certificate, counted[key], b.why, b.seconds)
        for key, b in first.items()
    ]


def _reached(prepared: Prepared) -> str:
    """What a sampler says of itself once it is built, such as the acceptance that it measured."""
    acceptance = getattr(prepared, "acceptance", None)
    return str(getattr(prepared, "how", "")) or (
        f"acceptance {acceptance:.2g} in a pilot" if acceptance else ""
    )


def _shape(atoms: IntArray, dimension: int) -> str:
    plural = "s" if dimension != 1 else ""
    return f"facts cross over {len(atoms)} sums of like cells, {dimension} free dimension{plural}"
