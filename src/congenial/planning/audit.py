"""The audit: what the facts disclose by themselves, before any noise is drawn.

Over a domain alone it says what follows from facts, limits and laws. Over a table it also says what the
published values would give away: the interval left to each cell, and small counts that a fact would
print. That part is confidential: it is for the curator's eyes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from congenial.planning.intervals import NONE, Intervals, Known, intervals
from congenial.planning.searching import NotSearched, PriceFound, search_price
from congenial.privacy.gamma import gamma
from congenial.privacy.guarantee import Findings, Guarantee, find, guarantee, stated
from congenial.privacy.reading import Bounded, Family
from congenial.problems.structure import FREE, Structure
from congenial.requests.model import Unit

Integers = NDArray[np.int64]
SMALL = 9
"""Exact counts from 1 to this are named."""
_SHOWN = 10


@dataclass(frozen=True)
class SmallCount:
    """An exact value from 1 to 9 that a fact would publish. Confidential until it is."""

    fact: str
    label: str
    value: int


@dataclass(frozen=True, eq=False, repr=False)
class Audit:
    """What facts alone disclose. `counts` is None over a domain; else this value is confidential."""

    structure: Structure
    unit: Unit
    findings: Findings
    guarantee: Guarantee
    counts: Integers | None = field(default=None)
    is_silent: bool = False
    """Whether the method is suppress: then no fact is published, and none is in `structure`."""

    @property
    def verdict(self) -> str:
        """In Gong & Meng's terms (2020, section 5.1); what destroys all neighbours is refused before.

        `nothing disrupted`: one unit alone can still change every cell that is not public.
        `substantially disrupted`: some units have no neighbour unless others change with them.
        """
        return "nothing disrupted" if self.findings.changes.units == 1 else "substantially disrupted"

    @cached_property
    def determined(self) -> Integers:
        """Cells of the domain that the facts alone determine; structural zeros are not among them."""
        return np.asarray(self.findings.reading.cells[self.findings.changes.determined])

    @property
    def nearest(self) -> tuple[tuple[str, int], ...]:
        """A smallest admissible change: cells by name, and what is added to each."""
        return self._named(self.findings.changes.nearest)

    @property
    def moves(self) -> tuple[tuple[tuple[str, int], ...], ...]:
        """A smallest change of every size that some cell needs."""
        return tuple(self._named(move) for move in self.findings.changes.lattice.moves)

    def _named(self, move: tuple[Integers, Integers]) -> tuple[tuple[str, int], ...]:
        cells = self.findings.reading.cells[move[0]]
        name = self.structure.domain.cell
        return tuple((name(int(cell)), int(by)) for cell, by in zip(cells, move[1], strict=True))

    @cached_property
    def units_of_cells(self) -> Integers:
        """For each cell of the domain the fewest units that move it, 0 where it is public."""
        found = np.zeros(self.structure.domain.cells, dtype=np.int64)
        least = self.findings.changes.lattice.least
        found[self.findings.reading.cells] = -(-least // self.unit.max_rows)
        return found

    @cached_property
    def intervals(self) -> Intervals | None:
        """What facts' values and bounds leave for each open cell; None without data or beyond reach."""
        if self.counts is None:
            return None
        return intervals(self.findings.reading, self.findings.changes, list(self._known()))

    def _known(self) -> Iterator[Known]:
        counts = self._open_counts
        for family in self.findings.reading.facts:
            values = family.values(counts)
            yield Known(family, values, values)
        for bound in self.findings.reading.bounds:
            yield _limits(bound, counts)

    @property
    def _open_counts(self) -> Integers:
        assert self.counts is not None
        return np.asarray(self.counts[self.findings.reading.cells])

    @cached_property
    def pinned(self) -> Integers:
        """Open cells whose value the facts' values and bounds give away at this table, though not always."""
        if self.intervals is None:
            return np.empty(0, dtype=np.int64)
        closed = (self.intervals.widths == 0) & ~self.findings.changes.determined
        return np.asarray(self.findings.reading.cells[closed])

    @cached_property
    def small_counts(self) -> tuple[SmallCount, ...]:
        """Exact values from 1 to 9 that a fact would publish."""
        if self.counts is None:
            return ()
        found = []
        for fact in self.structure.facts:
            if fact.band is not None and fact.band > 1:
                continue
            values = fact.forms.sums(self.counts)
            for at in np.flatnonzero((values >= 1) & (values <= SMALL)):
                found.append(SmallCount(fact.forms.name, fact.forms.label(int(at)), int(values[at])))
        return tuple(found)

    @cached_property
    def single_cells(self) -> tuple[tuple[str, str], ...]:
        """Facts over one cell: they publish that cell outright (fact, label)."""
        found = []
        open_ = np.zeros(self.structure.domain.cells, dtype=bool)
        open_[self.findings.reading.cells] = True
        for fact in self.structure.facts:
            if fact.band is None and fact.forms.groups is not None:
                held = open_ & (fact.forms.groups >= 0)
                sizes = np.bincount(fact.forms.groups[held], minlength=fact.forms.count)
                found += [(fact.forms.name, fact.forms.label(int(at))) for at in np.flatnonzero(sizes == 1)]
        return tuple(found)

    @cached_property
    def search(self) -> PriceFound | NotSearched:
        """The dearest pair of tables that a short search met: what bounds cost at least."""
        if self.is_silent:
            return NotSearched("nothing is said that could lose anything")
        return search_price(self.structure, self.findings, self.counts)

    @cached_property
    def gamma(self) -> float | None:
        """Gong & Meng's γ, where all laws are discrete Laplace: see `privacy/gamma.py`."""
        reading = self.findings.reading
        if (
            not self.guarantee.proven
            or self.is_silent
            or any(f.currency != "epsilon" for f in reading.factors)
        ):
            return None
        return gamma(reading, self.structure.domain.shape, self.unit)

    def explain(self) -> str:
        """The audit as a person reads it."""
        return "\n".join(_lines(self))

    def to_json(self) -> dict[str, Any]:
        """The audit as one document; with data it is as confidential as they are."""
        said: dict[str, Any] = {
            "verdict": self.verdict,
            "units": self.guarantee.units,
            "change": self.guarantee.change,
            "nearest": [{"cell": cell, "change": by} for cell, by in self.nearest],
            "determined": [self.structure.domain.cell(int(cell)) for cell in self.determined],
            "single_cells": [{"fact": fact, "label": label} for fact, label in self.single_cells],
            "gamma": self.gamma,
            "price": self.guarantee.price,
            "search": self._search_json(),
            "guarantee": self.guarantee.to_json(),
        }
        if self.counts is not None:
            said["small_counts"] = [vars(small) for small in self.small_counts]
            said["intervals"] = self._intervals_json()
        return said

    def _search_json(self) -> dict[str, Any]:
        met = self.search
        if isinstance(met, NotSearched):
            return {"loss_at_least": None, "price_at_least": None, "move": None, "why": met.why}
        move = [{"cell": self.structure.domain.cell(cell), "change": by} for cell, by in met.move]
        return {"loss_at_least": met.loss, "price_at_least": met.price, "move": move, "why": None}

    def _intervals_json(self) -> dict[str, Any] | None:
        if self.intervals is None:
            return None
        upper = [int(v) if v < NONE else None for v in self.intervals.upper]
        cells = [self.structure.domain.cell(int(cell)) for cell in self.findings.reading.cells]
        rows = zip(cells, self.intervals.lower.tolist(), upper, strict=True)
        listed = [{"cell": cell, "least": low, "most": high} for cell, low, high in rows]
        return {"exact": self.intervals.is_exact, "cells": listed}

    def __repr__(self) -> str:
        return f"Audit({self.structure.domain.cells} cells, {self.verdict})"


def audit(
    structure: Structure, unit: Unit, counts: Integers | None = None, found: Findings | None = None
) -> Audit:
    """Audit a structure whose laws have scales; raises where the facts leave nothing to protect.

    `counts` are the flat counts of the confidential table, if somebody may look at them; `found` what was
    found of the structure already.
    """
    found = find(structure, unit) if found is None else found
    return Audit(structure, unit, found, stated(structure, unit, found), counts)


def silence(structure: Structure, unit: Unit) -> Audit:
    """The audit of a request that suppresses: no fact is published, and there is nothing to find."""
    bare = replace(structure, facts=(), limits=(), measured=())
    said = guarantee(structure, unit, "suppress")
    return Audit(bare, unit, find(bare, unit), said, is_silent=True)


def _limits(bound: Bounded, counts: Integers) -> Known:
    """What a bound, or the published band of a count, says of each form."""
    family: Family = bound.family
    if bound.band is not None:
        band = (family.values(counts) - 1) // bound.band
        return Known(family, band * bound.band + 1, band * bound.band + bound.band)
    lower = bound.lower if bound.has_lower else -int(FREE)
    upper = bound.upper if bound.has_upper else int(NONE)
    return Known(family, np.full(family.count, lower), np.full(family.count, upper))


def _lines(audit: Audit) -> Iterator[str]:
    changes, said = audit.findings.changes, audit.guarantee
    if audit.is_silent:
        yield "The method is suppress: no fact is published, and nothing is disclosed."
        yield f"  {said.sentence}"
        return
    yield f"The facts leave: {audit.verdict}."
    if changes.units == 1:
        yield f"  One {said.unit} alone can change every cell that is not public ({said.change})."
    else:
        yield f"  Only {changes.units} units ({said.unit}) together can change every cell that is not public."
    counts = sum(abs(by) for _, by in audit.nearest)
    yield f"  The smallest admissible change moves {counts} count{'s' if counts != 1 else ''}:"
    yield from (f"    {by:+d}  {cell}" for cell, by in audit.nearest)
    if len(audit.determined):
        yield f"  The facts alone determine {len(audit.determined)} cells, which no noise can protect:"
        yield from _some([audit.structure.domain.cell(int(cell)) for cell in audit.determined[:_SHOWN]])
        yield from _rest(len(audit.determined))
    if said.proven and said.price:
        yield f"  Bounds add at most {100 * said.price:.1f} % to the loss."
    yield from _searched(audit)
    if audit.gamma is not None:
        yield f"  In Gong & Meng's terms γ = {audit.gamma:.4g}, for k = {counts} changed records."
    yield f"  {said.sentence}"
    if audit.counts is not None:
        yield from _confidential(audit)


def _searched(audit: Audit) -> Iterator[str]:
    """What a search met, beside what is proven: a lower bound, and called one."""
    met, proven = audit.search, audit.guarantee.loss
    if isinstance(met, PriceFound) and proven is not None:
        yield (
            f"  A search found a pair of tables that loses at least {met.loss:.4g} "
            f"(without bounds {met.kappa:.4g}); at most {proven:.4g} is proven for every pair."
        )
    elif isinstance(met, NotSearched) and audit.findings.bounds:
        yield f"  No pair of tables was searched for what bounds cost at least: {met.why}."


def _confidential(audit: Audit) -> Iterator[str]:
    yield "For the curator's eyes:"
    small = audit.small_counts
    ones = sum(count.value == 1 for count in small)
    yield f"  {len(small)} facts publish an exact count from 1 to {SMALL}; {ones} of them a single one."
    yield from _some([f"{count.value}  {count.fact}: {count.label}" for count in small[:_SHOWN]])
    yield from _rest(len(small))
    if audit.intervals is None:
        yield "  The intervals that facts leave were not computed: too many cells for a program each."
        return
    if len(audit.pinned):
        yield f"  At this table facts and bounds give away {len(audit.pinned)} more cells:"
        yield from _some([audit.structure.domain.cell(int(cell)) for cell in audit.pinned[:_SHOWN]])
        yield from _rest(len(audit.pinned))
    widths = audit.intervals.widths[~audit.findings.changes.determined]
    finite = widths[widths < NONE]
    if len(finite):
        few, many = int(finite.min()) + 1, int(finite.max()) + 1
        yield f"  They leave every other cell between {few} and {many} values."


def _some(lines: list[str]) -> Iterator[str]:
    yield from (f"    {line}" for line in lines)


def _rest(count: int) -> Iterator[str]:
    if count > _SHOWN:
        yield f"    … and {count - _SHOWN} more"
