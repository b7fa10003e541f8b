"""The laws' functions against ball arithmetic: what is claimed of each digit is checked digit by digit."""

import math
from fractions import Fraction

import numpy as np
import pytest
from flint import arb, ctx, fmpq

from congenial.errors import ArgumentError
from congenial.laws import DiscreteGaussian, DiscreteLaplace

LAPLACES = [DiscreteLaplace(e) for e in (1e-4, 0.01, 0.1, 0.192, 0.5, 1.0, 2.3, 30.0)]
GAUSSIANS = [
    *(DiscreteGaussian(sigma=s) for s in (0.1, 0.4, 1.0, 1.99, 2.01, 3.0, 15.0, 17.0, 400.0)),
    *(DiscreteGaussian(r) for r in (1e-5, 0.003, 0.1, 2.0)),
]
LAWS = LAPLACES + GAUSSIANS
WIDE = DiscreteGaussian(sigma=3e5)


@pytest.fixture(autouse=True)
def _precise():
    before = ctx.prec
    ctx.prec = 300
    yield
    ctx.prec = before


def ball(x: Fraction) -> arb:
    return arb(fmpq(x.numerator, x.denominator))


def true_weight(law, z: int) -> arb:
    return (-ball(law.exact_rate * abs(z) ** law.power)).exp()


def true_tails(law) -> list[arb]:
    """P(|Z| > w) for w = 0, 1, … while it is above 2^-130, to a relative 2^-100."""
    weights, k = [], 1
    while not weights or weights[-1] > arb(2) ** -260:
        weights.append(true_weight(law, k))
        k += 1
    sums, total = [], arb(0)
    for weight in reversed(weights):
        total += 2 * weight
        sums.append(total)
    tails = [s / (total + 1) for s in reversed(sums)]
    return [t for t in tails if t > arb(2) ** -130]


def units_off(value: float, true: arb) -> float:
    return float(abs(arb(value) - true) / arb(math.ulp(float(true))))


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_each_weight_is_within_two_units_in_its_last_place(law):
    reach = law.reach(-1000)
    rng = np.random.default_rng(5)
    points = sorted({0, 1, 2, reach, *(int(z) for z in rng.integers(0, reach + 1, 150))})
    found = law.weights(0, reach)
    assert max(units_off(float(found[z]), true_weight(law, z)) for z in points) <= 2


@pytest.mark.parametrize("law", [DiscreteLaplace(1e-6), WIDE], ids=str)
def test_a_window_far_from_zero_keeps_its_digits(law):
    start = (1 << 26) + 12345 if law.power == 1 else 9 * 10**6
    found = law.weights(start, start + 40)
    assert max(units_off(float(w), true_weight(law, start + i)) for i, w in enumerate(found)) <= 2


def test_squares_beyond_double_precision_keep_their_digits():
    law = DiscreteGaussian(sigma=3e7)
    start = 10**9
    found = law.weights(start, start + 40)
    assert max(units_off(float(w), true_weight(law, start + i)) for i, w in enumerate(found)) <= 2


def test_the_plain_exponential_would_miss_the_two_units():
    law = DiscreteLaplace(0.1)
    plain = [math.exp(-0.1 * z) for z in range(3000, 3100)]
    assert max(units_off(p, true_weight(law, 3000 + i)) for i, p in enumerate(plain)) > 10


@pytest.mark.parametrize("law", LAWS, ids=str)
@pytest.mark.parametrize(("lo", "hi"), [(-5, 5), (-5, 2), (-2, 5), (3, 9), (-9, -3), (0, 0), (-4, 0)])
def test_weights_of_a_window_are_those_of_its_absolute_values(law, lo, hi):
    half = law.weights(0, 9)
    assert law.weights(lo, hi).tolist() == [half[abs(z)] for z in range(lo, hi + 1)]


@pytest.mark.parametrize("law", [*LAPLACES[1:], *GAUSSIANS], ids=str)
def test_pmf_cdf_and_moments_are_those_of_the_law(law):
    tails = true_tails(law)
    last = min(len(tails), 400)
    total = 1 / (1 - tails[0]) if tails else arb(1)
    for z in range(0, last, max(1, last // 40)):
        upper = tails[z] / 2
        assert float(abs(law.pmf(z) * total / true_weight(law, z) - 1)) < 1e-13
        assert float(abs(law.cdf(z) - (1 - upper))) < 1e-15
        assert float(abs(law.cdf(-z - 1) / upper - 1)) < 1e-12
    ks = range(1, len(tails) + 1)
    variance = sum((2 * k - 1) * tails[k - 1] for k in ks)
    mean_abs = sum(tails[k - 1] for k in ks)
    assert float(abs(law.variance / variance - 1)) < 1e-13
    assert float(abs(law.mean_abs / mean_abs - 1)) < 1e-13
    assert float(abs(law.normaliser / total - 1)) < 1e-14


@pytest.mark.parametrize("law", [*LAPLACES[1:], *GAUSSIANS], ids=str)
def test_reach_is_where_the_tail_falls_below_the_mass(law):
    tails = true_tails(law)
    for mass in (-0.5, -3, -20, -80, -120):
        w = law.reach(mass)
        assert w >= len(tails) or tails[w] <= arb(2) ** mass
        # where σ ≥ 16 the bound is an integral, a little above the sum
        below = tails[w - 1] * arb(1 + 2e-2) if law.power == 2 else tails[w - 1]
        assert w == 0 or below > arb(2) ** mass


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_the_tail_is_an_upper_bound_even_where_doubles_end(law):
    if law.rate < 1e-3 and law.power == 1:
        return
    tails = true_tails(law)
    for w in {0, 1, 2, 5, len(tails) // 2, len(tails) - 2} & set(range(len(tails))):
        assert arb(law.tail(w)) >= tails[w]
        assert law.tail(w) <= float(tails[w]) * 1.03 + 1e-300
    far = 10**7
    assert -1e40 < law.tail_log2(far) < -1
    assert law.tail(10**12) >= 5e-324


@pytest.mark.parametrize("law", [*LAWS, WIDE], ids=str)
def test_the_quantile_is_the_least_integer_that_the_cdf_allows(law):
    levels = np.random.default_rng(1).random(2000)
    z = law.quantile(levels)
    assert (law.cdf(z) >= levels).all()
    assert (law.cdf(z - 1) < levels).all()
    for v in (1e-300, 1e-17, 2.0**-53):
        at = law.quantile(v)
        assert law.cdf(at) >= v > law.cdf(at - 1)
    nearly_one = law.quantile(1 - 2.0**-53)
    assert law.cdf(-nearly_one - 1) <= 2.0**-53 < law.cdf(-nearly_one)


def test_the_quantile_printed_in_the_paper_is_off_by_one_for_38_percent():
    law = DiscreteLaplace(0.5)
    a = math.exp(-0.5)
    levels = (np.arange(100_000) + 0.5) / 100_000
    upper = np.ceil((np.log(1 - levels) + math.log(1 + a)) / math.log(a))
    printed = np.where(levels <= 1 / (1 + a), law.quantile(levels), upper)
    assert 0.37 < np.mean(printed != law.quantile(levels)) < 0.39
    right = np.where(levels <= 1 / (1 + a), law.quantile(levels), upper - 1)
    assert (right == law.quantile(levels)).all()


def test_a_wide_gaussian_agrees_with_the_sum_of_its_terms():
    law = DiscreteGaussian(sigma=2.0**14)
    terms = law.weights(0, 40 * 2**14)
    tails = np.cumsum(terms[::-1])[::-1] / law.normaliser
    for z in (0, 7, 2**14, 10**5, 5 * 10**5):
        assert abs(law.cdf(-z - 1) / tails[z + 1] - 1) < 1e-11
    assert abs(law.mean_abs / (2 * (np.arange(len(terms)) * terms).sum() / law.normaliser) - 1) < 1e-12


def test_sigma_and_rho_name_the_same_law():
    law = DiscreteGaussian(sigma=3.0)
    assert law.sigma2 == 9.0
    assert law.rate == 1 / 18
    assert DiscreteGaussian(0.125).sigma2 == 4.0
    assert law.exact_rate == Fraction(1, 18)


def test_what_a_moved_count_loses_is_the_rate_times_the_distance_or_its_square():
    assert DiscreteLaplace(0.5).loss(-3) == 1.5
    assert DiscreteGaussian(0.5).loss(3) == 4.5
    assert DiscreteLaplace.currency == "epsilon"
    assert DiscreteGaussian.currency == "rho"


@pytest.mark.parametrize(
    ("build", "says"),
    [
        (lambda: DiscreteLaplace(), "exactly one of epsilon, share; got none"),
        (lambda: DiscreteLaplace(1, share=0.5), "got epsilon and share"),
        (lambda: DiscreteGaussian(1, sigma=2), "got rho and sigma"),
        (lambda: DiscreteLaplace(0), "must be positive and finite"),
        (lambda: DiscreteLaplace(-1.0), "must be positive and finite"),
        (lambda: DiscreteLaplace(math.nan), "must be positive and finite"),
        (lambda: DiscreteLaplace(math.inf), "must be positive and finite"),
        (lambda: DiscreteLaplace(10**400), "must be positive and finite"),
        (lambda: DiscreteLaplace("1"), "'1', which is not a number"),
        (lambda: DiscreteLaplace(True), "True, which is not a number"),
        (lambda: DiscreteLaplace(1 + 2j), "not a number"),
        (lambda: DiscreteLaplace(1e-13), "no 64-bit integer holds such noise"),
        (lambda: DiscreteGaussian(sigma=1e-200), "no noise would be left"),
        (lambda: DiscreteLaplace(share=1.5), "at most 1"),
        (lambda: DiscreteGaussian(share=0), "must be positive"),
        (lambda: DiscreteLaplace(1).quantile(0.0), "outside 0 … 1"),
        (lambda: DiscreteLaplace(1).quantile([0.5, 1.0]), "outside 0 … 1"),
    ],
)
def test_what_is_no_law_is_refused_with_its_value(build, says):
    with pytest.raises(ArgumentError, match=says):
        build()


@pytest.mark.parametrize("law", [DiscreteLaplace(share=0.5), DiscreteGaussian(share=1)], ids=str)
@pytest.mark.parametrize(
    "use", [lambda f: f.weights(0, 3), lambda f: f.rate, lambda f: f.variance], ids="wrv"
)
def test_a_share_without_a_promise_is_an_error_that_says_so(law, use):
    assert not law.is_resolved
    with pytest.raises(ArgumentError, match="has no scale yet"):
        use(law)


def test_extreme_scales_neither_overflow_nor_warn():
    for law in (
        DiscreteLaplace(1e290),
        DiscreteLaplace(1e-12),
        DiscreteGaussian(1e290),
        DiscreteGaussian(1e-24),
    ):
        assert law.weights(-1, 1)[1] == 1
        assert law.reach(-64) >= 0
        assert law.cdf(0) > 0.5 - 1e-9
        assert law.variance >= 0
        assert law.mean_abs >= 0
        assert law.pmf(10**18) == 0
        assert 0 < law.tail(3) <= 1
        law.quantile(0.9)


def test_laws_are_values():
    assert DiscreteLaplace(1) == DiscreteLaplace(epsilon=1.0)
    assert hash(DiscreteGaussian(sigma=2)) == hash(DiscreteGaussian(sigma=2.0))
    assert DiscreteLaplace(1) != DiscreteLaplace(2)
