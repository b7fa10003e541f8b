"""A block as weighted elimination sees it: fewer variables, forms with tables at their ends, shifted to zero.

Three exact reductions come first. A variable that can take one value is a constant. A fact on one variable
makes it a constant; a fact on two ties them to one integer parameter (a fibre of length two, the last
layer of a table with two). A law or a limit on one variable is part of that variable's law. What is left is

    P(y) ∝ Π_e φ_e(y_e) · Π_k g_k(Σ_e a_ke y_e),      z = base + slope · y[parent]

with every window cut down to values that the facts and limits can still meet (interval propagation),
which loses no mass at all.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from congenial.errors import ArgumentError, ConflictError, Fault
from congenial.samplers.base import FloatArray, IntArray
from congenial.samplers.crossing.tables import Terminal, Unary

_ULP = 2.0**-53
_LARGEST = 2**40
_ROUNDS = 60  # of reductions; each cuts windows, and what it leaves uncut is only slower

Kind = Literal["fact", "law", "limit"]


@dataclass(frozen=True, eq=False)
class End:
    """What is asked of a form's value: `table[k]` weighs `lo + k`, at most one; zero outside."""

    kind: Kind
    lo: int
    table: FloatArray

    @property
    def hi(self) -> int:
        """The last value that is possible."""
        return self.lo + len(self.table) - 1


@dataclass(frozen=True, eq=False)
class Model:
    """A block after the reductions. Variables have `lo[e] …` and `laws[e]`, forms rows and ends."""

    lo: IntArray
    laws: tuple[FloatArray, ...]
    rows: IntArray
    ends: tuple[End, ...]
    parent: IntArray
    """For each original variable its variable here, or -1."""
    slope: IntArray
    base: IntArray
    relative_error: float
    """|ln| of the ratio between what the tables say of a point and what the laws say, up to one factor."""

    @property
    def variables(self) -> int:
        """How many variables are left."""
        return len(self.laws)

    @property
    def hi(self) -> IntArray:
        """The last value of each variable's window."""
        return self.lo + np.array([len(law) - 1 for law in self.laws], dtype=np.int64)


class _Draft:
    """A model while it is being reduced: each law by itself, forms as dictionaries."""

    def __init__(self, unaries: Sequence[Unary], terminals: Sequence[Terminal]) -> None:
        self.lo = [int(u.lo) for u in unaries]
        self.laws: list[FloatArray] = [u.weights / u.weights.max() for u in unaries]
        self.error = sum(u.relative_error + _ULP for u in unaries)
        self.forms: list[dict[int, int]] = []
        self.kinds: list[Kind] = []
        self.low: list[int] = []
        self.tables: list[FloatArray | None] = []  # None: an indicator of low … high
        self.high: list[int] = []
        for t in terminals:
            self.forms.append({int(e): int(t.coefficients[e]) for e in np.flatnonzero(t.coefficients)})
            self.kinds.append(t.kind)
            self._end(t)
        m = len(unaries)
        self.parent = list(range(m))
        self.slope = [1] * m
        self.base = [0] * m
        self.alive = [True] * m

    def _end(self, t: Terminal) -> None:
        if t.table is not None:
            self.low.append(int(t.table.lo))
            self.high.append(int(t.table.hi))
            self.tables.append(t.table.weights / t.table.weights.max())
            self.error += t.table.relative_error + _ULP
        else:
            fact = t.kind == "fact"
            self.low.append(0 if fact else -_LARGEST if t.lower is None else int(t.lower))
            self.high.append(0 if fact else _LARGEST if t.upper is None else int(t.upper))
            self.tables.append(None)

    def span(self, e: int) -> tuple[int, int]:
        return self.lo[e], self.lo[e] + len(self.laws[e]) - 1

    def cut(self, e: int, low: int, high: int) -> bool:
        """Narrow the window of a variable; whether it changed."""
        a, b = self.span(e)
        low, high = max(low, a), min(high, b)
        if low > high:
            raise infeasible()
        if (low, high) == (a, b):
            return False
        self.laws[e] = self.laws[e][low - a : high - a + 1]
        self.lo[e] = low
        return True

    def shift_form(self, k: int, by: int) -> None:
        """The form's value has a constant part `by`: move its end."""
        self.low[k] -= by
        self.high[k] -= by

    def substitute(self, e: int, slope: int, base: int, other: int | None) -> None:
        """Variable `e` is `base + slope·other` from now on (`other` None: a constant)."""
        for i, p in enumerate(self.parent):
            if p == e:
                self.base[i] += self.slope[i] * base
                self.slope[i] *= slope
                self.parent[i] = -1 if other is None else other
        for k, form in enumerate(self.forms):
            a = form.pop(e, 0)
            if a:
                self.shift_form(k, a * base)
                if other is not None:
                    total = form.get(other, 0) + a * slope
                    if total:
                        form[other] = total
                    else:
                        form.pop(other, None)
        self.alive[e] = False

    def drop_form(self, k: int) -> None:
        for part in (self.forms, self.kinds, self.low, self.high, self.tables):
            del part[k]


def infeasible() -> ConflictError:
    """Nothing satisfies facts, limits and windows together."""
    what = "no integers keep the facts of a block inside its bounds"
    return ConflictError(
        Fault("", what, "The facts and the bounds contradict each other. Widen a bound, or free a fact.")
    )


def reduce(unaries: Sequence[Unary], terminals: Sequence[Terminal], plain: bool = False) -> Model:
    """The model of a block; a `ConflictError` where intervals show that it has no point.

    A `plain` model has its windows cut, and all variables and forms as they were given.
    """
    _check(unaries, terminals)
    draft = _Draft(unaries, terminals)
    for _ in range(_ROUNDS if plain else 0):
        if not _propagate(draft):
            break
    if plain:
        return _finish(draft)
    for _ in range(_ROUNDS):
        if not (_constants(draft) | _short_forms(draft) | _propagate(draft)):
            break
    return _finish(draft)


def _check(unaries: Sequence[Unary], terminals: Sequence[Terminal]) -> None:
    m = len(unaries)
    for t in terminals:
        if t.coefficients.shape != (m,):
            what = f"a form has {t.coefficients.size} coefficients for {m} variables"
            raise ArgumentError(Fault("", what, "Give one integer a variable."))
        if t.coefficients.size and int(np.abs(t.coefficients).max()) > 2**20:
            what = "a form has a coefficient larger than 2^20"
            raise ArgumentError(Fault("", what, "Divide it by a common factor, or use a coarser one."))


def _constants(draft: _Draft) -> bool:
    found = [e for e, law in enumerate(draft.laws) if draft.alive[e] and len(law) == 1]
    for e in found:
        draft.substitute(e, 0, draft.lo[e], None)
    return bool(found)


def _short_forms(draft: _Draft) -> bool:
    """Forms on none, one or two variables; facts divided by their greatest common divisor."""
    changed = False
    for k in reversed(range(len(draft.forms))):
        form = draft.forms[k]
        if not form:
            if not draft.low[k] <= 0 <= draft.high[k]:
                raise infeasible()
            draft.drop_form(k)
        elif len(form) == 1:
            _absorb(draft, k)
            changed = True
        elif draft.kinds[k] == "fact":
            g = math.gcd(*form.values())
            if draft.low[k] % g:
                raise infeasible()
            draft.forms[k] = {e: a // g for e, a in form.items()}
            draft.low[k] //= g
            draft.high[k] //= g
            if len(form) == 2:
                _tie(draft, k)
                changed = True
    return changed


def _absorb(draft: _Draft, k: int) -> None:
    """A form on one variable weighs or limits that variable."""
    ((e, a),) = draft.forms[k].items()
    low, high, table = draft.low[k], draft.high[k], draft.tables[k]
    ends = (-(-low // a), high // a) if a > 0 else (-(-high // a), low // a)
    draft.cut(e, *ends)
    if table is not None:
        values = a * (draft.lo[e] + np.arange(len(draft.laws[e]))) - low
        draft.laws[e] = draft.laws[e] * table[values]
        draft.error += _ULP
    draft.drop_form(k)


def _tie(draft: _Draft, k: int) -> None:
    """A fact a·y + b·w = c makes both a function of one integer t."""
    (y, a), (w, b) = draft.forms[k].items()
    c = draft.low[k]
    y0 = c * pow(a, -1, abs(b)) % abs(b) if abs(b) > 1 else 0  # gcd(a, b) = 1
    w0 = (c - a * y0) // b
    ranges = []
    for e, base, slope in ((y, y0, b), (w, w0, -a)):
        low, high = draft.span(e)
        low, high = low - base, high - base
        ranges.append((-(-low // slope), high // slope) if slope > 0 else (-(-high // slope), low // slope))
    low, high = max(r[0] for r in ranges), min(r[1] for r in ranges)
    if low > high:
        raise infeasible()
    grid = np.arange(low, high + 1)
    law = draft.laws[y][y0 + b * grid - draft.lo[y]] * draft.laws[w][w0 - a * grid - draft.lo[w]]
    draft.error += _ULP
    draft.drop_form(k)
    new = len(draft.laws)
    draft.laws.append(law)
    draft.lo.append(low)
    draft.alive.append(True)
    draft.substitute(y, b, y0, new)
    draft.substitute(w, -a, w0, new)


def _propagate(draft: _Draft) -> bool:
    """Cut every window to the values that every form can still meet with the others' windows."""
    changed = False
    for k, form in enumerate(draft.forms):
        ends = {e: sorted((a * draft.span(e)[0], a * draft.span(e)[1])) for e, a in form.items()}
        least, most = sum(v[0] for v in ends.values()), sum(v[1] for v in ends.values())
        if least > draft.high[k] or most < draft.low[k]:
            raise infeasible()
        for e, a in form.items():
            low, high = draft.low[k] - (most - ends[e][1]), draft.high[k] - (least - ends[e][0])
            bounds = (-(-low // a), high // a) if a > 0 else (-(-high // a), low // a)
            changed |= draft.cut(e, *bounds)
    return changed


def _finish(draft: _Draft) -> Model:
    kept = [e for e in range(len(draft.laws)) if draft.alive[e]]
    number = {e: i for i, e in enumerate(kept)}
    rows, ends = [], []
    for k in range(len(draft.forms)):
        made = _end_table(draft, k)
        if made is not None:
            row = np.zeros(len(kept), dtype=np.int64)
            for e, a in draft.forms[k].items():
                row[number[e]] = a
            rows.append(row)
            ends.append(made)
    return Model(
        np.array([draft.lo[e] for e in kept], dtype=np.int64),
        tuple(draft.laws[e] / draft.laws[e].sum() for e in kept),
        np.array(rows, dtype=np.int64).reshape(len(rows), len(kept)),
        tuple(ends),
        np.array([number.get(p, -1) for p in draft.parent], dtype=np.int64),
        np.array(draft.slope, dtype=np.int64),
        np.array(draft.base, dtype=np.int64),
        float(draft.error + _ULP * len(kept)),
    )


def _end_table(draft: _Draft, k: int) -> End | None:
    """The table of a form's end on the values it can reach; None for a limit that cannot be broken."""
    spans = [sorted((a * draft.span(e)[0], a * draft.span(e)[1])) for e, a in draft.forms[k].items()]
    least, most = sum(s[0] for s in spans), sum(s[1] for s in spans)
    if draft.kinds[k] == "limit" and draft.low[k] <= least and most <= draft.high[k]:
        return None
    low, high = max(least, draft.low[k]), min(most, draft.high[k])
    table = draft.tables[k]
    if table is None:
        table = np.ones(high - low + 1)
    else:
        table = table[low - draft.low[k] : high - draft.low[k] + 1]
    return End(draft.kinds[k], low, np.ascontiguousarray(table, dtype=np.float64))
