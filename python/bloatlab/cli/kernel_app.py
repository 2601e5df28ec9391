"""Commands for kernels in virtual time: `kernel build`, `kernel list` and `kernel remove`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter

from bloatlab.cli.options import Flag

kernel = App(name="kernel", help="Builds, lists or removes Linux kernels in virtual time, for --engine linux-virtual.")


@kernel.command
def build(
    *,
    source: Annotated[Path | None, Parameter(metavar="TARBALL|DIR")] = None,
    jobs: int | None = None,
    quiet: Annotated[Flag, Parameter(name=("--quiet", "-q"))] = False,
) -> int:
    """Builds a kernel from its source (docs/linux-virtual.md).

    It takes about ten minutes and 900 MB, of which 10 MB remain. A build that was interrupted goes on where it was.

    Args:
        source: An archive, a package (.deb) or a folder with the source [default: the newest source that is installed in
            /usr/src, or that apt can download; nothing is installed].
        jobs: Number of compilers that run at once [default: one per CPU core].
        quiet: Print nothing but errors.
    """
    from bloatlab.cli.console import complain
    from bloatlab.engines.linux_virtual.build import build as built
    from bloatlab.errors import ParameterError

    if jobs is not None and jobs < 1:
        raise ParameterError(f"--jobs {jobs}: must be at least 1")
    step = ""

    def tell(now: str, files: int) -> None:
        nonlocal step
        if quiet:
            return
        if now != step:
            step = now
            complain(f"{now} ...")
        elif files % 200 == 0:
            complain(f"{now}: {files} files")

    made = built(source, jobs or os.cpu_count() or 1, tell)
    if not quiet:
        print(f"{made.name} is ready: bloatlab simulate SCENARIO --engine linux-virtual")
    return 0


@kernel.command(name="list")
def list_(*, json: Flag = False) -> int:
    """Lists the kernels that were built. Runs use the last one, or the one of --engine linux-virtual@NAME.

    Args:
        json: Print one JSON object and nothing else.
    """
    import json as text
    from dataclasses import asdict

    from bloatlab.cli.console import console
    from bloatlab.cli.tables import Column, FittedTable
    from bloatlab.engines.linux_virtual import kernels

    found = kernels.built()
    if json:
        listed = [{"name": one.name, "folder": str(one.folder), **asdict(one.facts)} for one in found]
        print(text.dumps({"kernels": listed}))
        return 0
    if not found:
        print("no kernel was built; `bloatlab kernel build` builds one")
        return 0
    table = FittedTable([Column("kernel", whole=True), Column("built", whole=True), Column("source")])
    for one in found:
        table.add(one.name, one.facts.built, one.facts.source)
    table.print(console())
    return 0


@kernel.command
def remove(name: str, /) -> int:
    """Deletes a kernel that was built.

    Args:
        name: Its name, as `kernel list` shows it.
    """
    from bloatlab.engines.linux_virtual import kernels

    print(f"removed {kernels.remove(name)}")
    return 0
