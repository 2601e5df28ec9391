"""Malicious documents through every command: one line that names the key, and exit code 2."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import bloatlab
from bloatlab import cli
from bloatlab.errors import ParameterError
from bloatlab.scenario.read import MOST_BYTES, read
from conftest import DOCUMENT, REAL

pytestmark = pytest.mark.skipif(not REAL, reason="needs the engine")

DEEP = 5000
LISTS = "[" * DEEP + "]" * DEEP
TOO_DEEP = "is nested too deep; at most 64 tables and lists may be inside each other"
HEAD = '"duration": "1s", "dumbbell": {"rate": "1Mbit/s", "rtt": "10ms"}'
TOML = 'duration = "1s"\n[dumbbell]\nrate = "1Mbit/s"\nrtt = "10ms"\n'


def said_of(command: str, file: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """The message of the command about a file, without the file name."""
    assert cli.command([command, str(file)]) == 2
    said = capsys.readouterr().err
    assert said.startswith("bloatlab: ")
    assert said.count("\n") == 1
    return said.removeprefix("bloatlab: ").removeprefix(f"{file}: ").rstrip("\n")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (f'{{{HEAD}, "flows": [{{"rtt": NaN}}]}}', "flows[0].rtt: must be a finite number, not nan"),
        (f'{{{HEAD}, "flows": [{{"rtt": -Infinity}}]}}', "flows[0].rtt: must be a finite number, not -inf"),
        (f'{{{HEAD}, "flows": [{{"rtt": 1e999}}]}}', "flows[0].rtt: must be a finite number, not inf"),
        (f'{{{HEAD}, "flows": [{{"rtt": "1ms", "rtt": "2ms"}}]}}', "flows[0].rtt: is given twice"),
        (f'{{{HEAD}, "flows": [{{"cca": {{"kind": "bbr", "kind": "cubic"}}}}]}}', "flows[0].cca.kind: is given twice"),
        (f'{{{HEAD}, "flows": [{{"name": "a\\ud800"}}]}}', "flows[0].name: holds half of a surrogate pair"),
        (f'{{{HEAD}, "flows": [{{"\\ud800": 1}}]}}', "flows[0]: a key holds half of a surrogate pair"),
        (f'{{{HEAD}, "flows": [{{"count": {"9" * 5000}}}]}}', "flows[0].count: is a number beyond 64 bits"),
        (f'{{{HEAD}, "flows": [{{"count": {2**64}}}]}}', "flows[0].count: is a number beyond 64 bits"),
        (f'{{{HEAD}, "flows": [{{"name": {LISTS}}}]}}', f"flows[0].name{'[0]' * 60}"),
        (f'{{{HEAD}, "flows": [{{"a\\nb": 1}}]}}', "flows[0].a\\nb: unknown key"),
        (f'{{{HEAD}, "flows": [{{"name": "a\\u202eb"}}]}}', "flows[0].name: must not contain control characters"),
        ("[1, 2]", "must be a table of keys"),
        ('{"duration": ', "is not JSON: expecting value"),
    ],
)
def test_json(tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, why: str) -> None:
    file = tmp_path / "x.json"
    file.write_text(text)
    said = said_of("simulate", file, capsys)
    assert said.lower().startswith(why.lower())
    assert len(said) < 1000
    # A plan contains a scenario in the same way, one level deeper.
    plan = tmp_path / "plan.json"
    plan.write_text(f'{{"scenario": {text}}}')
    assert cli.command(["sweep", str(plan)]) == 2
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[[flows]]\nrtt = nan", "flows[0].rtt: must be a finite number, not nan"),
        ("[[flows]]\nrtt = -inf", "flows[0].rtt: must be a finite number, not -inf"),
        ('[[flows]]\nrtt = "1ms"\nrtt = "2ms"', "is not TOML: cannot overwrite a value"),
        (f"[[flows]]\ncount = {2**64}", "flows[0].count: is a number beyond 64 bits"),
        (f"[[flows]]\ncount = {'9' * 5000}", "is not TOML: holds a number beyond 64 bits"),
        (f"[[flows]]\nname = {LISTS}", f"name{'[0]' * 60}"),
        (f"[{'a.' * DEEP}b]\nc = 1", "a.a.a.a"),
        ('[[flows]]\nname = "a\\u0085b"', "flows[0].name: must not contain control characters"),
    ],
)
def test_toml(tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, why: str) -> None:
    file = tmp_path / "x.toml"
    file.write_text(TOML + text)
    said = said_of("simulate", file, capsys)
    assert said.lower().startswith(why.lower())
    assert len(said) < 1000


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[axes]\n'dumbbell.loss' = [0.1, nan]", "axes.dumbbell.loss[1]: must be a finite number"),
        (f"points = {LISTS}", f"points{'[0]' * 60}"),
        (f"seed = {2**70}", "seed: is a number beyond 64 bits"),
    ],
)
def test_plans(tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, why: str) -> None:
    file = tmp_path / "plan.toml"
    file.write_text(text)
    assert said_of("sweep", file, capsys).startswith(why)


@pytest.mark.parametrize("name", ["x.json", "x.toml"])
@pytest.mark.parametrize("command", ["simulate", "sweep"])
@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"\xef\xbb\xbf{}", "begins with a byte order mark; save it as UTF-8 without one"),
        (b"\xff\xfe{\x00", "begins with a byte order mark; save it as UTF-8 without one"),
        (b'{\n"a": "\xe9"}', "is not UTF-8 text (line 2)"),
    ],
)
def test_bytes_that_are_no_text(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, command: str, data: bytes, why: str
) -> None:
    file = tmp_path / name
    file.write_bytes(data)
    assert said_of(command, file, capsys) == why


@pytest.mark.parametrize("command", ["simulate", "sweep"])
def test_files_that_do_not_end(tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str) -> None:
    # A sparse file, which takes no space on the disk.
    large = tmp_path / "large.json"
    with large.open("wb") as file:
        file.truncate(MOST_BYTES + 1)
    assert said_of(command, large, capsys) == "is larger than the limit of 16 MB"
    fifo = tmp_path / "fifo.toml"
    os.mkfifo(fifo)
    assert said_of(command, tmp_path, capsys) == "is a directory"
    for path in (fifo, Path("/dev/zero")):
        assert said_of(command, path, capsys).startswith("is not a regular file")


def test_no_message_shows_a_trace(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    secret = tmp_path / "secret"
    secret.write_text("root:hunter2:0:0\n")
    for kind in ("file", "mahimahi"):
        vary = {"rate": {"kind": kind, "file": str(secret)}}
        file = tmp_path / "x.json"
        file.write_text(json.dumps({**DOCUMENT, "dumbbell": {"rate": "1Mbit/s", "rtt": "1ms", "vary": vary}}))
        said = said_of("simulate", file, capsys)
        assert said.startswith(f"dumbbell.vary.rate.file: `{secret}` line 1: ")
        assert "hunter2" not in said


def _itself() -> list[Any]:
    endless: list[Any] = []
    endless.append(endless)
    return endless


def _deep() -> Any:
    inner: Any = 1
    for _ in range(DEEP):
        inner = {"a": inner}
    return inner


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (lambda: math.nan, "flows[0].x: must be a finite number, not nan"),
        (lambda: 10**400, "flows[0].x: is a number beyond 64 bits"),
        (lambda: "\ud800", "flows[0].x: holds half of a surrogate pair"),
        (_deep, "flows[0].x.a.a"),
        (_itself, "flows[0].x[0][0]"),
    ],
)
def test_dictionaries(make: Callable[[], Any], why: str) -> None:
    with pytest.raises(ParameterError) as error:
        bloatlab.run({**DOCUMENT, "flows": [{"x": make()}]})
    assert str(error.value).startswith(why)
    with pytest.raises(ParameterError) as error:
        bloatlab.run(DOCUMENT, **{"flows.0.x": make()})
    # The given key.
    assert str(error.value).startswith(why.replace("flows[0]", "flows.0"))


def test_memory_is_bounded_and_the_bound_can_be_raised(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BLOATLAB_MEMORY", "")
    file = tmp_path / "x.json"
    file.write_text(json.dumps({**DOCUMENT, "flows": [{"traffic": {"kind": "ping", "interval": "10us"}}]}))
    long = tmp_path / "long.json"
    long.write_text(json.dumps({**json.loads(file.read_text()), "duration": "2h"}))
    assert said_of("simulate", long, capsys).startswith("flows[0].traffic.interval: the run needs about 36.")
    assert cli.command(["simulate", str(file), "--json", "--memory", "1MB"]) == 2
    assert "at most 1.0 MB are allowed" in capsys.readouterr().err
    assert cli.command(["simulate", str(file), "--json", "--memory", "1GB"]) == 0
    capsys.readouterr()
    assert cli.command(["simulate", str(file), "--memory", "lots"]) == 2
    assert "BLOATLAB_MEMORY: no number: `lots`" in capsys.readouterr().err


def test_the_limit_is_no_part_of_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    usual = bloatlab.run(DOCUMENT)
    monkeypatch.setenv("BLOATLAB_MEMORY", "1000GB")
    monkeypatch.setenv("BLOATLAB_PACKETS", "1e12")
    raised = bloatlab.run(DOCUMENT)
    assert (raised.run_id, raised.digest) == (usual.run_id, usual.digest)


def test_what_is_sound_is_read_as_it_was(tmp_path: Path) -> None:
    file = tmp_path / "x.json"
    file.write_text(json.dumps({**DOCUMENT, "whole": -(2**63), "most": 2**64 - 1, "text": "\U0001f600"}))
    assert read(file) == {**DOCUMENT, "whole": -(2**63), "most": 2**64 - 1, "text": "\U0001f600"}
