r"""What several releases lose together, and about which tables the sum speaks.

A guarantee compares two tables. Which two is part of the statement: tables that agree on the facts
that were published, that both lie within the bounds, and that so many units can tell apart. Rules of
composition therefore carry two things along, a number and a `TableClass`; forgetting the second is
how a sum of true statements becomes a false one.

rule            number                      class                          false when
`sequential`    sum                         intersection                   read beyond the least `units`
`parallel`      sum of the `reach` largest  intersection                   a change reaches more blocks
`mixture`       largest                     intersection                   weights depend on the data
`united`        largest of part + weight    tables with laws on the union  the weights' part is left out
`processed`     unchanged                   joined by the facts used       read across values of those facts

Amounts are pure ε, with slack δ, or ρ (zCDP). Arithmetic is exact; the float that comes out is never
below the exact result. The reasoning, with what enumeration shows beside each rule, is told in
docs/explanation/composition-of-releases.md.

**Source.** Dharangutte, Gao, Gong & Yu, Propositions 6 and 7; Liu, Sun, Zhou & Feng, Theorems 3.5 and
3.9 (the second half of 3.5 does not hold as printed, see `united`); Gong & Meng, section 4.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, Literal

from congenial.errors import ArgumentError

Currency = Literal["epsilon", "rho"]


def canonical(value: object) -> str:
    """JSON with one spelling a value: keys sorted, no spaces, ASCII only, no NaN."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


@dataclass(frozen=True)
class TableClass:
    """Which two tables a statement compares: those that meet every condition here.

    `facts` are queries on whose values both agree, `bounds` inequalities that both satisfy, `others`
    whatever else was said (the unit, the change), by key. `units` is how many units may differ, None
    where nothing was said. Items are canonical JSON texts, sorted, each once.
    """

    facts: tuple[str, ...] = ()
    bounds: tuple[str, ...] = ()
    units: int | None = None
    others: tuple[tuple[str, tuple[str, ...]], ...] = field(default=())

    @staticmethod
    def of(
        facts: Iterable[Any] = (), bounds: Iterable[Any] = (), *, units: int | None = None, **others: Any
    ) -> TableClass:
        """From JSON values: `TableClass.of(["total"], ["nonnegative"], units=1, unit="person")`."""
        kept = {key: _items(value) for key, value in others.items()}
        return TableClass(_items(list(facts)), _items(list(bounds)), units, tuple(sorted(kept.items())))

    @staticmethod
    def read(text: str) -> TableClass:
        """From a text: an object with these keys, a list of facts, or anything else as one fact."""
        try:
            value = json.loads(text)
        except ValueError:
            value = [text]
        if not isinstance(value, dict):
            return TableClass.of(value if isinstance(value, list) else [value])
        said = {str(key): _listed(item) for key, item in value.items()}
        units = value.get("units")
        whole = isinstance(units, int) and not isinstance(units, bool)
        if whole:
            del said["units"]
        facts, bounds = said.pop("facts", []), said.pop("bounds", [])
        kept = {key: _items(item) for key, item in said.items()}
        return TableClass(
            _items(facts), _items(bounds), units if whole else None, tuple(sorted(kept.items()))
        )

    @property
    def text(self) -> str:
        """Canonical JSON; `read` gives the class back."""
        said: dict[str, Any] = {key: [json.loads(item) for item in items] for key, items in self.others}
        said["facts"] = [json.loads(item) for item in self.facts]
        if self.bounds:
            said["bounds"] = [json.loads(item) for item in self.bounds]
        if self.units is not None:
            said["units"] = self.units
        return canonical(said)

    @property
    def sentence(self) -> str:
        """The class in words: `tables that agree on total, and differ by at most 1 unit`."""
        parts = [f"agree on {_named(self.facts)}"] if self.facts else []
        if self.bounds:
            parts.append(f"both satisfy {_named(self.bounds)}")
        if self.units is not None:
            parts.append(f"differ by what {self.units} unit{'s' if self.units != 1 else ''} can change")
        said = "tables that " + ", and ".join(parts) if parts else "any two tables"
        notes = "; ".join(f"{key}: {_named(items)}" for key, items in self.others)
        return f"{said} ({notes})" if notes else said


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _items(value: Any) -> tuple[str, ...]:
    return tuple(sorted({canonical(item) for item in _listed(value)}))


def _named(items: Sequence[str]) -> str:
    plain = [item if not item.startswith('"') else str(json.loads(item)) for item in items]
    return ", ".join(plain)


def intersection(classes: Iterable[TableClass]) -> TableClass:
    """The tables that every one of `classes` compares: all their conditions at once.

    Facts and bounds are united, and of the numbers of units the least is taken: a statement about what
    one unit can change says nothing of a change that takes two. So the nearest change that all facts
    *together* admit may lie outside the intersection. `TableClass.units` then stays honest, and the
    loss of that change has to be computed from the laws (or from each statement per unit of distance).
    """
    found = list(classes)
    others: dict[str, set[str]] = {}
    for one in found:
        for key, items in one.others:
            others.setdefault(key, set()).update(items)
    return TableClass(
        tuple(sorted({fact for one in found for fact in one.facts})),
        tuple(sorted({bound for one in found for bound in one.bounds})),
        min((one.units for one in found if one.units is not None), default=None),
        tuple((key, tuple(sorted(items))) for key, items in sorted(others.items())),
    )


@dataclass(frozen=True)
class Loss:
    """A proven statement: what a release loses at most, about which tables.

    `amount` is ε or ρ by `currency`; `delta` its slack.
    """

    currency: Currency
    amount: float
    delta: float = 0.0
    tables: TableClass = TableClass()

    def __post_init__(self) -> None:
        if self.currency not in ("epsilon", "rho"):
            raise ArgumentError(f"a loss is in epsilon or in rho, not in {self.currency!r}")
        for name, value in (("amount", self.amount), ("delta", self.delta)):
            if not (math.isfinite(value) and value >= 0):
                raise ArgumentError(f"the {name} of a loss is a finite number from 0 up, not {value!r}")


def sequential(losses: Iterable[Loss]) -> Loss:
    """What releases with independent randomness lose together: amounts and slacks add.

    **Law.** For tables in the intersection of the classes, loss(M₁, M₂) ≤ loss(M₁) + loss(M₂), also where
    M₂ was chosen after seeing M₁'s outcome; attained for pure ε where one pair is the worst for both.
    **Exactness.** Sums of the given floats, rounded up once.
    **Source.** Dharangutte et al., Proposition 6 (with their ‖x − x'‖ fixed by the class's `units`).
    """
    found = _alike(losses)
    return _joined(found, [one.amount for one in found], [one.delta for one in found])


def parallel(losses: Iterable[Loss], reach: int = 1) -> Loss:
    """What releases about disjoint blocks lose together, where a change reaches at most `reach` of them.

    Each loss must hold for whatever part of an admissible change falls into its block. One unit with
    one row, in blocks whose totals are facts, reaches one block: the largest loss is all there is. A
    unit that may move from one block to another reaches two, `max_rows` rows as many blocks, and so do
    several units at once.

    **Law.** loss ≤ the sum of the `reach` largest, δ alike; `reach=1` is the maximum.
    """
    if reach < 1:
        raise ArgumentError(f"a change reaches at least one block, not {reach!r}")
    found = _alike(losses)
    amounts = sorted((one.amount for one in found), reverse=True)[:reach]
    return _joined(found, amounts, sorted((one.delta for one in found), reverse=True)[:reach])


def mixture(losses: Iterable[Loss]) -> Loss:
    """What it loses to draw one of several releases with weights that do not depend on the data.

    **Law.** Joint quasi-convexity: P = Σ aᵢPᵢ and Q = Σ aᵢQᵢ with the *same* weights are never further
    apart than the furthest Pᵢ, Qᵢ, in ratio, in Rényi divergence and in slack. Moving to the nearest
    admissible table commutes with mixing, so the same holds after imaging; conditioning replaces aᵢ by
    aᵢPᵢ(C|x)/Σ, which depends on x: see `united`.
    **Source.** Liu et al., Theorem 3.9.
    """
    found = _alike(losses)
    return _joined(found, [max(one.amount for one in found)], [max(one.delta for one in found)])


def united(parts: Sequence[Loss], weight_losses: Sequence[float]) -> Loss:
    """What it loses to condition on the union of disjoint sets C₁, C₂, …, given what each Cᵢ alone loses.

    The law on the union is a mixture whose weights λᵢ(x) = P(Cᵢ|x)/Σ P(Cⱼ|x) depend on the data. As
    the sets are disjoint, an outcome shows which one it fell into, so the weights are published with it:

    **Law.** loss = maxᵢ ( lossᵢ + ln λᵢ(x)/λᵢ(x') ), and `weight_losses[i]` bounds that second term over
    the pairs of the class, in both directions. Pure ε only. (Also at most 2ε for an unconditioned
    mechanism that loses ε: Gong & Meng, Theorem 2.1 with γ = 1.)
    **Source.** Liu et al., Theorem 3.5, first part. Its second part, that the union loses no more than the
    parts, does not follow and is false: sets of one point each lose nothing, their union does. It holds
    where all `weight_losses` are zero.
    """
    found = _alike(parts)
    if found[0].currency != "epsilon" or any(one.delta for one in found):
        raise ArgumentError("the rule for a union is proven for pure epsilon only; state each part so")
    if len(weight_losses) != len(found):
        raise ArgumentError(f"{len(found)} parts need as many weight losses, not {len(weight_losses)}")
    if any(not math.isfinite(extra) or extra < 0 for extra in weight_losses):
        raise ArgumentError("a weight's loss is a finite number from 0 up")
    pairs = zip(found, weight_losses, strict=True)
    sums = [Fraction(one.amount) + Fraction(extra) for one, extra in pairs]
    return replace(_joined(found, [0.0], [0.0]), amount=at_least(max(sums)))


def processed(loss: Loss, facts_used: Iterable[Any] = ()) -> Loss:
    """What is left of a statement once the outcome was processed with knowledge of `facts_used`.

    **Law.** A function of the outcome alone loses nothing more. A function that also uses facts of the
    confidential table (moving a noisy table to the published total does) is one function only among
    tables that agree on these facts: the amount stays, the class shrinks. Across their values it is a
    different function for either table, and no bound carries over, whatever the outcome shows.
    **Source.** Gong & Meng, section 4, equation (4.4); Dharangutte et al., Proposition 7.
    """
    used = TableClass.of(list(facts_used))
    return replace(loss, tables=intersection((loss.tables, used)))


def at_least(exact: Fraction) -> float:
    """The least float that is not below `exact`."""
    near = float(exact)
    return near if Fraction(near) >= exact else math.nextafter(near, math.inf)


def _alike(losses: Iterable[Loss]) -> list[Loss]:
    found = list(losses)
    if not found:
        raise ArgumentError("no losses to compose; a release that says nothing is a loss of 0")
    kinds: Mapping[str, None] = {one.currency: None for one in found}
    if len(kinds) > 1:
        raise ArgumentError(
            "epsilon and rho do not add: state all losses in one currency "
            "(a pure epsilon is also rho = epsilon²/2)"
        )
    return found


def _joined(found: Sequence[Loss], amounts: Iterable[float], deltas: Iterable[float]) -> Loss:
    amount = at_least(sum(map(Fraction, amounts), Fraction()))
    delta = at_least(sum(map(Fraction, deltas), Fraction()))
    return Loss(found[0].currency, amount, delta, intersection(one.tables for one in found))
