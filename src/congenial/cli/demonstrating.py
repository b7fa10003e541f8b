"""`congenial demo`: an invented country of 24 districts, from its counts to a verified release.

The folder that it makes holds the request and its source too, to be changed and planned again.
"""

from __future__ import annotations

import tempfile
from importlib import resources
from pathlib import Path

from congenial.cli.console import Steps, notices, show

FILES = ("people.csv", "districts.csv", "release.yaml")


def demo(out: str | None) -> None:
    """Plan, release and verify the bundled table."""
    from congenial import publish
    from congenial.cli.planning import planned
    from congenial.cli.releasing import charged
    from congenial.releases.verify import verify

    folder = _place(out)
    request = folder / "release.yaml"
    show(f"$ congenial plan {request}\n")
    with Steps("planning (the first time, compiling)") as steps:
        made = planned(str(request), steps)
        explained = made.explain()
        show(f"{explained}\n")
        steps.step("drawing (the first time, compiling)")
        released = publish.release(made, charged=charged, progress=steps.progress)
        place = released.save(folder / "released")
    show(f"$ congenial release {request} --out {place}\n")
    notices(released.notices)
    show(f"\n{_head(place)}\n")
    show(f"$ congenial verify {place}\n")
    show(f"{verify(place)}\n")
    show(f"The release lies in {place}\nIts request and source, to try things on: {folder}")


def _place(out: str | None) -> Path:
    """A folder with the request and its source."""
    from congenial.releases.whole import NewFolder

    if out is None:
        folder = Path(tempfile.mkdtemp(prefix="congenial-demo-"))
        for name, content in _bundled().items():
            (folder / name).write_bytes(content)
        return folder
    with NewFolder(Path(out), ours=lambda folder: False) as new:
        for name, content in _bundled().items():
            new.write(name, content)
        new.finish()
        return new.place


def _bundled() -> dict[str, bytes]:
    home = resources.files("congenial.cli") / "demo"
    return {name: (home / name).read_bytes() for name in FILES}


def _head(place: Path, lines: int = 8) -> str:
    """The first lines of the released table."""
    text = (place / "table.csv").read_text(encoding="utf-8").splitlines()
    return "\n".join([*text[:lines], f"… {len(text) - 1} cells"])
