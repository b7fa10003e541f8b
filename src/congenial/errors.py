"""Every error that the package raises on purpose, and what a person is told.

    CongenialError            exit 2: something that was asked for is wrong
    ├── RequestError          the request: all its faults at once
    ├── SourceError           the data: a file, a column, labels, counts, rows of a unit
    ├── ConflictError         facts, bounds and data cannot hold together; names an irreducible set
    ├── NoLawError            the measurements leave directions free: the law has no normaliser
    ├── NoSamplerError        no exact sampler here serves a block
    ├── NothingToProtectError the facts determine every cell
    ├── NotProvenError        a guarantee that is not proven, and was not allowed to be
    ├── BudgetError           the ledger: a budget that is spent, a chain that is broken
    ├── OutputError           where results should go: a folder that exists, a suffix not known
    ├── ArgumentError         an argument of a function or a command
    └── MachineError          exit 1: a full or read-only disk, memory, a file that vanished

A message says what is wrong with which value, why it is, what to do, and where to read. It never
carries a confidential count, nor the text of another library's error (which may).
"""

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Fault:
    """One thing that is wrong: where, what, and what to do about it.

    `where` is a path such as `invariants[1].query`; `line` counts from 1 where the text is known.
    `what` is one sentence; `hint` says why and what to do; `read` names a page of the documentation.
    """

    where: str
    what: str
    hint: str = ""
    read: str = ""
    line: int | None = None


class CongenialError(Exception):
    """The root of the tree; `exit_code` is what the command line exits with."""

    exit_code = 2


class _FaultyError(CongenialError):
    """An error made of faults, printed as the table of EXAMPLES: where, line, what, hint."""

    subject = "The request"

    def __init__(self, faults: Iterable[Fault] | Fault | str, *, subject: str | None = None) -> None:
        if isinstance(faults, str):
            faults = Fault("", faults)
        self.faults = (faults,) if isinstance(faults, Fault) else tuple(faults)
        self.subject = subject or type(self).subject
        super().__init__(describe(self.faults, self.subject))

    def __reduce__(self) -> tuple[object, ...]:
        return (_rebuild, (type(self), self.faults, self.subject))


def _rebuild(kind: type[_FaultyError], faults: tuple[Fault, ...], subject: str) -> _FaultyError:
    return kind(faults, subject=subject)


def describe(faults: tuple[Fault, ...], subject: str) -> str:
    """The faults as a person reads them."""
    if len(faults) == 1 and not faults[0].where:
        only = faults[0]
        return "\n".join([only.what, *_extra(only, "")])
    lines = [f"{subject} has {len(faults)} fault{'s' if len(faults) != 1 else ''}.", ""]
    wide = min(40, max(len(f.where) for f in faults))
    numbered = any(f.line for f in faults)
    for f in faults:
        line = f"line {f.line}" if f.line else ""
        head = f"  {f.where:<{wide}}  " + (f"{line:<9}  " if numbered else "")
        lines += [head + f.what, *_extra(f, " " * len(head)), ""]
    return "\n".join(lines).rstrip()


def _extra(fault: Fault, indent: str) -> list[str]:
    lines = [indent + part for part in fault.hint.splitlines()]
    return lines + ([f"{indent}Read: {fault.read}"] if fault.read else [])


class RequestError(_FaultyError):
    """The request is wrong; `faults` has all that could be seen."""


class SourceError(_FaultyError):
    """The data are wrong: a file, a column, labels, counts, or the rows of a unit."""

    subject = "The source"


class ConflictError(_FaultyError):
    """Facts, bounds and data cannot hold together; the message names an irreducible set."""


class NoLawError(_FaultyError):
    """Some direction is neither measured, nor fixed, nor bounded: law (1) has no normaliser."""


class NoSamplerError(_FaultyError):
    """No exact sampler serves a block; `plan` says which one would."""


class NothingToProtectError(_FaultyError):
    """The facts determine every cell."""


class NotProvenError(_FaultyError):
    """A guarantee or a draw without proof, where the request does not allow it."""


class BudgetError(_FaultyError):
    """The ledger refuses: no budget left, another currency, a broken chain."""


class OutputError(_FaultyError):
    """Results cannot go where they should: the folder exists, the suffix is not known."""


class ArgumentError(_FaultyError):
    """An argument of a function or a command is wrong."""

    subject = "The call"


class MachineError(_FaultyError):
    """The machine, not the request: a full or read-only disk, too little memory."""

    exit_code = 1


def nearest(word: str, known: Iterable[str]) -> str:
    """`Did you mean 'x'?` for the known word nearest to `word`, or an empty string."""
    from difflib import get_close_matches

    near = get_close_matches(word, list(known), n=1, cutoff=0.6)
    return f"Did you mean '{near[0]}'?" if near else ""
