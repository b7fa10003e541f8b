"""Requests that cross in any way, with every sampler asked: what is served keeps every fact and bound.

Weighted elimination looks for an order for up to a second a request, so all of this is long.
"""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from congenial.errors import NoLawError, NoSamplerError
from congenial.planning.drawing import LOG2_ALLOWANCE, MOST_ROUNDING, prepare
from congenial.problems.free import check_normaliser
from congenial.randomness import SeededSource
from support.random_requests import cases, keeps_everything

pytestmark = pytest.mark.long


@settings(max_examples=250, deadline=None, suppress_health_check=list(HealthCheck))
@given(case=cases(), seed=st.integers(0, 2**32))
def test_whatever_crosses_is_refused_cleanly_or_every_draw_keeps_it(case, seed):
    layout = case.layout
    if not layout.crossings:
        return
    try:
        check_normaliser(layout, case.structure.domain)
    except NoLawError:
        return
    made = prepare(layout)
    if made.refused:
        assert all(fault.what and fault.hint for fault in made.refused)
        with pytest.raises(NoSamplerError):
            made.draws(1, SeededSource(seed))
        return
    assert made.certificate.tail_log2 <= LOG2_ALLOWANCE
    assert made.certificate.relative_error <= MOST_ROUNDING
    noise = made.draws(8, SeededSource(seed))
    assert keeps_everything(case, case.structure, noise).all()
    assert (noise[:, layout.determined] == 0).all()
