"""`bloatlab lab`: links to scenarios, and the server on this machine."""

from __future__ import annotations

import base64
import http.client
import json
import random
import re
import threading
import zlib
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

import bloatlab as bl
from bloatlab import cli, lab
from bloatlab.cli import lab_app
from bloatlab.lab import link, server, single
from bloatlab.store import Store
from conftest import REAL
from synthetic import write_store


def opened(fragment: str) -> dict[str, object]:
    """What the lab reads from a link."""
    version, _, body = fragment.partition(".")
    assert version == link.VERSION
    packed = base64.urlsafe_b64decode(body + "=" * (-len(body) % 4))
    shared: dict[str, object] = json.loads(zlib.decompress(packed, link.RAW))
    return shared


def test_a_link_holds_the_whole_scenario(document: dict[str, object]) -> None:
    assert opened(lab.fragment(document, 7)) == {"document": document, "seed": 7, "now": 0, "lanes": []}
    with pytest.raises(bl.ParameterError, match="too long for a link"):
        lab.fragment({"name": random.Random(1).randbytes(50_000).hex()}, 1)


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        (
            "flows",
            [{"traffic": "iperf3"}],
            "lab: flows.0.traffic: `iperf3` is a program, and a browser tab starts none",
        ),
        (
            "flows",
            [{"cca": {"kind": "python", "class": "a:B"}}],
            "lab: flows.0.cca: is a plugin in Python, which a browser",
        ),
        (
            "dumbbell",
            {"vary": {"rate": {"kind": "file", "file": "a.csv"}}},
            "lab: dumbbell.vary.rate.file: names a file",
        ),
        ("name", "a" * 1_100_000, "lab: the scenario is too long for a link (1,100,"),
    ],
)
def test_what_the_lab_cannot_run_has_no_link(
    document: dict[str, object], key: str, value: object, message: str
) -> None:
    with pytest.raises(bl.ParameterError, match=f"^{re.escape(message)}"):
        lab.fragment({**document, key: value}, 1)


def test_a_seed_that_a_browser_cannot_hold_has_no_link(document: dict[str, object]) -> None:
    assert opened(lab.fragment(document, 2**53 - 1))["seed"] == 2**53 - 1
    with pytest.raises(bl.ParameterError, match=r"^lab: the seed 9007199254740992 is above"):
        lab.fragment(document, 2**53)


@pytest.fixture
def served(tmp_path: Path) -> Iterator[lab.Server]:
    static = tmp_path / "static"
    (static / "assets").mkdir(parents=True)
    (static / "index.html").write_text("<p>lab</p>")
    (static / "assets" / "engine.wasm").write_bytes(b"\0asm")
    (tmp_path / "secret").write_text("secret")
    with lab.Server(static) as running:
        thread = threading.Thread(target=running.serve)
        thread.start()
        yield running
        running.stop()
        thread.join()


def ask(running: lab.Server, path: str, host: str | None = None) -> tuple[int, str, bytes]:
    address = urlsplit(running.url)
    connection = http.client.HTTPConnection(str(address.hostname), address.port)
    connection.request("GET", path, headers={} if host is None else {"Host": host})
    answer = connection.getresponse()
    return answer.status, answer.getheader("Content-Type") or "", answer.read()


def test_the_server_gives_its_files_to_who_has_the_token(served: lab.Server) -> None:
    token = f"/{served.token}"
    assert ask(served, f"{token}/") == (200, "text/html", b"<p>lab</p>")
    assert ask(served, f"{token}/assets/engine.wasm") == (200, "application/wasm", b"\0asm")
    for path in ("/", "/index.html", f"{token}x/", f"{token}/assets/", f"{token}/../secret", f"{token}/%2e%2e/secret"):
        assert ask(served, path)[0] == 404, path
    assert ask(served, f"{token}/", host="example.org:80")[0] == 404


@pytest.mark.skipif(not REAL, reason="bloatlab._core is not built")
def test_the_command_opens_scenarios_and_runs(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, document: dict[str, object]
) -> None:
    browser: list[str] = []
    monkeypatch.setattr(lab, "built", lambda: True)
    monkeypatch.setattr(server.Server, "serve", lambda self: None)
    monkeypatch.setattr(lab_app.webbrowser, "open", browser.append)
    Path("mine.json").write_text(json.dumps(document))
    assert cli.command(["lab", "mine.json", "--seed", "3"]) == 0
    (url,) = browser
    assert capsys.readouterr().out.strip() == url
    shared = opened(url.partition("#")[2])
    assert (shared["seed"], shared["document"]["flows"][0]["cca"]["kind"]) == (3, "cubic")  # type: ignore[index]
    run = bl.run(document, seed=5, out="r")
    assert cli.command(["lab", "r", "--run", run.run_id[:8], "--no-browser"]) == 0
    shared = opened(capsys.readouterr().out.strip().partition("#")[2])
    assert (shared["seed"], shared["document"]) == (5, Store("r").run(run.run_id).scenario)
    assert cli.command(["lab", "mine.json", "--run", "1"]) == 2
    assert cli.command(["lab", "missing.toml"]) == 2
    assert len(browser) == 1


def test_an_installation_without_the_lab_says_what_to_do(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lab, "built", lambda: False)
    assert cli.command(["lab"]) == 2
    assert "`make lab` builds it" in capsys.readouterr().err


@pytest.mark.parametrize("failures", [[], [("a", "it broke")]])
def test_results_without_a_finished_run_give_one_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, failures: list[tuple[str, str]]
) -> None:
    monkeypatch.setattr(lab, "built", lambda: True)
    write_store(Path("r"), [], failures=failures)
    assert cli.command(["lab", "r"]) == 2
    assert capsys.readouterr().err == "bloatlab: r: holds no finished run to open; `bloatlab runs r` lists its runs\n"


def test_the_mark_of_the_file_is_that_of_the_page_it_is_made_from() -> None:
    page = Path(__file__).parents[2] / "web" / "index.html"
    assert single.MARK in page.read_bytes()[:500]
