"""Kernels agree with their plain twins on the same words, and an interruption changes nothing."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from congenial.laws import DiscreteLaplace
from congenial.planning import crossings
from congenial.planning.drawing import _Given
from congenial.randomness import SEGMENT, SeededSource
from congenial.requests.builders import measure, nonnegative, total
from congenial.samplers.running import run
from congenial.samplers.tree import growing, sampler
from congenial.samplers.tree.growing import RefusedError, grow_forest
from congenial.samplers.tree.sampler import ready
from support.plans import Case, twin_draw
from support.random_forests import forests
from support.random_forests import keeps_limits as keeps
from support.small_cases import CASES
from support.words import Listed, some_words

WORDS = 6000
ALL = pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())


@pytest.fixture(autouse=True)
def quotients_where_forms_cross(monkeypatch):
    monkeypatch.setattr(crossings, "_cost", lambda offer: offer.answer.sampler != "quotient")


def whole_draw(made, source):
    return made.draws(1, source)[0]


@ALL
@pytest.mark.parametrize("trees_only", [True, False])
def test_a_whole_draw_and_its_twin_agree_on_the_same_words(case, trees_only, monkeypatch):
    made = case.prepared(monkeypatch if trees_only else None)
    words = some_words(WORDS, 7)
    fast, plain = Listed(words), Listed(words)
    for _ in range(12):
        assert (whole_draw(made, fast) == twin_draw(made, plain)).all()
        assert fast.used == plain.used


@ALL
def test_a_draw_interrupted_after_every_word_is_the_same_draw(case, monkeypatch):
    made = case.prepared(monkeypatch)
    words = some_words(WORDS, 11)
    straight = Listed(words)
    rows = made.draws(3, straight)
    for stop in range(1, straight.used + 2):
        broken = Listed(words, [stop, stop + 1, stop + 4])
        assert (made.draws(3, broken) == rows).all(), f"interrupted after {stop} words"
        assert broken.used == straight.used
    one_by_one = Listed(words, range(1, WORDS))
    assert (made.draws(3, one_by_one) == rows).all()


def planned(forest, allowance=-80.0):
    try:
        return ready(grow_forest(forest, allowance, 2e8), len(forest.cells), allowance)
    except RefusedError:
        return None


def given_values(tree, rows, rng):
    """Values that joined roots can have, each anywhere in its window."""
    g = tree.grown
    tables = g.message[g.label[tree.joined_slots]]
    return (
        np.stack([rng.integers(g.low[t], g.low[t] + g.size[t], rows) for t in tables.tolist()], axis=1)
        if len(tables)
        else np.zeros((rows, 0), dtype=np.int64)
    )


def twins_agree(forest, seed):
    tree = planned(forest)
    if tree is None:
        return
    rng = np.random.default_rng(seed)
    rows = 4
    given_rows = given_values(tree, rows, rng)
    words = some_words(4000, seed)
    out = np.zeros((rows, tree.width), dtype=np.int64)
    filled = tree.fill_given(words, out, given_rows)
    assert filled.draws == rows
    plain = Listed(words)
    for row, values in zip(out, given_rows, strict=True):
        assert (row == tree.draw_given(plain, values)).all()
    assert plain.used == filled.words
    # rows of weights were kept the first time: the second time they are looked up
    again = np.zeros_like(out)
    assert tree.fill_given(words, again, given_rows) == filled
    assert (again == out).all()
    for stop in sorted({1, 2, filled.words // 2, filled.words - 1, filled.words} - {0, -1}):
        broken = np.zeros_like(out)
        run(_Given(tree, given_rows), Listed(words, [stop]), broken)
        assert (broken == out).all()
    assert keeps(tree.grown.forest, out).all()


QUICK = settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@QUICK
@given(forest=forests(unweighed=True, far=True), seed=st.integers(0, 2**32 - 1))
def test_kernel_and_twin_agree_on_any_forest(forest, seed):
    twins_agree(forest, seed)


@pytest.mark.long
@settings(max_examples=3000, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(forest=forests(unweighed=True, far=True), seed=st.integers(0, 2**32 - 1))
def test_kernel_and_twin_agree_on_any_forest_at_length(forest, seed):
    twins_agree(forest, seed)


@pytest.mark.parametrize("epsilon", [0.02, 0.1, 1.0])
def test_twins_agree_on_rows_of_more_than_one_segment_and_where_no_row_is_kept(epsilon, monkeypatch):
    case = Case(
        {"a": 6},
        [3, 0, 9, 40, 500, 7],
        [measure("cells", DiscreteLaplace(epsilon))],
        [total()],
        [nonnegative()],
    )
    kept = case.prepared(monkeypatch)
    monkeypatch.setattr(sampler, "_KEPT", 0)
    bare = case.prepared(monkeypatch)
    words = some_words(3000, 3)
    sources = [Listed(words) for _ in range(3)]
    for _ in range(40):
        row = whole_draw(kept, sources[0])
        assert (row == whole_draw(bare, sources[1])).all()
        assert (row == twin_draw(kept, sources[2])).all()
    assert len({source.used for source in sources}) == 1
    assert (kept.tree.grown.size.max() > 2 * SEGMENT) == (epsilon < 1)


def test_draws_that_begin_again_agree_and_may_be_interrupted(monkeypatch):
    monkeypatch.setattr(growing, "_ASIDE", -5.0)
    case = Case({"a": 3}, [1, 5, 4], [measure("cells", DiscreteLaplace(1.0))], [total()], [nonnegative()])
    made = case.prepared(monkeypatch)
    assert len(made.tree.grown.watched)
    words = some_words(40_000, 2)
    straight, plain = Listed(words), Listed(words)
    rows = made.draws(4000, straight)
    forgetful = replace(made.tree.grown, watched=np.empty(0, np.int64), watched_low=np.empty(0, np.int64))
    forgetful = replace(forgetful, watched_high=np.empty(0, np.int64))
    short = Listed(words)
    replace(made, tree=replace(made.tree, grown=forgetful)).draws(4000, short)
    assert short.used != straight.used  # some draws did begin again
    for row in rows:
        assert (row == twin_draw(made, plain)).all()
    assert plain.used == straight.used
    assert (rows + np.array(case.x) >= 0).all()
    for step in (1, 2, 3, 7, 50):
        broken = Listed(words, range(step, len(words), step))
        assert (made.draws(400, broken) == rows[:400]).all()


def test_words_at_the_ends_of_their_range_are_read_alike(monkeypatch):
    """Zeros, all ones and words below 2^53 make a uniform take more words, or fall on the ends of a row."""
    ends = np.array([0, 1, 2**64 - 1, 2**53 - 1, 2**53, 2**52], dtype=np.uint64)
    rng = np.random.default_rng(8)
    words = np.where(rng.random(WORDS) < 0.4, ends[rng.integers(0, len(ends), WORDS)], some_words(WORDS, 8))
    for case in CASES.values():
        made = case.prepared(monkeypatch)
        fast, plain = Listed(words), Listed(words)
        for _ in range(40):
            assert (whole_draw(made, fast) == twin_draw(made, plain)).all()
        assert fast.used == plain.used


def test_a_seeded_source_gives_the_same_table_by_kernel_and_twin(monkeypatch):
    made = CASES["crossing groups"].prepared(monkeypatch)
    fast, plain = SeededSource(5), SeededSource(5)
    for _ in range(30):
        assert (whole_draw(made, fast) == twin_draw(made, plain)).all()
