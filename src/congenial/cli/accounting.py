"""`congenial ledger`: what was spent, what is left, whether the chain is whole."""

from __future__ import annotations

from congenial.cli.console import document, show
from congenial.errors import BudgetError


def ledger(path: str, *, json: bool) -> None:
    """Print the ledger; a broken chain is an error after it."""
    from congenial.privacy import ledger as ledgers

    view = ledgers.read(path)
    if json:
        document(ledgers.to_json(view))
    else:
        show(ledgers.explain(view))
    if not view.intact:
        raise BudgetError(f"the chain of the ledger '{path}' is broken; nothing more can be charged to it.")
