r"""Draw integers from any laws given any integer facts, measured forms and limits: weighted elimination.

    P(z) ∝ Π_e φ_e(z_e) · Π_k g_k(Σ_e a_ke z_e)

g_k is an indicator of zero (a fact), the law of a measured form, or that of an interval (a limit).
Variables are drawn one after another. What the later ones will make of the forms' partial sums is
foreseen by tables over few forms each; Hölder's inequality makes their product an upper bound, so that
the draw can begin again with exactly the chance that makes its law right. Where all open forms fit into
one table, this is exact elimination and nothing is ever rejected. The theorem and its proof, the choice
of weights and the certificate: docs/explanation/weighted-elimination.md.

`draw` is the plain twin, `fill` the kernel; both read the arrays of one program.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from congenial.randomness import SeededSource
from congenial.samplers.base import Certificate, Filled, IntArray, Source, Words
from congenial.samplers.crossing.elimination_layers_plan import by_layers, table_of
from congenial.samplers.crossing.elimination_model import Model, reduce
from congenial.samplers.crossing.elimination_plan import Limits, Planned, by_tables, refused
from congenial.samplers.crossing.elimination_point import likely_point
from congenial.samplers.crossing.elimination_program import Program, attempt
from congenial.samplers.crossing.elimination_rows import free_shares
from congenial.samplers.crossing.elimination_windows import SETS, left_out_log, shared, trimmed
from congenial.samplers.crossing.tables import Terminal, Unary

NAME = "weighted elimination"
_LN2 = math.log(2)
_PILOT_DRAWS, _PILOT_ATTEMPTS = 400, 1 << 17


@dataclass(frozen=True, eq=False, repr=False)
class PreparedElimination:
    """A program and what is known of it; see the module for the law."""

    program: Program
    width: int
    certificate: Certificate
    acceptance: float
    """Measured in a pilot: the part of attempts that end in a draw."""
    log_bound: float
    """ln of the proven bound that the acceptance is measured against."""
    tests: int
    """Steps that can reject; none means that nothing is ever rejected."""
    kind: str
    """`tables`: one variable after another; `layers`: columns of a three-way table at once."""
    seconds: float
    """Of one draw in the pilot."""
    words_hint: int

    @property
    def memory(self) -> float:
        """Bytes of all tables."""
        return self.program.memory

    @property
    def how(self) -> str:
        """One line for a plan."""
        if not self.tests:
            return f"exact elimination, nothing is rejected; tables of {self.memory / 1e6:.1f} MB"
        rejects = f"{self.tests} of {len(self.program.moves)} steps can reject"
        tables = f"tables of {self.memory / 1e6:.1f} MB"
        return f"{self.acceptance:.2g} of attempts accepted in a pilot, {rejects}; {tables}"

    def draw(self, source: Source) -> IntArray:
        """One draw by the plain twin.

        **Law.** Proportional to the product of all laws on integers that keep all facts and limits.
        **Exactness.** Sums and products of positive numbers, forks of two weights; see `certificate`.
        **Cost.** A window a variable and attempt: for reading and for proofs.
        """
        while True:
            found = attempt(self.program, source)
            if found is not None:
                return found

    def fill(self, words: Words, out: IntArray) -> Filled:
        """Rows of `out` by the kernel: the twin's draws on the same words."""
        draws, used, _, _ = self.program.fill(words, out)
        return Filled(draws, used)

    def __repr__(self) -> str:
        return f"PreparedElimination({self.width} variables)"


@dataclass(frozen=True)
class WeightedElimination:
    """The sampler: variables with `Unary` laws and `Terminal` forms in, integers out."""

    def prepare(
        self,
        unaries: Sequence[Unary],
        terminals: Sequence[Terminal],
        allowance_log2: float = -80.0,
        seconds: float = 2.0,
        memory_limit: float = 1e9,
    ) -> PreparedElimination:
        """Choose order, buckets and weights, build the tables, measure the acceptance, certify.

        `allowance_log2` is the total variation allowed, as log2. `seconds` is spent on the search (roughly:
        it is counted in multiplications, so that the same input gives the same plan); reductions, tails
        and tables come on top. Raises `ConflictError` where nothing satisfies the facts and limits, and
        `NoSamplerError` where the allowance, the memory or the acceptance is out of reach.
        """
        model = reduce(unaries, terminals)
        point = likely_point(model, max(5.0, seconds))
        if point is None:
            raise refused("no point that keeps all facts and limits was found in time")
        z = model.base + _times(model, point)
        left_out = _left_out(unaries, terminals, z)
        if left_out > (allowance_log2 - 1) * _LN2:
            less = (allowance_log2 * _LN2 - left_out) / _LN2
            raise refused(
                "the windows of the laws leave out more than the plan allows; "
                f"they should leave out 2^{less:.0f} of what they do"
            )
        polish = 12 if model.variables <= 200 else 0
        limits = Limits(allowance_log2, seconds, memory_limit, polish, max(30.0, 5 * seconds))
        plain = table_of(unaries, terminals)
        if plain is not None:
            model, point = plain, z
        wide = model
        model, moved = _trimmed(model, point, limits)
        model, differ = shared(model, wide)
        planned = by_layers(model, point, limits) if plain is not None else None
        if planned is None:
            planned = by_tables(model, point, limits)
        tail = np.logaddexp(np.logaddexp(left_out, moved), planned.log_left_out)
        error = planned.relative_error + differ * model.variables
        return _piloted(planned, error, float(tail) / _LN2, len(unaries))


def _trimmed(model: Model, point: IntArray, limits: Limits) -> tuple[Model, float]:
    """The model on windows with proven tails; ln of what they leave out."""
    chance = (limits.allowance_log2 - 2) * _LN2 - math.log(4 * model.variables + 1)
    model, moved = trimmed(model, point, chance, 0)
    if limits.polish:
        model, again = trimmed(model, point, chance, limits.polish)
        moved += again
    return model, chance + math.log(moved) if moved else -math.inf


def _times(model: Model, point: IntArray) -> IntArray:
    known = model.parent >= 0
    found = np.zeros(len(model.parent), dtype=np.int64)
    found[known] = model.slope[known] * point[model.parent[known]]
    return found


def _left_out(unaries: Sequence[Unary], terminals: Sequence[Terminal], z: IntArray) -> float:
    """ln of the mass that the windows of the laws leave out, over the weight of the point z."""
    laws = [u.weights / u.weights.sum() for u in unaries]
    missing = [u.trimmed for u in unaries]
    least = sum(math.log(float(law[int(v) - u.lo])) for law, u, v in zip(laws, unaries, z, strict=True))
    facts = [t.coefficients for t in terminals if t.kind == "fact"]
    rows = np.array(facts, dtype=np.int64).reshape(len(facts), len(unaries))
    costs = np.array([-math.log(float(law.max())) for law in laws])
    shares = free_shares(rows, costs, SETS)
    for t in terminals:
        if t.table is not None:
            # a factor that is at most one, and that its window leaves out in part
            table = t.table.weights / t.table.weights.max()
            least += math.log(float(table[int(t.coefficients @ z) - t.table.lo]))
            laws.append(np.ones(1))
            missing.append(t.table.trimmed * float(table.sum()))
            shares = np.append(shares, 0.0)
    return left_out_log(laws, missing, shares, least)


def _piloted(planned: Planned, error: float, tail_log2: float, width: int) -> PreparedElimination:
    """Measure acceptance and time on simulated words."""
    program = planned.program
    out = np.empty((_PILOT_DRAWS, len(program.parent)), dtype=np.int64)
    source = SeededSource(0)
    program.fill(source.take(1), out[:0], 0)  # compiled before the clock starts
    draws = attempts = used = 0
    worst = 0.0
    least = 1 << 14
    begun = time.perf_counter()
    while draws < _PILOT_DRAWS and attempts < _PILOT_ATTEMPTS:
        words = source.take(least)
        done, taken, tried, ratio = program.fill(words, out[draws:], _PILOT_ATTEMPTS)
        source.give_back(len(words) - taken)
        draws, used, attempts, worst = draws + done, used + taken, attempts + tried, max(worst, ratio)
        if not done:
            least *= 2
            if least > 1 << 24:
                break
    elapsed = time.perf_counter() - begun
    if worst > 1 + 1e-9:
        raise AssertionError("a bound of weighted elimination does not hold: this is a fault of the package")
    if not draws:
        raise refused(f"none of {attempts} attempts of a pilot was accepted")
    acceptance = draws / attempts
    how = f"{NAME}: rejection with a proven bound, {acceptance:.2g} of attempts accepted in a pilot"
    certificate = Certificate("exact", error, tail_log2, how)
    hint = max(64, 4 * used // draws)
    return PreparedElimination(
        program,
        width,
        certificate,
        acceptance,
        planned.log_bound,
        planned.tests,
        planned.kind,
        elapsed / draws,
        hint,
    )
