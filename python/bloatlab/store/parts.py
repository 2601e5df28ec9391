"""Parts: a directory of Parquet files for a group of runs, with one file per table and a manifest of their hashes."""

from __future__ import annotations

import hashlib
import io
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from bloatlab.errors import StoreError
from bloatlab.store import layout, metrics
from bloatlab.store.layout import MANIFEST, MARKER
from bloatlab.store.records import NOTES, RECORDS, frame_of_notes, frame_of_records, with_all_columns

if TYPE_CHECKING:
    import polars as pl

    from bloatlab.engines import ArrowTable

_COLUMNS = {
    metrics.TABLE: lambda: metrics.frame([]),
    RECORDS: lambda: frame_of_records([]),
    NOTES: lambda: frame_of_notes([]),
}
"""The store's own tables, each without rows. All others have a `run_id` and the columns of the engine."""
MANIFEST_LIMIT = 1 << 20
"""Largest size of a manifest in bytes. Valid ones have a few hundred."""


class DamagedError(Exception):
    """A file of a part is missing or is not what was written; the text is its path within the store and what is wrong."""

    def __init__(self, part: str, file: str, why: str) -> None:
        super().__init__(f"{layout.PARTS}/{part}/{file} {why}".replace("/ ", " "))
        self.part = part


class UnreadableError(DamagedError):
    """The system cannot read a file of a part, which may be undamaged."""


def concatenate(tables: Sequence[tuple[str, ArrowTable]]) -> pl.DataFrame:
    """Joins the tables of many runs into one frame, with `run_id` as the first column."""
    import polars as pl

    frames = [pl.DataFrame(table) for _, table in tables]
    try:
        frame = pl.concat(frames, how="vertical")
    except pl.exceptions.PolarsError:
        # A run may lack a column, or have it all null.
        frame = pl.concat(frames, how="diagonal_relaxed")
    ids = pl.DataFrame({"run_id": [run_id for run_id, _ in tables], "height": [frame.height for frame in frames]})
    column = ids.filter(pl.col("height") > 0).select(pl.col("run_id").repeat_by("height").explode()).to_series()
    return frame.insert_column(0, column.cast(pl.String))


def write_part(parts: Path, frames: Mapping[str, pl.DataFrame]) -> tuple[str, str]:
    """Writes the frames durably under a new name. Returns the name and the hash of the manifest.

    The part is not visible before it is complete.
    """
    name = layout.new_name()
    temporary = layout.temporary(parts)
    temporary.mkdir()
    try:
        mark(temporary)
        for table, frame in frames.items():
            write_durably(temporary / f"{table}.parquet", encoded(frame))
        digest = write_manifest(temporary)
        _sync_directory(temporary)
        temporary.rename(parts / name)
        _sync_directory(parts)
    except BaseException:
        layout.remove_part(temporary)
        raise
    return name, digest


def mark(part: Path) -> None:
    """Marks a part as made by bloatlab. Only parts with this mark are ever removed."""
    replace_durably(part / MARKER, b"a part of a bloatlab results directory\n")


def write_manifest(part: Path) -> str:
    """Writes the hash of every table of a part into its manifest. Returns the hash of the manifest."""
    tables = {
        path.stem: {"sha256": digest_of(data := path.read_bytes()), "bytes": len(data)}
        for path in sorted(part.glob("*.parquet"))
    }
    text = json.dumps({"bloatlab": "part", "tables": tables}, sort_keys=True, indent=1).encode()
    replace_durably(part / MANIFEST, text)
    return digest_of(text)


def encoded(frame: pl.DataFrame) -> memoryview:
    """A frame as the bytes of a Parquet file."""
    buffer = io.BytesIO()
    frame.write_parquet(buffer, compression="zstd", compression_level=1)
    return buffer.getbuffer()


def write_durably(path: Path, data: bytes | memoryview) -> None:
    """Writes a new file and waits until it is on disk. Refuses an existing file or link."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(descriptor)


def replace_durably(path: Path, data: bytes | memoryview) -> None:
    """Replaces the file of this name, completely or not at all."""
    temporary = layout.temporary(path.parent)
    write_durably(temporary, data)
    temporary.replace(path)


def _sync_directory(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def digest_of(data: bytes | memoryview) -> str:
    """SHA-256 in hexadecimal digits."""
    return hashlib.sha256(data).hexdigest()


class Part:
    """A part, opened for reading. Every file is compared with its hash before a value of it is used."""

    def __init__(self, parts: Path, name: str, manifest: str | None) -> None:
        """Reads the manifest.

        Args:
            parts: The directory of all parts.
            name: The part's name.
            manifest: Hash of its manifest; absent: the manifest is trusted.

        Raises:
            FileNotFoundError: There is no such part.
            DamagedError: The manifest is missing or altered.
            StoreError: The name is not valid, or the path is a symbolic link.
        """
        self.path = layout.part_path(parts, name)
        self.name = name
        if not self.path.is_dir():
            raise FileNotFoundError(self.path)
        text = self._bytes(MANIFEST, MANIFEST_LIMIT)
        self.digest = digest_of(text)
        if manifest is not None and self.digest != manifest:
            raise DamagedError(name, MANIFEST, "is altered")
        try:
            self.tables: dict[str, tuple[str, int]] = {
                table: (str(about["sha256"]), int(about["bytes"]))
                for table, about in json.loads(text)["tables"].items()
            }
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise DamagedError(name, MANIFEST, "is altered") from error
        if not all(map(layout.is_table, self.tables)):
            raise DamagedError(name, MANIFEST, "names a table that no part has")

    def read(self, table: str) -> pl.DataFrame | None:
        """A table, or `None` if the part has no such table.

        Raises:
            DamagedError: Its file is missing or altered.
        """
        import polars as pl

        data = self.checked(table)
        if data is None:
            return None
        try:
            frame = pl.read_parquet(io.BytesIO(data))
        except (pl.exceptions.PolarsError, OSError) as error:
            raise DamagedError(self.name, f"{table}.parquet", "is no Parquet file") from error
        if table == RECORDS:
            frame = with_all_columns(frame)
        # Whoever makes a store can also hash it.
        wanted = _COLUMNS[table]().schema if table in _COLUMNS else {"run_id": pl.String}
        if not wanted.items() <= frame.schema.items():
            raise DamagedError(self.name, f"{table}.parquet", f"has not the columns {', '.join(wanted)}")
        return frame

    def checked(self, table: str) -> bytes | None:
        """The bytes of a table's file, compared with their hash."""
        if table not in self.tables:
            return None
        expected, size = self.tables[table]
        data = self._bytes(f"{table}.parquet", size + 1)
        if digest_of(data) != expected:
            raise DamagedError(self.name, f"{table}.parquet", "is altered")
        return data

    def check(self) -> None:
        """Checks every file of the part; raises `DamagedError`."""
        for table in self.tables:
            self.checked(table)

    def _bytes(self, file: str, most: int) -> bytes:
        try:
            descriptor = os.open(self.path / file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError as error:
            if isinstance(error, FileNotFoundError):
                raise DamagedError(self.name, file, "is missing") from error
            raise UnreadableError(self.name, file, f"cannot be read ({error.strerror})") from error
        with os.fdopen(descriptor, "rb") as opened:
            try:
                return opened.read(most)
            except OSError as error:
                raise UnreadableError(self.name, file, f"cannot be read ({error.strerror})") from error


def of_runs(frame: pl.DataFrame, run_ids: Iterable[str]) -> pl.DataFrame:
    """The rows of these runs. A part may also hold old rows of runs that were made again since."""
    import polars as pl

    return frame.filter(pl.col("run_id").is_in(list(run_ids)))


def joined(frames: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """Joins frames of several parts. Without any, returns an empty frame with `run_id`."""
    import polars as pl

    return pl.concat(frames, how="diagonal_relaxed") if frames else pl.DataFrame({"run_id": []}, {"run_id": pl.String})


def damage(directory: object, runs: Sequence[str], what: DamagedError) -> StoreError:
    """The error for a damaged part, with the runs that it holds and the command that makes them again."""
    named = ", ".join(runs[:2]) + (f" and {len(runs) - 2} more" if len(runs) > 2 else "")
    whose = f"run{'s' * (len(runs) > 1)} {named}" if runs else "no run"
    return StoreError(
        f"{directory}: {what}, which holds {whose}; `bloatlab store repair {directory}` makes "
        f"{'them' if len(runs) > 1 else 'it'} again"
    )
