"""Killed at any line between plan and bundle: never a bundle without its charge, never half of one."""

import os
import signal
import sqlite3
import sys
from pathlib import Path

import pytest

import congenial as cg
from congenial import publish
from congenial.privacy import ledger as ledgers
from congenial.releases import bundle, charges, disk, manifest, whole
from congenial.releases.whole import MARK
from support.bundles import DOMAIN, RELEASED, a_request

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="kills a fork"),
    pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning"),
]

FILES = {module.__file__ for module in (publish, charges, manifest, bundle, whole, disk)}
FILES |= {str(file) for file in Path(ledgers.__file__).parent.glob("*.py")}


@pytest.fixture(scope="module")
def plan():
    """A plan that is made, and has drawn once: a fork only charges, draws and writes."""
    made = cg.plan(cg.Table.from_counts(DOMAIN, RELEASED), a_request())
    cg.simulate(made, draws=1, seed=1)
    cg.release(made).files()
    return made


def released(plan, folder: Path) -> None:
    done = cg.release(plan, ledger=folder / "spent.db", dataset="d", budget=100.0)
    done.save(folder / "out")


def lines_of(work) -> int:
    """How many lines of the files above `work` runs."""
    seen = 0

    def trace(frame, event, argument):
        nonlocal seen
        if frame.f_code.co_filename not in FILES:
            return None
        seen += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(before)
    return seen


def killed_at(line: int, work) -> None:
    child = os.fork()
    if child == 0:
        left = line

        def trace(frame, event, argument):
            nonlocal left
            if frame.f_code.co_filename not in FILES:
                return None
            if event == "line":
                left -= 1
                if left == 0:
                    os.kill(os.getpid(), signal.SIGKILL)
            return trace

        try:
            sys.settrace(trace)
            work()
        finally:
            os._exit(0)
    os.waitpid(child, 0)


def check(folder: Path) -> tuple[bool, bool]:
    """(whether it was charged, whether there is a bundle); a bundle is whole and was charged."""
    ledger = folder / "spent.db"
    view = ledgers.read(ledger) if ledger.exists() and ledger.stat().st_size else None
    charged = [c for account in view.datasets for c in account.charges] if view else []
    assert view is None or view.intact
    assert len(charged) <= 1
    if not (folder / "out").exists():
        return bool(charged), False
    assert cg.verify(folder / "out").holds
    (paid,) = charged
    assert cg.load(folder / "out").manifest["charge"]["hash"] == paid.hash
    known = ("out", "spent.db", "spent.db-wal", "spent.db-shm")
    assert all(name in known or MARK in name for name in os.listdir(folder))
    return True, True


def loop(plan, tmp_path, kills: int) -> None:
    (tmp_path / "whole").mkdir()
    many = lines_of(lambda: released(plan, tmp_path / "whole"))
    seen = {(False, False): 0, (True, False): 0, (True, True): 0}
    lines = sorted({1 + round(at * (many - 1) / (kills - 1)) for at in range(kills)})
    for line in lines:
        folder = tmp_path / str(line)
        folder.mkdir()
        killed_at(line, lambda folder=folder: released(plan, folder))
        seen[check(folder)] += 1
    assert all(seen.values()), seen


def test_killed_anywhere_a_bundle_has_its_charge(plan, tmp_path):
    loop(plan, tmp_path, kills=40)


@pytest.mark.long
def test_killed_at_hundreds_of_lines_a_bundle_has_its_charge(plan, tmp_path):
    loop(plan, tmp_path, kills=600)


def test_a_ledger_that_cannot_be_written_stops_the_release_before_its_draw(plan, tmp_path, monkeypatch):
    drawn = []

    def fails(*arguments, **options):
        raise sqlite3.OperationalError("4711")

    monkeypatch.setattr(type(plan), "draws", lambda *a, **k: drawn.append(a))
    monkeypatch.setattr(sqlite3, "connect", fails)
    with pytest.raises(cg.CongenialError) as caught:
        cg.release(plan, ledger=tmp_path / "spent.db", dataset="d", budget=4.0)
    assert "4711" not in str(caught.value)
    assert not drawn
