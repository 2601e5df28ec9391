"""The kernels that `bloatlab kernel build` has built, in the user's cache folder."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from bloatlab.cache import cache_directory
from bloatlab.errors import EngineError, unknown

FACTS = "kernel.json"
KERNEL = "linux"
PRELOAD = "seeded_getrandom.so"
PART = ".part"
"""End of the name of a folder whose build has not ended."""


@dataclass(frozen=True, kw_only=True)
class Facts:
    """What is known of a kernel that was built."""

    release: str
    """Its version, such as 7.2.12."""
    source: str
    """Name of the package or file that its source came from."""
    source_sha256: str | None
    """Hash of this file; `None`: the source was a folder."""
    kernel_sha256: str
    compiler: str
    built: str
    """Day of the build."""
    congestion_controls: Sequence[str] = ()
    queues: Sequence[str] = ()


@dataclass(frozen=True)
class Kernel:
    """A kernel that was built."""

    folder: Path
    facts: Facts

    @property
    def name(self) -> str:
        """Its name in lists and results."""
        return self.folder.name

    @property
    def program(self) -> Path:
        """The kernel itself, a program."""
        return self.folder / KERNEL

    @property
    def preload(self) -> Path:
        """What gives it its random numbers."""
        return self.folder / PRELOAD


def home() -> Path:
    """Where kernels are."""
    return cache_directory() / "kernels"


def save(folder: Path, facts: Facts) -> None:
    """Writes what is known of a kernel into its folder."""
    (folder / FACTS).write_text(json.dumps(asdict(facts), indent=1) + "\n", encoding="utf-8")


def built() -> list[Kernel]:
    """All kernels, the newest version last."""
    found = [_read(file) for file in home().glob(f"*/{FACTS}") if not file.parent.name.endswith(PART)]
    return sorted(found, key=lambda kernel: (_numbers(kernel.facts.release), kernel.name))


def chosen(wanted: str) -> Kernel | None:
    """The newest kernel of a version such as 6.12 or with this name, or of all if the text is empty. `None`: there is none."""
    found = [kernel for kernel in built() if not wanted or f"{kernel.name}-".startswith((f"{wanted}.", f"{wanted}-"))]
    return max(found, key=lambda kernel: _numbers(kernel.facts.release), default=None)


def remove(name: str) -> Path:
    """Deletes a kernel.

    Raises:
        ParameterError: No kernel has this name.
        OSError: It cannot be deleted.
    """
    of = {kernel.name: kernel for kernel in built()}
    if name not in of:
        raise unknown("kernel", name, of)
    shutil.rmtree(of[name].folder)
    return of[name].folder


def _read(file: Path) -> Kernel:
    try:
        return Kernel(file.parent, Facts(**json.loads(file.read_bytes())))
    except (OSError, ValueError, TypeError) as error:
        raise EngineError(
            f"{file}: does not describe a kernel; delete its folder and build it again ({error})"
        ) from error


def _numbers(release: str) -> tuple[int, ...]:
    return tuple(int(part) for part in release.split(".") if part.isdigit())
