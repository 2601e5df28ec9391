"""`python -m bloatlab.engines.linux.servers`: what runs on the server side of a shell.

An HTTP server on port 80, and `iperf3 --server` if iperf3 is installed. Only what they need is imported, because the user's
program starts only when they answer.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from socketserver import TCPServer, ThreadingMixIn
from typing import NoReturn

PORT = 80
CHUNK = bytes(range(256)) * 1024
"""256 kB of the body of every answer."""
MOST_BYTES = 100_000_000_000
MOST_DIGITS = 32
"""Characters of a size. Longer texts are not parsed."""
QUEUE = 128
"""Connections that may wait to be accepted."""
FILES = ("100kB", "1MB", "10MB", "100MB", "1GB")
PAGE = f"""<!DOCTYPE html>
<html lang="en">
<head><meta charset="utf-8"><title>bloatlab</title></head>
<body>
<h1>bloatlab</h1>
<p>This server is on the other side of the emulated bottleneck.</p>
<p>Files to download: {", ".join(f'<a href="/{name}">{name}</a>' for name in FILES)}.
Any other size works as well, such as /20MB or /12345.</p>
<p>It accepts uploads (POST and PUT) at every address, and discards them.</p>
</body>
</html>
""".encode()


class RequestError(Exception):
    """A request that gets an error as its answer."""

    def __init__(self, status: HTTPStatus, why: str) -> None:
        super().__init__(why)
        self.status = status


class Handler(BaseHTTPRequestHandler):
    """Answers GET and HEAD with a page or with bytes, and discards what is uploaded."""

    protocol_version = "HTTP/1.1"
    server_version = "bloatlab"
    sys_version = ""
    # One write for the head of an answer, instead of one per line.
    wbufsize = 16384
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        """Sends the page, or as many bytes as the path says."""
        self._answer(with_body=True)

    def do_HEAD(self) -> None:
        """The same without the body."""
        self._answer(with_body=False)

    def do_POST(self) -> None:
        """Reads and discards the body, and answers with its length and the time that it took."""
        start = time.perf_counter()
        try:
            received = sum(map(len, self._body()))
        except RequestError as error:
            # The rest of the body is still on its way, so the connection cannot be used again.
            self.close_connection = True
            self._refuse(error)
            return
        seconds = time.perf_counter() - start
        self._send(json.dumps({"bytes": received, "seconds": round(seconds, 6)}).encode() + b"\n", "application/json")

    do_PUT = do_POST  # noqa: N815

    def handle_expect_100(self) -> bool:
        """Tells the client at once that it may send the body."""
        allowed = super().handle_expect_100()
        self.wfile.flush()
        return allowed

    def _answer(self, *, with_body: bool) -> None:
        path = self.path.partition("?")[0]
        try:
            length = self.length(path)
        except RequestError as error:
            self._refuse(error, with_body=with_body)
            return
        if length is None:
            self._send(PAGE, "text/html; charset=utf-8", with_body=with_body)
            return
        self._head(HTTPStatus.OK, length, "application/octet-stream")
        if with_body:
            for start in range(0, length, len(CHUNK)):
                self.wfile.write(memoryview(CHUNK)[: length - start])

    def length(self, path: str) -> int | None:
        """Bytes of the answer; `None`: it is the page that explains this server."""
        return None if path == "/" else size_of(path)

    def _body(self) -> Iterator[bytes]:
        """The body of a request, in chunks."""
        if self.headers.get("Transfer-Encoding", "").lower() == "chunked":
            while length := self._number(self.rfile.readline(MOST_DIGITS + 2).partition(b";")[0], 16):
                yield from self._read(length)
                self.rfile.readline(3)
            # Trailers, up to the empty line.
            while self.rfile.readline(len(CHUNK)).strip():
                pass
        else:
            yield from self._read(self._number(self.headers.get("Content-Length", "0").encode(), 10))

    def _number(self, text: bytes, base: int) -> int:
        try:
            number = int(text, base)
        except ValueError as error:
            raise RequestError(HTTPStatus.BAD_REQUEST, "the length of the body is not a number") from error
        if number < 0:
            raise RequestError(HTTPStatus.BAD_REQUEST, "the length of the body is negative")
        return number

    def _read(self, length: int) -> Iterator[bytes]:
        while length:
            read = self.rfile.read1(min(length, len(CHUNK)))
            if not read:
                raise RequestError(HTTPStatus.BAD_REQUEST, "the body is shorter than its length says")
            length -= len(read)
            yield read

    def _refuse(self, error: RequestError, *, with_body: bool = True) -> None:
        text = f"{error.status.value} {error.status.phrase}: {error}\n"
        self._send(text.encode(), "text/plain; charset=utf-8", error.status, with_body=with_body)

    def _send(self, body: bytes, form: str, status: HTTPStatus = HTTPStatus.OK, *, with_body: bool = True) -> None:
        self._head(status, len(body), form)
        if with_body:
            self.wfile.write(body)

    def _head(self, status: HTTPStatus, length: int, form: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", form)
        self.send_header("Content-Length", str(length))
        self.send_header("Cache-Control", "no-store")
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """An error of the protocol, in one line."""
        self.close_connection = True
        status = HTTPStatus(code)
        self._refuse(RequestError(status, message or status.description), with_body=self.command != "HEAD")

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Writes no log: the terminal belongs to the user's program."""


class Server(ThreadingMixIn, TCPServer):
    """A server with a thread per connection. Unlike `http.server.HTTPServer` it does not look up the name of the host."""

    allow_reuse_address = True
    daemon_threads = True
    request_queue_size = QUEUE

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that went away is no error."""


def size_of(path: str) -> int:
    """Bytes that a path asks for: `/1500`, `/100kB` or `/10MB`.

    Raises:
        RequestError: It is not a size, or too large.
    """
    from bloatlab import units
    from bloatlab.errors import ParameterError

    text = path.strip("/")
    try:
        if len(text) > MOST_DIGITS:
            raise ParameterError("too long")
        length = units.size(f"{text}B" if text.isdecimal() else text)
    except ParameterError as error:
        raise RequestError(HTTPStatus.NOT_FOUND, "ask for a size, such as /1500, /100kB or /10MB") from error
    if length > MOST_BYTES:
        raise RequestError(HTTPStatus.NOT_FOUND, f"at most {MOST_BYTES // 10**9} GB")
    return length


@contextmanager
def iperf3(address: str) -> Iterator[subprocess.Popen[bytes] | None]:
    """Runs `iperf3 --server` at an address, or at all, until the end of the block; `None`: iperf3 is not installed."""
    if shutil.which("iperf3") is None:
        yield None
        return
    nothing = subprocess.DEVNULL
    words = ["iperf3", "--server", *(("--bind", address) if address else ())]
    process = subprocess.Popen(words, stdin=nothing, stdout=nothing, stderr=nothing)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def serve(handler: type[Handler], port: int, address: str = "") -> None:
    """Serves at an address, or at all, until the process ends.

    Raises:
        OSError: The port is taken, or this user may not open it.
    """
    with Server((address, port), handler) as server:
        server.serve_forever()


def end_on_sigterm() -> None:
    """Lets SIGTERM and SIGINT end this process without a word, after what it has started."""

    def end(*_: object) -> NoReturn:
        # A second signal must not interrupt the end.
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        raise SystemExit(0)

    signal.signal(signal.SIGTERM, end)
    # Ctrl-C in the terminal is for the user's program.
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def complain(text: str) -> int:
    """Prints an error in one line. Returns the exit code."""
    with suppress(OSError):
        print(f"bloatlab: {text}", file=sys.stderr, flush=True)
    return 1


def main(port: int = PORT) -> int:
    """Runs the servers until SIGTERM. Returns the exit code if they cannot start."""
    end_on_sigterm()
    try:
        # Other servers of the same scenario may have other addresses of this machine.
        address = os.environ.get("BLOATLAB_SERVER", "")
        with iperf3(address):
            serve(Handler, port, address)
    except OSError as error:
        return complain(f"the HTTP server on port {port} cannot start ({error.strerror or error})")
    return 0


if __name__ == "__main__":
    sys.exit(main())
