"""How a command ends: an exit code and, where something is wrong, a sentence on standard error.

    0    done                               2    the request, the source, an argument
    1    the machine                      130    interrupted (Ctrl-C); 143 told to end

A message of the package is printed as it is. Of any other exception only the kind is named, because its
text may quote rows of a confidential table; `CONGENIAL_DEBUG=1` shows the whole traceback to a developer
who knows that.
"""

from __future__ import annotations

import contextlib
import io
import os
import signal
import sys
import traceback
from collections.abc import Iterator
from types import FrameType
from typing import NoReturn

from congenial.errors import CongenialError

INTERRUPTED = 130
TOLD_TO_END = 143


def prepare_streams() -> None:
    """Let no character of a label break the output, and let a polite kill clean up like Ctrl-C."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    with contextlib.suppress(ValueError):  # not in the main thread
        signal.signal(signal.SIGTERM, _told_to_end)


def _told_to_end(number: int, frame: FrameType | None) -> NoReturn:
    raise SystemExit(TOLD_TO_END)


@contextlib.contextmanager
def ended() -> Iterator[None]:
    """Run what is inside and end the process as the table above says."""
    try:
        yield
        _flush()
    except SystemExit as told:
        code = told.code
        try:
            _flush()
        except OSError as error:
            code = _said(error)
        _leave(code)
    except BaseException as error:
        _leave(_said(error))


def code_of(error: BaseException) -> int:
    """The exit code for an error, after it has been said on standard error."""
    return _said(error)


def _said(error: BaseException) -> int:
    if os.environ.get("CONGENIAL_DEBUG"):
        traceback.print_exception(error)
    if isinstance(error, CongenialError):
        return _say(str(error), error.exit_code)
    error = _in_kernel(error)
    if isinstance(error, SystemExit):  # told to end while a kernel ran
        return error.code if isinstance(error.code, int) else 1
    if isinstance(error, KeyboardInterrupt):
        return _say("Interrupted. Nothing half-written was left.", INTERRUPTED)
    if isinstance(error, BrokenPipeError):
        return 1  # whoever read the output has gone: nobody to tell
    if isinstance(error, MemoryError):
        return _say("There is not enough memory for this.", 1)
    if isinstance(error, OSError):
        why = os.strerror(error.errno).lower() if error.errno else "it does not say why"
        return _say(f"The system refused to read or write something: {why}.", 1)
    kind = type(error).__name__
    return _say(
        f"Something went wrong that should not ({kind}). Nothing half-written was left.\n"
        "Set CONGENIAL_DEBUG=1 to see where; what it then prints may quote confidential counts.",
        1,
    )


def _in_kernel(error: BaseException) -> BaseException:
    """What a signal meant that came while a compiled kernel ran: numba hands it on as a SystemError."""
    cause = error.__cause__ or error.__context__
    if isinstance(error, SystemError) and isinstance(cause, (KeyboardInterrupt, SystemExit)):
        return cause
    return error


def _say(text: str, code: int) -> int:
    with contextlib.suppress(OSError, ValueError):
        print(text, file=sys.stderr, flush=True)
    return code


def _flush() -> None:
    """Bring standard output to its end, so that a full disk is noticed here."""
    sys.stdout.flush()


def _leave(code: int | str | None) -> NoReturn:
    """End the process; what could not be flushed must not be tried again on the way out."""
    try:
        sys.stdout.flush()
    except (OSError, ValueError):
        with contextlib.suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    raise SystemExit(code) from None
