"""Weighted elimination draws from its law: every way of an attempt, against brute force."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from congenial.laws import DiscreteLaplace
from congenial.samplers.crossing import elimination_bound
from congenial.samplers.crossing.elimination import WeightedElimination
from congenial.samplers.crossing.elimination_bound import Weights, Workspace
from congenial.samplers.crossing.elimination_build import built
from congenial.samplers.crossing.elimination_model import reduce
from congenial.samplers.crossing.elimination_program import Program, attempt
from congenial.samplers.crossing.elimination_scheme import ranges, scheme, smallest_first
from congenial.samplers.crossing.tables import Terminal, Unary
from support.branching import exact_law
from support.elimination_cases import NAMES, Case, boxed, brute, case, facts, margins


def accepted(program: Program) -> tuple[dict[tuple[int, ...], float], float]:
    """The law of an attempt that is accepted, and its chance, by taking every way."""

    def once(source: object) -> tuple[int, ...] | None:
        found = attempt(program, source)  # type: ignore[arg-type]
        return None if found is None else tuple(int(v) for v in found)

    law = exact_law(once)
    chance = sum(float(p) for z, p in law.items() if z is not None)
    return {z: float(p) / chance for z, p in law.items() if z is not None}, chance  # type: ignore[misc]


def worst_ratio(law: dict[tuple[int, ...], float], other: dict[tuple[int, ...], float]) -> float:
    if law.keys() != other.keys():
        return np.inf
    return max(abs(np.log(law[z] / other[z])) for z in law)


def one_table_a_form(given: Case, weights: float = 1.0) -> Program:
    """A program in which every form has a table of its own, with shifts that nobody chose well."""
    model = reduce(given.unaries, given.terminals)
    order = tuple(range(model.variables))
    spans = ranges(model, order)
    symbols = scheme(model, order, smallest_first(spans, 1))
    rng = np.random.default_rng(5)
    choice = {}
    for step in symbols.steps:
        p, n = len(step.buckets), len(model.laws[step.variable])
        share = rng.dirichlet(np.full(p, 3.0)) if p else np.zeros(0)
        choice[step.variable] = Weights(share * weights, 0.5 * rng.normal(size=(p, n)))
    return built(Workspace(model, symbols, spans), choice)[0]


@pytest.mark.parametrize("bounded", [False, True], ids=["free", "nonnegative"])
@pytest.mark.parametrize("kind", ["laplace", "gaussian"])
@pytest.mark.parametrize("name", NAMES)
def test_an_accepted_attempt_has_the_law(name: str, kind: str, bounded: bool) -> None:
    given = case(name, kind, bounded)
    prepared = WeightedElimination().prepare(given.unaries, given.terminals, seconds=0.02)
    law, chance = accepted(prepared.program)
    assert worst_ratio(law, brute(given)) < 1e-12
    assert chance == pytest.approx(prepared.acceptance, abs=0.15)
    assert prepared.certificate.kind == "exact"


@pytest.mark.parametrize("name", ["2x3", "3x3", "2x5 entries 0..3", "2x2x2 noise at a margin"])
def test_it_has_the_law_with_any_weights_and_shifts(name: str) -> None:
    given = case(name, "laplace", bounded=True)
    program = one_table_a_form(given)
    assert program.tests
    assert worst_ratio(accepted(program)[0], brute(given)) < 1e-12


def test_it_has_the_law_where_values_are_split_into_core_and_tail() -> None:
    law = boxed(DiscreteLaplace(1.5), -7, 7)
    given = Case((law,) * 6, facts(margins((2, 3), [(0,), (1,)])))
    program = one_table_a_form(given)
    assert program.split
    assert worst_ratio(accepted(program)[0], brute(given)) < 1e-12


def test_limits_on_forms_that_cross_are_kept() -> None:
    laws = tuple(boxed(DiscreteLaplace(0.3 + 0.1 * e), -2, 2) for e in range(6))
    rows = margins((2, 3), [(0,), (1,)])
    uppers = (1, 2, None)
    limits = tuple(
        Terminal(np.array(row), "limit", lower=-1, upper=u) for row, u in zip(rows[:3], uppers, strict=True)
    )
    given = Case(laws, (*limits, *facts(rows[3:4])))
    prepared = WeightedElimination().prepare(given.unaries, given.terminals, seconds=0.02)
    assert worst_ratio(accepted(prepared.program)[0], brute(given)) < 1e-12


def test_weights_that_sum_to_more_than_one_are_caught() -> None:
    given = case("3x3", "laplace", bounded=False)
    assert worst_ratio(accepted(one_table_a_form(given, 1.6))[0], brute(given)) > 1e-3


def test_powers_floored_downward_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    def downward(logs: np.ndarray, floor: float) -> np.ndarray:
        return np.where(logs >= -min(floor, 2.0), np.exp(logs), 0.0)

    given = case("3x3", "laplace", bounded=False)
    monkeypatch.setattr(elimination_bound, "_floored", downward)
    assert worst_ratio(accepted(one_table_a_form(given))[0], brute(given)) > 1e-3


def test_the_bound_times_the_acceptance_is_the_normaliser() -> None:
    given = case("3x3", "laplace", bounded=True)
    model = reduce(given.unaries, given.terminals)
    order = tuple(range(model.variables))
    spans = ranges(model, order)
    space = Workspace(model, scheme(model, order, smallest_first(spans, 1)), spans)
    program, log_bound, _ = built(space, {})
    points = brute(Case(given.unaries, given.terminals))
    at = np.array(next(iter(points)))
    weight = np.prod([u.weights[v - u.lo] for u, v in zip(given.unaries, at, strict=True)])
    kept = np.prod([law.sum() for law in model.laws])
    triples = zip(given.unaries, model.laws, model.lo, strict=True)
    scale = np.prod([_scale(u, law, int(low)) for u, law, low in triples])
    normaliser = weight * scale * kept / points[tuple(int(v) for v in at)]
    assert accepted(program)[1] == pytest.approx(normaliser / np.exp(log_bound), rel=1e-9)


def _scale(unary: Unary, law: np.ndarray, low: int) -> float:
    return float(law[0] / unary.weights[low - unary.lo])


def test_a_law_outside_its_windows_is_within_the_certificate() -> None:
    """Windows cut on purpose: what they leave out of the untruncated law is at most what is certified."""
    wide = boxed(DiscreteLaplace(1.0), -12, 12)
    rows = margins((2, 2), [(0,), (1,)])
    given = Case((wide,) * 4, facts(rows))
    prepared = WeightedElimination().prepare(given.unaries, given.terminals, allowance_log2=-12, seconds=0.02)
    law, _ = accepted(prepared.program)
    whole = brute(given)
    missing = 1 - sum(p for z, p in whole.items() if z in law)
    assert len(law) < len(whole)
    assert missing <= 2.0**prepared.certificate.tail_log2 <= 2.0**-12
    inside = {z: p / (1 - missing) for z, p in whole.items() if z in law}
    assert worst_ratio(law, inside) < 1e-12


def test_what_the_laws_leave_out_is_in_the_certificate() -> None:
    cut = replace(boxed(DiscreteLaplace(1.0), -3, 3), trimmed=2.0**-30)
    rows = margins((2, 2), [(0,), (1,)])
    prepared = WeightedElimination().prepare((cut,) * 4, facts(rows), allowance_log2=-20, seconds=0.02)
    # 2^-30 for each of four cells, over the chance of the most likely table
    assert -28 <= prepared.certificate.tail_log2 <= -20
