"""The command line: one command a job, each saying what it does.

In come a request's file and a few options; out go a plan, a release, simulations, on standard output or
in a folder. Commands only read arguments, call the rooms before them and print: nothing is decided here.
What is wrong with a request, a source or an argument ends with exit code 2, what is wrong with the
machine with 1, an interruption with 130; nobody ever sees a traceback.

name             what it prints or writes                              read
init             a commented request for a file                        requesting.py
plan             what would be drawn, how, at what cost                planning.py
audit            what the facts alone disclose                         auditing.py
release          a bundle: table and manifest                          releasing.py
verify           whether a bundle is whole                             releasing.py
simulate         draws, for the curator's eyes                         simulating.py
ledger           what each dataset has spent                           accounting.py
demo             all of it on bundled data                             demonstrating.py
schema           the request's JSON Schema                             requesting.py
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and end the process with its exit code."""
    from congenial.cli.ending import ended, prepare_streams

    prepare_streams()
    with ended():
        from congenial.cli.app import app

        app(args=list(sys.argv[1:] if arguments is None else arguments), prog_name="congenial")
