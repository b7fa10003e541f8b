"""Each rule of composition against enumeration on tiny tables, and each false reading caught."""

import math
from fractions import Fraction
from pathlib import Path

import pytest

from congenial.errors import ArgumentError
from congenial.privacy.composition import Loss, TableClass, mixture, parallel, processed, sequential, united
from support import tiny_laws as tiny
from support.composition_examples import examples, margins, no_fact, rows, table

EXAMPLES = examples()
ROUNDING = 1e-12
PAGE = Path(__file__).parents[2] / "docs" / "explanation" / "composition-of-releases.md"


def named(example):
    return f"{example.rule}: {example.setting}"


@pytest.mark.parametrize("example", [one for one in EXAMPLES if one.holds], ids=named)
def test_no_enumerated_loss_exceeds_what_its_rule_claims(example):
    assert example.enumerated <= example.claimed + ROUNDING
    assert example.enumerated > 0


@pytest.mark.parametrize("example", [one for one in EXAMPLES if one.tight], ids=named)
def test_a_rule_that_is_called_attained_is_attained(example):
    assert example.enumerated == pytest.approx(example.claimed, abs=ROUNDING)


@pytest.mark.parametrize("example", [one for one in EXAMPLES if not one.holds], ids=named)
def test_a_false_reading_is_refuted_by_an_enumerated_loss_that_exceeds_it(example):
    assert example.enumerated > example.claimed + 0.01


def test_the_page_shows_the_table_that_enumeration_gives():
    assert table() in PAGE.read_text(encoding="utf-8"), (
        "put the output of `python -m support.composition_examples`, run in tests/, into the page"
    )


@pytest.mark.parametrize("sets", [([0], [6]), ([0, 1], [3]), ([0, 1, 2], [4, 5, 6]), ([0], [2], [5, 6])])
def test_conditioning_on_a_union_mixes_the_parts_with_weights_that_follow_the_count(sets):
    weights_seen = set()
    for x in range(7):
        law = tiny.clamped(x, 6, Fraction(1, 2))
        masses = [sum(law[y] for y in one) for one in sets]
        weights = [mass / sum(masses) for mass in masses]
        parts = [tiny.given(law, one) for one in sets]
        assert tiny.given(law, [y for one in sets for y in one]) == tiny.mixed(weights, parts)
        weights_seen.add(tuple(weights))
    assert len(weights_seen) > 1


def test_sets_of_one_point_lose_nothing_each_and_their_union_loses():
    laws = [tiny.clamped(x, 1, Fraction(1, 2)) for x in (0, 1)]
    for point in (0, 1):
        assert tiny.apart(*(tiny.given(law, [point]) for law in laws)) == 0
    assert tiny.apart(*(tiny.given(law, [0, 1]) for law in laws)) == pytest.approx(math.log(2))


def test_moving_to_the_nearest_admissible_table_commutes_with_mixing_and_conditioning_does_not():
    weights = [Fraction(1, 3), Fraction(2, 3)]
    for x in range(5):
        laws = [tiny.clamped(x, 4, a) for a in (Fraction(1, 2), Fraction(2, 3))]
        moved = [tiny.pushed(law, lambda y: max(y, 2)) for law in laws]
        assert tiny.pushed(tiny.mixed(weights, laws), lambda y: max(y, 2)) == tiny.mixed(weights, moved)
        if x != 2:
            cut = [tiny.given(law, [2, 3, 4]) for law in laws]
            assert tiny.given(tiny.mixed(weights, laws), [2, 3, 4]) != tiny.mixed(weights, cut)


def test_facts_together_may_determine_what_neither_determines():
    found = tiny.tables(4, 4)

    def diagonal(x):
        return x[0] + x[3]

    for fact in (margins, diagonal):
        assert tiny.pairs(found, 4, fact)
    assert not tiny.pairs(found, 4, lambda x: (margins(x), diagonal(x)))


def test_facts_together_may_need_more_units_to_move_than_each_alone():
    found = tiny.tables(4, 4)
    columns = {"rows": rows, "columns": lambda x: (x[0] + x[2], x[1] + x[3])}
    assert all(tiny.pairs(found, 1, fact) for fact in columns.values())
    assert not tiny.pairs(found, 1, margins)
    assert tiny.pairs(found, 2, margins)


def renyi(p, q, alpha):
    return math.log(sum(float(p[y]) ** alpha * float(q[y]) ** (1 - alpha) for y in p)) / (alpha - 1)


@pytest.mark.parametrize("alpha", [1.5, 2, 8])
def test_divergences_of_independent_releases_add_and_mixing_never_raises_them(alpha):
    halves, thirds = ([tiny.clamped(x, 5, a) for x in range(6)] for a in (Fraction(1, 2), Fraction(2, 3)))
    for x in range(5):
        one = renyi(halves[x], halves[x + 1], alpha)
        two = renyi(thirds[x], thirds[x + 1], alpha)
        both = [tiny.together(halves[at], lambda _, at=at: thirds[at]) for at in (x, x + 1)]
        assert renyi(*both, alpha) == pytest.approx(one + two, abs=ROUNDING)
        weights = (Fraction(1, 4), Fraction(3, 4))
        mixed = [tiny.mixed(weights, (halves[at], thirds[at])) for at in (x, x + 1)]
        assert renyi(*mixed, alpha) <= max(one, two) + ROUNDING


def slack(p, q, ratio):
    """The least δ with P(E) ≤ ratio·Q(E) + δ for every event, both ways."""
    keys = p.keys() | q.keys()

    def one_way(p, q):
        return sum(max(Fraction(), p.get(y, Fraction()) - ratio * q.get(y, Fraction())) for y in keys)

    return max(one_way(p, q), one_way(q, p))


def test_slacks_of_independent_releases_add_at_the_sum_of_their_epsilons():
    truncated = [tiny.given(tiny.clamped(x, 9, Fraction(1, 2)), range(x, x + 6)) for x in (2, 3)]
    ratio = Fraction(2)
    delta = slack(*truncated, ratio)
    assert delta > 0
    joint = [tiny.together(law, lambda _, law=law: law) for law in truncated]
    assert 0 < slack(*joint, ratio**2) <= 2 * delta
    summed = sequential([Loss("epsilon", math.log(2), float(delta))] * 2)
    assert summed.delta >= 2 * float(delta)


def test_sums_are_never_below_the_exact_sum():
    losses = [Loss("epsilon", 0.1), Loss("epsilon", 0.2), Loss("epsilon", 1e-30)]
    assert Fraction(sequential(losses).amount) >= sum(Fraction(one.amount) for one in losses)
    assert sequential(losses[:1]).amount == 0.1


def test_a_composed_statement_speaks_about_the_tables_of_all_its_parts():
    one = Loss("rho", 0.1, tables=TableClass.of(["total"], units=1))
    two = Loss("rho", 0.2, tables=TableClass.of(["sex"], ["nonnegative"], units=2))
    both = TableClass.of(["sex", "total"], ["nonnegative"], units=1)
    for rule in (sequential, parallel, mixture):
        assert rule([one, two]).tables == both
    assert processed(one, ["sex"]).tables == TableClass.of(["sex", "total"], units=1)
    assert processed(one).tables == one.tables


def test_what_cannot_be_composed_is_refused():
    one = Loss("epsilon", 1.0)
    for wrong in (
        lambda: sequential([]),
        lambda: sequential([one, Loss("rho", 1.0)]),
        lambda: parallel([one], reach=0),
        lambda: united([one], [0.0, 0.0]),
        lambda: united([one], [math.inf]),
        lambda: united([Loss("rho", 1.0)], [0.0]),
        lambda: united([Loss("epsilon", 1.0, delta=1e-9)], [0.0]),
        lambda: Loss("epsilon", math.inf),
        lambda: Loss("epsilon", 1.0, delta=-1.0),
        lambda: Loss("euro", 1.0),
    ):
        with pytest.raises(ArgumentError):
            wrong()


def test_every_pair_of_tables_agrees_on_no_fact_at_all():
    assert len(tiny.pairs(tiny.tables(2, 3), 3, no_fact)) == 6
