"""The guarantee: its numbers against enumeration, its words, and what it must refuse."""

from __future__ import annotations

import json
import math
from dataclasses import fields

import numpy as np
import pytest

from congenial.errors import NothingToProtectError, NotProvenError
from congenial.laws import DiscreteGaussian, DiscreteLaplace
from congenial.privacy.composition import TableClass
from congenial.privacy.guarantee import ROUNDING, find, guarantee
from congenial.requests.builders import (
    at_most,
    band,
    forms,
    margin,
    measure,
    nonnegative,
    total,
    zeros,
)
from support import promised_table
from support.privacy_enumeration import worst
from support.structures import structure, unit

LAPLACE = measure("cells", DiscreteLaplace(0.5))
GAUSS = measure("cells", DiscreteGaussian(sigma=2))


@pytest.fixture(scope="module")
def lines():
    return list(promised_table.lines())


def test_no_claim_of_the_page_is_below_the_worst_pair_that_is_found(lines):
    for line in lines:
        assert line.found <= line.claimed * (1 + 1e-9), line.row


def test_every_claim_that_is_called_exact_is_attained(lines):
    assert sum(line.kind == "exact" for line in lines) > 12
    for line in lines:
        if line.kind == "exact":
            assert line.found == pytest.approx(line.claimed, rel=1e-9), line.row


def test_the_table_on_the_page_is_the_one_that_is_generated():
    text = promised_table.PAGE.read_text(encoding="utf-8")
    assert promised_table.page(text, promised_table.table()) == text


@pytest.mark.parametrize("factor", [2, 4])
def test_a_guarantee_that_is_off_by_a_factor_is_below_the_worst_pair(lines, factor):
    caught = [line for line in lines if line.found > line.claimed / factor]
    assert len(caught) == len(lines)


def test_a_sampler_with_half_the_noise_breaks_every_kind_of_claim():
    for facts, bounds in (([], []), ([total()], []), ([total()], [nonnegative()])):
        stated = find(structure({"c": 3}, [LAPLACE], facts, bounds), unit())
        louder = structure({"c": 3}, [measure("cells", DiscreteLaplace(1.0))], facts, bounds)
        assert worst(louder, unit(), 1, top=3, wide=0 if bounds else 3).pure > stated.losses.epsilon()


@pytest.mark.parametrize("shape", ["total", "margins", "cube"])
def test_gaussian_divergences_on_three_lattices_stay_below_the_rho_without_invariants(shape):
    axes, facts, top, wide = {
        "total": ({"c": 3}, [total()], 2, 20),
        "margins": ({"r": 2, "c": 3}, [margin("r"), margin("c")], 1, 7),
        "cube": ({"a": 2, "b": 2, "c": 2}, promised_table.THREE, 1, 16),
    }[shape]
    made = structure(axes, [measure("cells", DiscreteGaussian(sigma=1.5))], facts)
    stated = guarantee(made, unit())
    seen = worst(made, unit(), stated.units, top=top, wide=wide, orders=(1.5, 2, 8))
    moved = 2 * stated.units  # each count by one: ‖v‖²
    assert stated.rho == pytest.approx(moved / (2 * 1.5**2))
    for order, divergence in seen.renyi.items():
        assert divergence <= stated.rho * (1 + 1e-9), order


def test_epsilon_and_delta_hold_what_rounding_and_windows_add():
    stated = guarantee(structure({"c": 3}, [LAPLACE], [total()]), unit())
    assert stated.loss == 1.0
    assert stated.epsilon == pytest.approx(1 + 2 * ROUNDING, abs=1e-12)
    assert stated.delta == pytest.approx((1 + math.exp(stated.epsilon)) * 2.0**-80)
    assert stated.rho is None


def test_a_rho_stands_alone_with_the_windows_beside_it():
    stated = guarantee(structure({"c": 3}, [GAUSS], [total()]), unit())
    assert (stated.epsilon, stated.rho, stated.delta) == (None, 0.25, 2.0**-80)
    assert (stated.currency, stated.amount) == ("rho", 0.25)


@pytest.mark.parametrize(
    ("measured", "facts", "bounds", "why"),
    [
        ([GAUSS], [total()], [nonnegative()], "bounds that the facts do not imply"),
        ([LAPLACE, measure("c", DiscreteGaussian(sigma=2))], [total()], [], "meet in one block"),
        ([GAUSS], [band("total", 5)], [], "bounds that the facts do not imply"),
    ],
)
def test_what_is_not_proven_says_so_and_states_no_number(measured, facts, bounds, why):
    stated = guarantee(structure({"c": 3, "d": 2}, measured, facts, bounds), unit())
    assert not stated.proven
    assert (stated.epsilon, stated.delta, stated.rho) == (None, None, None)
    assert (stated.currency, stated.amount) == (None, None)
    assert why in stated.why
    assert why in stated.sentence
    with pytest.raises(NotProvenError, match=why):
        stated.require()
    stated.require(allow_unproven=True)


def test_laws_in_blocks_of_their_own_state_a_rho():
    blocks = [
        measure({"c": {"left": ["c0"]}}, DiscreteLaplace(0.5)),
        measure({"c": {"right": ["c1"]}}, DiscreteGaussian(rho=0.125)),
    ]
    made = structure({"c": 2}, blocks)
    stated = guarantee(made, unit())
    assert stated.rho == pytest.approx(0.125 + 0.5**2 / 2)
    assert not stated.is_exact
    seen = worst(made, unit(), 1, top=2, wide=25, orders=(1.5, 2, 8))
    assert max(seen.renyi.values()) <= stated.rho


def test_mixed_laws_in_one_block_would_break_the_sum():
    made = structure(
        {"c": 2},
        [
            measure({"c": {"x": ["c0"]}}, DiscreteLaplace(0.2)),
            measure({"c": {"y": ["c1"]}}, DiscreteLaplace(0.2)),
            measure({"c": {"x": ["c0"]}}, DiscreteGaussian(sigma=2)),
        ],
        [total()],
    )
    seen = worst(made, unit(), 1, top=2, wide=60, orders=(1.5,))
    assert 1.5 * seen.renyi[1.5] == pytest.approx(0.372, abs=2e-3)
    assert pytest.approx(0.3075) == 1.5 * (0.4**2 / 2 + 1 / 8)
    assert not guarantee(made, unit()).proven


def test_a_gaussian_beside_a_bounded_laplace_block_is_proven():
    made = structure(
        {"c": 3},
        [
            measure({"c": {"a": ["c0"], "b": ["c1"]}}, DiscreteLaplace(0.5)),
            measure({"c": {"right": ["c2"]}}, DiscreteGaussian(rho=0.125)),
        ],
        [],
        [at_most({"c": {"a": ["c0"]}}, 3)],
    )
    assert guarantee(made, unit()).proven


def test_a_bounded_gaussian_block_beside_a_laplace_block_is_not_proven():
    made = structure(
        {"c": 3},
        [
            measure({"c": {"a": ["c0"], "b": ["c1"]}}, DiscreteLaplace(0.5)),
            measure({"c": {"right": ["c2"]}}, DiscreteGaussian(rho=0.125)),
        ],
        [],
        [at_most({"c": {"right": ["c2"]}}, 3)],
    )
    assert "bounds that the facts do not imply" in guarantee(made, unit()).why


def test_bounds_that_facts_imply_leave_a_gaussian_proven():
    assert guarantee(structure({"c": 3}, [GAUSS], [total()], [at_most("total", 9)]), unit()).proven


def test_suppression_loses_nothing():
    stated = guarantee(structure({"c": 3}, [LAPLACE], [total()]), unit(), "suppress")
    assert (stated.epsilon, stated.delta, stated.proven) == (0.0, 0.0, True)
    assert "nobody learns anything" in stated.sentence


def test_facts_that_determine_everything_are_refused():
    with pytest.raises(NothingToProtectError):
        guarantee(structure({"r": 2, "c": 1}, [LAPLACE], [margin("r")]), unit())


def test_json_has_the_contract_and_round_trips():
    for measured in (LAPLACE, GAUSS):
        said = guarantee(structure({"c": 3}, [measured], [total()]), unit()).to_json()
        contract = ("epsilon", "delta", "rho", "unit", "units", "change", "proven", "sentence")
        assert tuple(said)[:5] + tuple(key for key in contract if key in said)[5:] == contract
        assert json.loads(json.dumps(said)) == said
        assert said["change"] == "replace"
        assert TableClass.read(said["class"]).facts == ('"total"',)


def test_sentences_speak_of_one_unit_and_of_several():
    one = guarantee(structure({"c": 3}, [LAPLACE], [total()]), unit()).sentence
    assert "had the record of any one person been different" in one
    assert "2.719 times" in one  # e^{1 + 2η}, rounded up
    two = guarantee(structure({"r": 3, "c": 3}, [GAUSS], [margin("r"), margin("c")]), unit()).sentence
    assert "any 2 units (person) together" in two
    assert "do not let fewer change" in two
    rows = guarantee(structure({"c": 3}, [LAPLACE]), unit(3)).sentence
    assert "records (up to 3) of any one person been different, added or left out" in rows


@pytest.mark.parametrize("law", [DiscreteLaplace(50), DiscreteLaplace(5000), DiscreteGaussian(sigma=0.01)])
def test_a_loss_that_limits_nothing_is_said_to_promise_nothing(law):
    stated = guarantee(structure({"c": 3}, [measure("cells", law)], [total()]), unit())
    assert "nothing is promised" in stated.sentence
    assert "times as likely" not in stated.sentence
    odds = stated.to_json()["odds"]
    assert odds is None or math.log(odds) == pytest.approx(stated.epsilon)


def test_a_prior_belief_moves_within_the_stated_interval():
    stated = guarantee(structure({"c": 3}, [LAPLACE], [total()]), unit())
    low, high = stated.posterior(0.5)
    assert low == pytest.approx(0.5 * math.exp(-stated.epsilon))
    assert high == 1.0
    assert guarantee(structure({"c": 3}, [GAUSS], [total()]), unit()).posterior(0.5) is None


def test_the_smooth_form_is_the_loss_for_each_count():
    stated = guarantee(structure({"p": [2, 2]}, promised_table.LEVELS, [total()]), unit())
    assert stated.per_count == pytest.approx(0.75)
    bounded = guarantee(structure({"p": [2, 2]}, promised_table.LEVELS, [total()], [nonnegative()]), unit())
    assert bounded.per_count == pytest.approx(1.5)


def test_nothing_of_a_guarantee_can_hold_a_count():
    made = structure({"c": 3}, [LAPLACE], [total()])
    assert not any(
        "Table" in str(field.type) and "Class" not in str(field.type)
        for field in fields(guarantee(made, unit()))
    )
    assert not hasattr(made, "counts")


def test_the_class_leaves_out_what_another_fact_implies():
    finer = guarantee(structure({"p": [2, 2]}, [LAPLACE], [total(), margin(p="p0"), total()]), unit()).tables
    assert finer.facts == ('"{p: p0}"',)
    both = guarantee(
        structure({"r": 3, "c": 3}, [LAPLACE], [margin("r"), margin("c"), total()]), unit()
    ).tables
    assert both.facts == ('"c"', '"r"')


def test_two_groups_under_one_name_are_two_classes():
    def said(cells):
        facts = [margin(c={"some": cells})]
        return guarantee(structure({"c": 4}, [LAPLACE], facts), unit()).tables

    assert said(["c0", "c1"]) != said(["c0", "c2"])
    assert said(["c0", "c1"]) == said(["c1", "c0"])


def test_the_class_names_bands_forms_zeros_and_bounds():
    weights = [{"c": "c0", "d": "d0", "weight": 2}, {"c": "c1", "d": "d1", "weight": 1}]
    facts = [band("total", 10), forms(weights, name="beds")]
    made = structure({"c": 3, "d": 2}, [LAPLACE], facts, [nonnegative(), zeros([{"c": "c2", "d": "d0"}])])
    text = guarantee(made, unit()).tables.text
    for part in ('"band":10', '"forms":"beds"', '"zeros":1', '"at_least":0'):
        assert part in text


def test_a_guarantee_is_the_same_however_the_cells_are_numbered():
    rng = np.random.default_rng(5)
    order = [f"c{i}" for i in rng.permutation(6)]
    group = {"c": {"x": ["c0", "c1", "c2"], "y": ["c3", "c4", "c5"]}}
    measured = [LAPLACE, measure(group, DiscreteLaplace(0.25))]
    plain = guarantee(structure({"c": 6}, measured, [total()], [nonnegative()]), unit())
    mixed = guarantee(structure({"c": order}, measured, [total()], [nonnegative()]), unit())
    assert plain.loss == mixed.loss
