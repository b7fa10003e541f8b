"""Gong & Meng's table of 256 people by sex and age: total, women and voters fixed, nobody negative.

Law (1) has one free dimension there: the women who may vote. The variances of single cells follow by exact
convolution; the sampler's own tables say the same.
"""

import math

import numpy as np
import pytest

import congenial as cg
from congenial.laws import DiscreteLaplace
from congenial.randomness import SystemSource
from congenial.tables.published import VOTING_AGES, sex_by_age
from support import convolutions as exact
from support.data import data_path
from support.statistics import check_law, clipped, marginal

EPSILON = 0.5
CELLS = {"female 0-5": (0, 0, 4.8191), "female 6-10": (0, 1, 4.5117), "male 22-24": (1, 7, 5.1282)}
REACH = 60


def request(bounds=True, voting=True):
    facts = [cg.total(), cg.margin(sex={"women": ["female"]})]
    facts += [cg.margin(age={"voting": list(VOTING_AGES)})] if voting else []
    measured = [cg.measure("cells", DiscreteLaplace(EPSILON))]
    return cg.Request(measured, facts, [cg.nonnegative()] if bounds else [])


@pytest.fixture(scope="module")
def plan():
    return cg.plan(sex_by_age(), request())


def cell_law(sex, age, epsilon=EPSILON, lower=None, margins=True):
    """P(noise of one cell) from convolutions alone: four corners of a 2×2 array whose margins are zero.

    A corner's sum is s, -s, -s, s; given s, a cell of a corner is its law times that of the others.
    """
    counts = sex_by_age().counts_confidential.reshape(2, 23)
    law = DiscreteLaplace(epsilon)
    voting = np.arange(23) >= 4

    def table(i, j):
        least = -int(counts[i, j]) if lower is None or (i, j) != (sex, age) else lower
        return exact.table(law, least, REACH)

    def corner(i, votes, leave=None):
        return exact.summed([table(i, j) for j in np.flatnonzero(voting == votes).tolist() if j != leave])

    sums = {(i, v): corner(i, v) for i in (0, 1) for v in (False, True)}
    mine = sex, bool(voting[age])
    rest = corner(*mine, leave=age)
    own = table(sex, age)
    z = np.arange(own[0], own[0] + len(own[1]))
    found = np.zeros(len(z), dtype=np.longdouble)
    if not margins:
        return own[0], own[1] / own[1].sum()
    for s in range(-REACH, REACH + 1):
        others = np.longdouble(1)
        for (i, v), held in sums.items():
            if (i, v) != mine:
                sign = 1 if (i == mine[0]) == (v == mine[1]) else -1
                others *= exact.at(held, np.array(sign * s))
        found += others * own[1] * exact.at(rest, s - z)
    return own[0], found / found.sum()


def variance(law):
    z = np.arange(law[0], law[0] + len(law[1]), dtype=np.longdouble)
    mean = (z * law[1]).sum()
    return float(((z - mean) ** 2 * law[1]).sum())


def pushed_down(plan):
    """The law of every cell, by pushing each point of the quotient down the tree with the twin's own rows."""
    drawing = plan.drawing
    choice, columns = drawing.choices[0], drawing._joined[0]
    tree = drawing.tree
    g, s = tree.grown, tree.splits
    points, weights = choice.prepared.points, choice.prepared.weights / math.fsum(choice.prepared.weights)
    low, high = -400, 400
    laws = np.zeros((s.slots, high - low + 1))
    for slot, column in zip(tree.joined_slots[columns].tolist(), points.T, strict=True):
        np.add.at(laws[slot], column - low, weights)
    for t, into, one, two in zip(
        s.table.tolist(), s.into.tolist(), s.one.tolist(), s.two.tolist(), strict=True
    ):
        for at in np.flatnonzero(laws[into]).tolist():
            first, row = tree.split_weights(t, low + at)
            row = row * (laws[into, at] / math.fsum(row.tolist()))
            laws[one, first - low : first - low + len(row)] += row
            laws[two, at - first - len(row) + 1 : at - first + 1] += row[::-1]
    return {int(cell): (low, laws[leaf]) for leaf, cell in enumerate(g.forest.cells.tolist())}


def test_it_is_planned_exact_with_one_free_dimension(plan):
    (block,) = plan.blocks
    assert (block.cells, block.sampler, block.repeats) == (46, "quotient", 1)
    assert block.certificate.kind == "exact"
    (crossing,) = plan.drawing.layout.crossings
    assert crossing.dimension == 1
    assert len(crossing.atoms) == 4
    assert plan.certificate.tail_log2 <= -80
    assert plan.certificate.relative_error < 1e-10
    assert "1 free dimension" in plan.explain()


@pytest.mark.parametrize("cell", CELLS)
def test_variances_are_those_of_exact_convolution(cell, plan):
    sex, age, printed = CELLS[cell]
    assert round(variance(cell_law(sex, age)), 4) == printed


def test_the_samplers_own_tables_give_the_same_law_of_every_cell(plan):
    laws = pushed_down(plan)
    assert len(laws) == 46
    for cell, (low, law) in laws.items():
        assert math.isclose(law.sum(), 1, rel_tol=1e-11)
        true = cell_law(*divmod(cell, 23))
        z = np.arange(true[0], true[0] + len(true[1]))
        seen = exact.at((low, law), z)
        likely = true[1] > 1e-17
        assert np.abs(seen[likely] / true[1][likely] - 1).max() < 1e-10
        assert math.isclose(variance((low, law)), variance(true), rel_tol=1e-10)


def test_draws_have_the_law_and_would_show_named_wrong_ones(plan):
    sex, age = 0, 2  # three women of 11-15: the bound is near
    lo, hi = -12, 12

    def as_pmf(law):
        return marginal(dict(enumerate(law[1].tolist(), law[0])), int, lo, hi)

    near_wrong = {
        "epsilon 5 % larger": as_pmf(cell_law(sex, age, EPSILON * 1.05)),
        "the cell's bound off by one": as_pmf(cell_law(sex, age, lower=-2)),
        "margins not enforced": as_pmf(cell_law(sex, age, margins=False)),
    }

    def draw(n):
        return clipped(plan.draws(n, SystemSource())[:, sex * 23 + age], lo, hi)

    check_law(draw, as_pmf(cell_law(sex, age)), near_wrong)


def test_every_draw_keeps_the_three_facts_and_the_bound(plan):
    noise = plan.draws(2000, SystemSource()).reshape(-1, 2, 23)
    counts = sex_by_age().counts_confidential.reshape(2, 23)
    assert (noise.sum(axis=(1, 2)) == 0).all()
    assert (noise[:, 0].sum(axis=1) == 0).all()
    assert (noise[:, :, 4:].sum(axis=(1, 2)) == 0).all()
    assert (noise + counts >= 0).all()
    assert len(np.unique(noise[:, 0, 4:].sum(axis=1))) > 5


def test_the_table_is_the_printed_one():
    lines = data_path("tables/gm20_table1.csv").read_text().split()[1:]
    printed = {tuple(line.split(",")[:2]): line.split(",")[3] for line in lines}
    table = sex_by_age()
    ages = list(table.domain.axes[1].levels[0].labels)
    for cell, count in enumerate(table.counts_confidential.tolist()):
        assert printed["female" if cell < 23 else "male", ages[cell % 23]] == str(count)
    assert {age for (_, age), line in zip(printed, lines, strict=True) if ",yes," in line} == set(VOTING_AGES)
