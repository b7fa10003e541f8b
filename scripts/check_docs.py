"""The examples of README and docs run, in the order in which a reader meets them.

    python scripts/check_docs.py [FILE.md …]

Each page has a folder of its own, empty at first. In a fenced block,

    ```yaml file=request.yaml     is written there; any language may have a file
    ```yaml                       that begins with `congenial:` must read as a request
    ```python                     runs, the blocks of a page sharing their names
    ```console                    has its `$ …` lines run; `$ …  # exit 2` expects that code
    ```… skip                     is only shown

What a command prints is not compared: noise differs. What a page promises to the letter belongs in a test.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

FENCE = re.compile(r"^(?P<indent> *)```(?P<info>[^`\n]*)\n(?P<body>.*?)^(?P=indent)```", re.M | re.S)
EXIT = re.compile(r"#\s*exit (\d+)\s*$")
TIMEOUT = 120


class Block(NamedTuple):
    """A fenced block: where it begins, its language, its words behind that, its text."""

    line: int
    language: str
    marks: tuple[str, ...]
    body: str


def blocks(text: str) -> Iterator[Block]:
    """Every fenced block of a page."""
    for found in FENCE.finditer(text):
        words = found["info"].split()
        indent = len(found["indent"])
        body = "".join(line[indent:] for line in found["body"].splitlines(keepends=True))
        line = text.count("\n", 0, found.start()) + 1
        yield Block(line, words[0] if words else "", tuple(words[1:]), body)


def faults(page: Path) -> list[str]:
    """What is wrong with the examples of one page."""
    found: list[str] = []
    names: dict[str, Any] = {"__name__": "__page__"}
    with tempfile.TemporaryDirectory() as folder:
        for block in blocks(page.read_text(encoding="utf-8")):
            if "skip" in block.marks:
                continue
            wrong = _run(block, Path(folder), names)
            found += [f"{page}:{block.line}: {wrong}"] if wrong else []
    return found


def _run(block: Block, folder: Path, names: dict[str, Any]) -> str | None:
    for mark in block.marks:
        if mark.startswith("file="):
            (folder / mark.removeprefix("file=")).write_text(block.body, encoding="utf-8")
    if block.language in ("yaml", "json") and re.search(r'^[ {]*"?congenial"?:', block.body, re.M):
        return _reads(block.body, folder)
    if block.language == "python":
        return _python(block.body, folder, names)
    if block.language == "console":
        return _console(block.body, folder)
    return None


def _reads(text: str, folder: Path) -> str | None:
    from congenial.errors import CongenialError
    from congenial.requests.reading import read_text

    try:
        read_text(text, folder)
    except CongenialError as error:
        return f"the request does not read:\n{error}"
    return None


def _python(code: str, folder: Path, names: dict[str, Any]) -> str | None:
    before = Path.cwd()
    os.chdir(folder)
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            exec(compile(code, "example", "exec"), names)
    except Exception:
        return "the example fails:\n" + traceback.format_exc(limit=-1)
    finally:
        os.chdir(before)
    return None


def _console(text: str, folder: Path) -> str | None:
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = dict(os.environ, PATH=path)
    for line in text.splitlines():
        if not line.startswith("$ "):
            continue
        wanted = EXIT.search(line)
        done = subprocess.run(
            EXIT.sub("", line[2:]), shell=True, cwd=folder, env=environment, stdin=subprocess.DEVNULL,
            capture_output=True, text=True, timeout=TIMEOUT,
        )  # fmt: skip
        if done.returncode != (int(wanted[1]) if wanted else 0):
            return f"{line!r} ended with {done.returncode}:\n{done.stderr}"
    return None


def pages(root: Path) -> list[Path]:
    """Every page that is checked when none is named."""
    return [*sorted(root.glob("*.md")), *sorted((root / "docs").rglob("*.md"))]


def main(arguments: list[str]) -> int:
    named = [Path(name) for name in arguments] or pages(Path(__file__).parents[1])
    found = [fault for page in named for fault in faults(page)]
    for fault in found:
        print(fault)
    if not found:
        print(f"docs: the examples of {len(named)} pages run")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
