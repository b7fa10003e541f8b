"""What is public tells no count: manifests, plans without data, logs and errors of random requests."""

from __future__ import annotations

import json
import logging
import shutil

import pytest

import congenial as cg
from congenial.errors import CongenialError
from congenial.planning import noise
from congenial.requests.reading import read_request
from congenial.tables.table import Table
from support.commands import run, write
from support.random_files import FAULTS, another_source, secrets, told, written

FEW, MANY = range(8), range(200)
ENDINGS = {0, 1, 2}


def said_of(made, folder):
    """Everything that is said of a request to others than the curator, by where it is said."""
    out = folder / "out"
    planned, public = run("plan", made.path), run("plan", made.path, "--without-data")
    audited = run("audit", made.path)
    released = run("release", made.path, "--out", out)
    simulated = run("simulate", made.path, "--draws", "2", "--seed", "1", "--out", folder / "draws.csv")
    said = {
        "plan without data": public.out + public.err,
        "plan without data, json": run("plan", made.path, "--without-data", "--json").out,
        "plan, as the curator sees it": planned.out,
        "errors": "\n".join(done.err for done in (planned, audited, released, simulated)),
        "release": released.out,
    }
    assert {done.code for done in (planned, public, audited, released, simulated)} <= ENDINGS
    assert "Traceback" not in said["errors"]
    assert "should not" not in said["errors"], said["errors"]
    if released.code == 0:
        said["manifest"] = (out / "manifest.json").read_text(encoding="utf-8")
        said["verify"] = str(run("verify", out))
    return said


def spoken(made):
    """What values say of themselves, and the texts of errors where there are any."""
    try:
        request = read_request(made.path)
        table = Table.from_source(request.table, request.unit)
        plan = cg.plan(table, request)
        return "\n".join(map(repr, (request, table, plan, plan.blocks, plan.guarantee, plan.structure)))
    except CongenialError as error:
        return f"{error!r}\n{error}\n{error.__dict__!r}"


@pytest.fixture(autouse=True)
def _short_simulations(monkeypatch):
    monkeypatch.setattr(noise, "_SECONDS", 0.02)


def leaks(folder, seed, caplog, fault=None, most_axes=1):
    """(where something was told, what), whether there was something to hide, and to release."""
    made = written(folder, seed, fault, most_axes)
    hidden = secrets(made)
    with caplog.at_level(logging.DEBUG, logger="congenial"):
        said = said_of(made, folder)
        said["reprs"] = spoken(made)
    said["log"] = caplog.text
    caplog.clear()
    found = {where: told(text, hidden) for where, text in said.items() if told(text, hidden)}
    return found, bool(hidden), "manifest" in said


@pytest.mark.parametrize("seed", FEW)
def test_nothing_public_tells_a_count(tmp_path, caplog, seed):
    found, hides, _ = leaks(tmp_path, seed, caplog)
    assert hides
    assert found == {}


@pytest.mark.parametrize("fault", FAULTS)
def test_no_error_tells_a_count(tmp_path, caplog, fault):
    assert leaks(tmp_path, 3, caplog, fault)[0] == {}


@pytest.mark.long
@pytest.mark.parametrize("first", MANY[::25])
def test_nothing_public_of_two_hundred_requests_tells_a_count(tmp_path, caplog, first):
    """Twenty-five at a time; half of them with a fault."""
    hiding, released = 0, 0
    for seed in range(first, first + 25):
        folder = tmp_path / str(seed)
        folder.mkdir()
        fault = FAULTS[seed % 16] if seed % 16 < len(FAULTS) else None
        found, hides, whole = leaks(folder, seed, caplog, fault, most_axes=2)
        assert found == {}, f"request {seed}"
        hiding, released = hiding + hides, released + whole
        shutil.rmtree(folder)
    assert hiding >= 20
    assert released >= 4


def test_the_scan_finds_a_count_wherever_it_is_told():
    assert told("it is 123,456,789 people", {123456789}) == {123456789}
    assert told('{"count": 123456789}', {123456789, 987654321}) == {123456789}
    assert told("123,456,788 and 23456789", {123456789}) == set()


def test_the_scan_knows_counts_sums_and_slacks_and_leaves_out_what_is_published(tmp_path):
    made = written(tmp_path, 1)
    hidden = secrets(made)
    facts = {
        value
        for fact in _structure(made).facts
        if fact.band is None
        for value in fact.forms.sums(made.counts)
    }
    assert not hidden & facts
    assert set(made.counts[made.counts > 0].tolist()) <= hidden | facts
    draws = run("simulate", made.path, "--draws", "1", "--seed", "1", "--out", tmp_path / "draws.csv")
    assert draws.code == 0
    assert told(str(made.counts.tolist()), hidden)


def _structure(made):
    request = read_request(made.path)
    return cg.plan(Table.from_source(request.table, request.unit), request).structure


def same_for_tables_that_differ(made, seed):
    public, guarantee = said_without_data(made), guarantee_of(made)
    for same_total in (True, False):
        another_source(made, seed + 1000, same_total=same_total)
        assert said_without_data(made) == public
        assert guarantee_of(made) == guarantee
    made.source.unlink()
    assert said_without_data(made) == public


def said_without_data(made):
    """The plan without data as text and as JSON, and what stands beside it."""
    return [run("plan", made.path, "--without-data", *more) for more in ((), ("--json",))]


def guarantee_of(made):
    """The guarantee of the plan with data, or the refusal of one."""
    planned = run("plan", made.path, "--json")
    return json.dumps(json.loads(planned.out)["guarantee"]) if planned.code == 0 else planned.err


@pytest.mark.parametrize("seed", FEW)
def test_guarantee_and_public_plan_are_the_same_for_tables_that_differ(tmp_path, seed):
    same_for_tables_that_differ(written(tmp_path, seed, most_axes=1), seed)


@pytest.mark.long
@pytest.mark.parametrize("seed", MANY)
def test_guarantee_and_public_plan_of_many_requests_are_the_same_for_tables_that_differ(tmp_path, seed):
    same_for_tables_that_differ(written(tmp_path, seed), seed)


def test_a_public_plan_says_nothing_that_a_pilot_measured(tmp_path):
    """Two margins go to a sampler whose acceptance is measured with words that nobody can predict."""
    rows = {"sex": {"categories": ["f", "m", "x"]}, "age": {"categories": ["a", "b", "c", "d"]}}
    table = {"source": "counts.csv", "counts": "n", "axes": rows}
    path = write(tmp_path, None, table=table, invariants=["sex", "age"], bounds=None)
    first, second = (run("plan", path, "--without-data", "--json").out for _ in range(2))
    assert first == second
    assert "twisted columns" in first
    assert "pilot" not in first
