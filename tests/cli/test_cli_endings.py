"""How commands end: codes, sentences, streams; a library's words never get out."""

import os
import signal
import subprocess
import sys
import time

import pytest

from congenial.cli import requesting
from congenial.errors import MachineError, RequestError
from support.commands import Done, run, run_alone, write


def ends_with(monkeypatch, error) -> Done:
    def fails() -> None:
        raise error

    monkeypatch.setattr(requesting, "schema", fails)
    return run("schema")


@pytest.mark.parametrize(
    ("error", "code", "says"),
    [
        (RequestError("that is wrong"), 2, "that is wrong"),
        (MachineError("no room"), 1, "no room"),
        (MemoryError(), 1, "memory"),
        (OSError(28, "count 4711"), 1, "no space left"),
        (ValueError("count 4711"), 1, "ValueError"),
        (KeyError("count 4711"), 1, "KeyError"),
        (RecursionError("count 4711"), 1, "RecursionError"),
        (AssertionError("count 4711"), 1, "AssertionError"),
        (KeyboardInterrupt(), 130, "Interrupted"),
    ],
)
def test_every_error_ends_with_a_sentence_and_its_code(monkeypatch, error, code, says):
    monkeypatch.delenv("CONGENIAL_DEBUG", raising=False)
    done = ends_with(monkeypatch, error)
    assert done.code == code
    assert says in done.err
    assert "4711" not in done.err
    assert "Traceback" not in done.err
    assert done.out == ""


@pytest.mark.parametrize(("signalled", "code"), [(KeyboardInterrupt(), 130), (SystemExit(143), 143)])
def test_a_signal_that_comes_while_a_kernel_runs_ends_as_any_other(monkeypatch, signalled, code):
    monkeypatch.delenv("CONGENIAL_DEBUG", raising=False)
    error = SystemError("CPUDispatcher returned a result with an exception set")
    error.__cause__ = signalled
    done = ends_with(monkeypatch, error)
    assert done.code == code
    assert "went wrong" not in done.err


def test_a_developer_may_ask_for_the_traceback(monkeypatch):
    monkeypatch.setenv("CONGENIAL_DEBUG", "1")
    assert "Traceback" in ends_with(monkeypatch, ValueError("here")).err


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is always full")
def test_output_that_cannot_be_written_is_the_machines_fault():
    command = [sys.executable, "-m", "congenial", "schema"]
    with open("/dev/full", "w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 1
    assert "no space left" in done.stderr
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr


def test_a_reader_who_leaves_early_is_no_error_to_print():
    command = f"{sys.executable} -m congenial schema | head -c 10"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)
    assert done.stderr == ""


@pytest.mark.skipif(os.name != "posix", reason="signals")
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_release_that_is_stopped_leaves_nothing(tmp_path, number, code):
    path = write(tmp_path, counts=None)
    os.mkfifo(tmp_path / "counts.csv")  # a source that never answers
    release = [sys.executable, "-m", "congenial", "release", str(path), "--out", str(tmp_path / "out")]
    with subprocess.Popen(release, stderr=subprocess.PIPE, text=True) as running:
        deadline = time.monotonic() + 20
        while not list(tmp_path.glob(".out.*")) and time.monotonic() < deadline:
            time.sleep(0.02)
        time.sleep(0.3)
        running.send_signal(number)
        err = running.communicate(timeout=20)[1]
    assert running.returncode == code
    assert "Traceback" not in err
    assert sorted(os.listdir(tmp_path)) == ["counts.csv", "request.yaml"]


def test_help_and_version_need_no_request():
    assert run("--help").code == 0
    assert run("release", "--help").code == 0
    assert run_alone("--version").out.startswith("congenial ")


@pytest.mark.parametrize("command", ["init", "plan", "release", "verify", "simulate", "demo", "schema"])
def test_help_shows_an_example(command):
    assert f"congenial {command}" in run(command, "--help").out.split("Usage:")[1].split("\n", 1)[1]
