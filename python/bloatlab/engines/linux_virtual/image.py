"""The file system of the guest: its agent, `tc`, and the libraries of both, as one file that the kernel unpacks when it starts.

The format is the "newc" archive of cpio, as the kernel reads it (Documentation/driver-api/early-userspace/buffer-format).
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import resources
from pathlib import Path

from bloatlab.cache import cache_directory
from bloatlab.errors import EngineError

AGENT = "bloatlab-guest"
DIRECTORY, FILE = 0o040755, 0o100755
TRAILER = "TRAILER!!!"


def agent() -> Path | None:
    """The agent, a program of this package; `None`: this installation has none."""
    found = resources.files("bloatlab.engines.linux_virtual") / AGENT
    return Path(str(found)) if found.is_file() else None


def missing() -> str | None:
    """Why there can be no image on this machine, and what to do about it; `None`: there can."""
    if agent() is None:
        return "this installation has no guest agent; in a clone of the repository, `make guest` builds it"
    if shutil.which("tc") is None:
        return "`tc` is not installed (Debian, Ubuntu: apt install iproute2)"
    return None


def image() -> tuple[Path, str]:
    """The image for this machine's programs, and its hash. It is made when it is first needed.

    Raises:
        EngineError: A program is missing, or its libraries cannot be found.
    """
    if why := missing():
        raise EngineError(why)
    return image_of(_programs())


def image_of(programs: Mapping[str, Path]) -> tuple[Path, str]:
    """The image with these programs, by their paths in it, and their libraries; and its hash. The kernel starts `init`.

    Raises:
        EngineError: The libraries of a program cannot be found.
    """
    # Hashing takes longer than a short run, so it is done again only if a program has changed.
    return _image(tuple((name, path, path.stat().st_mtime_ns) for name, path in programs.items()), cache_directory())


@cache
def _image(programs: tuple[tuple[str, Path, int], ...], place: Path) -> tuple[Path, str]:
    files = _with_libraries({name: path for name, path, _ in programs})
    digest = hashlib.sha256()
    for name, source in files.items():
        digest.update(name.encode() + b"\0" + hashlib.sha256(source.read_bytes()).digest())
    short = digest.hexdigest()[:16]
    made = place / "guests" / f"{short}.cpio"
    if not made.exists():
        _write(made, files)
    return made, short


def _programs() -> Mapping[str, Path]:
    """The programs of the guest, by their paths in the image."""
    program, tc = agent(), shutil.which("tc")
    assert program is not None
    assert tc is not None
    return {"init": program, "bin/tc": Path(tc).resolve()}


def _with_libraries(programs: Mapping[str, Path]) -> Mapping[str, Path]:
    """Programs and their libraries, by their paths in the image, in order."""
    files = dict(programs)
    for file in programs.values():
        for library in _libraries(file):
            files[library.lstrip("/")] = Path(library).resolve()
    return dict(sorted(files.items()))


def _libraries(program: Path) -> Iterator[str]:
    """The shared libraries of a program, as `ldd` lists them."""
    try:
        listed = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError) as error:
        raise EngineError(f"the libraries of {program} cannot be listed by `ldd` ({error})") from error
    for line in listed.splitlines():
        # "libc.so.6 => /lib/libc.so.6 (0x...)", or "/lib64/ld-linux.so.2 (0x...)" for the loader.
        words = line.replace("=>", " ").split()
        paths = [word for word in words if word.startswith("/")]
        yield from paths[-1:]


def _write(target: Path, files: Mapping[str, Path]) -> None:
    """Writes an image. Another process that writes the same one does no harm."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=target.parent, delete=False) as file:
        try:
            number = 0
            for number, (name, mode, content) in enumerate(_entries(files), 1):
                file.write(_entry(number, name, mode, content))
            file.write(_entry(number + 1, TRAILER, 0, b""))
            file.close()
            Path(file.name).replace(target)
        except BaseException:
            Path(file.name).unlink()
            raise


def _entries(files: Mapping[str, Path]) -> Iterator[tuple[str, int, bytes]]:
    """Folders and files, each folder before what is in it."""
    made: set[str] = set()
    for name, source in files.items():
        for folder in reversed(Path(name).parents[:-1]):
            if str(folder) not in made:
                made.add(str(folder))
                yield str(folder), DIRECTORY, b""
        yield name, FILE, source.read_bytes()


def _entry(number: int, name: str, mode: int, content: bytes) -> bytes:
    links = 2 if mode == DIRECTORY else 1
    named = name.encode() + b"\0"
    # inode, mode, user, group, links, time, size, device twice, special device twice, length of the name, checksum.
    fields = (number, mode, 0, 0, links, 0, len(content), 0, 0, 0, 0, len(named), 0)
    head = b"070701" + b"".join(b"%08x" % field for field in fields) + named
    return _padded(head) + _padded(content)


def _padded(data: bytes) -> bytes:
    return data + b"\0" * (-len(data) % 4)
