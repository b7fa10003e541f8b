"""Small requests of every kind that a plan must serve, for tests that go over all of them."""

from __future__ import annotations

from congenial.laws import DiscreteGaussian, DiscreteLaplace
from congenial.requests.builders import at_least, at_most, band, margin, measure, nonnegative, total, zeros
from support.plans import Case

L, G = DiscreteLaplace, DiscreteGaussian
TREE = {"p": [[2, 1], [1, 1]]}
SQUARE = {"a": 2, "b": 2}


def _levels(*laws):
    return [measure(query, law) for query, law in zip(("cells", {"p": "p1"}, {"p": "p0"}), laws, strict=True)]


CASES = {
    "a fixed sum": Case({"a": 3}, [4, 4, 4], [measure("cells", L(2.0))], [total()], window=20),
    "a fixed sum, gaussian": Case(
        {"a": 4}, [4, 4, 4, 1], [measure("cells", G(sigma=0.8))], [total()], window=9
    ),
    "no negative cell": Case(
        {"a": 4}, [3, 0, 1, 0], [measure("cells", L(2.0))], [total()], [nonnegative()], window=12
    ),
    "every level": Case(
        TREE, [2, 0, 1, 3, 0], _levels(L(2.5), L(2.0), L(1.5)), [total()], [nonnegative()], 9
    ),
    "every level, gaussian": Case(
        TREE, [2, 0, 1, 3, 0], _levels(G(sigma=0.5), G(sigma=0.7), G(sigma=1)), [total()], [nonnegative()], 6
    ),
    "upper bounds": Case(
        TREE,
        [2, 0, 1, 3, 0],
        _levels(L(2.5), L(1.0), L(0.5)),
        [total()],
        [nonnegative(), at_most("cells", 4), at_most({"p": "p0"}, 5)],
        window=6,
    ),
    "cells bounded on both sides": Case(
        {"a": 4},
        [4] * 4,
        [measure("cells", L(1.0))],
        [total()],
        [nonnegative(), at_most("cells", 8)],
        window=4,
    ),
    "open roots": Case(
        {"p": [2, 2]}, [2, 0, 1, 3], [measure("cells", L(4.0)), measure({"p": "p0"}, L(2.0))], [], window=8
    ),
    "no law on cells": Case(
        {"p": [2, 2]},
        [1, 0, 1, 2],
        [measure({"p": "p0"}, L(2.5))],
        [],
        [nonnegative(), at_most("cells", 5)],
        6,
    ),
    "held by a sum": Case({"a": 2}, [1, 2], [measure("total", L(2.5))], [], [nonnegative()], window=24),
    "two laws": Case(
        {"a": 3}, [4, 0, 2], [measure("cells", L(1.5)), measure("cells", G(sigma=1))], [total()], window=12
    ),
    "a band": Case({"a": 3}, [1, 0, 1], [measure("cells", L(2.5))], [band("total", 3)], [nonnegative()], 14),
    "crossing margins": Case(
        SQUARE, [2, 0, 1, 3], [measure("cells", L(1.0))], [margin("a"), margin("b")], [nonnegative()], 40
    ),
    "crossing groups": Case(
        {"a": 2, "c": 4},
        [2, 0, 1, 3, 0, 1, 4, 2],
        [measure("cells", L(4.0))],
        [total(), margin("a"), margin(c={"v": ["c2", "c3"]})],
        [nonnegative()],
        window=3,
    ),
    "a crossing measurement": Case(
        SQUARE,
        [2, 0, 1, 3],
        [measure("cells", L(2.0)), measure("a", L(0.7))],
        [margin("b")],
        [at_most("a", 5)],
        20,
    ),
    "zeros": Case(
        TREE,
        [2, 0, 1, 3, 0],
        _levels(L(2.0), L(1.0), L(1.0)),
        [total()],
        [zeros([{"p": ["node0", "node0", "leaf1"]}]), at_least("cells", 0)],
        window=12,
    ),
}
