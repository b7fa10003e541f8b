"""Claims: the arguments of a charge, checked and exact, and the texts that they become."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from congenial.errors import ArgumentError
from congenial.privacy.composition import Currency, canonical
from congenial.privacy.ledger import amounts
from congenial.privacy.ledger.amounts import Amount, plain


@dataclass(frozen=True)
class Claim:
    """What a release asks of the ledger: its arguments, checked and exact."""

    dataset: str
    currency: Currency
    budget: Decimal
    amount: Decimal
    delta: Decimal
    equivalence_class: str
    title: str
    about: dict[str, Any]
    time: str


def opening_text(claim: Claim) -> str:
    said = {"kind": "dataset", "dataset": claim.dataset, "currency": claim.currency}
    return canonical(said | {"budget": plain(claim.budget), "time": claim.time})


def charge_text(claim: Claim) -> str:
    said = {"kind": "charge", "dataset": claim.dataset, "time": claim.time, "title": claim.title}
    said |= {"amount": plain(claim.amount), "delta": plain(claim.delta), "class": claim.equivalence_class}
    return canonical(said | {"about": claim.about})


def claimed(
    dataset: str,
    currency: Currency,
    budget: Amount,
    amount: Amount,
    delta: Amount,
    equivalence_class: str,
    title: str,
    about: Mapping[str, Any],
    time: datetime | str | None,
) -> Claim:
    """A claim from arguments, or an `ArgumentError`."""
    for what, text in (("dataset", dataset), ("title", title), ("equivalence_class", equivalence_class)):
        if not isinstance(text, str):
            raise ArgumentError(f"{what} is {text!r}; a charge takes it as text")
    if not dataset.strip():
        raise ArgumentError("the dataset of a charge has no name; say which data the budget is for")
    if currency not in ("epsilon", "rho"):
        raise ArgumentError(f"the currency of a budget is epsilon or rho, not {currency!r}")
    most = amounts.exact(budget, "the budget")
    if not most:
        raise ArgumentError("the budget is 0, which covers no release; a method that says nothing needs none")
    try:
        kept = dict(about)
        canonical(kept)
    except (TypeError, ValueError):
        what = "`about` of a charge takes text, numbers, lists and mappings that JSON can hold"
        raise ArgumentError(what) from None
    moment = datetime.now(UTC) if time is None else time
    if isinstance(moment, datetime):
        moment = moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    cost, slack = amounts.exact(amount, "the amount"), amounts.exact(delta, "the slack delta")
    return Claim(dataset, currency, most, cost, slack, equivalence_class, title, kept, moment)
