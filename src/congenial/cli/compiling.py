"""Where compiled kernels are kept, where neither the package's own folder nor the home can be written.

numba keeps them beside the source, or else in the user's cache, and refuses to work where it finds
neither (a container that runs under a user without a home). Then they go to a new folder that ends with
the process; never to one that others could have filled before, since what is loaded from it is run.
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from pathlib import Path

VARIABLE = "NUMBA_CACHE_DIR"


def ensure_a_place_for_kernels() -> None:
    """Give numba a folder of its own where it would find none; call before kernels are imported."""
    places = (Path(__file__).parents[1] / "samplers", _user_cache())
    if VARIABLE in os.environ or any(is_writable(place) for place in places):
        return
    folder = tempfile.mkdtemp(prefix="congenial-kernels-")
    os.environ[VARIABLE] = folder
    atexit.register(shutil.rmtree, folder, ignore_errors=True)


def is_writable(folder: Path) -> bool:
    """Whether files can be made in a folder, or the folder itself can."""
    existing = next((path for path in (folder, *folder.parents) if path.exists()), folder)
    return existing.is_dir() and os.access(existing, os.W_OK | os.X_OK)


def _user_cache() -> Path:
    if os.name == "nt":
        return Path(os.environ.get("LOCALAPPDATA") or os.path.expanduser("~"))
    return Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"))
