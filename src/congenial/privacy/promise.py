r"""From a promise to scales: the noise that a total ε or ρ leaves to each measurement.

Measurements carry shares; each gets its share of a common factor `t`, as large as the proven guarantee
allows. Losses grow with `t`: in proportion without bounds, faster with them, so that one search on a line
finds it. The stated ε holds the 2η of rounding, and meets the promise from below within 10⁻⁶ of it.
"""

from __future__ import annotations

from dataclasses import replace

from congenial.errors import Fault, NotProvenError, RequestError
from congenial.laws import DiscreteGaussian, DiscreteLaplace, Law
from congenial.privacy import blocks
from congenial.privacy.guarantee import ROUNDING, Findings, find
from congenial.privacy.lattice import READ
from congenial.privacy.losses import Losses
from congenial.problems.structure import Measured, Structure
from congenial.requests.model import Promise, Unit

_SAFE = 2.0**-37
"""By how much scales stay below what would meet the promise: more than the guarantee rounds up."""


def scales(structure: Structure, unit: Unit, promise: Promise) -> Structure:
    """The structure whose laws meet a promise; see `kept`."""
    return kept(structure, unit, promise)[0]


def kept(structure: Structure, unit: Unit, promise: Promise) -> tuple[Structure, Findings]:
    """The structure whose laws meet a promise, and what was found of it on the way.

    **Exactness.** The guarantee of the result is at most the promise, and within 10⁻⁶ of it below.
    **Cost.** That of a guarantee, and a search on numbers alone.
    """
    _check(structure, promise)
    unscaled = replace(structure, measured=tuple(_given(m, 1.0) for m in structure.measured))
    found = find(unscaled, unit)
    if found.unproven:
        hint = f"What is not proven cannot be promised. {blocks.WAYS_OUT}"
        raise NotProvenError(Fault("promise", f"cannot be kept: {found.unproven}", hint, READ))
    scale = _scale(found, promise)
    scaled = replace(structure, measured=tuple(_given(m, scale) for m in structure.measured))
    return scaled, found.scaled(scale, unit)


def _check(structure: Structure, promise: Promise) -> None:
    """A promise in ε takes discrete Laplace, one in ρ discrete Gaussian, and every law a share."""
    wanted: type[DiscreteLaplace] | type[DiscreteGaussian] = (
        DiscreteLaplace if promise.epsilon is not None else DiscreteGaussian
    )
    faults = []
    for measured in structure.measured:
        where, law = measured.forms.where, measured.law
        if law.share is None:
            what = "a law with a scale of its own stands beside a promise"
            faults.append(Fault(where, what, "Under a promise laws carry shares.", READ, measured.forms.line))
        elif not isinstance(law, wanted):
            said = "epsilon" if promise.epsilon is not None else "rho"
            what = f"{_name(type(law))} cannot be promised in {said}; that takes {_name(wanted)}"
            faults.append(Fault(where, what, "", READ, measured.forms.line))
    if faults:
        raise RequestError(faults)


def _name(law: type[DiscreteLaplace] | type[DiscreteGaussian]) -> str:
    return "discrete-laplace" if law is DiscreteLaplace else "discrete-gaussian"


def _given(measured: Measured, scale: float) -> Measured:
    """A measurement whose law has its share of a scale."""
    share = measured.law.share
    assert share is not None
    law: Law
    if isinstance(measured.law, DiscreteLaplace):
        law = DiscreteLaplace(share * scale)
    else:
        law = DiscreteGaussian(share * scale)
    return replace(measured, law=law)


def _scale(found: Findings, promise: Promise) -> float:
    """The common factor."""
    if promise.epsilon is not None:
        room = promise.epsilon - 2 * ROUNDING
        if room <= 0:
            what = f"{promise.epsilon!r} is less than the rounding of the samplers alone ({2 * ROUNDING:g})"
            raise NotProvenError(Fault("promise.epsilon", what, "Promise more.", READ))
        return _solved(found.losses, room) * (1 - _SAFE)
    assert promise.rho is not None
    if found.losses.rho == 0:
        raise _nothing()
    return promise.rho / found.losses.rho * (1 - _SAFE)


def _solved(losses: Losses, room: float) -> float:
    """The largest factor under which the loss is at most `room`, from below."""
    one = losses.epsilon()
    if one == 0:
        raise _nothing()
    low, high = 0.0, 1.0
    while losses.epsilon(high) < room:
        low, high = high, 2 * high
    for _ in range(200):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        low, high = (middle, high) if losses.epsilon(middle) <= room else (low, middle)
    return low


def _nothing() -> NotProvenError:
    what = "has nothing to scale: nothing that is measured can change while the facts stay as they are"
    return NotProvenError(Fault("promise", what, "Measure what the facts leave open.", READ))
