"""Random requests as files, over sources whose counts stand in no message by chance.

Nothing that is written has a digit but the counts, the numbers of the request, and the row that a message
may name; every count is zero or has nine digits.
"""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from congenial.problems.compile import compile_structure
from congenial.requests.reading import read_request
from congenial.tables.sources import declared_domain

STATES = {"North": ["Alder", "Birch", "Cedar"], "South": ["Dogwood", "Elm"], "West": ["Fir"]}
FLAT = {"sex": ["female", "male"], "age": ["young", "middle", "old"], "job": ["none", "some", "own", "other"]}
GROUPS = {
    "sex": {"women": ["female"]},
    "age": {"voting": ["middle", "old"]},
    "job": {"works": ["some", "own"]},
}

FAULTS = ("text", "label", "repeated", "bound", "budget", "share", "negative", "missing")
"""What may be wrong with a request or its source; `wrong` plants it."""


@dataclass(frozen=True)
class Written:
    """A request on disk, and the counts of its source in the order of the domain."""

    path: Path
    counts: np.ndarray

    @property
    def source(self) -> Path:
        return self.path.parent / "counts.csv"


def written(folder: Path, seed: int, fault: str | None = None, most_axes: int = 2) -> Written:
    """A random request, its domain and its source in a folder; the same for the same seed."""
    random = np.random.default_rng(seed)
    axes = _axes(random, most_axes)
    said = _request(random, axes)
    _domain(folder)
    counts = rewritten(folder, random, axes)
    if fault is not None:
        wrong(folder, said, counts, fault)
    path = folder / "request.yaml"
    path.write_text(yaml.safe_dump(said, sort_keys=False), encoding="utf-8")
    return Written(path, counts)


def another_source(made: Written, seed: int, *, same_total: bool) -> None:
    """Put other counts in place of a source's: with its facts (where that is its total), or without."""
    random = np.random.default_rng(seed)
    axes = list(yaml.safe_load(made.path.read_text(encoding="utf-8"))["table"]["axes"])
    if same_total:
        _write_counts(made.path.parent, axes, random.permutation(made.counts))
    else:
        rewritten(made.path.parent, random, axes)


def rewritten(folder: Path, random: np.random.Generator, axes: list[str]) -> np.ndarray:
    """Write a source with random counts."""
    cells = int(np.prod([len(_leaves(axis)) for axis in axes]))
    counts = random.integers(10**8, 10**9, cells) * (random.random(cells) > 0.3)
    counts[-1] = random.integers(10**8, 10**9)
    _write_counts(folder, axes, counts)
    return counts


def _write_counts(folder: Path, axes: list[str], counts: np.ndarray) -> None:
    columns = list(itertools.chain(*(["state", "county"] if axis == "place" else [axis] for axis in axes)))
    rows = itertools.product(*(_leaves(axis) for axis in axes))
    lines = [",".join([*itertools.chain(*row), str(n)]) for row, n in zip(rows, counts, strict=True)]
    (folder / "counts.csv").write_text("\n".join([",".join([*columns, "n"]), *lines]) + "\n")


def _domain(folder: Path) -> None:
    rows = [f"{state},{county}" for state, counties in STATES.items() for county in counties]
    (folder / "places.csv").write_text("state,county\n" + "\n".join(rows) + "\n")


def _leaves(axis: str) -> list[tuple[str, ...]]:
    if axis == "place":
        return [(state, county) for state, counties in STATES.items() for county in counties]
    return [(label,) for label in FLAT[axis]]


def _axes(random: np.random.Generator, most: int) -> list[str]:
    many = int(random.integers(1, most + 1))
    return [str(axis) for axis in random.choice(["place", *FLAT], many, replace=False)]


def _request(random: np.random.Generator, axes: list[str]) -> dict[str, Any]:
    promised, gaussian = random.random() < 0.4, random.random() < 0.2
    queries: list[Any] = ["cells"] + [query for query in _queries(axes) if random.random() < 0.3]
    shares = np.full(len(queries), 1 / len(queries))
    said: dict[str, Any] = {
        "congenial": 1,
        "about": {"title": "random"},
        "table": {"source": "counts.csv", "counts": "n", "axes": {axis: _spec(axis) for axis in axes}},
        "unit": {"name": "person", "max_rows": int(random.integers(1, 3))},
        "measurements": [
            {"query": query, **_law(random, float(share), promised=promised, gaussian=gaussian)}
            for query, share in zip(queries, shares, strict=True)
        ],
        "invariants": [fact for fact in _facts(axes) if random.random() < 0.35],
        "bounds": [bound for bound in _bounds(axes) if random.random() < 0.5],
        "unproven": "allow" if random.random() < 0.8 else "refuse",
    }
    if promised:
        said["promise"] = {"rho" if gaussian else "epsilon": float(random.choice([0.5, 1.0, 2.0]))}
    elif random.random() < 0.3:
        said["budget"] = {"ledger": "spent.db", "dataset": "census", "rho" if gaussian else "epsilon": 40.0}
    if random.random() < 0.05:
        said["method"] = "suppress"
    return {key: value for key, value in said.items() if value != []}


def _spec(axis: str) -> dict[str, Any]:
    if axis == "place":
        return {"levels": ["state", "county"], "domain": "places.csv"}
    return {"categories": FLAT[axis]}


def _law(random: np.random.Generator, share: float, *, promised: bool, gaussian: bool) -> dict[str, Any]:
    law = "discrete-gaussian" if gaussian else "discrete-laplace"
    scale = (
        {"share": share} if promised else {"rho" if gaussian else "epsilon": float(random.choice([0.2, 1.0]))}
    )
    return {"law": law, **scale}


def _queries(axes: list[str]) -> list[Any]:
    return ["total", *({"place": "state"} if axis == "place" else axis for axis in axes)]


def _facts(axes: list[str]) -> list[Any]:
    groups = [{axis: GROUPS[axis]} for axis in axes if axis in GROUPS]
    bands = [{"query": axes[0], "band": 1000}] if len(axes) == 1 else []  # wide ones that cross are slow
    margins = [query for query in _queries(axes) if query not in axes or len(axes) > 1]  # or nothing is left
    return [*margins, *groups, *bands]


def _bounds(axes: list[str]) -> list[Any]:
    return ["nonnegative", {"query": "cells", "at_most": 10**9}, {"query": axes[0], "at_least": -7}]


def wrong(folder: Path, said: dict[str, Any], counts: np.ndarray, fault: str) -> None:
    """Plant a fault in a request or its source."""
    source = folder / "counts.csv"
    lines = source.read_text().splitlines()
    last = max(i for i in range(1, len(lines)) if not lines[i].endswith(",0"))
    if fault == "text":
        lines[last] += "x"
    elif fault == "label":
        labels, _, count = lines[last].rpartition(",")
        lines[last] = f"{labels}?,{count}"
    elif fault == "repeated":
        lines.append(lines[last])
    elif fault == "negative":
        labels, _, count = lines[last].rpartition(",")
        lines[last] = f"{labels},-{count}"
    elif fault == "bound":
        said["bounds"] = [{"query": "cells", "at_most": 7}]
    elif fault == "budget":
        said["budget"] = {"ledger": "spent.db", "dataset": "census", "epsilon": 0.001}
    elif fault == "share":
        said["measurements"][0]["share"] = 0.123
    elif fault == "missing":
        source.unlink()
        return
    source.write_text("\n".join(lines) + "\n")


def secrets(made: Written) -> set[int]:
    """Numbers that nobody may be told: counts, sums over any axes, how far each is from its limits.

    Not the values of facts, nor what stands in the request.
    """
    said = made.path.read_text(encoding="utf-8")
    axes = list(yaml.safe_load(said)["table"]["axes"])
    public = {int(number) for number in re.findall(r"\d+", said)}
    found = set(_sums(made.counts, axes).tolist())
    try:
        request = read_request(made.path)
        structure = compile_structure(declared_domain(request.table), request)
    except Exception:  # a request that cannot be read states no fact
        return {value for value in found if value > 10**7} - public
    for fact in structure.facts:
        if fact.band is None:
            public |= set(fact.forms.sums(made.counts).tolist())
    for limit in structure.limits:
        values = limit.forms.sums(made.counts)
        found |= set((values - limit.lower).tolist()) | set((limit.upper - values).tolist())
    return {value for value in found if 10**7 < value < 10**12} - public


def _sums(counts: np.ndarray, axes: list[str]) -> np.ndarray:
    """The counts, and their sums over any of the axes and by states."""
    table = counts.reshape([len(_leaves(axis)) for axis in axes])
    if "place" in axes:
        at = axes.index("place")
        ends = np.cumsum([0, *map(len, STATES.values())])[:-1]
        table = np.concatenate([table, np.add.reduceat(table, ends, axis=at)], axis=at)
    some = [
        table.sum(axis=which).ravel()
        for many in range(len(axes) + 1)
        for which in itertools.combinations(range(len(axes)), many)
    ]
    for axis in range(len(axes)):
        for many in (2, 3):
            for chosen in itertools.combinations(range(table.shape[axis]), many):
                some.append(table.take(chosen, axis=axis).sum(axis=axis).ravel())
    return np.concatenate(some)


def told(text: str, hidden: set[int]) -> set[int]:
    """The hidden numbers that a text tells, with or without separators between thousands."""
    plain = re.sub(r"(?<=\d)[,_ \u202f](?=\d{3})", "", text)
    return {value for value in hidden if str(value) in plain or str(value) in text}
