"""`python -m bloatlab.engines.linux.http`: the server and the client of the traffic `http`.

`serve ADDRESS BYTES` serves a page of this size on port 80. `fetch ADDRESS PAUSE_S` fetches the page again and again, each
time over a new connection. For each fetch it prints a line: the seconds that it took, or `failed`.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from functools import partial
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException
from itertools import count

from bloatlab.engines.linux.servers import CHUNK, PORT, Handler, complain, end_on_sigterm, serve

START_S = 1.0
"""Seconds from the start during which a server that does not answer yet is no failure."""
RETRY_S = 0.02
FAILED = "failed"
USAGE = "give `serve ADDRESS BYTES` or `fetch ADDRESS PAUSE_S`"
WRONG_USAGE = 2

Fetch = Callable[[], float | None]
"""Fetches the page once. Returns the seconds that it took, or `None` if it failed."""


def page_of(length: int) -> type[Handler]:
    """What serves a page of `length` bytes at every address."""

    class OnePage(Handler):
        def length(self, path: str) -> int:
            """The same length for every path."""
            return length

    return OnePage


def with_curl(url: str, curl: str) -> float | None:
    """Fetches the page with curl, in a process of its own."""
    # -q: the user's own settings of curl, such as a proxy, must not decide how the page is fetched.
    words = [curl, "-q", "--noproxy", "*", "-s", "-f", "-o", "/dev/null", "-w", "%{time_total}", url]
    done = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    try:
        return float(done.stdout) if done.returncode == 0 else None
    except ValueError:
        return None


def without_curl(address: str, port: int) -> float | None:
    """Fetches the page in this process."""
    start = time.perf_counter()
    try:
        with closing(HTTPConnection(address, port)) as connection:
            connection.request("GET", "/", headers={"Connection": "close"})
            answer = connection.getresponse()
            missing = answer.length
            while read := answer.read(len(CHUNK)):
                missing = missing and missing - len(read)
            if answer.status != HTTPStatus.OK or missing:
                return None
    except (OSError, HTTPException):
        return None
    return time.perf_counter() - start


def fetcher(address: str, port: int = PORT) -> Fetch:
    """What fetches the page: curl if it is installed."""
    curl = shutil.which("curl")
    if curl is not None:
        return partial(with_curl, f"http://{address}:{port}/", curl)
    return partial(without_curl, address, port)


def fetch_again(fetch: Fetch, pause_s: float, fetches: int | None = None) -> None:
    """Fetches the page again and again, and prints a line per fetch.

    Args:
        fetch: Fetches it once.
        pause_s: Seconds from the end of a fetch to the next one.
        fetches: Number of lines; absent: until the process ends.
    """
    start = time.monotonic()
    seconds = fetch()
    # The server may start a moment later than this client.
    while seconds is None and time.monotonic() - start < START_S:
        time.sleep(RETRY_S)
        seconds = fetch()
    for number in count(1):
        print(FAILED if seconds is None else f"{seconds:.6f}", flush=True)
        if number == fetches:
            return
        time.sleep(pause_s if seconds is not None else max(pause_s, RETRY_S))
        seconds = fetch()


def main(arguments: Sequence[str], port: int = PORT) -> int:
    """Serves or fetches until SIGTERM. Returns the exit code."""
    end_on_sigterm()
    try:
        match arguments:
            case ["serve", address, length]:
                serve(page_of(int(length)), port, address)
            case ["fetch", address, pause_s]:
                fetch_again(fetcher(address, port), float(pause_s))
            case _:
                raise ValueError
    except ValueError:
        complain(USAGE)
        return WRONG_USAGE
    except BrokenPipeError:
        # Nobody reads the lines any more.
        return 0
    except OSError as error:
        return complain(f"http {arguments[0]}: {error.strerror or error}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
