"""Units and their rows: how many are allowed, and which are kept, exactly uniformly."""

from collections import Counter
from itertools import permutations

import numpy as np
import pyarrow as pa
import pytest

from congenial.errors import SourceError
from congenial.requests.model import AxisSpec, Unit
from congenial.tables.rows import of_arrow
from congenial.tables.units import kept_rows, random_order
from support.tables import faults_of, table

SEX = AxisSpec("sex", categories=("f", "m"))
ROWS = "id,sex\nann,f\nbob,m\nann,f\nann,m\n"


class Script:
    """Words that were written down."""

    def __init__(self, *words):
        self.left = [np.array(word, dtype=np.uint64) for word in words]

    def take(self, n):
        found = self.left.pop(0)
        assert len(found) == n
        return found


def test_a_unit_with_too_many_rows_is_an_error_that_neither_names_nor_counts_units(tmp_path):
    unit = Unit(max_rows=2, column="id")
    [fault] = faults_of(SourceError, lambda: table(tmp_path, ROWS, [SEX], counts=None, unit=unit))
    said = fault.what + fault.hint
    assert "`max_rows: 2`" in said
    assert "over: drop" in said
    assert "ann" not in said
    assert "3" not in said


def test_units_with_as_many_rows_as_allowed_pass(tmp_path):
    unit = Unit(max_rows=3, column="id")
    assert table(tmp_path, ROWS, [SEX], counts=None, unit=unit).counts_confidential.tolist() == [2, 2]


@pytest.mark.parametrize("most", [1, 2, 3])
def test_dropping_keeps_that_many_rows_of_every_unit_that_has_more(tmp_path, most):
    unit = Unit(max_rows=most, column="id", over="drop")
    found = table(tmp_path, ROWS, [SEX], counts=None, unit=unit)
    assert found.counts_confidential.sum() == most + 1
    assert found.counts_confidential[1] >= 1


def test_what_is_said_of_dropping_does_not_depend_on_the_rows(tmp_path):
    said = [
        table(tmp_path, rows, [SEX], counts=None, unit=Unit(column="id", over="drop")).notices
        for rows in (ROWS, "id,sex\nann,f\n")
    ]
    assert said[0] == said[1]
    assert "uniformly random 1 of its rows" in said[0][0]


def test_a_row_that_names_no_unit_is_named(tmp_path):
    content = "id,sex\nann,f\n,m\n"
    [fault] = faults_of(
        SourceError, lambda: table(tmp_path, content, [SEX], counts=None, unit=Unit(column="id"))
    )
    assert fault.what == "row 2 of 'source.csv' names no unit"


def test_a_unit_column_that_is_missing_is_named(tmp_path):
    [fault] = faults_of(
        SourceError, lambda: table(tmp_path, ROWS, [SEX], counts=None, unit=Unit(column="ID"))
    )
    assert fault.what == "'source.csv' has no column 'ID' to tell units by"
    assert "Did you mean 'id'?" in fault.hint


def test_the_unit_may_also_be_an_axis(tmp_path):
    axis = AxisSpec("id", categories=("ann", "bob"))
    unit = Unit(max_rows=2, column="id", over="drop")
    assert table(tmp_path, ROWS, [axis], counts=None, unit=unit).counts_confidential.tolist() == [2, 1]


@pytest.mark.parametrize("n", [0, 1, 2, 3, 4])
def test_every_order_of_the_words_gives_another_order_of_the_rows(n):
    orders = Counter(tuple(random_order(n, Script(p)).tolist()) for p in permutations(range(5, 5 + n)))
    assert sorted(orders) == sorted(permutations(range(n)))
    assert set(orders.values()) == {1}


def test_equal_words_are_drawn_again_all_of_them():
    order = random_order(3, Script([7, 5, 7], [2**64 - 1, 0, 2**63]))
    assert order.tolist() == [2, 0, 1]


@pytest.mark.parametrize(
    ("ids", "most", "sets"),
    [
        ("abacc", 1, {(*"v", x, z) for x in "uw" for z in "xy"}),
        ("aaab", 2, {("u", "v", "x"), ("u", "w", "x"), ("v", "w", "x")}),
    ],
)
def test_every_set_of_rows_of_a_unit_is_kept_by_as_many_orders_as_any_other(ids, most, sets):
    people = pa.table({"id": list(ids), "at": list("uvwxy")[: len(ids)]})
    crowded = sum(ids.count(unit) > most for unit in ids)
    kept = Counter()
    for words in permutations([0, 2**40, 2**63, 2**64 - 1][:crowded]):
        with of_arrow(people) as rows:
            unit = Unit(max_rows=most, column="id", over="drop")
            found, _ = kept_rows(rows, unit, ["c1"], [], Script(words))
            kept[tuple(sorted(at for (at,) in found.fetch(f"SELECT c1 FROM {found.relation}")))] += 1
    assert set(kept) == {tuple(sorted(some)) for some in sets}
    assert len(set(kept.values())) == 1


def test_rows_are_kept_by_words_that_nobody_can_predict(tmp_path, monkeypatch):
    from congenial.tables import units

    made = []

    class Watched(units.SystemSource):
        def __init__(self):
            super().__init__()
            made.append(self)

    monkeypatch.setattr(units, "SystemSource", Watched)
    table(tmp_path, ROWS, [SEX], counts=None, unit=Unit(column="id", over="drop"))
    assert len(made) == 1
