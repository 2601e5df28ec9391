"""`python -m bloatlab.engines.linux.worker`: makes one run in real time, in new namespaces.

Reads a request on standard input. Prints lines of JSON: `{"progress": 0.5}` now and then, and `{"error": ...}` if the run
fails. With two numbers as arguments, it reads and prints on these descriptors instead, because a program of the run has the
standard streams; then it also prints `{"samples": [...]}`. Only what the run needs is imported, because the run starts only
after these imports.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from bloatlab.engines.linux import exchange, native

if TYPE_CHECKING:
    from bloatlab import _core

PROGRESS_EVERY_S = 0.2
SAMPLES_EVERY_S = 0.1
FAILED = 2
NAME_SERVERS = "/etc/resolv.conf"


def main(descriptors: Sequence[str]) -> int:
    """Makes the run and returns the exit code."""
    from bloatlab._core import Control

    say = _Said(os.fdopen(int(descriptors[1]), "wb", 0) if descriptors else sys.stdout.buffer)
    try:
        with os.fdopen(int(descriptors[0]), "rb") if descriptors else sys.stdin.buffer as requests:
            request = exchange.Request.read(requests.read())
        native.enter(request.driver)
        request.printed.mkdir()
        if request.name_servers is not None:
            _set_name_servers(request.directory, request.name_servers)
        exchange.write(*_run(request, Control(), say), request)
    # A panic of the extension module is no `Exception`.
    except BaseException as error:
        say({"error": str(error) or type(error).__name__})
        return FAILED
    return 0


def _run(request: exchange.Request, control: _core.Control, say: _Said) -> tuple[_core.Outcome, int, int | None]:
    foreground = _foreground(request)
    ended = threading.Event()

    def follow() -> None:
        if foreground is None:
            while not ended.wait(PROGRESS_EVERY_S):
                say({"progress": control.progress})
        else:
            while not ended.wait(SAMPLES_EVERY_S):
                say({"samples": json.loads(foreground.samples.take())})

    # Only now: a process with threads cannot enter namespaces.
    follower = threading.Thread(target=follow, name="bloatlab-progress", daemon=True)
    follower.start()
    try:
        return native.run(
            request.scenario,
            request.seed,
            kernel_link=request.kernel_link,
            record_packets=request.record_packets,
            control=control,
            files=str(request.printed),
            variables={"BLOATLAB_PYTHON": sys.executable, "BLOATLAB_SHELL": str(request.depth)},
            foreground=foreground,
        )
    finally:
        ended.set()
        follower.join()


def _foreground(request: exchange.Request) -> native.Foreground | None:
    from bloatlab._core import Samples

    if request.foreground is None:
        return None
    return native.Foreground(
        flow=request.foreground,
        is_interactive=request.is_interactive,
        samples=Samples(),
        uplink=request.uplink,
    )


def _set_name_servers(directory: str, text: str) -> None:
    """Gives the programs of the run other name servers than the machine has. The machine's file stays as it is."""
    file = Path(directory) / "resolv.conf"
    file.write_text(text, encoding="utf-8")
    native.show_instead(str(file), str(Path(NAME_SERVERS).resolve()))


class _Said:
    """Prints lines of JSON."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream

    def __call__(self, what: dict[str, Any]) -> None:
        self._stream.write(json.dumps(what).encode() + b"\n")
        self._stream.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
