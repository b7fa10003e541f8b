"""Kernels find a place even where nothing but the temporary folder can be written."""

import os
from pathlib import Path

import pytest

from congenial.cli import compiling


@pytest.fixture(autouse=True)
def _nowhere(monkeypatch):
    monkeypatch.delenv(compiling.VARIABLE, raising=False)
    monkeypatch.setattr(compiling.atexit, "register", lambda *arguments, **options: None)


def test_where_the_package_or_the_home_can_be_written_nothing_is_changed(monkeypatch):
    for place in ("samplers", "cache"):
        monkeypatch.setattr(compiling, "_user_cache", lambda: Path("somewhere/cache"))
        monkeypatch.setattr(compiling, "is_writable", lambda folder, place=place: folder.name == place)
        compiling.ensure_a_place_for_kernels()
        assert compiling.VARIABLE not in os.environ


def test_where_neither_can_be_written_kernels_get_a_new_folder(monkeypatch):
    monkeypatch.setattr(compiling, "is_writable", lambda folder: False)
    compiling.ensure_a_place_for_kernels()
    made = Path(os.environ[compiling.VARIABLE])
    assert made.is_dir()
    made.rmdir()
    monkeypatch.delenv(compiling.VARIABLE)


def test_a_folder_that_can_be_made_counts_as_writable(tmp_path):
    assert compiling.is_writable(tmp_path / "deep" / "er")
    (tmp_path / "file").touch()
    assert not compiling.is_writable(tmp_path / "file" / "below")
