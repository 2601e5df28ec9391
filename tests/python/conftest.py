"""Fixtures: the fake engine for tests of everything round the engine, the real one where it is built."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from pathlib import Path

import pytest

import fake_core
from bloatlab import engines

REAL = importlib.util.find_spec("bloatlab._core") is not None
DOCUMENT = {
    "name": "small",
    "duration": "1s",
    "dumbbell": {"rate": "1Mbit/s", "rtt": "10ms"},
    "flows": [{"cca": "cubic"}],
}


@pytest.fixture
def fake() -> Iterator[None]:
    engines.use(fake_core)  # type: ignore[arg-type]
    yield
    engines.use(None)


@pytest.fixture
def document() -> dict[str, object]:
    return {**DOCUMENT}


@pytest.fixture(autouse=True)
def _in_tmp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Default results directories land in the test's own directory."""
    monkeypatch.chdir(tmp_path)
