"""Faults and kills at calls of a small sweep: a part of what `make soak-store` does."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import faults

SOAK = Path(__file__).parents[1] / "soak" / "store.py"


@pytest.mark.skipif(not faults.has_compiler(), reason="there is no C compiler (cc)")
@pytest.mark.skipif(sys.platform != "linux", reason="faults are injected by LD_PRELOAD")
def test_faults_and_kills_lose_nothing_and_touch_nothing(tmp_path: Path) -> None:
    few = ["--every", "149", "--kills", "20", "--flips", "100", "--flips-killed", "100", "--seed", "3"]
    soak = subprocess.run([sys.executable, SOAK, *few, "--work", tmp_path], capture_output=True, text=True, check=False)
    assert soak.returncode == 0, soak.stdout + soak.stderr
    assert soak.stdout.endswith("nothing went wrong\n")
