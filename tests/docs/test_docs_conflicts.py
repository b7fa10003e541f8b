"""The pages on conflicts and errors say what the program says, to the letter, and leave no error out."""

import re
from pathlib import Path

import pytest

from congenial import errors
from support.commands import run

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "how-to" / "conflicting-bounds.md").read_text(encoding="utf-8")
FILES = dict(re.findall(r"^```\w+ file=(\S+)\n(.*?)^```", PAGE, re.M | re.S))
SAID = dict(re.findall(r"\$ congenial plan (\S+)  # exit 2\n```\n\n```text\n(.*?)^```", PAGE, re.M | re.S))


@pytest.mark.parametrize("name", ["contradiction.yaml", "ruled-out.yaml"])
def test_the_page_on_conflicting_bounds_shows_what_is_said(tmp_path, name):
    for file, text in FILES.items():
        (tmp_path / file).write_text(text, encoding="utf-8")
    done = run("plan", tmp_path / name)
    assert done.code == 2
    lines = [" ".join(line.split()) for line in done.err.splitlines()]
    assert lines[-1] == "Read: docs/how-to/conflicting-bounds.md"
    assert lines[:-1] == [" ".join(line.split()) for line in SAID[name].splitlines()]


def test_the_page_on_errors_has_every_error_with_its_code():
    page = (DOCS / "reference" / "errors.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `(\w+)` \| (\d) \|", page, re.M))
    kinds = [
        kind
        for kind in vars(errors).values()
        if isinstance(kind, type) and kind.__module__ == errors.__name__
    ]
    named = {
        kind.__name__: str(kind.exit_code)
        for kind in kinds
        if issubclass(kind, errors.CongenialError) and not kind.__name__.startswith("_")
    }
    del named["CongenialError"]
    assert rows == named
