r"""The guarantee: what is proven about a request, as numbers, as a sentence, and as JSON.

It follows from facts, bounds, laws and the domain; no count is needed and none is seen, so that it is the
same for two tables that differ. A draw differs from its law by rounding (at most η = `ROUNDING` in the log
of a joint probability) and by what windows leave out (total variation at most β = 2^`TAIL_LOG2`); these are
the public limits that every plan must meet, and what is stated is `(ε + 2η, (1 + e^{ε+2η})β)`, or ρ with β
beside it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from congenial.errors import Fault, NotProvenError
from congenial.privacy import blocks, sentences
from congenial.privacy.changes import Changes, changes
from congenial.privacy.classes import table_class
from congenial.privacy.composition import Currency, TableClass
from congenial.privacy.conversions import delta_of_windows, posterior_interval, rho_of
from congenial.privacy.lattice import READ
from congenial.privacy.losses import Losses, losses
from congenial.privacy.prices import Binding, binding
from congenial.privacy.reading import Reading, read
from congenial.problems.structure import Structure
from congenial.requests.model import Change, Method, Unit

ROUNDING = 1e-7
"""η: the most that rounding may change the log of a joint probability in a release."""

TAIL_LOG2 = -80.0
"""log2 of β: the most total variation that a release may have."""


@dataclass(frozen=True)
class Guarantee:
    """A proven statement about `units` units, or (`proven` false, numbers None) why there is none.

    Exactly one of `epsilon` and `rho` is a number where it is proven. `loss` is ε without 2η. `is_exact`
    says that the loss is attained by some change, before what bounds may add; otherwise it is an upper
    bound. `price` is what bounds add at most, as a part of the loss (the γ of (1+γ)). `per_count` is the
    smooth form: what tables lose for each count by which they differ (ε), or for its square (ρ).
    """

    epsilon: float | None
    delta: float | None
    rho: float | None
    unit: str
    units: int
    max_rows: int
    change: Change
    proven: bool
    sentence: str
    tables: TableClass
    why: str = ""
    loss: float | None = None
    price: float = 0.0
    is_exact: bool = False
    per_count: float | None = None

    @property
    def currency(self) -> Currency | None:
        """What a ledger is charged in, None where nothing is proven."""
        return "epsilon" if self.epsilon is not None else "rho" if self.rho is not None else None

    @property
    def amount(self) -> float | None:
        """What a ledger is charged: ε with its rounding, or ρ."""
        return self.epsilon if self.epsilon is not None else self.rho

    def posterior(self, prior: float) -> tuple[float, float] | None:
        """Where the release can take a prior belief about which of two compared tables is true."""
        if self.epsilon is None:
            return None
        return posterior_interval(prior, self.epsilon)

    def to_json(self) -> dict[str, Any]:
        """As `plan --json` prints it and the manifest keeps it."""
        factor = (
            math.exp(self.epsilon) if self.epsilon is not None and self.epsilon <= sentences.MOST else None
        )
        return {
            "epsilon": self.epsilon,
            "delta": self.delta,
            "rho": self.rho,
            "unit": self.unit,
            "units": self.units,
            "max_rows": self.max_rows,
            "change": self.change,
            "proven": self.proven,
            "sentence": self.sentence,
            "why": self.why or None,
            "kind": None if not self.proven else "exact" if self.is_exact else "upper bound",
            "price": self.price,
            "per_count": self.per_count,
            "odds": factor,
            "class": self.tables.text,
        }

    def require(self, *, allow_unproven: bool = False) -> None:
        """Raise a `NotProvenError` where nothing is proven, unless that is allowed."""
        if self.proven or allow_unproven:
            return
        hint = f"{blocks.WAYS_OUT} Or say `unproven: allow`, which the release will repeat."
        raise NotProvenError(Fault("", f"no guarantee is proven: {self.why}", hint, READ))


@dataclass(frozen=True, eq=False)
class Findings:
    """Everything that a guarantee is made of, for audit, plan and promise."""

    reading: Reading
    changes: Changes
    bounds: Binding
    losses: Losses
    unproven: str

    def scaled(self, by: float, unit: Unit) -> Findings:
        """The same, to the last bit, as those of a structure whose rates are `by` times these.

        What can change does not depend on rates and is not looked for again; losses are.
        """
        factors = tuple(replace(factor, rate=factor.rate * by) for factor in self.reading.factors)
        reading = replace(self.reading, factors=factors)
        bounds = binding(reading, self.changes)
        cost = losses(reading, self.changes, bounds, unit)
        return replace(self, reading=reading, bounds=bounds, losses=cost)


def find(structure: Structure, unit: Unit) -> Findings:
    """What units can change and what it costs; raises where nothing is left to protect."""
    reading = read(structure)
    possible = changes(reading, structure.domain.shape, unit)
    bounds = binding(reading, possible)
    why = possible.lattice.unsettled or blocks.unproven(reading, possible, bounds)
    return Findings(reading, possible, bounds, losses(reading, possible, bounds, unit), why)


def guarantee(structure: Structure, unit: Unit, method: Method = "condition") -> Guarantee:
    """The guarantee of a request whose laws have scales.

    **Exactness.** Losses are sums of the given rates, rounded up to thirteen digits; see `is_exact`.
    **Cost.** A few array passes where facts and measurements nest; some integer programs at worst.
    """
    if method == "suppress":
        return _silence(unit)
    return stated(structure, unit, find(structure, unit))


def stated(structure: Structure, unit: Unit, found: Findings) -> Guarantee:
    """The statement that some findings make."""
    possible, cost = found.changes, found.losses
    blank = Guarantee(
        None,
        None,
        None,
        unit.name,
        possible.units,
        unit.max_rows,
        possible.change,
        False,
        sentences.unproven(found.unproven),
        table_class(structure, unit, possible.units, possible.change),
        why=found.unproven,
    )
    if found.unproven:
        return blank
    subject = sentences.Subject(unit.name, possible.units, unit.max_rows, possible.change)
    exact = cost.is_exact and not found.bounds
    loss, tail = _up(cost.epsilon()), 2.0**TAIL_LOG2
    price = loss / cost.kappa - 1 if found.bounds and cost.kappa else 0.0
    proven = replace(blank, proven=True, why="", is_exact=exact, price=round(max(price, 0.0), 12))
    if any(factor.currency == "rho" for factor in found.reading.factors):
        # independent blocks of either law: a pure loss is a concentrated one, and those add
        rho = _up(cost.rho + (rho_of(loss) if loss else 0.0))
        says = sentences.concentrated(subject, rho)
        per = cost.per_count[1] if not loss else None
        return replace(proven, rho=rho, delta=tail, sentence=says, is_exact=exact and not loss, per_count=per)
    epsilon = _up(loss + 2 * ROUNDING)
    delta = delta_of_windows(epsilon, tail)
    says = sentences.pure(subject, epsilon, delta)
    smooth = cost.per_count[0] * (2 if found.bounds else 1)
    return replace(proven, epsilon=epsilon, delta=delta, loss=loss, sentence=says, per_count=smooth)


def _silence(unit: Unit) -> Guarantee:
    """Suppression, Gong & Meng's M_0: nothing is said and nothing is lost."""
    return Guarantee(
        0.0,
        0.0,
        None,
        unit.name,
        1,
        unit.max_rows,
        unit.change,
        True,
        sentences.silent(unit.name),
        TableClass.of(unit=unit.name, max_rows=unit.max_rows, change=unit.change),
        loss=0.0,
        is_exact=True,
        per_count=0.0,
    )


def _up(value: float) -> float:
    """Thirteen significant digits, rounded up but for what adding some doubles may have put on top."""
    if value <= 0 or not math.isfinite(value):
        return value
    digits = 12 - math.floor(math.log10(value))
    ceiling = math.ceil(Fraction(value) * (1 - Fraction(1, 2**46)) * Fraction(10) ** digits)
    return float(ceiling / Fraction(10) ** digits)
