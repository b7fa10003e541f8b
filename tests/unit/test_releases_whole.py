"""Folders and files that appear whole or not at all."""

import errno
import os
import stat
from pathlib import Path

import pytest

from congenial.errors import MachineError, OutputError
from congenial.releases import disk, whole
from congenial.releases.whole import MARK, NewFolder, leftovers, new_file, write_file


def all_ours(folder: Path) -> bool:
    return True


def names(folder: Path) -> list[str]:
    return sorted(p.name for p in folder.iterdir())


def make(place: Path, content: bytes = b"new", **options) -> NewFolder:
    with NewFolder(place, **{"ours": all_ours, **options}) as folder:
        folder.write("a", content)
        folder.finish()
    return folder


def test_a_folder_appears_with_all_its_files(tmp_path):
    make(tmp_path / "out")
    assert names(tmp_path) == ["out"]
    assert (tmp_path / "out" / "a").read_bytes() == b"new"


def test_folders_above_it_are_made_where_they_are_missing(tmp_path):
    make(tmp_path / "deep" / "er" / "out")
    assert (tmp_path / "deep" / "er" / "out" / "a").exists()


def make_half(place: Path, error: type[BaseException]) -> None:
    with NewFolder(place, ours=all_ours) as folder:
        folder.write("a", b"half")
        raise error


@pytest.mark.parametrize("error", [ZeroDivisionError, KeyboardInterrupt, SystemExit])
def test_nothing_is_left_when_the_work_fails_or_is_interrupted(tmp_path, error):
    with pytest.raises(error):
        make_half(tmp_path / "deep" / "out", error)
    assert names(tmp_path) == []


def test_a_folder_that_exists_is_refused_and_untouched(tmp_path):
    make(tmp_path / "out", b"old")
    with pytest.raises(OutputError, match="exists already"):
        make(tmp_path / "out")
    assert (tmp_path / "out" / "a").read_bytes() == b"old"
    assert names(tmp_path) == ["out"]


def test_an_empty_folder_that_exists_is_refused_too(tmp_path):
    with pytest.raises(OutputError, match="exists already"):
        make(tmp_path)


def test_a_file_in_its_place_is_refused_even_with_replace(tmp_path):
    (tmp_path / "out").write_text("mine")
    with pytest.raises(OutputError, match="is a file"):
        make(tmp_path / "out", replace=True)
    assert (tmp_path / "out").read_text() == "mine"


@pytest.mark.parametrize("can_swap", [True, False])
def test_replace_exchanges_old_results_for_new(tmp_path, monkeypatch, can_swap):
    if not can_swap:
        monkeypatch.setattr(whole, "exchanged", lambda one, other: False)
    make(tmp_path / "out", b"old")
    folder = make(tmp_path / "out", replace=True)
    assert (tmp_path / "out" / "a").read_bytes() == b"new"
    assert names(tmp_path) == ["out"]
    assert folder.kept is None


@pytest.mark.parametrize("can_swap", [True, False])
def test_replace_keeps_what_is_not_results_beside_them(tmp_path, monkeypatch, can_swap):
    if not can_swap:
        monkeypatch.setattr(whole, "exchanged", lambda one, other: False)
    make(tmp_path / "out", b"a year of work")
    for at in (1, 2):
        folder = make(tmp_path / "out", replace=True, ours=lambda folder: False)
        assert folder.kept == tmp_path / f"out.before-{at}"
    assert (tmp_path / "out.before-1" / "a").read_bytes() == b"a year of work"


def test_a_replacement_that_fails_at_the_last_rename_leaves_the_old_one(tmp_path, monkeypatch):
    make(tmp_path / "out", b"old")
    monkeypatch.setattr(whole, "exchanged", lambda one, other: False)
    real, calls = disk.rename, []

    def second_fails(old, new):
        calls.append(new)
        if len(calls) == 2:
            raise OSError(errno.ENOSPC, "full")
        real(old, new)

    monkeypatch.setattr(whole, "rename", second_fails)
    with pytest.raises(MachineError, match="full"):
        make(tmp_path / "out", replace=True)
    assert (tmp_path / "out" / "a").read_bytes() == b"old"
    assert names(tmp_path) == ["out"]


def test_the_folder_one_works_in_is_never_replaced(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(OutputError, match="work in"):
        make(Path("."), replace=True)


def test_of_two_releases_at_once_the_second_is_refused(tmp_path):
    with NewFolder(tmp_path / "out", ours=all_ours) as slow:
        slow.write("a", b"slow")
        make(tmp_path / "out", b"fast")
        with pytest.raises(OutputError, match="exists already"):
            slow.finish()
    assert (tmp_path / "out" / "a").read_bytes() == b"fast"
    assert names(tmp_path) == ["out"]


def test_a_link_is_followed(tmp_path):
    make(tmp_path / "real", b"old")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    make(tmp_path / "link", replace=True)
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real" / "a").read_bytes() == b"new"


def test_what_a_killed_process_left_is_recognised(tmp_path):
    (tmp_path / f".out{MARK}0123").mkdir()
    (tmp_path / f".other{MARK}0123").mkdir()
    assert [p.name for p in leftovers(tmp_path / "out")] == [f".out{MARK}0123"]


def test_a_private_file_is_its_owners_from_before_its_first_byte(tmp_path):
    before = os.umask(0)
    try:
        with new_file(tmp_path / "draws.csv", private=True) as file:
            (partial,) = leftovers(tmp_path / "draws.csv")
            assert stat.S_IMODE(partial.stat().st_mode) == 0o600
            file.write(b"x")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "draws.csv").stat().st_mode) == 0o600


def write_half(place: Path) -> None:
    with new_file(place, private=False) as file:
        file.write(b"half")
        raise ZeroDivisionError


def test_a_file_replaces_a_file_whole_or_not_at_all(tmp_path):
    write_file(tmp_path / "f", b"old")
    with pytest.raises(ZeroDivisionError):
        write_half(tmp_path / "f")
    assert (tmp_path / "f").read_bytes() == b"old"
    write_file(tmp_path / "f", b"new")
    assert (tmp_path / "f").read_bytes() == b"new"
    assert names(tmp_path) == ["f"]


SAID = [
    (errno.ENOSPC, MachineError, "full"),
    (errno.EROFS, MachineError, "read-only"),
    (errno.EACCES, MachineError, "not allow"),
    (errno.EIO, MachineError, "not written"),
    (errno.ENAMETOOLONG, OutputError, "too long"),
    (errno.ENOTDIR, OutputError, "not a directory"),
    (errno.ENOTEMPTY, OutputError, "meanwhile"),
]


@pytest.mark.parametrize(("code", "kind", "says"), SAID)
def test_what_the_system_says_becomes_a_sentence_and_an_exit_code(tmp_path, code, kind, says):
    with pytest.raises(kind, match=says) as caught, disk.disk_faults(tmp_path / "out"):
        raise OSError(code, "secret 4711")
    assert "4711" not in str(caught.value)
    assert caught.value.exit_code == (1 if kind is MachineError else 2)
    assert caught.value.__suppress_context__


@pytest.mark.parametrize("name", ["x" * 300, "a\0b", "file/below"])
def test_a_name_that_cannot_be_is_refused_before_the_work_begins(tmp_path, name):
    (tmp_path / "file").touch()
    with pytest.raises(OutputError):
        NewFolder(tmp_path / name, ours=all_ours)
    assert names(tmp_path) == ["file"]
