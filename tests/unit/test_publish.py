"""From a table to a release and to simulations, in Python."""

import numpy as np
import pytest

import congenial as cg
from congenial import publish
from congenial.randomness import SeededSource, SystemSource
from support.bundles import DOMAIN, RELEASED, a_request


@pytest.fixture
def table():
    return cg.Table.from_counts(DOMAIN, RELEASED, notices=["The labels were taken as public."])


def test_a_release_is_public_and_says_what_was_taken_for_granted(table):
    released = cg.release(table, a_request())
    assert type(released.table).__name__ == "PublicTable"
    assert released.guarantee["proven"]
    assert "The labels were taken as public." in released.notices
    assert any("No ledger" in notice for notice in released.notices)


def test_a_unit_that_was_not_stated_is_named_in_the_notices(table):
    plain = [cg.measure("cells", cg.DiscreteLaplace(epsilon=0.5))]
    assert any("unit was not stated" in n for n in cg.release(table, cg.Request(plain)).notices)
    stated = cg.Request(plain, unit=cg.Unit("household", max_rows=4))
    assert not any("unit was not stated" in n for n in cg.release(table, stated).notices)


def test_facts_and_bounds_hold_in_every_simulation(table):
    draws = cg.simulate(table, a_request(), draws=300, seed=1)
    assert draws.shape == (300, *table.shape)
    assert (draws.sum(axis=(1, 2)) == RELEASED.sum()).all()
    assert (draws[:, :2].sum(axis=(1, 2)) == RELEASED[:6].sum()).all()
    assert (draws >= 0).all()
    assert (draws[:, :, 2] == 0).all()
    assert len(np.unique(draws.reshape(300, -1), axis=0)) > 50


def test_a_seed_repeats_a_simulation_and_cannot_make_a_release(table):
    one, two = (cg.simulate(table, a_request(), draws=20, seed=5) for _ in range(2))
    assert np.array_equal(one, two)
    with pytest.raises(cg.ArgumentError, match=r"cg\.simulate"):
        cg.release(table, a_request(), source=SeededSource(1))
    cg.release(table, a_request(), source=SystemSource())


def test_a_plan_is_enough_and_takes_no_second_request(table):
    plan = cg.plan(table, a_request())
    assert np.array_equal(
        cg.simulate(plan, draws=3, seed=1), cg.simulate(table, a_request(), draws=3, seed=1)
    )
    cg.release(plan)
    with pytest.raises(cg.ArgumentError, match="request"):
        cg.simulate(plan, a_request(), draws=1, seed=1)
    with pytest.raises(cg.ArgumentError, match="request"):
        cg.release(plan, a_request())


def test_a_table_without_a_request_is_refused(table):
    with pytest.raises(cg.ArgumentError, match="request"):
        cg.release(table)


@pytest.mark.parametrize(("draws", "seed"), [(0, 1), (-1, 1), (1.5, 1), (True, 1), (1, 0.5), (1, "one")])
def test_draws_and_seed_are_whole_numbers(table, draws, seed):
    with pytest.raises(cg.ArgumentError):
        cg.simulate(table, a_request(), draws=draws, seed=seed)


@pytest.mark.parametrize("given", [{"ledger": "l.db"}, {"dataset": "d"}, {"budget": 4.0, "dataset": "d"}])
def test_half_an_account_is_refused(table, given):
    with pytest.raises(cg.ArgumentError, match="go together"):
        cg.release(table, a_request(), **given)


def test_a_plan_without_data_draws_nothing():
    plan = cg.plan(DOMAIN, a_request())
    for call in (lambda: cg.release(plan), lambda: cg.simulate(plan, draws=1, seed=1)):
        with pytest.raises(cg.ArgumentError, match="without data"):
            call()


def test_a_sampler_that_breaks_a_fact_cannot_release(table, monkeypatch):
    plan = cg.plan(table, a_request())
    broken = np.zeros((1, DOMAIN.cells), dtype=np.int64)
    for cell in (0, 2):  # the total; a structural zero
        noise = broken.copy()
        noise[0, cell] = 1
        noise[0, 6] = -1 if cell else 0
        monkeypatch.setattr(type(plan), "draws", lambda *a, noise=noise, **k: noise)
        with pytest.raises(AssertionError, match="does not keep"):
            publish.release(plan)


def test_no_repr_shows_a_count():
    loud = np.full(DOMAIN.cells, 98765, dtype=np.int64)
    quiet = a_request(invariants=[], bounds=[])
    plan = cg.plan(cg.Table.from_counts(DOMAIN, loud), quiet)
    for value in (plan, plan.drawing, cg.release(plan), cg.release(plan).table):
        assert not any(str(count) in repr(value) for count in range(98700, 98830))


def test_an_account_that_a_release_opens_is_named_to_the_curator_alone(table, tmp_path, caplog):
    released = cg.release(table, a_request(), ledger=tmp_path / "spent.db", dataset="cesnus", budget=9.0)
    assert "first charge to 'cesnus'" in caplog.text
    assert not any("spent.db" in notice for notice in released.notices)
    assert released.manifest["charge"]["dataset"] == "cesnus"
