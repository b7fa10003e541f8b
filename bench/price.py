"""The price of invariants: an exact draw against independent noise on as many numbers, in one run.

For each case two figures, ratios first. *Next*: one draw with the plan at hand, median over many, words
from the system. *First*: problem, plan and one draw from counts in memory, kernels compiled (median of
five). Both divided by the time that OpenDP takes, in the same run, for independent discrete Laplace noise
of the same scale on as many numbers as the case measures. Memory is the growth of this process's
peak. Real tables are read where `../shared/data` has them; otherwise a synthetic nation of the same shape
stands in, and the output says so.
"""

from __future__ import annotations

import gzip
import importlib.metadata
import os
import platform
import statistics
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import congenial as cg
from congenial.planning import Plan
from congenial.randomness import SystemSource
from congenial.tables.domain import Axis, Domain
from congenial.tables.published import VOTING_AGES
from congenial.tables.published import sex_by_age as published_table
from congenial.tables.table import Table

DATA = Path(__file__).parents[2] / "shared" / "data"


@dataclass(frozen=True)
class Case:
    name: str
    table: Table
    request: cg.Request
    epsilon: float
    numbers: int
    batch: int
    aim: str


def main() -> None:
    print_machine()
    print(f"{'case':<46}{'next':>9}{'first':>9}   next, s     first, s    OpenDP, s   memory   asked (aim)")
    for case in cases():
        report(case)
    print()
    slope()


def print_machine() -> None:
    names = ("congenial", "numpy", "numba", "opendp")
    machine = platform.processor() or platform.machine()
    print(f"{machine}, {os.cpu_count()} cores, Python {platform.python_version()}")
    print(", ".join(f"{name} {importlib.metadata.version(name)}" for name in names), "\n")


def report(case: Case) -> None:
    """Measure one case, both sides in turn, and print its line."""
    before = peak()
    made, first = measured_first(case)
    following = measured_next(case, made)
    grown = peak() - before
    other = opendp_seconds(case.epsilon, case.numbers)
    ratios = f"{ratio(following / other):>9}{ratio(first / other):>9}"
    seconds = f"{following:<11.3g} {first:<11.3g} {other:<11.3g}"
    print(f"{case.name:<46}{ratios}   {seconds} {grown:5.0f} MB  {case.aim}", flush=True)


def ratio(value: float) -> str:
    return f"1/{1 / value:.0f}" if value < 0.5 else f"{value:.2g}"


def measured_first(case: Case) -> tuple[Plan, float]:
    """(a plan, median seconds from counts to the first draw)."""
    cg.plan(case.table, case.request).draws(1, SystemSource())  # compiles
    times = []
    for _ in range(5):
        source = SystemSource()
        start = time.perf_counter()
        made = cg.plan(case.table, case.request)
        made.draws(1, source)
        times.append(time.perf_counter() - start)
    return made, statistics.median(times)


def measured_next(case: Case, made: Plan) -> float:
    """Median seconds a draw, over batches."""
    source = SystemSource()
    made.draws(max(case.batch, 20), source)
    times = []
    for _ in range(31):
        start = time.perf_counter()
        made.draws(case.batch, source)
        times.append((time.perf_counter() - start) / case.batch)
    return statistics.median(times)


def opendp_seconds(epsilon: float, numbers: int) -> float:
    """Median seconds of OpenDP's discrete Laplace noise on `numbers` integers."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T="i64"), size=numbers), dp.l1_distance(T="i64")
    noise = dp.m.make_laplace(*space, scale=1 / epsilon)
    counts = [0] * numbers
    times = []
    for _ in range(5 if numbers > 50_000 else 31):
        start = time.perf_counter()
        noise(counts)
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def peak() -> float:
    """Peak memory of this process, MB."""
    if sys.platform == "win32":
        return 0.0
    import resource

    scale = 1e6 if sys.platform == "darwin" else 1e3
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / scale


def cases() -> Iterator[Case]:
    yield fixed_sum(102, 4000)
    yield fixed_sum(3143, 200)
    yield sex_by_age()
    for epsilon, aim in (
        (0.5, "next 1/25 (1/100), first 1/4 (1/10)"),
        (0.1, "next 1/6 (1/30), first 2 (1/2)"),
    ):
        yield nation(epsilon, aim)


def fixed_sum(cells: int, batch: int) -> Case:
    table = Table.from_counts(Domain((Axis.flat("county", numbered(cells)),)), 1000 + np.arange(cells))
    request = cg.Request(
        measurements=[cg.measure("cells", cg.DiscreteLaplace(epsilon=0.192))], invariants=[cg.total()]
    )
    aim = "next 1/200 (1/400), first 30 (3)" if cells < 1000 else "next 1/200 (1/400), first 1 (1/4)"
    return Case(f"one fixed sum, n = {cells:,}, ε = 0.192", table, request, 0.192, cells, batch, aim)


def numbered(many: int) -> list[str]:
    return [f"{i:06d}" for i in range(many)]


def sex_by_age() -> Case:
    request = cg.Request(
        measurements=[cg.measure("cells", cg.DiscreteLaplace(epsilon=0.5))],
        invariants=[cg.total(), cg.margin(sex={"women": ["female"]}), cg.margin(age={"voting": VOTING_AGES})],
        bounds=[cg.nonnegative()],
    )
    name = "2×23, three facts, non-negative, ε = 0.5"
    return Case(name, published_table(), request, 0.5, 46, 2000, "next 1/60 (1/200), first 20 (5)")


def nation(epsilon: float, aim: str) -> Case:
    table, real = block_groups()
    request = national(epsilon)
    measured = sum(len(table.domain.axes[0].levels[depth].labels) for depth in (1, 2, 3))
    source = "2010 counts" if real else "synthetic nation"
    return Case(
        f"{source}, {table.domain.cells:,} leaves, ε = {epsilon}", table, request, epsilon, measured, 1, aim
    )


def national(epsilon: float, levels: tuple[str, ...] = ("county", "tract", "group")) -> cg.Request:
    law = cg.DiscreteLaplace(epsilon=epsilon)
    return cg.Request(
        measurements=[cg.measure({"place": level}, law) for level in levels],
        invariants=[cg.margin(place="state")],
        bounds=[cg.nonnegative()],
    )


def block_groups() -> tuple[Table, bool]:
    """Real 2010 counts by block group, or a synthetic nation of the same shape."""
    path = DATA / "us_block_groups_2010.csv.gz"
    if path.exists():
        lines = gzip.decompress(path.read_bytes()).decode().split()[1:]
        codes, counts = zip(*(line.split(",") for line in lines), strict=True)
        return place_table(codes, np.array(counts, dtype=np.int64)), True
    random = np.random.default_rng(2010)
    codes = synthetic_codes(random)
    counts = np.maximum(0, random.gamma(3.2, 440, len(codes)) - 250 * (random.random(len(codes)) < 0.02))
    return place_table(codes, counts.astype(np.int64)), False


def synthetic_codes(random: np.random.Generator) -> tuple[str, ...]:
    """51 states, some 3,100 counties, 73,000 tracts, 218,000 block groups."""
    codes = []
    for state in range(51):
        for county in range(1 + random.poisson(60)):
            for tract in range(1 + int(random.exponential(23))):
                codes += [f"{state:02d}{county:03d}{tract:06d}{g}" for g in range(1 + random.poisson(2))]
    return tuple(codes)


def place_table(codes: tuple[str, ...], counts: np.ndarray, depth: int = 4) -> Table:
    """A table over a coded geography: state 2, county 5, tract 11, block group 12."""
    widths, names = (2, 5, 11, 12)[:depth], ("state", "county", "tract", "group")[:depth]
    kept = sorted({code[: widths[-1]] for code in codes}) if depth < 4 else list(codes)
    axis = Axis.nested("place", names, [tuple(code[:w] for w in widths) for code in kept])
    if depth < 4:
        where = {code: i for i, code in enumerate(kept)}
        sums = np.zeros(len(kept), dtype=np.int64)
        np.add.at(sums, [where[code[: widths[-1]]] for code in codes], counts)
        counts = sums
    return Table.from_counts(Domain((axis,)), counts)


def slope() -> None:
    """Time against leaves from counties to block groups, ε = 0.5 at each level below the states."""
    table, _ = block_groups()
    codes = tuple(path[-1] for path in table.domain.axes[0].paths())
    print("time against leaves, ε = 0.5 at each level below the states")
    rows = []
    for depth in (2, 3, 4):
        part = place_table(codes, table.counts_confidential, depth)
        levels = ("county", "tract", "group")[: depth - 1]
        case = Case("", part, national(0.5, levels), 0.5, 0, 1, "")
        made, first = measured_first(case)
        rows.append((part.domain.cells, measured_next(case, made), first))
        print(
            f"  {rows[-1][0]:>9,} leaves   next {rows[-1][1]:.3g} s   first {rows[-1][2]:.3g} s", flush=True
        )
    for name, at in (("next", 1), ("first", 2)):
        print(f"  slope of log time on log leaves, {name}: {fitted([(r[0], r[at]) for r in rows]):.2f}")


def fitted(points: list[tuple[int, float]]) -> float:
    x, y = np.log(np.array(points, dtype=float)).T
    return float(np.polyfit(x, y, 1)[0])


if __name__ == "__main__":
    main()
