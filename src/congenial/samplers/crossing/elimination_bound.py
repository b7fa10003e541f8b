r"""The bound of weighted elimination as a number, its derivative, and the tables that it leaves behind.

At a step with buckets b = 1 … p, weights λ_b with Σ λ_b = 1 and positive functions with Π_b c_b(z)^{λ_b} = 1,

    Σ_z μ(z) Π_b F_b(R_b, z)  ≤  Π_b ( Σ_z μ(z) c_b(z) F_b(R_b, z)^{1/λ_b} )^{λ_b}       (Hölder)

F_b the product of the bucket's tables after the step. Each factor on the right is the bucket's new table.
The *shifts* ln c_b move weight between buckets without changing the left-hand side: they contain every
tilt of a fact, and with them the bound is tight where all buckets see the same law of z. The logarithm of
the product of all constants is the log bound; it is convex in the shifts and smooth in λ, and its derivative
is the flow of one unit of mass forward through the tables.

Powers that would underflow are floored upward, and every table is raised by 1 + 1e-11, more than rounding
can take away: the inequality holds for the numbers in the tables.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from congenial.samplers.base import FloatArray, IntArray
from congenial.samplers.crossing import _elimination_kernels as kernels
from congenial.samplers.crossing.elimination_descent import descended
from congenial.samplers.crossing.elimination_model import Model, infeasible
from congenial.samplers.crossing.elimination_scheme import Bucket, Ranges, Scheme, Step

RAISE = 1 + 1e-11
_POWER_FLOOR = 540.0  # powers below e^-540 are raised to it,
_WEIGHT_FLOOR = 150.0  # weights of z below e^-150,
_TABLE_FLOOR = 690.0  # and entries of new tables below e^-690
_LINEAR = 0.05  # below this weight a bucket is summed in logarithms
_SHIFT_LIMIT = 45.0
_LEAST_WEIGHT = 1e-4


@dataclass(frozen=True, eq=False)
class Weights:
    """What can be chosen at a step with several buckets: λ (sums to one), shifts ln c (one row a bucket)."""

    weights: FloatArray
    shifts: FloatArray


Choice = dict[int, Weights]
"""By variable; a step that is not in it has equal weights and no shifts."""


@dataclass(frozen=True, eq=False)
class Packed:
    """A bucket as the kernels read it: see `_elimination_kernels`."""

    lo: IntArray
    shape: IntArray
    const: IntArray
    strides: IntArray
    steps: IntArray
    held: IntArray
    held_at: IntArray
    size: int

    @property
    def where(self) -> tuple[IntArray, ...]:
        """The arguments that every kernel begins with."""
        return self.lo, self.shape, self.const, self.strides, self.steps, self.held, self.held_at


def strides_of(spans: Ranges, position: int, scope: tuple[int, ...]) -> tuple[IntArray, IntArray, IntArray]:
    """(lo, shape, strides) of a table over `scope`, the last register running fastest."""
    lo = np.array([spans.lo[position, k] for k in scope], dtype=np.int64)
    shape = np.array([spans.hi[position, k] - spans.lo[position, k] + 1 for k in scope], dtype=np.int64)
    strides = np.ones(len(scope), dtype=np.int64)
    for d in range(len(scope) - 2, -1, -1):
        strides[d] = strides[d + 1] * shape[d + 1]
    return lo, shape, strides


class Workspace:
    """A model, a scheme and ranges, laid out for the kernels."""

    def __init__(self, model: Model, scheme: Scheme, spans: Ranges) -> None:
        self.model, self.scheme, self.spans = model, scheme, spans
        self.layout = [
            strides_of(spans, position, scope)
            for position, scope in zip(scheme.positions, scheme.scopes, strict=True)
        ]
        for k, end in enumerate(model.ends):
            self.layout[k] = (np.array([end.lo]), np.array([len(end.table)]), np.ones(1, dtype=np.int64))
        self.packed = {
            bucket.gives: self._pack(step, bucket) for step in scheme.steps for bucket in step.buckets
        }

    def _pack(self, step: Step, bucket: Bucket) -> Packed:
        scope = self.scheme.scopes[bucket.gives]
        lo, shape, _ = self.layout[bucket.gives]
        column = self.model.rows[:, step.variable]
        held: dict[int, tuple[int, int, int]] = {}
        const, strides, moves, offset = [], [], [], 0
        for t in bucket.takes:
            t_lo, t_shape, t_strides = self.layout[t]
            row = np.zeros(len(scope), dtype=np.int64)
            for d, k in enumerate(self.scheme.scopes[t]):
                if k in scope:
                    row[scope.index(k)] = t_strides[d]
                a, low, high = held.get(k, (int(column[k]), -(2**62), 2**62))
                held[k] = (a, max(low, int(t_lo[d])), min(high, int(t_lo[d] + t_shape[d]) - 1))
            const.append(offset - int(t_lo @ t_strides))
            strides.append(row)
            moves.append(int(column[list(self.scheme.scopes[t])] @ t_strides))
            offset += int(np.prod(t_shape))
        return Packed(
            lo,
            shape,
            np.array(const, dtype=np.int64),
            np.array(strides, dtype=np.int64).reshape(len(const), len(scope)),
            np.array(moves, dtype=np.int64),
            np.array(list(held.values()), dtype=np.int64).reshape(len(held), 3),
            np.array([scope.index(k) if k in scope else -1 for k in held], dtype=np.int64),
            int(np.prod(shape)),
        )

    def look_up(self, t: int, variable: int, z: IntArray) -> tuple[IntArray, IntArray]:
        """For a table whose registers are zero before `variable`: which z it knows, and their entries."""
        lo, shape, strides = self.layout[t]
        known = np.ones(len(z), dtype=bool)
        at = np.zeros(len(z), dtype=np.int64)
        for d, k in enumerate(self.scheme.scopes[t]):
            value = self.model.rows[k, variable] * z - lo[d]
            known &= (value >= 0) & (value < shape[d])
            at += value * strides[d]
        return np.flatnonzero(known), at[known]


@dataclass(eq=False)
class Pass:
    """One pass backward: the log bound and everything that it left behind."""

    log_bound: float
    tables: list[FloatArray]
    base: list[FloatArray]
    """For each step the weight of z without the tables that stay in play."""
    scale: list[float]
    """For each step the logarithm that was divided out of its new tables."""
    kept: dict[int, tuple[FloatArray, FloatArray, FloatArray]]
    """By new table, in logarithms: the weights of z, the powers of what was taken, the sums."""
    tops: dict[int, float]
    """By new table: the logarithm of the largest sum."""
    through: list[FloatArray]
    """For each step the mass that `slopes` sent through each z."""


def centred(choice: Weights) -> FloatArray:
    """The shifts with Σ λ ln c = 0."""
    limited = np.clip(choice.shifts, -_SHIFT_LIMIT, _SHIFT_LIMIT)
    found: FloatArray = limited - choice.weights @ limited
    return found


def chosen(choice: Choice, step: Step, length: int) -> Weights:
    """The weights and shifts at a step."""
    found = choice.get(step.variable)
    p = len(step.buckets)
    if found is None or p < 2:
        return Weights(np.full(p, 1.0 / max(p, 1)), np.zeros((p, length)))
    return found


def backward(space: Workspace, choice: Choice, keep: bool = False) -> Pass:
    """Eliminate all variables, last to first. A bound of zero proves that there is nothing to draw."""
    model, scheme = space.model, space.scheme
    count = len(scheme.steps)
    tables: list[FloatArray] = [end.table for end in model.ends]
    tables += [np.empty(0)] * (len(scheme.scopes) - len(tables))
    found = Pass(0.0, tables, [np.empty(0)] * count, [0.0] * count, {}, {}, [np.empty(0)] * count)
    for i in reversed(range(count)):
        step = scheme.steps[i]
        law = model.laws[step.variable]
        lo = int(model.lo[step.variable])
        base = law.copy()
        for t in step.free:
            known, at = space.look_up(t, step.variable, np.arange(lo, lo + len(law)))
            factor = np.zeros(len(law))
            factor[known] = tables[t][at]
            base *= factor
        found.base[i] = base
        if not step.buckets:
            total = float(base.sum())
            if not total > 0:
                raise infeasible()
            found.log_bound += float(np.log(total))
            continue
        here = chosen(choice, step, len(law))
        shifts = centred(here)
        for b, bucket in enumerate(step.buckets):
            scale = _leave(space, found, step, bucket, base, float(here.weights[b]), shifts[b], keep)
            found.scale[i] += scale
            found.log_bound += scale
    return found


def _leave(
    space: Workspace,
    found: Pass,
    step: Step,
    bucket: Bucket,
    base: FloatArray,
    weight: float,
    shift: FloatArray,
    keep: bool,
) -> float:
    """Make a bucket's new table; the logarithm of the largest entry, which was divided out."""
    seen = _logs(base) + shift
    logs, sums = _summed(space, found, step, bucket, base, seen, weight, keep)
    top = float(sums.max(initial=-np.inf))
    if not top > -np.inf:
        raise infeasible()
    raised = 1.0 if len(step.buckets) == 1 else RAISE
    found.tables[bucket.gives] = _floored((sums - top) * weight, _TABLE_FLOOR) * raised
    found.tops[bucket.gives] = top
    if keep:
        found.kept[bucket.gives] = (seen, logs, sums)
    return weight * top


def _summed(
    space: Workspace,
    found: Pass,
    step: Step,
    bucket: Bucket,
    base: FloatArray,
    seen: FloatArray,
    weight: float,
    keep: bool,
) -> tuple[FloatArray, FloatArray]:
    """ln of the powers of the tables taken, and ln Σ_z seen(z) · Π powers for every state."""
    packed = space.packed[bucket.gives]
    lo = int(space.model.lo[step.variable])
    exact = len(step.buckets) == 1
    tables = np.concatenate([found.tables[t] for t in bucket.takes])
    sums = np.empty(packed.size)
    logs = _logs(tables) / weight if keep or not exact else np.empty(0)
    if not exact and weight < _LINEAR:
        kernels.eliminate_logs(*packed.where, seen, lo, logs, sums)
        return logs, sums
    top = 0.0 if exact else float(seen.max())
    weights = base if exact else _floored(seen - top, _WEIGHT_FLOOR)
    pool = tables if exact else _floored(logs, _POWER_FLOOR / len(bucket.takes))
    kernels.eliminate(*packed.where, weights, lo, pool, sums)
    return logs, _logs(sums) + top


def parts(
    space: Workspace, choice: Choice, found: Pass, i: int, inside: NDArray[np.bool_]
) -> list[FloatArray]:
    """The new tables of step i had they been made of the z that are `inside` alone, scaled as those were.

    Hölder's inequality once more, for sums of two terms: what the tables made of the other z have for a
    product is at most the product of the tables less this one (with `RAISE` to spare).
    """
    step = space.scheme.steps[i]
    base = np.where(inside, found.base[i], 0.0)
    if not step.buckets:
        return [np.array([float(base.sum())])]
    here = chosen(choice, step, len(base))
    shifts = centred(here)
    tables = []
    for b, bucket in enumerate(step.buckets):
        weight = float(here.weights[b])
        if not inside.any():
            tables.append(np.zeros(space.packed[bucket.gives].size))
            continue
        _, sums = _summed(space, found, step, bucket, base, _logs(base) + shifts[b], weight, False)
        scaled = (sums - found.tops[bucket.gives]) * weight
        tables.append(_floored(scaled, _TABLE_FLOOR))
    return tables


def _logs(values: FloatArray) -> FloatArray:
    """Logarithms; minus infinity of zero."""
    return np.log(values, out=np.full_like(values, -np.inf), where=values > 0)


def _floored(logs: FloatArray, floor: float) -> FloatArray:
    """Exponentials, at least e^-floor where the logarithm is finite."""
    return np.where(logs > -np.inf, np.exp(np.maximum(logs, -floor)), 0.0)


def slopes(space: Workspace, choice: Choice, found: Pass) -> dict[int, tuple[FloatArray, FloatArray]]:
    """The derivative of the log bound by λ (each by itself) and by the uncentred shifts, by variable."""
    mass: list[FloatArray] = [np.zeros(len(t)) for t in found.tables]
    slope = {}
    for i, step in enumerate(space.scheme.steps):
        law = space.model.laws[step.variable]
        lo = int(space.model.lo[step.variable])
        here = chosen(choice, step, len(law))
        onto = np.zeros((len(step.buckets), len(law)))
        along = np.zeros(len(step.buckets))
        for b, bucket in enumerate(step.buckets):
            given = mass[bucket.gives]
            seen, logs, sums = found.kept[bucket.gives]
            into = np.zeros(len(logs))
            mean = kernels.flow(*space.packed[bucket.gives].where, seen, lo, logs, sums, given, into, onto[b])
            start = 0
            for t in bucket.takes:
                mass[t] += into[start : start + len(mass[t])]
                start += len(mass[t])
            flowing = given > 1e-12
            along[b] = float(given[flowing] @ sums[flowing]) - mean
        through = here.weights @ onto if len(step.buckets) else found.base[i] / found.base[i].sum()
        found.through[i] = through
        for t in step.free:
            known, at = space.look_up(t, step.variable, np.arange(lo, lo + len(law)))
            mass[t][at] += through[known]
        if len(step.buckets) > 1:
            limited = np.clip(here.shifts, -_SHIFT_LIMIT, _SHIFT_LIMIT)
            by_shift = here.weights[:, None] * (onto - through[None, :])
            slope[step.variable] = (along - limited @ through, by_shift)
    return slope


def improve(space: Workspace, choice: Choice, evaluations: int) -> tuple[float, Choice]:
    """Minimise the log bound over λ and shifts by L-BFGS; never worse than what came in.

    **Cost.** Two passes an evaluation. Deterministic.
    """
    steps = [step for step in space.scheme.steps if len(step.buckets) > 1]
    if not steps or evaluations < 1:
        return backward(space, choice).log_bound, choice
    best: tuple[float, Choice] = (np.inf, choice)

    def value(x: FloatArray) -> tuple[float, FloatArray]:
        nonlocal best
        trial = _unflat(space, x, steps)
        found = backward(space, trial, keep=True)
        if found.log_bound < best[0]:
            best = (found.log_bound, trial)
        slope = slopes(space, trial, found)
        parts = []
        for step in steps:
            by_weight, by_shift = slope[step.variable]
            weights = trial[step.variable].weights
            room = 1 - len(weights) * _LEAST_WEIGHT
            free = (weights - _LEAST_WEIGHT) / room
            parts += [free * (by_weight - free @ by_weight) * room, by_shift.ravel()]
        return found.log_bound, np.concatenate(parts)

    descended(value, _flat(space, choice, steps), evaluations)
    return best


def _flat(space: Workspace, choice: Choice, steps: list[Step]) -> FloatArray:
    parts = []
    for step in steps:
        here = chosen(choice, step, len(space.model.laws[step.variable]))
        p = len(here.weights)
        free = np.maximum(here.weights - _LEAST_WEIGHT, 1e-12) / (1 - p * _LEAST_WEIGHT)
        parts += [np.log(free), here.shifts.ravel()]
    return np.concatenate(parts) if parts else np.zeros(0)


def _unflat(space: Workspace, x: FloatArray, steps: list[Step]) -> Choice:
    found: Choice = {}
    at = 0
    for step in steps:
        p, n = len(step.buckets), len(space.model.laws[step.variable])
        logits = x[at : at + p]
        free = np.exp(logits - logits.max())
        free /= free.sum()
        weights = _LEAST_WEIGHT + (1 - p * _LEAST_WEIGHT) * free
        found[step.variable] = Weights(weights / weights.sum(), x[at + p : at + p + p * n].reshape(p, n))
        at += p + p * n
    return found
