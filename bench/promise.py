"""A promise over three levels of a real geography: what it leaves of the noise, and what proving it costs.

State totals are published; county, tract and block group are measured, with shares .2, .3 and .5 of a promise
of ε = 1. Beside it the rule by hand, which needs no theorem:

  every level gets its share of ε₀ = ε / (2 (1 + γ)): halved because with the total fixed a person who moves
  changes two counts of every level, and where bounds are kept halved once more for Gong & Meng's γ = 1, the
  worst there is (their ε₀ = ε/2).

Without bounds the rule by hand is right and the planner can do no better than agree with it. With them the
theorem of the price of bounds asks for less.

Also printed: the share of the time of `plan` that guarantee and audit take on the whole nation.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

import numpy as np
from price import block_groups, print_machine

import congenial as cg
from congenial.planning.audit import audit
from congenial.privacy.guarantee import stated
from congenial.privacy.promise import kept
from congenial.problems.compile import compile_structure
from congenial.randomness import SeededSource
from congenial.requests.model import Bound
from congenial.tables.table import Table

SHARES = {"county": 0.2, "tract": 0.3, "group": 0.5}
EPSILON = 1.0
DRAWS = 12


def main() -> None:
    print_machine()
    table, real = block_groups()
    print(f"{'2010 counts' if real else 'a synthetic nation'}, {table.domain.cells:,} block groups\n")
    promised(table)
    print()
    overhead(table)


def promised(table: Table) -> None:
    """Print the guarantee and the mean error of each level, promised and by hand."""
    print(f"a promise of ε = {EPSILON:g}, state totals published, shares {SHARES}")
    for name, bounds in (("no bounds", []), ("non-negative", [cg.nonnegative()])):
        halvings = 4 if bounds else 2
        plans = {
            "promised": cg.plan(table, request(bounds, promise=True)),
            "by hand": cg.plan(table, request(bounds, scale=EPSILON / halvings)),
        }
        errors = {how: mean_errors(made) for how, made in plans.items()}
        for how, made in plans.items():
            said = made.guarantee
            line = "  ".join(f"{level} {error:8.3f}" for level, error in errors[how].items())
            print(f"  {name:<14}{how:<10} ε {said.epsilon:.9f}  mean |error|: {line}")
            assert how == "by hand" or EPSILON - 1e-6 <= said.epsilon <= EPSILON
        ratios = (errors["by hand"][level] / errors["promised"][level] for level in SHARES)
        print(f"  {name:<14}by hand / promised:                ", *(f"{ratio:14.3f}" for ratio in ratios))


def request(bounds: list[Bound], *, scale: float = 1.0, promise: bool = False) -> cg.Request:
    """State totals published, three levels measured: with shares of a promise, or of a scale by hand."""
    laws = {
        level: cg.DiscreteLaplace(share=share) if promise else cg.DiscreteLaplace(epsilon=share * scale)
        for level, share in SHARES.items()
    }
    return cg.Request(
        measurements=[cg.measure({"place": level}, law) for level, law in laws.items()],
        invariants=[cg.margin(place="state")],
        bounds=bounds,
        promise=cg.Promise(epsilon=EPSILON) if promise else None,
    )


def mean_errors(made: cg.Plan) -> dict[str, float]:
    """The mean absolute error of each level's counts, over some draws."""
    noise = made.draws(DRAWS, SeededSource(1))
    forms = [measured.forms for measured in made.structure.measured]
    return {
        level: float(np.mean([np.abs(held.sums(row)).mean() for row in noise]))
        for level, held in zip(SHARES, forms, strict=True)
    }


def overhead(table: Table) -> None:
    """Print what guarantee and audit take beside a whole plan."""
    asked = request([cg.nonnegative()], promise=True)
    structure = compile_structure(table.domain, asked)

    def proven() -> None:
        scaled, found = kept(structure, asked.unit, asked.promise)
        stated(scaled, asked.unit, found)

    def audited() -> None:
        scaled, found = kept(structure, asked.unit, asked.promise)
        audit(scaled, asked.unit, table.counts_confidential, found).explain()

    whole, proof, both = (median(what) for what in (lambda: cg.plan(table, asked), proven, audited))
    print(f"the United States to block groups: plan {whole:.3g} s")
    print(f"  promise and guarantee {proof:.3g} s, {proof / whole:.1%} of it")
    print(f"  with the audit, intervals and all, {both:.3g} s, {both / whole:.1%} (asked: under 10 %)")


def median(what: Callable[[], object]) -> float:
    what()
    times = []
    for _ in range(5):
        start = time.perf_counter()
        what()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


if __name__ == "__main__":
    main()
