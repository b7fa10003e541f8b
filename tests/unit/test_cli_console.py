"""The progress bar: after a second, on standard error, and only where a person watches."""

import io
import time

import pytest

from congenial.cli import console


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def soon(monkeypatch):
    monkeypatch.setattr(console, "PATIENCE", 0.05)
    monkeypatch.setenv("TERM", "xterm")


def work(seconds: float) -> None:
    with console.Steps("tabulating the source") as steps:
        time.sleep(seconds)
        steps.step("drawing")
        for at in range(5):
            steps.progress(at + 1, 5)
            time.sleep(seconds / 5)


def test_work_that_takes_long_is_shown(soon, monkeypatch):
    monkeypatch.setattr("sys.stderr", seen := Terminal())
    work(0.6)
    assert "tabulating" in seen.getvalue()
    assert "drawing" in seen.getvalue()


def test_work_that_is_done_at_once_shows_nothing(monkeypatch):
    monkeypatch.setattr("sys.stderr", seen := Terminal())
    work(0.01)
    assert seen.getvalue() == ""


def test_nothing_is_shown_where_nobody_watches(soon, monkeypatch):
    monkeypatch.setattr("sys.stderr", seen := io.StringIO())
    work(0.3)
    assert seen.getvalue() == ""


def test_an_error_takes_the_bar_away_and_passes(soon, monkeypatch):
    monkeypatch.setattr("sys.stderr", Terminal())
    with pytest.raises(ZeroDivisionError), console.Steps("dividing"):
        time.sleep(0.2) or 1 / 0
