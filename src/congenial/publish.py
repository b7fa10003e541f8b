"""The one file that takes a confidential table to what leaves the house, and to simulations, which do not.

A release is drawn once, with words that nobody can predict, after the ledger was charged. Simulations are
drawn with a seed, as often as one likes; they hold the true counts plus noise many times over, so they
are as confidential as the table, and are arrays of another type than a release.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from os import PathLike
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from congenial import planning
from congenial.errors import ArgumentError
from congenial.planning import Plan
from congenial.randomness import SeededSource, Source, SystemSource
from congenial.releases import charges, columns, manifest
from congenial.releases.bundle import Release
from congenial.releases.public_table import PublicTable
from congenial.requests.model import Request
from congenial.requests.resolve import public

if TYPE_CHECKING:
    from congenial.privacy.ledger import Receipt
    from congenial.tables.table import Table

Progress = Callable[[int, int], None]

BATCH = 1 << 22
"""Cells that are drawn at once: some 32 MB."""


def simulated(
    planned: Plan, draws: int, seed: int, progress: Progress | None = None
) -> Iterator[NDArray[np.int64]]:
    """Whole tables x + z, a batch at a time: arrays (some draws, cells), confidential.

    The same seed and number of draws give the same tables, whoever asks.
    """
    source = SeededSource(_whole(seed, "seed"))
    left = _whole(draws, "draws")
    if left < 1:
        raise ArgumentError("the number of draws must be at least 1.")
    if planned.request.method == "suppress":
        raise ArgumentError("the method is suppress, which draws nothing: there is nothing to simulate.")
    planned.require_samplers()
    size = max(1, BATCH // planned.domain.cells)
    while left:
        many = min(size, left)
        yield planned.draws(many, source) + planned.centre
        left -= many
        if progress is not None:
            progress(draws - left, draws)


def simulate(
    table: Table | Plan, request: Request | None = None, *, draws: int, seed: int
) -> NDArray[np.int64]:
    """Draw whole tables x + z, for the curator: int64 (draws, *table.shape). Confidential.

    Takes a table and a request, or a plan that was made already.
    """
    planned = _planned(table, request)
    return np.concatenate(list(simulated(planned, draws, seed))).reshape(draws, *planned.domain.shape)


def release(
    table: Table | Plan,
    request: Request | None = None,
    *,
    ledger: str | PathLike[str] | None = None,
    dataset: str | None = None,
    budget: float | None = None,
    source: Source | None = None,
    charged: Callable[[Receipt], None] | None = None,
    progress: Progress | None = None,
) -> Release:
    """Charge the ledger, draw once, and make the public value: `.table`, `.notices`, `.save(folder)`.

    **Law.** y = x + z, z from law (1) of the request, within the certificate of the plan.
    **Privacy.** As `.guarantee` says. Releasing the same table again spends again.

    `ledger`, `dataset` and `budget` say together what a request's `budget` section says. `source` can
    only be words that nobody can predict; a seed makes simulations. `charged` is told of the charge when
    it stands, before anything is drawn; without it, what the curator must read of it is logged.
    """
    words = SystemSource() if source is None else source
    if not isinstance(words, SystemSource):
        raise ArgumentError("a release takes the system's randomness alone; a seed is for cg.simulate.")
    planned = _planned(table, request)
    account = charges.wanted(planned.request, planned.guarantee, ledger, dataset, budget)
    columns.names(planned.domain)
    is_silent = planned.request.method == "suppress"
    if not is_silent:
        planned.require_samplers()
    if planned.guarantee is not None:
        planned.guarantee.require(allow_unproven=planned.request.unproven == "allow")
    said = public(planned.request)
    receipt = None if account is None else charges.charge(account, planned.guarantee, said["about"])
    if receipt is not None:
        (charged or _logged)(receipt)
    released = None if is_silent else _drawn(planned, words, progress)
    return Release(
        None if released is None else PublicTable(planned.domain, released),
        manifest.make(
            request=said,
            structure=planned.structure,
            released=released,
            certificate=None if is_silent else planned.allowance,
            guarantee=None if planned.guarantee is None else planned.guarantee.to_json(),
            charge=None if receipt is None else charges.said(receipt),
            notices=_notices(planned, receipt is not None),
        ),
    )


def _logged(receipt: Receipt) -> None:
    """What the curator must read of a charge: an account that it opened, facts that differ."""
    for notice in receipt.notices:
        logging.getLogger("congenial").warning(notice)


def _notices(planned: Plan, is_charged: bool) -> list[str]:
    """What a reader of the release must know first: what is not proven, what was taken for granted."""
    found = []
    if planned.guarantee is None:
        found.append("No guarantee was computed: what one unit can lose by this release is not stated.")
    elif not planned.guarantee.proven:
        found.append(planned.guarantee.sentence)
    found += planned.notices
    if planned.request.unit.assumed:
        found.append("The unit was not stated; it was taken to be a person who makes up one row.")
    if not is_charged:
        found.append("No ledger was kept: nothing records what this release has spent.")
    many = len(planned.determined)
    if planned.request.method == "suppress":
        found.insert(0, "Nothing is said of any count: the method is suppress.")
    elif many:
        what = "one cell, which stands as it is" if many == 1 else f"{many:,} cells, which stand as they are"
        found.append(f"The facts determine {what}.")
    return found


def _drawn(planned: Plan, words: SystemSource, progress: Progress | None) -> NDArray[np.int64]:
    """The table y = x + z, looked at once more before it leaves."""
    released: NDArray[np.int64] = planned.centre + planned.draws(1, words, progress)[0]
    _check_kept(planned, released)
    return released


def _check_kept(planned: Plan, released: NDArray[np.int64]) -> None:
    """Facts and bounds once more, on what is about to leave; a sampler that fails here is a bug."""
    structure = planned.structure
    for fact in structure.facts:
        before, after = fact.forms.sums(planned.centre), fact.forms.sums(released)
        if fact.band is not None:
            before, after = (before - 1) // fact.band, (after - 1) // fact.band
        if not np.array_equal(before, after):
            raise AssertionError("a draw does not keep a fact")
    for limit in structure.limits:
        values = limit.forms.sums(released)
        if (values < limit.lower).any() or (values > limit.upper).any():
            raise AssertionError("a draw does not keep a bound")
    if released[structure.zeros].any():
        raise AssertionError("a draw does not keep a structural zero")


def _planned(table: Table | Plan, request: Request | None) -> Plan:
    if isinstance(table, Plan):
        if request is not None:
            raise ArgumentError("a plan has its request already: give a plan, or a table and a request.")
        return table
    if request is None:
        raise ArgumentError("a table needs a request beside it.")
    return planning.plan(table, request)


def _whole(value: int, name: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise ArgumentError(f"{name} is a whole number.")
    return int(value)
