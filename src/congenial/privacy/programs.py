r"""Integer programs for facts of any form, by HiGHS.

A change is δ = p - n, p and n counts put and taken, over *types*: cells that facts and shared factors
treat alike and whose own factors weigh the same. Limits on nodes, not on time, keep answers the same from
run to run; where one is met, the bound of the search is what is stated, as an upper bound.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

NODES = 4000
FEW_NODES = 200
"""For the dearest change: its bound is good for something where the search ends early."""


@dataclass(frozen=True, eq=False)
class Types:
    """A problem over types: facts · (p - n) = 0, forms that are weighed, and forms with little room."""

    facts: Any
    """Sparse, rows × types."""
    sizes: Integers
    """Cells of each type."""
    rooms: Any
    """Sparse, forms × types: forms that limits leave little room, and how much."""
    room: Integers
    balanced: bool
    """Whether counts put and taken must be as many (`replace`)."""
    one_sided: bool = False
    """Whether counts are only put, or only taken (`add-or-remove`)."""


@dataclass(frozen=True, eq=False)
class Weighed:
    """What changes cost: each type's own factors, and measured forms of more than one cell."""

    own: Floats
    """What a cell of each type costs for a count moved by one."""
    shared: Any
    """Sparse, forms × types."""
    rates: Floats
    """What each shared form costs."""


@dataclass(frozen=True)
class Found:
    """The optimum of a program over types: its value, a bound on it, whether they meet, and the change."""

    value: float
    bound: float
    is_exact: bool
    put: Integers
    taken: Integers


class _Program:
    """Columns and rows of a mixed integer program, put together block by block."""

    def __init__(self) -> None:
        self.width = 0
        self.cost: list[Floats] = []
        self.upper: list[Floats] = []
        self.rows: list[tuple[list[tuple[int, Any]], Floats, Floats]] = []

    def columns(self, count: int, upper: float | Floats, cost: float | Floats = 0.0) -> int:
        """Integer columns from 0 up; returns where they begin."""
        at = self.width
        self.width += count
        self.cost.append(np.broadcast_to(np.asarray(cost, dtype=np.float64), (count,)))
        self.upper.append(np.broadcast_to(np.asarray(upper, dtype=np.float64), (count,)))
        return at

    def row(self, terms: list[tuple[int, Any]], low: float | Floats, high: float | Floats) -> None:
        """low ≤ Σ matrix · columns ≤ high, where each term is (where the columns begin, matrix)."""
        height = terms[0][1].shape[0]
        if height:
            self.rows.append((terms, np.broadcast_to(low, (height,)), np.broadcast_to(high, (height,))))

    def solve(self, nodes: int = NODES) -> Any:
        from scipy.optimize import Bounds, LinearConstraint, milp
        from scipy.sparse import block_array, csr_array

        constraints = []
        if self.rows:
            blocks = []
            for terms, _, _ in self.rows:
                height = terms[0][1].shape[0]
                line = csr_array((height, self.width))
                for at, matrix in terms:
                    wide = csr_array(matrix).tocoo()
                    line = line + csr_array((wide.data, (wide.row, wide.col + at)), shape=line.shape)
                blocks.append([line])
            low = np.concatenate([low for _, low, _ in self.rows])
            high = np.concatenate([high for _, _, high in self.rows])
            constraints = [LinearConstraint(block_array(blocks, format="csr"), low, high)]
        options: Any = {"node_limit": nodes, "mip_rel_gap": 0.0}
        bounds = Bounds(0.0, np.concatenate(self.upper))
        cost = np.concatenate(self.cost)
        whole: Any = np.ones(self.width)
        return milp(cost, integrality=whole, bounds=bounds, constraints=constraints, options=options)


def _sides(types: Types, rows: int, program: _Program) -> tuple[int, int]:
    """Columns for p and n with the facts, the rows of the units, and little room."""
    from scipy.sparse import csr_array

    count = len(types.sizes)
    put = program.columns(count, rows)
    taken = program.columns(count, 0 if types.one_sided else rows)
    program.row([(put, types.facts), (taken, -types.facts)], 0, 0)
    ones = csr_array(np.ones((1, count)))
    program.row([(put, ones)], 0, rows)
    program.row([(taken, ones)], 0, rows)
    if types.balanced:
        program.row([(put, ones), (taken, -ones)], 0, 0)
    program.row(
        [(put, types.rooms), (taken, -types.rooms)], -types.room.astype(float), types.room.astype(float)
    )
    return put, taken


def fewest(types: Types, which: int, most: int) -> Found | None:
    """The fewest rows that move a cell of a type which has but one; None if at most `most` rows cannot."""
    from scipy.sparse import csr_array

    program = _Program()
    put, taken = _sides(types, most, program)
    count = len(types.sizes)
    rows = program.columns(1, most, 1.0)
    ones, one = csr_array(np.ones((1, count))), csr_array(np.ones((1, 1)))
    program.row([(rows, one), (put, -ones)], 0, np.inf)
    program.row([(rows, one), (taken, -ones)], 0, np.inf)
    unit = csr_array(([1.0], ([0], [which])), shape=(1, count))
    program.row([(put, unit), (taken, -unit)], 1, np.inf)
    done = program.solve()
    if done.x is None:
        if done.status == 2:  # infeasible
            return None
        return Found(float(most), 0.0, False, np.zeros(count, np.int64), np.zeros(count, np.int64))
    p, n = _split(done.x, put, taken, count)
    least = _bound(done)
    value = float(max(p.sum(), n.sum()))
    return Found(value, least, least > value - 1 + 1e-6, p, n)


def dearest(types: Types, weighed: Weighed, rows: int, power: int) -> Found:
    """The largest Σ rate·|w·δ|^power over the changes of at most `rows` rows.

    Absolute values by a sign each, squares by steps of 1, 3, 5, …
    """
    program = _Program()
    put, taken = _sides(types, rows, program)
    count = len(types.sizes)
    scale = float(max(weighed.own.max(initial=0.0), weighed.rates.max(initial=0.0)))
    if scale == 0:
        return Found(0.0, 0.0, True, np.zeros(count, np.int64), np.zeros(count, np.int64))
    _own(program, types, weighed, (put, taken), rows, power, scale)
    _shared(program, weighed, (put, taken), rows, power, scale)
    done = program.solve(FEW_NODES)
    if done.x is None:
        return Found(0.0, np.inf, False, np.zeros(count, np.int64), np.zeros(count, np.int64))
    p, n = _split(done.x, put, taken, count)
    value, bound = -float(done.fun) * scale, -_bound(done) * scale
    return Found(value, bound, bound <= value * (1 + 1e-7) + 1e-12, p, n)


def _own(
    program: _Program,
    types: Types,
    weighed: Weighed,
    sides: tuple[int, int],
    rows: int,
    power: int,
    scale: float,
) -> None:
    """What cells cost by themselves. Of a type with two cells one can take what another gives."""
    from scipy.sparse import csr_array

    count = len(types.sizes)
    put, taken = sides
    paid = np.flatnonzero(weighed.own > 0)
    cost = -weighed.own[paid] / scale
    pick = csr_array((np.ones(len(paid)), (np.arange(len(paid)), paid)), shape=(len(paid), count))
    for side in (put, taken):
        _steps(program, [(side, pick)], rows, power, cost)
    alone = np.flatnonzero((weighed.own > 0) & (types.sizes == 1))
    pick = csr_array((np.ones(len(alone)), (np.arange(len(alone)), alone)), shape=(len(alone), count))
    sign = program.columns(len(alone), 1)
    unit = _eye(len(alone))
    program.row([(put, pick), (sign, -rows * unit)], -np.inf, 0)
    program.row([(taken, pick), (sign, rows * unit)], -np.inf, rows)


def _shared(
    program: _Program, weighed: Weighed, sides: tuple[int, int], rows: int, power: int, scale: float
) -> None:
    """|w·δ| of every shared form: at most w·δ, or at most -w·δ, as a sign says."""
    count = weighed.shared.shape[0]
    put, taken = sides
    if not count:
        return
    heaviest = np.abs(weighed.shared).max(axis=1).toarray().ravel()
    mixed = (weighed.shared.min(axis=1).toarray().ravel() < 0) & (
        weighed.shared.max(axis=1).toarray().ravel() > 0
    )
    most = rows * heaviest * np.where(mixed, 2, 1)
    size = program.columns(count, most)
    sign = program.columns(count, 1)
    unit, wide = _eye(count), _eye(count, 2 * most)
    shared = weighed.shared
    program.row([(size, unit), (put, -shared), (taken, shared), (sign, -wide)], -np.inf, 0)
    program.row([(size, unit), (put, shared), (taken, -shared), (sign, wide)], -np.inf, 2 * most)
    _steps(program, [(size, unit)], int(most.max()), power, -weighed.rates / scale)


def _steps(program: _Program, terms: list[tuple[int, Any]], most: int, power: int, cost: Floats) -> None:
    """Pay cost·value^power: the a-th count of a value costs a^power - (a-1)^power, in turn."""
    count = len(cost)
    if not count:
        return
    unit = _eye(count)
    if power == 1:
        paid = program.columns(count, most, cost)
        program.row([(paid, unit), *((at, -matrix) for at, matrix in terms)], 0, 0)
        return
    before = -1
    all_steps = []
    for a in range(1, most + 1):
        step = program.columns(count, 1, cost * (a**power - (a - 1) ** power))
        if before >= 0:
            program.row([(step, unit), (before, -unit)], -np.inf, 0)
        before = step
        all_steps.append((step, unit))
    program.row([*all_steps, *((at, -matrix) for at, matrix in terms)], 0, 0)


def _eye(count: int, value: float | Floats = 1.0) -> Any:
    from scipy.sparse import csr_array

    along = np.arange(count)
    return csr_array((np.broadcast_to(value, (count,)), (along, along)), shape=(count, count))


def _split(x: Floats, put: int, taken: int, count: int) -> tuple[Integers, Integers]:
    whole = np.rint(x).astype(np.int64)
    return whole[put : put + count], whole[taken : taken + count]


def _bound(done: Any) -> float:
    bound = getattr(done, "mip_dual_bound", None)
    return float(bound) if bound is not None and np.isfinite(bound) else -np.inf
