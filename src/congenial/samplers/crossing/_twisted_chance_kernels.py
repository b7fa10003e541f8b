"""The tests of twisted columns, compiled, and the tables that all its kernels read.

A test asks whether a uniform is at most a chance over its bound. Three ways of answering, each used
where the one before does not decide:

* a few frequencies give an interval around the chance;
* direct convolution with trimmed tails gives a much narrower one;
* direct convolution in full gives the chance as the plain twin adds it up.

Intervals are wider than all rounding, so every answer is the twin's.
"""
# mypy: ignore-errors
# compiled code: numba decides the types, from arrays whose types its callers fix

from typing import NamedTuple

from numba import njit

from congenial.samplers.base import FloatArray, IntArray

GUIDES = 32
"""Entries of each of a state's two guide tables."""

# columns of `Tables.facts`: what a remainder's draw and tests need
LEFT, RIGHT, PEAK, BOUND, REST, UP, DOWN, GROUP_BOUND, GROUP_REST, VALUE = range(10)
FACTS = 10
# entries of `Tables.windows`
FIRST, LOWEST, HIGHEST, LAW_AT, LAW_LO, LAW_HI = range(6)
WINDOWS = 6
# columns of `Tables.marks`: place of the largest weight; stored sums, how many; guide; frequencies
TOP, AT, BEFORE, FROM, GUIDE, WAVE = range(6)
MARKS = 6
# columns of `Tables.column_marks`
KEPT, GROUP_KEPT, STORED, PERIOD, OUTSIDE, PHASE, LIMIT = range(7)
COLUMN_MARKS = 7

_TRIM = 1e-13  # tails dropped by the second squeeze, a row


class Tables(NamedTuple):
    """All tables of a plan. A *state* is a row class, a column and a remainder.

    Few arrays, since compiled code pays for each: places in `numbers` are absolute.

    rows, columns   their numbers
    row_class       class of each row
    place           where cell (i, j) of the draw stands in the output
    windows         by class and column: first state, range of remainders, window of the cell's law
    facts, marks    by state: see the constants above
    column_marks    by column: see the constants above
    order           by column: the rows, those of the group last
    slack           by column: absolute rounding of a Fourier sum; a factor of the group's wrap bound;
                    relative rounding of a convolution, and of a bound, with room to spare
    numbers         laws of cells; stored sums; first characteristic values, real, then imaginary parts;
                    cosines and sines of each column's turns
    guides          guide tables of stored sums
    """

    rows: int
    columns: int
    row_class: IntArray
    place: IntArray
    windows: IntArray
    facts: FloatArray
    marks: IntArray
    column_marks: IntArray
    order: IntArray
    slack: FloatArray
    numbers: FloatArray
    guides: IntArray


@njit(cache=True, _nrt=False)
def fill_law(tables, t, j, s, out):
    """h_js for one row class on its feasible z; (first z, how many)."""
    windows, facts = tables.windows, tables.facts
    lo, at = windows[t, j, LAW_LO], windows[t, j, LAW_AT]
    start = max(lo, s - windows[t, j + 1, HIGHEST])
    stop = min(windows[t, j, LAW_HI], s - windows[t, j + 1, LOWEST])
    after = windows[t, j + 1, FIRST] + s - windows[t, j + 1, LOWEST]
    state = windows[t, j, FIRST] + s - windows[t, j, LOWEST]
    total = facts[state, LEFT] + facts[state, RIGHT]
    for z in range(start, stop + 1):
        out[z - start] = tables.numbers[at + z - lo] * facts[after - z, VALUE] / total
    return start, stop - start + 1


@njit(cache=True, _nrt=False)
def chance_of_sum(tables, j, remainders, begin, target, room):
    """P(sum of the rows from `begin` in the column's order = target), in the order in which the twin adds.

    `room` is work space: three rows as long as all windows together.
    """
    law, size, lo, width = 0, 1, 0, 0
    room[law, 0] = 1.0
    for n in range(begin, tables.rows):
        i = tables.order[j, n]
        start, width = fill_law(tables, tables.row_class[i], j, remainders[i], room[2])
        lo += start
        if n == tables.rows - 1:
            break
        convolve(room[law], 0, size, room[2], 0, width, room[1 - law])
        size += width - 1
        law = 1 - law
    total = 0.0
    for k in range(width):
        m = target - lo - k
        if 0 <= m < size:
            total += room[2, k] * room[law, m]
    return total


@njit(cache=True, _nrt=False)
def _trimmed_chance(tables, j, remainders, begin, target, room):
    """(p, cut): the same chance lies between p and p + cut; tails of partial sums are cut as they grow."""
    law, first, size, lo, cut = 0, 0, 1, 0, 0.0
    room[law, 0] = 1.0
    for n in range(begin, tables.rows):
        i = tables.order[j, n]
        start, width = fill_law(tables, tables.row_class[i], j, remainders[i], room[2])
        a, b, lost = _core(room[2], width)
        convolve(room[law], first, size, room[2], a, b - a, room[1 - law])
        law = 1 - law
        first, last, more = _core(room[law], size + b - a - 1)
        size = last - first
        lo += start + a + first
        cut += lost + more
    p = room[law, first + target - lo] if 0 <= target - lo < size else 0.0
    return p, cut


@njit(cache=True, _nrt=False)
def convolve(law, first, size, one, start, width, out):
    """out = law[first …] ⊛ one[start …], term by term of `one`."""
    for k in range(size + width - 1):
        out[k] = 0.0
    for k in range(width):
        h = one[start + k]
        for m in range(size):
            out[k + m] += h * law[first + m]


@njit(cache=True, _nrt=False)
def _core(law, size):
    """The range that leaves out at most `_TRIM` at either end, and what it leaves out."""
    a, lost = 0, 0.0
    while a < size - 1 and lost + law[a] <= _TRIM:
        lost += law[a]
        a += 1
    b, more = size, 0.0
    while b > a + 1 and more + law[b - 1] <= _TRIM:
        b -= 1
        more += law[b]
    return a, b, lost + more


@njit(cache=True, inline="always", _nrt=False)
def multiplied(tables, j, states, begin, kept, waves):
    """Products of the first ĥ of the rows from `begin` in the column's order; False if a row has none."""
    marks, stored, order = tables.marks, tables.numbers, tables.order
    width = tables.column_marks[j, STORED]
    for m in range(kept):
        waves[0, m] = 1.0
        waves[1, m] = 0.0
    for n in range(begin, tables.rows):
        at = marks[states[order[j, n]], WAVE]
        if at < 0:
            return False
        for m in range(kept):
            a, b = stored[at + m], stored[at + width + m]
            x, y = waves[0, m], waves[1, m]
            waves[0, m] = x * a - y * b
            waves[1, m] = x * b + y * a
    return True


@njit(cache=True, inline="always", _nrt=False)
def _squeezed(u, p, below, above, bound, rounding):
    """1 if u ≤ chance/bound for every chance in p-below … p+above, -1 if for none, else 0."""
    if u <= (p - below) / bound * (1.0 - rounding):
        return 1
    if u > (p + above) / bound * (1.0 + rounding):
        return -1
    return 0


@njit(cache=True, _nrt=False)
def _by_convolution(tables, j, remainders, begin, target, u, bound, depth, room):
    """Whether u ≤ chance/bound, by convolution: trimmed, and in full where that does not decide."""
    if depth <= 1:
        p, cut = _trimmed_chance(tables, j, remainders, begin, target, room)
        sure = _squeezed(u, p, 0.0, cut, bound, tables.slack[j, 2])
        if sure != 0:
            return sure > 0
    return u <= chance_of_sum(tables, j, remainders, begin, target, room) / bound


@njit(cache=True, inline="always", _nrt=False)
def column_passes(tables, j, remainders, states, u, waves, depth, room):
    """Whether u ≤ P(Σ Z = 0) / Π H, and 1 if the frequencies did not decide it.

    `depth` begins at a later way of deciding: for tests, which show that all ways agree.
    """
    facts = tables.facts
    bound, rest, up, down = 1.0, 1.0, 1.0, 1.0
    for n in range(tables.rows):
        state = states[tables.order[j, n]]
        bound *= facts[state, BOUND]
        rest *= facts[state, REST]
        up *= facts[state, UP]
        down *= facts[state, DOWN]
    kept, period = tables.column_marks[j, KEPT], tables.column_marks[j, PERIOD]
    if depth == 0 and multiplied(tables, j, states, 0, kept, waves):
        p = 1.0
        for m in range(kept):
            p += waves[0, m] if 2 * (m + 1) == period else 2.0 * waves[0, m]
        around = rest * (1.0 + tables.slack[j, 2]) + tables.slack[j, 0]
        sure = _squeezed(u, p / period, around + up + down, around, bound, tables.slack[j, 2])
        if sure != 0:
            return sure > 0, 0
    return _by_convolution(tables, j, remainders, 0, 0, u, bound, depth, room), 1


@njit(cache=True, inline="always", _nrt=False)
def group_passes(tables, j, remainders, target, u, waves, known, numbers, depth, room):
    """Whether u ≤ P(sum of the group = target) / Π H; `numbers` are its bound, rest and wrap bound."""
    period = tables.column_marks[j, PERIOD]
    if depth == 0 and known and 2 * abs(target) <= period:
        cosines = tables.column_marks[j, PHASE]
        sines = cosines + period
        p = 1.0
        turn = 0
        step = target % period
        for m in range(tables.column_marks[j, GROUP_KEPT]):
            turn += step
            if turn >= period:
                turn -= period
            part = waves[0, m] * tables.numbers[cosines + turn] - waves[1, m] * tables.numbers[sines + turn]
            p += part if 2 * (m + 1) == period else 2.0 * part
        around = numbers[1] * (1.0 + tables.slack[j, 2]) + tables.slack[j, 0]
        sure = _squeezed(u, p / period, around + numbers[2], around, numbers[0], tables.slack[j, 2])
        if sure != 0:
            return sure > 0
    begin = tables.column_marks[j, OUTSIDE]
    return _by_convolution(tables, j, remainders, begin, target, u, numbers[0], depth, room)


@njit(cache=True, inline="always", _nrt=False)
def group_numbers(tables, j, states):
    """Bound, bound of the frequencies left out, bound of what wraps: products over the group's rows."""
    facts = tables.facts
    bound, rest, up, down = 1.0, 1.0, tables.slack[j, 1], tables.slack[j, 1]
    for n in range(tables.column_marks[j, OUTSIDE], tables.rows):
        state = states[tables.order[j, n]]
        bound *= facts[state, GROUP_BOUND]
        rest *= facts[state, GROUP_REST]
        up *= facts[state, UP]
        down *= facts[state, DOWN]
    return bound, rest, up + down
