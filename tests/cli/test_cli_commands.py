"""What commands do when all is well."""

import csv
import json
import os
import platform
import stat
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

import congenial as cg
from support.commands import COUNTS, SECRETS, Done, request, run, run_alone, write

AWKWARD = ["01001", "no", "1.0", "1e-2", "1:30", "2020-01-01", "null", "0x1F", "~", "+1", ".5", "ü, „a“"]


def well(done: Done) -> Done:
    assert done.code == 0, done
    assert "Traceback" not in done.err
    return done


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def release(path: Path, out: Path, *more: str) -> Done:
    return well(run("release", path, "--out", out, *more))


# --- plan


def test_plan_prints_blocks_and_how_large_the_noise_will_be(tmp_path):
    done = well(run("plan", write(tmp_path)))
    assert "4 cells" in done.out
    assert "sampler" in done.out
    assert "mean |error|" in done.out


def test_plan_as_json_is_one_document_of_the_published_shape(tmp_path):
    done = well(run("plan", write(tmp_path), "--json"))
    said = json.loads(done.out)
    assert said["guarantee"] is None or {"epsilon", "delta", "rho", "unit", "units"} <= set(said["guarantee"])
    for block in said["blocks"]:
        assert {"cells", "sampler", "certificate", "repeats"} <= set(block)
        assert block["certificate"]["kind"] == "exact"
    assert sum(block["cells"] * block["repeats"] for block in said["blocks"]) == 4


def test_plan_without_data_opens_no_source_and_prints_the_same_bytes(tmp_path):
    path = write(tmp_path, counts=None)
    once, again = (run_alone("plan", path, "--without-data") for _ in range(2))
    well(once)
    assert once == again
    as_json = [well(run("plan", path, "--without-data", "--json")).out for _ in range(2)]
    assert as_json[0] == as_json[1]


def test_plan_without_data_is_the_same_for_two_tables_that_differ(tmp_path):
    path = write(tmp_path)
    once = well(run("plan", path, "--without-data"))
    write(tmp_path, COUNTS.replace("4711", "1"))
    assert run("plan", path, "--without-data") == once


# --- release and verify


def test_a_release_keeps_the_facts_and_verifies(tmp_path):
    path = write(tmp_path, invariants=["total", "sex"])
    done = release(path, tmp_path / "out")
    assert str(tmp_path / "out") in done.out
    assert "spends again" in done.out
    assert sorted(os.listdir(tmp_path / "out")) == ["manifest.json", "table.csv", "table.parquet"]
    found = rows(tmp_path / "out" / "table.csv")
    assert [(r["sex"], r["age"]) for r in found] == [
        ("female", "0-17"), ("female", "18+"), ("male", "0-17"), ("male", "18+")
    ]  # fmt: skip
    assert sum(int(r["count"]) for r in found if r["sex"] == "female") == 4711 + 83
    assert sum(int(r["count"]) for r in found) == 8424
    assert all(int(r["count"]) >= 0 for r in found)
    said = json.loads((tmp_path / "out" / "manifest.json").read_text(encoding="utf-8"))
    assert [fact["values"] for fact in said["invariants"]] == [[8424], [4794, 3630]]
    well(run("verify", tmp_path / "out"))


def test_two_releases_differ_and_neither_is_the_table(tmp_path):
    counts = "sex,age,n\n" + "".join(f"{s},{a},1000\n" for s in ("female", "male") for a in ("0-17", "18+"))
    loud = [{"query": "cells", "law": "discrete-laplace", "epsilon": 0.01}]
    path = write(tmp_path, counts, measurements=loud)
    release(path, tmp_path / "one")
    release(path, tmp_path / "two")
    one, two = ([int(r["count"]) for r in rows(tmp_path / name / "table.csv")] for name in ("one", "two"))
    assert one != two
    assert [1000] * 4 not in (one, two)


def test_a_release_as_json_is_one_document(tmp_path):
    done = release(write(tmp_path), tmp_path / "out", "--json")
    said = json.loads(done.out)
    assert said["folder"] == str(tmp_path / "out")
    assert said["guarantee"] is None or said["guarantee"]["proven"]
    verified = json.loads(well(run("verify", tmp_path / "out", "--json")).out)
    assert verified["holds"] is True


def test_a_release_prints_no_confidential_count(tmp_path):
    path = write(tmp_path, invariants=None)
    done = release(path, tmp_path / "out")
    shown = run("plan", path)
    for secret in SECRETS:
        assert secret not in done.out + done.err + shown.out + shown.err
        assert secret not in (tmp_path / "out" / "manifest.json").read_text(encoding="utf-8")


def test_the_manifest_names_neither_source_nor_query_nor_place(tmp_path):
    table = request()["table"] | {"query": "select * from source where cast(n as bigint) > 0"}
    release(write(tmp_path, table=table), tmp_path / "out")
    text = (tmp_path / "out" / "manifest.json").read_text(encoding="utf-8")
    for secret in ("counts.csv", "bigint", str(tmp_path), platform.node() or "\0"):
        assert secret not in text


def test_force_replaces_a_release_whole(tmp_path):
    path = write(tmp_path)
    release(path, tmp_path / "out")
    before = (tmp_path / "out" / "manifest.json").read_bytes()
    (tmp_path / "out" / "table.csv").unlink()
    release(path, tmp_path / "out", "--force")
    well(run("verify", tmp_path / "out"))
    assert (tmp_path / "out" / "manifest.json").read_bytes() != before
    assert sorted(os.listdir(tmp_path)) == ["counts.csv", "out", "request.yaml"]


def test_force_keeps_what_was_no_release(tmp_path):
    path = write(tmp_path)
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine.txt").write_text("a year of work")
    done = release(path, tmp_path / "out", "--force")
    assert "out.before-1" in done.err
    assert (tmp_path / "out.before-1" / "mine.txt").read_text() == "a year of work"


def test_a_long_path_is_printed_in_one_piece(tmp_path):
    deep = tmp_path / ("a" * 100) / ("b" * 100) / "out"
    done = release(write(tmp_path), deep)
    assert str(deep) in done.out


def test_a_changed_release_does_not_verify(tmp_path):
    release(write(tmp_path), tmp_path / "out")
    with (tmp_path / "out" / "table.csv").open("a") as file:
        file.write("male,18+,1\n")
    done = run("verify", tmp_path / "out")
    assert done.code == 2
    assert "table.csv" in done.out
    assert json.loads(run("verify", tmp_path / "out", "--json").out)["holds"] is False


def test_plain_noise_has_a_method_of_its_own(tmp_path):
    path = write(tmp_path, method="none", invariants=None, bounds=None)
    release(path, tmp_path / "out")
    well(run("verify", tmp_path / "out"))


@pytest.mark.parametrize("extra", [{"bounds": None}, {"invariants": None}])
def test_plain_noise_with_facts_or_bounds_is_an_error(tmp_path, extra):
    done = run("plan", write(tmp_path, method="none", **extra))
    assert done.code == 2
    assert "none" in done.err


# --- labels


def test_labels_stay_what_was_typed(tmp_path):
    text = "code,n\n" + "".join(f'"{label}",{at}\n' for at, label in enumerate(AWKWARD))
    listed = ", ".join(f"'{label}'" if label in ("~", "null") or "," in label else label for label in AWKWARD)
    path = write(tmp_path, text)
    path.write_text(
        "table: {source: counts.csv, counts: n, axes: {code: {categories: [" + listed + "]}}}\n"
        "unit: {name: person}\n"
        "measurements: [{query: cells, law: discrete-laplace, epsilon: 1}]\n",
        encoding="utf-8",
    )
    release(path, tmp_path / "out")
    assert [row["code"] for row in rows(tmp_path / "out" / "table.csv")] == AWKWARD
    assert pq.read_table(tmp_path / "out" / "table.parquet").column("code").to_pylist() == AWKWARD


def test_one_label_under_two_parents_is_two_nodes(tmp_path):
    counts = "state,county,n\nOhio,Lake,5\nIowa,Lake,7\nIowa,Polk,9\n"
    table = {"source": "counts.csv", "counts": "n", "axes": {"place": {"levels": ["state", "county"]}}}
    path = write(tmp_path, counts, table=table, invariants=[{"place": "state"}])
    release(path, tmp_path / "out")
    found = {(r["state"], r["county"]): int(r["count"]) for r in rows(tmp_path / "out" / "table.csv")}
    assert set(found) == {("Ohio", "Lake"), ("Iowa", "Lake"), ("Iowa", "Polk")}
    assert found["Ohio", "Lake"] == 5
    assert found["Iowa", "Lake"] + found["Iowa", "Polk"] == 16


# --- simulate


def simulate(path: Path, out: Path, draws: int = 3, seed: int = 7) -> Done:
    return well(run("simulate", path, "--draws", str(draws), "--seed", str(seed), "--out", out))


def test_simulated_draws_are_those_of_the_python_interface(tmp_path):
    path = write(tmp_path)
    simulate(path, tmp_path / "draws.csv", draws=5)
    found = rows(tmp_path / "draws.csv")
    request = cg.read_request(path)
    table = cg.Table.from_source(request.table, request.unit)
    draws = cg.simulate(table, request, draws=5, seed=7)
    assert draws.shape == (5, 2, 2)
    assert draws.dtype == np.int64
    assert [int(row["count"]) for row in found] == draws.reshape(-1).tolist()
    assert [int(row["draw"]) for row in found] == np.repeat(np.arange(1, 6), 4).tolist()
    assert np.array_equal(cg.simulate(cg.plan(table, request), draws=5, seed=7), draws)
    assert (draws.sum(axis=(1, 2)) == 8424).all()


def test_csv_and_parquet_hold_the_same_draws(tmp_path):
    path = write(tmp_path)
    simulate(path, tmp_path / "draws.csv")
    simulate(path, tmp_path / "draws.parquet")
    table = pq.read_table(tmp_path / "draws.parquet")
    assert table.column_names == ["draw", "sex", "age", "count"]
    as_text = [{key: str(value) for key, value in row.items()} for row in table.to_pylist()]
    assert as_text == rows(tmp_path / "draws.csv")


def test_draws_in_several_batches_are_numbered_through(tmp_path, monkeypatch):
    from congenial import publish

    monkeypatch.setattr(publish, "BATCH", 8)
    simulate(write(tmp_path), tmp_path / "draws.parquet", draws=7)
    table = pq.read_table(tmp_path / "draws.parquet")
    assert table.column("draw").to_pylist() == np.repeat(np.arange(1, 8), 4).tolist()


def test_the_same_seed_writes_the_same_bytes_and_another_seed_does_not(tmp_path):
    path = write(tmp_path)
    for name in ("one.csv", "two.csv"):
        simulate(path, tmp_path / name, draws=50)
    simulate(path, tmp_path / "three.csv", draws=50, seed=8)
    one, two, three = ((tmp_path / f"{name}.csv").read_bytes() for name in ("one", "two", "three"))
    assert one == two != three


@pytest.mark.skipif(os.name != "posix", reason="modes of files")
def test_a_simulation_can_be_read_by_its_owner_alone(tmp_path):
    before = os.umask(0)
    try:
        simulate(write(tmp_path), tmp_path / "draws.csv")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "draws.csv").stat().st_mode) == 0o600


def test_a_simulation_may_be_simulated_again(tmp_path):
    path = write(tmp_path)
    for suffix in ("csv", "parquet"):
        for seed in (1, 2):
            simulate(path, tmp_path / f"draws.{suffix}", seed=seed)


def test_a_simulation_cannot_be_loaded_as_a_release(tmp_path):
    simulate(write(tmp_path), tmp_path / "draws.parquet")
    with pytest.raises(cg.SourceError):
        cg.load(tmp_path / "draws.parquet")


# --- init, schema, demo


def test_a_first_request_plans_as_it_stands(tmp_path):
    (tmp_path / "counts.csv").write_text(COUNTS)
    well(run("init", tmp_path / "counts.csv", "--out", tmp_path / "first.yaml"))
    well(run("plan", tmp_path / "first.yaml"))


def test_the_schema_is_one_document():
    assert json.loads(well(run("schema")).out)["type"] == "object"


def test_the_demo_releases_and_verifies(tmp_path):
    done = well(run("demo", "--out", tmp_path / "demo"))
    assert str(tmp_path / "demo" / "released") in done.out
    assert cg.verify(tmp_path / "demo" / "released").holds
    well(run("plan", tmp_path / "demo" / "release.yaml"))


def test_a_request_as_json_is_read_too(tmp_path):
    write(tmp_path)
    (tmp_path / "request.json").write_text(json.dumps(request()), encoding="utf-8")
    well(run("plan", tmp_path / "request.json"))
