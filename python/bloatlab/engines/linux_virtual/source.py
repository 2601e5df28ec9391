"""Finds the source of a Linux kernel: a file or folder that the user names, or a package of the distribution."""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from bloatlab.errors import EngineError, ParameterError

INSTALLED = Path("/usr/src")
"""Where Debian's packages put their archives."""
PACKAGE = re.compile(r"linux-source-(\d+)\.(\d+)")
ARCHIVES = (".tar", ".tar.xz", ".tar.gz", ".tar.bz2", ".tar.zst", ".tgz")
UNUSED = (
    *(f"*/drivers/{name}/*.[ch]" for name in ("gpu", "media", "staging", "infiniband", "scsi")),
    *(f"*/drivers/net/{name}/*.[ch]" for name in ("ethernet", "wireless")),
    *(f"*/{name}/*.[ch]" for name in ("sound", "tools/testing", "tools/perf")),
    *(f"*/Documentation/*.{end}" for end in ("rst", "yaml", "svg")),
    "*.dts",
    "*.dtsi",
)
"""Files that are not unpacked, because this kernel does without them: two thirds of the source."""


@dataclass(frozen=True)
class Source:
    """The source of a kernel."""

    path: Path
    """An archive, a Debian package, or a folder."""
    sha256: str | None
    """Hash of the file; `None`: it is a folder."""

    @property
    def is_folder(self) -> bool:
        """Whether it need not be unpacked."""
        return self.sha256 is None

    @property
    def key(self) -> str:
        """Names the folder of its build."""
        return self.sha256[:12] if self.sha256 else hashlib.sha256(str(self.path).encode()).hexdigest()[:12]


def given(path: Path) -> Source:
    """The source that the user names.

    Raises:
        ParameterError: It is neither the folder of a kernel nor an archive.
    """
    path = path.resolve()
    if path.is_dir():
        if not (path / "arch" / "um" / "Kconfig").is_file():
            raise ParameterError(f"--source {path}: is not the source of a Linux kernel (it has no arch/um/Kconfig)")
        return Source(path, None)
    if not path.is_file():
        raise ParameterError(f"--source {path}: there is no such file or folder")
    if not path.name.endswith((*ARCHIVES, ".deb")):
        raise ParameterError(
            f"--source {path}: must be a folder, a package (.deb) or an archive ({', '.join(ARCHIVES)})"
        )
    return _hashed(path)


def of_distribution(folder: Path) -> Source:
    """The newest source that is installed, or that apt can download.

    Args:
        folder: Where apt puts the package.

    Raises:
        EngineError: No source is installed, and apt cannot download one.
    """
    installed = sorted(INSTALLED.glob("linux-source-*.tar.*"), key=lambda path: _version(path.name))
    if installed:
        return _hashed(installed[-1])
    advice = "name a source with --source, for example an archive from https://kernel.org"
    if not (shutil.which("apt-get") and shutil.which("apt-cache")):
        raise EngineError(f"no kernel source is installed in {INSTALLED}, and there is no apt to get one; {advice}")
    listed = _output(["apt-cache", "search", "--names-only", r"^linux-source-[0-9.]+$"])
    names = [line.split()[0] for line in listed.splitlines() if PACKAGE.match(line)]
    if not names:
        raise EngineError(f"apt knows no package linux-source-*; {advice}, or run `apt-get update` first")
    folder.mkdir(parents=True, exist_ok=True)
    package = max(names, key=_version)
    # It downloads into the present folder, and installs nothing.
    _output(["apt-get", "--quiet", "download", package], folder)
    return _hashed(max(folder.glob(f"{package}_*.deb"), key=lambda path: path.stat().st_mtime))


def unpack(source: Source, target: Path) -> None:
    """Unpacks what is needed of an archive or package.

    Raises:
        EngineError: It cannot be unpacked.
    """
    target.mkdir(parents=True, exist_ok=True)
    skipped = [f"--exclude={pattern}" for pattern in UNUSED]
    out = ["tar", "--extract", "--no-same-owner", "--strip-components=1", f"--directory={target}", *skipped]
    if source.path.suffix != ".deb":
        _run([[*out, f"--file={source.path}"]], source.path)
        return
    member = ["tar", "--extract", "--to-stdout", "--wildcards", "*/linux-source-*.tar.xz"]
    _run([["dpkg-deb", "--fsys-tarfile", str(source.path)], member, [*out, "--xz"]], source.path)


def _run(pipeline: Iterable[list[str]], of: Path) -> None:
    """Runs programs, each of which reads what the one before it prints."""
    running: list[subprocess.Popen[bytes]] = []
    try:
        for command in pipeline:
            before = running[-1].stdout if running else subprocess.DEVNULL
            running.append(subprocess.Popen(command, stdin=before, stdout=subprocess.PIPE, stderr=subprocess.PIPE))
            if running[:-1] and running[-2].stdout:
                running[-2].stdout.close()
        said = running[-1].communicate()[1]
        codes = [process.wait() for process in running]
    except OSError as error:
        raise EngineError(f"{of}: cannot be unpacked ({error})") from error
    finally:
        for process in running:
            process.kill()
            for stream in (process.stdout, process.stderr):
                if stream:
                    stream.close()
    if any(codes):
        why = said.decode(errors="replace").strip().splitlines()
        raise EngineError(f"{of}: cannot be unpacked ({why[-1] if why else 'it is not such an archive'})")


def _output(command: list[str], folder: Path | None = None) -> str:
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    except subprocess.CalledProcessError as error:
        last = (error.stderr.strip().splitlines() or ["it said nothing"])[-1]
        raise EngineError(f"`{' '.join(command)}` failed: {last}") from error
    return done.stdout


def _version(name: str) -> tuple[int, ...]:
    found = PACKAGE.search(name)
    return tuple(map(int, found.groups())) if found else (0,)


def _hashed(path: Path) -> Source:
    with path.open("rb") as file:
        return Source(path, hashlib.file_digest(file, "sha256").hexdigest())
