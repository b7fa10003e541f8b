"""Any forest: the twin's chances are law (1) up to one factor, and certificates bound what is left out."""

import math

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from congenial.randomness import SeededSource
from congenial.samplers.tree.growing import RefusedError, grow_forest
from congenial.samplers.tree.sampler import ready
from support.plans import tree_law_at, variation
from support.random_forests import forests, keeps_limits, log_weights

ROWS = 30


def settled(many):
    return settings(max_examples=many, deadline=None, suppress_health_check=list(HealthCheck))


def planned(forest, allowance=-80.0):
    try:
        return ready(grow_forest(forest, allowance, 2e8), len(forest.cells), allowance)
    except RefusedError:
        return None


def drawn(tree, seed):
    """Rows for one value of the joined roots, each value somewhere in its window."""
    g = tree.grown
    rng = np.random.default_rng(seed)
    tables = g.message[g.label[tree.joined_slots]].tolist()
    middle = [int(np.argmax(g.table(t))) for t in tables]
    ends = [(max(0, m - 3), min(int(g.size[t]), m + 4)) for m, t in zip(middle, tables, strict=True)]
    values = [int(g.low[t]) + int(rng.integers(*end)) for t, end in zip(tables, ends, strict=True)]
    given_rows = np.tile(np.array(values, dtype=np.int64), (ROWS, 1)).reshape(ROWS, len(values))
    out = np.zeros((ROWS, tree.width), dtype=np.int64)
    words = SeededSource(seed).take(200_000)
    filled = tree.fill_given(words, out, given_rows)
    # what a joined root misses is for the sampler that draws it to say; given a value it counts for more
    missing = [
        float(g.error[t]) / float(g.table(t)[v - g.low[t]]) for t, v in zip(tables, values, strict=True)
    ]
    return out[: filled.draws], max(missing, default=0.0)


def chances_are_the_law(forest, seed):
    tree = planned(forest)
    if tree is None:
        return
    points, missing = drawn(tree, seed)
    assert len(points) > 0
    assert keeps_limits(forest, points).all()
    steps = points[1:] - points[:-1]
    near = (points[:-1, None, :] + steps[None, ::4, :]).reshape(-1, points.shape[1])
    points = np.unique(np.concatenate([points, near[keeps_limits(forest, near)]]), axis=0)
    weights = log_weights(forest, points)
    found = tree_law_at(tree, points)
    if missing < 1e-14:
        assert (found[weights - weights.max() > -25] > 0).all()
    seen = found > 0
    ratio = np.log(found[seen].astype(np.longdouble)) - weights[seen]
    assert float(ratio.max() - ratio.min()) < max(2 * tree.certificate.relative_error, 1e-14)


@settled(120)
@given(forest=forests(unweighed=True, far=True), seed=st.integers(0, 2**32))
def test_chances_are_law_1_on_any_forest(forest, seed):
    chances_are_the_law(forest, seed)


@pytest.mark.long
@settled(4000)
@given(forest=forests(most=14, unweighed=True, far=True), seed=st.integers(0, 2**32))
def test_chances_are_law_1_on_any_forest_at_length(forest, seed):
    chances_are_the_law(forest, seed)


def certificate_bounds(forest, allowance):
    """Total variation by enumeration of all leaves in a wide box, against the certificate."""
    tree = planned(forest, allowance)
    if tree is None:
        return
    assert tree.certificate.tail_log2 <= allowance + 1
    box = 24
    sides = [
        np.arange(max(low, -box), min(high, box) + 1)
        for low, high in zip(
            forest.lower[: tree.width].tolist(), forest.upper[: tree.width].tolist(), strict=True
        )
    ]
    points = np.stack([axis.reshape(-1) for axis in np.meshgrid(*sides, indexing="ij")], axis=1)
    points = points[keeps_limits(forest, points)]
    if not len(points):
        return
    weights = log_weights(forest, points)
    true = np.exp((weights - weights.max()).astype(float))
    true /= math.fsum(true.tolist())
    found = tree_law_at(tree, points)
    if len(tree.grown.watched):
        whole = tree_law_at(tree, points, watched=False)
        kept = math.fsum(found.tolist()) / math.fsum(whole.tolist())
        assert 1 - kept <= tree.grown.broken * (1 + 1e-9) + 1e-12
        found = found / math.fsum(found.tolist())
    assert variation(found, true) <= 2.0**tree.certificate.tail_log2 + 1e-9


SMALL = forests(3, (1.5, 2.5, 6.0), (0.4, 0.9), joined=False, unweighed=True, far=True)


@settled(60)
@given(forest=SMALL, allowance=st.sampled_from([2.0, 0.0, -3.0, -8.0, -20.0]))
def test_certificates_bound_the_true_total_variation_of_any_forest(forest, allowance):
    certificate_bounds(forest, allowance)


@pytest.mark.long
@settled(1500)
@given(forest=SMALL, allowance=st.sampled_from([2.0, 1.0, 0.0, -2.0, -5.0, -8.0, -14.0, -20.0]))
def test_certificates_bound_the_true_total_variation_of_any_forest_at_length(forest, allowance):
    certificate_bounds(forest, allowance)
