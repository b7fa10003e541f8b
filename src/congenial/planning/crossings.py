"""Which sampler draws the sums of atoms where forms cross: every one is asked, the cheapest exact one wins."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from congenial.errors import CongenialError, Fault
from congenial.problems.crossing import Crossing
from congenial.problems.structure import FREE
from congenial.samplers import quotient
from congenial.samplers.base import IntArray, Prepared, Quote, Refusal
from congenial.samplers.crossing.tables import Terminal, Unary
from congenial.samplers.tree.growing import Grown
from congenial.samplers.tree.tables import window


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
    crossings: Sequence[Crossing], grown: Grown, number: IntArray, log2_allowance: float
) -> tuple[tuple[Choice, ...], float]:
    """A choice for each crossing, and by how many bits windows were too short for it (0: they were not)."""
    allowance = log2_allowance - np.log2(max(1, len(crossings)))
    found: list[Choice] = []
    short = 0.0
    shared: dict[int, Unary] = {}
    for crossing in crossings:
        unaries = _unaries(number[crossing.atoms], grown, shared)
        choice = _best(crossing, unaries, float(allowance))
        if choice.prepared is not None:
            short = max(short, choice.prepared.certificate.tail_log2 - allowance)
        found.append(choice)
    return tuple(found), float(np.ceil(short) + 8 if short > 0 else 0.0)


def _unaries(nodes: IntArray, grown: Grown, shared: dict[int, Unary]) -> list[Unary]:
    """The laws of atom sums; atoms alike share one object."""
    found = []
    for t in grown.message[grown.label[nodes]].tolist():
        if t not in shared:
            shared[t] = Unary(
                int(grown.low[t]),
                grown.table(t),
                float(grown.error[t]),
                2.0**-53 * 6 * float(grown.size[t]),
            )
        found.append(shared[t])
    return found


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


def _best(crossing: Crossing, unaries: list[Unary], log2_allowance: float) -> Choice:
    offers = [_quotient(crossing, unaries, log2_allowance)]
    answers = tuple(offer.answer for offer in offers)
    able = [offer for offer in offers if isinstance(offer.answer, Quote)]
    able.sort(key=_cost)
    for offer in able:
        assert offer.make is not None
        try:
            prepared = offer.make()
        except (CongenialError, ValueError):
            continue
        return Choice(crossing, answers, offer.answer.sampler, prepared)
    return Choice(crossing, answers, None, None, _none_fits(crossing, answers))


def _cost(offer: Offer) -> float:
    """Seconds of a hundred draws, tables included."""
    assert isinstance(offer.answer, Quote)
    return offer.answer.setup_seconds + 100 * offer.answer.seconds


def _quotient(crossing: Crossing, unaries: list[Unary], log2_allowance: float) -> Offer:
    answer = quotient.quote(unaries, crossing.facts)
    if isinstance(answer, Refusal):
        return Offer(answer, None)
    return Offer(
        answer,
        lambda: quotient.prepare(unaries, crossing.facts, terminals(crossing, log2_allowance - 20)),
    )


def _none_fits(crossing: Crossing, answers: Sequence[Quote | Refusal]) -> Fault:
    why = "; ".join(f"{a.sampler}: {a.why}" for a in answers if isinstance(a, Refusal))
    facts = ", ".join(f"'{name}'" for name in crossing.names)
    would = "twisted columns or weighted elimination"
    return Fault(
        "invariants",
        f"no exact sampler here serves the {len(crossing.atoms)} sums that {facts} join",
        f"{why}.\nIt would take {would}. Drop a fact, or group categories so that fewer sums are free.",
    )
