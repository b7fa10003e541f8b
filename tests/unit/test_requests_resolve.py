"""What is written down of a request, and what of it may be published."""

import json

import pytest

from congenial.errors import RequestError
from congenial.requests.reading import read_text
from congenial.requests.resolve import public, request_from_resolved, resolve

TEXT = """
about: {title: Counties}
table:
  source: secret-place/counts.csv
  query: select * from source where hidden = 1
  counts: n
  axes:
    sex: {column: secret_column, categories: [female, male]}
    age: {categories: [young, old]}
unit: {name: person}
measurements: [{query: cells, law: discrete-laplace, epsilon: 0.5}]
invariants: [{forms: beds.csv}]
bounds: [{zeros: never.csv}, {forms: beds.csv, at_most: 9}]
budget: {ledger: secret.db, dataset: d, epsilon: 4}
"""


@pytest.fixture
def request_with_files(tmp_path):
    (tmp_path / "beds.csv").write_text("sex,age,weight\nfemale,old,2\nmale,old,-1\n")
    (tmp_path / "never.csv").write_text("age\nyoung\n")
    return read_text(TEXT, tmp_path)


def test_every_key_stands_in_a_resolved_request(request_with_files):
    resolved = resolve(request_with_files)
    assert resolved["unit"] == {
        "name": "person",
        "max_rows": 1,
        "change": "any",
        "column": None,
        "over": "refuse",
    }
    assert resolved["measurements"] == [
        {
            "query": "cells",
            "law": "discrete-laplace",
            "epsilon": 0.5,
            "rho": None,
            "sigma": None,
            "share": None,
        }
    ]
    assert resolved["invariants"] == [{"query": None, "forms": "beds.csv", "band": None, "name": "beds"}]
    assert resolved["method"] == "condition"
    assert resolved["unproven"] == "refuse"
    assert resolved["promise"] is None
    assert resolved["table"]["axes"]["age"]["domain"] is None
    assert resolved["budget"] == {"ledger": "secret.db", "dataset": "d", "epsilon": 4.0, "rho": None}


def test_files_are_named_from_the_folder_of_the_request(request_with_files, tmp_path):
    assert request_from_resolved(resolve(request_with_files), tmp_path) == request_with_files
    with pytest.raises(RequestError, match="does not exist"):
        request_from_resolved(resolve(request_with_files), tmp_path.parent)


def test_what_is_public_names_no_source_and_holds_the_rows_of_its_files(request_with_files, tmp_path):
    found = public(request_with_files)
    text = json.dumps(found)
    for word in ("secret", "hidden", "select", ".csv", ".db", str(tmp_path)):
        assert word not in text
    assert found["table"] is None
    assert found["invariants"][0]["forms"] == [
        {"sex": "female", "age": "old", "weight": 2, "form": ""},
        {"sex": "male", "age": "old", "weight": -1, "form": ""},
    ]
    assert found["bounds"][0]["zeros"] == [{"age": "young"}]
    again = request_from_resolved(found)
    assert again.invariants[0].name == "beds"
    assert public(again) == found


def test_a_unit_that_was_assumed_is_still_assumed_when_it_is_read_again():
    request = read_text(
        "measurements: [{query: cells, law: discrete-laplace, epsilon: 1}]", needs_table=False
    )
    assert resolve(request)["unit"]["assumed"] is True
    assert request_from_resolved(resolve(request)).unit.assumed
