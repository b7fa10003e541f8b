"""Charges on a disk of 200 kB with every amount of room left, as a script on a disk of its own.

Prints how often a charge went through and how often which error said that it did not. Afterwards room
is made, and the ledger must be whole, hold every charge that was reported, and take another.
"""

import json
import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from congenial.errors import CongenialError
from congenial.privacy import ledger
from support.ledgers import charge


def main(folder: Path) -> None:
    outcomes: Counter[str] = Counter()
    for room in range(0, 120, 4):
        for before in (0, 1):
            path = folder / "spent.db"
            for _ in range(before):
                charge(path, budget="1000")
            filler = folder / "filler"
            used = sum((one.stat().st_size + 4095) // 4096 for one in folder.iterdir()) * 4
            filler.write_bytes(b"x" * 1024 * max(0, 200 - used - room))
            reported = before
            try:
                charge(path, budget="1000", about={"long": "x" * 8000})
                reported += 1
                outcomes["charged"] += 1
            except CongenialError as error:
                outcomes[type(error).__name__] += 1
            filler.unlink()
            if path.exists():
                view = ledger.read(path)
                assert view.intact, (room, before)
                assert sum(len(one.charges) for one in view.datasets) >= reported, (room, before)
            else:
                assert not reported, (room, before)
            charge(path, budget="1000")
            for one in folder.iterdir():
                one.unlink()
    print(json.dumps(outcomes))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
