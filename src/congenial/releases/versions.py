"""What software made a release."""

from __future__ import annotations

import platform
from importlib import metadata

_LIBRARIES = ("cryptography", "duckdb", "numba", "numpy", "pyarrow", "scipy")
"""Those whose results, or whose randomness, a release rests on."""


def version() -> str:
    """The version of this package."""
    try:
        return metadata.version("congenial")
    except metadata.PackageNotFoundError:  # run from a checkout that was never installed
        return "unknown"


def versions() -> dict[str, str]:
    """This package, Python and the libraries; nothing that names the machine."""
    found = {"congenial": version(), "python": platform.python_version()}
    for name in _LIBRARIES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:  # pragma: no cover - a broken installation
            found[name] = "unknown"
    return found
