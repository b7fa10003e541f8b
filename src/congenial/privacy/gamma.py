r"""Gong & Meng's γ: what conditioning does to the ε of an unconstrained mechanism.

Their Theorem 2.1 bounds the loss between two conforming tables by `(1+γ)kε`, ε the loss of the
unconstrained mechanism for one changed record and k the records that must change. Read backwards,

    γ = L / (k ε) - 1

with L the largest loss that is proven, k the counts of the smallest admissible change. γ = 0 where nothing is
fixed, -1 where what is measured is published anyway, -1/2 under a fixed total without bounds. (The price
that bounds add to what facts leave is another number: `Guarantee.price`.)
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from congenial.privacy.changes import changes
from congenial.privacy.losses import losses
from congenial.privacy.prices import binding
from congenial.privacy.reading import Factor, Reading
from congenial.requests.model import Unit


def gamma(reading: Reading, shape: tuple[int, ...], unit: Unit) -> float:
    """γ of a request, from its own largest loss and that of the same measurements without facts and bounds.

    **Source.** Gong & Meng (2020), Theorem 2.1 and section 5.1; γ, k and ε as there.
    """
    alone = replace(reading, facts=(), bounds=())
    loose = changes(alone, shape, unit)
    unconstrained = losses(alone, loose, binding(alone, loose), unit)
    kept = replace(reading, factors=tuple(f for f in reading.factors if not _is_public(f, reading)))
    possible = changes(kept, shape, unit)
    constrained = losses(kept, possible, binding(kept, possible), unit)
    records = int(np.abs(possible.nearest[1]).sum())
    return constrained.epsilon() / (records * unconstrained.epsilon() / loose.units) - 1


def _is_public(factor: Factor, reading: Reading) -> bool:
    """Whether the number of a band is measured that is published anyway."""
    return factor.band is not None and any(
        bound.band == factor.band and bound.family is factor.family for bound in reading.bounds
    )
