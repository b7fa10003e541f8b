"""What systems do differently: forcing to disk, renaming, swapping, files that only their owner reads.

And what they say when they cannot: an `OSError` becomes a sentence, the machine's fault (exit 1) or
that of the name that was given (exit 2).
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from congenial.errors import CongenialError, MachineError, OutputError

_FULL = {errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC)}
_FORBIDDEN = {errno.EACCES, errno.EPERM}
_NAME = {errno.ENAMETOOLONG, errno.ENOTDIR, errno.EINVAL, errno.EILSEQ, errno.ELOOP}
_TAKEN = {errno.EEXIST, errno.ENOTEMPTY, errno.EISDIR}


@contextlib.contextmanager
def disk_faults(place: Path) -> Iterator[None]:
    """Turn what the system says while `place` is written into the package's own errors."""
    try:
        yield
    except OSError as error:
        raise _said(error, place) from None


def _said(error: OSError, place: Path) -> CongenialError:
    code = error.errno
    if code in _FULL:
        return MachineError(
            f"'{place}' was not written: the disk is full, or a limit on size is reached. "
            "Nothing half-written was left; make room, or write elsewhere."
        )
    if code == errno.EROFS:
        return MachineError(f"'{place}' was not written: the disk is read-only. Write elsewhere.")
    if code in _FORBIDDEN:
        return MachineError(
            f"'{place}' was not written: the system does not allow it there. "
            "Write elsewhere, or ask for the right to write in that folder."
        )
    if code in _NAME:
        return OutputError(
            f"'{place}' cannot be made: {os.strerror(code or 0).lower()}. Name another place."
        )
    if code in _TAKEN:
        return OutputError(f"'{place}' came to exist meanwhile and was left as it is. Name another place.")
    why = os.strerror(code).lower() if code else "the system does not say why"
    return MachineError(f"'{place}' was not written: {why}. Nothing half-written was left.")


def to_disk(what: IO[bytes] | Path) -> None:
    """Wait until a file, or the names in a folder, are on the disk. Windows has no such call for folders."""
    if not isinstance(what, Path):
        what.flush()
        os.fsync(what.fileno())
    elif os.name == "posix":
        handle = os.open(what, os.O_RDONLY)
        try:
            os.fsync(handle)
        except OSError as error:
            if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # some network disks cannot
                raise
        finally:
            os.close(handle)


def rename(old: Path, new: Path, patience: float = 2.0) -> None:
    """Rename; where Windows keeps a name busy for a moment (a virus scanner reads it), wait and try again."""
    deadline = time.monotonic() + patience
    while True:
        try:
            os.rename(old, new)
        except PermissionError:
            if os.name != "nt" or time.monotonic() > deadline:
                raise
            time.sleep(0.05)
        else:
            return


def exchanged(one: Path, other: Path) -> bool:
    """Swap two names at once, where the system can; whether it did."""
    if sys.platform == "linux":
        swap = getattr(ctypes.CDLL(None), "renameat2", None)
        here = ctypes.c_int(-100)  # AT_FDCWD
        names = (here, os.fsencode(one), here, os.fsencode(other))
    elif sys.platform == "darwin":
        swap = getattr(ctypes.CDLL(None), "renamex_np", None)
        names = (os.fsencode(one), os.fsencode(other))
    else:
        return False
    return swap is not None and swap(*names, ctypes.c_uint(2)) == 0  # RENAME_EXCHANGE, RENAME_SWAP


def owner_only(file: Path) -> None:
    """Close a file to everybody but its owner (on Windows: and the system's administrators)."""
    if sys.platform == "win32":
        _replace_access_list(file)
    else:
        os.chmod(file, 0o600)


if sys.platform == "win32":

    def _replace_access_list(file: Path) -> None:
        """An access list that inherits nothing: full access for system, administrators and owner."""
        wanted = "D:P(A;;FA;;;SY)(A;;FA;;;BA)(A;;FA;;;OW)"
        security, kernel = ctypes.WinDLL("advapi32", use_last_error=True), ctypes.WinDLL("kernel32")
        descriptor = ctypes.c_void_p()
        made = security.ConvertStringSecurityDescriptorToSecurityDescriptorW(
            ctypes.c_wchar_p(wanted), ctypes.c_uint(1), ctypes.byref(descriptor), None
        )
        try:
            access_list = ctypes.c_uint(4)  # DACL_SECURITY_INFORMATION
            if not made or not security.SetFileSecurityW(str(file), access_list, descriptor):
                raise ctypes.WinError(ctypes.get_last_error())
        finally:
            kernel.LocalFree(descriptor)
