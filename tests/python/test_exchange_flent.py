"""The real Flent opens our exports, and its own reading of their numbers is ours."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

import bloatlab as bl
from bloatlab.exchange.formats import FORMATS
from bloatlab.exchange.stored import measurement
from bloatlab.store import Store

pytestmark = pytest.mark.skipif(shutil.which("flent") is None, reason="flent is not installed (apt install flent)")

LINK = """
name = "link"
duration = "14s"
dumbbell = { rate = "10Mbit/s", reverse_rate = "5Mbit/s", rtt = "30ms", queue = "fq_codel", reverse_queue = "fq_codel" }
"""
PING = '[[flows]]\nname = "{name}"\ndscp = "{dscp}"\ntraffic = {{ kind = "ping", interval = "200ms" }}\n'
FLOW = '[[flows]]\nname = "{name}"\ncount = {count}\ndscp = "{dscp}"\ndirection = "{way}"\nstart = "5s"\nstop = "9s"\n'
WAYS = {"down": "forward", "up": "reverse"}
MARKS = {"be": "CS0", "bk": "CS1", "cs5": "CS5", "ef": "EF"}


def flows(names: dict[str, int], *, marked: bool = False) -> str:
    found = ""
    for way, count in names.items():
        if marked:
            for label, dscp in MARKS.items():
                found += FLOW.format(name=f"{way}_{label}", count=1, dscp=dscp, way=WAYS[way])
        elif count:
            found += FLOW.format(name=way, count=count, dscp="CS0", way=WAYS[way])
    return found


MARKED_PINGS = "".join(
    PING.format(name=name, dscp=dscp)
    for name, dscp in {"ping": "CS0", "ping_be": "CS0", "ping_bk": "CS1", "ping_ef": "EF"}.items()
)
ONE_PING = PING.format(name="ping", dscp="CS0")
CASES = {
    "rrul": (
        flows({"down": 1, "up": 1}, marked=True) + MARKED_PINGS,
        ("all_scaled", "totals", "box_combine", "ping_cdf"),
    ),
    "rrul_be": (flows({"down": 4, "up": 4}) + ONE_PING, ("all_scaled", "totals", "box_combine", "ping_cdf")),
    "rrul_be_nflows": (flows({"down": 2, "up": 1}) + ONE_PING, ("all_scaled", "totals")),
    "tcp_nup": (flows({"up": 2}) + ONE_PING, ("totals", "box_combine", "ping_cdf", "tcp_rtt", "tcp_cwnd")),
    "tcp_ndown": (flows({"down": 3}) + ONE_PING, ("totals", "box_combine", "ping_cdf")),
    "ping": (ONE_PING, ("ping", "ping_cdf")),
}


def flent(*arguments: str) -> str:
    # Flent writes a cache and its settings into the home directory.
    home = {"HOME": str(Path.cwd()), "PATH": "/usr/local/bin:/usr/bin:/bin", "MPLBACKEND": "agg"}
    done = subprocess.run(["flent", *arguments], capture_output=True, text=True, timeout=120, env=home)
    assert done.returncode == 0, done.stderr
    assert "ERROR" not in done.stderr
    assert "Traceback" not in done.stderr
    return done.stdout


def csv_lines(path: Path) -> list[str]:
    return [line for line in flent("-i", str(path), "-f", "csv").splitlines() if "," in line]


@pytest.mark.parametrize("test", CASES)
def test_flent_opens_the_export_and_draws_its_plots(test: str) -> None:
    text, plots = CASES[test]
    Path("s.toml").write_text(LINK + text)
    result = bl.simulate("s.toml", out="r")
    path = Path("x.flent.gz")
    found = measurement(Store("r"), result.run_id, exact=False)
    path.write_bytes(FORMATS["flent"].write(found))
    assert f"Name: {test}" in flent("-i", str(path), "-f", "metadata") or test in flent(
        "-i", str(path), "-f", "summary"
    )
    for plot in plots:
        flent("-i", str(path), "-p", plot, "-o", f"{plot}.png")
        assert Path(f"{plot}.png").stat().st_size > 5000, plot


def test_flent_reads_the_numbers_that_we_wrote() -> None:
    Path("s.toml").write_text(LINK + flows({"down": 1, "up": 1}, marked=True) + MARKED_PINGS)
    result = bl.simulate("s.toml", out="r")
    path = Path("x.flent.gz")
    path.write_bytes(FORMATS["flent"].write(measurement(Store("r"), result.run_id, exact=False)))
    # A heading, and a line for every 0.1 s.
    assert len(csv_lines(path)) == 1 + 141
    rates = [of["mean_throughput_l7"] for name, of in result.flow_metrics.items() if name.startswith("down")]
    summary = flent("-i", str(path), "-f", "summary")
    (line,) = [line for line in summary.splitlines() if "TCP download sum" in line]
    mean = float(line.split(":")[1].split()[0])
    assert mean == pytest.approx(sum(rates), rel=0.05), json.dumps(rates)
