"""`congenial release` and `congenial verify`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from congenial.cli.console import Steps, document, notices, show, tell
from congenial.errors import ArgumentError

if TYPE_CHECKING:
    from congenial.privacy.ledger import Receipt
    from congenial.releases.bundle import Release

AGAIN = "Releasing the same table again spends again."


def release(path: str, out: str, *, force: bool, engine: str, json: bool) -> None:
    """Draw once and write the bundle."""
    if engine != "local":
        raise ArgumentError(f"the engine '{engine}' is not built in this version; write --engine local.")
    from congenial.cli.planning import planned
    from congenial.releases.bundle import is_bundle
    from congenial.releases.whole import NewFolder, leftovers

    with (
        Steps("reading the request") as steps,
        NewFolder(Path(out), replace=force, ours=is_bundle) as folder,
    ):
        made = planned(path, steps)
        from congenial import publish

        steps.step("drawing")
        released = publish.release(made, charged=charged, progress=steps.progress)
        steps.step("writing")
        released.write(folder)
    if folder.kept is not None:
        tell(f"note: what stood at {out} was no release, and is kept as {folder.kept}")
    for left in leftovers(folder.place):
        tell(f"note: a release that was cut short left {left}; it may be deleted.")
    _say(released, folder.place, json=json)


def charged(receipt: Receipt) -> None:
    """Said before the draw: whatever happens now, the charge stands."""
    for notice in receipt.notices:
        tell(f"note: {notice}")
    paid, left, most = float(receipt.amount), float(receipt.left), float(receipt.budget)
    tell(f"charged {receipt.currency} {paid:.6g} to '{receipt.dataset}'; {left:.6g} of {most:.6g} left")


def _say(released: Release, place: Path, *, json: bool) -> None:
    files = sorted(entry.name for entry in place.iterdir())
    cells = 0 if released.released is None else released.released.domain.cells
    if json:
        notices((*released.notices, AGAIN), aside=True)
        said = {"folder": str(place), "files": files, "cells": cells}
        said |= {"guarantee": released.guarantee, "charge": released.manifest["charge"]}
        document({**said, "notices": list(released.notices)})
        return
    notices(released.notices)
    show(f"\nreleased to {place}")
    show(f"  {', '.join(files)}")
    facts = sum(len(fact["of"]) for fact in released.invariants)
    kept = f", {facts:,} value{'s' if facts != 1 else ''} of facts kept exactly" if facts else ""
    show(f"  {cells:,} cell{'s' if cells != 1 else ''}{kept}")
    if released.guarantee is not None and released.guarantee.get("sentence"):
        show(f"  {released.guarantee['sentence']}")
    show(f"\n{AGAIN}\nCheck it with: congenial verify {place}")


def verify(folder: str, *, json: bool) -> None:
    """Check a release; what does not hold is an error after the report."""
    from congenial.errors import SourceError
    from congenial.releases.verify import verify as checked

    with Steps("checking"):
        found = checked(folder)
    if json:
        document(found.to_json())
    else:
        show(str(found))
    if not found.holds:
        raise SourceError(f"the release in '{folder}' is not whole, or not what it says it is.")
