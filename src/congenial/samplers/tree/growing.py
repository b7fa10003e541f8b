"""From a forest to tables: what is alike is found, windows are chosen, convolutions made once.

The certificate is worked out from what was made. If Q is the law of a node's value without what
stands above it, trimming a share τ of Q anywhere below costs at most τ / (probability, under Q, of what
the node's own law, limits or fact demand); this is carried up to the root.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from congenial.problems.forest import FIXED, JOINED, Forest, Laws
from congenial.problems.structure import FREE
from congenial.samplers.base import FloatArray, IntArray
from congenial.samplers.tree import _class_kernels as classes
from congenial.samplers.tree import _grow_kernels as kernels
from congenial.samplers.tree.tables import TooWideError, Window, window
from congenial.samplers.tree.tilts import tilts

_GUARD = 16
"""Bits by which windows are wider than an even share of the allowance, for what conditioning multiplies."""

_ASIDE = -20
"""log2 of the chance, each leaf by itself, that limits which were set aside are broken in a draw."""

_MOST_BROKEN = 0.25
"""A proven bound that the chance of meeting a limit set aside must keep, or none is set aside."""

_DEEPEST = -900.0
"""log2 of the least share that windows may leave out: what is left are still floats."""

_FAR_REACH = 4096
"""Values that a law reaches from where on the limits of leaves are worked out from those of others."""

_MOST_WORK = 4e12
"""Multiplications that the tables of one plan may take: some minutes."""

_WHILE = 1e9
"""Multiplications that take long enough for a person to change their mind."""

_ROUND = 2.0**-53


class RefusedError(Exception):
    """The tables would be too large, or their certificate too weak; the message says which."""


class _TooShortError(Exception):
    """The windows are so short that nothing is left of the law."""


@dataclass(frozen=True, eq=False, repr=False)
class Grown:
    """A forest with its tables.

    Table t holds `size[t]` weights in `pool` from `start[t]` on, for the values from `low[t]`; it is the
    convolution of the tables `left[t]` and `right[t]`, or a leaf's law (-1). `label` is the class of each
    node and `message` the table of each class. `missing` bounds the total variation of everything that
    hangs under fixed and open roots. `watched` are leaves whose limits were set aside: a draw that breaks
    one begins again, with chance at most `broken`.
    """

    forest: Forest
    starts: IntArray
    children: IntArray
    label: IntArray
    pool: FloatArray
    start: IntArray
    low: IntArray
    size: IntArray
    error: FloatArray
    log_mass: FloatArray
    left: IntArray
    right: IntArray
    members: IntArray
    message: IntArray
    missing: float
    broken: float
    leaf_rounding: float
    watched: IntArray
    watched_low: IntArray
    watched_high: IntArray

    def table(self, t: int) -> FloatArray:
        return self.pool[self.start[t] : self.start[t] + self.size[t]]

    @property
    def roots(self) -> IntArray:
        return self.forest.roots


def grow_forest(forest: Forest, log2_allowance: float, memory: float, *, whole: bool = False) -> Grown:
    """Make the tables of a forest so that what they leave out is within the allowance, or refuse.

    `log2_allowance` bounds the total variation of all fixed and open roots together; values of joined
    roots are trimmed as finely, and say what they miss. `whole`: no limit is set aside, and no
    tilt makes a node's factor other than one at zero, so that `log_mass` is that of whole sums.
    """
    forest = _tightened(forest, log2_allowance)
    theta, total = tilts(forest)
    if whole and any(law.power == 2 for v in np.flatnonzero(theta) for law in forest.laws[forest.law[v]]):
        theta, total = np.zeros_like(theta), np.zeros_like(total)
    cut = log2_allowance - np.log2(4 * max(1, len(forest.parent))) - _GUARD
    aside = -np.inf if whole else float(_ASIDE)
    for _ in range(12):
        try:
            grown = _grow(forest, theta, total, cut, aside, memory)
        except TooWideError:
            raise RefusedError("the window of one value would be too long for a table") from None
        except _TooShortError:
            if cut == _DEEPEST:
                break
            cut = max(1.5 * cut, _DEEPEST)
            continue
        if grown.missing <= 2.0**log2_allowance:
            return grown
        if grown.broken > _MOST_BROKEN:
            aside = -np.inf  # conditioning makes it likely that a limit set aside is met
            continue
        cut += log2_allowance - np.log2(grown.missing) - 2
        if cut < _DEEPEST:
            break
    raise RefusedError("the facts lie too far out in the tails of the measurements' law for tables")


def _grow(
    forest: Forest, theta: FloatArray, total: FloatArray, cut: float, aside: float, memory: float
) -> Grown:
    starts, children = classes.children_of(forest.parent)
    leaves = len(forest.cells)
    leaf_class, leaf_first, leaf_tables, watched = _leaves(forest, total, cut, aside)
    trait, factor_of, factors, node_limits = _traits(forest, theta, cut, leaf_tables, leaf_class)
    label, first = classes.classify(starts, children, leaf_class, len(leaf_first), trait)
    bag_start, bag_class, bag_count = classes.bags(starts, children, label, first)
    kind = trait[first]
    made = _interruptible(
        (len(bag_class) + 1) * float(max(len(w.weights) for w in leaf_tables)) ** 2,
        kernels.grow,
        bag_start,
        bag_class,
        bag_count,
        np.ascontiguousarray(node_limits[kind, 0]),
        np.ascontiguousarray(node_limits[kind, 1]),
        factor_of[kind],
        forest.parent[first] == FIXED,
        *_packed([w.low for w in leaf_tables], [w.weights for w in leaf_tables]),
        np.array([w.tail for w in leaf_tables]),
        _chances(watched, leaf_class, len(leaf_first), 2.0**aside / max(1, leaves)),
        *_packed([w.low for w in factors], [w.weights for w in factors]),
        np.array([w.tail for w in factors]),
        2.0**cut,
        int(memory / 8),
        _MOST_WORK,
    )
    status, pool, start, low, size, error, broken, logs, left, right, members, message, _ = made
    if status == 1:
        raise RefusedError("its tables would need more memory than allowed")
    if status == 3:
        raise RefusedError("its tables would take longer than any plan should")
    if status == 2:
        raise _TooShortError
    roots = forest.roots
    counted = roots[forest.parent[roots] != JOINED]
    met = float(broken[message[label[counted]]].sum())
    missing = float(error[message[label[counted]]].sum()) / (1 - met) if met <= _MOST_BROKEN else 1.0
    rounding = _rounding(forest, theta, total, leaf_tables, leaf_class, trait, factor_of, factors)
    return Grown(
        forest,
        starts,
        children,
        label,
        pool,
        start,
        low,
        size,
        error,
        logs,
        left,
        right,
        members,
        message,
        missing,
        met,
        rounding,
        watched,
        forest.lower[watched],
        forest.upper[watched],
    )


def _interruptible(work: float, kernel: Callable[..., Any], *args: Any) -> Any:
    """Call a kernel that lets go of the interpreter, so that Ctrl-C gets through where it takes a while."""
    if work < _WHILE:
        return kernel(*args)
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.append(kernel(*args)), daemon=True)
    thread.start()
    while thread.is_alive():
        thread.join(0.1)
    if not found:
        raise MemoryError
    return found[0]


def _chances(watched: IntArray, leaf_class: IntArray, many: int, chance: float) -> FloatArray:
    """For each leaf class, how likely at most a leaf of it breaks its limits, both sides together."""
    found = np.zeros(many)
    found[leaf_class[watched]] = 2 * chance
    return found


def _rounding(
    forest: Forest,
    theta: FloatArray,
    total: FloatArray,
    leaf_tables: list[Window],
    leaf_class: IntArray,
    trait: IntArray,
    factor_of: IntArray,
    factors: list[Window],
) -> float:
    """Relative rounding of all weights of leaves and nodes in a joint probability.

    A weight is right to two units in the last place, and the exponent of a tilted one to three of its
    own: up to (rate + |θ|) times the reach of the window, or its square.
    """
    leaves = len(forest.cells)
    spread = np.array([max(-w.low, w.low + len(w.weights) - 1) for w in leaf_tables], dtype=np.float64)
    added = 6.0 * len(forest.parent)
    tilted = np.flatnonzero(total)
    for leaf in tilted.tolist():
        added += 4.0 * _exponent(forest.laws[forest.law[leaf]], abs(total[leaf]), spread[leaf_class[leaf]])
    for v in (leaves + np.flatnonzero(theta[leaves:])).tolist():
        f = factor_of[trait[v]]
        if f >= 0:
            reach = max(-factors[f].low, factors[f].low + len(factors[f].weights) - 1)
            added += 4.0 * _exponent(forest.laws[forest.law[v]], abs(theta[v]), float(reach))
    return _ROUND * added


def _exponent(laws: Laws, tilt: float, reach: float) -> float:
    """The largest exponent of a tilted weight in a window."""
    return float(tilt * reach + sum(law.rate * reach**law.power for law in laws))


def _packed(lows: list[int], weights: list[FloatArray]) -> tuple[IntArray, IntArray, FloatArray]:
    """Tables one behind the other: (start of each and the end, lowest values, all weights)."""
    starts = np.zeros(len(weights) + 1, dtype=np.int64)
    np.cumsum([len(w) for w in weights], out=starts[1:])
    together = np.concatenate(weights) if weights else np.empty(0)
    return starts, np.array(lows, dtype=np.int64), together


def _leaves(
    forest: Forest, total: FloatArray, cut: float, aside: float
) -> tuple[IntArray, IntArray, list[Window], IntArray]:
    """(class of each leaf, first leaf of each class, normalised law of each class, leaves to watch).

    Limits so far out that a draw hardly ever meets one are set aside, so that more leaves are alike.
    Not under joined roots, whose values would have to be drawn again too.
    """
    leaves = len(forest.cells)
    law = forest.law[:leaves]
    lower, upper = forest.lower[:leaves], forest.upper[:leaves]
    if (law == 0).any():
        soft_low, soft_high = _soft(forest, cut)
        lower = np.where(law == 0, soft_low, lower)
        upper = np.where(law == 0, soft_high, upper)
    if (lower > upper).any():
        raise RefusedError("no values keep all its limits")
    tilt_class, _ = classes.distinct(total.view(np.int64).reshape(-1, 1))
    pair_class, pair_first = classes.distinct(np.stack([law, tilt_class], axis=1))
    wide: list[Window | None] = []
    ends = np.empty((len(pair_first), 2), dtype=np.int64)
    seldom = np.empty((len(pair_first), 2), dtype=np.int64)
    for at, leaf in enumerate(pair_first.tolist()):
        laws, tilt = forest.laws[law[leaf]], float(total[leaf])
        base = _unlimited(laws, tilt, cut)
        wide.append(base)
        ends[at] = (-FREE, FREE) if base is None else (base.low, base.low + len(base.weights) - 1)
        seldom[at] = ends[at] if base is None else _seldom(base, aside - np.log2(leaves))
    # limits that leave zero out, or all that a tilted law is near, have windows of their own
    outside = (lower > 0) | (upper < 0) | (lower > ends[pair_class, 1]) | (upper < ends[pair_class, 0])
    aside_low = (lower > ends[pair_class, 0]) & (lower <= seldom[pair_class, 0])
    aside_high = (upper < ends[pair_class, 1]) & (upper >= seldom[pair_class, 1])
    if (forest.parent[forest.roots] == JOINED).any():
        alone = forest.parent[forest.root_of()[:leaves]] != JOINED
        aside_low &= alone
        aside_high &= alone
    aside_low &= ~outside
    aside_high &= ~outside
    clipped_low = np.where(aside_low, ends[pair_class, 0], np.maximum(lower, ends[pair_class, 0]))
    clipped_high = np.where(aside_high, ends[pair_class, 1], np.minimum(upper, ends[pair_class, 1]))
    lower, upper = np.where(outside, lower, clipped_low), np.where(outside, upper, clipped_high)
    label, first = classes.distinct(np.stack([pair_class, lower, upper], axis=1))
    found = []
    for leaf in first.tolist():
        base = wide[pair_class[leaf]]
        lo, hi = int(lower[leaf]), int(upper[leaf])
        if base is None or outside[leaf]:
            held = window(forest.laws[law[leaf]], lo, hi, float(total[leaf]), cut)
            low, weights, tail = held.low, held.weights, held.tail
        else:
            low, tail = lo, base.tail
            weights = base.weights[lo - base.low : hi - base.low + 1]
        mass = float(weights.sum())
        found.append(Window(low, weights / mass, tail / mass))
    return label, first, found, np.flatnonzero(aside_low | aside_high)


def _seldom(base: Window, log2_mass: float) -> tuple[int, int]:
    """The values beyond which a law has at most 2^log2_mass of its mass, on either side."""
    sums = np.cumsum(base.weights)
    mass = 2.0**log2_mass * sums[-1]
    low = base.low + int(np.searchsorted(sums, mass))
    back = np.cumsum(base.weights[::-1])
    return low, base.low + len(base.weights) - 1 - int(np.searchsorted(back, mass))


def _unlimited(laws: tuple[object, ...], tilt: float, cut: float) -> Window | None:
    """The window of a law without limits, or None where only limits would make it finite."""
    rate = sum(law.rate for law in laws if law.power == 1)  # type: ignore[attr-defined]
    smooth = any(law.power == 2 for law in laws)  # type: ignore[attr-defined]
    if not laws or (not smooth and abs(tilt) >= 0.99 * rate):
        return None
    return window(laws, -int(FREE), int(FREE), tilt, cut)  # type: ignore[arg-type]


def _tightened(forest: Forest, log2_allowance: float) -> Forest:
    """Where laws reach very far, the limits of leaves that follow from those of all others.

    They take nothing away that the others leave; elsewhere they would only make like leaves unlike.
    """
    rates = [laws for laws in forest.laws if laws]
    if max((min(law.reach(log2_allowance) for law in laws) for laws in rates), default=0) < _FAR_REACH:
        return forest
    fixed = forest.parent == FIXED
    lower, upper = np.where(fixed, 0, forest.lower), np.where(fixed, 0, forest.upper)
    lower, upper = classes.ranges(forest.parent, lower, upper, int(FREE))
    leaves = np.arange(len(forest.parent)) < len(forest.cells)
    return replace(
        forest,
        lower=np.where(leaves, lower, forest.lower),
        upper=np.where(leaves, upper, forest.upper),
    )


def _soft(forest: Forest, cut: float) -> tuple[IntArray, IntArray]:
    """How far leaves without a law go: as far as limits, facts and the laws' windows of others let them."""
    lower, upper = forest.lower.copy(), forest.upper.copy()
    for at, laws in enumerate(forest.laws):
        if laws:
            held = window(laws, -int(FREE), int(FREE), 0.0, cut)
            mine = forest.law == at
            lower[mine] = np.maximum(lower[mine], held.low)
            upper[mine] = np.minimum(upper[mine], -held.low)
    fixed = forest.parent == FIXED
    lower[fixed], upper[fixed] = 0, 0
    low, high = classes.ranges(forest.parent, lower, upper, int(FREE))
    leaves = len(forest.cells)
    return low[:leaves], high[:leaves]


def _traits(
    forest: Forest, theta: FloatArray, cut: float, leaf_tables: list[Window], leaf_class: IntArray
) -> tuple[IntArray, IntArray, list[Window], IntArray]:
    """What tells nodes apart beside their children: law, tilt, limits in reach, and being fixed.

    (trait of each node, factor of each trait or -1, the factors' windows, limits of each trait).
    """
    nodes, leaves = len(forest.parent), len(forest.cells)
    tilt_class, _ = classes.distinct(theta.view(np.int64).reshape(-1, 1))
    fixed = forest.parent == FIXED
    law = np.where(fixed, 0, forest.law)
    lower, upper = forest.lower[leaves:], forest.upper[leaves:]
    outside = ((lower > 0) | (upper < 0)) & (law[leaves:] > 0)
    own = np.where(outside, lower, -FREE), np.where(outside, upper, FREE)
    pair, pair_first = classes.distinct(np.stack([law[leaves:], tilt_class[leaves:], *own], axis=1))
    factors: list[Window] = []
    factor_of_pair = np.full(len(pair_first), -1, dtype=np.int64)
    ends = np.empty((len(pair_first), 2), dtype=np.int64)
    for at, offset in enumerate(pair_first.tolist()):
        v = leaves + offset
        laws, tilt = forest.laws[law[v]], -float(theta[v])
        ends[at] = -FREE, FREE
        if laws:
            held = window(laws, int(own[0][offset]), int(own[1][offset]), tilt, cut)
            factor_of_pair[at] = len(factors)
            factors.append(held)
            ends[at] = held.low, held.low + len(held.weights) - 1
    if (lower > -FREE).any() or (upper < FREE).any():
        reach = np.zeros(nodes)
        widths = np.array([max(-w.low, w.low + len(w.weights) - 1) for w in leaf_tables], dtype=np.float64)
        reach[:leaves] = widths[leaf_class]
        reach = classes.totals(forest.parent, reach)[leaves:]
        lower = np.where(lower <= np.maximum(-reach, ends[pair, 0]), -FREE, lower)
        upper = np.where(upper >= np.minimum(reach, ends[pair, 1]), FREE, upper)
    key = np.stack([pair, lower, upper, fixed[leaves:].astype(np.int64)], axis=1)
    inner, first = classes.distinct(key)
    trait = np.full(nodes, -1, dtype=np.int64)
    trait[leaves:] = inner
    # a limit out of one node's reach may be within that of another with the same trait: only these count
    return trait, factor_of_pair[pair[first]], factors, key[first, 1:3]
