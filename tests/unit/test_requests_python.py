"""Requests in Python: the builders mean what the grammar means, and faults are the same."""

import subprocess
import sys

import pytest

from congenial.errors import ArgumentError, RequestError
from congenial.laws import DiscreteGaussian, DiscreteLaplace
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
from congenial.requests.model import Bound, Budget, Invariant, Promise, Request, Unit
from congenial.requests.reading import read_text
from congenial.tables.queries import CELLS, TOTAL, AtLevel, Every, Groups, Query

LAW = DiscreteLaplace(0.5)
CELLS_MEASURED = (measure("cells", LAW),)


def faults_of(**fields):
    with pytest.raises(RequestError) as caught:
        Request(**{"measurements": CELLS_MEASURED, **fields})
    return [fault.where for fault in caught.value.faults]


def test_builders_and_yaml_make_the_same_request():
    request = Request(
        measurements=[measure("cells", LAW), measure({"place": "county"}, DiscreteLaplace(0.25))],
        invariants=[
            total(),
            margin("sex"),
            margin(place="state"),
            margin(age={"voting": ["18+"]}),
            band("sex", 10),
        ],
        bounds=[
            nonnegative(),
            at_least("sex", 3),
            at_most({"place": "county"}, 9),
            zeros(age=["0-17"], sex=["male"]),
        ],
        unit=Unit("person", change="replace"),
    )
    text = """
measurements:
  - {query: cells, law: discrete-laplace, epsilon: 0.5}
  - {query: {place: county}, law: discrete-laplace, epsilon: 0.25}
invariants: [total, sex, {place: state}, {age: {voting: [18+]}}, {query: sex, band: 10}]
bounds:
  - nonnegative
  - {query: sex, at_least: 3}
  - {query: {place: county}, at_most: 9}
  - {zeros: {age: [0-17], sex: [male]}}
unit: {change: replace}
"""
    assert read_text(text, needs_table=False) == request


def test_a_margin_joins_axes_levels_and_groups():
    found = margin("sex", place="state", age={"old": ["65+"]}).query
    assert found == Query(
        (("sex", Every()), ("place", AtLevel("state")), ("age", Groups((("old", (("65+",),)),))))
    )


def test_a_fact_can_stand_for_its_query():
    assert at_least(total(), 5).query == TOTAL
    assert measure(margin("sex"), LAW).query == Query((("sex", Every()),))
    with pytest.raises(ArgumentError, match="not a query alone"):
        at_least(band("sex", 10), 5)


def test_forms_are_rows_or_a_file(tmp_path):
    rows = [{"place": ["Ohio", "Athens"], "sex": "female", "weight": 2}]
    fact = forms(rows, name="beds")
    assert fact.forms.rows[0].at == (("place", ("Ohio", "Athens")), ("sex", ("female",)))
    assert fact.forms.rows[0].weight == 2
    assert forms(tmp_path / "beds.csv").forms.name == "beds"
    bound = bound_forms(rows, name="spare", at_least=0)
    assert (bound.forms.name, bound.at_least, bound.at_most) == ("spare", 0, None)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: measure("cells", "discrete-laplace"),
        lambda: margin(),
        lambda: margin("sex", sex="all"),
        lambda: zeros(),
        lambda: zeros("f.csv", sex=["male"]),
        lambda: zeros(sex="male"),
        lambda: forms(3),
        lambda: forms({"sex": "male"}),
    ],
)
def test_a_builder_refuses_what_cannot_be_meant(wrong):
    with pytest.raises(ArgumentError):
        wrong()


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: measure(3, LAW),
        lambda: margin("cells", "sex"),
        lambda: margin(age={"voting": "18+"}),
        lambda: forms([{"sex": "female"}]),
        lambda: forms([{"sex": "female", "weight": 1.5}]),
        lambda: forms([]),
        lambda: zeros([]),
        lambda: zeros(sex=[]),
    ],
)
def test_a_builder_says_what_is_wrong_with_a_query_or_a_row(wrong):
    with pytest.raises(RequestError):
        wrong()


@pytest.mark.parametrize(
    ("fields", "where"),
    [
        ({"measurements": []}, ["measurements"]),
        ({"measurements": LAW}, ["measurements[0]"]),
        ({"invariants": ["total"]}, ["invariants[0]"]),
        ({"bounds": [total()]}, ["bounds[0]"]),
        ({"unit": "person"}, ["unit"]),
        (
            {"unit": Unit("", 0, "never", None, "keep")},
            ["unit.name", "unit.max_rows", "unit.change", "unit.over"],
        ),
        ({"unit": Unit(over="drop")}, ["unit.over"]),
        ({"promise": 1}, ["promise"]),
        ({"promise": Promise()}, ["promise"]),
        ({"promise": Promise(epsilon=1, rho=1)}, ["promise"]),
        ({"promise": Promise(epsilon=float("nan"))}, ["promise.epsilon"]),
        ({"promise": Promise(rho=True)}, ["promise.rho"]),
        ({"promise": Promise(epsilon=1)}, ["measurements[0].epsilon"]),
        ({"promise": Promise(rho=1)}, ["measurements[0].law"]),
        ({"measurements": [measure("cells", DiscreteLaplace(share=1))]}, ["measurements[0].share"]),
        ({"method": "project"}, ["method"]),
        ({"method": "none", "bounds": [nonnegative()]}, ["method"]),
        ({"unproven": True}, ["unproven"]),
        ({"about": "Counties"}, ["about"]),
        ({"budget": Budget("l.db", "d", rho=1)}, ["budget"]),
        ({"bounds": [Bound()]}, ["bounds[0]"]),
        ({"bounds": [Bound(CELLS)]}, ["bounds[0]"]),
        ({"bounds": [at_most("cells", 2.5)]}, ["bounds[0]"]),
        ({"bounds": [at_most("cells", 2**62)]}, ["bounds[0]"]),
        ({"bounds": [nonnegative(), at_most("cells", -1)]}, ["bounds[1]"]),
        ({"bounds": [at_least("sex", 3), nonnegative(), at_most("sex", 2)]}, ["bounds[2]"]),
        ({"invariants": [Invariant()]}, ["invariants[0]"]),
        ({"invariants": [band("cells", 1)]}, ["invariants[0].band"]),
        ({"unit": Unit(change="add-or-remove"), "invariants": [margin("sex")]}, ["unit.change"]),
    ],
)
def test_a_request_says_what_is_wrong_with_it(fields, where):
    assert faults_of(**fields) == where


def test_faults_of_a_request_come_at_once():
    assert faults_of(method="x", unproven="y", promise=Promise()) == ["promise", "method", "unproven"]


def test_shares_sum_to_one_up_to_rounding():
    def shared(*shares):
        return [measure("cells", DiscreteGaussian(share=share)) for share in shares]

    Request(shared(0.1, 0.2, 0.7), promise=Promise(rho=1))
    Request(shared(*[1 / 49] * 49), promise=Promise(rho=1))
    assert faults_of(measurements=shared(0.1, 0.2, 0.6999), promise=Promise(rho=1)) == ["measurements"]


def test_a_request_keeps_tuples_paths_and_text():
    request = Request(
        list(CELLS_MEASURED), invariants=[total()], about={"period": 2020, "final": True, "by": ("a", None)}
    )
    assert request.invariants == (Invariant(TOTAL),)
    assert request.invariants[0].where == "invariants[0]"
    assert request.about == {"period": "2020", "final": "true", "by": ["a", "null"]}


def test_requests_in_python_need_neither_yaml_nor_a_database():
    code = (
        "import sys; import congenial.requests.builders, congenial.requests.reading;"
        "import congenial.requests.schema, congenial.requests.resolve;"
        "print([m for m in ('yaml', 'duckdb', 'pyarrow', 'pandas') if m in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"
