"""Reading a ledger: verified, as JSON for a registry of releases, and in words."""

from __future__ import annotations

import os
from typing import Any

from congenial.privacy.composition import TableClass
from congenial.privacy.ledger import amounts, making, opening
from congenial.privacy.ledger.accounts import Account, LedgerView, replayed
from congenial.privacy.ledger.amounts import plain
from congenial.privacy.ledger.chain import Break, first_break
from congenial.privacy.ledger.refusals import refused


def read(path: str | os.PathLike[str], *, patience: float = 60.0) -> LedgerView:
    """The ledger as it stands, its chain verified. Writes nothing, and may be used while others charge.

    A chain that is broken is a value, not an error: `intact` is False, `broken_at` and `why` say where,
    and the accounts stop before that entry. A file that is no ledger, or that SQLite cannot read, raises.
    """
    name = os.fspath(path)
    place = making.real(name)
    if not making.existing(place, name, min(patience, 1.0)):
        hint = "Correct the path; a ledger is begun by the first release that names it."
        raise refused(f"there is no ledger '{name}'", hint)
    return _viewed(name, _rows(place, name, patience))


def _rows(place: str, name: str, patience: float) -> opening.Rows:
    """The rows in one transaction, also for a reader who may not write.

    SQLite keeps its readers' marks beside the file. Where those cannot be written and there is no log
    to follow, the file is complete as it is, and is read without marks; again if it changed meanwhile.
    """
    for _ in range(5):
        before = _standing_still(place)
        if before is None:
            break
        with opening.connected(place, name, patience, "mode=ro&immutable=1") as link:
            found = opening.rows(link)
        if _standing_still(place) == before:
            return found
    with opening.connected(place, name, patience) as link:
        link.execute("PRAGMA query_only=ON")
        link.execute("BEGIN")
        return opening.rows(link)


def _standing_still(place: str) -> tuple[int, int] | None:
    """The file's size and time where we may not write and there is no log; otherwise None."""
    if os.access(place, os.W_OK) and os.access(os.path.dirname(place), os.W_OK):
        return None
    try:
        if os.path.exists(f"{place}-wal") and os.stat(f"{place}-wal").st_size:
            return None
        found = os.stat(place)
    except OSError:
        return None
    return found.st_size, found.st_mtime_ns


def _viewed(name: str, found: opening.Rows) -> LedgerView:
    broken = first_break(found.entries, found.heads)
    standing = found.entries if broken is None else found.entries[: broken.at - 1]
    identity, accounts, senseless = replayed(standing)
    broken = senseless or broken
    if broken is None and not found.guarded:
        why = "the triggers that keep it append-only, or its tables, were changed"
        broken = Break(len(standing) + 1, why)
    hashes = tuple(one.hash for one in standing)
    if broken is None:
        return LedgerView(name, True, accounts, identity=identity, hashes=hashes)
    hashes = hashes[: broken.at - 1]
    return LedgerView(name, False, accounts, broken.at, broken.why, identity, hashes)


def to_json(view: LedgerView) -> dict[str, Any]:
    """The ledger as the public contract gives it, for `congenial ledger --json`.

    Amounts are numbers: as charged, and sums rounded up, what is left rounded down, where a float does
    not print them in full. Beside the contract's keys: `broken_at` and `why`, the slack `delta`, the
    entry and its hash, the different `classes` and the one the total `speaks_about`.
    """
    return {
        "intact": view.intact,
        "broken_at": view.broken_at,
        "why": view.why,
        "datasets": [_account_json(one) for one in view.datasets],
    }


def _account_json(account: Account) -> dict[str, Any]:
    return {
        "dataset": account.dataset,
        "currency": account.currency,
        "budget": amounts.shown(account.budget, up=False),
        "spent": amounts.shown(account.spent, up=True),
        "left": amounts.shown(account.left, up=False),
        "delta": amounts.shown(account.delta, up=True),
        "opened": account.opened,
        "classes": list(account.classes),
        "speaks_about": account.speaks_about.text,
        "charges": [
            {
                "time": one.time,
                "amount": amounts.shown(one.amount, up=True),
                "class": one.equivalence_class,
                "title": one.title,
                "delta": amounts.shown(one.delta, up=True),
                "about": dict(one.about),
                "entry": one.position,
                "hash": one.hash,
            }
            for one in account.charges
        ],
    }


def explain(view: LedgerView) -> str:
    """The ledger for a person: what is left of each budget, the charges, and what the sum speaks about."""
    lines = [f"Ledger {view.path}: " + ("its chain is whole." if view.intact else "BROKEN.")]
    if not view.intact:
        lines += [
            f"  {view.why[:1].upper()}{view.why[1:]}.",
            f"  What follows is what stands before entry {view.broken_at}; nothing more can be charged.",
        ]
    if not view.datasets:
        lines.append("  No dataset has a budget in it yet.")
    for account in view.datasets:
        lines += ["", *_account_lines(account)]
    return "\n".join(lines)


def _account_lines(account: Account) -> list[str]:
    spent, left = amounts.said(account.spent, up=True), amounts.said(account.left, up=False)
    currency = account.currency
    lines = [
        f"{account.dataset}: {currency} {left} left of {plain(account.budget)} ({spent} spent), "
        f"opened {account.opened}"
    ]
    lines += [f"  {one.time}  {currency} {plain(one.amount):<12}  {one.title}" for one in account.charges]
    if not account.charges:
        return lines
    lines.append(f"  The sum speaks about {account.speaks_about.sentence}.")
    if len(account.classes) > 1:
        lines.append(
            f"  Releases spoke about {len(account.classes)} different classes of tables; "
            "the sum holds only for tables that are in all of them."
        )
    if len({TableClass.read(text).units for text in account.classes}) > 1:
        lines.append(
            "  They count different numbers of units at once, so the sum covers only what the least of these "
            "can change;\n  the facts of all releases together may admit no change that small "
            "(docs/explanation/composition-of-releases.md)."
        )
    return lines
