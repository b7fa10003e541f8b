"""Whatever the array: draws keep margins and bounds, twin and kernel agree, no factor exceeds one."""

from __future__ import annotations

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from congenial.laws import DiscreteGaussian, DiscreteLaplace
from congenial.randomness import SeededSource
from congenial.samplers.crossing.tables import point, unary_from_law
from support.twisted_arrays import boxed, prepared

LAWS = [
    *(DiscreteLaplace(e) for e in (0.2, 0.7, 1.5, 6.0)),
    *(DiscreteGaussian(sigma=s) for s in (0.3, 1.0, 3.0)),
]


@st.composite
def arrays(draw):
    """Up to 4×4: cells that are free, bounded around zero on either side, or zero by logic."""
    rows, columns = draw(st.integers(2, 4)), draw(st.integers(2, 4))
    kinds = draw(st.lists(cells(), min_size=1, max_size=4))
    choice = st.lists(st.integers(0, len(kinds) - 1), min_size=columns, max_size=columns)
    return [[kinds[k] for k in draw(choice)] for _ in range(rows)]


@st.composite
def cells(draw):
    law = draw(st.sampled_from(LAWS))
    kind = draw(st.sampled_from(["free", "from below", "from above", "boxed", "zero"]))
    low, high = -draw(st.integers(0, 4)), draw(st.integers(0, 4))
    if kind == "zero":
        return point()
    if kind == "boxed":
        return boxed(law, low, high)
    bounds = {"free": (None, None), "from below": (low, None), "from above": (None, high)}[kind]
    return unary_from_law(law, *bounds, -60.0)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(arrays(), st.integers(0, 2**20))
def test_draws_keep_margins_and_bounds_and_twin_and_kernel_agree(array, seed):
    plan = prepared(array, -30.0)
    tables = plan.built.tables
    out = np.zeros((4, plan.width), dtype=np.int64)
    words = SeededSource(seed).take(1 << 15)
    done, _ = plan.fill(words, out)
    source = SeededSource(seed)
    for z in out[:done]:
        assert (plan.draw(source) == z).all()
        table = z.reshape(len(array), len(array[0]))
        assert not table.sum(axis=0).any()
        assert not table.sum(axis=1).any()
        for law, value in zip([u for row in array for u in row], z.tolist(), strict=True):
            assert law.lo <= value <= law.hi
        cells = z[tables.place].reshape(tables.rows, tables.columns)
        for j in range(1, tables.columns - 1):
            assert plan.odds(j, cells[:, j:].sum(axis=1)) <= 1
