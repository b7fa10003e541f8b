"""`congenial simulate`: many draws as a long table that only its owner can read."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from congenial.cli.console import Steps, document, notices, show
from congenial.errors import ArgumentError, OutputError

if TYPE_CHECKING:
    import pyarrow as pa

SUFFIXES = (".parquet", ".csv")
CONFIDENTIAL = "This file holds the true counts with noise, many times over: as confidential as the source."


def simulate(path: str, draws: int, seed: int, out: str, *, force: bool, json: bool) -> None:
    """Draw and write."""
    place = Path(out)
    if place.suffix.lower() not in SUFFIXES:
        raise OutputError(f"'{out}' does not say in which form to write; end it in {' or '.join(SUFFIXES)}.")
    if draws < 1:
        raise ArgumentError("--draws must be at least 1.")
    if not force and place.exists() and not is_simulation(place):
        raise OutputError(
            f"'{out}' exists already and is no simulation; nothing was written. "
            "Name another file, or replace it with --force."
        )
    from congenial.cli.planning import aside, planned
    from congenial.releases.whole import new_file

    with Steps("reading the request") as steps, new_file(place, private=True) as file:
        made = planned(path, steps)
        from congenial import publish

        steps.step("drawing")
        tables = publish.simulated(made, draws, seed, steps.progress)
        write = _write_csv if place.suffix.lower() == ".csv" else _write_parquet
        write(file, long_batches(made.domain, tables))
    notices((*aside(made), CONFIDENTIAL), aside=True)
    if json:
        document({"file": str(place), "draws": draws, "seed": seed, "cells": made.domain.cells})
    else:
        show(f"{draws:,} draws of {made.domain.cells:,} cells in {place}")


def is_simulation(place: Path) -> bool:
    """Whether a file that stands there came from this command: its first column is `draw`."""
    from congenial.releases.columns import DRAW

    try:
        if place.suffix.lower() == ".csv":
            with place.open("rb") as file:
                return file.read(len(DRAW) + 1) == f"{DRAW},".encode()
        import pyarrow.parquet as pq

        return bool(pq.read_schema(place).names[:1] == [DRAW])
    except Exception:  # whatever it is that cannot be read as one, it is no simulation
        return False


def long_batches(domain: Any, tables: Iterator[NDArray[np.int64]]) -> Iterator[pa.Table]:
    """Draws as long tables: draw (from 1), the label columns, count."""
    import pyarrow as pa

    from congenial.releases.columns import COUNT, DRAW, names
    from congenial.tables.long import long_table

    names(domain)
    labels = long_table(domain, np.zeros(domain.cells, dtype=np.int64)).drop_columns([COUNT])
    first = 1
    for batch in tables:
        repeated = pa.concat_tables([labels] * len(batch))
        number = np.repeat(np.arange(first, first + len(batch)), domain.cells)
        first += len(batch)
        yield repeated.add_column(0, DRAW, pa.array(number)).append_column(COUNT, pa.array(batch.reshape(-1)))


def _write_csv(file: IO[bytes], batches: Iterator[pa.Table]) -> None:
    from congenial.releases.columns import csv_bytes

    for at, batch in enumerate(batches):
        file.write(csv_bytes(batch, header=not at))


def _write_parquet(file: IO[bytes], batches: Iterator[pa.Table]) -> None:
    import pyarrow.parquet as pq

    first = next(batches)
    with pq.ParquetWriter(file, first.schema, compression="zstd") as writer:
        writer.write_table(first)
        for batch in batches:
            writer.write_table(batch)


