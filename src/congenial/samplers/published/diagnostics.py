"""How well chains have mixed, from what they drew: potential scale reduction and effective sample size.

Both are estimates. Neither proves that a chain has come near its law, and chains that are all stuck in one
place look perfect to both.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from congenial.errors import ArgumentError

Floats = NDArray[np.float64]


def potential_scale_reduction(chains: ArrayLike, split: bool = True) -> Floats | float:
    """R̂, near 1 where chains agree: `chains` is (chains, draws) or (chains, draws, quantities).

    √(((n-1)/n·W + B/n) / W), W the mean of the chains' variances, B/n the variance of their means.
    `split` cuts each chain in two, so that a drift within a chain is seen too. A quantity that never
    changes has R̂ = 1; one that differs between chains alone, infinity.
    **Source.** Gelman & Rubin (1992); Dharangutte et al. (2023), Appendix E.4, ask for less than 1.01.
    """
    given = np.asarray(chains, dtype=np.float64)
    draws = _checked(given)
    if split:
        half = draws.shape[1] // 2
        draws = np.concatenate([draws[:, :half], draws[:, draws.shape[1] - half :]])
    if len(draws) < 2 or draws.shape[1] < 2:
        raise ArgumentError("potential scale reduction needs two chains (or split ones) of two draws each")
    n = draws.shape[1]
    within = draws.var(axis=1, ddof=1).mean(axis=0)
    between = draws.mean(axis=1).var(axis=0, ddof=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.sqrt((n - 1) / n + between / within)
    return _plain(np.where((within == 0) & (between == 0), 1.0, ratio), given.ndim < 3)


def effective_sample_size(chains: ArrayLike) -> Floats | float:
    """How many independent draws would know the mean as well: of (draws,), or as `potential_scale_reduction`.

    m·n / (1 + 2·Σ ρ_t), ρ_t the autocorrelation at lag t over all chains, added up in pairs of lags as
    long as the pairs are positive, and made non-increasing. A quantity that never changes has 0.
    **Source.** Geyer (1992), initial monotone sequence; for several chains, Gelman et al. (2013), 11.5.
    """
    given = np.asarray(chains, dtype=np.float64)
    draws = _checked(given[None] if given.ndim == 1 else given)
    m, n, quantities = draws.shape
    if n < 4:
        raise ArgumentError(f"an effective sample size needs chains of at least four draws, not {n}")
    covariance = _autocovariance(draws).mean(axis=0)
    within = covariance[0] * n / (n - 1)
    between = draws.mean(axis=1).var(axis=0, ddof=1) if m > 1 else np.zeros(quantities)
    whole = within * (n - 1) / n + between
    found = np.zeros(quantities)
    for q in np.flatnonzero(whole > 0):
        rho = 1 - (within[q] - covariance[:, q]) / whole[q]
        rho[0] = 1.0
        found[q] = m * n / _time(rho)
    return _plain(found, given.ndim < 3)


def _time(rho: Floats) -> float:
    """1 + 2·Σ ρ_t by pairs of lags, cut at the first pair that is not positive; at least a little."""
    pairs = rho[: len(rho) // 2 * 2].reshape(-1, 2).sum(axis=1)
    ends = np.flatnonzero(pairs <= 0)
    positive = pairs[: ends[0]] if len(ends) else pairs
    return float(max(2 * np.minimum.accumulate(positive).sum() - 1, 1 / np.log10(max(10, len(rho)))))


def _autocovariance(draws: Floats) -> Floats:
    """Of each chain and quantity at every lag, divided by the number of draws: (chains, lags, quantities)."""
    n = draws.shape[1]
    centred = draws - draws.mean(axis=1, keepdims=True)
    size = 1 << (2 * n - 1).bit_length()
    power = np.abs(np.fft.rfft(centred, size, axis=1)) ** 2
    return np.asarray(np.fft.irfft(power, size, axis=1)[:, :n] / n, dtype=np.float64)


def _checked(draws: Floats) -> Floats:
    if draws.ndim not in (2, 3) or not np.isfinite(draws).all():
        raise ArgumentError("chains are an array (chains, draws) or (chains, draws, quantities) of numbers")
    return draws[:, :, None] if draws.ndim == 2 else draws


def _plain(values: Floats, single: bool) -> Floats | float:
    return float(values[0]) if single else values
