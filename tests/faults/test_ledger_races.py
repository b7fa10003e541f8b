"""Processes that race for the last of a budget: exactly as many win as it covers."""

from decimal import Decimal

import pytest

from congenial.privacy import ledger
from support.ledgers import charge, once, workers


def race(crew, path, **said):
    """All of `crew` charge at once; the answers."""
    for one in crew:
        one.ask(path=str(path), **said)
    answers = [one.answer() for one in crew]
    assert all(answer is not None for answer in answers)
    return [answer for answer in answers if answer is not None]


def a_race_for_the_last(crew, path):
    """Room for one more charge: one wins, everybody else is told that the budget is spent."""
    charge(path, amount="0.75")
    answers = race(crew, path)
    won = [answer for answer in answers if "position" in answer]
    lost = [answer for answer in answers if "error" in answer]
    assert len(won) == 1, answers
    assert all(answer["error"] == "BudgetError" and "is spent" in answer["message"] for answer in lost), (
        answers
    )
    view = ledger.read(path)
    assert view.intact
    assert view.datasets[0].spent == 1
    assert view.holds(won[0]["position"], won[0]["hash"])


def a_race_to_begin(crew, path):
    """No ledger yet: one process makes it, and four quarters win."""
    answers = race(crew, path)
    won = [answer for answer in answers if "position" in answer]
    assert len(won) == min(4, len(crew)), answers
    view = ledger.read(path)
    assert view.intact
    assert view.datasets[0].spent == Decimal("0.25") * len(won)
    assert sorted(answer["position"] for answer in won) == [3 + n for n in range(len(won))]


def run_races(folder, many):
    with workers(8) as crew:
        for n in range(many):
            size = 2 + n % 7
            if n % 5:
                a_race_for_the_last(crew[:size], folder / f"{n}.db")
            else:
                a_race_to_begin(crew[:size], folder / f"{n}.db")
    assert not list(folder.glob(".*"))


def test_two_to_eight_processes_never_overspend_and_never_leave_what_one_could_have(tmp_path):
    run_races(tmp_path, 21)


@pytest.mark.long
def test_two_to_eight_processes_never_overspend_in_six_hundred_races(tmp_path):
    run_races(tmp_path, 600)


def test_processes_that_charge_at_once_all_get_their_turn(tmp_path):
    with workers(6) as crew:
        for _ in range(10):
            for one in crew:
                one.ask(path=str(tmp_path / "spent.db"), budget="60", amount="1")
        answers = [one.answer() for one in crew for _ in range(10)]
    assert sorted(answer["position"] for answer in answers if answer) == list(range(3, 63))
    view = ledger.read(tmp_path / "spent.db")
    assert view.intact
    assert view.datasets[0].left == 0


def test_racing_datasets_of_one_ledger_do_not_take_from_each_other(tmp_path):
    with workers(4) as crew:
        for n, one in enumerate(crew):
            for _ in range(5):
                one.ask(path=str(tmp_path / "spent.db"), dataset=f"d{n % 2}")
        answers = [one.answer() for one in crew for _ in range(5)]
    assert sum("position" in answer for answer in answers if answer) == 8
    assert [one.spent for one in ledger.read(tmp_path / "spent.db").datasets] == [1, 1]


@pytest.mark.parametrize("killed_at", ["locked", "head moved"])
def test_a_process_killed_while_it_holds_the_lock_lets_the_next_one_in(tmp_path, killed_at):
    charge(tmp_path / "spent.db")
    steps = []
    charge(tmp_path / "spent.db", _step=steps.append)
    assert once(path=str(tmp_path / "spent.db"), die_at=steps.index(killed_at))[0] is None
    assert charge(tmp_path / "spent.db", patience=1.0).spent == Decimal("0.75")
