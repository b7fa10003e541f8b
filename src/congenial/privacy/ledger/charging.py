"""Charging: one transaction that decides and writes, before anything is drawn.

The order that makes overspending impossible: take the write lock, read the whole chain under it,
decide, write, commit to disk, and only then let anybody draw. Whoever is killed before the commit has
charged nothing; whoever is killed after it has charged and released nothing.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

from congenial.errors import nearest
from congenial.privacy.composition import Currency
from congenial.privacy.ledger import amounts, making, opening
from congenial.privacy.ledger.accounts import Account, replayed
from congenial.privacy.ledger.amounts import Amount, plain
from congenial.privacy.ledger.chain import first_break
from congenial.privacy.ledger.claims import Claim, charge_text, claimed, opening_text
from congenial.privacy.ledger.opening import Step, no_step
from congenial.privacy.ledger.refusals import NOTHING, damaged, refused, told


@dataclass(frozen=True)
class Receipt:
    """A charge that stands. `position` and `hash` prove later that the ledger still holds it.

    `notices` is for the curator: a ledger or an account that this charge opened, classes that differ.
    """

    dataset: str
    currency: Currency
    amount: Decimal
    budget: Decimal
    spent: Decimal
    left: Decimal
    time: str
    position: int
    hash: str
    notices: tuple[str, ...] = ()


def charge(
    path: str | os.PathLike[str],
    *,
    dataset: str,
    currency: Currency,
    budget: Amount,
    amount: Amount,
    equivalence_class: str,
    title: str,
    about: Mapping[str, Any],
    time: datetime | str | None = None,
    delta: Amount = 0.0,
    patience: float = 60.0,
    _step: Step = no_step,
) -> Receipt:
    """Charge `amount` of `currency` to `dataset`, durably, or raise; call it before drawing.

    The ledger is made where there is none, and the dataset's account opened with `budget` by its
    first charge; afterwards `budget` and `currency` have to be what the ledger has. `equivalence_class`
    is the text of a `TableClass`: the tables that the loss speaks about. `patience` is how many seconds
    to wait while others charge.

    **Exactness.** Amounts are exact decimals; a charge fits if spent + amount ≤ budget · (1 + 10⁻⁶).
    **Cost.** A few milliseconds, two syncs of the disk, and a microsecond or so an entry.
    """
    claim = claimed(dataset, currency, budget, amount, delta, equivalence_class, title, about, time)
    name = os.fspath(path)
    place = making.real(name)
    begun = False
    if not making.existing(place, name, patience):
        begun = making.make(place, name, patience, claim.time, _step)
    with opening.connected(place, name, patience) as link:
        opening.prepare_to_write(link)
        _step("opened")
        link.execute("BEGIN IMMEDIATE")
        _step("locked")
        receipt = _written(link, name, claim, begun, _step)
        try:
            link.execute("COMMIT")
        except sqlite3.Error as error:
            doubt = "Nothing was drawn; `congenial ledger` shows whether the charge was still recorded."
            raise told(error, name, doubt) from None
        _step("committed")
        with contextlib.suppress(
            sqlite3.Error
        ):  # the charge is safe in the log; fold in what no reader needs
            link.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
        _step("folded in")
    _step("closed")
    return receipt


def _written(link: sqlite3.Connection, name: str, claim: Claim, begun: bool, step: Step) -> Receipt:
    """Decide under the lock, and write: an account if it is new, the charge, the head."""
    found = opening.rows(link)
    step("read")
    accounts = _sound(found, name)
    account = next((one for one in accounts if one.dataset == claim.dataset), None)
    now = account or Account(claim.dataset, claim.currency, claim.budget, claim.time)
    _check_same(now, claim, name)
    _check_left(now, claim, name)
    position, hash = len(found.entries), found.entries[-1].hash
    if account is None:
        position += 1
        hash = opening.append(link, hash, position, opening_text(claim))
        step("account written")
    position += 1
    hash = opening.append(link, hash, position, charge_text(claim))
    step("charge written")
    opening.move_head(link, position, hash)
    step("head moved")
    spent = amounts.total([now.spent, claim.amount])
    left = amounts.left(now.budget, spent)
    notices = tuple(_notices(accounts, account, claim, name, begun))
    return Receipt(
        claim.dataset,
        claim.currency,
        claim.amount,
        now.budget,
        spent,
        left,
        claim.time,
        position,
        hash,
        notices,
    )


def _sound(found: opening.Rows, name: str) -> tuple[Account, ...]:
    """The accounts of a chain without a break; any break refuses the charge."""
    broken = first_break(found.entries, found.heads)
    if broken is None and not found.guarded:
        raise damaged(name, "the triggers that keep it append-only, or its tables, were changed")
    if broken is None:
        _, accounts, broken = replayed(found.entries)
    if broken is not None:
        raise damaged(name, broken.why)
    return accounts


def _check_same(account: Account, claim: Claim, name: str) -> None:
    """The request and the ledger speak of one budget in one currency."""
    mine, theirs = account.currency, claim.currency
    keep = f"Nothing was charged. Write `{mine}: {plain(account.budget)}` under `budget`"
    if mine != theirs:
        what = f"the ledger '{name}' keeps the budget of '{claim.dataset}' in {mine}, not in {theirs}"
        hint = f"{keep}, with laws whose guarantee is stated in {mine}: {mine} and {theirs} do not add up."
        raise refused(what, hint)
    if account.budget != claim.budget:
        what = (
            f"the ledger '{name}' has a budget of {mine} {plain(account.budget)} for '{claim.dataset}', "
            f"and the request says {plain(claim.budget)}"
        )
        hint = (
            f"{keep}. The first charge fixed it: more for the same people is a decision for whoever set "
            "it, and takes a new ledger or a new name, whose spending adds to this one's."
        )
        raise refused(what, hint)


def _check_left(account: Account, claim: Claim, name: str) -> None:
    if amounts.fits(account.spent, claim.amount, account.budget):
        return
    left = amounts.said(account.left, up=False)
    many = len(account.charges)
    what = (
        f"the budget of '{claim.dataset}' does not cover this release: it costs {claim.currency} "
        f"{plain(claim.amount)}, and {left} of {plain(account.budget)} is left after {many} "
        f"charge{'s' if many != 1 else ''}"
    )
    if account.left:
        raise refused(what, f"{NOTHING} Promise at most {left}, or measure less.")
    raise refused(what, f"{NOTHING} The budget in '{name}' is spent: no further release.")


def _notices(
    accounts: tuple[Account, ...], account: Account | None, claim: Claim, name: str, begun: bool
) -> list[str]:
    found = []
    if begun:
        found.append(f"The ledger '{name}' did not exist and was begun by this release.")
    if account is None:
        near = nearest(claim.dataset, [one.dataset for one in accounts])
        found.append(
            f"This is the first charge to '{claim.dataset}' in the ledger '{name}': it opened a budget of "
            f"{claim.currency} {plain(claim.budget)}. {near}".rstrip()
        )
    elif claim.equivalence_class not in account.classes and account.charges:
        found.append(
            f"Earlier releases of '{claim.dataset}' spoke about other tables (other facts, bounds or units). "
            "The sum speaks only about tables that all of them speak about: `congenial ledger` names these."
        )
    return found
