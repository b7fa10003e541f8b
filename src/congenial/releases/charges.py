"""What a release pays: the account that it names, the charge before its draw, the entry in its manifest."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from congenial.errors import ArgumentError, BudgetError, Fault
from congenial.privacy import ledger as ledgers
from congenial.privacy.composition import Currency
from congenial.privacy.guarantee import Guarantee
from congenial.privacy.ledger import Receipt
from congenial.requests.model import Budget, Request

_READ = "docs/explanation/what-is-promised.md"


def wanted(
    request: Request,
    guarantee: Guarantee | None,
    ledger: str | os.PathLike[str] | None,
    dataset: str | None,
    budget: float | None,
) -> Budget | None:
    """The account of a release: the request's, or the one that three arguments name; None for none.

    A budget in an argument is in the currency of the guarantee.
    """
    given = (ledger, dataset, budget)
    if all(value is None for value in given):
        return request.budget
    if request.budget is not None:
        raise ArgumentError("the request names its budget already: leave out ledger, dataset and budget.")
    if ledger is None or dataset is None or budget is None:
        raise ArgumentError("ledger, dataset and budget go together: give all three, or none.")
    is_rho = guarantee is not None and guarantee.rho is not None
    amounts = {"rho": budget} if is_rho else {"epsilon": budget}
    return Budget(Path(ledger), dataset, **amounts)


def charge(budget: Budget, guarantee: Guarantee | None, about: Mapping[str, Any]) -> Receipt:
    """Charge what a guarantee states to an account, durably, or raise; nothing was drawn yet.

    Only what is proven can be charged, and only in the currency in which it is proven.
    """
    if guarantee is None or not guarantee.proven:
        why = "no guarantee was computed" if guarantee is None else f"nothing is proven: {guarantee.why}"
        hint = "A ledger counts proven losses. Take `budget` out, or ask for what can be proven."
        raise BudgetError(Fault("", f"the ledger '{budget.ledger}' cannot be charged: {why}", hint, _READ))
    currency: Currency = "epsilon" if guarantee.rho is None else "rho"
    amount = guarantee.epsilon if guarantee.rho is None else guarantee.rho
    most = budget.epsilon if currency == "epsilon" else budget.rho
    if most is None or amount is None:
        other = "rho" if currency == "epsilon" else "epsilon"
        what = f"the budget is in {other}, and what is proven of this release is in {currency}"
        raise BudgetError(Fault("budget", what, f"Write `{currency}:` under `budget`.", _READ))
    title = about.get("title")
    return ledgers.charge(
        budget.ledger,
        dataset=budget.dataset,
        currency=currency,
        budget=most,
        amount=amount,
        delta=guarantee.delta or 0.0,
        equivalence_class=guarantee.tables.text,
        title=title if isinstance(title, str) else "",
        about=about,
    )


def said(receipt: Receipt) -> dict[str, Any]:
    """The charge as the manifest keeps it; position and hash find it in the ledger again."""
    return {
        "dataset": receipt.dataset,
        "currency": receipt.currency,
        "amount": float(receipt.amount),
        "position": receipt.position,
        "hash": receipt.hash,
    }
