"""Where facts cross: the quotient's law, with the trees below it, is law (1) at every point."""

import numpy as np
import pytest

from congenial.laws import DiscreteGaussian, DiscreteLaplace
from congenial.planning import crossings
from congenial.requests.builders import (
    at_least,
    at_most,
    band,
    bound_forms,
    forms,
    margin,
    measure,
    nonnegative,
    total,
    zeros,
)
from congenial.samplers.crossing.tables import Terminal, Unary
from congenial.samplers.quotient import prepare
from support.plans import Case, agrees


def laplace(epsilon):
    return DiscreteLaplace(epsilon)


def gaussian(epsilon):
    """About as wide as discrete Laplace with ε."""
    return DiscreteGaussian(sigma=1.2 / epsilon)


LAWS = pytest.mark.parametrize("law", [laplace, gaussian])
CUBE = {"a": 2, "b": 2, "c": 2}
SQUARE = {"a": 2, "b": 2}
COUNTS = [2, 0, 1, 3, 0, 1, 4, 2]


def quotient(case, monkeypatch, many=1, window=None):
    monkeypatch.setattr(crossings, "_cost", lambda offer: offer.answer.sampler != "quotient")
    made = agrees(case, monkeypatch, window)
    assert [choice.sampler for choice in made.choices] == ["quotient"] * many
    return made


@LAWS
@pytest.mark.parametrize("bounds", [[], [nonnegative()], [nonnegative(), at_most("cells", 4)]], ids=len)
def test_a_cube_with_its_three_two_way_margins_fixed(law, bounds, monkeypatch):
    facts = [margin("a", "b"), margin("a", "c"), margin("b", "c")]
    made = quotient(Case(CUBE, COUNTS, [measure("cells", law(0.5))], facts, bounds, 15), monkeypatch)
    assert made.layout.crossings[0].dimension == 1


@LAWS
def test_a_cube_with_a_two_way_margin_crossing_a_one_way_margin(law, monkeypatch):
    facts = [margin("a", "b"), margin("c")]
    case = Case(CUBE, COUNTS, [measure("cells", law(3.0))], facts, [nonnegative()], 7)
    assert quotient(case, monkeypatch).layout.crossings[0].dimension == 3


@LAWS
def test_groups_of_cells_move_as_one_and_are_split_below(law, monkeypatch):
    facts = [total(), margin("a"), margin(c={"v": ["c2", "c3"]})]
    case = Case({"a": 2, "c": 4}, COUNTS, [measure("cells", law(2.5))], facts, [nonnegative()], 5)
    made = quotient(case, monkeypatch)
    assert len(made.layout.crossings[0].atoms) == 4
    assert made.layout.crossings[0].dimension == 1


@LAWS
def test_a_total_beside_both_margins_adds_nothing(law, monkeypatch):
    for facts in ([margin("a"), margin("b")], [total(), margin("a"), margin("b"), total()]):
        made = quotient(
            Case(SQUARE, [2, 0, 1, 3], [measure("cells", law(1.0))], facts, window=20), monkeypatch
        )
        assert len(made.layout.crossings[0].facts) == 3


@LAWS
def test_a_measured_margin_that_crosses_a_fixed_one(law, monkeypatch):
    measured = [measure("cells", law(2.0)), measure("a", law(1.0)), measure("a", law(0.7))]
    case = Case(SQUARE, [2, 0, 1, 3], measured, [margin("b")], [nonnegative()], 16)
    quotient(case, monkeypatch)
    measured = [measure("cells", law(3.0)), measure("a", law(1.0)), measure("b", law(2.0))]
    quotient(Case(SQUARE, [2, 0, 1, 3], measured, [total()], [], 12), monkeypatch)


@LAWS
def test_limits_and_bands_that_cross(law, monkeypatch):
    cells = [measure("cells", law(2.0))]
    bounds = [at_most("a", 4), at_least("a", 1), nonnegative()]
    quotient(Case(SQUARE, [2, 0, 1, 3], cells, [margin("b")], bounds, 16), monkeypatch)
    quotient(Case(SQUARE, [2, 0, 1, 3], cells, [margin("b"), band("a", 3)], [], 16), monkeypatch)


@LAWS
def test_differences_and_weighted_forms_of_cells(law, monkeypatch):
    cells = [measure("cells", law(2.0))]
    more = [{"a": "a0", "weight": 1}, {"a": "a1", "weight": -1}]
    uneven = [{"a": "a1", "weight": 2}, {"a": "a2", "weight": -3}, {"a": "a3", "weight": 1}]
    case = Case({"a": 4}, [2, 0, 1, 3], cells, [forms(more, name="difference"), forms(uneven, name="u")])
    quotient(case, monkeypatch, window=16)
    spare = bound_forms(more, name="spare", at_least=0)
    quotient(Case({"a": 3}, [3, 2, 1], cells, [total()], [spare], 16), monkeypatch)
    # a lattice that is no copy of the integers: 2z + 4w = 0 with z even
    even = [{"a": "a0", "weight": 2}, {"a": "a1", "weight": 4}, {"a": "a2", "weight": 3}]
    quotient(Case({"a": 3}, [3, 2, 1], cells, [forms(even, name="even")], [nonnegative()], 20), monkeypatch)


@LAWS
def test_what_is_nested_in_an_atom_stays_below_it(law, monkeypatch):
    axes = {"a": 2, "b": 2, "c": 2}
    measured = [measure("cells", law(2.0)), measure(["a", "b"], law(1.5))]
    facts = [margin("a"), margin("b")]
    bounds = [nonnegative(), at_most(["a", "b"], 6)]
    made = quotient(Case(axes, COUNTS, measured, facts, bounds, 6), monkeypatch)
    assert len(made.layout.forest.roots) == 4


@LAWS
def test_structural_zeros_inside_atoms_and_whole_atoms_of_them(law, monkeypatch):
    measured = [measure("cells", law(2.0)), measure(["a", "b"], law(1.0))]
    facts = [margin("a"), margin("b")]
    one = zeros([{"a": "a0", "b": "b0", "c": "c1"}])
    made = quotient(Case(CUBE, COUNTS, measured, facts, [one], 6), monkeypatch)
    assert made.layout.determined.tolist() == [1]
    # without one corner of a square nothing can move between margins; of a 2x3 array, four cells can
    corner = zeros([{"a": "a0", "b": "b0", "c": c} for c in ("c0", "c1")])
    made = agrees(Case(CUBE, [0, 0, *COUNTS[2:]], measured, facts, [corner], 6), monkeypatch)
    assert not made.layout.crossings
    wide = Case(
        {"a": 2, "b": 3}, [0, 1, 2, 3, 1, 1], [measure("cells", law(2.0))], facts, [zeros(a=["a0"], b=["b0"])]
    )
    made = quotient(wide, monkeypatch, window=16)
    assert made.layout.determined.tolist() == [0, 3]


@LAWS
def test_facts_inside_an_atom_say_what_its_sum_is(law, monkeypatch):
    axes = {"a": 2, "b": 3, "c": 2}
    measured = [measure("cells", law(6.0))]
    margins = [margin("a"), margin("b")]
    corner = margin(a={"x": ["a0"]}, b={"y": ["b0"]})
    x = [1, 2, 0, 1, 1, 1, 2, 0, 0, 3, 1, 1]
    made = quotient(Case(axes, x, measured, [*margins, corner], window=2), monkeypatch)
    assert len(made.layout.crossings[0].atoms) == 4
    # two facts that together make up the atom
    both = margin(a={"x": ["a0"]}, b={"y": ["b0"]}, c={"p": ["c0"], "q": ["c1"]})
    made = quotient(Case(axes, x, measured, [*margins, both], window=2), monkeypatch)
    assert len(made.layout.crossings[0].atoms) == 4
    assert made.layout.determined.tolist() == [0, 1]


def test_an_atom_of_two_fixed_groups_is_known(monkeypatch):
    axes = {"a": 2, "b": 2, "c": 4}
    halves = margin(a={"x": ["a0"]}, b={"y": ["b0"]}, c={"p": ["c0", "c1"], "q": ["c2", "c3"]})
    case = Case(axes, [2] * 16, [measure("cells", laplace(3.0))], [margin("a"), margin("b"), halves])
    made = case.prepared(monkeypatch)
    assert not made.layout.crossings
    assert len(made.layout.forest.roots) == 5


@LAWS
def test_independent_crossings_are_drawn_by_themselves(law, monkeypatch):
    axes = {"s": 2, "a": 2, "b": 2}
    facts = [margin("s", "a"), margin("s", "b")]
    case = Case(axes, COUNTS, [measure("cells", law(1.0))], facts, [nonnegative()], 12)
    quotient(case, monkeypatch, many=2)


@LAWS
def test_one_label_on_an_axis_is_no_axis(law, monkeypatch):
    facts = [margin("a"), margin("one")]
    made = agrees(
        Case({"a": 3, "one": 1}, [1, 0, 2], [measure("cells", law(2.0))], [margin("one")], window=16),
        monkeypatch,
    )
    assert not made.choices
    quotient(
        Case(
            {"a": 2, "one": 1, "b": 2},
            [2, 0, 1, 3],
            [measure("cells", law(1.0))],
            [*facts, margin("b")],
            window=20,
        ),
        monkeypatch,
    )


def test_points_are_every_point_of_the_lattice_inside_the_windows():
    rng = np.random.default_rng(5)
    for _ in range(60):
        width, rank = int(rng.integers(2, 5)), 1
        rank = int(rng.integers(max(1, width - 3), width))
        facts = rng.integers(-3, 4, (rank, width))
        if np.linalg.matrix_rank(facts) < rank:
            continue
        lows = -rng.integers(0, 5, width)
        unaries = [
            Unary(int(low), np.ones(int(size)))
            for low, size in zip(lows, -lows + rng.integers(1, 5, width), strict=True)
        ]
        axes = np.meshgrid(*(np.arange(u.lo, u.hi + 1) for u in unaries), indexing="ij")
        grid = np.stack([axis.reshape(-1) for axis in axes], axis=1)
        true = {tuple(z) for z in grid[(grid @ facts.T == 0).all(axis=1)].tolist()}
        assert {tuple(z) for z in prepare(unaries, facts, []).points.tolist()} == true


def test_a_quotients_certificate_divides_by_what_the_facts_leave():
    """Two laws that lean apart, held equal: the far values that a window cuts off are as likely as any."""
    falling, rising = np.exp(-np.arange(13.0)), np.exp(np.arange(13.0))
    kept = falling[:7]
    short = Unary(0, kept / kept.sum(), trimmed=float(falling[7:].sum() / kept.sum()))
    made = prepare([short, Unary(0, rising / rising.sum())], np.array([[1, -1]]), [])
    # the true law is uniform on 0 … 12, the sampler's on 0 … 6
    assert np.abs(made.weights / made.weights.sum() - 1 / 7).max() < 1e-15
    assert short.trimmed < 1e-3
    assert 2.0**made.certificate.tail_log2 >= 6 / 13


def test_a_quotients_certificate_counts_what_a_measured_form_leaves_out():
    flat = Unary(-8, np.full(17, 1 / 17), open_below=False, open_above=False)
    law = np.exp(-np.abs(np.arange(-8.0, 9.0)))
    cut = law[6:11]
    table = Unary(-2, cut / cut.sum(), trimmed=float((law.sum() - cut.sum()) / cut.sum()))
    form = Terminal(np.array([1, 0]), "law", table)
    made = prepare([flat, flat], np.array([[1, 1]]), [form])
    points = made.points[:, 0]
    true = dict(zip(range(-8, 9), law / law.sum(), strict=True))
    drawn = dict(zip(points.tolist(), made.weights / made.weights.sum(), strict=True))
    distance = 0.5 * sum(abs(true[z] - drawn.get(z, 0.0)) for z in true)
    assert 0.01 < distance <= 2.0**made.certificate.tail_log2
