"""Forced totals far out in the tail: many empty cells beside a few large ones, against exact convolutions.

The empty cells can only grow, the total may not: what it must be has as little as 2^-450 of the
unconditioned law. Windows without tilts, or too short, would cut the law away.
"""

import math
from fractions import Fraction

import numpy as np
import pytest

from congenial.laws import DiscreteGaussian, DiscreteLaplace
from congenial.requests.builders import at_most, band, margin, measure, nonnegative, total
from congenial.samplers.tree.tilts import tilts
from support import convolutions as exact
from support.plans import Case, slot_laws

RIGHT = 1e-12


def compare(found, true, least=1e-20):
    """Two laws as tables agree to 1e-12 wherever the true one has at least `least`."""
    z = np.arange(true[0], true[0] + len(true[1]))
    seen = exact.at((found[0], found[1].astype(np.longdouble)), z)
    counts = true[1] > least
    assert counts.sum() > 3
    assert np.abs(seen[counts] / true[1][counts] - 1).max() < RIGHT
    assert math.isclose(float(found[1].sum()), 1.0, rel_tol=1e-12)


def prepared(case, monkeypatch):
    made = case.prepared(monkeypatch)
    assert made.refused == ()
    assert made.certificate.tail_log2 <= -80
    return made


def test_a_large_cell_beside_empty_ones_has_its_law_in_fractions(monkeypatch):
    """P(large = -k) ∝ C(k+n-1, n-1) a^{2k}: the empty cells are a composition of k into n parts."""
    n, large = 100, 60
    case = Case(
        {"a": n + 1}, [0] * n + [large], [measure("cells", DiscreteLaplace(0.5))], [total()], [nonnegative()]
    )
    made = prepared(case, monkeypatch)
    a2 = Fraction(math.exp(-1.0))
    weights = [math.comb(k + n - 1, n - 1) * a2**k for k in range(large + 1)]
    true = [float(w / sum(weights)) for w in weights]
    laws = slot_laws(made.tree)
    compare(laws[n], (-large, np.array(true[::-1], dtype=np.longdouble)))
    # one empty cell: the others are a composition of what is left
    held = [
        sum(math.comb(k - j + n - 2, n - 2) * a2**k for k in range(j, large + 1)) for j in range(large + 1)
    ]
    compare(laws[0], (0, np.array([float(h / sum(held)) for h in held], dtype=np.longdouble)))


@pytest.mark.parametrize(
    "law", [DiscreteLaplace(0.5), DiscreteGaussian(sigma=3.0)], ids=["laplace", "gaussian"]
)
@pytest.mark.parametrize(
    ("empty", "large"), [(60, [40]), (300, [200]), (200, [60, 90, 30]), (500, [100, 100])]
)
def test_many_empty_cells_under_a_fixed_total(law, empty, large, monkeypatch):
    x = [0] * empty + large
    case = Case({"a": len(x)}, x, [measure("cells", law)], [total()], [nonnegative()])
    made = prepared(case, monkeypatch)
    laws = slot_laws(made.tree)
    empties = exact.alike(exact.table(law, 0, sum(large)), empty, sum(large))
    tables = [exact.table(law, -c, sum(large)) for c in large]
    compare(laws[empty], exact.given_sum(tables[0], exact.summed([empties, *tables[1:]])))


def test_such_totals_are_met_by_tilts(monkeypatch):
    case = Case(
        {"a": 301}, [0] * 300 + [200], [measure("cells", DiscreteLaplace(0.5))], [total()], [nonnegative()]
    )
    grown = prepared(case, monkeypatch).tree.grown
    theta, above = tilts(grown.forest)
    assert theta[grown.forest.roots[0]] < -0.05
    assert (above == theta[grown.forest.roots[0]]).all()
    # the tilt keeps windows short: without it the sum would have to reach 30 deviations down
    assert grown.size.max() < 700


@pytest.mark.parametrize(
    "law", [DiscreteLaplace(0.5), DiscreteGaussian(sigma=2.0)], ids=["laplace", "gaussian"]
)
def test_empty_cells_under_measured_nodes_and_a_fixed_root(law, monkeypatch):
    nodes = DiscreteLaplace(0.3)
    x = [0] * 60 + [0] * 40 + [70]
    measured = [measure("cells", law), measure({"p": "p0"}, nodes)]
    case = Case({"p": [60, 41]}, x, measured, [total()], [nonnegative()])
    made = prepared(case, monkeypatch)
    laws = slot_laws(made.tree)
    top = 250
    empty = exact.table(law, 0, top)
    first, rest = exact.alike(empty, 60, top), exact.alike(empty, 40, top)
    large = exact.table(law, -70, top)
    held = exact.table(nodes, -top, top)
    node0 = exact.times(first, held)
    # the large cell: node1 = large + rest weighed, node0 + node1 = 0
    z = np.arange(-70, top + 1)
    weights = []
    for value, weight in zip(z.tolist(), large[1], strict=True):
        t = np.arange(value, value + len(rest[1]))  # node1's value
        weights.append(weight * (rest[1] * exact.at(held, t) * exact.at(node0, -t)).sum())
    weights = np.array(weights, dtype=np.longdouble)
    compare(laws[100], (-70, weights / weights.sum()))


@pytest.mark.parametrize(("empty", "large"), [(40, 30), (300, 60), (500, 150)])
def test_a_limit_or_a_band_that_forces_a_sum_far_down(empty, large, monkeypatch):
    """A total that may not grow, over cells that can only grow: no fact, and yet far out in the tail."""
    law = DiscreteLaplace(0.5)
    x = [0] * empty + [large]
    bounds = [nonnegative(), at_most("total", large)]
    made = prepared(Case({"a": empty + 1}, x, [measure("cells", law)], [], bounds), monkeypatch)
    own, top = exact.table(law, -large, large), large
    empties = exact.alike(exact.table(law, 0, top), empty, top)
    compare(slot_laws(made.tree)[empty], exact.given_sum(own, empties, -large, 0))


def test_a_band_met_at_its_top_is_drawn(monkeypatch):
    x = [0] * 200 + [40]
    case = Case({"a": 201}, x, [measure("cells", DiscreteLaplace(0.7))], [band("total", 5)], [nonnegative()])
    made = prepared(case, monkeypatch)
    own = exact.table(DiscreteLaplace(0.7), -40, 40)
    others = exact.alike(exact.table(DiscreteLaplace(0.7), 0, 45), 200, 45)
    # 40 is the last of its band 36 … 40
    compare(slot_laws(made.tree)[200], exact.given_sum(own, others, -4, 0))


def test_facts_that_lie_out_of_every_floats_reach_are_refused_with_a_reason(monkeypatch):
    x = [0] * 3000 + [20]
    case = Case(
        {"a": 3001}, x, [measure("cells", DiscreteLaplace(0.5))], [], [nonnegative(), at_most("total", 20)]
    )
    made = case.prepared(monkeypatch)
    assert len(made.refused) == 1
    assert "too far out in the tails" in made.refused[0].what


def test_trees_that_share_a_forest_with_a_far_one_keep_their_law(monkeypatch):
    law = DiscreteLaplace(0.5)
    x = [0] * 100 + [50] + [3, 0]
    case = Case({"p": [101, 2]}, x, [measure("cells", law)], [margin(p="p0")], [nonnegative()])
    laws = slot_laws(prepared(case, monkeypatch).tree)
    compare(laws[101], exact.given_sum(exact.table(law, -3, 9), exact.table(law, 0, 9)), 1e-30)
