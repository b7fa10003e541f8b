"""The ends of what can be asked: huge counts, tiny and huge laws, one cell, facts too steep, tables too wide.

What can be served has its law; what cannot is refused with a reason, the rest of the plan stands.
"""

import numpy as np
import pytest

import congenial as cg
from congenial.errors import NoSamplerError
from congenial.laws import DiscreteGaussian, DiscreteLaplace
from congenial.planning import crossings, drawing
from congenial.randomness import SeededSource, SystemSource
from congenial.requests.builders import at_least, at_most, forms, margin, measure, nonnegative, total
from congenial.samplers.base import Certificate
from congenial.samplers.tree import tables
from congenial.samplers.tree.tables import window
from support import convolutions as exact
from support.plans import Case, agrees, law_at, slot_laws

SQUARE = {"a": 2, "b": 2}
MOST = 2**53


def weighs(law):
    return [measure("cells", law)]


@pytest.mark.parametrize(
    "bounds", [[], [nonnegative()], [nonnegative(), at_most({"p": "p0"}, MOST)]], ids=len
)
def test_counts_as_large_as_floats_hold_change_nothing(bounds, monkeypatch):
    x = [MOST // 4, 0, MOST // 4 + 3, MOST // 2 - 3]
    case = Case({"p": [2, 2]}, x, weighs(DiscreteLaplace(2.0)), [total()], bounds, 10)
    agrees(case, monkeypatch)


@pytest.mark.parametrize("epsilon", [50.0, 700.0, 1000.0, 5000.0])
def test_laws_so_steep_that_hardly_anything_moves(epsilon, monkeypatch):
    for facts in ([total()], []):
        case = Case({"a": 3}, [1, 0, 2], weighs(DiscreteLaplace(epsilon)), facts, [nonnegative()], 4)
        made = case.prepared(monkeypatch)
        assert made.refused == ()
        still = np.zeros((1, 3), dtype=np.int64)
        assert law_at(made, still)[0] == pytest.approx(1, abs=1e-20)
        assert made.certificate.tail_log2 > -np.inf  # what is left out is not nothing
        assert not made.draws(20, SystemSource()).any()
    case = Case(SQUARE, [1, 2, 3, 4], weighs(DiscreteLaplace(epsilon)), [margin("a"), margin("b")])
    assert not case.prepared().draws(20, SystemSource()).any()


def test_a_law_that_underflows_beside_one_that_does_not(monkeypatch):
    """One cell is measured at ε = 800, the others at 1: windows end where floats do."""
    queries = [{"a": {"one": ["a0"]}}, {"a": {"two": ["a1"], "three": ["a2"]}}]
    measured = [measure(queries[0], DiscreteLaplace(800.0)), measure(queries[1], DiscreteLaplace(1.0))]
    made = Case({"a": 3}, [5, 5, 5], measured, [total()]).prepared(monkeypatch)
    low, law = slot_laws(made.tree)[1]
    weights = DiscreteLaplace(2.0).weights(-30, 30)
    seen = exact.at((low, law.astype(np.longdouble)), np.arange(-30, 31))
    assert np.abs(seen / (weights / weights.sum()) - 1).max() < 1e-12


@pytest.mark.parametrize(
    "law", [DiscreteLaplace(1e-3), DiscreteGaussian(sigma=900.0)], ids=["laplace", "gaussian"]
)
def test_laws_so_flat_that_windows_hold_thousands(law, monkeypatch):
    """Two cells that cannot fall below zero, under a fixed total: P(z) ∝ f(z)²on -x₁ … x₂."""
    x = [700, 1500]
    made = Case({"a": 2}, x, weighs(law), [total()], [nonnegative()]).prepared(monkeypatch)
    assert made.refused == ()
    low, found = slot_laws(made.tree)[0]
    _, one = exact.table(law, -x[0], x[1])
    true = one * one / (one * one).sum()
    seen = exact.at((low, found.astype(np.longdouble)), np.arange(-x[0], x[1] + 1))
    assert np.abs(seen / true - 1).max() < 1e-12


def test_a_table_of_one_cell(monkeypatch):
    case = Case({"a": 1}, [3], [*weighs(DiscreteLaplace(2.0)), measure("total", DiscreteLaplace(1.0))])
    agrees(case, monkeypatch, window=14)
    bounded = Case({"a": 1}, [3], weighs(DiscreteLaplace(2.0)), [], [at_least("total", 1), at_most("a", 5)])
    agrees(bounded, monkeypatch, window=14)
    assert [part.name for part in bounded.prepared().parts] == ["independent"]
    table = cg.Table(case.structure.domain, np.array([3]))
    with pytest.raises(cg.NothingToProtectError):
        cg.plan(table, cg.Request(weighs(DiscreteLaplace(1.0)), [total()]))


def test_a_limit_met_exactly_on_both_sides_leaves_one_point(monkeypatch):
    bounds = [nonnegative(), at_most("cells", 2), at_most("total", 6), at_least("total", 6)]
    case = Case({"a": 3}, [2, 2, 2], weighs(DiscreteLaplace(1.0)), [], bounds, 6)
    made = agrees(case, monkeypatch)
    assert not made.draws(5, SystemSource()).any()


STEEP = [
    {"a": f"a{i}", "form": f, "weight": w}
    for f, ws in (
        ("f", (2**31 - 1, 2**31 - 19, 1, 7)),
        ("g", (2**30 + 3, 11, 2**31 - 1, 5)),
        ("h", (3, 2**29 + 1, 9, 4)),
    )
    for i, w in enumerate(ws)
]


def test_forms_with_the_largest_weights_are_planned_or_refused_in_words():
    made = Case({"a": 4}, [9] * 4, weighs(DiscreteLaplace(1.0)), [forms(STEEP, name="steep")]).prepared()
    if made.refused:
        assert "no exact sampler" in made.refused[0].what
        with pytest.raises(NoSamplerError):
            made.draws(1, SeededSource(1))
    else:
        assert not made.draws(5, SystemSource()).any()


def refused(case, says):
    made = case.prepared()
    assert any(says in fault.what + fault.hint for fault in made.refused), made.refused
    with pytest.raises(NoSamplerError):
        made.draws(1, SeededSource(1))
    return made


def test_noise_too_wide_for_a_table_is_refused_block_by_block():
    flat = DiscreteLaplace(1e-9)
    refused(
        Case({"a": 3}, [9] * 3, weighs(flat)), "'independent' would be exact here, but the noise is too wide"
    )
    refused(Case({"a": 300}, [10**12] * 300, weighs(flat), [total()]), "'composition' would be exact here")
    refused(Case({"a": 3}, [0] * 3, [*weighs(flat), measure("total", flat)]), "too long for a table")


def test_a_crossing_form_whose_noise_is_too_wide_is_named():
    flat = {"a": {"x": ["a0"]}, "b": {"y": ["b0", "b1"]}}
    measured = [*weighs(DiscreteLaplace(1.0)), measure(flat, DiscreteLaplace(1e-6))]
    case = Case({"a": 2, "b": 3}, [9] * 6, measured, [margin("a"), margin("b")])
    made = refused(case, "the noise of '{a: {x}, b: {y}}' is too wide for a table")
    assert made.choices[0].prepared is None


def test_a_plan_prints_what_it_can_serve_beside_what_it_cannot():
    domain = Case({"p": [2, 3]}, [0] * 5, weighs(DiscreteLaplace(1.0))).structure.domain
    table = cg.Table(domain, np.array([5, 6, 7, 8, 9]))
    wide = measure({"p": {"n": [["node1", f"leaf{i}"] for i in range(3)]}}, DiscreteLaplace(1e-9))
    cells = measure({"p": {f"g{i}": [["node0", f"leaf{i}"]] for i in range(2)}}, DiscreteLaplace(1.0))
    rest = measure({"p": {f"h{i}": [["node1", f"leaf{i}"]] for i in range(3)}}, DiscreteLaplace(1e-9))
    plan = cg.plan(table, cg.Request([cells, rest, wide], [margin(p={"first": [["node0"]]})]))
    said = {block.sampler: block for block in plan.blocks}
    assert said["composition"].cells == 2
    assert said["composition"].certificate.kind == "exact"
    assert (said[None].cells, said[None].certificate) == (3, None)
    assert "none" in plan.explain()
    with pytest.raises(NoSamplerError):
        plan.draws(1, SeededSource(1))


def test_a_plan_that_could_not_meet_its_allowance_is_refused(monkeypatch):
    """Planted: a certificate beyond what the guarantee states, in what is left out or in rounding."""
    case = Case({"a": 3}, [1, 0, 2], weighs(DiscreteLaplace(1.0)), [total()], [nonnegative()])
    for worse, says in (
        (Certificate("exact", 1e-12, -70.0), "leave out more than"),
        (Certificate("exact", 1e-6, -99.0), "rounding could exceed"),
    ):
        monkeypatch.setattr(drawing.Drawing, "certificate", worse)
        assert any(says in fault.what for fault in case.prepared().refused)


def test_all_parts_of_a_plan_together_stay_within_the_allowance(monkeypatch):
    """Independent cells, compositions, trees and crossings: each gets its share of 2^-80."""
    axes = {"s": ["i", "c", "t", "x"], "a": 2, "b": 2}
    measured = [*weighs(DiscreteLaplace(0.5)), measure({"s": {"t": ["t"]}}, DiscreteLaplace(0.2))]
    facts = [
        margin(s={"c": ["c"], "x": ["x"]}),
        margin("a", s={"x": ["x"]}),
        margin("b", s={"x": ["x"]}),
    ]
    made = Case(axes, [30] * 16, measured, facts).prepared()
    assert {part.name for part in made.parts} == {"independent", "composition"}
    assert len(made.choices) == 1
    assert made.refused == ()
    assert made.certificate.tail_log2 <= drawing.LOG2_ALLOWANCE
    noise = made.draws(50, SystemSource()).reshape(-1, 4, 2, 2)
    assert not noise[:, 1].sum(axis=(1, 2)).any()
    assert not noise[:, 3].sum(axis=1).any()
    assert not noise[:, 3].sum(axis=2).any()
    assert noise[:, 0].any()


def test_a_crossing_with_little_mass_gets_windows_and_forms_that_are_long_enough(monkeypatch):
    """The lattice has little of the atoms' law: what is trimmed from measured forms counts that much more."""
    measured = [*weighs(DiscreteLaplace(0.05)), measure("a", DiscreteLaplace(0.05))]
    case = Case(
        {"a": 2, "b": 2, "c": 20}, [40] * 80, measured, [margin("b")], [at_most("a", 1700), nonnegative()]
    )
    monkeypatch.setattr(crossings, "_cost", lambda offer: offer.answer.sampler != "quotient")
    made = case.prepared()
    for choice in made.choices:
        if choice.prepared is not None:
            assert choice.prepared.certificate.tail_log2 <= drawing.LOG2_ALLOWANCE - 3


@pytest.mark.parametrize(
    "law", [DiscreteLaplace(0.3), DiscreteGaussian(sigma=3.0)], ids=["laplace", "gaussian"]
)
@pytest.mark.parametrize("tilt", [-0.2, -0.02, 0.0, 0.1, 0.29])
@pytest.mark.parametrize("ends", [(-(2**62), 2**62), (-7, 2**62), (-(2**62), 4), (-90, 31), (3, 50), (0, 0)])
def test_a_window_says_at_least_what_it_leaves_out(law, tilt, ends):
    if law.power == 1 and abs(tilt) >= 0.29 and max(map(abs, ends)) > 2**40 and ends != (-7, 2**62):
        tilt = 0.25
    for cut in (-6.0, -20.0, -80.0):
        held = window((law,), *ends, tilt, cut)
        far = 9000
        z = np.arange(max(ends[0], -far), min(ends[1], far) + 1)
        true = exact.table(law, int(z[0]), int(z[-1]))[1] * np.exp(np.longdouble(tilt) * z)
        inside = (z >= held.low) & (z < held.low + len(held.weights))
        assert inside.sum() == len(held.weights)
        scale = true[inside].max()
        # a tilt is added in the exponent: its rounding is that of the exponent's terms (growing.py counts it)
        reach = float(max(-held.low, held.low + len(held.weights) - 1))
        exponent = abs(tilt) * reach + law.rate * reach**law.power
        assert np.abs(held.weights / (true[inside] / scale) - 1).max() < 2.0**-53 * (6 + 4 * exponent)
        left_out = float(true[~inside].sum() / scale)
        assert left_out <= held.tail
        assert held.tail <= 2.0**cut * held.weights.sum() * (1 + 1e-6)


def test_a_window_that_would_be_too_long_is_refused():
    with pytest.raises(tables.TooWideError):
        window((DiscreteLaplace(1e-7),), -(2**62), 2**62, 0.0, -80.0)
    with pytest.raises(tables.TooWideError):
        window((), 0, 2**40, 0.0, -80.0)


def test_atoms_share_a_law_only_if_limits_end_both_or_neither(monkeypatch):
    """One cell's limit is where windows end anyway, the other's lies beyond: one table, and two laws."""
    law = DiscreteLaplace(1.0)
    grown = Case(SQUARE, [10**6] * 4, weighs(law), [margin("a"), margin("b")]).prepared().tree.grown
    end = -int(grown.low[0])
    x = [end, 10**6, 10**6, 10**6]
    made = Case(SQUARE, x, weighs(law), [margin("a"), margin("b")], [nonnegative()]).prepared()
    grown, (crossing,) = made.tree.grown, made.layout.crossings
    unaries = crossings._unaries(crossing.atoms, grown, {})
    assert len({int(grown.message[grown.label[atom]]) for atom in crossing.atoms}) == 1
    assert [unary.open_below for unary in unaries] == [False, True, True, True]
    assert len({id(unary) for unary in unaries}) == 2
