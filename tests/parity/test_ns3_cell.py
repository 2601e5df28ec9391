"""The cell of nr-rlc beside two parts of ns-3 3.39 that 5G-LENA uses: the channel, and the RLC in acknowledged mode.

`ns3_rma_channel.cc` made `ns3_rma_channel.csv`, and `ns3_rlc_am.cc` made `ns3_rlc_am.csv`, with the package `ns3` 3.39.post2
of PyPI:

    g++ -std=c++17 -O2 -I$NS3/include ns3_rma_channel.cc -L$NS3/lib64 -Wl,-rpath,$NS3/lib64 \\
        -Wl,--unresolved-symbols=ignore-in-shared-libs -lns3-dev-core -lns3-dev-network -lns3-dev-mobility \\
        -lns3-dev-propagation -lns3-dev-spectrum -lns3-dev-antenna -o channel
    g++ -std=c++17 -O2 -I$NS3/include ns3_rlc_am.cc -L$NS3/lib64 -Wl,-rpath,$NS3/lib64 \\
        -Wl,--unresolved-symbols=ignore-in-shared-libs -lns3-dev-core -lns3-dev-network -lns3-dev-lte -o rlc
    for distance in 3000 6000 10000; do ./channel --distance=$distance --runs=100; done
    for mode in Um Am; do for stop in 4 10; do ./rlc --mode=$mode --stop=$stop; done; done
"""

from __future__ import annotations

import math
from pathlib import Path
from statistics import median
from typing import Any

import pytest

import bloatlab as bl
from bloatlab.experiments.nr_rlc.cases import EARLIER, FAR, FAR_POWER, MORE_POWER
from bloatlab.experiments.nr_rlc.claims import WEAKER
from frame import read

HERE = Path(__file__).parent
CHANNEL = read(HERE / "ns3_rma_channel.csv")
RLC = read(HERE / "ns3_rlc_am.csv")
DOCS = HERE.parents[1] / "docs"
PAGE = (DOCS / "sources" / "nr-rlc.md").read_text(encoding="utf-8")
RERUN = {3000: 21.8, 6000: 9.8, 10_000: 0.8}
"""The SNR in the re-run of the authors' code with 30 dBm, by distance in m."""
NEXT_SCHEME = 9.22
"""The SNR in dB from which Shannon's CQI is 6."""
ANTENNAS = 10 * math.log10(4 * 8 * 2 * 4)
"""The gain of both antennas along the direct ray."""


def draws(distance: int) -> list[dict[str, float]]:
    """The rows of a distance, by RngRun."""
    return [
        {name: float(value) for name, value in row.items()} for row in CHANNEL if int(row["distance_m"]) == distance
    ]


def budget(distance: int) -> float:
    """The SNR in dB with ns-3's path loss and noise, and without its draw."""
    row = draws(distance)[0]
    return row["snr_db"] - row["gain_db"] + ANTENNAS


def metrics(**given: Any) -> dict[str, Any]:
    """Metrics of the flows of a run."""
    return bl.run("nr-rlc", queue="tail", **given).flow_metrics


def rate(**given: Any) -> float:
    """Throughput of the elephant, Mbit/s."""
    return float(metrics(**given)["elephant"]["throughput"])


def packets(flows: dict[str, Any]) -> int:
    """Packets that the UE received."""
    return sum(int(flow["rx_packets"]) for flow in flows.values())


def section(heading: str) -> str:
    """The text of the page below a heading, up to the next one."""
    return PAGE.partition(f"### {heading}")[2].partition("\n#")[0]


def test_the_channel_of_ns3_has_the_snr_of_the_re_run_with_one_draw_of_a_hundred() -> None:
    by_run = zip(*(draws(distance) for distance in RERUN), strict=True)
    snrs = [tuple(round(row["snr_db"], 1) for row in rows) for rows in by_run]
    assert len(snrs) == 100
    assert [run for run, snr in enumerate(snrs, 1) if snr == tuple(RERUN.values())] == [1]


def test_path_loss_and_antennas_are_ours() -> None:
    # 0.1 dB more power crosses the threshold of the next scheme, so our SNR is within 0.1 dB of the budget.
    place: dict[str, Any] = {"lambda": 20_000, "position": f"0,{FAR}", "stop": "2s"}
    assert budget(FAR) < NEXT_SCHEME < budget(FAR) + 0.1
    assert rate(power=FAR_POWER + 0.1, **place) > 1.3 * rate(power=FAR_POWER, **place)


def test_the_draw_is_the_power_that_is_missing() -> None:
    assert draws(FAR)[0]["snr_db"] - budget(FAR) == pytest.approx(MORE_POWER - FAR_POWER, abs=0.05)


def test_the_page_has_the_draws() -> None:
    text = section("The draw of the channel")
    for distance, rerun in RERUN.items():
        rows = draws(distance)
        snrs = [row["snr_db"] for row in rows]
        low, middle, high = (f"{value:.1f}" for value in (min(snrs), median(snrs), max(snrs)))
        cells = (
            f"{distance / 1000:g} km",
            f"{rows[0]['path_loss_db']:.1f} dB",
            f"{budget(distance):.1f} dB",
            f"{snrs[0]:.1f} dB",
            f"{rerun} dB",
            f"{low}, {middle}, {high} dB",
        )
        assert f"| {' | '.join(cells)} |" in text
    reaching = sum(row["snr_db"] >= NEXT_SCHEME for row in draws(FAR))
    assert f"{reaching} of the 100 reach the {NEXT_SCHEME} dB" in text
    assert f"With the other {100 - reaching}," in text
    above = [budget(distance) - median(row["snr_db"] for row in draws(distance)) for distance in RERUN]
    assert f"{min(above):.1f} to {max(above):.1f} dB above the median" in text
    added = [row["snr_db"] - budget(FAR) for row in draws(FAR)]
    deviations = (DOCS / "deviations.md").read_text(encoding="utf-8")
    assert f"{-min(added):.1f} dB less to {max(added):.1f} dB more than the link budget" in deviations


def test_the_note_of_the_claim_has_the_draws() -> None:
    snrs = [row["snr_db"] for row in draws(FAR)]
    assert f"these 100 draws give {min(snrs):.1f} to {max(snrs):.1f} dB" in WEAKER
    assert f"{sum(snr >= NEXT_SCHEME for snr in snrs)} of them reach the next scheme" in WEAKER
    assert f"the next scheme needs {NEXT_SCHEME} dB" in WEAKER


@pytest.mark.parametrize("row", RLC, ids=lambda row: f"{row['mode']}-{row['stop_s']}s")
def test_the_rlc_of_ns3_carries_what_ours_does_in_the_same_slots(row: dict[str, str]) -> None:
    given = {"lambda": int(row["packets_per_s"]), "rlc": row["mode"].lower(), "stop": f"{row['stop_s']}s"}
    flows = metrics(**given)
    # UM to the packet. In AM, ns-3's receiver asks a slot later, when the next PDU arrives after t-StatusProhibit.
    later = 0 if row["mode"] == "Um" else 0.0002
    assert packets(flows) == pytest.approx(int(row["packets"]), rel=later, abs=0)
    assert flows["elephant"]["throughput"] == pytest.approx(float(row["mbit_per_s"]), abs=0.05)
    if row["stop_s"] == "10":
        both = {"Am": "it carries {} packets,\nand our cell {}.", "Um": "RLC UM carries {} in both"}[row["mode"]]
        assert both.format(f"{int(row['packets']):,}", f"{packets(flows):,}") in PAGE


def test_only_an_end_at_4_s_gives_both_values_of_the_re_run() -> None:
    text = section("When the runs with RLC AM ended")
    fits = []
    for stop in (EARLIER - 0.1, EARLIER, EARLIER + 0.1, 10):
        given: dict[str, Any] = {"rlc": "am", "stop": f"{stop * 1000:.0f}ms"}
        slow = metrics(**given, **{"lambda": 15_000})["elephant"]["mean_delay"]
        values = (f"{slow:.3f}", f"{rate(**given, **{'lambda': 30_000}):.1f}")
        fits += [stop] if values == ("8.876", "193.4") else []
        theirs = [row["mbit_per_s"] for row in RLC if row["mode"] == "Am" and float(row["stop_s"]) == stop]
        beside = "".join(f"{float(value):.1f} Mbit/s " for value in theirs)
        assert f"| {stop:g} s | {values[0]} ms | {values[1]} Mbit/s | {beside}|" in text
    assert fits == [EARLIER]
