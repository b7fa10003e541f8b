"""The promise's unit: that none of them makes up more rows than was said.

A message about it names no unit and counts none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from congenial.errors import Fault
from congenial.randomness import SystemSource
from congenial.tables.rows import Rows
from congenial.tables.specs import UnitAsked


class Words(Protocol):
    """Where random words come from."""

    def take(self, n: int) -> NDArray[np.uint64]: ...


def kept_rows(
    rows: Rows, unit: UnitAsked, needed: Sequence[str], faults: list[Fault], words: Words | None = None
) -> tuple[Rows, list[str]]:
    """The rows that count, and what a release must say of those that do not.

    Where a unit has more than `max_rows` rows: an error (`over: refuse`), or a uniformly random
    `max_rows` of them are kept (`over: drop`).
    """
    column = rows.at(str(unit.column))
    columns = ", ".join(dict.fromkeys(needed))
    rows.run(f"CREATE TEMP TABLE held AS SELECT {column} AS unit, {columns} FROM {rows.relation}")
    rows.whole("temp.main.held")
    if rows.fetch("SELECT 1 FROM temp.main.held WHERE unit IS NULL OR trim(unit) = '' LIMIT 1"):
        nobody = f"{column} IS NULL OR trim({column}) = ''"
        what = f"{rows.numbers_where(nobody)} of {rows.name} names no unit"
        say = "every row must say whose it is, or a unit's rows cannot be counted."
        faults.append(Fault(f"column {unit.column}", what, say))
        return replace(rows, relation="temp.main.held"), []
    over = f"SELECT unit FROM temp.main.held GROUP BY unit HAVING count(*) > {unit.max_rows}"
    exceeded = bool(rows.fetch(f"{over} LIMIT 1"))
    if unit.over == "drop":
        if exceeded:
            _drop(rows, over, columns, unit.max_rows, words or SystemSource())
        notice = (
            f"Where a unit had more than {unit.max_rows} row{'s' if unit.max_rows != 1 else ''}, "
            f"a uniformly random {unit.max_rows} of its rows were counted (over: drop)."
        )
        return replace(rows, relation="temp.main.held"), [notice]
    if exceeded:
        what = f"a unit has more rows than `max_rows: {unit.max_rows}` allows"
        say = (
            "raise `max_rows`, which costs more noise for the same promise, or write `over: drop`\n"
            "to count a uniformly random `max_rows` of such a unit's rows."
        )
        faults.append(Fault(f"column {unit.column}", what, say))
    return replace(rows, relation="temp.main.held"), []


def _drop(rows: Rows, over: str, columns: str, most: int, words: Words) -> None:
    """Keep a uniformly random `most` rows of every unit that has more.

    **Law.** Of each such unit, every set of `most` of its rows is equally likely, independently of others.
    **Exactness.** Rows are ordered by words of their own; where two words are equal all are drawn again,
    so that the order is uniform over all orders.
    **Cost.** A word, a place in a sort and a row in memory for each row of such units.
    """
    import pyarrow as pa

    rows.run(
        f"CREATE TEMP TABLE crowded AS SELECT row_number() OVER () - 1 AS place, * FROM temp.main.held "
        f"WHERE unit IN ({over})"
    )
    [(n,)] = rows.fetch("SELECT count(*) FROM temp.main.crowded")
    rank = pa.array(random_order(n, words), pa.int64())
    rows.connection.give("ranks", pa.table({"place": pa.array(np.arange(n, dtype=np.int64)), "rank": rank}))
    rows.run(
        f"CREATE TEMP TABLE chosen AS SELECT unit, {columns} "
        f"FROM temp.main.crowded JOIN temp.main.ranks USING (place) "
        f"QUALIFY row_number() OVER (PARTITION BY unit ORDER BY rank) <= {most}"
    )
    rows.run("DELETE FROM temp.main.held WHERE unit IN (SELECT unit FROM temp.main.crowded)")
    rows.run("INSERT INTO temp.main.held SELECT * FROM temp.main.chosen")


def random_order(n: int, words: Words) -> NDArray[np.int64]:
    """The rank of each of n things in an order of them, every order equally likely."""
    while True:
        keys = words.take(n).copy()
        order = np.argsort(keys)
        if n < 2 or (np.diff(keys[order]) != 0).all():
            rank = np.empty(n, dtype=np.int64)
            rank[order] = np.arange(n)
            return rank
