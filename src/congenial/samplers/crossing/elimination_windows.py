r"""How far a variable or a partial sum can go before its tail is negligible, with proof.

Let y* be any point that keeps facts and limits. The unnormalised law of a block has at least the weight of
y*. For any direction c, any w, any θ ≥ 0 and any multipliers η of the forms,

    Σ_{c·y ≥ w} Π_e φ_e(y_e) Π_k g_k(a_k·y)
        ≤  e^{-θw} Π_e ‖ φ_e(y) e^{t_e y} ‖_{1/τ_e} · Π_k max_v g_k(v) e^{-η_k v},      t = θc + Aᵀη,

where τ_e is the share of the sets F that contain e, for any mixture of sets F of variables of which each
determines all others (with weights q_F; the norm at τ = 0 is the largest value). For one F this holds because
a point is known by its coordinates in F; for a mixture write φ_e e^{t_e y} = u_e^{τ_e}, so that a point's
weight is Π_F ( Π_{e ∈ F} u_e )^{q_F}, and use Hölder's inequality over F. Divided by the weight of y* this
bounds the chance of the tail. Both sides of every window are moved in as far as the best (θ, η) found allows.
What the laws themselves leave out (`Unary.trimmed`) is bounded in the same way.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from congenial.samplers.base import FloatArray, IntArray
from congenial.samplers.crossing import _elimination_kernels as kernels
from congenial.samplers.crossing.elimination_descent import descended
from congenial.samplers.crossing.elimination_model import Model
from congenial.samplers.crossing.elimination_rows import free_shares

_SLACK = 1e-6
SETS = 24
_SAME = 1e-14
_RATES = np.geomspace(1 / 64, 64, 37)
_LN2 = math.log(2)


def log_weight(model: Model, y: IntArray) -> float:
    """ln of the weight of a point of the model (it must be inside all windows)."""
    value = sum(math.log(law[int(v) - int(lo)]) for law, v, lo in zip(model.laws, y, model.lo, strict=True))
    forms = model.rows @ y
    return value + sum(
        math.log(end.table[int(v) - end.lo]) for end, v in zip(model.ends, forms, strict=True)
    )


class Tails:
    """Bounds of the tails of a model around a point."""

    def __init__(self, model: Model, point: IntArray) -> None:
        self.model, self.point = model, point
        self.even = _is_even(model)
        lengths = [len(law) for law in model.laws]
        self.starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        self.z = np.concatenate([lo + np.arange(n) for lo, n in zip(model.lo, lengths, strict=True)])
        self.z = self.z.astype(np.float64)
        self.logs = np.log(np.maximum(np.concatenate(model.laws), 1e-320))
        self.least = log_weight(model, point)
        facts = [k for k, end in enumerate(model.ends) if end.kind == "fact"]
        peaks = np.array([-math.log(float(law.max())) for law in model.laws])
        self.shares = free_shares(model.rows[facts], peaks, SETS)
        self.facts = facts
        weights = [_variance(law) for law in model.laws]
        self.spread = np.array(weights)
        rows = model.rows[facts].astype(np.float64)
        self.project = np.linalg.pinv((rows * self.spread) @ rows.T) @ (rows * self.spread)

    def direction(self, c: FloatArray) -> FloatArray:
        """Multipliers (one a form) that leave the least variance in c + Aᵀη."""
        found = np.zeros(len(self.model.ends))
        found[self.facts] = -(self.project @ c)
        return found

    def value(self, t: FloatArray, eta: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        """ln of the bound over the weight of the point, with w = 0; its gradient in t and in η."""
        value, mean = np.empty(len(t)), np.empty(len(t))
        kernels.log_moments(self.starts, self.z, self.logs, t, self.shares, value, mean)
        total, at = float(value.sum()) - self.least, np.zeros(len(eta))
        for k, end in enumerate(self.model.ends):
            v = end.lo if end.kind == "fact" else None
            if v is None:
                values = np.arange(end.lo, end.hi + 1)
                terms = np.log(np.maximum(end.table, 1e-320)) - eta[k] * values
                best = int(np.argmax(terms))
                total, v = total + float(terms[best]), end.lo + best
            else:
                total -= eta[k] * v
            at[k] = -v
        return total + _SLACK, mean, at

    def edge(self, c: FloatArray, log_chance: float, steps: int) -> float:
        """A w such that P(c·y ≥ w) ≤ e^log_chance, as small as (θ, η) can be found for."""
        eta = self.direction(c)
        slope = c + self.model.rows.T @ eta
        unit = 1.0 / max(1e-9, float(np.sqrt(self.spread @ slope**2)))
        best, theta = math.inf, unit
        for rate in _RATES * unit:
            w = (self.value(rate * slope, rate * eta)[0] - log_chance) / rate
            if w < best:
                best, theta = w, rate
        return min(best, self._polished(c, log_chance, theta, eta, steps)) if steps else best

    def sides(self, c: FloatArray, log_chance: float, steps: int) -> tuple[int, int]:
        """The least and the largest value of c·y that are kept, at a chance of e^log_chance a side."""
        top = self.edge(c, log_chance, steps)
        bottom = top if self.even else self.edge(-c, log_chance, steps)
        return -_kept(bottom), _kept(top)

    def _polished(self, c: FloatArray, log_chance: float, theta: float, eta: FloatArray, steps: int) -> float:
        """The same by L-BFGS over ln θ and η/θ."""
        rows = self.model.rows.astype(np.float64)
        best = math.inf

        def target(x: FloatArray) -> tuple[float, FloatArray]:
            nonlocal best
            rate = math.exp(min(max(x[0], -300.0), 50.0))  # any positive rate gives a bound
            slope = c + rows.T @ x[1:]
            value, mean, at = self.value(rate * slope, rate * x[1:])
            w = (value - log_chance) / rate
            best = min(best, w)
            by_rate = float(mean @ slope + at @ x[1:]) - w
            return w, np.concatenate([[by_rate], rows @ mean + at])

        start = np.concatenate([[math.log(theta)], eta])
        descended(target, start, 2 * steps, 1e-4)
        return best


def _variance(law: FloatArray) -> float:
    z = np.arange(len(law))
    mean = float(law @ z)
    return max(1e-12, float(law @ (z - mean) ** 2))


def trimmed(model: Model, point: IntArray, log_chance: float, steps: int) -> tuple[Model, int]:
    """The model with every window's sides moved in, each at a chance of e^log_chance; how many were."""
    if not model.variables:
        return model, 0
    tails = Tails(model, point)
    lo, hi = model.lo.copy(), model.hi
    moved = 0
    for e in range(model.variables):
        c = np.zeros(model.variables)
        c[e] = 1.0
        bottom, top = tails.sides(c, log_chance, steps)
        if top < hi[e]:
            hi[e], moved = max(top, int(point[e])), moved + 1
        if bottom > lo[e]:
            lo[e], moved = min(bottom, int(point[e])), moved + 1
    return with_windows(model, lo, hi), moved


def _kept(edge: float) -> int:
    return math.ceil(min(edge, 2.0**40)) - 1


def _is_even(model: Model) -> bool:
    """Whether y and -y have the same weight."""
    laws = all(2 * int(lo) == 1 - len(law) and np.array_equal(law, law[::-1]) for law, lo in zip(
        model.laws, model.lo, strict=True))
    return laws and all(
        end.lo == -end.hi and np.array_equal(end.table, end.table[::-1]) for end in model.ends
    )


def shared(model: Model, wide: Model) -> tuple[Model, float]:
    """The model in which variables whose laws differ by rounding alone have one law and one window.

    Laws that are the same but for bounds out of reach come with other windows and other normalisers.
    `wide` has the windows before trimming, inside which windows may grow again. Returns the largest
    relative difference: it belongs to the relative error of every law.
    """
    groups: list[list[int]] = []
    for e in range(model.variables):
        for group in groups:
            if _alike(model, wide, group[0], e):
                group.append(e)
                break
        else:
            groups.append([e])
    lo, hi, laws = model.lo.copy(), model.hi, list(model.laws)
    for group in groups:
        lo[group], hi[group] = lo[group].min(), hi[group].max()
        first = group[0]
        law = wide.laws[first][int(lo[first] - wide.lo[first]) : int(hi[first] - wide.lo[first]) + 1]
        for e in group:
            laws[e] = law / law.sum()
    return replace(model, lo=lo, laws=tuple(laws)), _SAME


def _alike(model: Model, wide: Model, a: int, b: int) -> bool:
    """Whether two laws agree on the union of their windows, both being known there."""
    low, high = min(model.lo[a], model.lo[b]), max(model.hi[a], model.hi[b])
    parts = []
    for e in (a, b):
        if low < wide.lo[e] or high > wide.hi[e]:
            return False
        part = wide.laws[e][int(low - wide.lo[e]) : int(high - wide.lo[e]) + 1]
        parts.append(part / part.max())
    return bool(np.allclose(parts[0], parts[1], rtol=_SAME, atol=0.0))


def with_windows(model: Model, lo: IntArray, hi: IntArray) -> Model:
    """The model on smaller windows."""
    laws = []
    for e, law in enumerate(model.laws):
        cut = law[int(lo[e] - model.lo[e]) : int(hi[e] - model.lo[e]) + 1]
        laws.append(cut / cut.sum())
    return replace(model, lo=lo.copy(), laws=tuple(laws))


def sides_of_sums(
    model: Model, point: IntArray, sums: Iterable[FloatArray], log_chance: float, steps: int
) -> list[tuple[int, int]]:
    """For each direction c the least and the largest c·y that are kept, at e^log_chance a side."""
    tails = Tails(model, point)
    return [tails.sides(c, log_chance, steps) for c in sums]


def left_out_log(
    laws: Sequence[FloatArray], missing: Sequence[float], shares: FloatArray, log_least: float
) -> float:
    """ln of what the windows of the laws leave out, over the weight of a point that is kept.

    `laws` have sum one, `missing` is the mass that each leaves out, `shares` are the τ of the module. A law
    outside its window has norm at most `missing`, on all integers at most its norm inside plus that.
    """
    norms = [_log_norm(*each) for each in zip(laws, missing, shares, strict=True)]
    outside = sum(norms) - log_least
    terms = [math.log(mass) + outside - norm for mass, norm in zip(missing, norms, strict=True) if mass > 0]
    if not terms:
        return -math.inf
    top = max(terms)
    return top + math.log(sum(math.exp(v - top) for v in terms)) + _SLACK


def _log_norm(law: FloatArray, mass: float, share: float) -> float:
    top = float(law.max())
    norm = top if share == 0 else top * float(((law / top) ** (1 / share)).sum() ** share)
    return math.log(norm + mass)
