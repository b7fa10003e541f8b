"""Random small forests, as the tree sampler takes them, and law (1) of them by itself."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

from congenial.laws import DiscreteGaussian, DiscreteLaplace
from congenial.problems.forest import FIXED, JOINED, OPEN, Forest
from congenial.problems.structure import FREE

EPSILONS = (0.02, 0.3, 1.0, 2.5, 9.0, 50.0)
SIGMAS = (0.3, 1.0, 4.0)


@st.composite
def forests(
    draw: Any,
    most: int = 9,
    epsilons: tuple[float, ...] = EPSILONS,
    sigmas: tuple[float, ...] = SIGMAS,
    *,
    joined: bool = True,
    unweighed: bool = False,
    far: bool = False,
) -> Forest:
    """Any shape, laws and limits anywhere, roots of every kind.

    `unweighed`: leaves may have no law, and are bounded then. `far`: limits may leave zero out.
    """
    laws = st.sampled_from(epsilons).map(DiscreteLaplace)
    laws = st.one_of(laws, st.sampled_from(sigmas).map(lambda sigma: DiscreteGaussian(sigma=sigma)))
    held = draw(st.lists(st.lists(laws, min_size=1, max_size=2).map(tuple), min_size=1, max_size=3))
    leaves = draw(st.integers(1, most))
    parent, tops = [OPEN] * leaves, list(range(leaves))
    law = [draw(st.integers(0 if unweighed else 1, len(held))) for _ in range(leaves)]
    while len(tops) > 1:
        many = draw(st.integers(2, min(5, len(tops))))
        chosen = draw(st.permutations(tops))[:many]
        for child in chosen:
            parent[child] = len(parent)
        tops = [top for top in tops if top not in chosen] + [len(parent)]
        parent.append(OPEN)
        law.append(draw(st.integers(0, len(held))))
        if draw(st.integers(0, 5)) == 0:
            break
    kinds = [FIXED, FIXED, OPEN, JOINED] if joined else [FIXED, FIXED, OPEN]
    for top in tops:
        kind = draw(st.sampled_from(kinds))
        parent[top] = OPEN if kind == FIXED and top < leaves else kind
    slack = st.one_of(st.just(int(FREE)), st.integers(0, 30), st.sampled_from([0, 200]))
    lower, upper = [-draw(slack) for _ in parent], [draw(slack) for _ in parent]
    for v in range(leaves):
        if law[v] == 0:
            lower[v], upper[v] = (
                max(lower[v], -draw(st.integers(0, 6))),
                min(upper[v], draw(st.integers(0, 6))),
            )
    if far and draw(st.booleans()):
        v = draw(st.integers(0, len(parent) - 1))
        if parent[v] != FIXED:
            low = draw(st.integers(-12, 8))
            lower[v], upper[v] = low, low + draw(st.integers(0, 9))
    arrays = [np.array(values, dtype=np.int64) for values in (parent, law, lower, upper)]
    return Forest(np.arange(leaves), *arrays, ((), *held))


def node_values(forest: Forest, points: np.ndarray) -> np.ndarray:
    """The value of every node at given noise of the leaves."""
    value = np.zeros((len(points), len(forest.parent)), dtype=np.int64)
    value[:, : points.shape[1]] = points
    for v, up in enumerate(forest.parent.tolist()):
        if up >= 0:
            value[:, up] += value[:, v]
    return value


def keeps_limits(forest: Forest, points: np.ndarray) -> np.ndarray:
    """Which points keep all limits, and have fixed roots at zero."""
    value = node_values(forest, points)
    fixed = forest.parent == FIXED
    inside = (value >= forest.lower) & (value <= forest.upper)
    return np.where(fixed, value == 0, inside).all(axis=1)


def log_weights(forest: Forest, points: np.ndarray) -> np.ndarray:
    """ln of the product of all laws at the nodes' values; a fixed node weighs nothing."""
    value = np.abs(node_values(forest, points)).astype(np.longdouble)
    found = np.zeros(len(points), dtype=np.longdouble)
    for v in np.flatnonzero((forest.law > 0) & (forest.parent != FIXED)).tolist():
        for law in forest.laws[forest.law[v]]:
            rate = np.longdouble(law.exact_rate.numerator) / np.longdouble(law.exact_rate.denominator)
            found -= rate * value[:, v] ** law.power
    return found
