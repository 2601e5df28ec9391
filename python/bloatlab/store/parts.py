"""Parquet parts: one directory a group of runs, one file a table, seen whole or not at all."""

from __future__ import annotations

import io
import os
import secrets
import shutil
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from bloatlab.errors import StoreError

if TYPE_CHECKING:
    import polars as pl

    from bloatlab.engines import ArrowTable

TEMPORARY = ".tmp-"


def concatenate(tables: Sequence[tuple[str, ArrowTable]]) -> pl.DataFrame:
    """One frame of many runs' tables, `run_id` first."""
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


def write_part(parts: Path, frames: Mapping[str, pl.DataFrame]) -> str:
    """Writes the frames durably under a new name; nobody sees the part before it is whole."""
    name = secrets.token_hex(8)
    temporary = parts / f"{TEMPORARY}{name}"
    temporary.mkdir()
    try:
        for table, frame in frames.items():
            _write_frame(temporary / f"{table}.parquet", frame)
        _sync_directory(temporary)
        temporary.rename(parts / name)
        _sync_directory(parts)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise
    return name


def add_table(parts: Path, part: str, table: str, frame: pl.DataFrame) -> None:
    """Writes one more table into a part that is there."""
    temporary = parts / part / f"{TEMPORARY}{table}"
    _write_frame(temporary, frame)
    temporary.rename(parts / part / f"{table}.parquet")
    _sync_directory(parts / part)


def _write_frame(path: Path, frame: pl.DataFrame) -> None:
    buffer = io.BytesIO()
    frame.write_parquet(buffer, compression="zstd", compression_level=1)
    _write_durably(path, buffer.getbuffer())


def _write_durably(path: Path, data: memoryview) -> None:
    with path.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _sync_directory(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def remove_parts(parts: Path, names: Iterable[str]) -> None:
    """Removes parts that no run names any more."""
    for name in names:
        shutil.rmtree(parts / name, ignore_errors=True)


def read_table(parts: Path, table: str, runs_by_part: Mapping[str, Sequence[str]]) -> pl.DataFrame:
    """The named runs' rows of a table, from the parts that hold them; empty when no run has such a table.

    Raises:
        FileNotFoundError: A part is gone.
        StoreError: A part is damaged.
    """
    import polars as pl

    frames = []
    for part, run_ids in runs_by_part.items():
        directory, file = parts / part, parts / part / f"{table}.parquet"
        if not directory.is_dir():
            raise FileNotFoundError(directory)
        if not file.exists():
            continue
        try:
            # A part may hold rows of a run that was made again since; they count no more.
            frames.append(pl.scan_parquet(file, glob=False).filter(pl.col("run_id").is_in(list(run_ids))).collect())
        except (pl.exceptions.PolarsError, OSError) as error:
            raise StoreError(f"{file}: cannot be read, it is damaged ({str(error).splitlines()[0]})") from error
    return pl.concat(frames, how="diagonal_relaxed") if frames else pl.DataFrame({"run_id": []}, {"run_id": pl.String})
