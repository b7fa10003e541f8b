"""A ledger that somebody or something changed: what is noticed, and what cannot be."""

import contextlib
import shutil
import sqlite3

import pytest

from congenial.errors import BudgetError, CongenialError
from congenial.privacy import ledger
from congenial.privacy.ledger.chain import BEFORE_THE_FIRST, linked
from support.ledgers import charge, edit


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """Six entries: the ledger's own, an account, four charges with different titles."""
    path = tmp_path_factory.mktemp("model") / "spent.db"
    for title in "abcd":
        charge(path, title=title, amount="0.125")
    return path


@pytest.fixture
def path(model, tmp_path):
    return shutil.copy(model, tmp_path / "spent.db")


REPLACED = "UPDATE entries SET content = replace(content, '{}', '{}') WHERE position = {}"

EDITS = {
    "an amount lowered": (REPLACED.format('"amount":"0.125"', '"amount":"0.001"', 4), 4),
    "a budget raised": (REPLACED.format('"budget":"1"', '"budget":"9"', 2), 2),
    "a currency changed": (REPLACED.format('"epsilon"', '"rho"', 2), 2),
    "a class changed": (REPLACED.format("total", "tot", 5), 5),
    "a title changed": (REPLACED.format('"title":"b"', '"title":"B"', 4), 4),
    "an identity changed": (REPLACED.format('"id":"', '"id":"0', 1), 1),
    "a hash changed": ("UPDATE entries SET hash = upper(hash) WHERE position = 3", 3),
    "a text emptied": ("UPDATE entries SET content = '' WHERE position = 3", 3),
    "a text made bytes": ("UPDATE entries SET content = x'ff00' WHERE position = 3", 3),
    "the last entry deleted": ("DELETE FROM entries WHERE position = 6", 6),
    "the last three deleted": ("DELETE FROM entries WHERE position >= 4", 4),
    "a middle entry deleted": ("DELETE FROM entries WHERE position = 4", 4),
    "the first deleted": ("DELETE FROM entries WHERE position = 1", 1),
    "all deleted": ("DELETE FROM entries", 1),
    "the head deleted": ("DELETE FROM head", 7),
    "the head moved back": ("UPDATE head SET entries = 5", 6),
    "the head made text": ("UPDATE head SET entries = 'six'", 7),
    "the head's hash changed": ("UPDATE head SET hash = 'x'", 6),
    "an entry added by hand": (
        "INSERT INTO entries SELECT 7, content, hash FROM entries WHERE position = 6",
        7,
    ),
}


@pytest.mark.parametrize("name", EDITS)
def test_an_edit_is_seen_where_it_was_made_and_nothing_more_is_charged(path, name):
    statement, at = EDITS[name]
    edit(path, statement)
    view = ledger.read(path)
    assert not view.intact
    assert view.broken_at == at
    assert "BROKEN" in ledger.explain(view)
    assert ledger.to_json(view)["intact"] is False
    with pytest.raises(BudgetError, match="is broken") as refused:
        charge(path)
    assert "put the last good copy back" in str(refused.value)
    assert refused.value.exit_code == 2


def test_swapped_entries_are_seen(path):
    edit(
        path,
        "UPDATE entries SET position = -4 WHERE position = 4",
        "UPDATE entries SET position = 4 WHERE position = 5",
        "UPDATE entries SET position = 5 WHERE position = -4",
    )
    view = ledger.read(path)
    assert (view.intact, view.broken_at) == (False, 4)


def test_a_deleted_tail_with_the_head_moved_along_is_seen(path):
    edit(path, "DELETE FROM entries WHERE position = 6", "UPDATE head SET entries = 5")
    view = ledger.read(path)
    assert (view.intact, view.broken_at) == (False, 5)
    assert "not the one that was written last" in view.why


def test_accounts_stop_before_the_break(path):
    edit(path, EDITS["an amount lowered"][0])
    (account,) = ledger.read(path).datasets
    assert [one.title for one in account.charges] == ["a"]


def test_guards_taken_off_are_seen_even_if_no_entry_was_changed(path):
    edit(path, guards_put_back=False)
    view = ledger.read(path)
    assert not view.intact
    assert "triggers" in view.why
    assert len(view.datasets[0].charges) == 4
    with pytest.raises(BudgetError, match="triggers"):
        charge(path)


def test_a_trigger_that_would_undo_charges_is_seen_before_a_charge_is_made(path):
    trap = "CREATE TRIGGER trap AFTER UPDATE ON head BEGIN UPDATE head SET entries = 6; END"
    edit(path, trap)
    with pytest.raises(BudgetError, match="triggers"):
        charge(path)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE entries SET content = '{}' WHERE position = 3",
        "DELETE FROM entries WHERE position = 6",
        "INSERT OR REPLACE INTO entries VALUES (3, '{}', '')",
        "INSERT INTO entries VALUES (9, '{}', '')",
        "INSERT OR REPLACE INTO head VALUES (1, 3, '')",
        "UPDATE head SET entries = 3",
        "UPDATE head SET entries = 9",
        "DELETE FROM head",
    ],
)
def test_the_file_itself_refuses_to_be_rewritten(path, statement):
    with (
        contextlib.closing(sqlite3.connect(path, isolation_level=None)) as link,
        pytest.raises(sqlite3.IntegrityError, match="only ever added to"),
    ):
        link.execute(statement)
    assert ledger.read(path).intact


def test_tables_that_are_gone_are_a_broken_ledger(path):
    edit(path, "DROP TABLE head", guards_put_back=False)
    for use in (ledger.read, charge):
        with pytest.raises(BudgetError, match="is broken"):
            use(path)


def forge(path):
    """Change an amount and work out every hash again: what a chain without a secret cannot stop."""
    with contextlib.closing(sqlite3.connect(path)) as link:
        texts = [text for (text,) in link.execute("SELECT content FROM entries ORDER BY position")]
    texts[3] = texts[3].replace('"amount":"0.125"', '"amount":"0.001"')
    statements, hash = [], BEFORE_THE_FIRST
    for position, text in enumerate(texts, start=1):
        hash = linked(hash, position, text)
        statements.append(
            f"UPDATE entries SET content = '{text}', hash = '{hash}' WHERE position = {position}"
        )
    edit(path, *statements, f"UPDATE head SET hash = '{hash}'")


def test_a_forger_who_works_out_every_hash_is_caught_by_receipts_alone(path):
    receipt = charge(path)
    forge(path)
    view = ledger.read(path)
    assert view.intact
    assert not view.holds(receipt.position, receipt.hash)


def test_an_old_copy_put_back_is_caught_by_receipts_alone(path, tmp_path):
    shutil.copy(path, tmp_path / "old.db")
    receipt = charge(path)
    assert ledger.read(path).holds(receipt.position, receipt.hash)
    shutil.copy(tmp_path / "old.db", path)
    view = ledger.read(path)
    assert view.intact
    assert not view.holds(receipt.position, receipt.hash)


def test_a_forged_charge_beyond_the_budget_makes_no_sense_and_is_refused(path):
    with contextlib.closing(sqlite3.connect(path)) as link:
        last, text = link.execute("SELECT hash, content FROM entries WHERE position = 6").fetchone()
    text = text.replace('"amount":"0.125"', '"amount":"7"')
    hash = linked(last, 7, text)
    add = f"INSERT INTO entries VALUES (7, '{text}', '{hash}')"
    edit(path, add, f"UPDATE head SET entries = 7, hash = '{hash}'")
    view = ledger.read(path)
    assert (view.intact, view.broken_at) == (False, 7)
    with pytest.raises(BudgetError, match="not one that this package writes"):
        charge(path)


def seen(path):
    """What a reader learns: None if the damage was noticed, else the accounts."""
    try:
        view = ledger.read(path, patience=0.1)
    except CongenialError:
        return None
    return view.datasets if view.intact else None


def test_a_file_that_was_cut_off_anywhere_is_noticed(path):
    whole = path.read_bytes()
    before = ledger.read(path).datasets
    assert before
    page = 4096
    sizes = {1, 15, 16, 50, 99, 100, 512, 1024, len(whole) - 1, len(whole) // 2}
    for size in sorted(sizes | {*range(page, len(whole), page), *range(page - 1, len(whole), page)}):
        path.write_bytes(whole[:size])
        assert seen(path) is None, f"a ledger cut to {size} bytes passed for whole"
        with pytest.raises(BudgetError):
            charge(path, patience=0.1)
        assert path.stat().st_size == size


def damage_is_noticed(path, every, mask=0x55):
    whole = path.read_bytes()
    before = ledger.read(path).datasets
    noticed = 0
    for at in every(len(whole)):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ mask]) + whole[at + 1 :])
        found = seen(path)
        assert found in (None, before), f"byte {at} changed what the ledger says, unnoticed"
        noticed += found is None
    assert noticed > 0


def test_a_damaged_byte_is_noticed_or_changes_nothing_that_is_read(path):
    damage_is_noticed(path, lambda size: [*range(0, 110, 3), *range(110, size, 211)])


@pytest.mark.long
@pytest.mark.parametrize("mask", [0x01, 0x55, 0x80, 0xFF])
def test_any_damaged_byte_of_the_file_is_noticed_or_changes_nothing_that_is_read(path, mask):
    damage_is_noticed(path, range, mask)
