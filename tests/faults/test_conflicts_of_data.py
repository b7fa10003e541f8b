"""Tables that break what their request says: refused with a sentence, before anything is charged or drawn."""

import re

import numpy as np
import pytest

import congenial as cg
from congenial.errors import ConflictError, CongenialError, NoLawError, NothingToProtectError
from congenial.tables.table import Table
from support.structures import domain

AXES = {"place": [[2, 2], [1]], "sex": ["female", "male"]}
COUNTS = np.array([4711, 83, 912, 2718, 57721, 5664, 31415, 9265, 14142, 1356])
SECRETS = {int(n) for n in COUNTS} | {int(n) for n in np.add.outer(COUNTS, COUNTS).reshape(-1)}
EACH = cg.measure("cells", cg.DiscreteLaplace(epsilon=0.5))
COARSE = cg.measure({"place": "place0"}, cg.DiscreteLaplace(epsilon=0.5))
GAP = [
    {"place": ["node0", "node0", "leaf0"], "sex": "female", "weight": 1},
    {"place": ["node0", "node0", "leaf0"], "sex": "male", "weight": -1},
]

BROKEN = {
    "a bound": ([], [cg.at_most("cells", 2000)], ConflictError, "place=node0/node0/leaf0, sex=female"),
    "a bound from below": ([], [cg.at_least("cells", 100)], ConflictError, "leaf0, sex=male"),
    "a bound on a margin": ([], [cg.at_most("sex", 1000)], ConflictError, "sex=female; sex=male"),
    "a bound that a fact contradicts": (
        [cg.margin("sex")],
        [cg.at_most("cells", 2000)],
        ConflictError,
        "the fact 'sex'",
    ),
    "a bound that two facts contradict": (
        [cg.margin("sex"), cg.margin(place="place1")],
        [cg.at_most("cells", 20000)],
        ConflictError,
        "cells at_most 20000",
    ),
    "a difference": (
        [],
        [cg.bound_forms(GAP, name="gap", at_most=100)],
        ConflictError,
        "'gap at_most 100' at gap",
    ),
    "structural zeros": ([], [cg.zeros(sex=["male"])], ConflictError, "zero by logic"),
    "structural zeros that a fact contradicts": (
        [cg.margin("sex")],
        [cg.zeros(sex=["male"])],
        ConflictError,
        "the fact 'sex'",
    ),
}


def refused(facts, bounds, kind, measured=EACH):
    table = Table.from_counts(domain(AXES), COUNTS)
    request = cg.Request([measured], facts, bounds)
    said = set()
    for ask in (
        lambda: cg.plan(table, request),
        lambda: cg.release(table, request),
        lambda: cg.simulate(table, request, draws=1, seed=1),
    ):
        with pytest.raises(kind) as caught:
            ask()
        assert isinstance(caught.value, CongenialError)
        assert caught.value.__cause__ is None
        said.add(str(caught.value))
    (message,) = said
    assert not {int(number) for number in re.findall(r"\d+", message)} & SECRETS, message
    return message


@pytest.mark.parametrize("kind", BROKEN)
def test_what_a_table_breaks_is_named_without_a_count(kind):
    facts, bounds, error, names = BROKEN[kind]
    assert names in refused(facts, bounds, error)


def test_a_law_without_normaliser_names_cells_without_a_count():
    message = refused([cg.total()], [], NoLawError, COARSE)
    assert "place=node0/node0/leaf0, sex=female" in message
    assert "and 6 more" in message


def test_facts_that_determine_every_cell_leave_nothing_to_protect():
    refused([cg.margin("place", "sex")], [], NothingToProtectError)


def test_a_conflict_charges_nothing(tmp_path):
    table = Table.from_counts(domain(AXES), COUNTS)
    request = cg.Request([EACH], [cg.total()], [cg.at_most("cells", 2000)])
    with pytest.raises(ConflictError):
        cg.release(table, request, ledger=tmp_path / "spent.db", dataset="d", budget=4.0)
    assert list(tmp_path.iterdir()) == []
