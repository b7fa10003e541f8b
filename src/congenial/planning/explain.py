"""A plan in words and as JSON."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from congenial.planning.noise import Noise
    from congenial.planning.plan import Plan, PlannedBlock
    from congenial.privacy.guarantee import Guarantee

_NAMED = 6


def explained(plan: Plan) -> str:
    """The whole plan, as a database explains a query."""
    if plan.request.method == "suppress":
        return "\n".join([_title(plan), *_guarantee(plan)])
    lines = [_title(plan), "", "Blocks"]
    lines += _blocks(plan.blocks)
    lines += _determined(plan)
    lines += _noise(plan)
    lines += _guarantee(plan)
    lines += _certificate(plan)
    return "\n".join(lines)


def _title(plan: Plan) -> str:
    axes = " × ".join(f"{axis.name} ({axis.size:,})" for axis in plan.domain.axes)
    many = sum(block.repeats for block in plan.blocks)
    title = plan.request.about.get("title") if plan.request.about else None
    head = f"Plan: {title}" if title else "Plan"
    whose = "without data: public" if plan.is_public else "for the curator: it depends on the counts"
    return f"{head} ({whose})\n{axes} = {plan.domain.cells:,} cells in {many:,} independent blocks"


def _blocks(blocks: tuple[PlannedBlock, ...]) -> list[str]:
    """One line for all blocks that are drawn in the same way, however many sizes they have."""
    alike: dict[tuple[str | None, str], list[PlannedBlock]] = {}
    for block in blocks:
        alike.setdefault((block.sampler, block.why), []).append(block)
    rows = [("cells", "blocks", "sampler", "exact", "a draw", "why")]
    rows += [_row(together) for together in alike.values()]
    wide = [max(len(row[i]) for row in rows) for i in range(5)]
    lines = []
    for row in rows:
        left = "  ".join(row[i].rjust(wide[i]) if i in (0, 1, 4) else row[i].ljust(wide[i]) for i in range(5))
        why = [part for line in row[5].split("\n") for part in _folded(line)]
        lines.append(f"  {left}  {why[0]}".rstrip())
        lines += [" " * (len(left) + 4) + part for part in why[1:]]
    return lines


def _row(alike: list[PlannedBlock]) -> tuple[str, str, str, str, str, str]:
    sizes = [block.cells for block in alike]
    cells = f"{min(sizes):,}–{max(sizes):,}" if min(sizes) < max(sizes) else f"{sizes[0]:,}"
    held = alike[0].certificate
    exact = "-" if held is None else ("yes" if held.kind == "exact" else held.kind)
    times = [block.seconds * block.repeats for block in alike if block.seconds is not None]
    cost = _time(sum(times)) if times else "-"
    blocks = f"{sum(block.repeats for block in alike):,}"
    return cells, blocks, alike[0].sampler or "none", exact, cost, alike[0].why


def _folded(text: str) -> list[str]:
    return textwrap.wrap(text, 84) or [""]


def _time(seconds: float) -> str:
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= scale:
            return f"{seconds / scale:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"


def _determined(plan: Plan) -> list[str]:
    cells = plan.determined
    if not len(cells):
        return []
    named = "; ".join(plan.domain.cell(int(cell)) for cell in cells[:_NAMED])
    more = f"; and {len(cells) - _NAMED:,} more" if len(cells) > _NAMED else ""
    return ["", f"The facts determine {len(cells):,} cells, which get no noise: {named}{more}"]


def _noise(plan: Plan) -> list[str]:
    found = plan.noise
    if not found:
        return []
    before = " before bounds" if plan.is_public else ""
    rows = [("query", "mean |error|", "90 % of errors", "measured by")]
    rows += [_noise_row(noise) for noise in found]
    wide = [max(len(row[i]) for row in rows) for i in range(4)]
    lines = ["", f"How large the noise will be{before}{_from(found)}"]
    for row in rows:
        lines.append(
            f"  {row[0].ljust(wide[0])}  {row[1].rjust(wide[1])}  {row[2].rjust(wide[2])}  {row[3]}".rstrip()
        )
    return lines


def _noise_row(noise: Noise) -> tuple[str, str, str, str]:
    return noise.query, f"{noise.mean_abs:.3g}", f"{noise.range90[0]} … {noise.range90[1]}", noise.law


def _from(found: tuple[Noise, ...]) -> str:
    draws = max(noise.draws for noise in found)
    return f" (from {draws} simulated draws)" if draws else " (from the law)"


def _guarantee(plan: Plan) -> list[str]:
    """What is promised, and what follows for two guesses about the truth."""
    said = plan.guarantee
    if said is None:
        return []
    lines = ["", "What is promised", *(f"  {part}" for part in textwrap.wrap(said.sentence, 108))]
    if not said.proven:
        return lines
    if said.epsilon is not None:
        lines.append(f"  ε = {said.epsilon:.6g}, δ = {said.delta:.2g}: {_price(said)}")
    else:
        lines.append(f"  ρ = {said.rho:.6g} (zCDP): {_price(said)}")
    between = said.posterior(0.5)
    if between is not None:
        low, high = between
        lines.append(f"  of two tables that it compares, even odds become between {low:.3g} and {high:.3g}")
    return lines


def _price(said: Guarantee) -> str:
    kind = "attained by some change" if said.is_exact else "an upper bound"
    who = f"{said.units} {said.unit}{'s' if said.units > 1 else ''} of at most {said.max_rows} rows"
    bounds = f", bounds add a factor {1 + said.price:.4g}" if said.price else ""
    return f"{kind}; change: {said.change}, {who}{bounds}"


def _certificate(plan: Plan) -> list[str]:
    if plan.drawing.refused and plan.is_public and plan.structure.limits:
        return ["", "Which sampler serves, and how large the noise will be, depends on the counts."]
    if plan.drawing.refused:
        return ["", "Some blocks have no exact sampler: `release` and `simulate` would stop."]
    allowance = plan.allowance
    return [
        "",
        f"Exact: within a total variation of 2^{allowance.tail_log2:.0f}, every joint probability inside the",
        f"windows right to a relative {allowance.relative_error:g}. These limits hold for every table; "
        "reached here: "
        + (
            "public plans do not say."
            if plan.is_public
            else f"2^{plan.certificate.tail_log2:.0f} and {plan.certificate.relative_error:.1g}."
        ),
    ]


def documented(plan: Plan) -> dict[str, Any]:
    """The plan as JSON: blocks, guarantee, noise, determined cells."""
    guarantee = plan.guarantee
    return {
        "cells": plan.domain.cells,
        "blocks": [block.to_json() for block in plan.blocks],
        "guarantee": None if guarantee is None else guarantee.to_json(),
        "noise": [
            {
                "query": noise.query,
                "law": noise.law,
                "mean_abs": noise.mean_abs,
                "range90": list(noise.range90),
                "draws": noise.draws,
            }
            for noise in plan.noise
        ],
        "determined": [plan.domain.cell(int(cell)) for cell in plan.determined],
        "notices": list(plan.notices),
    }
