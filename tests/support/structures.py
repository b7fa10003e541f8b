"""Small structures, written in one breath: axes, and a request's measurements, facts and bounds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from congenial.problems.compile import compile_structure
from congenial.problems.structure import Structure
from congenial.requests.model import Bound, Invariant, Measurement, Request, Unit
from congenial.tables.domain import Axis, Domain

Axes = Mapping[str, int | Sequence[str] | Sequence[Sequence[int]]]


def axis(name: str, made: Any) -> Axis:
    """`3` is a flat axis of three categories; nested lists of leaf counts are a hierarchy.

    `[[2, 1], [3]]` has two nodes on level `{name}0`, three below them, and six leaves.
    """
    if isinstance(made, int):
        return Axis.flat(name, [f"{name}{i}" for i in range(made)])
    if all(isinstance(label, str) for label in made):
        return Axis.flat(name, list(made))
    paths: list[tuple[str, ...]] = []

    def grow(node: Any, path: tuple[str, ...]) -> None:
        if isinstance(node, int):
            paths.extend((*path, f"leaf{i}") for i in range(node))
        else:
            for i, child in enumerate(node):
                grow(child, (*path, f"node{i}"))

    grow(made, ())
    depth = len(paths[0])
    return Axis.nested(name, [f"{name}{level}" for level in range(depth)], paths)


def domain(axes: Axes) -> Domain:
    """The domain of some axes."""
    return Domain(tuple(axis(name, made) for name, made in axes.items()))


def structure(
    axes: Axes,
    measured: Sequence[Measurement],
    facts: Sequence[Invariant] = (),
    bounds: Sequence[Bound] = (),
) -> Structure:
    """The structure of a request on the domain of some axes."""
    return compile_structure(domain(axes), Request(list(measured), list(facts), list(bounds)))


def unit(max_rows: int = 1, change: Any = "any") -> Unit:
    """A person with some rows."""
    return Unit("person", max_rows=max_rows, change=change)
