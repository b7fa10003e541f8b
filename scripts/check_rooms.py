"""The import rule between rooms: a room imports only what stands before it.

    python scripts/check_rooms.py [PACKAGE FOLDER]

The order below is that of `docs/explanation/the-way-data-takes.md`. Every import counts, at the top of
a module or inside a function, `if TYPE_CHECKING` included: a type that a room can name is a value that
it can be handed. The public rooms may not name the confidential table even where they are late in the
order.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

PACKAGE = "congenial"

ORDER: tuple[tuple[str, ...], ...] = (
    ("errors",),
    ("laws", "randomness"),
    ("tables",),
    ("requests",),
    ("problems",),
    ("samplers",),
    ("projections",),
    ("privacy",),
    ("planning",),
    ("releases",),
    ("inference",),
    ("reports",),
    ("publish",),
    ("engines",),
    ("cli",),
)
"""Earlier lines are known to later ones. Within a line, from left to right; a room knows itself."""

CONFIDENTIAL = ("tables.table", "tables.sources", "problems.problem")
PUBLIC_ROOMS = ("releases", "inference", "reports")
"""Rooms of public values: what holds counts of the confidential table is closed to them."""

EXCEPTIONS = {
    ("randomness", "samplers.integer_table"): "the type of an argument: a table of integer weights",
}
"""(room, module imported) -> why it is allowed although it stands later."""


class Crossing(NamedTuple):
    """An import against the rule."""

    file: Path
    line: int
    what: str


def rank(room: str) -> int | None:
    """Where a room stands, or None for a name that is no room."""
    rooms = [name for line in ORDER for name in line]
    return rooms.index(room) if room in rooms else None


def room_of(file: Path, package: Path) -> str:
    """The room that a file belongs to: its folder, or its own name at the top."""
    first = file.relative_to(package).parts[0]
    return first.removesuffix(".py")


def imported(file: Path, package: Path) -> Iterator[tuple[int, str]]:
    """(line, module below the package) of every import of the package in `file`, relative ones too."""
    here = [PACKAGE, *file.relative_to(package).with_suffix("").parts]
    tree = ast.parse(file.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            parent = here[: -node.level] if node.level else []
            base = ".".join([*parent, *([node.module] if node.module else [])])
            names = [f"{base}.{alias.name}" for alias in node.names]
        else:
            continue
        for name in names:
            if name == PACKAGE or name.startswith(PACKAGE + "."):
                yield node.lineno, name[len(PACKAGE) + 1 :]


def crossings(package: Path) -> list[Crossing]:
    """Every import in `package` that the rule forbids."""
    found: list[Crossing] = []
    for file in sorted(package.rglob("*.py")):
        room = room_of(file, package)
        if room in ("__init__", "__main__"):
            continue  # the front doors: they name everything, lazily
        own = rank(room)
        if own is None:
            found.append(Crossing(file, 1, f"'{room}' is no room; add it to the order, or move the file"))
            continue
        for line, module in imported(file, package):
            what = _forbidden(room, own, module)
            if what:
                found.append(Crossing(file, line, what))
    return found


def _forbidden(room: str, own: int, module: str) -> str | None:
    if not module:
        return "imports the package itself, which names every room"
    target = module.split(".")[0]
    if any(module == name or module.startswith(name + ".") for name in CONFIDENTIAL) and room in PUBLIC_ROOMS:
        return f"'{room}' holds public values and may not name {module}"
    if any(room == allowed and module.startswith(name) for allowed, name in EXCEPTIONS):
        return None
    other = rank(target)
    if other is None:
        return f"'{room}' imports the package's own front door ({target}); import from its room"
    if other > own:
        return f"'{room}' imports {module}, which stands after it"
    return None


def main(arguments: list[str]) -> int:
    package = Path(arguments[0]) if arguments else Path(__file__).parents[1] / "src" / PACKAGE
    found = crossings(package)
    for crossing in found:
        print(f"{crossing.file}:{crossing.line}: {crossing.what}")
    if not found:
        print("rooms: every import looks back")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
