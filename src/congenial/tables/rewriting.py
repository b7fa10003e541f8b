"""Text files that DuckDB should not read itself, and what is wrong with rows that it could not read.

A file in another encoding than UTF-8, with several kinds of line end, or with lines before its header
is written anew as UTF-8 into a folder that only its owner can read and that goes away with the
connection.
"""

from __future__ import annotations

import csv
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path as FilePath
from typing import TextIO

from congenial.errors import Fault, SourceError
from congenial.tables.dialects import Dialect, legible, text_of, wrong_encoding
from congenial.tables.naming import shown

_PIECE = 1 << 20


def written_anew(dialect: Dialect, folder: FilePath) -> FilePath:
    """The rows of a file as UTF-8 with one kind of line end, header first, in `folder`."""
    target = folder / "rows.csv"
    try:
        with target.open("w", encoding="utf-8", newline="") as out, _after_skip(dialect) as file:
            if dialect.plain:
                shutil.copyfileobj(file, out, _PIECE)
            else:
                records = csv.reader(file, delimiter=dialect.delimiter, strict=True)
                csv.writer(out, delimiter=dialect.delimiter).writerows(_rows(records, len(dialect.columns)))
    except UnicodeError:
        raise wrong_encoding(dialect.path, dialect.encoding) from None
    except csv.Error:
        raise unreadable(dialect) from None
    return target


@contextmanager
def _after_skip(dialect: Dialect) -> Iterator[TextIO]:
    with legible(dialect.path), text_of(dialect.path, dialect.zipped, dialect.encoding) as file:
        for _ in range(dialect.skip):
            file.readline()
        yield file


def _rows(records: Iterable[list[str]], wide: int) -> Iterator[list[str]]:
    """Records without blank lines; where there is one column they count, but for those at the end."""
    blank = 0
    for record in records:
        if record:
            for _ in range(blank if wide == 1 else 0):
                yield [""]
            blank = 0
            yield record
        else:
            blank += 1


def first_bad_record(dialect: Dialect) -> SourceError | None:
    """The first row that does not have as many values as the header, by its number, never by its text."""
    name, wide, row = shown(dialect.path.name), len(dialect.columns), -1
    say = f'values are taken as parted by {dialect.parted_by} and quoted with "; see `delimiter:`.'
    with _after_skip(dialect) as file:
        reader = csv.reader(file, delimiter=dialect.delimiter, strict=True)
        try:
            for record in reader:
                row += bool(record)
                if record and len(record) != wide:
                    line = reader.line_num + dialect.skip
                    what = f"row {row:,} of {name} (line {line:,}) has {len(record)} values"
                    return SourceError(Fault("", f"{what}, the header has {wide}", say))
        except (csv.Error, UnicodeError):
            what = f"row {row + 1:,} of {name} cannot be read: a quotation mark stands open"
            return SourceError(Fault("", what, say))
    return None


def unreadable(dialect: Dialect) -> SourceError:
    """What is wrong with a file whose rows could not be read."""
    what = f"{shown(dialect.path.name)} cannot be read as rows of {len(dialect.columns)} values"
    say = f"values are taken as parted by {dialect.parted_by}; see `delimiter:` and `encoding:`."
    return first_bad_record(dialect) or SourceError(Fault("", what, say))
