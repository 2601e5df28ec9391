"""Whether the page of a results directory is up to date, so that it need not be made again."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path

import bloatlab
from bloatlab.experiments.weighing import EQUAL, Weights
from bloatlab.lab.single import NAME as LAB
from bloatlab.store import layout
from bloatlab.store.files import write_whole

STAMP = ".page"
COMPARED = "compare.html"
"""The page that compares engines. The page of the results links to it."""
_PAGE = re.compile(r"[a-z0-9][a-z0-9_-]*\.html\Z")


def note(directory: Path, page: Path, weights: Weights = EQUAL) -> None:
    """Records that the page was made from the current state of the store, with these weights of rankings."""
    text = f"{_state(directory, weights)}\n{page.name}\n"
    write_whole(directory / STAMP, lambda temporary: temporary.write_text(text, encoding="utf-8"))


def page(directory: Path, weights: Weights = EQUAL) -> Path | None:
    """The page, if it was made with these weights, and neither the store nor bloatlab has changed since."""
    try:
        state, name = (directory / STAMP).read_text(encoding="utf-8").split()
    except (OSError, ValueError):
        return None
    made = directory / name
    ours = _PAGE.match(name) is not None and made.is_file() and not made.is_symlink()
    return made if ours and state == _state(directory, weights) else None


def _state(directory: Path, weights: Weights) -> str:
    """Hash over weights, and over size and time of the database, of the linked pages, and of the sources of the page."""
    names = (layout.DATABASE, f"{layout.DATABASE}-wal", COMPARED, LAB)
    files = [directory / name for name in names]
    package = Path(bloatlab.__file__).parent
    sources = sorted(path for path in package.rglob("*") if path.suffix in {".py", ".so", ".html", ".css", ".js"})
    digest = hashlib.sha256(json.dumps(dict(weights.given), sort_keys=True).encode())
    for path in (*files, *sources):
        if path.exists():
            stat = path.stat()
            digest.update(f"{path.name} {stat.st_size} {stat.st_mtime_ns}\n".encode())
    return digest.hexdigest()[:32]
