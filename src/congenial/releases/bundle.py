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

from congenial.errors import ArgumentError, SourceError
from congenial.releases import columns, manifest
from congenial.releases.public_table import PublicTable
from congenial.releases.whole import NewFolder

PARQUET, CSV, MANIFEST, REPORT = "table.parquet", "table.csv", "manifest.json", "report.html"
FILES = (PARQUET, CSV, MANIFEST)


@dataclass(frozen=True, eq=False, repr=False)
class Release:
    """A released table with everything that is said beside it; all of it public.

    `released` is None where the method is `suppress`: nothing is said of any count, facts included.
    """

    released: PublicTable | None
    manifest: Mapping[str, Any]

    @property
    def table(self) -> PublicTable:
        """The released table; an `ArgumentError` where it was suppressed."""
        if self.released is None:
            raise ArgumentError("this release says nothing: its method is suppress, and it has no table.")
        return self.released

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
        if self.released is None:
            return {MANIFEST: manifest.to_bytes(manifest.sealed(self.manifest, {}))}
        table = self.released.to_frame()
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
        stated = "no guarantee" if self.guarantee is None else self.guarantee.get("sentence", "guarantee")
        return f"Release({self.released or 'suppressed'}; {stated})"


def is_bundle(folder: Path) -> bool:
    """Whether a folder holds a release or nothing, and nothing else: results that may be replaced."""
    names = {entry.name for entry in folder.iterdir()}
    return not names or (MANIFEST in names and names <= {*FILES, REPORT})


def load(place: str | os.PathLike[str]) -> Release:
    """Read a release from its folder; a `SourceError` where it is not whole.

    `verify` says more: whether facts and bounds hold and the law can be rebuilt.
    """
    folder = Path(place)
    said = manifest.from_bytes(read(folder, MANIFEST))
    if manifest.digest(said) != said["digest"]:
        raise SourceError(f"the manifest in '{folder}' was changed after it was written.")
    if is_silent(said):
        return Release(None, said)
    content = read(folder, PARQUET)
    if said["files"].get(PARQUET) != manifest.fingerprint(content):
        raise SourceError(f"{PARQUET} in '{folder}' is not the file that its manifest names.")
    return Release(table_of(content, said), said)


def is_silent(said: Mapping[str, Any]) -> bool:
    """Whether a manifest is that of a release without a table."""
    request = said["request"]
    return isinstance(request, Mapping) and request.get("method") == "suppress"


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
