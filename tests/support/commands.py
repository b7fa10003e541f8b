"""Running the command line in tests, and the small request that most of them begin with."""

from __future__ import annotations

import contextlib
import io
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml


class Done(NamedTuple):
    """How a command ended."""

    code: int
    out: str
    err: str


def run(*arguments: str | Path) -> Done:
    """Run a command in this process."""
    from congenial.cli import main

    out, err = io.StringIO(), io.StringIO()
    with (
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        pytest.raises(SystemExit) as ended,
    ):
        main([str(argument) for argument in arguments])
    code = ended.value.code
    return Done(code if isinstance(code, int) else int(code is not None), out.getvalue(), err.getvalue())


def run_alone(*arguments: str | Path, env: dict[str, str] | None = None, **options: Any) -> Done:
    """Run a command in a process of its own."""
    command = [sys.executable, "-m", "congenial", *map(str, arguments)]
    whole = {**os.environ, **(env or {})}
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, env=whole, check=False, **options
    )
    return Done(done.returncode, done.stdout, done.stderr)


COUNTS = "sex,age,n\nfemale,0-17,4711\nfemale,18+,83\nmale,0-17,912\nmale,18+,2718\n"
"""Counts that stand in no message by chance."""

SECRETS = ("4711", "2718", "912", "8424")


def request(**changes: Any) -> dict[str, Any]:
    """A request over `counts.csv`; a key that is None is left out."""
    said: dict[str, Any] = {
        "congenial": 1,
        "table": {
            "source": "counts.csv",
            "counts": "n",
            "axes": {
                "sex": {"categories": ["female", "male"]},
                "age": {"categories": ["0-17", "18+"]},
            },
        },
        "unit": {"name": "person", "max_rows": 1},
        "measurements": [{"query": "cells", "law": "discrete-laplace", "epsilon": 0.5}],
        "invariants": ["total"],
        "bounds": ["nonnegative"],
    }
    return {key: value for key, value in (said | changes).items() if value is not None}


def write(
    folder: Path, counts: str | bytes | None = COUNTS, name: str = "request.yaml", **changes: Any
) -> Path:
    """Write a request, and its source, into a folder."""
    if counts is not None:
        (folder / "counts.csv").write_bytes(counts if isinstance(counts, bytes) else counts.encode())
    (folder / name).write_text(yaml.safe_dump(request(**changes), sort_keys=False), encoding="utf-8")
    return folder / name


def is_clean_refusal(done: Done, code: int, *says: str, secrets: Sequence[str] = SECRETS) -> None:
    """A message, the exit code, no traceback, nothing on standard output, no count."""
    assert done.code == code, done
    assert done.out == "", done
    assert done.err.strip(), "a refusal says why"
    assert "Traceback" not in done.err, done.err
    assert "should not" not in done.err, done.err
    for part in says:
        assert part in done.err, f"{part!r} not in:\n{done.err}"
    for secret in secrets:
        assert secret not in done.err, f"a count in the message:\n{done.err}"
