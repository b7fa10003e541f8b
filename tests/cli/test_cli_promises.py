"""Promises, proofs and ledgers on the command line: charged before the draw, refused in sentences."""

import json
import sqlite3

import pytest

import congenial as cg
from support.commands import Done, is_clean_refusal, run, write

CELLS = {"query": "cells", "law": "discrete-laplace", "share": 1}
GAUSSIAN = {"query": "cells", "law": "discrete-gaussian", "rho": 0.1}
BUDGET = {"ledger": "spent.db", "dataset": "d", "epsilon": 2.5}


def promised(folder, **changes):
    said = {"promise": {"epsilon": 1}, "measurements": [CELLS], "budget": BUDGET}
    return write(folder, **said | changes)


def release(path, out, *more) -> Done:
    return run("release", path, "--out", out, *more)


def test_a_promise_is_met_from_below(tmp_path):
    said = json.loads(run("plan", promised(tmp_path), "--json").out)["guarantee"]
    assert said["proven"]
    assert 1 - 1e-6 <= said["epsilon"] <= 1
    assert said["rho"] is None
    assert said["change"] == "replace"


def test_a_release_is_charged_and_its_manifest_says_so(tmp_path):
    path = promised(tmp_path)
    done = release(path, tmp_path / "out", "--json")
    assert done.code == 0, done
    said = json.loads(done.out)
    ledger = json.loads(run("ledger", tmp_path / "spent.db", "--json").out)
    (account,) = ledger["datasets"]
    assert ledger["intact"]
    assert account["budget"] == 2.5
    assert account["charges"][0]["hash"] == said["charge"]["hash"]
    assert account["charges"][0]["amount"] == said["guarantee"]["epsilon"]
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["charge"] == said["charge"]
    assert "spent.db" not in json.dumps(manifest)
    assert run("verify", tmp_path / "out").code == 0


def test_a_plan_touches_no_budget(tmp_path):
    assert run("plan", promised(tmp_path)).code == 0
    assert not (tmp_path / "spent.db").exists()


def test_a_budget_that_is_spent_refuses_and_writes_nothing(tmp_path):
    path = promised(tmp_path)
    for name in ("one", "two"):
        assert release(path, tmp_path / name).code == 0
    is_clean_refusal(release(path, tmp_path / "three"), 2, "budget of 'd'", "left")
    assert not (tmp_path / "three").exists()
    assert "2" in run("ledger", tmp_path / "spent.db").out


def test_a_folder_that_exists_costs_nothing(tmp_path):
    path = promised(tmp_path)
    (tmp_path / "out").mkdir()
    is_clean_refusal(release(path, tmp_path / "out"), 2, "exists already")
    assert not (tmp_path / "spent.db").exists()


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"budget": {**BUDGET, "epsilon": 3}}, "budget"),
        ({"budget": {"ledger": "spent.db", "dataset": "d", "rho": 1}}, "rho"),
    ],
)
def test_another_budget_or_currency_than_the_ledgers_is_refused(tmp_path, changes, says):
    assert release(promised(tmp_path), tmp_path / "one").code == 0
    is_clean_refusal(release(promised(tmp_path, **changes), tmp_path / "two"), 2, says)


def test_a_file_that_is_no_ledger_is_refused(tmp_path):
    path = promised(tmp_path)
    (tmp_path / "spent.db").write_text("a year of work" * 100)
    is_clean_refusal(release(path, tmp_path / "out"), 2, "spent.db")
    is_clean_refusal(run("ledger", tmp_path / "spent.db"), 2, "spent.db")
    is_clean_refusal(run("ledger", tmp_path / "nowhere.db"), 2, "nowhere.db")


def test_a_broken_chain_is_shown_and_refused(tmp_path):
    path = promised(tmp_path)
    assert release(path, tmp_path / "out").code == 0
    with sqlite3.connect(tmp_path / "spent.db") as link:
        tables = [r[0] for r in link.execute("select name from sqlite_master where type='trigger'")]
        for name in tables:
            link.execute(f"drop trigger {name}")
    link.close()
    done = run("ledger", tmp_path / "spent.db", "--json")
    assert done.code == 2
    assert json.loads(done.out)["intact"] is False
    is_clean_refusal(release(path, tmp_path / "two"), 2, "spent.db")


def test_what_is_not_proven_is_planned_simulated_and_not_released(tmp_path):
    path = promised(tmp_path, promise=None, budget=None, measurements=[GAUSSIAN])
    shown = run("plan", path, "--json")
    assert shown.code == 0
    assert json.loads(shown.out)["guarantee"]["proven"] is False
    assert "note:" in shown.err
    simulated = run("simulate", path, "--draws", "2", "--seed", "1", "--out", tmp_path / "draws.csv")
    assert simulated.code == 0
    is_clean_refusal(release(path, tmp_path / "out"), 2, "unproven: allow")


def test_what_is_not_proven_is_released_where_that_is_allowed_and_says_so_first(tmp_path):
    changes = {"promise": None, "measurements": [GAUSSIAN], "unproven": "allow"}
    assert release(promised(tmp_path, budget=None, **changes), tmp_path / "out").code == 0
    said = json.loads((tmp_path / "out" / "manifest.json").read_text(encoding="utf-8"))
    assert said["guarantee"]["proven"] is False
    assert said["guarantee"]["epsilon"] is None
    assert said["guarantee"]["rho"] is None
    assert said["notices"][0] == said["guarantee"]["sentence"]
    assert run("verify", tmp_path / "out").code == 0
    is_clean_refusal(release(promised(tmp_path, **changes), tmp_path / "two"), 2, "ledger")


def test_a_gaussian_without_bounds_is_charged_in_rho(tmp_path):
    budget = {"ledger": "spent.db", "dataset": "d", "rho": 1}
    path = promised(tmp_path, promise=None, bounds=None, measurements=[GAUSSIAN], budget=budget)
    done = release(path, tmp_path / "out", "--json")
    assert done.code == 0, done
    said = json.loads(done.out)
    assert said["guarantee"]["epsilon"] is None
    assert said["charge"]["currency"] == "rho"
    assert said["charge"]["amount"] == said["guarantee"]["rho"]


def test_a_release_without_a_ledger_says_that_none_was_kept(tmp_path):
    done = release(promised(tmp_path, budget=None), tmp_path / "out")
    assert "No ledger was kept" in done.out


@pytest.mark.parametrize(
    "changes",
    [
        {"measurements": [{**CELLS, "share": 0.5}]},
        {"measurements": [{"query": "cells", "law": "discrete-laplace", "epsilon": 1}]},
        {"promise": {"rho": 1}},
        {"measurements": [{"query": "cells", "law": "discrete-gaussian", "share": 1}], "promise": {"rho": 1}},
        {"invariants": ["cells"]},
    ],
)
def test_a_promise_that_cannot_be_kept_is_refused(tmp_path, changes):
    path = promised(tmp_path, budget=None, **changes)
    is_clean_refusal(run("plan", path), 2)
    is_clean_refusal(release(path, tmp_path / "out"), 2)


def test_a_guarantee_that_was_made_smaller_does_not_verify(tmp_path):
    from congenial.releases import manifest

    assert release(promised(tmp_path), tmp_path / "out").code == 0
    place = tmp_path / "out" / "manifest.json"
    said = json.loads(place.read_text(encoding="utf-8"))
    said["guarantee"]["epsilon"] /= 2
    said["digest"] = manifest.digest(said)
    place.write_bytes(manifest.to_bytes(said))
    done = run("verify", tmp_path / "out")
    assert done.code == 2
    assert "epsilon" in done.out


def test_audit_says_what_the_facts_disclose(tmp_path):
    counts = "sex,age,n\nfemale,0-17,4711\nfemale,18+,0\nmale,0-17,0\nmale,18+,3\n"
    path = write(tmp_path, counts, invariants=["sex"])
    done = run("audit", path)
    assert done.code == 0, done
    assert "curator" in done.err
    assert "sex=male" in done.out
    assert "4711" not in done.out
    said = json.loads(run("audit", path, "--json").out)
    assert said["verdict"] == "nothing disrupted"
    assert {"fact": "sex", "label": "sex=male", "value": 3} in said["small_counts"]


def test_audit_without_data_opens_no_source(tmp_path):
    path = write(tmp_path, counts=None, invariants=["sex"])
    done = run("audit", path, "--without-data", "--json")
    assert done.code == 0, done
    assert "small_counts" not in json.loads(done.out)


def test_facts_that_leave_nothing_to_protect_are_refused(tmp_path):
    path = write(tmp_path, invariants=["cells"])
    for command in ("audit", "plan"):
        is_clean_refusal(run(command, path), 2, "nothing")


def test_a_suppressed_release_says_nothing_of_any_count(tmp_path):
    path = write(tmp_path, method="suppress", invariants=["total", "sex"], bounds=None)
    done = release(path, tmp_path / "out")
    assert done.code == 0, done
    assert [p.name for p in (tmp_path / "out").iterdir()] == ["manifest.json"]
    text = (tmp_path / "out" / "manifest.json").read_text(encoding="utf-8")
    said = json.loads(text)
    assert said["invariants"] == []
    assert said["guarantee"]["epsilon"] == 0
    for secret in ("4711", "83", "912", "2718", "8424", "4794", "3630"):
        assert secret not in done.out + done.err
        assert secret not in json.dumps({k: v for k, v in said.items() if k not in ("digest", "versions")})
    assert run("verify", tmp_path / "out").code == 0
    released = cg.load(tmp_path / "out")
    with pytest.raises(cg.ArgumentError, match="suppress"):
        released.table  # noqa: B018


def test_a_suppressed_release_with_a_table_beside_it_does_not_verify(tmp_path):
    path = write(tmp_path, method="suppress", invariants=None, bounds=None)
    assert release(path, tmp_path / "out").code == 0
    (tmp_path / "out" / "table.csv").write_text("sex,age,count\n")
    assert run("verify", tmp_path / "out").code == 2


def test_nothing_can_be_simulated_of_a_suppressed_release(tmp_path):
    path = write(tmp_path, method="suppress", invariants=None, bounds=None)
    out = tmp_path / "draws.csv"
    is_clean_refusal(run("simulate", path, "--draws", "1", "--seed", "1", "--out", out), 2, "suppress")
    assert not out.exists()


def test_the_audit_of_a_suppressed_request_says_that_nothing_is_disclosed(tmp_path):
    path = write(tmp_path, method="suppress", invariants=["sex"], bounds=None)
    done = run("audit", path)
    assert done.code == 0, done
    assert "nothing is disclosed" in done.out
    assert json.loads(run("audit", path, "--json").out)["guarantee"]["epsilon"] == 0
