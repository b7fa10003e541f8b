"""The import rule between rooms, and that a planted violation is seen."""

import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
_spec = importlib.util.spec_from_file_location("check_rooms", ROOT / "scripts" / "check_rooms.py")
check_rooms = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(check_rooms)


def planted(tmp_path, file, line):
    package = tmp_path / "congenial"
    (package / file).parent.mkdir(parents=True)
    (package / file).write_text(line + "\n")
    return check_rooms.crossings(package)


def test_every_import_of_the_package_looks_back():
    assert check_rooms.crossings(ROOT / "src" / "congenial") == []


@pytest.mark.parametrize(
    ("file", "line"),
    [
        ("tables/table.py", "from congenial.requests.model import Request"),
        ("tables/table.py", "def f():\n    import congenial.planning.planner"),
        ("samplers/tree/windows.py", "from ...planning import planner"),
        ("samplers/tree/windows.py", "from ... import planning"),
        ("privacy/guarantee.py", "from congenial.planning import plan"),
        ("releases/release.py", "from congenial.tables.table import Table"),
        ("releases/release.py", "from congenial.tables import table"),
        ("releases/release.py", "from congenial.problems.problem import Problem"),
        ("releases/release.py", "from congenial.cli import main"),
        ("releases/release.py", "import congenial"),
        ("releases/release.py", "from congenial import Table"),
        ("helpers.py", "x = 1"),
    ],
)
def test_an_import_that_looks_ahead_is_caught(tmp_path, file, line):
    assert len(planted(tmp_path, file, line)) == 1


@pytest.mark.parametrize(
    ("file", "line"),
    [
        ("tables/table.py", "from congenial.errors import SourceError"),
        ("tables/table.py", "from .domain import Domain"),
        ("planning/planner.py", "from congenial.tables.table import Table"),
        ("releases/release.py", "from congenial.tables.domain import Domain"),
        ("cli/app.py", "from congenial.publish import release"),
        ("__init__.py", "from congenial.publish import release"),
    ],
)
def test_an_import_that_looks_back_passes(tmp_path, file, line):
    assert planted(tmp_path, file, line) == []
