"""Real tables to test on, where they are present: a folder `shared/data` beside the checkout."""

from __future__ import annotations

from pathlib import Path

import pytest

_FOLDER = Path(__file__).resolve().parents[2].parent / "shared" / "data"


def data_path(name: str) -> Path:
    """The path of a real table; the test is skipped where it is not present."""
    path = _FOLDER / name
    if not path.exists():
        pytest.skip(f"no {name} beside this checkout")
    return path
