"""What `import congenial` offers, and how quickly."""

import ast
import importlib
import subprocess
import sys
from pathlib import Path

import pytest

import congenial


@pytest.mark.parametrize("name", congenial.__all__)
def test_every_public_name_can_be_imported(name):
    assert getattr(congenial, name) is not None


def test_what_type_checkers_see_is_what_can_be_imported():
    tree = ast.parse(Path(congenial.__file__).read_text(encoding="utf-8"))
    guarded = next(node for node in tree.body if isinstance(node, ast.If))
    seen = {a.name: node.module for node in guarded.body for a in node.names}
    assert seen == congenial._WHERE
    assert sorted(congenial.__all__) == sorted(seen)


def test_every_error_of_the_tree_is_public():
    errors = importlib.import_module("congenial.errors")
    kinds = {
        name
        for name, kind in vars(errors).items()
        if isinstance(kind, type) and issubclass(kind, errors.CongenialError) and not name.startswith("_")
    }
    assert kinds <= set(congenial.__all__)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="relase"):
        congenial.relase  # noqa: B018


def test_import_brings_in_nothing_heavy():
    code = "import sys, congenial; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    heavy = {"numpy", "scipy", "numba", "duckdb", "pyarrow", "rich", "typer", "cryptography", "highspy"}
    assert not heavy & {name.split(".")[0] for name in done.stdout.split()}


def test_help_brings_in_nothing_heavy():
    code = "import sys; from congenial.cli import app; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    heavy = {"numpy", "scipy", "numba", "duckdb", "pyarrow", "cryptography", "highspy", "flint"}
    assert not heavy & {name.split(".")[0] for name in done.stdout.split()}
