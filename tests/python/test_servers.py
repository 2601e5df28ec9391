"""The server side of a shell, and the server and the client of the traffic `http`, on the loopback interface."""

from __future__ import annotations

import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from bloatlab.engines.linux import http as traffic
from bloatlab.engines.linux import servers

CURL = shutil.which("curl")
needs_curl = pytest.mark.skipif(CURL is None, reason="curl is not installed")


@contextmanager
def serving(handler: type[servers.Handler]) -> Iterator[int]:
    """The server on a free port."""
    with servers.Server(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    with serving(servers.Handler) as port:
        yield port


def ask(port: int, method: str, path: str, **more: object) -> tuple[http.client.HTTPResponse, bytes]:
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=10)) as connection:
        connection.request(method, path, **more)  # type: ignore[arg-type]
        answer = connection.getresponse()
        return answer, answer.read()


def test_the_page_says_what_can_be_asked_for(port: int) -> None:
    answer, body = ask(port, "GET", "/")
    assert (answer.status, answer.version) == (200, 11)
    assert 'href="/10MB"' in body.decode()
    assert len(ask(port, "GET", "/10MB")[1]) == 10_000_000


@pytest.mark.parametrize(
    ("path", "length"),
    [("/0", 0), ("/1", 1), ("/1500", 1500), ("/100kB", 100_000), ("/100kB/?again=1", 100_000), ("/1MiB", 1 << 20)],
)
def test_a_size_gives_as_many_bytes(port: int, path: str, length: int) -> None:
    answer, body = ask(port, "GET", path)
    assert (answer.status, len(body), answer.getheader("Content-Length")) == (200, length, str(length))
    answer, body = ask(port, "HEAD", path)
    assert (answer.status, body, answer.getheader("Content-Length")) == (200, b"", str(length))


@pytest.mark.parametrize("path", ["/nothing", "/-1", "/101GB", "/1" + "0" * 400, "/%00", "/../etc/passwd"])
def test_other_paths_are_refused_in_one_line(port: int, path: str) -> None:
    answer, body = ask(port, "GET", path)
    assert answer.status == 404
    assert body.startswith(b"404 Not Found: ")
    assert body.count(b"\n") == 1
    assert ask(port, "HEAD", path)[1] == b""


@pytest.mark.parametrize("method", ["POST", "PUT"])
def test_uploads_are_counted_and_discarded(port: int, method: str) -> None:
    body = os.urandom(3_000_000)
    answer = json.loads(ask(port, method, "/upload", body=body)[1])
    assert answer["bytes"] == len(body)
    assert answer["seconds"] > 0
    # Without a known length, the body comes in chunks.
    assert json.loads(ask(port, method, "/", body=iter([body[:10], body[10:]]))[1])["bytes"] == len(body)
    assert json.loads(ask(port, method, "/")[1])["bytes"] == 0


def test_a_connection_serves_many_requests(port: int) -> None:
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=10)) as connection:
        sockets = set()
        for method, path, body in (
            ("GET", "/1kB", None),
            ("POST", "/", b"x" * 9),
            ("GET", "/no", None),
            ("GET", "/", None),
        ):
            connection.request(method, path, body)
            connection.getresponse().read()
            sockets.add(connection.sock)
        assert len(sockets) == 1
        assert None not in sockets


@pytest.mark.parametrize(
    "request_",
    [
        b"POST / HTTP/1.1\r\nContent-Length: many\r\n\r\n",
        b"POST / HTTP/1.1\r\nContent-Length: -5\r\n\r\n",
        b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"DELETE / HTTP/1.1\r\n\r\n",
        b"nonsense\r\n\r\n",
    ],
)
def test_wrong_requests_get_one_line(port: int, request_: bytes) -> None:
    with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
        connection.sendall(request_)
        answer = b"".join(iter(lambda: connection.recv(4096), b""))
    _, _, body = answer.partition(b"\r\n\r\n")
    lines = (body or answer).decode().splitlines()
    assert len(lines) == 1
    assert lines[0][:2] in ("40", "50")


@needs_curl
def test_curl_uploads_without_waiting(port: int, tmp_path: Path) -> None:
    (tmp_path / "big").write_bytes(bytes(2_000_000))
    start = time.monotonic()
    words = [str(CURL), "-q", "-s", "-S", "-T", str(tmp_path / "big"), f"http://127.0.0.1:{port}/"]
    # curl waits a second for `100 Continue`.
    words[2:2] = ["-H", "Expect: 100-continue", "--expect100-timeout", "20"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60)
    assert json.loads(done.stdout)["bytes"] == 2_000_000, done.stderr
    assert time.monotonic() - start < 19


@pytest.mark.parametrize("how", ["curl", "python"])
def test_fetches_are_timed(how: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    if how == "python":
        monkeypatch.setattr(shutil, "which", lambda name: None)
    elif CURL is None:
        pytest.skip("curl is not installed")
    with serving(traffic.page_of(50_000)) as port:
        assert len(ask(port, "GET", "/whatever")[1]) == 50_000
        traffic.fetch_again(traffic.fetcher("127.0.0.1", port), 0.0, fetches=3)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3
    assert all(0 < float(line) < 10 for line in lines)


@pytest.mark.parametrize("how", ["curl", "python"])
def test_a_page_that_is_refused_or_cut_short_is_a_failure(how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if how == "python":
        monkeypatch.setattr(shutil, "which", lambda name: None)
    elif CURL is None:
        pytest.skip("curl is not installed")

    class Short(servers.Handler):
        def do_GET(self) -> None:
            self.close_connection = True
            self._head(servers.HTTPStatus.OK, 100, "text/plain")
            self.wfile.write(b"short")

    class Refuses(servers.Handler):
        def length(self, path: str) -> int:
            raise servers.RequestError(servers.HTTPStatus.NOT_FOUND, "no")

    for handler in (Short, Refuses):
        with serving(handler) as port:
            assert traffic.fetcher("127.0.0.1", port)() is None


def test_a_server_that_starts_late_is_no_failure(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = iter([None, None, 0.5, None, 0.25])
    monkeypatch.setattr(traffic, "START_S", 1000.0)
    monkeypatch.setattr(traffic, "RETRY_S", 0.0)
    traffic.fetch_again(lambda: next(answers), 0.0, fetches=3)
    assert capsys.readouterr().out.splitlines() == ["0.500000", "failed", "0.250000"]
    # After the first second it is one.
    monkeypatch.setattr(traffic, "START_S", -1.0)
    traffic.fetch_again(lambda: None, 0.0, fetches=1)
    assert capsys.readouterr().out == "failed\n"


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@contextmanager
def program(code: str, environment: dict[str, str] | None = None) -> Iterator[subprocess.Popen[str]]:
    pipe = subprocess.PIPE
    words = [sys.executable, "-c", code]
    with subprocess.Popen(words, stdout=pipe, stderr=pipe, text=True, env=environment) as process:
        try:
            yield process
        finally:
            process.kill()


def until_it_answers(port: int) -> None:
    end = time.monotonic() + 30
    while True:
        try:
            ask(port, "GET", "/1")
            return
        except OSError:
            assert time.monotonic() < end
            time.sleep(0.02)


def test_programs_end_on_sigterm_without_a_word(tmp_path: Path) -> None:
    # A stand-in for iperf3 that tells its process id.
    fake = tmp_path / "bin" / "iperf3"
    fake.parent.mkdir()
    fake.write_text(f'#!/bin/sh\necho $$ "$@" > {tmp_path}/iperf3\nexec sleep 600\n')
    fake.chmod(0o755)
    environment = {**os.environ, "PATH": f"{fake.parent}:{os.environ['PATH']}"}
    port = free_port()
    module = "bloatlab.engines.linux"
    with program(f"import sys; from {module} import servers; sys.exit(servers.main({port}))", environment) as server:
        until_it_answers(port)
        fetch = f"import sys; from {module} import http; sys.exit(http.main(['fetch', '127.0.0.1', '0.01'], {port}))"
        with program(fetch) as client:
            assert client.stdout is not None
            assert float(client.stdout.readline()) > 0
            client.send_signal(signal.SIGTERM)
            _, said = client.communicate(timeout=20)
            assert (client.returncode, said) == (0, "")
        end = time.monotonic() + 20
        while not (tmp_path / "iperf3").exists() or not (tmp_path / "iperf3").read_text():
            assert time.monotonic() < end
            time.sleep(0.02)
        pid, *arguments = (tmp_path / "iperf3").read_text().split()
        assert arguments == ["--server"]
        # Ctrl-C in the terminal is for the user's program.
        server.send_signal(signal.SIGINT)
        until_it_answers(port)
        server.send_signal(signal.SIGTERM)
        assert server.communicate(timeout=20) == ("", "")
        assert server.returncode == 0
        with pytest.raises(ProcessLookupError):
            os.kill(int(pid), 0)


def test_what_cannot_start_says_so(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(traffic, "end_on_sigterm", lambda: None)
    monkeypatch.setattr(servers, "end_on_sigterm", lambda: None)
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with socket.create_server(("", 0)) as taken:
        port = taken.getsockname()[1]
        assert servers.main(port) == 1
        assert traffic.main(["serve", "", "1000"], port) == 1
    for arguments in ([], ["serve"], ["serve", "", "much"], ["fetch", "127.0.0.1"], ["fetch", "127.0.0.1", "long"]):
        assert traffic.main(arguments) == 2
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 7
    assert lines[0] == f"bloatlab: the HTTP server on port {port} cannot start (Address already in use)"


def test_the_servers_start_quickly() -> None:
    code = "import sys, bloatlab.engines.linux.servers\nprint(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.split()
    assert not {"polars", "pydantic", "cyclopts", "rich", "asyncio"} & set(loaded)
