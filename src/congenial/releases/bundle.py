"""The bundle: a release as a value, as a folder, and back.

    table.parquet, table.csv    the released table, one row a cell
    manifest.json               see manifest.py
"""

from __future__ import annotations

import io
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from congenial.errors import SourceError
from congenial.releases import columns, manifest
from congenial.releases.public_table import PublicTable
from congenial.releases.whole import NewFolder

PARQUET, CSV, MANIFEST, REPORT = "table.parquet", "table.csv", "manifest.json", "report.html"
FILES = (PARQUET, CSV, MANIFEST)


@dataclass(frozen=True, eq=False, repr=False)
class Release:
    """A released table with everything that is said beside it; all of it public."""

    table: PublicTable
    manifest: Mapping[str, Any]

    @property
    def guarantee(self) -> Mapping[str, Any] | None:
        """What one unit can lose, or None where no guarantee was computed."""
        found: Mapping[str, Any] | None = self.manifest["guarantee"]
        return found

    @property
    def notices(self) -> tuple[str, ...]:
        """What a reader must know first."""
        return tuple(self.manifest["notices"])

    @property
    def invariants(self) -> tuple[Mapping[str, Any], ...]:
        """The facts that were published exactly, with their values."""
        return tuple(self.manifest["invariants"])

    def files(self) -> dict[str, bytes]:
        """The files of the bundle; the same bytes for the same release."""
        table = self.table.to_frame()
        made = {PARQUET: columns.parquet_bytes(table), CSV: columns.csv_bytes(table)}
        return made | {MANIFEST: manifest.to_bytes(manifest.sealed(self.manifest, made))}

    def save(self, place: str | os.PathLike[str], *, force: bool = False) -> Path:
        """Write the bundle as a folder that appears whole or not at all; where it lies."""
        with NewFolder(Path(place), replace=force, ours=is_bundle) as folder:
            self.write(folder)
            return folder.place

    def write(self, folder: NewFolder) -> None:
        """Fill a folder in the making and put it in its place."""
        for name, content in self.files().items():
            folder.write(name, content)
        folder.finish()

    def __repr__(self) -> str:
        axes = ", ".join(f"{axis.name} {axis.size}" for axis in self.table.domain.axes)
        stated = "no guarantee" if self.guarantee is None else self.guarantee.get("sentence", "guarantee")
        return f"Release({axes}: {self.table.domain.cells} cells; {stated})"


def is_bundle(folder: Path) -> bool:
    """Whether a folder holds a release or nothing, and nothing else: results that may be replaced."""
    names = {entry.name for entry in folder.iterdir()}
    return not names or (MANIFEST in names and names <= {*FILES, REPORT})


def load(place: str | os.PathLike[str]) -> Release:
    """Read a release from its folder; a `SourceError` where it is not whole.

    `verify` says more: whether facts and bounds hold and the law can be rebuilt.
    """
    folder = Path(place)
    content = {name: read(folder, name) for name in (MANIFEST, PARQUET)}
    said = manifest.from_bytes(content[MANIFEST])
    if manifest.digest(said) != said["digest"]:
        raise SourceError(f"the manifest in '{folder}' was changed after it was written.")
    if said["files"].get(PARQUET) != manifest.fingerprint(content[PARQUET]):
        raise SourceError(f"{PARQUET} in '{folder}' is not the file that its manifest names.")
    return Release(table_of(content[PARQUET], said), said)


def table_of(content: bytes, said: Mapping[str, Any]) -> PublicTable:
    """The table of a Parquet file, over the domain that its rows spell out."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        axes = [(axis["name"], tuple(axis["levels"])) for axis in said["axes"]]
        table = pq.read_table(io.BytesIO(content))
        wanted = [level for _, levels in axes for level in levels]
        types = [pa.string()] * len(wanted) + [pa.int64()]
        if table.column_names != [*wanted, columns.COUNT] or list(table.schema.types) != types:
            raise SourceError(f"{PARQUET} has other columns than its manifest names.")
    except (pa.ArrowException, OSError, KeyError, TypeError):
        raise SourceError(f"{PARQUET} cannot be read, or its manifest does not name its columns.") from None
    domain = columns.domain_of(table, axes)
    return PublicTable(domain, table.column(columns.COUNT).combine_chunks().to_numpy(zero_copy_only=False))


def read(folder: Path, name: str) -> bytes:
    """The bytes of a file of a bundle."""
    try:
        return (folder / name).read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        what = f"'{folder}' has no {name}" if folder.is_dir() else f"there is no folder '{folder}'"
        raise SourceError(f"{what}; name a folder that `congenial release` made.") from None
    except (OSError, ValueError):
        raise SourceError(f"{name} in '{folder}' cannot be read.") from None
