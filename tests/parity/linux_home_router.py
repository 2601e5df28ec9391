"""home-router in a Linux kernel that `bloatlab kernel build` made, with the hosts' own shapers: linux_home_router.c.

Needs a C compiler, `ip`, `tc` and a kernel.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from statistics import fmean, median

from bloatlab.engines.linux_virtual import guest, image, kernels

SOURCE = Path(__file__).with_suffix(".c")
RUNS = "runs"
SECONDS = 60


def request(case: Mapping[str, str], send_buffer: int) -> dict[str, str]:
    """What the guest is told about a set-up."""
    return {
        "rate": case["rate"],
        "delay": case["delay"],
        "seconds": str(SECONDS),
        "interval": case["schedule"].removeprefix("every_").split("_")[0],
        "maxq": case["maxq"],
        # 0: the kernel's own limit.
        "segments": "0" if case["buffer"] == "default" else case["buffer"],
        "reverse": "1" if case["pages"] == "reverse" else "0",
        "after": "0" if case["schedule"].startswith("every") else "1",
        "window": case["initial_window"],
        "cached": case["cached_ssthresh"],
        "bulk": case["bulk"],
        "clean": "1" if case["topology"] == "clean" else "0",
        "tso_rtt_log": case.get("tso_rtt_log", "9"),
        "send_buffer": str(send_buffer),
        "cca": case["cca"],
    }


def run(case: Mapping[str, str], seed: int, warmup_s: float, send_buffer: int) -> dict[str, float]:
    """The values of a run: pings and sRTT from `warmup_s` on, in ms, and all pages. Send buffers grow to `send_buffer` bytes."""
    kernel = kernels.chosen("")
    if kernel is None:
        raise SystemExit("no kernel was built; `bloatlab kernel build` builds one")
    with guest.finished(kernel, request(case, send_buffer), seed, RUNS, lambda _: None, _initramfs()) as folder:
        lines = [line.split() for line in (folder / RUNS).read_text(encoding="ascii").splitlines()]
    if lines.pop() != ["end"]:
        raise RuntimeError(f"the guest did not finish {case}")
    of = {
        kind: [[float(word) for word in words] for name, *words in lines if name == kind]
        for kind in ("ping", "page", "srtt")
    }
    late = {kind: [1e3 * value for time, value, *_ in of[kind] if time >= warmup_s] for kind in ("ping", "srtt")}
    pages = of["page"]
    values = {"ping": median(late["ping"])}
    if pages:
        values |= {"page": median(1e3 * time for _, time, _ in pages), "lost_syns": fmean(lost for *_, lost in pages)}
    if late["srtt"]:
        values["srtt"] = fmean(late["srtt"])
    return values


@cache
def _initramfs() -> Path:
    """The file system with the program, compiled."""
    tools = {f"bin/{name}": Path(str(shutil.which(name))).resolve() for name in ("ip", "tc")}
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "init"
        subprocess.run(["gcc", "-O2", "-Wall", "-Wextra", "-Werror", "-o", program, SOURCE], check=True)
        return image.image_of({"init": program, **tools})[0]
