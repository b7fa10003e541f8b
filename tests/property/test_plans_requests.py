"""Whatever is asked: every draw keeps every fact and bound, and its chance is law (1) up to one factor."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import congenial as cg
from congenial.errors import NoLawError, NoSamplerError, NothingToProtectError
from congenial.planning import crossings, drawing
from congenial.planning.drawing import LOG2_ALLOWANCE, MOST_ROUNDING, prepare
from congenial.problems.forest import JOINED
from congenial.problems.free import check_normaliser
from congenial.randomness import SeededSource
from congenial.samplers.base import Refusal
from congenial.samplers.quotient import QuotientDraws
from support.plans import dense, form_rows, law_at, only_trees
from support.random_requests import cases, keeps_everything

DRAWS = 12


@pytest.fixture(autouse=True, scope="module")
def no_long_search():
    """Weighted elimination may look for an order for seconds: its own tests have it."""
    none = crossings.Offer(Refusal("weighted elimination", "not asked here"), None)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(crossings, "_elimination", lambda *_: none)
        yield


def determined(structure):
    """Cells whose unit row is a rational combination of facts and zeros, by elimination in fractions."""
    cells = structure.domain.cells
    given_rows = [row for fact in structure.facts if fact.band is None for row in dense(fact.forms, cells)]
    given_rows += np.eye(cells, dtype=np.int64)[structure.zeros].tolist()
    left = [[Fraction(v) for v in row] for row in given_rows]
    done = 0
    for column in range(cells):
        pivot = next((i for i in range(done, len(left)) if left[i][column]), None)
        if pivot is None:
            continue
        left[done], left[pivot] = left[pivot], left[done]
        left[done] = [v / left[done][column] for v in left[done]]
        for i in range(len(left)):
            if i != done and left[i][column]:
                left[i] = [a - left[i][column] * b for a, b in zip(left[i], left[done], strict=True)]
        done += 1
    alone = [row for row in left[:done] if sum(v != 0 for v in row) == 1]
    return sorted(next(i for i, v in enumerate(row) if v) for row in alone)


def partitions(layout):
    """Every cell is determined or one leaf; every joined root belongs to one crossing."""
    forest = layout.forest
    assert sorted([*layout.determined.tolist(), *forest.cells.tolist()]) == list(range(layout.width))
    joined = [atom for crossing in layout.crossings for atom in crossing.atoms.tolist()]
    assert sorted(joined) == np.flatnonzero(forest.parent == JOINED).tolist()


def log_weights(structure, noise):
    """ln Π f_j(w_j·z), up to a constant."""
    found = np.zeros(len(noise), dtype=np.longdouble)
    for measured in structure.measured:
        rate = measured.law.exact_rate
        values = np.abs(noise @ form_rows(measured.forms, structure.domain.cells).T).astype(np.longdouble)
        found -= (values**measured.law.power).sum(axis=1) * (
            np.longdouble(rate.numerator) / np.longdouble(rate.denominator)
        )
    return found


def chance_is_the_law(case, structure, made, noise):
    """At drawn tables and at others a few steps away, chance over weight is one number."""
    steps = noise[1:] - noise[:-1]
    near = (noise[:-1, None, :] + steps[None, ::3, :]).reshape(-1, noise.shape[1])
    near = near[keeps_everything(case, structure, near)]
    points = np.unique(np.concatenate([noise, near]), axis=0)
    weights = log_weights(structure, points)
    found = law_at(made, points)
    # what is far less likely than the likeliest may lie beyond the windows
    likely = weights - weights.max() > -25
    assert (found[likely] > 0).all()
    seen = found > 0
    ratio = np.log(found[seen].astype(np.longdouble)) - weights[seen]
    assert float(ratio.max() - ratio.min()) < 1e-11


def holds(case, seed):
    """Whether the request was served; its properties hold if it was, and it was refused cleanly if not."""
    structure, layout = case.structure, case.layout
    partitions(layout)
    assert layout.determined.tolist() == determined(structure)
    try:
        check_normaliser(layout, structure.domain)
    except NoLawError:
        return False
    made = prepare(layout)
    if made.refused:
        with pytest.raises(NoSamplerError):
            made.draws(1, SeededSource(seed))
        return False
    assert made.certificate.kind == "exact"
    assert made.certificate.tail_log2 <= LOG2_ALLOWANCE
    assert made.certificate.relative_error <= MOST_ROUNDING
    noise = made.draws(DRAWS, SeededSource(seed))
    assert keeps_everything(case, structure, noise).all()
    assert (noise[:, layout.determined] == 0).all()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(drawing, "_assign", only_trees)
        trees = prepare(layout)
    if trees.tree is not None and not trees.refused and not trees.parts:
        noise = trees.draws(DRAWS, SeededSource(seed + 1))
        assert keeps_everything(case, structure, noise).all()
        if all(isinstance(choice.prepared, QuotientDraws) for choice in trees.choices):
            chance_is_the_law(case, structure, trees, noise)
    return True


FAST = settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
LONG = settings(max_examples=1000, deadline=None, suppress_health_check=list(HealthCheck))


@FAST
@given(case=cases(), seed=st.integers(0, 2**32))
def test_any_request_is_refused_cleanly_or_every_draw_keeps_it(case, seed):
    holds(case, seed)


@pytest.mark.long
@LONG
@given(case=cases(), seed=st.integers(0, 2**32))
def test_a_thousand_requests_are_refused_cleanly_or_every_draw_keeps_them(case, seed):
    holds(case, seed)


def planned(case):
    """The plan of a case as a caller makes it, or None where there is none to make."""
    table = cg.Table(case.structure.domain, np.array(case.x, dtype=np.int64))
    request = cg.Request(list(case.measured), list(case.facts), list(case.bounds))
    try:
        return cg.plan(table, request)
    except (NoLawError, NothingToProtectError):
        return None


def blocks_are_the_cells(plan):
    assert sum(block.cells * block.repeats for block in plan.blocks) == plan.domain.cells
    assert (plan.determined == plan.drawing.layout.determined).all()
    for block in plan.blocks:
        assert (block.sampler is None) == (block.certificate is None)
        assert block.sampler is not None or plan.drawing.refused


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(case=cases())
def test_the_blocks_of_any_plan_are_its_cells(case):
    plan = planned(case)
    if plan is not None:
        blocks_are_the_cells(plan)


@pytest.mark.long
@LONG
@given(case=cases())
def test_any_request_ends_in_a_plan_that_explains_itself_or_in_an_error_of_ours(case):
    plan = planned(case)
    if plan is not None:
        blocks_are_the_cells(plan)
        assert plan.explain()
        assert len(plan.to_json()["blocks"]) == len(plan.blocks)


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(case=cases())
def test_a_plan_without_data_says_the_same_whenever_it_is_asked(case):
    request = cg.Request(list(case.measured), list(case.facts), list(case.bounds))
    try:
        plans = [cg.plan(case.structure.domain, request) for _ in range(2)]
    except (NoLawError, NothingToProtectError):
        return
    one, two = plans
    assert one.is_public
    assert one.explain() == two.explain()
    assert one.to_json() == two.to_json()
    with pytest.raises(cg.ArgumentError):
        one.draws(1, SeededSource(1))
