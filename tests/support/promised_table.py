"""The table of docs/explanation/what-is-promised.md: what is claimed, and the worst that enumeration finds.

    python tests/support/promised_table.py        writes it into the page

Pure losses are without the 2η that every statement adds; a ρ is compared with the largest D_α/α at
α = 1.5, 2 and 8. `worst` knows small tables alone, so that a claim above it may still be attained by larger
ones; a claim below it would be false.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from congenial.laws import DiscreteGaussian, DiscreteLaplace
from congenial.privacy.guarantee import find, guarantee
from congenial.requests.builders import at_most, band, forms, margin, measure, nonnegative, total, zeros
from support.privacy_enumeration import worst
from support.structures import Axes, structure, unit

PAGE = Path(__file__).parents[2] / "docs" / "explanation" / "what-is-promised.md"
BEGIN, END = (
    "<!-- the table begins: make it with tests/support/promised_table.py -->",
    "<!-- the table ends -->",
)
ORDERS = (1.5, 2.0, 8.0)


@dataclass(frozen=True)
class Row:
    """A request in words and as code, and how far the enumeration goes."""

    law: str
    facts: str
    bounds: str
    axes: Axes
    measured: Sequence[Any]
    given: Sequence[Any] = ()
    limits: Sequence[Any] = ()
    rows: int = 1
    change: Any = "any"
    top: int = 3
    wide: int = 0


@dataclass(frozen=True)
class Line:
    """What is claimed for a row, and what was found."""

    row: Row
    units: int
    change: str
    claimed: float
    found: float
    kind: str
    pairs: int


def laplace(query: Any = "cells", epsilon: float = 0.5) -> Any:
    return measure(query, DiscreteLaplace(epsilon))


def gauss(query: Any = "cells", sigma: float = 1.0) -> Any:
    return measure(query, DiscreteGaussian(sigma=sigma))


C3, TABLE, HALF = {"c": 3}, {"r": 2, "c": 2}, {"c": {"half": ["c0", "c1"]}}
TREE: Axes = {"p": [2, 2]}
LEVELS = [laplace(), laplace({"p": "p0"}, 0.25)]
CUBE = {"a": 2, "b": 2, "c": 2}
TWO = [margin("r"), margin("c")]
THREE = [margin("a", "b"), margin("b", "c"), margin("a", "c")]
WEIGHTS = forms([{"c": "c0", "weight": 1}, {"c": "c1", "weight": -2}], name="beds")
DIAGONAL = zeros([{"r": f"r{i}", "c": f"c{i}"} for i in range(3)])
ROWS = (
    Row("Laplace .5", "none", "none", {"c": 2}, [laplace()], top=3, wide=3),
    Row("Laplace .5", "none", "none", {"c": 2}, [laplace()], change="add-or-remove", top=3, wide=3),
    Row(
        "Laplace .1, total 1", "none", "none", {"c": 2}, [laplace(epsilon=0.1), laplace("total", 1.0)], wide=3
    ),
    Row(
        "Laplace .1, total 1",
        "none",
        "none",
        {"c": 2},
        [laplace(epsilon=0.1), laplace("total", 1.0)],
        change="replace",
        wide=3,
    ),
    Row("Laplace .5", "total", "none", C3, [laplace()], [total()], wide=3),
    Row("Laplace .5", "total", "none", C3, [laplace()], [total()], rows=2, wide=3),
    Row("Laplace .5, group .25", "total", "none", TREE, LEVELS, [total()], top=2, wide=2),
    Row("Laplace .5, group .25", "group", "none", TREE, LEVELS, [margin(p="p0")], top=2, wide=2),
    Row("Laplace .5", "two margins", "none", TABLE, [laplace()], TWO, top=2, wide=2),
    Row("Laplace .5", "two margins", "none", TABLE, [laplace()], TWO, rows=2, top=2, wide=2),
    Row(
        "Laplace .5",
        "two margins",
        "diagonal zero",
        {"r": 3, "c": 3},
        [laplace()],
        TWO,
        [DIAGONAL],
        top=1,
        wide=1,
    ),
    Row("Laplace .5", "three two-way margins", "none", CUBE, [laplace()], THREE, top=1, wide=1),
    Row("Laplace .5", "c0 - 2·c1", "none", {"c": 2}, [laplace()], [WEIGHTS], top=4, wide=3),
    Row("Laplace .5", "none", "non-negative", {"c": 1}, [laplace()], [], [nonnegative()], wide=80),
    Row("Laplace .5", "none", "non-negative", {"c": 2}, [laplace()], [], [nonnegative()], top=5, wide=60),
    Row("Laplace .5", "total", "non-negative", {"c": 4}, [laplace()], [total()], [nonnegative()], top=4),
    Row(
        "Laplace 1",
        "total",
        "non-negative",
        {"c": 4},
        [laplace(epsilon=1.0)],
        [total()],
        [nonnegative()],
        top=4,
    ),
    Row(
        "Laplace .5",
        "total",
        "non-negative",
        {"c": 4},
        [laplace()],
        [total()],
        [nonnegative()],
        rows=2,
        top=4,
    ),
    Row("Laplace .5, group .25", "total", "non-negative", TREE, LEVELS, [total()], [nonnegative()], top=4),
    Row(
        "Laplace .5",
        "two margins",
        "non-negative",
        {"r": 2, "c": 3},
        [laplace()],
        TWO,
        [nonnegative()],
        top=2,
    ),
    Row(
        "Laplace .5",
        "total",
        "non-negative; half at most 3 (not measured)",
        {"c": 4},
        [laplace()],
        [total()],
        [nonnegative(), at_most(HALF, 3)],
        top=4,
    ),
    Row(
        "Laplace .5",
        "band of 4 on the total",
        "non-negative",
        {"c": 2},
        [laplace()],
        [band("total", 4)],
        [nonnegative()],
        top=5,
    ),
    Row(
        "Laplace .5",
        "c0 - 2·c1",
        "non-negative",
        {"c": 2},
        [laplace()],
        [WEIGHTS],
        [nonnegative()],
        top=6,
        wide=40,
    ),
    Row("Gaussian σ = 1", "none", "none", {"c": 2}, [gauss()], wide=12),
    Row("Gaussian σ = 1", "total", "none", C3, [gauss()], [total()], wide=10),
    Row("Gaussian σ = 2", "total", "none", C3, [gauss(sigma=2.0)], [total()], rows=2, wide=24),
    Row(
        "Gaussian σ = 1, group σ = 2",
        "total",
        "none",
        {"p": [2, 1]},
        [gauss(), gauss({"p": "p0"}, 2.0)],
        [total()],
        wide=10,
    ),
    Row("Gaussian σ = 1", "two margins", "none", TABLE, [gauss()], TWO, top=2, wide=12),
    Row("Gaussian σ = 1", "three two-way margins", "none", CUBE, [gauss()], THREE, top=1, wide=8),
)


def lines() -> Iterator[Line]:
    """Every row with its claim and its worst pair."""
    for row in ROWS:
        made = structure(row.axes, row.measured, row.given, row.limits)
        who = unit(row.rows, row.change)
        stated, found = guarantee(made, who), find(made, who)
        assert stated.proven, row
        orders = ORDERS if stated.rho is not None else ()
        seen = worst(made, who, found.changes.rows, top=row.top, wide=row.wide, orders=orders)
        value = max(seen.renyi.values()) if orders else seen.pure
        claimed = stated.rho if stated.rho is not None else stated.loss
        assert claimed is not None
        kind = "exact" if stated.is_exact else "upper bound"
        yield Line(row, stated.units, stated.change, claimed, value, kind, seen.pairs)


def table() -> str:
    """The table as the page has it."""
    head = [
        "law",
        "facts",
        "bounds",
        "rows a unit",
        "change",
        "k",
        "claimed",
        "worst found",
        "pairs",
        "claim is",
    ]
    text = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for line in lines():
        row = line.row
        currency = "ρ" if line.row.law.startswith("Gauss") else "ε"
        cells = [
            row.law,
            row.facts,
            row.bounds,
            str(row.rows),
            line.change,
            str(line.units),
            f"{currency} {math.ceil(line.claimed * 1e4 - 1e-6) / 1e4:.4f}",
            f"{math.floor(line.found * 1e4 + 1e-6) / 1e4:.4f}",
            f"{line.pairs}",
            line.kind,
        ]
        text.append("| " + " | ".join(cells) + " |")
    return "\n".join(text)


def page(text: str, made: str) -> str:
    """The page with a new table."""
    before, rest = text.split(BEGIN)
    after = rest.split(END)[1]
    return f"{before}{BEGIN}\n\n{made}\n\n{END}{after}"


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8"), table()), encoding="utf-8")
