"""Serves the lab on this machine: static files, for nobody else."""

from __future__ import annotations

import secrets
from functools import partial
from http import HTTPStatus
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

STATIC = Path(__file__).with_name("static")
"""What `make lab` builds."""
HOST = "127.0.0.1"
TYPES = {".wasm": "application/wasm", ".js": "text/javascript", ".webmanifest": "application/manifest+json"}


def built(directory: Path = STATIC) -> bool:
    """Whether this installation carries the lab."""
    return (directory / "index.html").is_file()


class Server:
    """A server of the lab on a free port. Its address has a token, so that no other page finds it.

    Example:
        with Server() as server:
            print(server.url)
            server.serve()
    """

    def __init__(self, directory: Path = STATIC, port: int = 0) -> None:
        """Opens the port.

        Args:
            directory: The files.
            port: The port; 0: a free one.

        Raises:
            OSError: The port is taken.
        """
        self.token = secrets.token_urlsafe(16)
        handler = partial(_Handler, token=self.token, directory=str(directory))
        self._server = ThreadingHTTPServer((HOST, port), handler)
        self._server.daemon_threads = True

    @property
    def url(self) -> str:
        """The address of the lab."""
        return f"http://{HOST}:{self._server.server_port}/{self.token}/"

    def serve(self) -> None:
        """Serves until `stop` or an interrupt."""
        self._server.serve_forever()

    def stop(self) -> None:
        """Ends `serve`."""
        self._server.shutdown()

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *_: object) -> None:
        self._server.server_close()


class _Handler(SimpleHTTPRequestHandler):
    """Serves the files below the token, and nothing else."""

    extensions_map = {**SimpleHTTPRequestHandler.extensions_map, **TYPES}  # noqa: RUF012

    def __init__(self, *arguments: Any, token: str, directory: str) -> None:
        self._token = token
        super().__init__(*arguments, directory=directory)

    def do_GET(self) -> None:
        """Answers a request."""
        if self._is_allowed():
            super().do_GET()

    def do_HEAD(self) -> None:
        """Answers a request without the file."""
        if self._is_allowed():
            super().do_HEAD()

    def _is_allowed(self) -> bool:
        """Whether the request has the token. Refuses it otherwise, also if it came by another name of this machine."""
        named = self.headers.get("Host", "").rpartition(":")[0] in (HOST, "localhost")
        first, _, rest = unquote(urlsplit(self.path).path).lstrip("/").partition("/")
        if not named or not secrets.compare_digest(first.encode(), self._token.encode()):
            self.send_error(HTTPStatus.NOT_FOUND)
            return False
        self.path = f"/{rest}"
        return True

    def list_directory(self, path: str | Any) -> None:
        """Lists no directory."""
        self.send_error(HTTPStatus.NOT_FOUND)

    def end_headers(self) -> None:
        """Adds what keeps other pages out."""
        self.send_header("Cross-Origin-Resource-Policy", "same-origin")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Referrer-Policy", "no-referrer")
        super().end_headers()

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Writes no log."""
