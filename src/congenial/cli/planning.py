"""`congenial plan`: read, tabulate, plan, explain."""

from __future__ import annotations

from typing import TYPE_CHECKING

from congenial.cli.compiling import ensure_a_place_for_kernels
from congenial.cli.console import Steps, document, notices, show

if TYPE_CHECKING:
    from congenial.planning import Plan
    from congenial.requests.model import Request
    from congenial.tables.domain import Domain
    from congenial.tables.table import Table


def plan(path: str, *, without_data: bool, json: bool) -> None:
    """Print what would be drawn."""
    with Steps("reading the request") as steps:
        made = planned(path, steps, without_data=without_data)
        steps.step("working out how large the noise will be")
        found = made.to_json() if json else made.explain()
    notices(aside(made), aside=True)
    if json:
        document(found)
    else:
        show(str(found))


def planned(path: str, steps: Steps, *, without_data: bool = False) -> Plan:
    """The plan of a request's file, over its source or over its declared domains alone."""
    table, request = loaded(path, steps, without_data=without_data)
    steps.step("planning")
    ensure_a_place_for_kernels()
    from congenial import planning

    return planning.plan(table, request)


def loaded(path: str, steps: Steps, *, without_data: bool = False) -> tuple[Table | Domain, Request]:
    """A request's file, and its table, or its domain alone where no source may be opened."""
    from congenial.requests.reading import read_request

    request = read_request(path)
    assert request.table is not None  # a file says where its table comes from
    if without_data:
        from congenial.tables.sources import declared_domain

        return declared_domain(request.table), request
    from congenial.tables.table import Table

    steps.step("tabulating the source")
    return Table.from_source(request.table, request.unit), request


def aside(made: Plan) -> tuple[str, ...]:
    """What belongs on standard error: notices, and first of all that nothing is proven."""
    unproven = (made.guarantee.sentence,) if made.guarantee and not made.guarantee.proven else ()
    return (*unproven, *made.notices)
