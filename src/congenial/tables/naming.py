"""How messages name what they speak of: labels, columns, rows, lists that may be long.

A message may carry a label and never a count. A label that looks like a number could be a count of a
misdeclared column, so it is named by its row.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from congenial.errors import nearest

_NUMBER = re.compile(r"\s*[+-]?(?=[\d\s.,'’_\u00a0\u202f]*\d)[\d\s.,'’_\u00a0\u202f]+([eE][+-]?\d+)?\s*%?\s*")
_MOST_KNOWN = 20_000


def looks_like_a_number(text: str) -> bool:
    """Whether a label could be a count: digits, and signs that stand in written numbers."""
    return _NUMBER.fullmatch(text) is not None


def shown(text: str, most: int = 60) -> str:
    """A label in quotes, however long it is."""
    return f"'{text}'" if len(text) <= most else f"'{text[: most - 1]}…'"


def near(word: str, known: Sequence[str]) -> str:
    """`Did you mean 'x'?`, or nothing; where much is known, only what begins or ends alike is compared."""
    if len(known) > _MOST_KNOWN:
        known = [k for k in known if k[:2] == word[:2] or k[-2:] == word[-2:]][:_MOST_KNOWN]
    folded = word.strip().casefold()
    for candidate in known:
        if candidate.strip().casefold() == folded:
            return f"Did you mean {shown(candidate)}?"
    return nearest(word, known)


def columns_shown(columns: Sequence[str], most: int = 20) -> str:
    """The columns of a source; one whose name looks like a number is named by its place."""
    names = [
        f"column {at} (its name is a number: does the first row hold names?)"
        if looks_like_a_number(name) or not name.strip()
        else name
        for at, name in enumerate(columns, start=1)
    ]
    return listed(names, most)


def listed(names: Sequence[str], most: int = 20) -> str:
    """Names with commas between them, the first ones where there are many."""
    few = ", ".join(names[:most])
    return few if len(names) <= most else f"{few} and {len(names) - most:,} more"


def rows_shown(rows: Iterable[int], noun: str = "row", most: int = 3) -> str:
    """`row 3`, `rows 3 and 7`, `rows 3, 7, 9 and more`."""
    first = sorted(set(rows))
    few = [f"{row:,}" for row in first[:most]]
    if len(few) == 1:
        return f"{noun} {few[0]}"
    if len(first) > most:
        return f"{noun}s {', '.join(few)} and more"
    return f"{noun}s {', '.join(few[:-1])} and {few[-1]}"
