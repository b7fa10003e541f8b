"""A request on a domain becomes forms, facts and limits, and everything that cannot be is said at once."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from congenial.errors import RequestError
from congenial.laws import DiscreteLaplace
from congenial.problems.compile import compile_structure, query_groups, structure_notices
from congenial.problems.structure import FREE
from congenial.requests.builders import (
    at_least,
    at_most,
    band,
    bound_forms,
    forms,
    margin,
    measure,
    nonnegative,
    total,
    zeros,
)
from congenial.requests.model import Request, Unit
from congenial.tables.domain import Axis, Domain
from congenial.tables.queries import as_query, partition

FEW = settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])

PLACES = [("Ohio", "Athens"), ("Ohio", "Adams"), ("Georgia", "Athens")]
DOMAIN = Domain(
    (
        Axis.nested("place", ["state", "county"], PLACES),
        Axis.flat("sex", ["f", "m"]),
        Axis.flat("age", ["y", "o"]),
    )
)
LAW = DiscreteLaplace(0.5)
HEAD = "county,sex,age,weight\n"


def structure(measurements=None, **fields):
    return compile_structure(DOMAIN, Request(measurements or [measure("cells", LAW)], **fields))


def faults_of(**fields):
    with pytest.raises(RequestError) as caught:
        structure(**fields)
    return [(fault.where, fault.what) for fault in caught.value.faults]


def test_queries_become_groups_with_the_names_of_their_cells():
    found = structure([measure("cells", LAW), measure({"place": "state", "sex": "all"}, DiscreteLaplace(1))])
    cells, states = found.measured
    assert cells.forms.is_identity
    assert cells.forms.count == 12
    assert states.law == DiscreteLaplace(1)
    assert states.forms.groups.tolist() == [0, 0, 1, 1, 0, 0, 1, 1, 2, 2, 3, 3]
    assert [states.forms.label(i) for i in range(4)] == [
        "place=Ohio, sex=f",
        "place=Ohio, sex=m",
        "place=Georgia, sex=f",
        "place=Georgia, sex=m",
    ]
    assert states.forms.where == "measurements[1]"


def test_groups_leave_out_what_they_do_not_name():
    found = structure(
        invariants=[total(), margin(place={"athens": [["Ohio", "Athens"], ["Georgia", "Athens"]]})]
    )
    whole, athens = found.facts
    assert whole.forms.groups.tolist() == [0] * 12
    assert athens.forms.groups.tolist() == [0] * 4 + [-1] * 4 + [0] * 4
    assert athens.forms.sums(np.arange(12)).tolist() == [0 + 1 + 2 + 3 + 8 + 9 + 10 + 11]


def test_bounds_become_limits_and_zeros_become_cells():
    found = structure(
        bounds=[
            nonnegative(),
            at_most("sex", 7),
            at_least({"place": "state"}, -2),
            zeros(age=["y"], sex=["m"]),
        ]
    )
    ends = [(limit.lower, limit.upper) for limit in found.limits]
    assert ends == [(0, FREE), (-FREE, 7), (-2, FREE)]
    assert [limit.forms.name for limit in found.limits] == [
        "nonnegative",
        "sex at_most 7",
        "{place: state} at_least -2",
    ]
    assert found.limits[0].forms.is_identity
    assert found.zeros.tolist() == [2, 6, 10]


def test_zeros_of_nodes_of_files_and_of_rows_are_joined(tmp_path):
    (tmp_path / "z.csv").write_text("state;sex\nGeorgia;f\n")
    found = structure(
        bounds=[
            zeros(tmp_path / "z.csv"),
            zeros(place=[["Georgia"]], age=["y"]),
            zeros([{"county": "Adams", "sex": "m", "age": "o"}]),
        ]
    )
    assert found.zeros.tolist() == [7, 8, 9, 10]


def test_a_band_stays_with_its_fact():
    assert [fact.band for fact in structure(invariants=[band("sex", 10), total()]).facts] == [10, None]


def test_forms_from_a_file_are_rows_in_their_order(tmp_path):
    path = tmp_path / "f.csv"
    path.write_text(
        "form,state,county,sex,age,weight\n"
        "gap,Ohio,Athens,f,y,1\n"
        "sum,Georgia,Athens,m,o,3\n"
        "gap,Ohio,Adams,m,y,-2\n"
        "sum,Ohio,Athens,f,o,0\n",
        encoding="utf-8-sig",
    )
    (fact,) = structure(invariants=[forms(path, name="beds")]).facts
    assert (fact.forms.name, fact.forms.count, fact.forms.where) == ("beds", 2, "invariants[0]")
    assert [fact.forms.label(i) for i in range(2)] == ["gap", "sum"]
    assert fact.forms.starts.tolist() == [0, 2, 3]
    assert fact.forms.cells.tolist() == [0, 6, 11]
    assert fact.forms.weights.tolist() == [1, -2, 3]
    assert fact.forms.sums(np.arange(12)).tolist() == [0 - 12, 33]


def test_a_column_that_tells_the_leaves_apart_is_enough():
    rows = [{"county": "Adams", "sex": "f", "age": "y", "weight": 1}]
    (fact,) = structure(invariants=[forms(rows, name="x")]).facts
    assert fact.forms.cells.tolist() == [4]
    where = "invariants[0].forms[0]"
    wrong = [{"county": "Athens", "sex": "f", "age": "y", "weight": 1}]
    assert faults_of(invariants=[forms(wrong)]) == [(where, "'Athens' is more than one node of axis 'place'")]


def test_a_path_names_a_leaf_too():
    rows = [{"place": ["Georgia", "Athens"], "sex": "f", "age": "y", "weight": 1}]
    (limit,) = structure(bounds=[bound_forms(rows, at_least=0)]).limits
    assert limit.forms.cells.tolist() == [8]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "'f.csv': the file is empty"),
        (HEAD, "'f.csv': the file has a header and no rows"),
        ("county,sex,age\nAdams,f,y\n", "'f.csv': the column 'weight' is missing"),
        ("county,sex,sex,weight\nAdams,f,f,1\n", "'f.csv': column 'sex' stands twice"),
        ("county,sex,age,wait,weight\nAdams,f,y,1,1\n", "'f.csv': unknown column 'wait'"),
        ("state,sex,age,weight\nOhio,f,y,1\n", "'f.csv': the column 'county' of axis 'place' is missing"),
        ("county,age,weight\nAdams,y,1\n", "'f.csv': the column 'sex' of axis 'sex' is missing"),
        (
            "county,place,sex,age,weight\nAdams,Adams,f,y,1\n",
            "'f.csv': the column 'place' stands beside 'county'",
        ),
        (HEAD + "Adams,f,y,1\n\nAdams,f\n", "row 4 of 'f.csv': it has 2 fields, and the header has 4"),
        (HEAD + "Adams,f,y,1\nAdams,x,y,1\n", "row 3 of 'f.csv': unknown category 'x' of axis 'sex'"),
        (HEAD + "Adams,f,y,1.0\n", "row 2 of 'f.csv': weight is '1.0', which is not a whole number"),
        (HEAD + "Adams,f,y,99999999999\n", "row 2 of 'f.csv': weight is '99999999999', which is too large"),
        (HEAD + "Adams,f,y,1\nAdams,f,y,2\n", "row 3 of 'f.csv': the cell place=Ohio/Adams, sex=f, age=y"),
        (HEAD + "Adams,f,y,0\n", "'f.csv': all weights are zero"),
        (HEAD + '"Adams,f,y,1\n', "row 2 of 'f.csv': quotes are not closed"),
    ],
)
def test_faults_of_a_forms_file_name_their_rows(tmp_path, text, said):
    (tmp_path / "f.csv").write_text(text)
    found = faults_of(invariants=[forms(tmp_path / "f.csv")])
    assert [what[: len(said)] for _, what in found] == [said]
    assert {where for where, _ in found} == {"invariants[0].forms"}


def test_a_forms_file_that_is_missing_or_not_text_is_a_fault(tmp_path):
    assert "does not exist" in faults_of(invariants=[forms(tmp_path / "f.csv")])[0][1]
    assert "is a folder" in faults_of(bounds=[bound_forms(tmp_path, at_most=1)])[0][1]
    (tmp_path / "f.csv").write_bytes(b"\xff\xfe\x00")
    assert "not UTF-8" in faults_of(bounds=[zeros(tmp_path / "f.csv")])[0][1]


def test_many_faults_of_one_file_are_cut_short(tmp_path):
    (tmp_path / "f.csv").write_text("county,sex,age,weight\n" + "Adams,x,y,1\n" * 100)
    found = faults_of(invariants=[forms(tmp_path / "f.csv")])
    assert len(found) == 9
    assert found[-1][1] == "92 more rows have faults"


def test_faults_of_all_items_come_at_once(tmp_path):
    found = faults_of(
        measurements=[measure({"place": "staet"}, LAW)],
        invariants=[margin("sx"), margin(age={"old": ["0"]}), forms(tmp_path / "none.csv")],
        bounds=[at_most({"sex": {"a": ["f"], "b": ["f"]}}, 3), zeros(age=["old"])],
    )
    assert [where for where, _ in found] == [
        "measurements[0].query",
        "invariants[0].query",
        "invariants[1].query",
        "invariants[2].forms",
        "bounds[0].query",
        "bounds[1].zeros",
    ]


def test_limits_that_contradict_each_other_on_one_partition_are_a_fault_however_they_are_written():
    found = faults_of(bounds=[at_least({"sex": "sex"}, 5), at_most("sex", 4)])
    assert found == [("bounds[1]", "'{sex: sex} at_least 5' and 'sex at_most 4' contradict each other")]
    everybody = {"sex": {"all of them": ["f", "m"]}}
    assert faults_of(bounds=[at_least("total", 5), at_most(everybody, 4)])[0][0] == "bounds[1]"
    structure(bounds=[at_least("sex", 4), at_most("sex", 4), at_least("total", 9)])


def test_adding_or_removing_is_refused_where_groups_fix_the_total():
    unit = Unit(change="add-or-remove")
    both = margin(sex={"women": ["f"], "men": ["m"]})
    assert faults_of(unit=unit, invariants=[both])[0][0] == "unit.change"
    structure(unit=unit, invariants=[margin(sex={"women": ["f"]})])
    structure(unit=unit, invariants=[band("sex", 10)])


def test_measuring_what_is_published_exactly_is_noticed():
    found = structure(
        [measure("cells", LAW), measure({"place": "state"}, LAW), measure("sex", LAW), measure("total", LAW)],
        invariants=[margin("place"), band("sex", 5)],
    )
    said = structure_notices(found)
    assert [text.split(" (")[0] for text in said] == ["'{place: state}'", "'total'"]
    assert all("invariants[0]" in text and "buys nothing" in text for text in said)


def test_a_group_that_a_fact_covers_only_in_part_is_not_noticed():
    fact = margin(sex={"women": ["f"]})
    assert structure_notices(structure([measure("total", LAW), measure("sex", LAW)], invariants=[fact])) == ()
    women = measure({"sex": {"women": ["f"]}}, LAW)
    assert len(structure_notices(structure([women], invariants=[margin("sex")]))) == 1
    mixed = measure({"sex": {"women": ["f"]}, "age": "all"}, LAW)
    assert structure_notices(structure([mixed], invariants=[margin("sex")])) == ()


axes = st.lists(st.integers(1, 4), min_size=1, max_size=3)


@FEW
@given(axes, st.data())
def test_groups_without_labels_are_those_of_the_partition(sizes, data):
    made = [Axis.flat(f"a{n}", [str(i) for i in range(size)]) for n, size in enumerate(sizes)]
    leaves = [(str(i % 2), str(i)) for i in range(data.draw(st.integers(1, 5)))]
    domain = Domain((*made, Axis.nested("p", ["top", "leaf"], leaves)))
    parts = {}
    for axis in domain.axes:
        ways = ["all", None, axis.level_names[0], {"g": [list(next(axis.paths()))]}]
        way = data.draw(st.sampled_from(ways))
        if way is not None:
            parts[axis.name] = way
    query = as_query(parts or "total")
    cut = partition(domain, query)
    groups, count = query_groups(domain, query)
    assert groups.dtype == np.int32
    assert groups.tolist() == cut.groups.tolist()
    assert count == cut.count
