"""`congenial init` and `congenial schema`: requests before they exist."""

from __future__ import annotations

from pathlib import Path

from congenial.cli.console import document, show, tell
from congenial.errors import OutputError


def init(source: str, out: str | None, *, force: bool) -> None:
    """Print or write a first request for a file."""
    if out is not None and not force and Path(out).exists():
        raise OutputError(f"'{out}' exists already; nothing was written. Name another file, or use --force.")
    from congenial.releases.whole import write_file
    from congenial.requests.init import first_request

    text = first_request(source, Path(out).absolute().parent if out else Path.cwd())
    if out is None:
        show(text)
        return
    write_file(Path(out), text.encode())
    tell(f"wrote {out}. Read it, check its categories, then: congenial plan {out}")


def schema() -> None:
    """Print the request's JSON Schema."""
    from congenial.requests.schema import json_schema

    document(json_schema())
