"""Certificates are at least the true total variation, the twin draws what they are about, and bounds that
were set aside count.

Allowances here are so loose that what windows leave out can be seen.
"""

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from congenial.laws import DiscreteGaussian, DiscreteLaplace
from congenial.planning import crossings, drawing
from congenial.requests.builders import at_most, measure, nonnegative, total
from congenial.samplers.tree import growing
from congenial.samplers.tree.sampler import ready
from support.branching import exact_law
from support.plans import Case, forks, law_at, one_attempt, slot_laws, tree_law_at, twin_draw, variation
from support.small_cases import CASES

ALL = pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())


@pytest.fixture(autouse=True)
def quotients_where_forms_cross(monkeypatch):
    monkeypatch.setattr(crossings, "_cost", lambda offer: offer.answer.sampler != "quotient")


def distance(made, case):
    """The true total variation, by enumeration; the law is given where bounds were set aside, too."""
    points, true = case.law()
    found = law_at(made, points)
    if len(made.tree.grown.watched):
        found = found / math.fsum(found.tolist())
    return variation(found, true)


@ALL
def test_a_certificate_is_at_least_the_true_total_variation(case, monkeypatch):
    seen = []
    for allowance in (8.0, 2.0, -4.0, -10.0, -18.0):
        made = case.prepared(monkeypatch, allowance)
        assert made.refused == ()
        true = distance(made, case)
        assert true <= 2.0**made.certificate.tail_log2 * (1 + 1e-9) + 1e-13
        assert made.certificate.tail_log2 <= allowance
        seen.append(true)
    assert all(finer <= coarser + 1e-13 for coarser, finer in pairwise(seen))
    assert seen[-1] < 2.0**-18


@pytest.mark.parametrize("name", [name for name in CASES if "cross" not in name])
def test_what_windows_leave_out_is_certified_apart_from_what_rows_leave_out(name):
    """Rows of splits are kept whole here, so that nothing hides what leaves, sums and factors trim."""
    case = CASES[name]
    forest, cells = case.layout.forest, len(case.x)
    for allowance in (12.0, 6.0, 0.0):
        grown = growing.grow_forest(forest, allowance, 1e8)
        tree = ready(grown, cells, -120.0)
        points, true = case.law()
        found = tree_law_at(tree, points)
        found = found / math.fsum(found.tolist()) if len(grown.watched) else found
        assert variation(found, true) <= grown.missing * (1 + 1e-9) + 1e-14


def test_the_loosest_certificates_are_not_idle():
    """What the test above compares is far above its own rounding."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(crossings, "_cost", lambda offer: offer.answer.sampler != "quotient")
        seen = {name: distance(case.prepared(patch, 8.0), case) for name, case in CASES.items()}
    assert sum(true > 1e-7 for true in seen.values()) >= len(CASES) - 3


@ALL
def test_the_twin_draws_what_is_certified_by_every_way_at_every_fork(case, monkeypatch):
    made = case.prepared(monkeypatch, -10.0)
    law = exact_law(one_attempt(lambda source: tuple(twin_draw(made, source).tolist()), forks(made)))
    points = np.array(list(law), dtype=np.int64)
    found = law_at(made, points)
    drawn = np.array([float(p) for p in law.values()])
    assert len(points) > 2
    assert np.abs(drawn / found - 1).max() < 1e-12
    # an attempt that begins again is given up by `one_attempt`: what is left is the chance of that
    assert math.isclose(math.fsum(drawn), 1 - float(law.unexplored), rel_tol=1e-12)
    assert float(law.unexplored) < 1e-3


SET_ASIDE = Case(
    {"a": 3}, [1, 6, 4], [measure("cells", DiscreteLaplace(1.0))], [total()], [nonnegative()], 40
)


def aside(case, monkeypatch, chance=-6.0, allowance=-80.0):
    """A drawing that sets aside limits which are broken with a chance that can be seen."""
    monkeypatch.setattr(growing, "_ASIDE", chance)
    made = case.prepared(monkeypatch, allowance)
    assert len(made.tree.grown.watched)
    return made


@pytest.mark.parametrize(
    "law", [DiscreteLaplace(1.0), DiscreteGaussian(sigma=2.0)], ids=["laplace", "gaussian"]
)
@pytest.mark.parametrize("facts", [[total()], []], ids=["fixed", "open"])
def test_limits_that_were_set_aside_are_kept_by_beginning_again(law, facts, monkeypatch):
    measured = [measure("cells", law), measure("total", law)]
    case = Case(
        {"a": 3}, [2, 6, 5], measured, facts, [nonnegative(), at_most("cells", 9)], 40 if facts else 30
    )
    made = aside(case, monkeypatch)
    points, true = case.law()
    found = law_at(made, points)
    kept = math.fsum(found.tolist())
    assert np.abs(found / kept / true - 1)[true > 1e-18].max() < 1e-12
    # the chance of having to begin again is certified
    assert 1e-5 < 1 - kept <= made.tree.grown.broken <= growing._MOST_BROKEN
    assert (found[true == 0] == 0).all()


def test_the_twin_gives_up_exactly_the_attempts_that_break_a_limit(monkeypatch):
    made = aside(SET_ASIDE, monkeypatch, allowance=0.0)
    law = exact_law(one_attempt(lambda source: tuple(twin_draw(made, source).tolist()), forks(made)))
    points = np.array(list(law), dtype=np.int64)
    assert ((points + np.array(SET_ASIDE.x)) >= 0).all()
    assert 1e-5 < float(law.unexplored) <= made.tree.grown.broken
    assert np.abs(np.array([float(p) for p in law.values()]) / law_at(made, points) - 1).max() < 1e-12


def forgetting(made):
    """Planted: the same drawing, with nothing watched."""
    none = np.empty(0, dtype=np.int64)
    grown = replace(made.tree.grown, watched=none, watched_low=none, watched_high=none)
    return replace(made, tree=replace(made.tree, grown=grown))


def test_a_planner_that_forgets_limits_it_set_aside_is_caught(monkeypatch):
    """By its certificate the draw is right; by enumeration it is not."""
    made = aside(SET_ASIDE, monkeypatch)
    points, true = SET_ASIDE.law()
    right, wrong = law_at(made, points), law_at(forgetting(made), points)
    assert variation(right / math.fsum(right.tolist()), true) < 1e-13
    assert variation(wrong, true) > 1e-5 > 1e6 * 2.0**made.certificate.tail_log2


def test_forgetting_limits_that_hardly_ever_bind_is_more_than_a_certificate_allows(monkeypatch):
    """What the planner sets aside of itself: each with a chance of some 2^-28, and still far too much."""
    case = Case({"a": 60}, [18] * 60, [measure("cells", DiscreteLaplace(1.0))], [total()], [nonnegative()])
    made = case.prepared(monkeypatch)
    assert len(made.tree.grown.watched) == 60
    low, law = slot_laws(forgetting(made).tree)[0]
    broken = math.fsum(law[: -18 - low].tolist())
    assert broken > 1e6 * 2.0**made.certificate.tail_log2
    assert broken <= made.tree.grown.broken


def test_where_conditioning_makes_a_broken_limit_likely_none_is_set_aside(monkeypatch):
    """300 cells that can only grow under a total that may not: the large cell's own limit is not rare."""
    x = [0] * 300 + [60]
    bounds = [nonnegative(), at_most("total", 60)]
    case = Case({"a": 301}, x, [measure("cells", DiscreteLaplace(0.5))], [], bounds)
    made = case.prepared(monkeypatch)
    assert made.refused == ()
    assert not len(made.tree.grown.watched)
    # planted: the same with the bound on the chance looked away from
    monkeypatch.setattr(growing, "_MOST_BROKEN", 1 - 1e-12)
    made = case.prepared(monkeypatch)
    assert made.refused or not len(made.tree.grown.watched)


def test_bounds_that_a_composition_forgets_are_caught(monkeypatch):
    case = Case({"a": 4}, [4, 5, 6, 4], [measure("cells", DiscreteLaplace(1.0))], [total()], [nonnegative()])
    made = case.prepared()
    assert [part.name for part in made.parts] == ["composition"]
    from congenial.randomness import SystemSource

    # P(some cell below zero) given the total, by enumeration; β = 1e-9
    points, true = Case(case.axes, case.x, case.measured, case.facts, window=22).law()
    broken = math.fsum(true[(points + np.array(case.x) < 0).any(axis=1)].tolist())
    draws = math.ceil(math.log(1e-9) / math.log1p(-broken))
    assert (made.draws(draws, SystemSource()) + np.array(case.x) >= 0).all()
    monkeypatch.setattr(drawing, "_limits", lambda *_: {})
    forgetful = case.prepared()
    assert (forgetful.draws(draws, SystemSource()) + np.array(case.x) < 0).any()


def test_the_certificate_of_a_far_total_divides_by_the_probability_of_what_is_fixed(monkeypatch):
    """Planted: untilted windows, trimmed by what they leave out alone, miss nearly all of the law."""
    x = [0] * 40 + [25]
    case = Case({"a": 41}, x, [measure("cells", DiscreteLaplace(0.5))], [total()], [nonnegative()])
    monkeypatch.setattr(
        growing, "tilts", lambda forest: (np.zeros(len(forest.parent)), np.zeros(len(forest.cells)))
    )
    made = case.prepared(monkeypatch, -20.0)
    assert made.certificate.tail_log2 <= -20
    # untilted windows that keep to the allowance had to go much further out than the allowance says
    assert made.tree.grown.log_mass.min() < -20
    assert made.tree.grown.size.max() > 60
    assert tree_law_at(made.tree, np.zeros((1, 41), dtype=np.int64))[0] > 0
