"""Any table that can be written can be read: labels, counts and their order survive."""

import csv
import io
import tempfile
from collections import Counter
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from congenial.requests.model import AxisSpec
from congenial.tables.domain import Axis
from congenial.tables.naming import looks_like_a_number
from congenial.tables.queries import as_query, partition
from congenial.tables.table import Table
from support.tables import cells, table

LABELS = st.text(
    st.characters(codec="utf-8", exclude_categories=["Cs"], exclude_characters="\x00\ufeff"),
    min_size=1,
    max_size=6,
).filter(lambda label: bool(label.strip(" ")))
FEW = settings(max_examples=25, deadline=None)


def written(rows, delimiter, end):
    out = io.StringIO()
    csv.writer(out, delimiter=delimiter, lineterminator=end, quoting=csv.QUOTE_ALL).writerows(rows)
    return out.getvalue().encode()


NAMED = LABELS.filter(lambda label: bool(label.strip()))
"""Labels that are not blank: a label of blanks alone, no-break ones too, is no label."""


@FEW
@given(
    st.dictionaries(st.tuples(NAMED, NAMED), st.integers(0, 2**40), min_size=1, max_size=8),
    st.sampled_from(",;\t|"),
    st.sampled_from(["\n", "\r\n"]),
)
def test_any_labels_and_counts_survive_a_text_file(counts, delimiter, end):
    rows = [("a", "b", "n"), *((a, b, n) for (a, b), n in counts.items())]
    with tempfile.TemporaryDirectory() as folder:
        found = table(Path(folder), written(rows, delimiter, end), ["a", "b"])
    assert cells(found) == {key: n for key, n in counts.items() if n}
    for axis, at in zip(found.axes, (0, 1), strict=True):
        assert list(axis.levels[0].labels) == sorted({key[at] for key in counts})


@FEW
@given(st.lists(st.tuples(st.sampled_from("xyz"), st.sampled_from("0123")), min_size=1, max_size=40))
def test_records_are_counted_as_counting_them_counts(records):
    axes = ("a", AxisSpec("b", categories=tuple("3210")))
    rows = [("a", "b"), *records]
    with tempfile.TemporaryDirectory() as folder:
        made = [AxisSpec("a", categories=("x", "y", "z")), axes[1]]
        found = table(Path(folder), written(rows, ",", "\n"), made, counts=None)
    assert cells(found) == Counter(records)


@FEW
@given(st.data())
def test_a_query_of_a_table_adds_up_what_a_loop_adds_up(data):
    leaves = data.draw(
        st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from("cde")), min_size=1, unique=True)
    )
    axes = [Axis.flat("sex", ["f", "m"]), Axis.nested("place", ["s", "c"], leaves)]
    n = 2 * len(leaves)
    found = Table.from_counts(axes, data.draw(st.lists(st.integers(0, 99), min_size=n, max_size=n)))
    some = data.draw(st.lists(st.sampled_from(leaves), min_size=1, unique=True))
    groups = {"g": [list(leaf) for leaf in some]}
    for query in ({"place": "s"}, {"place": groups}, "total", "sex", {"sex": "all", "place": groups}):
        coarse = found.query(query)
        part = partition(found.domain, as_query(query))
        slow = [0] * part.count
        for cell, count in enumerate(found.counts_confidential.tolist()):
            if part.groups[cell] >= 0:
                slow[part.groups[cell]] += count
        assert coarse.counts_confidential.tolist() == slow


@given(
    st.integers(0, 10**20),
    st.sampled_from(["{}", "+{}", "-{}", "{:,}", "{}.0", " {}", "{}%", "{:_}", "{:e}"]),
)
def test_whatever_a_count_is_written_as_looks_like_a_number(count, style):
    assert looks_like_a_number(style.format(count))


@given(LABELS.filter(lambda label: not any(sign.isdigit() for sign in label)))
def test_a_label_without_digits_does_not_look_like_a_number(label):
    assert not looks_like_a_number(label)
