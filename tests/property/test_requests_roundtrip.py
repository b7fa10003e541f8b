"""Random requests survive being resolved, written as JSON and read again."""

import json
from dataclasses import replace
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from congenial.laws import DiscreteGaussian, DiscreteLaplace
from congenial.requests.model import (
    AxisSpec,
    Bound,
    Budget,
    FormsFile,
    Invariant,
    Measurement,
    Promise,
    Request,
    Row,
    TableSpec,
    Unit,
    Zeros,
)
from congenial.requests.reading import read_text
from congenial.requests.resolve import public, request_from_resolved, resolve
from congenial.requests.schema import json_schema
from congenial.tables.queries import CELLS, TOTAL, AtLevel, Every, Groups, Query

FEW = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])

names = st.text(min_size=1, max_size=6).map(lambda text: f"{text}~x")  # no word of the grammar ends so
labels = st.sampled_from(["01001", "no", "1.0", "null", "~", "é", "a b", "#", "x", "<<", "'", '"']) | names
paths = st.lists(labels, min_size=1, max_size=3).map(tuple)
groups = st.dictionaries(names, st.lists(paths, min_size=1, max_size=3).map(tuple), min_size=1, max_size=3)
parts = st.just(Every()) | names.map(AtLevel) | groups.map(lambda found: Groups(tuple(found.items())))
queries = (
    st.just(CELLS)
    | st.just(TOTAL)
    | st.dictionaries(names, parts, min_size=1, max_size=3).map(lambda found: Query(tuple(found.items())))
)
scales = st.floats(1e-6, 1e6)
rows = st.builds(
    Row,
    st.dictionaries(names, paths, min_size=1, max_size=3).map(lambda found: tuple(found.items())),
    st.integers(-9, 9),
    st.sampled_from(["", "one", "two"]),
)
zero_rows = st.builds(Row, st.dictionaries(names, paths, min_size=1).map(lambda found: tuple(found.items())))


def some(of, most=3):
    return st.lists(of, min_size=1, max_size=most).map(tuple)


@st.composite
def requests(draw, with_table=True):
    promise = draw(st.none() | st.builds(Promise, epsilon=scales) | st.builds(Promise, rho=scales))
    measured = draw(st.lists(queries, min_size=1, max_size=3))
    if promise is None:
        law = (
            st.builds(DiscreteLaplace, scales)
            | st.builds(DiscreteGaussian, scales)
            | st.builds(DiscreteGaussian, sigma=scales)
        )
        laws = [draw(law) for _ in measured]
    else:
        kind = DiscreteLaplace if promise.epsilon else DiscreteGaussian
        laws = [kind(share=1 / len(measured)) for _ in measured]
    forms = st.builds(FormsFile, names, rows=some(rows))
    invariants = st.builds(
        Invariant, queries, band=st.none() | st.integers(2, 99), name=st.just("") | names
    ) | forms.map(lambda found: Invariant(forms=found))
    low, high = st.integers(-99, 0), st.integers(1, 99)
    bounds = (
        st.builds(Bound, queries, at_least=low, at_most=high, name=st.just("") | names)
        | st.builds(Bound, forms=forms, at_most=high)
        | st.builds(Bound, zeros=st.builds(Zeros, rows=some(zero_rows)))
        | st.builds(Bound, zeros=st.dictionaries(names, some(paths), min_size=1).map(_zeros))
    )
    return Request(
        measurements=[Measurement(query, law) for query, law in zip(measured, laws, strict=True)],
        invariants=draw(st.lists(invariants, max_size=3)),
        bounds=draw(st.lists(bounds, max_size=3)),
        unit=draw(st.just(Unit(assumed=True)) | st.builds(Unit, names, st.integers(1, 9))),
        promise=promise,
        budget=draw(st.none() | st.just(Budget(Path("spent.db"), "d", **_currency(promise, laws)))),
        unproven=draw(st.sampled_from(["refuse", "allow"])),
        about=draw(st.dictionaries(st.text(max_size=4), st.text(max_size=4) | st.lists(st.text(max_size=4)))),
        table=draw(st.none() | tables()) if with_table else None,
    )


def _zeros(found):
    return Zeros(tuple(found.items()))


def _currency(promise, laws):
    if promise is not None:
        return {"epsilon": 4.0} if promise.epsilon else {"rho": 4.0}
    return {"epsilon": 4.0} if laws[0].currency == "epsilon" else {"rho": 4.0}


@st.composite
def tables(draw):
    kinds = st.sampled_from(["bare", "categories", "levels", "prefixes", "from-source"])
    axes = []
    for name in draw(st.lists(names, min_size=1, max_size=3, unique=True)):
        kind = draw(kinds)
        fields = {
            "bare": {},
            "categories": {"categories": tuple(draw(st.lists(labels, min_size=1, unique=True)))},
            "levels": {"levels": (f"{name}1", f"{name}2")},
            "prefixes": {"column": draw(names), "prefixes": ((f"{name}1", 2), (f"{name}2", 5))},
            "from-source": {"labels_from_source": True},
        }[kind]
        axes.append(AxisSpec(name, **fields))
    return TableSpec(
        draw(names),
        tuple(axes),
        query=draw(st.none() | names),
        counts=draw(names) + "n",
        encoding=draw(st.none() | st.just("latin-1")),
        delimiter=draw(st.none() | st.sampled_from([";", "\t", "|"])),
    )


@FEW
@given(requests(with_table=False))
def test_a_request_survives_being_resolved_and_what_comes_is_a_request_to_read(request):
    resolved = resolve(request)
    assert request_from_resolved(json.loads(json.dumps(resolved))) == request
    assert set(resolved) == set(json_schema()["properties"])
    if not request.unit.assumed:
        found = read_text(json.dumps(resolved), ".", "json", needs_table=False)
        assert replace(found, budget=request.budget) == request  # the ledger's path is absolute by now


@FEW
@given(tables())
def test_a_table_survives_being_resolved(table):
    # queries are held against the axes when a request is read, so this one asks for cells alone
    request = Request([Measurement(CELLS, DiscreteLaplace(1))], table=table, unit=Unit())
    assert request_from_resolved(json.loads(json.dumps(resolve(request)))) == request


@FEW
@given(requests(with_table=False))
def test_what_is_public_of_a_request_can_be_read_again_and_asks_the_same(request):
    found = request_from_resolved(json.loads(json.dumps(public(request))))
    for field in ("measurements", "invariants", "bounds", "promise", "unit", "method", "about", "unproven"):
        assert getattr(found, field) == getattr(request, field)
    assert found.table is None
    assert found.budget is None
