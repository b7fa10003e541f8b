"""Draws of trees and quotients too large to enumerate, against exact convolutions; named wrong laws are seen.

Each test computes its number of draws from the near-wrong laws; α = β = 1e-9.
"""

import math

import numpy as np
import pytest

from congenial.laws import DiscreteGaussian, DiscreteLaplace
from congenial.planning import crossings
from congenial.randomness import SystemSource
from congenial.requests.builders import at_most, margin, measure, nonnegative, total
from congenial.samplers.base import Refusal
from congenial.samplers.running import run
from support import convolutions as exact
from support.plans import Case, slot_laws
from support.statistics import cdf_gap, check_law, clipped, draws_needed, has_law, marginal

LAWS = {"laplace": (DiscreteLaplace, 1.0), "gaussian": (lambda e: DiscreteGaussian(sigma=1.3 / e), 1.0)}
COUNTIES = 6


def as_pmf(law, lo, hi):
    return marginal(dict(enumerate(np.asarray(law[1], dtype=float).tolist(), law[0])), int, lo, hi)


def nation(law, seed=4, tracts=8):
    """Six counties of some tracts, many of them empty; the total fixed, noise on both levels below."""
    rng = np.random.default_rng(seed)
    x = rng.poisson(rng.choice([0.05, 0.5, 4.0, 60.0], COUNTIES * tracts))
    axes = {"p": [tracts] * COUNTIES}
    measured = [measure("cells", law), measure({"p": "p0"}, law)]
    return Case(axes, x.tolist(), measured, [total()], [nonnegative()])


def tract_law(case, law, tract, lower=None, fixed=True):
    """The law of one tract's noise by convolutions alone, all laws of the nation being `law`."""
    reach, tracts = 60, len(case.x) // COUNTIES

    def table(cell):
        least = -case.x[cell] if lower is None or cell != tract else lower
        return exact.table(law, max(least, -reach), reach)

    def trimmed(held, far=160):
        z = np.arange(max(held[0], -far), min(held[0] + len(held[1]), far + 1))
        return int(z[0]), exact.at(held, z)

    def county(k, leave=None):
        cells = [c for c in range(k * tracts, (k + 1) * tracts) if c != leave]
        found = exact.table(law, 0, 0)
        for cell in cells:
            found = trimmed(exact.added(found, table(cell)))
        return found

    weight = exact.table(law, -160, 160)
    mine = tract // tracts
    others = 0, np.ones(1, dtype=np.longdouble)
    for k in range(COUNTIES):
        if k != mine:
            others = trimmed(exact.added(others, exact.times(county(k), weight)), 320)
    own, rest = table(tract), county(mine, tract)
    z = np.arange(own[0], own[0] + len(own[1]))
    found = np.zeros(len(z), dtype=np.longdouble)
    for t in range(-160, 161):
        above = exact.at(others, np.array(-t)) if fixed else others[1].sum()
        found += own[1] * exact.at(rest, t - z) * exact.at(weight, np.array(t)) * above
    return own[0], found / found.sum()


def tract_is_right(name, seed, tracts):
    """Draws of a tract with few people, whose bound is felt, against its law and against named wrong ones."""
    make, scale = LAWS[name]
    case = nation(make(scale), seed, tracts)
    tract = next(i for i, count in enumerate(case.x) if count == 2)
    true = tract_law(case, make(scale), tract)
    lo, hi = -6, 6
    near_wrong = {
        "epsilon 5 % larger": as_pmf(tract_law(case, make(scale * 1.05), tract), lo, hi),
        "epsilon 5 % smaller": as_pmf(tract_law(case, make(scale / 1.05), tract), lo, hi),
        "the tract's bound off by one": as_pmf(tract_law(case, make(scale), tract, lower=-3), lo, hi),
        "no bound on the tract": as_pmf(tract_law(case, make(scale), tract, lower=-50), lo, hi),
    }
    made = case.prepared()

    def draw(n):
        return clipped(some_draws(made, n, tract), lo, hi)

    check_law(draw, as_pmf(true, lo, hi), near_wrong)


def some_draws(made, n, columns):
    """Some columns of n draws, a part at a time."""
    parts = [made.draws(min(20_000, n - at), SystemSource())[:, columns] for at in range(0, n, 20_000)]
    return np.concatenate(parts)


@pytest.mark.parametrize("name", LAWS)
def test_a_tract_of_a_nation_has_its_law(name):
    tract_is_right(name, seed=4, tracts=8)


@pytest.mark.long
@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("name", LAWS)
def test_a_tract_of_a_larger_nation_has_its_law(name, seed):
    tract_is_right(name, seed, tracts=60)


def county_law(case, law, k, fixed=True):
    """The law of one county's noise by convolutions."""
    low, high, tracts = -200, 200, len(case.x) // COUNTIES
    tables = []
    for j in range(COUNTIES):
        found = exact.table(law, 0, 0)
        for cell in range(j * tracts, (j + 1) * tracts):
            found = exact.added(found, exact.table(law, max(-case.x[cell], -50), 50))
            z = np.arange(max(found[0], low), min(found[0] + len(found[1]), high + 1))
            found = int(z[0]), exact.at(found, z)
        tables.append(exact.times(found, exact.table(law, low, high)))
    others = exact.summed([held for j, held in enumerate(tables) if j != k])
    own = tables[k]
    if not fixed:
        return own[0], own[1] / own[1].sum()
    return exact.given_sum(own, others)


def test_a_county_of_a_nation_has_its_law_and_would_show_a_total_that_is_not_enforced():
    law = DiscreteLaplace(1.0)
    case = nation(law)
    lo, hi = -8, 8
    near_wrong = {
        "the total not enforced": as_pmf(county_law(case, law, 0, fixed=False), lo, hi),
        "epsilon 5 % larger": as_pmf(county_law(case, DiscreteLaplace(1.05), 0), lo, hi),
    }
    made = case.prepared()

    def draw(n):
        return clipped(some_draws(made, n, slice(8)).sum(axis=1), lo, hi)

    check_law(draw, as_pmf(county_law(case, law, 0), lo, hi), near_wrong)


def margins(law, tracts=12):
    """A 2×2 array of groups with both margins fixed, nothing negative."""
    rng = np.random.default_rng(9)
    x = rng.poisson(rng.choice([0.2, 2.0, 20.0], 4 * tracts)).tolist()
    axes = {"a": 2, "b": 2, "c": tracts}
    return Case(axes, x, [measure("cells", law)], [margin("a"), margin("b")], [nonnegative()])


def group_law(case, law, tracts=12, crossed=True):
    """The law of the first group's sum: four sums s, -s, -s, s."""
    held = []
    for k in range(4):
        found = exact.table(law, 0, 0)
        for cell in range(k * tracts, (k + 1) * tracts):
            found = exact.added(found, exact.table(law, max(-case.x[cell], -40), 40))
            z = np.arange(max(found[0], -150), min(found[0] + len(found[1]), 151))
            found = int(z[0]), exact.at(found, z)
        held.append(found)
    z = np.arange(-150, 151)
    weights = exact.at(held[0], z) * exact.at(held[3], z) * exact.at(held[1], -z) * exact.at(held[2], -z)
    if not crossed:
        weights = exact.at(held[0], z) * exact.at(held[1], -z)
    return -150, weights / weights.sum()


def test_a_group_where_margins_cross_has_its_law(monkeypatch):
    law = DiscreteLaplace(0.8)
    case = margins(law)
    monkeypatch.setattr(crossings, "_cost", lambda offer: offer.answer.sampler != "quotient")
    made = case.prepared()
    assert [choice.sampler for choice in made.choices] == ["quotient"]
    lo, hi = -25, 25
    near_wrong = {
        "epsilon 5 % larger": as_pmf(group_law(case, DiscreteLaplace(0.84)), lo, hi),
        "one margin not enforced": as_pmf(group_law(case, law, crossed=False), lo, hi),
    }

    def draw(n):
        return clipped(some_draws(made, n, slice(12)).sum(axis=1), lo, hi)

    check_law(draw, as_pmf(group_law(case, law), lo, hi), near_wrong)


def test_twisted_columns_over_groups_have_the_same_law_as_the_quotient(monkeypatch):
    law = DiscreteLaplace(0.8)
    case = margins(law, 8)
    none = crossings.Offer(Refusal("another", "asked not to"), None)
    monkeypatch.setattr(crossings, "_quotient", lambda *_: none)
    monkeypatch.setattr(crossings, "_elimination", lambda *_: none)
    made = case.prepared()
    assert [choice.sampler for choice in made.choices] == ["twisted columns"]
    lo, hi = -14, 14
    near_wrong = {
        "epsilon 5 % larger": as_pmf(group_law(case, DiscreteLaplace(0.84), 8), lo, hi),
        "one margin not enforced": as_pmf(group_law(case, law, 8, crossed=False), lo, hi),
    }

    def draw(n):
        return clipped(some_draws(made, n, slice(8)).sum(axis=1), lo, hi)

    check_law(draw, as_pmf(group_law(case, law, 8), lo, hi), near_wrong)


class Stopped:
    """Random words of which a kernel first sees `stop`."""

    def __init__(self, stop):
        self.stop, self.source = stop, SystemSource()

    def words(self, first):
        return self.source.take(self.stop if first else 64).copy()


def afresh(prepared, stop, out):
    """Planted: an unfinished draw begins again on fresh words, instead of its own with more behind them."""
    words = Stopped(stop)
    for d in range(len(out)):
        first = True
        while not prepared.fill(words.words(first), out[d : d + 1]).draws:
            first = False


def continued(prepared, stop, out):
    """The same interruption, done right."""
    words = Stopped(stop)
    for d in range(len(out)):
        held = words.words(True)
        while not prepared.fill(held, out[d : d + 1]).draws:
            held = np.concatenate([held, words.words(False)])


def test_a_tree_begun_again_on_fresh_words_favours_short_draws_and_is_caught(monkeypatch):
    """A part left of its law's largest value takes one word, one on its right two."""
    case = Case(
        {"a": 2}, [50, 50], [measure("cells", DiscreteLaplace(0.3))], [total()], [at_most("cells", 70)]
    )
    made = case.prepared(monkeypatch)
    low, law = slot_laws(made.tree)[0]
    right = as_pmf((low, law), -12, 12)
    z = np.arange(low, low + len(law))
    short = math.fsum(law[z < 0].tolist())
    # cut at one word, a draw to the right begins again: it has a second chance to be on the left
    wrong = as_pmf((low, np.where(z < 0, law * (2 - short), law * (1 - short))), -12, 12)
    draws = draws_needed(cdf_gap(right, wrong))
    planted, good = np.zeros((draws, 2), dtype=np.int64), np.zeros((draws, 2), dtype=np.int64)
    afresh(made.tree, 1, planted)
    continued(made.tree, 1, good)
    seen = clipped(planted[:, made.tree.grown.forest.cells[0]], -12, 12)
    assert has_law(clipped(good[:, 0], -12, 12), right)
    assert not has_law(seen, right)
    assert has_law(seen, wrong)
    whole = np.zeros((draws, 2), dtype=np.int64)
    run(made.tree, SystemSource(), whole)
    assert has_law(clipped(whole[:, 0], -12, 12), right)
