"""What weighted elimination would cost: a rehearsal on a coarse copy, of which nothing is kept."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from congenial.errors import ArgumentError, ConflictError
from congenial.randomness import SeededSource
from congenial.samplers.base import Quote, Refusal
from congenial.samplers.crossing.elimination_bound import Workspace
from congenial.samplers.crossing.elimination_build import built
from congenial.samplers.crossing.elimination_layers import frame
from congenial.samplers.crossing.elimination_layers_build import arranged, layered, learned
from congenial.samplers.crossing.elimination_layers_plan import table_of
from congenial.samplers.crossing.elimination_lines import lines_of
from congenial.samplers.crossing.elimination_model import Model, reduce
from congenial.samplers.crossing.elimination_order import coarse, rehearsed
from congenial.samplers.crossing.elimination_program import Program
from congenial.samplers.crossing.elimination_scheme import ranges
from congenial.samplers.crossing.tables import Terminal, Unary

NAME = "weighted elimination"
MOST_VARIABLES = 600
_ATTEMPTS = 4000
_SECONDS_A_CELL = 1e-7
_BYTES_A_CELL = 1e5


def quoted(
    unaries: Sequence[Unary], terminals: Sequence[Terminal], seconds: float, memory: float
) -> Quote | Refusal:
    """Expected time and memory; see `WeightedElimination.quote`."""
    try:
        model = reduce(unaries, terminals)
        if model.variables > MOST_VARIABLES:
            return Refusal(NAME, f"{model.variables} variables are more than the {MOST_VARIABLES} it takes")
        plain = table_of(unaries, terminals)
        program = _layers(plain) if plain is not None else _tables(model)
    except ConflictError:
        return Refusal(NAME, "the facts and the bounds contradict each other")
    except ArgumentError as wrong:
        return Refusal(NAME, wrong.faults[0].what)
    if program is None:
        return Refusal(NAME, "no order of elimination was found")
    acceptance = _acceptance(program)
    kind = f"{model.variables} variables, {len(model.ends)} forms"
    if plain is not None:
        kind = "a three-way table by layers"
    return Quote(
        NAME,
        _SECONDS_A_CELL * max(1, model.variables) / acceptance,
        seconds + 0.02 * model.variables,
        min(memory, _BYTES_A_CELL * max(1, model.variables)),
        f"{kind}; acceptance about {acceptance:.2g} on a coarse copy",
    )


def _layers(model: Model) -> Program | None:
    lines = lines_of(model)
    assert lines is not None
    small, _ = coarse(model, 7.0)
    table = frame(small, arranged(small, lines)[0])
    spans, found = learned(table, 3)
    return layered(small, table, spans, found, {})[0]


def _tables(model: Model) -> Program | None:
    found = rehearsed(model)
    if found is None:
        return None
    small, _ = coarse(found.model)
    spans = ranges(small, found.order)
    return built(Workspace(small, found.scheme, spans), found.choice)[0]


def _acceptance(program: Program) -> float:
    """What part of some attempts is accepted, at least one of them."""
    source = SeededSource(0)
    draws = attempts = 0
    size = 1 << 16
    out = np.empty((_ATTEMPTS, len(program.parent)), dtype=np.int64)
    while attempts < _ATTEMPTS and size < 1 << 23:
        done, _, tried, _ = program.fill(source.take(size), out, _ATTEMPTS)
        draws, attempts = draws + done, attempts + tried
        size *= 4
    return max(draws, 1) / max(attempts, 1)
