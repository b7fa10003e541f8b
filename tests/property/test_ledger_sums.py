"""Sums of a ledger against fractions, for any amounts: exact, never overspent, shown the safe way."""

import json
import tempfile
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from congenial.errors import BudgetError
from congenial.privacy import ledger
from congenial.privacy.ledger import amounts
from support.ledgers import charge

floats = st.floats(min_value=1e-9, max_value=1e6)
decimals = st.decimals(min_value=0, max_value=10**6, places=12)


@given(st.floats(min_value=1e-290, max_value=1e290))
def test_an_amount_is_the_decimal_that_is_printed_for_it_and_reads_back_as_the_same_float(value):
    kept = amounts.exact(value, "amount")
    assert Fraction(kept) == Fraction(repr(value))
    assert float(kept) == value
    assert float(amounts.plain(kept)) == value
    assert Fraction(amounts.plain(kept)) == Fraction(kept)


@given(st.lists(floats | decimals, max_size=30))
def test_a_sum_is_exact_and_is_shown_between_safe_ends(values):
    kept = [amounts.exact(value, "amount") for value in values]
    whole = amounts.total(kept)
    assert Fraction(whole) == sum((Fraction(one) for one in kept), Fraction())
    up, down = amounts.said(whole, up=True), amounts.said(whole, up=False)
    assert Fraction(down) <= Fraction(whole) <= Fraction(up)
    assert Fraction(up) - Fraction(down) <= Fraction(whole) / 10**13
    assert json.loads(json.dumps(amounts.shown(whole, up=True))) == float(up)


@given(floats, floats, floats)
def test_a_charge_fits_exactly_if_the_budget_and_a_millionth_of_it_cover_the_sum(spent, amount, budget):
    s, a, b = (amounts.exact(value, "x") for value in (spent, amount, budget))
    covered = Fraction(s) + Fraction(a) <= Fraction(b) * (1 + Fraction(1, 10**6))
    assert amounts.fits(s, a, b) == covered
    assert amounts.left(b, s) == max(Decimal(0), amounts.EXACT.subtract(b, s))


@settings(max_examples=15, deadline=None)
@given(st.lists(st.floats(min_value=0, max_value=0.6) | st.sampled_from([0.1, 1e-7]), max_size=8))
def test_a_ledger_takes_exactly_the_charges_that_fit_and_keeps_them(values):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "spent.db"
        spent, taken = Fraction(), []
        for value in values:
            amount = value if value >= 1e-300 else 0.0
            fits = spent + Fraction(repr(amount)) <= 1 + Fraction(1, 10**6)
            try:
                charge(path, amount=amount)
            except BudgetError:
                assert not fits
            else:
                assert fits
                spent += Fraction(repr(amount))
                taken.append(amount)
        if taken:
            (account,) = ledger.read(path).datasets
            assert Fraction(account.spent) == spent
            assert [float(one.amount) for one in account.charges] == taken
