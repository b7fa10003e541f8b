"""What the entries of a chain say: for each dataset its budget, its charges and what is left.

An entry's text is JSON with a `kind`: `ledger` (the first, with an identity drawn when the file was
made), `dataset` (opens an account: currency and budget) or `charge`. Amounts are decimal texts.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property
from typing import Any

from congenial.errors import CongenialError
from congenial.privacy.composition import Currency, TableClass, intersection
from congenial.privacy.ledger import amounts
from congenial.privacy.ledger.chain import Break, Entry


@dataclass(frozen=True)
class Charge:
    """One charge as it was written. `equivalence_class` is the text that describes the class."""

    position: int
    hash: str
    time: str
    amount: Decimal
    delta: Decimal
    equivalence_class: str
    title: str
    about: Mapping[str, Any]


@dataclass(frozen=True)
class Account:
    """One dataset: its budget in one currency, and what was charged to it."""

    dataset: str
    currency: Currency
    budget: Decimal
    opened: str
    charges: tuple[Charge, ...] = ()

    @cached_property
    def spent(self) -> Decimal:
        """The exact sum of the charges."""
        return amounts.total([one.amount for one in self.charges])

    @cached_property
    def delta(self) -> Decimal:
        """The exact sum of the slacks: they add as the amounts do."""
        return amounts.total([one.delta for one in self.charges])

    @property
    def left(self) -> Decimal:
        return amounts.left(self.budget, self.spent)

    @cached_property
    def classes(self) -> tuple[str, ...]:
        """The different classes that charges speak about, in the order of their first charge."""
        return tuple(dict.fromkeys(one.equivalence_class for one in self.charges))

    @cached_property
    def speaks_about(self) -> TableClass:
        """The tables that the total speaks about: the intersection of the classes."""
        return intersection(TableClass.read(text) for text in self.classes)


@dataclass(frozen=True)
class LedgerView:
    """A ledger as it was read. Where it is not intact, accounts stop before the entry `broken_at`."""

    path: str
    intact: bool
    datasets: tuple[Account, ...]
    broken_at: int | None = None
    why: str = ""
    identity: str = ""
    hashes: tuple[str, ...] = field(default=(), repr=False)
    """The hash of every entry that stands, in order."""

    def account(self, dataset: str) -> Account | None:
        return next((one for one in self.datasets if one.dataset == dataset), None)

    def holds(self, position: int, hash: str) -> bool:
        """Whether the entry of a receipt is still there: False after an old copy was put back."""
        return 1 <= position <= len(self.hashes) and self.hashes[position - 1] == hash


class _Open:
    """An account while its charges are read: a running sum, so that a replay is linear."""

    def __init__(self, said: Mapping[str, Any]) -> None:
        if said["currency"] not in ("epsilon", "rho"):
            raise ValueError
        self.said = said
        self.budget = amounts.exact(said["budget"], "budget")
        self.spent = Decimal(0)
        self.charges: list[Charge] = []

    def add(self, entry: Entry, said: Mapping[str, Any]) -> None:
        amount, delta = amounts.exact(said["amount"], "amount"), amounts.exact(said["delta"], "delta")
        if not amounts.fits(self.spent, amount, self.budget):
            raise ValueError
        self.spent = amounts.total([self.spent, amount])
        time, title, said_class = str(said["time"]), str(said["title"]), str(said["class"])
        about = dict(said["about"])
        self.charges.append(Charge(entry.position, entry.hash, time, amount, delta, said_class, title, about))

    def account(self) -> Account:
        said = self.said
        name, opened = str(said["dataset"]), str(said["time"])
        return Account(name, said["currency"], self.budget, opened, tuple(self.charges))


def replayed(entries: Sequence[Entry]) -> tuple[str, tuple[Account, ...], Break | None]:
    """The ledger's identity and its accounts; a `Break` at the first entry that makes no sense.

    The texts are those of a sound chain, so a break here means one that was forged or written by
    something else: no program of this package writes a charge that its budget does not cover.
    """
    identity = ""
    found: dict[str, _Open] = {}
    broken = None
    for entry in entries:
        try:
            said = json.loads(entry.content)
            if entry.position == 1:
                identity = _identity(said)
            else:
                _follow(found, entry, said)
        except (ValueError, KeyError, TypeError, AttributeError, ArithmeticError, CongenialError):
            broken = Break(entry.position, f"entry {entry.position} is not one that this package writes")
            break
    return identity, tuple(one.account() for one in found.values()), broken


def _identity(said: Mapping[str, Any]) -> str:
    if said["kind"] != "ledger":
        raise ValueError
    return str(said["id"])


def _follow(found: dict[str, _Open], entry: Entry, said: Mapping[str, Any]) -> None:
    if said["kind"] == "charge":
        found[said["dataset"]].add(entry, said)
    elif said["kind"] == "dataset" and said["dataset"] not in found:
        found[said["dataset"]] = _Open(said)
    else:
        raise ValueError
