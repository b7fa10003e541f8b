"""Killed at every write: a release may be lost, never a charge, and the ledger goes on."""

import contextlib
import signal
import sqlite3
import sys
import time
from decimal import Decimal

import pytest

from congenial.privacy import ledger
from support.ledgers import Worker, charge, once

posix = pytest.mark.skipif(sys.platform == "win32", reason="limits of file sizes are POSIX")
KILLED = -signal.SIGKILL if hasattr(signal, "SIGKILL") else signal.SIGTERM
QUARTER = Decimal("0.25")


def steps_of_a_charge(path):
    steps = []
    charge(path, _step=steps.append)
    return steps


def steps_with_an_account_and_a_file_to_make(tmp_path):
    return steps_of_a_charge(tmp_path / "model.db")


def test_a_charge_can_be_killed_between_any_two_of_its_writes(tmp_path):
    steps = steps_with_an_account_and_a_file_to_make(tmp_path)
    for write in ("ledger made", "ledger named", "account written", "charge written", "head moved"):
        assert write in steps
    assert steps.index("head moved") < steps.index("committed") < steps.index("folded in")


def survives(path, step, steps, before):
    """Kill a charge at a step; whatever it was, the ledger is whole and holds what was committed."""
    answer, code = once(path=str(path), die_at=steps.index(step))
    assert (answer, code) == (None, KILLED)
    committed = steps.index(step) >= steps.index("committed")
    if step == "ledger made":
        assert not path.exists()
        return before
    view = ledger.read(path)
    assert view.intact
    spent = view.datasets[0].spent if view.datasets else Decimal(0)
    assert spent == before + (QUARTER if committed else 0), f"killed at: {step}"
    return spent


def test_a_first_charge_killed_at_every_step_is_there_once_committed_and_not_before(tmp_path):
    steps = steps_with_an_account_and_a_file_to_make(tmp_path)
    for step in steps:
        path = tmp_path / f"{steps.index(step)}.db"
        spent = survives(path, step, steps, Decimal(0))
        assert charge(path).spent == spent + QUARTER


def test_one_ledger_killed_at_every_step_in_turn_keeps_every_charge_and_never_overspends(tmp_path):
    path = tmp_path / "spent.db"
    spent = charge(path).spent
    steps = steps_of_a_charge(path)
    spent += QUARTER
    for step in steps:
        if spent == 1:
            break
        spent = survives(path, step, steps, spent)
    assert spent == 1
    answer, _ = once(path=str(path))
    assert answer is not None
    assert answer["error"] == "BudgetError"


@pytest.mark.long
def test_two_hundred_kills_lose_no_charge(tmp_path):
    path = tmp_path / "spent.db"
    big = {"budget": "1000"}
    spent = charge(path, **big).spent
    steps = []
    charge(path, _step=steps.append, **big)
    spent += QUARTER
    kills = 0
    while kills < 220:
        for at, step in enumerate(steps):
            answer, code = once(path=str(path), die_at=at, **big)
            assert (answer, code) == (None, KILLED)
            kills += 1
            spent += QUARTER if at >= steps.index("committed") else 0
            view = ledger.read(path)
            assert view.intact
            assert view.datasets[0].spent == spent, f"killed at: {step}"


def held_open(path, at_least):
    """A reader that keeps the log from being folded in, and charges until the log is long."""
    link = sqlite3.connect(path, isolation_level=None)
    link.execute("BEGIN")
    link.execute("SELECT count(*) FROM entries").fetchone()
    log = path.with_name(path.name + "-wal")
    spent = Decimal(0)
    while not log.exists() or log.stat().st_size < at_least:
        spent = charge(path, budget="1000").spent
    return link, log, spent


def killed_inside_the_commit(tmp_path, offsets):
    """Kill the process in the kernel, at the byte of the log where its writes reach `offsets`."""
    died = 0
    for offset in offsets:
        path = tmp_path / f"{offset}.db"
        charge(path, budget="1000")
        link, log, spent = held_open(path, 48_000)  # longer than the log's index, which grows as well
        with contextlib.closing(link):
            start = log.stat().st_size
            answer, code = once(path=str(path), budget="1000", file_limit=start + offset, deadly=True)
            assert (answer is None) == (code == -signal.SIGXFSZ)
            died += answer is None
            view = ledger.read(path)
            assert view.intact
            assert view.datasets[0].spent == spent + (QUARTER if answer else 0)
            assert charge(path, budget="1000").spent == view.datasets[0].spent + QUARTER
        assert ledger.read(path).intact
    return died


@posix
def test_a_kill_inside_the_commit_loses_the_whole_charge_or_nothing(tmp_path):
    assert killed_inside_the_commit(tmp_path, [1, 24, 4120, 8000, 30_000]) == 4


@pytest.mark.long
@posix
def test_a_kill_at_any_byte_of_the_commit_loses_the_whole_charge_or_nothing(tmp_path):
    offsets = range(1, 14_000, 233)
    assert 0.5 * len(offsets) < killed_inside_the_commit(tmp_path, offsets) < len(offsets)


@posix
def test_a_kill_while_the_log_is_folded_in_loses_nothing(tmp_path):
    path = tmp_path / "spent.db"
    long = {"budget": "1000", "about": {"long": "x" * 3500}}
    while not path.exists() or path.stat().st_size < 80_000:
        spent = charge(path, **long).spent
    answer, code = once(path=str(path), file_limit=path.stat().st_size + 100, deadly=True, **long)
    assert (answer, code) == (None, -signal.SIGXFSZ)
    view = ledger.read(path)
    assert view.intact
    assert view.datasets[0].spent == spent + QUARTER
    assert charge(path, **long).spent == spent + 2 * QUARTER


def killed_at_any_moment(path, delays):
    """Kill a process that charges without pause, and find every charge that it had reported."""
    big = {"budget": "1000000"}
    charge(path, **big)
    reported = 0
    for delay in delays:
        one = Worker()
        for _ in range(300):
            one.ask(path=str(path), **big)
        time.sleep(delay)
        one.process.kill()
        receipts = []
        while (receipt := one.answer()) is not None:
            receipts.append(receipt)
        one.end()
        view = ledger.read(path)
        assert view.intact
        assert all(view.holds(each["position"], each["hash"]) for each in receipts)
        reported += len(receipts)
    return reported


def test_every_charge_that_was_reported_before_a_kill_at_any_moment_is_in_the_ledger(tmp_path):
    assert killed_at_any_moment(tmp_path / "spent.db", [0.05, 0.11, 0.173]) > 0


@pytest.mark.long
def test_every_charge_reported_before_any_of_sixty_kills_is_in_the_ledger(tmp_path):
    assert killed_at_any_moment(tmp_path / "spent.db", [0.02 + 0.0037 * n for n in range(60)]) > 0


def test_an_interruption_leaves_neither_a_charge_nor_a_lock(tmp_path):
    charge(tmp_path / "spent.db")

    def interrupted(step):
        if step == "head moved":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        charge(tmp_path / "spent.db", _step=interrupted)
    assert charge(tmp_path / "spent.db", patience=0.1).spent == 2 * QUARTER


def test_an_interruption_while_a_ledger_is_made_leaves_no_file(tmp_path):
    def interrupted(step):
        if step == "ledger made":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        charge(tmp_path / "spent.db", _step=interrupted)
    assert not list(tmp_path.iterdir())
