"""A ledger on a machine that does not cooperate, and files that are no ledgers: what the person is told."""

import contextlib
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from congenial.errors import BudgetError, MachineError
from congenial.privacy import ledger
from congenial.privacy.ledger import making, opening
from support.ledgers import charge, edit, once

needs_modes = pytest.mark.skipif(sys.platform == "win32", reason="modes of files are POSIX")


@pytest.fixture
def shared():
    """A folder that a user other than ours can enter (a test's own folder cannot be)."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    yield folder
    folder.chmod(0o755)
    shutil.rmtree(folder)


def as_a_user_who_may_not(path, do="charge"):
    """The answer of a process that file modes do hold back: root is held back by none."""
    answer, _ = once(do=do, path=str(path), as_nobody=True, patience=0.5)
    assert answer is not None
    return answer


@needs_modes
def test_a_read_only_ledger_is_read_and_not_charged_and_the_message_says_which_permission_is_missing(shared):
    charge(shared / "spent.db")
    (shared / "spent.db").chmod(0o444)
    shared.chmod(0o555)
    answer = as_a_user_who_may_not(shared / "spent.db")
    assert (answer["error"], answer["exit"]) == ("MachineError", 1)
    assert "cannot be written" in answer["message"]
    assert "write permission to the file and to its folder" in answer["message"]
    assert as_a_user_who_may_not(shared / "spent.db", "read") == {"intact": True, "spent": ["0.25"]}
    assert ledger.read(shared / "spent.db").datasets[0].spent == 0.25


@needs_modes
@pytest.mark.parametrize(("file_mode", "folder_mode"), [(0o666, 0o555), (0o444, 0o777)])
def test_a_ledger_or_a_folder_that_cannot_be_written_refuses_the_charge(shared, file_mode, folder_mode):
    charge(shared / "spent.db")
    (shared / "spent.db").chmod(file_mode)
    shared.chmod(folder_mode)
    answer = as_a_user_who_may_not(shared / "spent.db")
    assert (answer["error"], answer["exit"]) == ("MachineError", 1)
    assert as_a_user_who_may_not(shared / "spent.db", "read") == {"intact": True, "spent": ["0.25"]}
    shared.chmod(0o755)
    assert ledger.read(shared / "spent.db").datasets[0].spent == 0.25


@needs_modes
def test_a_new_ledger_in_a_read_only_folder_is_refused_and_leaves_nothing(shared):
    shared.chmod(0o555)
    answer = as_a_user_who_may_not(shared / "spent.db")
    assert (answer["error"], answer["exit"]) == ("MachineError", 1)
    assert "cannot be reached or made" in answer["message"]
    assert not list(shared.iterdir())


@needs_modes
def test_a_file_that_may_not_grow_is_an_error_of_the_machine_and_nothing_is_spent(tmp_path):
    charge(tmp_path / "spent.db")
    answer, _ = once(path=str(tmp_path / "spent.db"), file_limit=20_000)
    assert answer is not None
    assert (answer["error"], answer["exit"]) == ("MachineError", 1)
    assert "nothing was drawn" in answer["message"]
    assert ledger.read(tmp_path / "spent.db").datasets[0].spent == 0.25


def full(link, name):
    """A disk with no room for one more page, as SQLite sees it."""
    pages = link.execute("PRAGMA page_count").fetchone()[0]
    link.execute(f"PRAGMA max_page_count={max(pages, 2)}")


def test_a_full_disk_is_an_error_of_the_machine_and_nothing_is_spent(tmp_path, monkeypatch):
    charge(tmp_path / "spent.db")
    whose = opening._check_whose
    monkeypatch.setattr(opening, "_check_whose", lambda link, name: (whose(link, name), full(link, name)))
    with pytest.raises(MachineError, match=r"the disk is full\nNothing was charged") as refused:
        charge(tmp_path / "spent.db", about={"long": "x" * 20_000})
    assert "Make room and run this again." in str(refused.value)
    monkeypatch.undo()
    assert ledger.read(tmp_path / "spent.db").datasets[0].spent == 0.25
    charge(tmp_path / "spent.db")


def test_a_disk_that_fills_up_at_any_point_never_leaves_a_broken_ledger_or_a_charge_too_few(tmp_path):
    script = Path(__file__).parents[1] / "support" / "ledger_full_disk.py"
    mount = 'mount -t tmpfs -o size=200k none "$0" && exec "$@"'
    command = [
        "unshare",
        "-r",
        "-m",
        "sh",
        "-c",
        mount,
        str(tmp_path),
        sys.executable,
        str(script),
        str(tmp_path),
    ]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    except OSError:
        pytest.skip("a disk of our own takes Linux and `unshare`")
    if "mount:" in done.stderr or "unshare:" in done.stderr:
        pytest.skip("this user may not mount a disk")
    assert done.returncode == 0, done.stderr
    outcomes = json.loads(done.stdout)
    assert {"charged", "MachineError"} == set(outcomes)


def test_a_full_disk_while_a_ledger_is_made_leaves_no_file(tmp_path, monkeypatch):
    prepare = making.prepare_to_make
    monkeypatch.setattr(making, "prepare_to_make", lambda link: (prepare(link), full(link, "")))
    monkeypatch.setattr(making, "TABLES", (*making.TABLES, *(f"CREATE TABLE t{n} (x)" for n in range(9))))
    with pytest.raises(MachineError, match="disk is full"):
        charge(tmp_path / "spent.db")
    assert not list(tmp_path.iterdir())


def test_a_ledger_that_another_program_holds_is_waited_for_and_then_named_as_held(tmp_path):
    charge(tmp_path / "spent.db")
    with contextlib.closing(sqlite3.connect(tmp_path / "spent.db", isolation_level=None)) as link:
        link.execute("BEGIN IMMEDIATE")
        with pytest.raises(MachineError, match="held by another program") as refused:
            charge(tmp_path / "spent.db", patience=0.2)
        assert "Let the other release end" in str(refused.value)
        assert ledger.read(tmp_path / "spent.db").intact
        link.execute("ROLLBACK")
    assert charge(tmp_path / "spent.db").spent == 0.5


def test_a_reader_who_keeps_the_ledger_open_holds_up_no_charge(tmp_path):
    charge(tmp_path / "spent.db")
    with contextlib.closing(sqlite3.connect(tmp_path / "spent.db", isolation_level=None)) as link:
        link.execute("BEGIN")
        link.execute("SELECT count(*) FROM entries").fetchone()
        began = time.monotonic()
        charge(tmp_path / "spent.db", patience=60.0)
        charge(tmp_path / "spent.db", patience=60.0)
        assert time.monotonic() - began < 30
    assert ledger.read(tmp_path / "spent.db").datasets[0].spent == 0.75


def test_a_ledger_of_a_newer_version_is_left_alone(tmp_path):
    charge(tmp_path / "spent.db")
    edit(tmp_path / "spent.db", "PRAGMA user_version = 2")
    for use in (ledger.read, charge):
        with pytest.raises(
            BudgetError, match="is of version 2, and this congenial knows version 1"
        ) as refused:
            use(tmp_path / "spent.db")
        assert "Install a newer congenial" in str(refused.value)


def another_database(path):
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as link:
        link.execute("CREATE TABLE entries (position INTEGER PRIMARY KEY, content TEXT, hash TEXT)")


NO_LEDGERS = {
    "text": lambda path: path.write_text("congenial: 1\nmeasurements: []\n" * 99),
    "short text": lambda path: path.write_text("x"),
    "bytes": lambda path: path.write_bytes(bytes(range(256)) * 64),
    "a database of another program": another_database,
}


@pytest.mark.parametrize("kind", NO_LEDGERS)
def test_a_file_that_is_no_ledger_is_named_as_such_and_left_as_it_is(tmp_path, kind):
    path = tmp_path / "spent.db"
    NO_LEDGERS[kind](path)
    before = path.read_bytes()
    for use in (ledger.read, charge):
        with pytest.raises(BudgetError, match="is not a ledger") as refused:
            use(path)
        assert refused.value.exit_code == 2
    assert path.read_bytes() == before
    assert [one.name for one in tmp_path.iterdir()] == ["spent.db"]


def test_a_folder_is_not_a_ledger(tmp_path):
    for use in (ledger.read, charge):
        with pytest.raises(BudgetError, match="is a folder"):
            use(tmp_path)


@needs_modes
def test_a_device_is_not_a_ledger():
    for use in (ledger.read, charge):
        with pytest.raises(BudgetError, match="is not a ledger"):
            use("/dev/null")


def test_an_empty_file_was_a_ledger_or_never_one_and_is_not_begun_anew(tmp_path):
    (tmp_path / "spent.db").touch()
    for use in (ledger.read, charge):
        with pytest.raises(BudgetError, match="is an empty file") as refused:
            use(tmp_path / "spent.db", patience=0.1)
        assert "Put the last good copy back" in str(refused.value)
    assert (tmp_path / "spent.db").stat().st_size == 0


def test_a_folder_that_does_not_exist_is_named_and_not_made(tmp_path):
    with pytest.raises(BudgetError, match="the folder of the ledger"):
        charge(tmp_path / "no" / "spent.db")
    (tmp_path / "file").write_text("x")
    with pytest.raises(BudgetError, match="the folder of the ledger"):
        charge(tmp_path / "file" / "spent.db")
    assert [one.name for one in tmp_path.iterdir()] == ["file"]


def test_a_ledger_that_does_not_exist_cannot_be_read_and_is_not_made(tmp_path):
    with pytest.raises(BudgetError, match="there is no ledger"):
        ledger.read(tmp_path / "spent.db")
    assert not list(tmp_path.iterdir())


def test_no_text_of_sqlite_passes_through(tmp_path):
    (tmp_path / "a.db").write_bytes(b"x" * 5000)
    charge(tmp_path / "b.db")
    whole = (tmp_path / "b.db").read_bytes()
    (tmp_path / "b.db").write_bytes(whole[:5000])
    for name in ("a.db", "b.db"):
        with pytest.raises(BudgetError) as refused:
            charge(tmp_path / name)
        assert refused.value.__suppress_context__
        assert not any(word in str(refused.value) for word in ("malformed", "not a database", "disk image"))


@needs_modes
def test_where_there_are_no_hard_links_a_ledger_still_appears_whole(tmp_path, monkeypatch):
    def no_links(*_):
        raise PermissionError

    monkeypatch.setattr(os, "link", no_links)
    charge(tmp_path / "spent.db")
    assert charge(tmp_path / "spent.db").spent == 0.5
    assert [one.name for one in tmp_path.iterdir()] == ["spent.db"]


def test_a_ledger_behind_a_link_is_one_ledger(tmp_path):
    charge(tmp_path / "spent.db")
    (tmp_path / "other").mkdir()
    try:
        (tmp_path / "other" / "link.db").symlink_to(tmp_path / "spent.db")
    except OSError:
        pytest.skip("this user may not make symbolic links")
    assert charge(tmp_path / "other" / "link.db").spent == 0.5
    assert ledger.read(tmp_path / "spent.db").datasets[0].spent == 0.5
