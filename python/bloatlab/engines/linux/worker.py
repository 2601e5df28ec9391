"""`python -m bloatlab.engines.linux.worker`: makes one run in real time, in namespaces of its own.

Reads a request on standard input. Prints lines of JSON: `{"progress": 0.5}` now and then, and `{"error": ...}` if the run
fails. Only what the run needs is imported, because the run starts only after these imports.
"""

from __future__ import annotations

import json
import sys
import threading
from typing import TYPE_CHECKING, Any

from bloatlab.engines.linux import exchange, native

if TYPE_CHECKING:
    from bloatlab import _core

PROGRESS_EVERY_S = 0.2
FAILED = 2


def main() -> int:
    """Makes the run and returns the exit code."""
    from bloatlab._core import Control

    try:
        request = exchange.Request.read(sys.stdin.buffer.read())
        native.enter(request.driver)
        exchange.write(_run(request, Control()), request)
    # A panic of the extension module is no `Exception`.
    except BaseException as error:
        _say({"error": str(error) or type(error).__name__})
        return FAILED
    return 0


def _run(request: exchange.Request, control: _core.Control) -> _core.Outcome:
    ended = threading.Event()

    def follow() -> None:
        while not ended.wait(PROGRESS_EVERY_S):
            _say({"progress": control.progress})

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
        )
    finally:
        ended.set()
        follower.join()


def _say(what: dict[str, Any]) -> None:
    print(json.dumps(what), flush=True)


if __name__ == "__main__":
    sys.exit(main())
