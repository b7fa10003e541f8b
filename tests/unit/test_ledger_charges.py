"""The ledger as its caller sees it: charges, refusals, what is read back."""

import json
from datetime import UTC, datetime
from decimal import Decimal

import pytest

from congenial.errors import ArgumentError, BudgetError
from congenial.privacy import ledger
from congenial.privacy.composition import TableClass
from congenial.privacy.ledger import amounts, opening
from support.ledgers import TOTAL, charge


def test_the_first_charge_makes_the_ledger_and_opens_the_budget_and_says_so(tmp_path):
    receipt = charge(tmp_path / "spent.db")
    assert "was begun" in receipt.notices[0]
    assert "opened a budget of epsilon 1" in receipt.notices[1]
    assert charge(tmp_path / "spent.db").notices == ()


def test_a_misspelt_dataset_opens_a_second_budget_and_the_notice_names_the_near_one(tmp_path):
    charge(tmp_path / "spent.db", dataset="census-2010")
    (notice,) = charge(tmp_path / "spent.db", dataset="census-2O10").notices
    assert "Did you mean 'census-2010'?" in notice


def test_charges_add_exactly_and_the_receipt_says_what_is_left(tmp_path):
    for _ in range(2):
        charge(tmp_path / "spent.db", amount=0.1)
    receipt = charge(tmp_path / "spent.db", amount=0.1)
    assert (receipt.spent, receipt.left) == (Decimal("0.3"), Decimal("0.7"))


def test_ten_tenths_fill_a_budget_of_one_and_nothing_more_fits(tmp_path):
    for _ in range(10):
        charge(tmp_path / "spent.db", amount=0.1)
    with pytest.raises(BudgetError, match="is spent: no further release"):
        charge(tmp_path / "spent.db", amount=0.1)
    assert ledger.read(tmp_path / "spent.db").datasets[0].spent == 1


def test_a_release_that_overdraws_by_a_millionth_of_the_budget_fits_and_one_that_overdraws_by_more_does_not(
    tmp_path,
):
    charge(tmp_path / "a.db", budget="4", amount="4.000004")
    assert ledger.read(tmp_path / "a.db").datasets[0].left == 0
    with pytest.raises(BudgetError, match=r"costs epsilon 4\.00000400000001, and 4 of 4 is left"):
        charge(tmp_path / "b.db", budget="4", amount="4.00000400000001")


def test_what_is_forgiven_is_forgiven_once_and_not_at_every_charge(tmp_path):
    charge(tmp_path / "spent.db", amount="0.5000005")
    charge(tmp_path / "spent.db", amount="0.5000005")
    with pytest.raises(BudgetError):
        charge(tmp_path / "spent.db", amount="0.0000001")


def test_a_release_that_says_nothing_costs_nothing_even_when_the_budget_is_spent(tmp_path):
    charge(tmp_path / "spent.db", amount=1)
    assert charge(tmp_path / "spent.db", amount=0.0).left == 0


def test_a_refused_charge_leaves_no_account_behind(tmp_path):
    with pytest.raises(BudgetError, match="does not cover"):
        charge(tmp_path / "spent.db", amount=2)
    assert ledger.read(tmp_path / "spent.db").datasets == ()


def test_another_budget_is_refused_with_the_one_that_the_ledger_has(tmp_path):
    charge(tmp_path / "spent.db", budget=4.0)
    charge(tmp_path / "spent.db", budget="4")
    with pytest.raises(BudgetError, match="Write `epsilon: 4` under `budget`") as refused:
        charge(tmp_path / "spent.db", budget=5)
    assert "and the request says 5" in str(refused.value)
    assert refused.value.exit_code == 2


def test_another_currency_is_refused_with_the_one_that_the_ledger_has(tmp_path):
    charge(tmp_path / "spent.db", currency="rho", budget="0.5")
    with pytest.raises(BudgetError, match=r"Write `rho: 0\.5` under `budget`"):
        charge(tmp_path / "spent.db", currency="epsilon", budget="0.5")


def test_datasets_of_one_ledger_have_budgets_of_their_own(tmp_path):
    charge(tmp_path / "spent.db", dataset="a", amount=1)
    charge(tmp_path / "spent.db", dataset="b", currency="rho", budget=2, amount=1)
    view = ledger.read(tmp_path / "spent.db")
    assert [(one.dataset, one.currency, one.left) for one in view.datasets] == [
        ("a", "epsilon", 0),
        ("b", "rho", 1),
    ]


def test_json_is_what_the_contract_says_and_prints_round_decimals(tmp_path):
    when = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    for amount in (0.1, 0.2):
        charge(tmp_path / "spent.db", amount=amount, time=when, title="Counties", delta=1e-24)
    said = ledger.to_json(ledger.read(tmp_path / "spent.db"))
    assert said["intact"] is True
    (account,) = said["datasets"]
    asked_for = ("dataset", "currency", "budget", "spent", "left")
    assert [account[key] for key in asked_for] == ["d", "epsilon", 1.0, 0.3, 0.7]
    assert account["delta"] == 2e-24
    assert [
        {key: one[key] for key in ("time", "amount", "class", "title")} for one in account["charges"]
    ] == [
        {"time": "2026-01-02T03:04:05Z", "amount": amount, "class": TOTAL, "title": "Counties"}
        for amount in (0.1, 0.2)
    ]
    assert json.loads(json.dumps(said)) == said


def test_releases_with_other_facts_are_added_and_the_ledger_says_for_which_tables(tmp_path):
    one = TableClass.of(["total"], units=1).text
    two = TableClass.of(["total", {"place": "state"}], ["nonnegative"], units=2).text
    charge(tmp_path / "spent.db", equivalence_class=one)
    (notice,) = charge(tmp_path / "spent.db", equivalence_class=two).notices
    assert "spoke about other tables" in notice
    assert charge(tmp_path / "spent.db", equivalence_class=one).notices == ()
    view = ledger.read(tmp_path / "spent.db")
    (account,) = view.datasets
    both = TableClass.of(["total", {"place": "state"}], ["nonnegative"], units=1)
    assert account.speaks_about == both
    assert ledger.to_json(view)["datasets"][0]["classes"] == [one, two]
    said = ledger.explain(view)
    assert 'agree on total, {"place":"state"}, and both satisfy nonnegative' in said
    assert "2 different classes" in said
    assert "different numbers of units" in said


def test_a_ledger_is_told_in_words(tmp_path):
    charge(tmp_path / "spent.db", amount=0.3, title="Counties by sex", time="2026-01-02")
    said = ledger.explain(ledger.read(tmp_path / "spent.db")).splitlines()
    assert said[0].endswith("spent.db: its chain is whole.")
    assert said[2] == "d: epsilon 0.7 left of 1 (0.3 spent), opened 2026-01-02"
    assert said[3].split() == ["2026-01-02", "epsilon", "0.3", "Counties", "by", "sex"]
    assert said[4] == "  The sum speaks about tables that agree on total."


def test_texts_of_any_script_come_back_as_they_were(tmp_path):
    title = "Bevölkerung, 人口, e\u0301 – 'quoted' \"twice\" \n\t{}"
    charge(tmp_path / "spent.db", title=title, dataset="données", about={"contact": title, "n": [1, None]})
    (account,) = ledger.read(tmp_path / "spent.db").datasets
    assert (account.dataset, account.charges[0].title) == ("données", title)
    assert account.charges[0].about == {"contact": title, "n": [1, None]}


def test_a_path_with_marks_that_urls_use_is_a_path(tmp_path):
    path = tmp_path / "a b%20?mode=memory#x&cache=shared.db"
    charge(path)
    assert path.stat().st_size > 0
    assert ledger.read(path).datasets[0].spent == Decimal("0.25")


def test_no_file_but_the_ledger_is_left_behind(tmp_path):
    charge(tmp_path / "spent.db")
    charge(tmp_path / "spent.db")
    ledger.read(tmp_path / "spent.db")
    assert [path.name for path in tmp_path.iterdir()] == ["spent.db"]


def test_a_receipt_proves_that_its_charge_is_still_there(tmp_path):
    receipts = [charge(tmp_path / "spent.db") for _ in range(3)]
    view = ledger.read(tmp_path / "spent.db")
    assert all(view.holds(one.position, one.hash) for one in receipts)
    assert not view.holds(receipts[0].position, receipts[1].hash)
    assert not view.holds(99, receipts[1].hash)


@pytest.mark.parametrize(
    ("said", "match"),
    [
        ({"amount": float("nan")}, "finite number from 0 up"),
        ({"amount": float("inf")}, "finite number from 0 up"),
        ({"amount": -0.1}, "finite number from 0 up"),
        ({"amount": True}, "not a number"),
        ({"amount": "much"}, "not a number"),
        ({"amount": 5e-324}, "more digits"),
        ({"budget": 0}, "covers no release"),
        ({"budget": None}, "not a number"),
        ({"currency": "euro"}, "epsilon or rho"),
        ({"dataset": " "}, "no name"),
        ({"title": 7}, "as text"),
        ({"about": {"x": float("nan")}}, "JSON"),
        ({"about": {"x": object()}}, "JSON"),
        ({"delta": -1}, "finite number from 0 up"),
    ],
)
def test_an_argument_that_makes_no_charge_is_refused_before_a_file_is_made(tmp_path, said, match):
    with pytest.raises(ArgumentError, match=match):
        charge(tmp_path / "spent.db", **said)
    assert not list(tmp_path.iterdir())


def test_a_path_that_names_nothing_is_refused():
    for path in ("", "a\0b"):
        with pytest.raises(ArgumentError, match="names no file"):
            charge(path)


def test_sums_are_shown_rounded_against_whoever_spends():
    awkward = Decimal("0.1234567890123456789")
    assert Decimal(amounts.said(awkward, up=True)) > awkward > Decimal(amounts.said(awkward, up=False))
    assert amounts.said(Decimal("0.3"), up=True) == "0.3"
    assert amounts.said(Decimal("4"), up=False) == "4"
    assert amounts.said(Decimal("0.30000000000000004"), up=True) == "0.30000000000000004"


def test_a_commit_is_on_the_disk_before_the_charge_returns(tmp_path, monkeypatch):
    seen = []
    prepare = opening.prepare_to_write

    def noting(link):
        prepare(link)
        asked = ("journal_mode", "synchronous")
        seen.extend(link.execute(f"PRAGMA {pragma}").fetchone()[0] for pragma in asked)

    monkeypatch.setattr(opening, "prepare_to_write", noting)
    charge(tmp_path / "spent.db")
    assert seen == ["wal", 3], "a write-ahead log, synced at every commit (3 is EXTRA, FULL and more)"


def test_every_entry_stands_in_the_view_with_its_hash(tmp_path):
    for _ in range(8):
        charge(tmp_path / "spent.db", amount="0.001")
    view = ledger.read(tmp_path / "spent.db")
    assert len(view.datasets[0].charges) == 8
    assert len(view.hashes) == 10
