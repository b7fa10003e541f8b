"""A process that charges ledgers on command: one JSON line in, one JSON line out.

Run as a script, so that races and kills are between real processes. A command names the ledger and the
amount; it may also ask to die at a step, to be refused files beyond a size, or to be nobody.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

from congenial.errors import CongenialError
from congenial.privacy import ledger

NOBODY = 65534


def obey(command: dict[str, Any]) -> dict[str, Any]:
    if command.get("as_nobody") and hasattr(os, "geteuid") and os.geteuid() == 0:
        os.setgid(NOBODY)
        os.setuid(NOBODY)
    if "file_limit" in command:
        limit_files(command["file_limit"], deadly=command.get("deadly", False))
    try:
        if command["do"] == "read":
            view = ledger.read(command["path"])
            return {"intact": view.intact, "spent": [str(one.spent) for one in view.datasets]}
        receipt = charge(command)
        return {"position": receipt.position, "hash": receipt.hash, "spent": str(receipt.spent)}
    except CongenialError as error:
        return {"error": type(error).__name__, "message": str(error), "exit": error.exit_code}


def charge(command: dict[str, Any]) -> ledger.Receipt:
    die_at, seen = command.get("die_at"), 0

    def step(name: str) -> None:
        nonlocal seen
        if seen == die_at:
            os.kill(os.getpid(), getattr(signal, "SIGKILL", signal.SIGTERM))
        seen += 1

    return ledger.charge(
        command["path"],
        dataset=command.get("dataset", "d"),
        currency="epsilon",
        budget=command.get("budget", "1"),
        amount=command.get("amount", "0.25"),
        equivalence_class='{"facts":["total"]}',
        title=command.get("title", "raced"),
        about=command.get("about", {}),
        patience=command.get("patience", 60.0),
        _step=step,
    )


def limit_files(size: int, *, deadly: bool) -> None:
    """Let no file of this process grow beyond `size`: a failed write, or death in the middle of it."""
    import resource

    signal.signal(signal.SIGXFSZ, signal.SIG_DFL if deadly else signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))


def main() -> None:
    print(json.dumps({"ready": True, "root": str(Path(ledger.__file__).parent)}), flush=True)
    for line in sys.stdin:
        print(json.dumps(obey(json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
