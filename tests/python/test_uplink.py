"""A shell's way to the world, if slirp4netns does not do its part: the shell gets a reason."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from bloatlab.engines.linux import uplink
from bloatlab.errors import EngineError


def failure(directory: Path, script: str, monkeypatch: pytest.MonkeyPatch) -> str | None:
    """Why the world cannot be connected by this program."""
    programs, printed = directory / "programs", directory / "printed"
    programs.mkdir()
    printed.mkdir()
    program = programs / uplink.PROGRAM
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o700)
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
    namespaces = [os.open(f"/proc/self/ns/{kind}", os.O_RDONLY) for kind in ("net", "user")]
    try:
        with uplink.Uplink(printed) as connected, socket.socket(fileno=os.dup(connected.descriptor)) as worker:
            socket.send_fds(worker, [b"0"], namespaces)
            assert worker.recv(1) == b""
    finally:
        for descriptor in namespaces:
            os.close(descriptor)
    return connected.failure


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("echo starting; echo no tap here >&2; exit 1", "--internet: slirp4netns: no tap here"),
        ("exit 0", "--internet: slirp4netns: it ended without a reason"),
        ("exec sleep 600", "--internet: slirp4netns: was not ready after 0.2 s"),
    ],
)
def test_a_program_that_does_not_connect(
    script: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(uplink, "READY_S", 0.2 if "sleep" in script else 60.0)
    assert failure(tmp_path, script, monkeypatch) == said


def test_without_the_program_there_is_a_hint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(EngineError, match="apt install slirp4netns"):
        uplink.Uplink(tmp_path)
