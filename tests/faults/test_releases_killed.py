"""Killed at every line: the place of a release has the whole old bundle, the whole new one, or nothing."""

import os
import signal
import sys

import numpy as np
import pytest

from congenial.releases import bundle, disk, whole
from congenial.releases.bundle import load
from congenial.releases.verify import verify
from congenial.releases.whole import MARK
from support.bundles import RELEASED, a_release

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="kills a fork"),
    # later Pythons warn that threads do not survive a fork; the fork only writes files, and dies
    pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning"),
]

FILES = {module.__file__ for module in (bundle, whole, disk)}
OTHER = RELEASED + np.array([1, -1, 0, 0, 0, 0, 1, -1, 0])


def killed_at(line: int, work) -> bool:
    """Run `work` in a fork that is killed at its `line`-th line in the writing files; whether it was."""
    child = os.fork()
    if child == 0:
        left = line

        def trace(frame, event, argument):
            nonlocal left
            if frame.f_code.co_filename not in FILES:
                return None
            if event == "line":
                left -= 1
                if left == 0:
                    os.kill(os.getpid(), signal.SIGKILL)
            return trace

        try:
            sys.settrace(trace)
            work()
            os._exit(0)
        except BaseException:
            os._exit(1)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0
    return os.WIFSIGNALED(status)


def prepared(counts, monkeypatch):
    """A release whose files are made already: a fork only writes them."""
    release = a_release(counts)
    files = release.files()
    monkeypatch.setattr(bundle.Release, "files", lambda self: files)
    return release


def test_killed_at_any_line_a_release_is_whole_or_absent(tmp_path, monkeypatch):
    release = prepared(RELEASED, monkeypatch)
    absent = present = line = 0
    alive = True
    while alive:
        line += 1
        place = tmp_path / str(line) / "out"
        place.parent.mkdir()
        alive = killed_at(line, lambda place=place: release.save(place))
        if place.exists():
            assert verify(place).holds
            present += 1
        else:
            absent += 1
        assert all(name == "out" or MARK in name for name in os.listdir(place.parent))
    assert absent > 30
    assert present >= 1


def test_killed_at_any_line_of_a_replacement_the_old_or_the_new_release_stands(tmp_path, monkeypatch):
    old_files = a_release().files()
    new = prepared(OTHER, monkeypatch)
    seen = {"old": 0, "new": 0}
    line, alive = 0, True
    while alive:
        line += 1
        place = tmp_path / str(line) / "out"
        place.mkdir(parents=True)
        for name, content in old_files.items():
            (place / name).write_bytes(content)
        alive = killed_at(line, lambda place=place: new.save(place, force=True))
        counts = load(place).table.counts
        assert verify(place).holds
        seen["old" if np.array_equal(counts, RELEASED) else "new"] += 1
    assert seen["old"] > 30
    assert seen["new"] > 1
