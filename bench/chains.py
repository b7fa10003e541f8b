"""Exact samplers against the published chains, both compiled, in one run.

*Dharangutte et al.* Margins of an r×c table, discrete Laplace at ε = .25. Their chain (Algorithm 1) in its
friendliest form: analytic basis, best jump over a grid, sweeps that cost nothing where nothing moves. It
runs for as many steps as its own coupling (Algorithms 2 and 3) asks for at a total variation of .01; what
the coupling costs is not counted. Against it one exact draw by twisted columns (total variation 2^-80).

*Gong & Meng.* Their 2×23 table with three facts, non-negative, ε = .5. Their chain (Algorithm 1, index set as
printed) by the time of an effective draw: steps over effective sample size. It differs by cell; the
middle and the slowest cell are shown. A proposal is given up at the first cell below zero, which halves
the printed algorithm's time; the last lines do without. Against it one exact draw from the planner.

Ratios first; medians over batches of chain and exact sampler in turn, so that both share what else the
machine does. A lower bound has a `>`: no pair of chains met within the steps allowed.
"""

from __future__ import annotations

import importlib.metadata
import os
import platform
import statistics
import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

import congenial as cg
from congenial.randomness import SeededSource, SystemSource
from congenial.samplers.crossing.tables import unary_from_law
from congenial.samplers.crossing.twisted import TwistedColumns, window_log2_mass
from congenial.samplers.published import (
    ChainTime,
    Limits,
    StudyIndependence,
    chain_time_to,
    effective_sample_size,
    margins_chain,
)
from congenial.samplers.running import draw_rows
from congenial.tables.published import VOTING_AGES, sex_by_age

ALLOWANCE = -80.0
GRID = ((0.5, False), (0.55, False), (0.6, False), (0.65, False), (0.6, True))
"""ε̃, and whether proposals are drawn to the end as printed, or given up at the first cell below zero."""
STEPS, EVERY = 3_000_000, 30


class Times(NamedTuple):
    """Seconds of a step of the chain, and of an exact draw."""

    step: float
    exact: float


def main() -> None:
    print_machine()
    print("Dharangutte et al., Algorithm 1, at total variation .01; ε = .25, all margins")
    four_by_four()
    ten_by_ten()
    print("\nGong & Meng, Algorithm 1, an effective draw; 2×23, three facts, non-negative, ε = .5")
    two_by_twenty_three()


def print_machine() -> None:
    names = ("congenial", "numpy", "numba")
    machine = platform.processor() or platform.machine()
    print(f"{machine}, {os.cpu_count()} cores, Python {platform.python_version()}")
    print(", ".join(f"{name} {importlib.metadata.version(name)}" for name in names), "\n")


def four_by_four() -> None:
    margins("4×4", 4, chain_time_to(0.01, 4, 4, 0.25, pairs=1000), 4000, "500")


def ten_by_ten() -> None:
    chain = chain_time_to(0.01, 10, 10, 0.25, scales=(2.0, 3.0, 4.0), pilot=2, most=2_000_000)
    margins("10×10", 10, chain, 400, "5,000")


def margins(case: str, size: int, chain: ChainTime, batch: int, asked: str) -> None:
    """Time the steps that the coupling asks for against exact draws."""
    cell = unary_from_law(cg.DiscreteLaplace(epsilon=0.25), None, None, window_log2_mass(ALLOWANCE, size**2))
    prepared = TwistedColumns().prepare([[cell] * size] * size, ALLOWANCE)
    walker, source, system = margins_chain(size, size, 0.25, chain.scale), SeededSource(1), SystemSource()
    times = in_turn(
        (lambda: walker.walk(source, walker.init(), 20_000), 20_000),
        (lambda: draw_rows(prepared, system, batch), batch),
    )
    sign = "> " if chain.is_lower_bound else ""
    detail = f"{sign}{chain.steps:,} steps of {times.step * 1e9:.0f} ns"
    if chain.is_lower_bound:
        detail += f" (with every jump {chain.unmet} of {chain.pairs} pairs had not met)"
    else:
        detail += f", a = e^-{chain.scale}"
    show(case, chain.steps * times.step, times.exact, detail, asked, sign)


def two_by_twenty_three() -> None:
    request = cg.Request(
        measurements=[cg.measure("cells", cg.DiscreteLaplace(epsilon=0.5))],
        invariants=[cg.total(), cg.margin(sex={"women": ["female"]}), cg.margin(age={"voting": VOTING_AGES})],
        bounds=[cg.nonnegative()],
    )
    plan, system = cg.plan(sex_by_age(), request), SystemSource()
    for scale, is_as_printed in GRID:
        chain, source = gong_and_meng(scale, is_as_printed), SeededSource(1)
        state, trace = chain.walk(source, chain.init(), STEPS, every=EVERY)
        times = in_turn(
            (lambda: chain.walk(source, state, 5_000), 5_000),  # noqa: B023 - called at once
            (lambda: plan.draws(1000, system), 1000),
        )
        size = np.asarray(effective_sample_size(trace.noise[None]))
        detail = f"ε̃ = {scale}, {trace.acceptance:.2%} accepted, {times.step * 1e9:.0f} ns a step"
        detail += ", as printed" if is_as_printed else ""
        for cell, effective in (("middle cell", np.median(size)), ("slowest cell", size.min())):
            show(cell, times.step * STEPS / float(effective), times.exact, detail, "100")


def gong_and_meng(scale: float, is_as_printed: bool) -> StudyIndependence:
    """Their chain on their table, with proposals of ε̃ = `scale`; limits on forms are looked at last."""
    facts = np.zeros((3, 46), dtype=np.int64)
    facts[0], facts[1, :23], facts[2] = 1, 1, np.tile(np.arange(23) >= 4, 2)
    laws = cg.DiscreteLaplace(epsilon=0.5), cg.DiscreteLaplace(epsilon=scale)
    counts = sex_by_age().counts_confidential
    limits = Limits.nonnegative(counts)
    if is_as_printed:
        limits = Limits.of(46, forms=np.eye(46, dtype=np.int64), least=-counts)
    return StudyIndependence.of(facts, *laws, limits, [*range(1, 22), *range(23, 45)])


def show(case: str, chain: float, exact: float, detail: str, asked: str, sign: str = "") -> None:
    """One line: ratio, both times, what they are made of."""
    ratio = f"{sign}{chain / exact:,.0f}×"
    print(
        f"  {case:<13}{ratio:>11}   chain {sign}{microseconds(chain):>9}   exact {microseconds(exact):>8}"
        f"   {detail} (asked: {asked})",
        flush=True,
    )


def microseconds(seconds: float) -> str:
    return f"{seconds * 1e6:,.3g} µs" if seconds < 1e-3 else f"{seconds * 1e3:,.3g} ms"


def in_turn(chain: tuple[Callable[[], object], int], exact: tuple[Callable[[], object], int]) -> Times:
    """Median seconds of one of the many that each run makes, batch after batch of both in turn."""
    times: tuple[list[float], list[float]] = ([], [])
    for round_ in range(32):
        for (run, many), kept in zip((chain, exact), times, strict=True):
            begin = time.perf_counter()
            run()
            if round_:  # the first compiles
                kept.append((time.perf_counter() - begin) / many)
    return Times(statistics.median(times[0]), statistics.median(times[1]))


if __name__ == "__main__":
    main()
