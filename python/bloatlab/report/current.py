"""Whether the page of a results directory is up to date, so that it need not be made again."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

import bloatlab
from bloatlab.lab.single import NAME as LAB
from bloatlab.store import layout
from bloatlab.store.files import write_whole

STAMP = ".page"
COMPARED = "compare.html"
"""The page that compares engines. The page of the results links to it."""
_PAGE = re.compile(r"[a-z0-9][a-z0-9_-]*\.html\Z")


def note(directory: Path, page: Path) -> None:
    """Records that the page was made from the current state of the store."""
    text = f"{_state(directory)}\n{page.name}\n"
    write_whole(directory / STAMP, lambda temporary: temporary.write_text(text, encoding="utf-8"))


def page(directory: Path) -> Path | None:
    """The page, if neither the store nor bloatlab has changed since it was made."""
    try:
        state, name = (directory / STAMP).read_text(encoding="utf-8").split()
    except (OSError, ValueError):
        return None
    made = directory / name
    ours = _PAGE.match(name) is not None and made.is_file() and not made.is_symlink()
    return made if ours and state == _state(directory) else None


def _state(directory: Path) -> str:
    """Hash over size and time of the files of the database, of the pages it links to, and of the sources that make it."""
    names = (layout.DATABASE, f"{layout.DATABASE}-wal", COMPARED, LAB)
    files = [directory / name for name in names]
    package = Path(bloatlab.__file__).parent
    sources = sorted(path for path in package.rglob("*") if path.suffix in {".py", ".so", ".html", ".css", ".js"})
    digest = hashlib.sha256()
    for path in (*files, *sources):
        if path.exists():
            stat = path.stat()
            digest.update(f"{path.name} {stat.st_size} {stat.st_mtime_ns}\n".encode())
    return digest.hexdigest()[:32]
