"""The machine's faults: exit 1, a sentence, nothing half-written, the old results where they were."""

import errno
import os
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from congenial.releases import disk, whole
from support.commands import is_clean_refusal, run, run_alone, write

posix = pytest.mark.skipif(os.name != "posix", reason="needs limits or users of a Unix")


def limited(bytes_: int):
    """For a child: no file may grow beyond so many bytes, as on a full disk."""
    import resource

    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (bytes_, bytes_))


@pytest.fixture(scope="module", autouse=True)
def _compiled(tmp_path_factory):
    """Kernels are compiled before disks fill up, so that it is the results that do not fit."""
    folder = tmp_path_factory.mktemp("compiled")
    assert run("release", big(folder), "--out", folder / "out").code == 0


def big(folder, cells: int = 2000):
    """A request whose bundle does not fit on the disk of these tests."""
    counts = "code,n\n" + "".join(f"label-of-some-length-{i},{i % 7}\n" for i in range(cells))
    table = {"source": "counts.csv", "counts": "n", "axes": {"code": {}}}
    return write(folder, counts, table=table, invariants=None, bounds=None)


@posix
@pytest.mark.parametrize("room", [100, 5000, 20000])
def test_a_disk_that_fills_up_leaves_no_release(tmp_path, room):
    path = big(tmp_path)
    done = run_alone("release", path, "--out", tmp_path / "out", preexec_fn=limited(room))
    is_clean_refusal(done, 1, "full", secrets=())
    assert sorted(os.listdir(tmp_path)) == ["counts.csv", "request.yaml"]


@posix
def test_a_disk_that_fills_up_leaves_the_release_that_was_there(tmp_path):
    path = big(tmp_path)
    assert run("release", path, "--out", tmp_path / "out").code == 0
    before = {p.name: p.read_bytes() for p in (tmp_path / "out").iterdir()}
    done = run_alone("release", path, "--out", tmp_path / "out", "--force", preexec_fn=limited(5000))
    is_clean_refusal(done, 1, "full", secrets=())
    assert {p.name: p.read_bytes() for p in (tmp_path / "out").iterdir()} == before
    assert sorted(os.listdir(tmp_path)) == ["counts.csv", "out", "request.yaml"]


@posix
@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_disk_that_fills_up_leaves_no_simulation(tmp_path, suffix):
    path = big(tmp_path)
    out = tmp_path / f"draws.{suffix}"
    arguments = ("simulate", path, "--draws", "50", "--seed", "1", "--out", out)
    is_clean_refusal(run_alone(*arguments, preexec_fn=limited(20000)), 1, "full", secrets=())
    assert sorted(os.listdir(tmp_path)) == ["counts.csv", "request.yaml"]


@posix
@pytest.mark.skipif(hasattr(os, "geteuid") and os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_without_the_right_to_write_is_the_machines_fault(tmp_path):
    path = write(tmp_path)
    (tmp_path / "closed").mkdir(mode=0o555)
    is_clean_refusal(run("release", path, "--out", tmp_path / "closed" / "out"), 1, "allow")


@pytest.mark.parametrize("code", [errno.EROFS, errno.EACCES, errno.EIO])
@pytest.mark.parametrize("step", ["mkdir", "to_disk", "rename"])
def test_a_disk_that_refuses_at_any_step_leaves_nothing(tmp_path, monkeypatch, code, step):
    path = write(tmp_path)

    def refuses(*arguments, **options):
        raise OSError(code, "count 4711")

    home = {"mkdir": whole.Path, "to_disk": whole, "rename": whole}[step]
    monkeypatch.setattr(home, step, refuses)
    done = run("release", path, "--out", tmp_path / "out")
    monkeypatch.undo()
    is_clean_refusal(done, 1, "not written")
    assert sorted(os.listdir(tmp_path)) == ["counts.csv", "request.yaml"]


def test_of_three_releases_at_once_into_one_folder_one_stands_whole(tmp_path):
    path = write(tmp_path)
    with ThreadPoolExecutor(3) as pool:
        ends = [pool.submit(run_alone, "release", path, "--out", tmp_path / "out") for _ in range(3)]
        codes = sorted(end.result().code for end in ends)
    assert codes == [0, 2, 2]
    assert run("verify", tmp_path / "out").code == 0
    assert sorted(os.listdir(tmp_path)) == ["counts.csv", "out", "request.yaml"]


def test_what_a_killed_release_left_is_named(tmp_path):
    path = write(tmp_path)
    (tmp_path / f".out{whole.MARK}0123").mkdir()
    done = run("release", path, "--out", tmp_path / "out")
    assert done.code == 0
    assert f".out{whole.MARK}0123" in done.err


def test_a_source_that_vanishes_is_answered(tmp_path):
    path = write(tmp_path)
    (tmp_path / "counts.csv").unlink()
    is_clean_refusal(run("plan", path), 2, "counts.csv")


@pytest.mark.skipif(sys.platform != "linux", reason="swaps names with renameat2")
def test_this_system_swaps_two_names_at_once(tmp_path):
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / name).touch()
    assert disk.exchanged(tmp_path / "a", tmp_path / "b")
    assert os.listdir(tmp_path / "a") == ["b"]
