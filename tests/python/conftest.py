"""Fixtures: the fake engine for tests of everything round the engine."""

from __future__ import annotations

import importlib.util
import signal
from pathlib import Path

import pytest

import fake_core
from bloatlab.engines import registry
from bloatlab.lab import single

# A shell starts programs in the background with Ctrl-C ignored, and tests of Ctrl-C need it.
signal.signal(signal.SIGINT, signal.default_int_handler)

REAL = importlib.util.find_spec("bloatlab._core") is not None
DOCUMENT = {
    "name": "small",
    "duration": "1s",
    "dumbbell": {"rate": "1Mbit/s", "rtt": "10ms"},
    "flows": [{"cca": "cubic"}],
}


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "ENGINES", fake_core.IN_PLACE_OF_SIM)


@pytest.fixture
def document() -> dict[str, object]:
    return {**DOCUMENT}


@pytest.fixture(autouse=True)
def _in_tmp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Default results directories land in the test's own directory."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture(autouse=True)
def lab_file(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where an installation has the lab as one file. It is missing, whether or not this clone has built it."""
    file = tmp_path_factory.mktemp("installed") / single.NAME
    monkeypatch.setattr(single, "FILE", file)
    return file
