"""Each rule of composition beside what enumeration finds, and beside each rule its false reading.

Run as a script to print the table of docs/explanation/composition-of-releases.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from congenial.privacy.composition import Loss, mixture, parallel, processed, sequential, united
from support import tiny_laws as tiny
from support.tiny_laws import Counts

HALF, TWO_THIRDS, THIRD = Fraction(1, 2), Fraction(2, 3), Fraction(1, 3)
Release = Callable[[Counts], "tiny.Law[Any]"]
Fact = Callable[[Counts], object]


def no_fact(x: Counts) -> int:
    """The fact on which all tables agree."""
    return 0


def conditioning(outcomes: Iterable[Counts], a: Fraction, fact: Fact = no_fact) -> Release:
    """Noise conditioned on what has the fact of the table."""
    found = list(outcomes)
    return lambda x: tiny.conditioned(x, [y for y in found if fact(y) == fact(x)], a)


def both(one: Release, other: Release) -> Release:
    """Two releases of one table with independent noise."""
    return lambda x: tiny.together(one(x), lambda _: other(x))


def clamping(top: int, a: Fraction) -> Release:
    return lambda x: tiny.clamped(x[0], top, a)


def then(law: Release, move: Callable[[Counts, int], int]) -> Release:
    """A release whose outcome is moved, perhaps with knowledge of the table."""
    return lambda x: tiny.pushed(law(x), lambda y: move(x, y))


@dataclass(frozen=True)
class Example:
    """A setting, what is claimed for it, what enumeration finds; `holds` is False for a false reading."""

    rule: str
    setting: str
    claimed: float
    enumerated: float
    holds: bool
    tight: bool = False


def epsilon(amount: float) -> Loss:
    return Loss("epsilon", amount)


def sequences() -> Iterator[Example]:
    found = tiny.tables(3, 4)
    near = tiny.pairs(found, 1, no_fact)
    one, two = conditioning(found, HALF), conditioning(found, TWO_THIRDS)
    first, second = tiny.worst(one, near), tiny.worst(two, near)
    claim = sequential([epsilon(first), epsilon(second)]).amount
    joint = tiny.worst(both(one, two), near)
    yield Example("sequential", "two releases, total fixed, one row replaced", claim, joint, True, True)

    def chosen(x: Counts) -> tiny.Law[Any]:
        return tiny.together(one(x), lambda y: two(x) if y[0] >= 2 else one(x))

    claim = sequential([epsilon(first), epsilon(max(first, second))]).amount
    adaptive = tiny.worst(chosen, near)
    yield Example("sequential", "the second chosen after seeing the first", claim, adaptive, True)


def rows(x: Counts) -> Counts:
    return (x[0] + x[1], x[2] + x[3])


def margins(x: Counts) -> Counts:
    return (*rows(x), x[0] + x[2])


def classes() -> Iterator[Example]:
    """2×2 tables, total 4: one release fixes the total, the other row totals or both margins."""
    found = tiny.tables(4, 4)
    under_total = conditioning(found, HALF)
    under_rows = conditioning(found, TWO_THIRDS, rows)
    under_margins = conditioning(found, TWO_THIRDS, margins)
    near, within, far = (tiny.pairs(found, k, fact) for k, fact in ((1, no_fact), (1, rows), (2, margins)))
    alone = tiny.worst(under_total, near)

    claim = sequential([epsilon(alone), epsilon(tiny.worst(under_rows, within))]).amount
    joint = both(under_total, under_rows)
    setting = "total fixed, then row totals fixed; one row replaced, both facts agree"
    yield Example("sequential", setting, claim, tiny.worst(joint, within), True)
    setting = "the same, read for tables that agree on the total alone"
    yield Example("sequential", setting, claim, tiny.worst(joint, near), False)

    two_rows = tiny.worst(under_margins, far)
    joint_far = tiny.worst(both(under_total, under_margins), far)
    claim = sequential([epsilon(alone), epsilon(two_rows)]).amount
    setting = "one row's loss under a total plus two rows' under margins, read for two rows"
    yield Example("sequential", setting, claim, joint_far, False)
    claim = sequential([epsilon(tiny.worst(under_total, far)), epsilon(two_rows)]).amount
    yield Example("sequential", "two rows' loss under either, added", claim, joint_far, True)


def blocks() -> Iterator[Example]:
    """Two blocks of two cells with a fixed total of 3 each."""
    block = tiny.tables(2, 3)
    found = [(*left, *right) for left in block for right in block]
    left, right = conditioning(block, HALF), conditioning(block, TWO_THIRDS)

    def law(x: Counts) -> tiny.Law[Any]:
        return tiny.together(left(x[:2]), lambda _: right(x[2:]))

    losses = [epsilon(tiny.worst(one, tiny.pairs(block, 1, no_fact))) for one in (left, right)]
    one_row = tiny.worst(law, tiny.pairs(found, 1, rows))
    each = [(x, y) for x, y in tiny.pairs(found, 2, rows) if most_in_a_block(x, y) <= 1]
    two_rows = tiny.worst(law, each)
    claim = parallel(losses).amount
    yield Example("parallel", "two blocks with fixed totals, one row replaced", claim, one_row, True, True)
    setting = "the same, a unit with a row in each block, read with reach 1"
    yield Example("parallel", setting, claim, two_rows, False)
    claim = parallel(losses, reach=2).amount
    yield Example("parallel", "the same with reach 2", claim, two_rows, True, True)


def most_in_a_block(x: Counts, y: Counts) -> int:
    return max(tiny.rows_changed(x[:2], y[:2]), tiny.rows_changed(x[2:], y[2:]))


def line(top: int) -> list[tuple[Counts, Counts]]:
    """One count, one more against one less."""
    return [((x,), (x + 1,)) for x in range(top)]


def mixtures() -> Iterator[Example]:
    laws, steps = [clamping(6, HALF), clamping(6, TWO_THIRDS)], line(6)
    claim = mixture(epsilon(tiny.worst(law, steps)) for law in laws).amount

    def mixed(x: Counts) -> tiny.Law[int]:
        return tiny.mixed((THIRD, 1 - THIRD), [law(x) for law in laws])

    def by_data(x: Counts) -> tiny.Law[int]:
        return tiny.mixed((Fraction(x[0] + 1, 9), Fraction(8 - x[0], 9)), [law(x) for law in laws])

    yield Example(
        "mixture", "one of two releases, weights 1/3 and 2/3", claim, tiny.worst(mixed, steps), True
    )
    moved = then(mixed, lambda x, y: nearest(y))
    yield Example(
        "mixture", "the same, moved to the nearer of 2 and 5", claim, tiny.worst(moved, steps), True
    )
    yield Example("mixture", "weights that follow the count", claim, tiny.worst(by_data, steps), False)


def nearest(y: int) -> int:
    return 2 if abs(y - 2) <= abs(y - 5) else 5


def unions() -> Iterator[Example]:
    for name, sets in (("{0} and {6}", ([0], [6])), ("{0, 1, 2} and {5, 6}", ([0, 1, 2], [5, 6]))):
        law, steps = clamping(6, HALF), line(6)
        parts = [epsilon(tiny.worst(inside(law, one), steps)) for one in sets]
        shifts = [0.0 for _ in sets]
        for x, other in steps:
            ratios = zip(weights_of(law(x), sets), weights_of(law(other), sets), strict=True)
            shifts = [max(most, abs(math.log(p / q))) for most, (p, q) in zip(shifts, ratios, strict=True)]
        whole = tiny.worst(inside(law, [y for one in sets for y in one]), steps)
        claim = united(parts, shifts).amount
        yield Example("united", f"conditioned on {name}", claim, whole, True, tight=len(sets[0]) == 1)
        setting = f"conditioned on {name}, the largest part alone"
        yield Example("united", setting, mixture(parts).amount, whole, False)


def inside(law: Release, outcomes: list[int]) -> Release:
    return lambda x: tiny.given(law(x), outcomes)


def weights_of(law: tiny.Law[int], sets: tuple[list[int], ...]) -> list[Fraction]:
    masses = [sum((law[y] for y in one), Fraction()) for one in sets]
    return [mass / sum(masses) for mass in masses]


def processes() -> Iterator[Example]:
    size = 8
    steps = [((x,), ((x + 1) % size,)) for x in range(size)]
    within = [(x, y) for x, y in steps if half(x) == half(y)]

    def law(x: Counts) -> tiny.Law[int]:
        return tiny.around(x[0], size, HALF)

    claim = processed(epsilon(tiny.worst(law, steps)), ["half"]).amount
    halved = tiny.worst(then(law, lambda x, y: y // 2), steps)
    yield Example("processed", "halved, a function of the outcome alone", claim, halved, True)
    moved = then(law, lambda x, y: (y + half(x)) % size)
    yield Example(
        "processed", "moved by a fact, where the fact agrees", claim, tiny.worst(moved, within), True
    )
    yield Example(
        "processed", "the same, read where the fact differs", claim, tiny.worst(moved, steps), False
    )
    put = tiny.worst(then(law, lambda x, y: 4 * half(x) + y % 4), steps)
    yield Example("processed", "put into the published half, likewise", claim, put, False)


def half(x: Counts) -> int:
    """The published fact: which half of the circle the count lies in."""
    return x[0] // 4


def examples() -> list[Example]:
    made = (sequences, classes, blocks, mixtures, unions, processes)
    return [example for make in made for example in make()]


def table() -> str:
    """The examples as the page shows them."""
    lines = ["| rule | setting | claimed | enumerated | |", "|---|---|---|---|---|"]
    for one in examples():
        found = "∞" if math.isinf(one.enumerated) else f"{one.enumerated:.4f}"
        verdict = ("attained" if one.tight else "holds") if one.holds else "**false reading**"
        lines.append(f"| `{one.rule}` | {one.setting} | {one.claimed:.4f} | {found} | {verdict} |")
    return "\n".join(lines)


if __name__ == "__main__":
    print(table())
