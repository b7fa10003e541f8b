r"""The normaliser of law (1) around a table, and what a given pair of tables loses.

    C(x) = Σ_z Π_j f_j(w_j·z)/f_j(0) · 1[A z = 0] · 1[B(x+z) ≥ b]

falls out of a tree's upward pass: the messages are normalised as they are made, and the logs of what they
were divided by add up. With all laws discrete Laplace, the loss between `x` and `x'` is the largest of
ln P(y|x) - ln P(y|x') over the releases y, and attained at y = x, where every distance from x is zero:

    κ + ln C(x') - ln C(x),      κ = Σ_j ε_j |w_j·(x - x')|.

Both numbers depend on the counts and are as confidential as they are.
"""

from __future__ import annotations

import numpy as np

from congenial.errors import ArgumentError
from congenial.laws import DiscreteLaplace
from congenial.problems.decompose import decompose
from congenial.problems.forest import JOINED, Forest
from congenial.problems.problem import make_problem
from congenial.problems.structure import Structure
from congenial.samplers.base import IntArray
from congenial.samplers.tree.growing import RefusedError, grow_forest

_MISSING = -60.0
"""log2 of the share of a normaliser that windows may leave out."""

_MEMORY = 1e9

ROUNDING = 1e-9
"""More than the logs of two normalisers are off by where tables are as small as those searched."""


def log_normaliser(structure: Structure, counts: IntArray) -> float:
    """ln C(x) where everything nests; an `ArgumentError` where forms cross, or tables would be too large.

    **Exactness.** Within 2^-60 and rounding: sums and products of positive numbers, a relative 2^-53 a term.
    **Cost.** That of a plan's tables, with every limit in its place.
    """
    forest = decompose(make_problem(structure, counts)).forest
    if crosses(forest):
        raise ArgumentError("forms cross, and the sum over them is no tree's: no normaliser falls out.")
    try:
        grown = grow_forest(forest, _MISSING, _MEMORY, whole=True)
    except RefusedError as refused:
        raise ArgumentError(f"the tables of the tree were refused: {refused}") from None
    classes, repeats = np.unique(grown.label[: len(forest.cells)], return_counts=True)
    at_zero = grown.pool[grown.start[classes] - grown.low[classes]]  # a law's weight at zero was one
    leaves = float(-(repeats * np.log(at_zero)).sum())
    return leaves + float(grown.log_mass[grown.message[grown.label[grown.roots]]].sum())


def crosses(forest: Forest) -> bool:
    """Whether some values of a forest are drawn together, because other forms cross them."""
    return bool((forest.parent[forest.roots] == JOINED).any())


def kappa(structure: Structure, change: IntArray) -> float:
    """Σ ε_j |w_j·δ|: what a change loses where the normaliser stays as it is."""
    return float(sum(m.law.rate * np.abs(m.forms.sums(change)).sum() for m in structure.measured))


def pair_loss(structure: Structure, counts: IntArray, other: IntArray) -> float:
    """The loss between two tables that agree on the facts and lie inside the bounds."""
    if not all(isinstance(measured.law, DiscreteLaplace) for measured in structure.measured):
        raise ArgumentError("the loss of a pair is that of discrete Laplace; another law is measured.")
    if not is_inside(structure, counts, other):
        raise ArgumentError("the two tables differ in a fact, or one is outside the bounds.")
    ratio = log_normaliser(structure, other) - log_normaliser(structure, counts)
    return kappa(structure, counts - other) + ratio


def is_inside(structure: Structure, counts: IntArray, other: IntArray) -> bool:
    """Whether two tables agree on the facts (and their bands) and both keep the bounds."""
    for fact in structure.facts:
        one, two = fact.forms.sums(counts), fact.forms.sums(other)
        if fact.band is not None:
            one, two = (one - 1) // fact.band, (two - 1) // fact.band
        if not np.array_equal(one, two):
            return False
    return keeps_bounds(structure, counts) and keeps_bounds(structure, other)


def keeps_bounds(structure: Structure, counts: IntArray) -> bool:
    """Whether a table keeps every limit and every structural zero."""
    for limit in structure.limits:
        values = limit.forms.sums(counts)
        if (values < limit.lower).any() or (values > limit.upper).any():
            return False
    return not counts[structure.zeros].any()
