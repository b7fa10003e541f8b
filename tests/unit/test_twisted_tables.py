"""What twisted columns are built from: laws of cells, their sums, tilts, implied bounds, classes, order."""

from __future__ import annotations

import math

import numpy as np
import pytest

from congenial.laws import DiscreteGaussian, DiscreteLaplace
from congenial.samplers.crossing.tables import Terminal, Unary, point, sum_of, unary_from_law
from congenial.samplers.crossing.tilts import classes, column_order, dual_tilts, tilted
from congenial.samplers.crossing.twisted_presolve import clipped
from congenial.samplers.crossing.twisted_windows import likely, prefixes
from support.twisted_arrays import boxed, brute


def left_out(law, kept, lower, upper, far=4000):
    """The mass of a law on lower … upper that a window leaves out, relative to what it keeps."""
    lo, hi = (-far if lower is None else lower), (far if upper is None else upper)
    whole = law.weights(lo, hi)
    inside = whole[kept.lo - lo : kept.hi - lo + 1]
    return (whole.sum() - inside.sum()) / inside.sum()


@pytest.mark.parametrize("law", [DiscreteLaplace(0.3), DiscreteLaplace(3.0), DiscreteGaussian(sigma=2.0)])
@pytest.mark.parametrize(
    "bounds", [(None, None), (-3, None), (None, 4), (-2, 2), (5, None), (None, -7), (-40, 0)]
)
def test_the_law_of_a_cell_leaves_out_no_more_than_it_says(law, bounds):
    found = unary_from_law(law, *bounds, -12.0)
    expected = law.weights(found.lo, found.hi)
    assert np.allclose(found.weights * expected.sum(), expected, rtol=1e-14)
    assert left_out(law, found, *bounds) <= found.trimmed + 1e-15
    assert found.trimmed <= 0.02
    assert found.open_below == (bounds[0] is None or bounds[0] < found.lo)
    assert found.open_above == (bounds[1] is None or bounds[1] > found.hi)


def test_a_window_between_two_bounds_leaves_out_nothing():
    assert unary_from_law(DiscreteLaplace(0.1), -3, 5, -20.0).trimmed == 0


def test_the_law_of_a_sum_is_the_convolution_with_its_ends_trimmed():
    a = unary_from_law(DiscreteLaplace(0.7), -2, None, -60.0)
    b = unary_from_law(DiscreteGaussian(sigma=1.5), None, None, -60.0)
    whole, short = sum_of(a, b), sum_of(a, b, -10.0)
    assert np.allclose(whole.weights, np.convolve(a.weights, b.weights), rtol=1e-12)
    assert len(short.weights) < len(whole.weights)
    inside = whole.weights[short.lo - whole.lo :][: len(short.weights)]
    assert (whole.weights.sum() - inside.sum()) / inside.sum() <= short.trimmed <= 2.0**-9


@pytest.mark.parametrize("weights", [[], [1.0, 0.0], [1.0, -1.0], [np.nan], [np.inf]])
def test_a_law_without_positive_finite_weights_is_refused(weights):
    with pytest.raises(ValueError, match=r"law"):
        Unary(0, np.array(weights))


def test_what_is_printed_of_a_law_names_no_count():
    assert "7" not in repr(unary_from_law(DiscreteLaplace(1.0), -7, None, -20.0))
    assert "7" not in repr(Terminal(np.array([7]), "fact"))


@pytest.mark.parametrize(
    "terminal",
    [{"kind": "law"}, {"kind": "fact", "table": point()}, {"kind": "fact", "lower": 0}],
)
def test_a_form_takes_only_what_its_kind_asks_for(terminal):
    with pytest.raises(ValueError, match=r"form"):
        Terminal(np.array([1]), **terminal)


@pytest.mark.parametrize("a", [-0.8, -0.1, 0.0, 0.3, 0.9])
@pytest.mark.parametrize("bounds", [(None, None), (-3, None), (None, 2)])
def test_a_tilted_law_leaves_out_no_more_than_it_says(a, bounds):
    law = DiscreteLaplace(1.0)
    found = tilted(unary_from_law(law, *bounds, -200.0), a, -20.0)
    lo = -700 if bounds[0] is None else bounds[0]
    hi = 700 if bounds[1] is None else bounds[1]
    z = np.arange(lo, hi + 1)
    whole = np.exp(np.log(law.weights(lo, hi)) + a * z)
    inside = whole[found.lo - lo : found.hi - lo + 1]
    assert np.allclose(found.weights * inside.sum(), inside, rtol=1e-11)
    assert (whole.sum() - inside.sum()) / inside.sum() <= found.trimmed <= 2.0**-18


def test_a_tilt_as_steep_as_the_law_cannot_be_trimmed():
    assert tilted(unary_from_law(DiscreteLaplace(0.5), None, None, -60.0), 0.5, -20.0).trimmed == math.inf


def test_a_tilt_against_a_bound_loses_nothing_there():
    law = unary_from_law(DiscreteLaplace(0.5), -3, None, -60.0)
    assert tilted(law, -4.0, -40.0).trimmed < 2.0**-39


def mean(law):
    return float(law.weights @ np.arange(law.lo, law.hi + 1)) / float(law.weights.sum())


def test_tilted_means_have_zero_margins():
    rng = np.random.default_rng(2)
    counts = rng.poisson(1.5, size=(6, 5))
    array = [[unary_from_law(DiscreteLaplace(1.0), -int(v), None, -200.0) for v in row] for row in counts]
    groups = classes(clipped(array))
    alpha, beta = dual_tilts(groups)
    means = np.array(
        [
            [mean(tilted(law, alpha[k] + beta[j], -90.0)) for j, law in enumerate(groups.laws[k])]
            for k in groups.of_row
        ]
    )
    assert np.abs(means.sum(axis=0)).max() < 0.02
    assert np.abs(means.sum(axis=1)).max() < 0.02


def test_even_laws_are_not_tilted():
    law = unary_from_law(DiscreteLaplace(0.5), None, None, -60.0)
    alpha, beta = dual_tilts(classes([[law] * 3] * 4))
    assert not alpha.any()
    assert not beta.any()


def test_rows_with_the_same_laws_are_one_class():
    a, b = (boxed(DiscreteLaplace(0.5), -3, 3) for _ in range(2))
    groups = classes([[a, b], [b, a], [a, b], [a, b]])
    assert groups.of_row.tolist() == [0, 1, 0, 0]
    assert groups.of_column.tolist() == [0, 1]
    assert groups.row_counts.tolist() == [3, 1]


def test_columns_come_by_increasing_variance():
    wide, narrow = boxed(DiscreteLaplace(0.2), -9, 9), boxed(DiscreteLaplace(2.0), -9, 9)
    laws = [[wide, narrow, wide], [wide, narrow, narrow]]
    assert column_order(laws, np.array([1, 1])).tolist() == [1, 2, 0]


def test_a_cell_rises_only_as_far_as_the_others_in_its_row_and_column_can_fall():
    law = DiscreteLaplace(0.5)
    counts = np.array([[0, 0, 0], [2, 1, 0], [0, 5, 1]])
    array = [[unary_from_law(law, -int(v), None, -90.0) for v in row] for row in counts]
    found = clipped(array)
    windows = [(u.lo, u.hi) for row in found for u in row]
    tables = np.array(list(brute([[boxed(law, -int(v), 6) for v in row] for row in counts])))
    # here the windows are the least that hold every table; an empty row is fixed at zero
    assert windows == list(zip(tables.min(axis=0), tables.max(axis=0), strict=True))
    assert windows[:3] == [(0, 0)] * 3
    for row, cut in zip(array, found, strict=True):
        for old, new in zip(row, cut, strict=True):
            assert new.trimmed == 0
            assert (new.open_below, new.open_above) == (False, False)
            inside = old.weights[new.lo - old.lo :][: len(new.weights)]
            assert np.allclose(new.weights * inside.sum(), inside, rtol=1e-14)


def test_cells_that_no_bound_limits_keep_their_objects():
    law = unary_from_law(DiscreteLaplace(0.5), None, None, -60.0)
    assert all(cell is law for row in clipped([[law] * 3] * 3) for cell in row)


def test_bounds_that_no_table_keeps_are_found():
    above, free = boxed(DiscreteLaplace(0.5), 1, 4), boxed(DiscreteLaplace(0.5), 0, 4)
    assert clipped([[above, free], [free, free]]) is None


def test_prefix_laws_say_what_they_leave_out():
    law = unary_from_law(DiscreteLaplace(1.0), None, None, -30.0)
    found = prefixes([law] * 4, -20.0)
    wide = unary_from_law(DiscreteLaplace(1.0), None, None, -120.0)
    # in the units of the windows, which are taken to sum to one
    whole = wide.weights / wide.weights[law.lo - wide.lo :][: len(law.weights)].sum()
    exact = np.ones(1)
    for k, prefix in enumerate(found):
        inside = exact[prefix.lo - k * wide.lo :][: len(prefix.weights)]
        assert (prefix.weights <= inside * (1 + 1e-12)).all()
        assert 0 <= exact.sum() - prefix.weights.sum() + 1e-15 <= prefix.missing + 2e-15
        exact = np.convolve(exact, whole)


def test_likely_remainders_leave_out_less_than_the_tail():
    share = np.array([1e-4, 0.1, 0.6, 0.2, 0.0999, 1e-9])
    first, last = likely(share, 0.01)
    assert share[:first].sum() < 0.01
    assert share[last:].sum() < 0.01
    assert (first, last) == (1, 5)


@pytest.mark.parametrize("a", [-0.5, 0.4])
def test_a_tilted_sum_of_trimmed_laws_leaves_out_no_more_than_it_says(a):
    short, wide = (unary_from_law(DiscreteLaplace(1.0), None, None, m) for m in (-60.0, -400.0))
    found = tilted(sum_of(short, short, -60.0), a, -20.0)
    whole = sum_of(wide, wide)
    z = np.arange(whole.lo, whole.hi + 1)
    law = np.exp(np.log(whole.weights) + a * z)
    inside = law[found.lo - whole.lo :][: len(found.weights)]
    # in units of the sum of the weights, which never exceed the law
    scale = (found.weights / inside).max()
    assert law.sum() * scale - found.weights.sum() <= found.trimmed <= 2.0**-15
