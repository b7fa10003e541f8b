"""The corpus of requests: valid files, and files with one fault each that say what it is.

An invalid file begins with `# expect: PATH | FRAGMENT OF THE MESSAGE` (`-` for the whole file) and
`# form: yes` where the JSON Schema must refuse it too; the faulty line ends in `# here`, or `# line: N`
says which it is.
"""

from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent
VALID = sorted([*(FOLDER / "valid").glob("*.yaml"), *(FOLDER / "valid").glob("*.json")])
INVALID = sorted((FOLDER / "invalid").glob("*.yaml"))


@dataclass(frozen=True)
class Expected:
    """The one fault of an invalid file."""

    where: str
    fragment: str
    line: int
    of_form: bool


def expected(path: Path) -> Expected:
    """What the head of an invalid file says of its fault."""
    lines = path.read_text(encoding="utf-8").split("\n")
    head = dict(line[2:].split(": ", 1) for line in lines[:2])
    where, fragment = (part.strip() for part in head["expect"].split(" | "))
    here = [number for number, line in enumerate(lines, 1) if line.endswith("# here")]
    line = int(head["line"]) if "line" in head else here[0]
    return Expected("" if where == "-" else where, fragment, line, head.get("form") == "yes")
