"""`congenial audit`: what the facts alone disclose, for the curator's eyes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from congenial.cli.compiling import ensure_a_place_for_kernels
from congenial.cli.console import Steps, document, show, tell
from congenial.cli.planning import loaded

if TYPE_CHECKING:
    from congenial.planning.audit import Audit


def audit(path: str, *, without_data: bool, json: bool) -> None:
    """Print the audit of a request."""
    with Steps("reading the request") as steps:
        found = _audited(path, steps, without_data=without_data)
        said = found.to_json() if json else found.explain()
    if found.counts is not None:
        tell("note: This names exact counts that facts would publish: it is for the curator's eyes.")
    if json:
        document(said)
    else:
        show(str(said))


def _audited(path: str, steps: Steps, *, without_data: bool) -> Audit:
    table, request = loaded(path, steps, without_data=without_data)
    steps.step("auditing")
    ensure_a_place_for_kernels()
    from congenial.planning import audit as auditing
    from congenial.privacy.promise import kept
    from congenial.problems.compile import compile_structure
    from congenial.problems.problem import make_problem
    from congenial.tables.domain import Domain

    domain = table if isinstance(table, Domain) else table.domain
    structure = compile_structure(domain, request)
    if request.method == "suppress":
        return auditing.silence(structure, request.unit)
    found = None
    if request.promise is not None:
        structure, found = kept(structure, request.unit, request.promise)
    if isinstance(table, Domain):
        return auditing.audit(structure, request.unit, found=found)
    make_problem(structure, table.counts_confidential)  # says which bound the data break
    return auditing.audit(structure, request.unit, table.counts_confidential, found)
