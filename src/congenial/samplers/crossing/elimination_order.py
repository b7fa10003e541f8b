"""The order of elimination, and which tables share a bucket: found on a coarse copy of the model.

The log bound is a deterministic function of order, buckets, weights and shifts. A copy on a grid with few
points a variable (every s-th integer, tails beyond a few spreads dropped) has nearly the same best order
and weights and costs a hundredth of a pass. Orders are proposed (variables in many forms first, and sweeps
that keep few forms open), improved by moving single variables, and compared after the same few steps of
`improve`; the winner's weights and shifts are carried over to the full windows. Effort is counted in
nominal seconds, a function of sizes alone, so that the same input gives the same plan.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from congenial.errors import ConflictError
from congenial.samplers.base import FloatArray, IntArray
from congenial.samplers.crossing.elimination_bound import Choice, Weights, Workspace, improve
from congenial.samplers.crossing.elimination_model import End, Model
from congenial.samplers.crossing.elimination_rows import distinct, independent_rows, shortened
from congenial.samplers.crossing.elimination_scheme import (
    Ranges,
    Scheme,
    likely_reach,
    ranges,
    scheme,
    smallest_first,
    work,
)


def coarse(model: Model, depth: float = 9.0) -> tuple[Model, int]:
    """The model on every s-th integer, its windows cut where a law is below e^-depth of its peak; and s.

    Not a bound of anything: a stand-in for comparing orders.
    """
    spreads = [_spread(law) for law in model.laws]
    s = max(1, int(min(spreads, default=1.0) / 2.0)) if spreads else 1
    lo, laws = [], []
    for law, low in zip(model.laws, model.lo, strict=True):
        first, last = -(-int(low) // s), (int(low) + len(law) - 1) // s
        if last < first:
            first = last = round(int(low) / s)
        values = np.clip(np.arange(first, last + 1) * s - int(low), 0, len(law) - 1)
        kept = law[values]
        near = np.flatnonzero(kept >= kept.max() * np.exp(-depth))
        lo.append(first + int(near[0]))
        laws.append(kept[near[0] : near[-1] + 1] / kept[near[0] : near[-1] + 1].sum())
    ends = tuple(_coarse_end(end, s) for end in model.ends)
    return replace(model, lo=np.array(lo, dtype=np.int64), laws=tuple(laws), ends=ends), s


def _coarse_end(end: End, s: int) -> End:
    first, last = -(-end.lo // s), end.hi // s
    if last < first:
        first = last = round(end.lo / s)
    values = np.clip(np.arange(first, last + 1) * s - end.lo, 0, len(end.table) - 1)
    return End(end.kind, first, end.table[values])


def _spread(law: FloatArray) -> float:
    z = np.arange(len(law))
    mean = float(law @ z)
    return max(0.05, float(np.sqrt(law @ (z - mean) ** 2)))


_NARROW = 1500


@dataclass(frozen=True, eq=False)
class Found:
    """A presentation of the facts, an order and a scheme, with its choice on the coarse model."""

    model: Model
    order: tuple[int, ...]
    scheme: Scheme
    choice: Choice
    grid: int
    log_bound: float
    """On the coarse model."""
    entries: int
    """A table has at most so many."""


def presentations(model: Model) -> list[Model]:
    """The model with all its facts, and with a shortest basis of them; repeated facts stand once."""
    facts = [k for k, end in enumerate(model.ends) if end.kind == "fact"]
    others = [k for k, end in enumerate(model.ends) if end.kind != "fact"]
    facts = [facts[i] for i in distinct(model.rows[facts])]
    whole = _with_rows(model, model.rows[facts + others], [model.ends[k] for k in facts + others])
    if not facts:
        return [whole]
    values = np.array([model.ends[k].lo for k in facts], dtype=np.int64)
    sizes = np.count_nonzero(model.rows[facts], axis=1)
    basis = independent_rows(model.rows[facts], np.argsort(sizes, kind="stable"))
    rows, fixed = shortened(model.rows[facts][basis], values[basis])
    ends = [End("fact", int(v), np.ones(1)) for v in fixed] + [model.ends[k] for k in others]
    short = _with_rows(model, np.vstack([rows, model.rows[others]]), ends)
    same = len(basis) == len(facts) and np.array_equal(rows, model.rows[facts][basis])
    return [whole] if same else [whole, short]


def _with_rows(model: Model, rows: IntArray, ends: list[End]) -> Model:
    return replace(model, rows=np.ascontiguousarray(rows), ends=tuple(ends))


def proposals(model: Model) -> Iterator[tuple[int, ...]]:
    """Orders worth trying."""
    degree = np.count_nonzero(model.rows, axis=0)
    yield tuple(int(e) for e in np.argsort(-degree, kind="stable"))
    for key in ("open", "close"):
        yield _sweep(model, key)
    yield tuple(range(model.variables))


def _sweep(model: Model, key: str) -> tuple[int, ...]:
    """Take next what leaves the fewest forms open (then what is in the most forms, or closes most)."""
    left = [set(np.flatnonzero(row)) for row in model.rows]
    forms = [tuple(np.flatnonzero(column)) for column in model.rows.T]
    opened: set[int] = set()
    order: list[int] = []
    waiting = set(range(model.variables))
    while waiting:

        def cost(e: int) -> tuple[float, ...]:
            new = sum(k not in opened for k in forms[e])
            done = sum(len(left[k]) == 1 for k in forms[e])
            held = sum(k in opened for k in forms[e])
            if key == "open":
                return (new - done, -held, e)
            return (-done, new, -len(forms[e]), e)

        best = min(waiting, key=cost)
        waiting.remove(best)
        order.append(best)
        for k in forms[best]:
            opened.add(int(k))
            left[k].discard(best)
            if not left[k]:
                opened.discard(int(k))
    return tuple(order)


def search(full: Model, entries: int, seconds: float) -> Found | None:
    """The presentation, order and buckets with the least bound found in about `seconds` of nominal effort.

    First with small buckets: every presentation and proposal, then moves of single variables. Then the
    best order with the largest buckets (at most `entries` entries a table) that the effort allows.
    """
    if not full.variables:
        return Found(full, (), Scheme((), (), ()), {}, 1, 0.0, 1)
    trials = [(shape, order) for shape in presentations(full) for order in dict.fromkeys(proposals(shape))]
    best: Found | None = None
    spent = 0.0
    for shape, order in trials:
        trial, cost = _tried(shape, order, min(entries, _NARROW), 20, {}, 0.3 * seconds / len(trials))
        spent += cost
        if trial is not None and (best is None or trial.log_bound < best.log_bound):
            best = trial
    if best is None:
        return None
    best = _moved(best, 0.6 * seconds - spent)
    if entries > best.entries:
        wide, _ = _tried(best.model, best.order, entries, 40, {}, 0.4 * seconds)
        if wide is not None and wide.log_bound < best.log_bound:
            best = wide
    return best


def _moved(best: Found, seconds: float) -> Found:
    """Move single variables to other places, as long as the effort lasts."""
    rng = np.random.default_rng(0)
    while seconds > 0 and best.model.variables > 2:
        order = list(best.order)
        a, b = (int(v) for v in rng.integers(0, len(order), 2))
        order.insert(b, order.pop(a))
        trial, cost = _tried(best.model, tuple(order), best.entries, 6, best.choice, seconds)
        seconds -= cost
        if trial is not None and trial.log_bound < best.log_bound - 1e-4:
            best = trial
    return best


def _tried(
    model: Model, order: tuple[int, ...], entries: int, evaluations: int, start: Choice, seconds: float
) -> tuple[Found | None, float]:
    """A scheme for an order, its coarse bound after some steps, and what that cost.

    Buckets are made smaller until the steps fit into `seconds`.
    """
    small, grid = coarse(model)
    spans, few = ranges(model, order, likely_reach(model, order)), ranges(small, order)
    while True:
        symbols = scheme(model, order, smallest_first(spans, entries))
        cost = nominal(small, symbols, few) * evaluations
        if cost <= seconds or entries < 2:
            break
        entries //= 3
    kept = {e: w for e, w in start.items() if _fits(symbols, e, w)}
    try:
        bound, choice = improve(Workspace(small, symbols, few), kept, evaluations)
    except ConflictError:
        return None, cost
    return Found(model, order, symbols, choice, grid, bound, entries), cost


def nominal(model: Model, symbols: Scheme, spans: Ranges) -> float:
    """Seconds of one evaluation of bound and derivative, roughly: a function of sizes alone."""
    return 1e-8 * work(model, symbols, spans) + 1e-4 * len(symbols.steps)


def _fits(symbols: Scheme, variable: int, weights: Weights) -> bool:
    return any(s.variable == variable and len(s.buckets) == len(weights.weights) for s in symbols.steps)


def carried(choice: Choice, small: Model, grid: int, full: Model) -> Choice:
    """The coarse choice on the full windows: shifts between grid points by interpolation."""
    found: Choice = {}
    for e, here in choice.items():
        at = (small.lo[e] + np.arange(len(small.laws[e]))) * grid
        z = full.lo[e] + np.arange(len(full.laws[e]))
        found[e] = Weights(here.weights, np.array([np.interp(z, at, row) for row in here.shifts]))
    return found
