"""A first request for a file: it is read without a fault, and says what to check."""

import csv
import io

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from congenial.errors import CongenialError, OutputError, SourceError
from congenial.requests.init import write_request
from congenial.requests.nodes import plain
from congenial.requests.reading import read_request, read_text
from congenial.requests.yaml_out import flow, natural, scalar
from congenial.requests.yaml_text import parse
from congenial.tables.sources import declared_domain

FEW = settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def write(path, header, rows):
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(header)
        writer.writerows(rows)


def test_a_file_of_counts_gets_its_axes_with_their_labels(tmp_path):
    ages = ["5-9", "10-14", "0-4"]
    write(tmp_path / "c.csv", ["sex", "age", "n"], [[s, a, 71] for s in ("m", "f") for a in ages])
    text = write_request(tmp_path / "c.csv", tmp_path / "r.yaml")
    request = read_request(tmp_path / "r.yaml")
    assert request.table.counts == "n"
    assert declared_domain(request.table).shape == (2, 3)
    assert request.table.axes[1].categories == ("0-4", "5-9", "10-14")
    assert "71" not in text
    assert "becomes public" in text


def test_a_column_that_no_row_needs_to_be_told_apart_is_left_out_and_named(tmp_path):
    rows = [[a, "yes" if a > "b" else "no", s, 5] for a in "abcd" for s in "mf"]
    write(tmp_path / "c.csv", ["age", "voting", "sex", "count"], rows)
    text = write_request(tmp_path / "c.csv", tmp_path / "r.yaml")
    assert [axis.name for axis in read_request(tmp_path / "r.yaml").table.axes] == ["age", "sex"]
    assert "not used: voting" in text


def test_nested_columns_become_a_hierarchy_with_a_domain_file(tmp_path):
    rows = [[f"S{s}", f"C{s}{c}", 3] for s in range(6) for c in range(4)]
    write(tmp_path / "c.csv", ["state", "county", "population"], rows)
    write_request(tmp_path / "c.csv", tmp_path / "first.yaml")
    table = read_request(tmp_path / "first.yaml").table
    assert table.axes[0].levels == ("state", "county")
    assert table.axes[0].domain == tmp_path / "first.place.csv"
    assert declared_domain(table).axes[0].size == 24


def test_records_get_a_unit_and_a_loud_word_on_labels(tmp_path):
    rows = [[n, "mf"[n % 2], "abc"[n % 3]] for n in range(60)]
    write(tmp_path / "p.csv", ["person", "sex", "group"], rows)
    text = write_request(tmp_path / "p.csv", tmp_path / "r.yaml")
    request = read_request(tmp_path / "r.yaml")
    assert request.table.counts is None
    assert [axis.name for axis in request.table.axes] == ["sex", "group"]
    assert not request.unit.assumed
    assert "!!! CHECK THESE LABELS" in text
    assert "not used: person" in text


def test_a_long_list_of_labels_goes_to_a_file(tmp_path):
    write(tmp_path / "c.csv", ["zone", "n"], [[f"z{i}", i] for i in range(41)])
    write_request(tmp_path / "c.csv", tmp_path / "r.yaml")
    assert (tmp_path / "r.zone.csv").read_text().splitlines()[:3] == ["zone", "z0", "z1"]
    assert declared_domain(read_request(tmp_path / "r.yaml").table).cells == 41


def test_names_that_mean_something_are_changed_and_columns_kept(tmp_path):
    rows = [[a, b, c, 4] for a in "xy" for b in "uv" for c in "pq"]
    write(tmp_path / "c.csv", ["total", "cells", "null", "n"], rows)
    write_request(tmp_path / "c.csv", tmp_path / "r.yaml")
    axes = read_request(tmp_path / "r.yaml").table.axes
    assert [axis.name for axis in axes] == ["total_", "cells_", "null"]
    assert [axis.column for axis in axes] == ["total", "cells", None]


def test_labels_that_yaml_would_change_come_back_as_they_stand(tmp_path):
    labels = [
        "01001",
        "no",
        "1:30",
        "a: b",
        "# x",
        "'q'",
        '"',
        "[x]",
        "{",
        "*a",
        "é",
        "x,y",
        "null",
        "-",
        "> 65",
    ]
    write(tmp_path / "c.csv", ["code", "n"], [[label, 1] for label in labels])
    write_request(tmp_path / "c.csv", tmp_path / "r.yaml")
    assert sorted(read_request(tmp_path / "r.yaml").table.axes[0].categories) == sorted(labels)


def test_nothing_is_written_over_unless_it_is_forced(tmp_path):
    write(tmp_path / "c.csv", ["zone", "n"], [[f"z{i}", i] for i in range(41)])
    (tmp_path / "r.zone.csv").write_text("mine")
    with pytest.raises(OutputError, match=r"r\.zone\.csv exists already"):
        write_request(tmp_path / "c.csv", tmp_path / "r.yaml")
    assert not (tmp_path / "r.yaml").exists()
    write_request(tmp_path / "c.csv", tmp_path / "r.yaml", force=True)
    assert (tmp_path / "r.zone.csv").read_text() != "mine"


def test_without_a_place_to_write_to_the_text_alone_comes_back(tmp_path, monkeypatch):
    write(tmp_path / "c.csv", ["sex", "n"], [["m", 1], ["f", 2]])
    monkeypatch.chdir(tmp_path)
    text = write_request("c.csv")
    assert [path.name for path in tmp_path.iterdir()] == ["c.csv"]
    assert read_text(text, tmp_path).table.source == "c.csv"


def test_a_source_that_is_none_is_an_error(tmp_path):
    with pytest.raises(CongenialError):
        write_request(tmp_path / "none.csv")
    (tmp_path / "empty.csv").write_text("")
    with pytest.raises(SourceError):
        write_request(tmp_path / "empty.csv")
    write(tmp_path / "gaps.csv", ["a"], [["x"], [""], ["y"]])
    with pytest.raises(CongenialError):
        write_request(tmp_path / "gaps.csv")


@FEW
@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), min_size=1), min_size=1, max_size=30))
def test_text_written_as_yaml_reads_back_as_it_stands(texts):
    faults = []
    root = parse(f"? {scalar(texts[0])}\n: {{a: {flow(texts, 30)}}}\n", faults)
    assert faults == []
    assert plain(root) == {texts[0]: {"a": texts}}


def test_labels_sort_by_their_numbers():
    assert sorted(["10-14", "5-9", "x", "85+", "0-4"], key=natural) == ["0-4", "5-9", "10-14", "85+", "x"]


def test_domain_files_quote_what_csv_must_quote(tmp_path):
    labels = ['a,"b"', "c\nd"] + [str(i) for i in range(40)]
    write(tmp_path / "c.csv", ["zone", "n"], [[label, 1] for label in labels])
    write_request(tmp_path / "c.csv", tmp_path / "r.yaml")
    written = (tmp_path / "r.zone.csv").read_text(encoding="utf-8")
    assert {row[0] for row in csv.reader(io.StringIO(written))} == {"zone", *labels}
