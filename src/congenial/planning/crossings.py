"""Which sampler draws the sums of atoms where forms cross: all are asked, the cheapest exact one wins."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from congenial.errors import CongenialError, Fault
from congenial.planning.twoway import rows_and_columns
from congenial.problems.crossing import Crossing
from congenial.problems.structure import FREE
from congenial.samplers import quotient
from congenial.samplers.base import Certificate, Filled, IntArray, Prepared, Quote, Refusal, Source, Words
from congenial.samplers.crossing.tables import Terminal, Unary, point
from congenial.samplers.tree import _class_kernels as forest_kernels
from congenial.samplers.tree.growing import Grown
from congenial.samplers.tree.tables import TooWideError, window

if TYPE_CHECKING:
    from congenial.samplers.crossing.twisted_draws import PreparedColumns

_LONGER = 80.0
"""Bits by which windows grow where no sampler could certify a crossing on those it got."""

_SEARCH = 1.0
"""Seconds that weighted elimination may search for a good order."""


@dataclass(frozen=True, eq=False, repr=False)
class Choice:
    """What a crossing was given: a sampler ready to draw, or the reason why none is."""

    crossing: Crossing
    quotes: tuple[Quote | Refusal, ...]
    sampler: str | None
    prepared: Prepared | None
    refusal: Fault | None = None


@dataclass(frozen=True, eq=False, repr=False)
class Offer:
    """One sampler's answer and how to take it up."""

    answer: Quote | Refusal
    make: Callable[[], Prepared] | None


def choose(
    crossings: Sequence[Crossing], grown: Grown, number: IntArray, log2_allowance: float, finer: float = 0.0
) -> tuple[tuple[Choice, ...], float]:
    """A choice for each crossing, and by how many bits windows were too short for it (0: they were not).

    `finer`: the bits by which those of `grown` are already longer than the allowance asks.
    """
    allowance = log2_allowance - np.log2(max(1, len(crossings)))
    found: list[Choice] = []
    short = 0.0
    shared: _Shared = {}
    for crossing in crossings:
        unaries = _unaries(number[crossing.atoms], grown, shared)
        try:
            forms = terminals(crossing, float(allowance) - 20 - finer)
        except TooWideError:
            found.append(_too_wide(crossing))
            continue
        choice = _best(crossing, unaries, forms, float(allowance))
        if choice.prepared is None:
            short = max(short, _LONGER)
        else:
            short = max(short, choice.prepared.certificate.tail_log2 - allowance)
        found.append(choice)
    return tuple(found), float(np.ceil(short) + 8 if short > 0 else 0.0)


_Shared = dict[tuple[int, bool, bool], Unary]
"""Laws by table, and by whether limits (not windows) end it below and above."""


def _unaries(nodes: IntArray, grown: Grown, shared: _Shared) -> list[Unary]:
    """The laws of atom sums; atoms alike share one object."""
    ends = _ends(grown)
    found = []
    for node, t in zip(nodes.tolist(), grown.message[grown.label[nodes]].tolist(), strict=True):
        low, size = int(grown.low[t]), int(grown.size[t])
        open_below, open_above = bool(ends[0][node] != low), bool(ends[1][node] != low + size - 1)
        key = t, open_below, open_above
        if key not in shared:
            rounding = 2.0**-53 * 6 * float(size)
            shared[key] = Unary(low, grown.table(t), float(grown.error[t]), rounding, open_below, open_above)
        found.append(shared[key])
    return found


def _ends(grown: Grown) -> tuple[IntArray, IntArray]:
    """The least and the largest value that limits on leaves let every node have (far out: none)."""
    forest = grown.forest
    leaves = len(forest.cells)
    found = []
    for limits in (forest.lower, forest.upper):
        value = np.zeros(len(forest.parent))
        value[:leaves] = limits[:leaves]
        found.append(forest_kernels.totals(forest.parent, value))
    return found[0], found[1]


def terminals(crossing: Crossing, log2_cut: float) -> list[Terminal]:
    """The measured and limited forms of a crossing."""
    found = []
    for row in crossing.others:
        if row.laws:
            held = window(row.laws, row.lower, row.upper, 0.0, log2_cut)
            mass = float(held.weights.sum())
            table = Unary(held.low, held.weights / mass, held.tail / mass)
            found.append(Terminal(row.weights, "law", table))
        else:
            lower = row.lower if row.lower > -FREE else None
            upper = row.upper if row.upper < FREE else None
            found.append(Terminal(row.weights, "limit", None, lower, upper))
    return found


def _too_wide(crossing: Crossing) -> Choice:
    name = next(row.name for row in crossing.others if row.laws)
    why = f"the noise of '{name}' is too wide for a table"
    return Choice(crossing, (), None, None, _none_fits(crossing, [Refusal(quotient.NAME, why)]))


def _best(crossing: Crossing, unaries: list[Unary], forms: list[Terminal], log2_allowance: float) -> Choice:
    offers = [
        _quotient(crossing, unaries, forms),
        _twisted_columns(crossing, unaries, log2_allowance),
        _elimination(crossing, unaries, forms, log2_allowance),
    ]
    answers = tuple(offer.answer for offer in offers)
    able = [offer for offer in offers if isinstance(offer.answer, Quote)]
    able.sort(key=_cost)
    for offer in able:
        assert offer.make is not None
        try:
            prepared = offer.make()
        except (CongenialError, ValueError) as error:
            answers = (*answers, Refusal(offer.answer.sampler, str(error)))
            continue
        except ArithmeticError:
            answers = (*answers, Refusal(offer.answer.sampler, "its tables run out of the range of numbers"))
            continue
        return Choice(crossing, answers, offer.answer.sampler, prepared)
    return Choice(crossing, answers, None, None, _none_fits(crossing, answers))


def _cost(offer: Offer) -> float:
    """Seconds of a hundred draws, tables included."""
    assert isinstance(offer.answer, Quote)
    return offer.answer.setup_seconds + 100 * offer.answer.seconds


def _quotient(crossing: Crossing, unaries: list[Unary], forms: list[Terminal]) -> Offer:
    answer = quotient.quote(unaries, crossing.facts)
    if isinstance(answer, Refusal):
        return Offer(answer, None)
    return Offer(
        answer,
        lambda: quotient.prepare(unaries, crossing.facts, forms),
    )


def _twisted_columns(crossing: Crossing, unaries: list[Unary], log2_allowance: float) -> Offer:
    from congenial.samplers.crossing.twisted import NAME, TwistedColumns

    margins = rows_and_columns(crossing)
    if margins is None:
        return Offer(Refusal(NAME, "the facts are not the two margins of one array"), None)
    row, column = margins
    across = int(column.max()) + 1
    zero = point()
    array = [[zero] * across for _ in range(int(row.max()) + 1)]
    for unary, i, j in zip(unaries, row.tolist(), column.tolist(), strict=True):
        array[i][j] = unary
    sampler = TwistedColumns()
    answer = sampler.quote(array)
    if isinstance(answer, Refusal):
        return Offer(answer, None)
    return Offer(answer, lambda: _Picked(sampler.prepare(array, log2_allowance), row * across + column))


def _elimination(
    crossing: Crossing, unaries: list[Unary], others: list[Terminal], log2_allowance: float
) -> Offer:
    from congenial.samplers.crossing.elimination import NAME, WeightedElimination

    facts = [Terminal(row, "fact") for row in crossing.facts]
    forms = [*facts, *others]
    answer = Quote(
        NAME, 1e-6 * len(unaries), _SEARCH, 1e8, "any facts; its acceptance is measured by a pilot"
    )
    return Offer(answer, lambda: WeightedElimination().prepare(unaries, forms, log2_allowance, _SEARCH))


@dataclass(frozen=True, eq=False, repr=False)
class _Picked:
    """A sampler of an array of which some places are the atoms."""

    whole: PreparedColumns
    places: IntArray

    @property
    def width(self) -> int:
        return len(self.places)

    @property
    def certificate(self) -> Certificate:
        return self.whole.certificate

    @property
    def how(self) -> str:
        rows = f"an array of {len(self.places)} sums"
        return f"{rows}, acceptance {self.whole.acceptance:.2g} in a pilot"

    def draw(self, source: Source) -> IntArray:
        return self.whole.draw(source)[self.places]

    def fill(self, words: Words, out: IntArray) -> Filled:
        drawn = np.empty((len(out), self.whole.width), dtype=np.int64)
        filled = self.whole.fill(words, drawn)
        out[: filled.draws] = drawn[: filled.draws, self.places]
        return filled


def _none_fits(crossing: Crossing, answers: Sequence[Quote | Refusal]) -> Fault:
    why = "; ".join(f"{a.sampler}: {a.why}" for a in answers if isinstance(a, Refusal))
    names = [*crossing.names, *(row.name for row in crossing.others)]
    joining = ", ".join(f"'{name}'" for name in dict.fromkeys(names))
    return Fault(
        "invariants" if crossing.names else "measurements",
        f"no exact sampler here serves the {len(crossing.atoms)} sums that {joining} join",
        f"{why}.\nDrop a fact, or group categories so that fewer sums are free.",
        "docs/explanation/samplers.md",
    )
