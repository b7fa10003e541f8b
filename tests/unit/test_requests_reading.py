"""Reading requests: labels stay text, several faults come at once, files are told apart from nonsense."""

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from congenial.errors import RequestError
from congenial.laws import DiscreteLaplace
from congenial.requests import json_text, nodes, yaml_text
from congenial.requests.model import Bound, Invariant, Measurement, Promise, Unit
from congenial.requests.reading import read_request, read_text
from congenial.tables.queries import CELLS, TOTAL, AtLevel, Groups, Query

FEW = settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])

AXES = """
table:
  source: c.csv
  counts: n
  axes:
    sex: {categories: [female, male]}
    age: {categories: [young, old]}
"""
MEASURED = "measurements: [{query: cells, law: discrete-laplace, epsilon: 0.5}]\n"


def faults_of(text, kind="yaml"):
    with pytest.raises(RequestError) as caught:
        read_text(text, kind=kind)
    return [(fault.where, fault.line) for fault in caught.value.faults]


def test_a_request_becomes_the_values_of_the_model(tmp_path):
    text = AXES + (
        "unit: {name: household, max_rows: 2, change: replace}\n"
        "promise: {epsilon: 1}\n"
        "measurements:\n"
        "  - {query: cells, law: discrete-laplace, share: 0.75}\n"
        "  - {query: sex, law: discrete-laplace, share: 0.25}\n"
        "invariants:\n"
        "  - total\n"
        "  - {query: {age: {elder: [old]}}, band: 10}\n"
        "bounds:\n"
        "  - nonnegative\n"
        "  - {query: {sex: sex}, at_most: 100}\n"
    )
    request = read_text(text, tmp_path)
    elder = Query((("age", Groups((("elder", (("old",),)),))),))
    assert request.unit == Unit("household", 2, "replace")
    assert request.promise == Promise(epsilon=1.0)
    assert request.measurements[0] == Measurement(CELLS, DiscreteLaplace(share=0.75))
    assert [m.line for m in request.measurements] == [11, 12]
    assert request.invariants == (Invariant(TOTAL), Invariant(elder, band=10))
    assert request.bounds[0] == Bound(CELLS, at_least=0, name="nonnegative")
    assert request.bounds[1] == Bound(Query((("sex", AtLevel("sex")),)), at_most=100)
    assert request.bounds[1].where == "bounds[1]"
    assert request.table.folder == tmp_path


def test_a_unit_that_is_not_named_is_assumed_for_counts_and_said_to_be():
    assert read_text(AXES + MEASURED).unit == Unit(assumed=True)
    assert not read_text(AXES + MEASURED + "unit: {name: person}").unit.assumed


@pytest.mark.parametrize("kind", ["yaml", "json"])
def test_labels_stay_what_was_typed_in_yaml_and_in_json(kind):
    labels = ["1.0", "1e-2", "20", "-3", "true", "0.50"]
    if kind == "yaml":
        labels += ["01001", "no", "1:30", "2020-01-01", "~", "null", "0x1F"]
    listed = ", ".join(labels)
    text = (
        f'{{"table": {{"source": "c.csv", "counts": "n", "axes": {{"code": {{"categories": [{listed}]}}}}}},'
        '"measurements": [{"query": "cells", "law": "discrete-laplace", "epsilon": 0.5}]}'
    )
    assert read_text(text, kind=kind).table.axes[0].categories == tuple(labels)


def test_a_misspelt_law_and_an_unknown_axis_are_said_at_once():
    text = AXES + (
        "measurements:\n  - {query: cells, law: discrete-laplce, epsilon: 0.5}\ninvariants:\n  - {sx: all}\n"
    )
    assert faults_of(text) == [("measurements[0].law", 9), ("invariants[0]", 11)]


def test_a_misspelt_law_and_an_unknown_axis_of_one_measurement_are_said_at_once():
    text = AXES + "measurements: [{query: sx, law: discrete-laplce, epsilon: -1}]\n"
    assert faults_of(text) == [
        ("measurements[0].query", 8),
        ("measurements[0].law", 8),
        ("measurements[0].epsilon", 8),
    ]


def test_faults_of_every_section_are_said_at_once():
    text = (
        "congenial: 2\n"
        "about: 3\n"
        "table:\n"
        "  source: c.csv\n"
        "  axes: {total: {categories: [a, a]}}\n"
        "unit: {max_rows: none}\n"
        "promise: {epsilon: 0}\n"
        "measurements: [{query: 3, law: x}]\n"
        "invariants: [{forms: none.csv}]\n"
        "bounds: [nonegative]\n"
        "method: conditon\n"
        "budget: {ledger: l.db}\n"
        "unproven: perhaps\n"
        "metod: none\n"
    )
    lines = [line for _, line in faults_of(text)]
    assert set(lines) == {1, 2, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14}


def test_a_method_of_none_and_a_missing_law_are_said_at_once():
    text = AXES + "measurements: [{query: cells, epsilon: 1}]\nmethod: none\nbounds: [nonnegative]\n"
    assert faults_of(text) == [("measurements[0].law", 8), ("method", 9)]


def test_a_fault_of_one_item_does_not_hide_that_a_promise_goes_unshared():
    text = AXES + (
        "promise: {epsilon: 1}\n"
        "measurements:\n"
        "  - {query: sx, law: discrete-laplace, share: 0.5}\n"
        "  - {query: cells, law: discrete-laplace, epsilon: 0.5}\n"
    )
    assert faults_of(text) == [("measurements[0].query", 10), ("measurements[1].epsilon", 11)]


def test_duplicate_keys_are_faults_in_yaml_and_in_json():
    assert faults_of(AXES + MEASURED + "method: condition\nmethod: none\n") == [("method", 10)]
    table = '"table": {"source": "c", "counts": "n", "axes": {"s": {"categories": ["a"]}}}'
    measured = '"measurements": [{"query": "cells", "law": "discrete-laplace", "epsilon": 1}]'
    assert faults_of(f"{{{table},\n{measured},\n{measured}}}", "json") == [("measurements", 3)]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('{"a": 1', 1),
        ('{"a": 1,\n}', 2),
        ('{"a": 01}', 1),
        ('{"a": NaN}', 1),
        ("{'a': 1}", 1),
        ('{"a": 1}\n\n{}', 3),
        ('{"a"\n1}', 2),
        ('["a", "b\n"]', 1),
        ('["\\q"]', 1),
        ("[" * 100, 1),
        ("[1 2]", 1),
    ],
)
def test_a_text_that_is_not_json_is_one_fault_with_its_line(text, line):
    assert faults_of(text, "json") == [("", line)]


def test_lists_inside_each_other_without_end_are_a_fault():
    assert faults_of("a: " + "[" * 5000 + "]" * 5000) == [("", None)]
    assert faults_of("a: " + "[" * 100 + "]" * 100)[0][1] == 1


def test_aliases_that_multiply_are_a_fault_and_end_soon(monkeypatch):
    monkeypatch.setattr(yaml_text, "MOST", 20_000)
    laughs = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
    for n in range(1, 9):
        laughs += f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n"
    with pytest.raises(RequestError, match="too large"):
        read_text("about:\n" + "".join(f"  {line}\n" for line in laughs.splitlines()))


@pytest.mark.parametrize("text", ["", "\n", "# nothing but words\n", "---\n"])
def test_an_empty_request_is_a_fault_that_says_how_to_begin(text):
    with pytest.raises(RequestError, match="empty") as caught:
        read_text(text)
    assert "congenial init" in str(caught.value)


def test_an_empty_json_request_is_a_fault():
    assert faults_of(" ", "json") == [("", None)]


def test_a_file_that_is_missing_a_folder_or_binary_is_a_fault(tmp_path):
    with pytest.raises(RequestError, match="there is no request"):
        read_request(tmp_path / "r.yaml")
    with pytest.raises(RequestError, match="is a folder"):
        read_request(tmp_path)
    (tmp_path / "b.yaml").write_bytes(b"a: 1\n\x89PNG\xff\xfe\x00")
    with pytest.raises(RequestError, match="not UTF-8") as caught:
        read_request(tmp_path / "b.yaml")
    assert caught.value.faults[0].line == 2
    with pytest.raises(RequestError):
        read_request("a\0b")


def test_a_byte_order_mark_and_line_ends_of_windows_are_read(tmp_path):
    (tmp_path / "r.yaml").write_bytes(b"\xef\xbb\xbf" + (AXES + MEASURED).replace("\n", "\r\n").encode())
    assert read_request(tmp_path / "r.yaml").measurements[0].query == CELLS


def test_a_request_without_a_table_is_read_where_none_is_needed():
    assert read_text(MEASURED, needs_table=False).table is None


def test_files_are_found_from_the_request(tmp_path, monkeypatch):
    (tmp_path / "r").mkdir()
    (tmp_path / "r" / "f.csv").write_text("sex,age,weight\nfemale,old,1\n")
    (tmp_path / "r" / "r.yaml").write_text(AXES + MEASURED + "invariants: [{forms: f.csv}]\n")
    monkeypatch.chdir(tmp_path)
    request = read_request("r/r.yaml")
    assert request.invariants[0].forms.path == tmp_path / "r" / "f.csv"
    assert request.invariants[0].name == "f"


def test_faults_of_a_forms_file_are_named_by_their_rows(tmp_path):
    rows = "sex,age,weight\nfemal,old,1\nmale,old,x\nmale,old,1\nmale,old,2\nmale\n"
    (tmp_path / "f.csv").write_text(rows)
    with pytest.raises(RequestError) as caught:
        read_text(AXES + MEASURED + "invariants: [{forms: f.csv}]\n", tmp_path)
    said = [fault.what for fault in caught.value.faults]
    assert [text[:6] for text in said] == ["row 3 ", "row 6 "]
    (tmp_path / "f.csv").write_text("sex,age,weight\nfemal,old,1\nmale,old,1\nmale,old,2\n")
    with pytest.raises(RequestError) as caught:
        read_text(AXES + MEASURED + "invariants: [{forms: f.csv}]\n", tmp_path)
    said = [fault.what for fault in caught.value.faults]
    assert [text[:6] for text in said] == ["row 2 ", "row 4 "]
    assert caught.value.faults[0].line == 9


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ('about: {a: "\\ud83d"}', "yaml"),
        ('about: {a: "\\ud83d\\ude00"}', "yaml"),
        ('about: {a: "\\UFFFFFFFF"}', "yaml"),
        ('{"about": {"a": "\\ud83d"}}', "json"),
    ],
)
def test_an_escape_that_is_no_sign_is_a_fault(text, kind):
    with pytest.raises(RequestError, match="escape"):
        read_text(text, kind=kind)


def test_a_sign_of_two_halves_is_one_sign_in_json():
    measured = '"measurements": [{"query": "cells", "law": "discrete-laplace", "epsilon": 1}]'
    text = f'{{"about": {{"a": "\\ud83d\\ude00"}}, {measured}}}'
    assert read_text(text, kind="json", needs_table=False).about == {"a": "\U0001f600"}


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@FEW
@given(json_values, st.sampled_from([None, 1, "\t"]))
def test_our_json_reader_reads_what_pythons_does(value, indent):
    text = json.dumps(value, indent=indent, ensure_ascii=indent is None)
    faults = []
    assert json_text.parse(text, faults) is not None
    assert faults == []
    assert nodes.plain(json_text.parse(text, [])) == nodes.plain(nodes.of(value))


@FEW
@given(st.text(max_size=60))
def test_no_text_makes_a_reader_stumble(text):
    for parse in (json_text.parse, yaml_text.parse):
        faults = []
        root = parse(text, faults)
        assert root is None or isinstance(root, nodes.Text | nodes.Items | nodes.Keys)


@FEW
@given(st.text(alphabet="{}[]\",: \n-&*!abc#'|>\t?%@`", max_size=40))
def test_no_signs_of_yaml_make_the_reader_stumble(text):
    with pytest.raises(RequestError):
        read_text(text)
