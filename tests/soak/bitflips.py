"""Flips single bits in the files of a store. None may be read as another value."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import polars as pl

from bloatlab.errors import StoreError
from bloatlab.store import Store
from contents import same, values

Values = dict[str, pl.DataFrame]


def flips(store: Path, count: int, seed: int, allowed: Callable[[Values, Values], bool] = same) -> list[str]:
    """Flips one bit at a time, and returns the flips after which another value was read.

    Args:
        store: The results directory. It is restored at the end.
        count: Number of flips, drawn over all bytes of all files.
        seed: Of the draw.
        allowed: Whether a result may be read in place of the written one.
    """
    draw = random.Random(seed)
    expected = values(Store(store))
    files = [path for path in sorted(store.rglob("*")) if path.is_file() and path.name != ".lock"]
    weights = [path.stat().st_size for path in files]
    wrong = []
    for _ in range(count):
        (path,) = draw.choices(files, weights)
        whole = path.read_bytes()
        data = bytearray(whole)
        place, bit = draw.randrange(len(data)), draw.randrange(8)
        data[place] ^= 1 << bit
        path.write_bytes(data)
        try:
            found = values(Store(store))
        except StoreError:
            pass
        else:
            if not allowed(found, expected):
                wrong.append(f"{path.relative_to(store)} byte {place} bit {bit}")
        finally:
            path.write_bytes(whole)
    return wrong
