"""What is wrong is answered: a message, the exit code, no traceback, nothing written, no count said."""

import os
from pathlib import Path

import pytest

from support.commands import COUNTS, SECRETS, is_clean_refusal, request, run, write

CELLS = {"query": "cells", "law": "discrete-laplace", "epsilon": 0.5}


def refused(folder: Path, path: Path, *says: str, code: int = 2, secrets=SECRETS) -> None:
    """`plan`, `release` and `simulate` all refuse alike, and leave nothing behind."""
    before = sorted(folder.rglob("*"))
    is_clean_refusal(run("plan", path), code, *says, secrets=secrets)
    is_clean_refusal(run("release", path, "--out", folder / "out"), code, *says, secrets=secrets)
    simulated = ("simulate", path, "--draws", "2", "--seed", "1", "--out", folder / "draws.csv")
    is_clean_refusal(run(*simulated), code, *says, secrets=secrets)
    assert sorted(folder.rglob("*")) == before


# --- the source


@pytest.mark.parametrize("kind", ["missing", "folder", "binary", "empty", "header only"])
def test_a_source_that_is_no_table_is_refused(tmp_path, kind):
    path = write(tmp_path, counts=None)
    source = tmp_path / "counts.csv"
    if kind == "folder":
        source.mkdir()
    elif kind == "binary":
        source.write_bytes(bytes(range(256)) * 20)
    elif kind == "empty":
        source.write_bytes(b"")
    elif kind == "header only":
        source.write_text("sex,age\n")
    refused(tmp_path, path, "counts.csv" if kind != "header only" else "n")


ROWS = {
    "duplicate rows": (COUNTS + "female,0-17,912\n", "same cell"),
    "a negative count": (COUNTS.replace("4711", "-4711"), "negative"),
    "a fractional count": (COUNTS.replace("4711", "4711.5"), ""),
    "a missing count": (COUNTS.replace("4711", ""), ""),
    "an overflowing count": (COUNTS.replace("4711", "4711" + "0" * 20), ""),
    "a count that is text": (COUNTS.replace("4711", "many"), ""),
    "an unknown label": (COUNTS.replace("\nmale,18+", "\nmael,18+"), "mael"),
    "a row too short": (COUNTS + "female\n", ""),
}


@pytest.mark.parametrize("kind", ROWS)
def test_a_source_with_a_row_that_cannot_be_is_refused(tmp_path, kind):
    counts, says = ROWS[kind]
    refused(tmp_path, write(tmp_path, counts), says)


def test_records_without_declared_labels_are_refused(tmp_path):
    table = {"source": "counts.csv", "axes": {"sex": {}, "age": {}}}
    refused(tmp_path, write(tmp_path, "sex,age\nfemale,0-17\n", table=table), "labels: from-source")


def test_a_unit_with_too_many_rows_is_refused_without_a_number(tmp_path):
    axes = {"sex": {"categories": ["female", "male"]}}
    path = write(
        tmp_path,
        "person,sex\n" + "4711,female\n" * 37 + "17,male\n",
        table={"source": "counts.csv", "axes": axes},
        unit={"name": "person", "max_rows": 2, "column": "person"},
    )
    refused(tmp_path, path, "max_rows", "over: drop", secrets=("4711", "37", "36", "35"))


# --- the request


NO_REQUESTS = ["missing", "folder", "empty", "binary", "not YAML", "a list", "a duplicate key"]


@pytest.mark.parametrize("kind", NO_REQUESTS)
def test_a_request_that_is_none_is_refused(tmp_path, kind):
    path = write(tmp_path)
    contents = {
        "empty": b"",
        "binary": bytes(range(256)),
        "not YAML": b"table: {axes: [",
        "a list": b"- table\n",
        "a duplicate key": path.read_bytes() + b"unit: {name: person}\n",
    }
    path.unlink()
    if kind == "folder":
        path.mkdir()
    elif kind != "missing":
        path.write_bytes(contents[kind])
    refused(tmp_path, path)


def test_an_unknown_axis_is_named_with_its_nearest(tmp_path):
    refused(tmp_path, write(tmp_path, invariants=["sx"]), "invariants[0]", "'sx'", "Did you mean 'sex'?")


def test_an_unknown_level_is_named_with_its_nearest(tmp_path):
    axes = {"place": {"levels": ["state", "county"]}}
    table = {"source": "counts.csv", "counts": "n", "axes": axes}
    counts = "state,county,n\nOhio,Athens,4711\nOhio,Lake,912\n"
    path = write(tmp_path, counts, table=table, invariants=[{"place": "staet"}])
    refused(tmp_path, path, "'staet'", "Did you mean 'state'?")


def test_an_unknown_category_is_named_with_its_nearest(tmp_path):
    path = write(tmp_path, invariants=[{"sex": {"women": ["femal"]}}])
    refused(tmp_path, path, "'femal'", "Did you mean 'female'?")


@pytest.mark.parametrize("epsilon", [0, -1, ".inf", ".nan", "much", True, "1e400", None])
def test_an_epsilon_that_is_no_positive_number_is_refused(tmp_path, epsilon):
    said = {**CELLS, "epsilon": epsilon}
    path = write(tmp_path, measurements=[{k: v for k, v in said.items() if v is not None}])
    refused(tmp_path, path, "measurements[0]", "epsilon")


def test_an_empty_list_of_measurements_is_refused(tmp_path):
    refused(tmp_path, write(tmp_path, measurements=[]), "measure")


def test_two_faults_of_different_kinds_are_said_at_once(tmp_path):
    path = write(tmp_path, measurements=[{**CELLS, "law": "discrete-laplac"}], invariants=["sx"], unknown=3)
    refused(tmp_path, path, "3 faults", "'discrete-laplace'", "'sex'", "'unknown'", "line")


@pytest.mark.parametrize("target", ["l2", "l1", "topdown", "multinomial-mode", "l3"])
def test_a_method_that_is_not_built_is_named(tmp_path, target):
    refused(tmp_path, write(tmp_path, method={"project": target}), "method", target)


def test_a_key_that_is_unknown_is_named(tmp_path):
    refused(tmp_path, write(tmp_path, measurments=[CELLS], measurements=None), "measurments", "measurements")


def test_a_query_over_the_source_that_fails_is_refused_without_its_text(tmp_path):
    table = request()["table"] | {"query": "select sex, age, 4711/0 as n, nonsense from source"}
    refused(tmp_path, write(tmp_path, table=table), "query")


# --- facts, bounds, data


def test_a_law_without_normaliser_names_what_is_free(tmp_path):
    refused(tmp_path, write(tmp_path, measurements=[{**CELLS, "query": "sex"}], bounds=None), "age")


def test_bounds_that_conflict_are_refused(tmp_path):
    bounds = [{"query": "total", "at_least": 10}, {"query": "total", "at_most": 5}]
    refused(tmp_path, write(tmp_path, bounds=bounds, invariants=None), "bounds[")


def test_bounds_that_the_data_break_are_refused_without_a_count(tmp_path):
    refused(tmp_path, write(tmp_path, bounds=[{"query": "sex", "at_most": 100}]), "sex=female")


def test_a_structural_zero_that_is_none_is_refused(tmp_path):
    zeros = [{"zeros": {"age": ["0-17"], "sex": ["male"]}}]
    refused(tmp_path, write(tmp_path, bounds=zeros), "zero")


# --- arguments and places


@pytest.mark.parametrize(
    "arguments",
    [
        ["relase", "request.yaml"],
        ["plan"],
        ["plan", "request.yaml", "--with-out-data"],
        ["simulate", "request.yaml", "--draws", "many", "--seed", "1", "--out", "d.csv"],
        ["simulate", "request.yaml", "--draws", "0", "--seed", "1", "--out", "d.csv"],
        ["simulate", "request.yaml", "--draws", "1", "--seed", "1", "--out", "d.xlsx"],
        ["simulate", "request.yaml", "--draws", "1", "--out", "d.csv"],
        ["release", "request.yaml"],
        ["release", "request.yaml", "--out", "out", "--seed", "1"],
        ["release", "request.yaml", "--out", "out", "--engine", "spark"],
        ["verify", "nowhere"],
        ["verify", "."],
        ["infer", "out", "--query", "sex", "--level", "0.9"],
        ["report", "out"],
        ["reproduce", "--json"],
        ["init", "nowhere.csv"],
    ],
)
def test_a_wrong_argument_is_refused(tmp_path, monkeypatch, arguments):
    write(tmp_path)
    monkeypatch.chdir(tmp_path)
    before = sorted(tmp_path.rglob("*"))
    is_clean_refusal(run(*arguments), 2)
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("name", ["report", "infer", "reproduce"])
def test_a_command_that_is_not_built_says_so(name):
    is_clean_refusal(run(name), 2, "not built yet", name)


def test_an_output_that_exists_is_refused_and_untouched(tmp_path):
    path = write(tmp_path)
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine.txt").write_text("a year of work")
    is_clean_refusal(run("release", path, "--out", tmp_path / "out"), 2, "exists already", "--force")
    assert os.listdir(tmp_path / "out") == ["mine.txt"]


def test_simulate_does_not_write_over_its_source_or_its_request(tmp_path):
    path = write(tmp_path)
    done = run("simulate", path, "--draws", "1", "--seed", "1", "--out", tmp_path / "counts.csv")
    is_clean_refusal(done, 2, "exists already")
    assert (tmp_path / "counts.csv").read_text() == COUNTS


def test_init_does_not_write_over_a_request(tmp_path):
    path = write(tmp_path)
    text = path.read_text()
    is_clean_refusal(run("init", tmp_path / "counts.csv", "--out", path), 2, "exists already")
    assert path.read_text() == text
