"""`congenial init` and `congenial schema`: requests before they exist."""

from __future__ import annotations

from congenial.cli.console import Steps, document, show


def init(source: str, out: str | None, *, force: bool) -> None:
    """Print or write a first request for a file."""
    from congenial.requests.init import write_request

    with Steps("looking at the source"):
        text = write_request(source, out, force=force)
    if out is None:
        show(text.rstrip("\n"))
    else:
        show(f"wrote {out}. Read it, check its categories, then: congenial plan {out}")


def schema() -> None:
    """Print the request's JSON Schema."""
    from congenial.requests.schema import json_schema

    document(json_schema())
