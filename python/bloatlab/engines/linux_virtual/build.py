"""Builds a kernel in virtual time from its source: User Mode Linux with the clock mode "time travel"."""

from __future__ import annotations

import datetime
import hashlib
import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from importlib import resources
from pathlib import Path

from bloatlab.engines.linux_virtual import guest, image, kernels, source
from bloatlab.errors import EngineError

TOOLS: Mapping[str, str] = {
    "gcc": "gcc",
    "make": "make",
    "flex": "flex",
    "bison": "bison",
    "bc": "bc",
    "xz": "xz-utils",
    "tar": "tar",
    "strip": "binutils",
}
"""Programs that a build needs, with Debian's packages."""
NEWER_FROM = (6, 17)
"""Kernels from this version on have the second list of settings too (DualPI2)."""
HZ = "\nconfig HZ\n\tint\n\tdefault 1000\n"
"""Timer ticks per second. User Mode Linux has 100, which rounds PIE's 15 ms to 20."""
REPEATABLE: Mapping[str, str] = {
    "KBUILD_BUILD_TIMESTAMP": "Thu Jan  1 00:00:00 UTC 1970",
    "KBUILD_BUILD_USER": "bloatlab",
    "KBUILD_BUILD_HOST": "bloatlab",
    "KBUILD_BUILD_VERSION": "1",
}
"""Equal sources and compilers give equal kernels."""
MOST_LINES = 3
"""Lines of the compiler that an error repeats."""
UNPACKED = "unpacked"
DOWNLOADED = "downloaded"


Tell = Callable[[str, int], None]
"""Hears how far a build is: the step, and the number of files that it has compiled."""


def build(given: Path | None, jobs: int, tell: Tell) -> kernels.Kernel:
    """Builds a kernel, or returns the one that was built from the same source before.

    A build that was interrupted goes on where it was.

    Args:
        given: An archive, a package or a folder [default: the newest source of the distribution].
        jobs: Number of compilers that run at once.
        tell: Hears how far the build is.

    Raises:
        ParameterError: What is given is not the source of a kernel.
        EngineError: A program is missing, or a step failed.
    """
    if why := missing():
        raise EngineError(why)
    tell("finding the source", 0)
    found = source.given(given) if given else source.of_distribution(kernels.home() / DOWNLOADED)
    for kernel in kernels.built():
        if found.sha256 and kernel.facts.source_sha256 == found.sha256:
            return kernel
    work = kernels.home() / f"{found.key}{kernels.PART}"
    work.mkdir(parents=True, exist_ok=True)
    tree = found.path
    if not found.is_folder:
        tree = work / "source"
        if not (work / UNPACKED).exists():
            tell("unpacking", 0)
            source.unpack(found, tree)
            (work / UNPACKED).touch()
    compiled = _Compilation(tree, work / "build", jobs, tell)
    compiled.configure()
    compiled.compile()
    made = _install(compiled, found, work, tell)
    if given is None:
        # What apt downloaded for this build.
        shutil.rmtree(kernels.home() / DOWNLOADED, ignore_errors=True)
    return made


def missing() -> str | None:
    """Why this machine cannot build a kernel, and what to do about it; `None`: it can."""
    if os.uname().machine != "x86_64" or os.uname().sysname != "Linux":
        return "a kernel in virtual time needs Linux on x86-64"
    lacking = [package for tool, package in TOOLS.items() if shutil.which(tool) is None]
    if lacking:
        return f"programs are missing (Debian, Ubuntu: apt install {' '.join(lacking)} libc6-dev)"
    return image.missing()


class _Compilation:
    def __init__(self, tree: Path, folder: Path, jobs: int, tell: Tell) -> None:
        self.tree = tree
        self.folder = folder
        self._jobs = jobs
        self._tell = tell
        folder.mkdir(exist_ok=True)

    def configure(self) -> None:
        """Writes the kernel's settings, and makes sure that it keeps them.

        Raises:
            EngineError: The kernel does not know a setting.
        """
        self._tell("configuring", 0)
        (self.folder / "Kconfig").write_text(self._kconfig(), encoding="utf-8")
        wanted = self._settings()
        self._make("allnoconfig")
        config = self.folder / ".config"
        # The last value of a setting counts.
        config.write_text(config.read_text("utf-8") + "\n".join(wanted) + "\n", encoding="utf-8")
        self._make("olddefconfig")
        kept = set(config.read_text("utf-8").splitlines())
        lost = [line for line in wanted if line not in kept]
        if lost:
            raise EngineError(f"this kernel does not keep its setting `{lost[0]}`; use another version")

    def compile(self) -> None:
        """Compiles the kernel.

        Raises:
            EngineError: The compiler failed.
        """
        self._make("linux", f"-j{self._jobs}", step="compiling")

    def release(self) -> str:
        """The kernel's version."""
        return self._make("-s", "kernelrelease")[-1].strip()

    def version(self) -> tuple[int, ...]:
        """The first two numbers of its version."""
        makefile = (self.tree / "Makefile").read_text("utf-8")
        found = [re.search(rf"^{name} = (\d+)", makefile, re.MULTILINE) for name in ("VERSION", "PATCHLEVEL")]
        return tuple(int(one.group(1)) for one in found if one)

    def _kconfig(self) -> str:
        # The first default of a setting counts, and the source stays as it is.
        title, rest = (self.tree / "Kconfig").read_text("utf-8").split("mainmenu", 1)
        line, rest = rest.split("\n", 1)
        return f"{title}mainmenu{line}\n{HZ}\n{rest}"

    def _settings(self) -> list[str]:
        names = ["kernel.fragment"] + (["kernel-6.17.fragment"] if self.version() >= NEWER_FROM else [])
        folder = resources.files("bloatlab.engines.linux_virtual") / "config"
        texts = [(folder / name).read_text("utf-8") for name in names]
        lines = [line.strip() for text in texts for line in text.splitlines()]
        return [re.sub(r"^(CONFIG_\w+)=n$", r"# \1 is not set", line) for line in lines if line]

    def _make(self, *targets: str, step: str | None = None) -> list[str]:
        """Runs `make`, and returns the lines that it printed."""
        own = [f"O={self.folder}", f"KBUILD_KCONFIG={self.folder / 'Kconfig'}"]
        command = ["make", "ARCH=um", "SUBARCH=x86_64", *own, *targets]
        lines: list[str] = []
        files = 0
        for line in _lines(command, self.tree):
            lines.append(line)
            if step and line.startswith("  CC "):
                files += 1
                self._tell(step, files)
        return lines


def _lines(command: Sequence[str], folder: Path) -> Iterator[str]:
    """The lines that a program prints.

    Raises:
        EngineError: It failed.
    """
    process = subprocess.Popen(
        command,
        cwd=folder,
        env={**os.environ, **REPEATABLE},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        process_group=0,
    )
    assert process.stdout is not None
    said: list[str] = []
    try:
        for line in process.stdout:
            said.append(line.rstrip("\n"))
            yield said[-1]
        if process.wait():
            wrong = [line for line in said if "error" in line.lower() or "***" in line] or said
            raise EngineError(f"`{command[0]}` failed: {' | '.join(wrong[:MOST_LINES])}")
    finally:
        if process.poll() is None:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, 15)
            process.wait()
        process.stdout.close()


def _install(compiled: _Compilation, found: source.Source, work: Path, tell: Tell) -> kernels.Kernel:
    """Moves the kernel to its place, and finds out what it offers."""
    tell("installing", 0)
    made = work / "made"
    shutil.rmtree(made, ignore_errors=True)
    made.mkdir()
    _only(["strip", "-o", str(made / kernels.KERNEL), str(compiled.folder / "linux")])
    with resources.as_file(resources.files("bloatlab.engines.linux_virtual") / "seeded_getrandom.c") as code:
        _only(["gcc", "-shared", "-fPIC", "-O2", "-o", str(made / kernels.PRELOAD), str(code)])
    kernel_hash = hashlib.sha256((made / kernels.KERNEL).read_bytes()).hexdigest()
    facts = kernels.Facts(
        release=compiled.release(),
        source=found.path.name,
        source_sha256=found.sha256,
        kernel_sha256=kernel_hash,
        compiler=_only(["gcc", "--version"]).splitlines()[0],
        built=datetime.date.today().isoformat(),
    )
    kernels.save(made, facts)
    tell("starting it once", 0)
    controls, queues = _offers(kernels.Kernel(made, facts))
    facts = replace(facts, congestion_controls=controls, queues=queues)
    kernels.save(made, facts)
    place = kernels.home() / f"{facts.release}-{kernel_hash[:8]}"
    shutil.rmtree(place, ignore_errors=True)
    made.rename(place)
    shutil.rmtree(work)
    return kernels.Kernel(place, facts)


def _offers(kernel: kernels.Kernel) -> tuple[list[str], list[str]]:
    """The congestion controls and queue disciplines of a kernel, which its guest tries."""
    with guest.finished(kernel, {"probe": True}, 0, "probe.json", lambda _: None) as folder:
        probe = json.loads((folder / "probe.json").read_bytes())
    return probe["congestion_controls"], probe["queues"]


def _only(command: list[str]) -> str:
    """What a short program prints."""
    return "\n".join(_lines(command, Path.cwd()))
