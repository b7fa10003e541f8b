"""The price of facts that cross: exact draws for margins and intersecting groups, against independent noise.

*Next* is one draw with the plan at hand, over many draws with words from the system, divided by the time of
OpenDP's independent discrete Laplace noise on as many numbers in the same run. Beside it the
acceptance that the plan's pilot measured, the time to plan, and the memory of the tables.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from price import opendp_seconds, print_machine, ratio

import congenial as cg
from congenial.errors import CongenialError

SECONDS = 2.0


@dataclass(frozen=True)
class Case:
    name: str
    facts: np.ndarray
    epsilon: float
    asked: str
    lower: np.ndarray | None = None


def main() -> None:
    print_machine()
    head = f"{'case':<44}{'next':>8}  {'accepted':>8}"
    print(f"{head}  next, s    plan, s   memory    sampler               asked")
    cg.plan_noise(margins(3, 3), cg.DiscreteLaplace(1.0)).draws(10)  # compiles
    cg.plan_noise(no_three_way(2, 2, 2), cg.DiscreteLaplace(1.0)).draws(10)
    for case in cases():
        report(case)


def report(case: Case) -> None:
    law = cg.DiscreteLaplace(epsilon=case.epsilon)
    start = time.perf_counter()
    try:
        plan = cg.plan_noise(case.facts, law, bounds=None if case.lower is None else (case.lower, None))
    except CongenialError as error:
        print(f"{case.name:<44} {type(error).__name__}: {str(error).splitlines()[0]}")
        return
    planned = time.perf_counter() - start
    if plan.drawing.refused:
        print(f"{case.name:<44} no sampler after {planned:.1f} s; asked {case.asked}")
        return
    following = measured_next(plan)
    other = opendp_seconds(case.epsilon, case.facts.shape[1])
    ratios = f"{case.name:<44}{ratio(following / other):>8}  {accepted(plan):>8}"
    sizes = f"{following:<9.3g}  {planned:<8.2g}  {memory(plan):>8}"
    print(f"{ratios}  {sizes}  {plan.blocks[0].sampler:<20}  {case.asked}", flush=True)


def measured_next(plan: cg.NoisePlan) -> float:
    """Median seconds a draw, over batches that take a while."""
    batch, spent = 1, 0.0
    while spent < SECONDS / 20:
        start = time.perf_counter()
        plan.draws(batch)
        spent = time.perf_counter() - start
        batch *= 2
    batch = max(1, batch // 2)
    times = []
    begun = time.perf_counter()
    while time.perf_counter() - begun < SECONDS or len(times) < 3:
        start = time.perf_counter()
        plan.draws(batch)
        times.append((time.perf_counter() - start) / batch)
    return statistics.median(times)


def prepared(plan: cg.NoisePlan) -> object:
    made = plan.drawing.choices[0].prepared if plan.drawing.choices else None
    return getattr(made, "whole", made)


def accepted(plan: cg.NoisePlan) -> str:
    value = getattr(prepared(plan), "acceptance", None)
    return "-" if value is None else f"{value:.3g}"


def memory(plan: cg.NoisePlan) -> str:
    value = getattr(prepared(plan), "memory", None)
    return "-" if value is None else f"{value / 1e6:.1f} MB"


def cases() -> Iterator[Case]:
    random = np.random.default_rng(7)
    yield Case("4×4 margins, ε = 0.25", margins(4, 4), 0.25, ".978, 1/20 (1/60)")
    yield Case("20×20 margins, ε = 0.25", margins(20, 20), 0.25, ".847, 1/8 (1/20)")
    yield Case("50×60 margins, ε = 0.25", margins(50, 60), 0.25, ".786, 1/4 (1/10)")
    few = random.poisson(random.gamma(2, 1, 400))
    yield Case("20×20, mean 2, non-negative, ε = 1", margins(20, 20), 1.0, ".61, 2 (1/2)", -few)
    many = random.poisson(random.gamma(2, 15, 3000))
    yield Case("50×60, mean 30, non-negative, ε = 1", margins(50, 60), 1.0, ".69, 3 (1)", -many)
    yield Case("3×14, intersecting facts, ε = 0.25", intersecting(), 0.25, ".77, 1/4 (1/20)")
    yield Case("3×3×3, no three-way interaction, ε = 1", no_three_way(3, 3, 3), 1.0, ".55, 1/4 (1/10)")
    yield Case("4×4×4, no three-way interaction, ε = 1", no_three_way(4, 4, 4), 1.0, ".011, 10 (1)")
    yield Case("5×5×5, no three-way interaction, ε = 1", no_three_way(5, 5, 5), 1.0, "say where it stands")


def margins(rows: int, columns: int) -> np.ndarray:
    """Row and column sums of an array, row-major."""
    return np.vstack(
        [np.kron(np.eye(rows), np.ones(columns)), np.kron(np.ones(rows), np.eye(columns))]
    ).astype(int)


def intersecting() -> np.ndarray:
    """Three facts that intersect in every way, two cells in each of the seven regions."""
    regions = [(1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 1, 0), (1, 0, 1), (0, 1, 1), (1, 1, 1)]
    return np.repeat(np.array(regions), 2, axis=0).T


def no_three_way(a: int, b: int, c: int) -> np.ndarray:
    """All two-way margins of a three-way table."""
    cells = np.arange(a * b * c).reshape(a, b, c)
    rows = []
    for axis in range(3):
        lines = np.moveaxis(cells, axis, -1).reshape(-1, cells.shape[axis])
        for line in lines:
            row = np.zeros(cells.size, dtype=int)
            row[line] = 1
            rows.append(row)
    return np.array(rows)


if __name__ == "__main__":
    main()
