r"""Univariate noise laws on the integers: even, log-concave, named by what they cost.

    discrete Laplace    P(z) ∝ e^{-ε|z|}             loses ε for a count moved by one
    discrete Gaussian   P(z) ∝ e^{-ρz²}, ρ = 1/2σ²   loses ρ (zero-concentrated) for the same

A law is a frozen value. What it is is the exact rational value of the double that was typed, and every
function says how near to that law it comes. Under a promise a law carries a `share` instead of a
scale; it is *unresolved* until the planner has found the scale, and says so when it is used.

Samplers ask a law for `weights` on a window and for how wide the window must be (`reach`). Everything
else (pmf, cdf, quantile, moments) is for reading, planning and inference. Real-valued twins, when they
come, answer to the same names but for `weights`, `reach` and `pmf`, which speak of integers.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from numbers import Real
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from congenial.errors import ArgumentError, Fault

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

_SPLIT = 134217729.0  # 2^27 + 1
_STEEP = 4096.0  # from here on every weight but f(0) is zero in double precision
_WIDE = 2.0**14  # a Gaussian at least as wide is summed by Euler and Maclaurin, a narrower one term by term


class EvenLaw(ABC):
    """What the laws share: f(z) = exp(-rate·|z|^power), `rate` the cost of moving a count by one."""

    currency: ClassVar[Literal["epsilon", "rho"]]
    power: ClassVar[int]
    share: float | None

    @property
    @abstractmethod
    def exact_rate(self) -> Fraction:
        """The rate as the exact value of the double that was typed."""

    @property
    @abstractmethod
    def normaliser(self) -> float:
        """Σ f(z)/f(0) over all integers, to a relative 1e-15."""

    @property
    @abstractmethod
    def variance(self) -> float:
        """The variance, to a relative 1e-14."""

    @property
    @abstractmethod
    def mean_abs(self) -> float:
        """The mean of |Z|, to a relative 1e-14."""

    @abstractmethod
    def tail_log2(self, w: int) -> float:
        """An upper bound of log2 P(|Z| > w), finite however far out."""

    @abstractmethod
    def _upper(self, z: Floats) -> Floats:
        """P(Z > z) for z ≥ 0, keeping its relative accuracy."""

    @abstractmethod
    def _guess(self, v: Floats) -> Floats:
        """The least z ≤ 0 with P(Z ≤ z) ≥ v, give or take one, for v at most P(Z ≤ 0)."""

    @property
    def is_resolved(self) -> bool:
        """Whether the law has a scale, and not only a share of a promise."""
        return self.share is None

    @cached_property
    def rate(self) -> float:
        """ε or ρ: what is lost when a count moves by one."""
        return float(self.exact_rate)

    @cached_property
    def _pair(self) -> tuple[float, float, float, float]:
        """The rate as four doubles: itself, what it misses, and its upper and lower half."""
        exact = min(self.exact_rate, Fraction(_STEEP))
        rate = float(exact)
        high = rate * _SPLIT - (rate * _SPLIT - rate)
        return rate, float(exact - Fraction(rate)), high, rate - high

    def weights(self, lo: int, hi: int) -> Floats:
        """f(z)/f(0) for z = lo … hi.

        **Exactness.** Each within 2 units in its last place of the law's value, wherever it stands:
        the exponent is kept as an unevaluated sum of two doubles, so large ε|z| lose nothing.
        **Cost.** One exponential an absolute value.
        """
        if lo > 0:
            return self._decay(lo, hi)
        if hi < 0:
            return self._decay(-hi, -lo)[::-1].copy()
        right = self._decay(0, max(-lo, hi))
        return np.concatenate((right[-lo:0:-1], right[: hi + 1]))

    def _decay(self, first: int, last: int) -> Floats:
        """f(k)/f(0) for k = first … last, all of them at least zero."""
        k = np.arange(first, last + 1, dtype=np.float64)
        if self.power == 1:
            return _exp_minus(k, self._pair, last)
        if last < 1 << 26:
            return _exp_minus(k * k, self._pair, last * last)
        square = k * k
        rest = _product_rest(k, k, square)
        rate = self._pair[0]
        return _exp_minus(square, self._pair, last * last) * (1.0 - rate * np.minimum(rest, 1 / rate))

    def pmf(self, z: ArrayLike) -> Floats:
        """P(Z = z) at integers z, to a relative 1e-14."""
        k = np.minimum(np.abs(np.asarray(z, dtype=np.float64)), 2.0**53)  # no law has mass out there
        value = _exp_minus(k if self.power == 1 else k * k, self._pair, 1 << 60) / self.normaliser
        return np.where(k == np.floor(k), value, 0.0)[()]

    def cdf(self, z: ArrayLike) -> Floats:
        """P(Z ≤ z); its lower tail keeps its relative accuracy (1e-12)."""
        at = np.floor(np.asarray(z, dtype=np.float64))
        upper = self._upper(np.minimum(np.where(at >= 0, at, -1.0 - at), 2.0**53))
        return np.where(at >= 0, 1.0 - upper, upper)[()]

    def quantile(self, v: ArrayLike) -> Integers:
        """The least integer z with P(Z ≤ z) ≥ v, 0 < v < 1.

        **Source.** For discrete Laplace, Gong & Meng (2020), Appendix B, with the second branch one
        less than printed. A step of comparison with `cdf` mends what rounding does at the jumps.
        """
        level = np.asarray(v, dtype=np.float64)
        if not ((level > 0) & (level < 1)).all():
            raise ArgumentError("a quantile is asked for at a level outside 0 … 1; it needs 0 < v < 1")
        low = level <= np.asarray(self.cdf(0))
        # above the centre P(Z ≤ z) ≥ v is P(Z ≤ -z-1) ≤ 1-v, which keeps the digits of a small 1-v
        goal = np.where(low, level, 1.0 - level)
        y = self._guess(goal) - ~low
        for _ in range(2):
            here, below, above = self.cdf(y), self.cdf(y - 1), self.cdf(y + 1)
            y = y - np.where(low, below >= goal, here > goal) + np.where(low, here < goal, above <= goal)
        z = np.where(low, y, -1.0 - y)
        return z.astype(np.int64)[()]

    def tail(self, w: int) -> float:
        """An upper bound of P(|Z| > w), at most 1."""
        bound = self.tail_log2(w)
        return 1.0 if bound >= 0 else max(math.nextafter(2.0**bound, 1.0), 5e-324)

    def reach(self, log2_mass: float) -> int:
        """The least w that `tail_log2` shows to have P(|Z| > w) ≤ 2^log2_mass."""
        if self.tail_log2(0) <= log2_mass:
            return 0
        low, high = 0, 1
        while self.tail_log2(high) > log2_mass:
            low, high = high, 2 * high
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self.tail_log2(middle) > log2_mass else (low, middle)
        return high

    def loss(self, distance: float) -> float:
        """What a form loses whose value moves by `distance`: ε·|Δ|, or ρ·Δ²."""
        return float(self.rate * abs(distance) ** self.power)


@dataclass(frozen=True)
class DiscreteLaplace(EvenLaw):
    """P(z) = tanh(ε/2)·e^{-ε|z|} on the integers (also called the double geometric law).

    **Privacy.** A count that moves by Δ loses ε·|Δ|, pure.
    **Source.** Gong & Meng (2020), Definition 1.2, with a = e^{-ε}.
    """

    epsilon: float | None = None
    share: float | None = field(default=None, kw_only=True)

    currency: ClassVar[Literal["epsilon", "rho"]] = "epsilon"
    power: ClassVar[int] = 1

    def __post_init__(self) -> None:
        _check(self, "epsilon")

    @cached_property
    def exact_rate(self) -> Fraction:
        if self.epsilon is None:
            raise _unresolved(self)
        return Fraction(self.epsilon)

    @cached_property
    def normaliser(self) -> float:
        return 1.0 / math.tanh(self.rate / 2)

    @cached_property
    def variance(self) -> float:
        """2a/(1-a)²."""
        root = _sinh(self.rate / 2)
        return 0.5 / (root * root)

    @cached_property
    def mean_abs(self) -> float:
        """2a/(1-a²)."""
        return 1.0 / _sinh(self.rate)

    def tail_log2(self, w: int) -> float:
        exponent = (w + 1) * self._pair[0] / math.log(2)
        bound = 1.0 - math.log1p(math.exp(-self.rate)) / math.log(2) - exponent
        return bound + 1e-15 * (4 + exponent)

    def _upper(self, z: Floats) -> Floats:
        return _exp_minus(z + 1.0, self._pair, 1 << 60) / (1.0 + math.exp(-self.rate))

    def _guess(self, v: Floats) -> Floats:
        with np.errstate(divide="ignore"):
            return np.ceil((np.log(v) + math.log1p(math.exp(-self.rate))) / self.rate)


@dataclass(frozen=True)
class DiscreteGaussian(EvenLaw):
    """P(z) ∝ e^{-z²/2σ²} on the integers; `rho` is 1/2σ², and one of the two names the law.

    **Privacy.** A count that moves by Δ loses ρ·Δ², zero-concentrated.
    **Source.** Canonne, Kamath & Steinke (2020), The discrete Gaussian for differential privacy.
    """

    rho: float | None = None
    sigma: float | None = field(default=None, kw_only=True)
    share: float | None = field(default=None, kw_only=True)

    currency: ClassVar[Literal["epsilon", "rho"]] = "rho"
    power: ClassVar[int] = 2

    def __post_init__(self) -> None:
        _check(self, "rho", "sigma")

    @cached_property
    def exact_rate(self) -> Fraction:
        if self.rho is not None:
            return Fraction(self.rho)
        if self.sigma is None:
            raise _unresolved(self)
        return 1 / (2 * Fraction(self.sigma) ** 2)

    @cached_property
    def sigma2(self) -> float:
        """σ² = 1/2ρ: the variance of the real-valued law; `variance` is a little less where σ < 1."""
        return float(1 / (2 * self.exact_rate))

    @cached_property
    def normaliser(self) -> float:
        """√(2πσ²) but for e^{-2π²σ²} (Poisson summation); added up where σ is small."""
        if self.sigma2 >= 4:
            return math.sqrt(2 * math.pi * self.sigma2)
        return float(2 * self._decay(1, 40)[::-1].sum() + 1)

    @cached_property
    def variance(self) -> float:
        if self.sigma2 >= 4:
            return self.sigma2
        k = np.arange(1.0, 41.0)
        return float(2 * (k * k * self._decay(1, 40))[::-1].sum() / self.normaliser)

    @cached_property
    def mean_abs(self) -> float:
        if self.sigma2 >= 1e4:
            # Euler and Maclaurin for Σ k f(k); the next term is of order σ⁻⁶
            half = self.sigma2 - 1 / 12 - 1 / (240 * self.sigma2) - 1 / (2016 * self.sigma2**2)
        else:
            last = 40 + math.ceil(10 * math.sqrt(self.sigma2))
            half = float((np.arange(1.0, last + 1) * self._decay(1, last))[::-1].sum())
        return 2 * half / self.normaliser

    def tail_log2(self, w: int) -> float:
        """Beyond σ, f is convex, so each term is at most the integral around it; else terms are added."""
        rate = self._pair[0]
        x = (w + 0.5) * math.sqrt(rate)
        if self.sigma2 >= 256 and (w + 0.5) ** 2 >= self.sigma2:
            if x < 25:
                return math.log2(math.erfc(x)) + 1e-13
            return -x * x / math.log(2) * (1 - 1e-15) - math.log2(x * math.sqrt(math.pi)) + 1e-13
        if self.sigma2 >= 256:
            return min(0.0, math.log2(2 * float(self._upper(np.asarray(float(w))))) + 1e-12)
        first = w + 1
        more = np.arange(0.0, 40 + math.ceil(10 * math.sqrt(self.sigma2)))
        terms = np.exp(-rate * (more * (more + 2 * first)))
        rest = float(terms[::-1].sum()) * (1 + 1e-12)
        exponent = rate * first * first / math.log(2)
        return 1 + math.log2(rest / self.normaliser) - exponent * (1 - 1e-15) + 1e-13

    @cached_property
    def _tails(self) -> Floats:
        """P(Z > z) for z = 0, 1, …, added up from the far end."""
        last = 40 + math.ceil(39 * math.sqrt(self.sigma2))
        return np.cumsum(self._decay(1, last)[::-1])[::-1] / self.normaliser

    def _upper(self, z: Floats) -> Floats:
        if self.sigma2 < _WIDE**2:
            return self._tails[np.minimum(z, len(self._tails) - 1).astype(np.int64)]
        from scipy.special import erfc

        t = z + 0.5
        slope = t / self.sigma2
        f = np.exp(-self.rate * t * t)
        # midpoint Euler and Maclaurin: -f'/24 + 7f'''/5760, all over the normaliser
        correction = f * (-slope / 24 + 7 / 5760 * slope * (slope * slope - 3 / self.sigma2))
        return np.asarray(0.5 * erfc(t * math.sqrt(self.rate)) + correction / self.normaliser)

    def _guess(self, v: Floats) -> Floats:
        if self.sigma2 < _WIDE**2:
            # P(Z ≤ -k) = P(Z > k-1) falls in k: the last k with at least v
            k = len(self._tails) - np.searchsorted(self._tails[::-1], v, side="left")
            return -np.asarray(k, dtype=np.float64)
        from scipy.special import ndtri

        return np.ceil(ndtri(np.minimum(v, 0.5)) * math.sqrt(self.sigma2) - 0.5)


Law = DiscreteLaplace | DiscreteGaussian


def _product_rest(x: Floats, y: Floats, product: Floats) -> Floats:
    """x·y - product, exactly, where `product` is x·y rounded (Dekker)."""
    xh = x * _SPLIT
    xh = xh - (xh - x)
    yh = y * _SPLIT
    yh = yh - (yh - y)
    xl, yl = x - xh, y - yh
    return ((xh * yh - product) + xh * yl + xl * yh) + xl * yl


def _exp_minus(t: Floats, pair: tuple[float, float, float, float], largest: int) -> Floats:
    """exp(-rate·t) with the product kept to twice double precision; `t` are integers up to `largest`."""
    rate, missing, high, low = pair
    product = t * rate
    if largest < 1 << 26:  # then t·high and t·low are exact
        rest = (t * high - product) + t * low
    else:
        rest = _product_rest(t, np.asarray(rate), product)
    if missing:
        rest = rest + t * missing
    found = np.exp(-product)
    return found - found * rest


def _sinh(x: float) -> float:
    return math.sinh(min(x, 700.0))


def _check(law: Any, *scales: str) -> None:
    """Exactly one of the scales and `share` is set, and it is a positive number."""
    name = type(law).__name__
    given = [key for key in (*scales, "share") if getattr(law, key) is not None]
    if len(given) != 1:
        said = f"got {' and '.join(given)}" if given else "got none of them"
        hint = "A scale names the law; a share leaves the scale to the promise of the request."
        what = f"{name} takes exactly one of {', '.join(scales)}, share; {said}"
        raise ArgumentError(Fault("", what, hint))
    key = given[0]
    value = getattr(law, key)
    if isinstance(value, bool | np.bool_) or not isinstance(value, Real):
        raise ArgumentError(f"{name}: {key} is {value!r}, which is not a number")
    number = _number(value)
    if not (number > 0 and math.isfinite(number)):
        why = "no noise has such a law; it must be positive and finite"
        raise ArgumentError(f"{name}: {key} is {value!r}: {why}")
    if key == "share" and number > 1:
        raise ArgumentError(f"{name}: share is {value!r}; it is a part of the promise, at most 1")
    object.__setattr__(law, key, number)
    if key != "share" and not 1e-12**law.power <= law.exact_rate <= 10**300:
        why = "no 64-bit integer holds such noise" if law.exact_rate < 1 else "no noise would be left"
        raise ArgumentError(f"{name}: {key} is {value!r}: {why}")


def _number(value: Real) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf


def _unresolved(law: Any) -> ArgumentError:
    what = f"{type(law).__name__}(share={law.share}) has no scale yet"
    hint = "Its scale follows from the promise of the request: plan the request, or give the law a scale."
    return ArgumentError(Fault("", what, hint))
