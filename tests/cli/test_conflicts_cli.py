"""Conflicts on the command line: exit 2, a sentence with where and why, nothing written, no count said."""

import pytest

from support.commands import is_clean_refusal, run, write

HOSPITALS = "hospital,ward,n\nNorth,a,4711\nNorth,b,83\nNorth,c,912\nNorth,d,2718\nSouth,a,17\nSouth,b,1001\n"
SECRETS = ("4711", "912", "2718", "1001", "83", "8424", "1018", "9442")
PLACES = "hospital,ward\nNorth,a\nNorth,b\nNorth,c\nNorth,d\nSouth,a\nSouth,b\n"
TABLE = {
    "source": "counts.csv",
    "counts": "n",
    "axes": {"beds": {"levels": ["hospital", "ward"], "domain": "places.csv"}},
}


def wards(folder, **changes):
    (folder / "places.csv").write_text(PLACES)
    said = {"invariants": None, "bounds": None, **changes}
    return write(folder, HOSPITALS, table=TABLE, **said)


def refused(folder, path, *says, without_data=False):
    before = sorted(folder.rglob("*"))
    commands = [
        ("plan", path),
        ("plan", path, "--json"),
        ("release", path, "--out", folder / "out"),
        ("simulate", path, "--draws", "2", "--seed", "1", "--out", folder / "draws.csv"),
    ]
    if without_data:
        commands.append(("plan", path, "--without-data"))
    for command in commands:
        is_clean_refusal(run(*command), 2, *says, secrets=SECRETS)
    assert sorted(folder.rglob("*")) == before


def test_a_bound_that_a_fact_contradicts_names_both_and_its_line(tmp_path):
    facts = [{"beds": "hospital"}]
    bounds = ["nonnegative", {"query": {"beds": "ward"}, "at_most": 20}]
    refused(
        tmp_path,
        wards(tmp_path, invariants=facts, bounds=bounds),
        "bounds[1]",
        "line ",
        "'{beds: ward} at_most 20' cannot hold together with the fact '{beds: hospital}'",
        "leaves at most 80 over beds=North/a; beds=North/b; beds=North/c and 1 more.",
        "at beds=North, and is to be published exactly",
        "Raise the bound or drop it, or drop the fact.",
        "docs/how-to/conflicting-bounds.md",
    )


def test_bounds_that_contradict_each_other_are_named_with_and_without_data(tmp_path):
    bounds = [
        {"query": {"beds": "ward"}, "at_least": 100},
        {"query": {"beds": {"north": [["North"]]}}, "at_most": 399},
    ]
    path = wards(tmp_path, bounds=bounds)
    says = (
        "bounds[1]",
        "cannot hold together with '{beds: ward} at_least 100'",
        "asks for at least 400",
        "leaves at most 399 over beds=north",
    )
    refused(tmp_path, path, *says, without_data=True)


def test_a_bound_below_zero_holds_for_no_table(tmp_path):
    path = wards(tmp_path, bounds=[{"query": "total", "at_most": -5}])
    refused(tmp_path, path, "'total at_most -5' cannot hold: no count is negative", without_data=True)


def test_a_bound_that_only_this_table_breaks_names_its_cells(tmp_path):
    path = wards(tmp_path, invariants=["total"], bounds=[{"query": "cells", "at_least": 50}])
    refused(tmp_path, path, "the table breaks the bound 'cells at_least 50' at beds=South/a")
    done = run("plan", path, "--without-data")
    assert done.code == 0, done.err


def test_counts_in_structural_zeros_are_named(tmp_path):
    path = wards(tmp_path, bounds=[{"zeros": {"beds": [["South", "a"]]}}])
    refused(tmp_path, path, "zero by logic: beds=South/a")


@pytest.mark.parametrize(
    "bounds", [None, [{"query": "cells", "at_least": 0}, {"query": "total", "at_least": 1}]]
)
def test_a_law_without_normaliser_names_its_cells_and_what_to_measure(tmp_path, bounds):
    coarse = {"query": {"beds": {"north": [["North"]]}}, "law": "discrete-laplace", "epsilon": 0.5}
    path = wards(tmp_path, measurements=[coarse], bounds=bounds)
    says = ["no normaliser", "Measure `cells`"]
    says += ["beds=South/a; beds=South/b.\n"] if bounds else ["beds=North/a; beds=North/b"]
    refused(tmp_path, path, *says, without_data=True)


def test_a_file_of_forms_that_is_broken_is_named_with_its_number(tmp_path):
    (tmp_path / "spare.csv").write_text("hospital,ward,weight\nNorth,b,1\nNorth,a,-1\n")
    path = wards(tmp_path, bounds=[{"forms": "spare.csv", "name": "spare beds", "at_least": 0}])
    refused(tmp_path, path, "the table breaks the bound 'spare beds at_least 0' at spare beds")
