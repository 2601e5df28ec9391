"""`make bench`: measures speed, beside ns-2 and of the commands that users run. It asserts no timing."""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

import congestion_controls
import live
import overhead
import packets
import pages
import queues
import radio
import scale
import shell
import store
from bloatlab._core import engine_version

ROOT = Path(__file__).resolve().parent.parent
PARTS = (
    *(case.name for case in packets.CASES),
    "queues",
    "congestion-controls",
    "radio",
    "scale",
    "live",
    "report",
    "sweep",
    "store",
)


def packet_table(results: list[dict[str, Any]]) -> Table:
    """ns per bottleneck packet, ours and ns-2's."""
    table = Table(
        title="ns per packet through the bottleneck: median (best)",
        caption="ratio: ns-2 / bloatlab, median over pairs; aim: at most 100 ns",
    )
    table.add_column("scenario")
    for heading in ("bloatlab", "ns-2", "ratio", "packets", "drops", "events/s"):
        table.add_column(heading, justify="right", no_wrap=True)
    for result in results:
        mine, peer = result["ours"], result.get("ns2")
        table.add_row(
            f"{result['case'].upper()}: {result['what']}" + (f" ({result['note']})" if peer and result["note"] else ""),
            times(mine),
            times(peer) if peer else "-",
            f"{result['ratio']:.2f}" if peer else "-",
            f"{mine['packets']}" + (f" / {peer['packets']}" if peer else ""),
            f"{mine['drops']}" + (f" / {peer['drops']}" if peer else ""),
            f"{result['events_per_s'] / 1e6:.1f} M",
        )
    return table


def times(value: dict[str, Any]) -> str:
    """`median (best)`."""
    return f"{value['ns_per_packet']:.0f} ({value['ns_per_packet_best']:.0f})"


def queue_table(result: dict[str, Any]) -> Table:
    """ns per packet in each queue by number of flows, beside `fifo`."""
    every = result["results"]
    counts = list(dict.fromkeys(one["flows"] for one in every))
    table = Table(
        title="ns per packet to enqueue and dequeue: median (best), and difference from fifo",
        caption="aim of the difference: 15 ns, or 40 ns for queues by flow; signals: drops and marks per 1000 packets",
    )
    table.add_column("queue")
    for count in counts:
        flows = "1 flow" if count == 1 else f"{count} flows"
        for heading in (flows, "difference", "signals"):
            table.add_column(heading, justify="right", no_wrap=True)
    for kind in dict.fromkeys(one["kind"] for one in every):
        cells = []
        for one in (one for one in every if one["kind"] == kind):
            missed = one["aim"] is not None and one["over_fifo"] > one["aim"]
            beyond = "-" if kind == "fifo" else f"{one['over_fifo']:+.1f}" + (" !" if missed else "")
            signals = 1000 * (one["dropped"] + one["marked"])
            cells += [f"{one['ns']:.1f} ({one['ns_best']:.1f})", beyond, f"{signals:.1f}"]
        table.add_row(kind, *cells)
    return table


def congestion_control_table(result: dict[str, Any]) -> Table:
    """ns per bottleneck packet with each congestion control, beside a fixed window."""
    table = Table(
        title=f"ns per packet through the bottleneck, {result['what']}: undisturbed, and difference from a fixed window",
        caption=(
            "in brackets: undisturbed repetitions of each piece / all runs; ?: too few to judge; "
            f"!: above the aim of {result['aim']:g} ns"
        ),
    )
    table.add_column("congestion control")
    for heading in ("ns", "difference", "all runs", "events per packet", "packets", "drops"):
        table.add_column(heading, justify="right", no_wrap=True)
    for one in sorted(result["results"], key=lambda one: one["beyond"]):
        missed = " ?" if not one["can_judge"] else " !" if one["beyond"] > result["aim"] else ""
        table.add_row(
            one["kind"],
            f"{one['ns']:.0f} ({one['undisturbed']}/{one['runs']})",
            f"{one['beyond']:+.1f}{missed}",
            f"{one['ns_all']:.0f}",
            f"{one['events']:.2f}",
            str(one["packets"]),
            str(one["drops"]),
        )
    return table


def scale_table(result: dict[str, Any]) -> Table:
    """ns per bottleneck packet by number of flows, and relative to one flow."""
    table = Table(
        title="ns per packet through the bottleneck, CUBIC, RTT 20 ms, by number of flows: median, and relative to one",
        caption=(
            f"!: above the aim; memory per flow with {result['memory_flows']:,} flows: {result['memory_kb']:.1f} kB "
            f"(aim: at most {result['memory_aim_kb']:g} kB)"
        ),
    )
    table.add_column("bottleneck", no_wrap=True)
    counts = list(dict.fromkeys(one["flows"] for one in result["rows"]))
    for count in counts:
        aim = next(one["aim"] for one in result["rows"] if one["flows"] == count)
        table.add_column(f"{count:,}" + (f" (<= {aim:g})" if aim else ""), justify="right", no_wrap=True)
    for place in dict.fromkeys((one["rate"], one["queue"]) for one in result["rows"]):
        cells = []
        for one in (one for one in result["rows"] if (one["rate"], one["queue"]) == place):
            missed = " !" if one["aim"] is not None and one["ratio"] > one["aim"] else ""
            cells.append(f"{one['ns']:.0f}" + (f" ({one['ratio']:.2f}{missed})" if one["aim"] else ""))
        table.add_row(", ".join(place), *cells)
    return table


def live_table(result: dict[str, Any]) -> Table:
    """Accuracy and cost of links in real time."""
    aims = result["aims"]
    missing = "; ".join(f"{name}: {why}" for name, why in result["missing"].items())
    table = Table(
        title="links in real time, one CUBIC flow, RTT 20 ms: medians over turns",
        caption=(
            f"aims: rate error {aims['rate error']:.1%}, idle RTT {aims['idle RTT']:g} ms above the 20 ms, p99 lateness "
            f"{aims['p99 lateness'] * 1000:.0f} us, {aims['unlimited Gbit/s']:g} Gbit/s without a limit. "
            "mm-link: payload of iperf3." + (f" Not measured: {missing}" if missing else "")
        ),
    )
    table.add_column("rate", no_wrap=True)
    headings = (
        "link", "Mbit/s", "rate error", "idle RTT (ms)", "late p50 (us)", "late p99 (us)", "CPU of a core", "suspect"
    )  # fmt: skip
    for heading in headings:
        table.add_column(heading, justify="right")
    for one in result["rows"]:

        def cell(key: str, scale: float = 1.0, form: str = ".2f", one: dict[str, Any] = one) -> str:
            value = one.get(key)
            return "-" if value is None else format(value * scale, form)

        error = cell("rate error", 100) + " %" if one.get("rate error") is not None else "-"
        lateness = (cell("p50 lateness", 1000, ".0f"), cell("p99 lateness", 1000, ".0f"))
        idle, cpu = cell("idle RTT", form="+.2f"), cell("cpu")
        rate = "no limit" if one["rate"] == live.UNLIMITED else one["rate"]
        table.add_row(rate, one["link"], cell("mbps", form=".1f"), error, idle, *lateness, cpu, str(one["suspect"]))
    return table


def page_table(rows: list[dict[str, Any]]) -> Table:
    """Time of each experiment's page beside that of its runs."""
    table = Table(
        title="pages of the catalogue, one run each, from the shell",
        caption=f"!: the page takes more than a third of the time of the runs, and more than {pages.AIM_S:g} s",
    )
    table.add_column("experiment", no_wrap=True)
    for heading in ("runs (s)", "page (s)", "page / runs", "of the CPU time", "pages", "largest (MB)"):
        table.add_column(heading, justify="right")
    for one in rows:
        missed = " !" if one["missed"] else ""
        table.add_row(
            one["experiment"],
            f"{one['runs_s']:.2f}",
            f"{one['page_s']:.2f}{missed}",
            f"{one['share']:.2f}",
            f"{one['cpu_share']:.2f}",
            str(one["pages"]),
            f"{one['largest_mb']:.1f}",
        )
    return table


def sweep_table(result: dict[str, Any]) -> Table:
    """Throughput of a sweep in each mode."""
    table = Table(
        title=f"a sweep of {result['runs']} runs of 15 s, from the shell",
        caption="last column: speed-up by --jobs 2, median over turns; aim: 1.8 over one core",
    )
    table.add_column("mode", no_wrap=True)
    for heading in ("wall (s)", "CPU (s)", "runs/s", "events/s", "overhead per run (ms)", "speed-up by --jobs 2"):
        table.add_column(heading, justify="right")
    for name, mode in result["modes"].items():
        table.add_row(
            name,
            f"{mode['wall_s']:.2f}",
            f"{mode['cpu_s']:.2f}",
            f"{mode['runs_per_s']:.0f}",
            f"{mode['events_per_s'] / 1e6:.1f} M",
            f"{mode['overhead_ms_per_run']:.2f}",
            f"{result['jobs_2_is_faster_by'][name]:.2f}",
        )
    return table


def overhead_table(result: dict[str, Any]) -> Table:
    """Overhead of each executor per run."""
    table = Table(
        title=f"a sweep of {result['runs']} tiny runs on {result['workers']} threads or workers: median (best)",
        caption=f"overhead: wall time x workers / runs, minus time in the engine; aim: below {result['aim_ms']:g} ms",
    )
    table.add_column("executor", no_wrap=True)
    for heading in ("overhead per run (ms)", "engine per run (ms)", "runs/s"):
        table.add_column(heading, justify="right")
    for name, mode in result["modes"].items():
        table.add_row(
            name,
            f"{mode['overhead_ms_per_run']:.2f} ({mode['overhead_ms_per_run_best']:.2f})",
            f"{mode['engine_ms_per_run']:.2f}",
            f"{mode['runs_per_s']:.0f}",
        )
    return table


def parse() -> argparse.Namespace:
    """Options."""
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer repetitions, a sweep of 100 runs")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=PARTS, help="the parts to measure")
    parser.add_argument("--out", type=Path, default=ROOT / "results" / "bench.json", help="file for the results")
    return parser.parse_args()


def main() -> None:
    """Measures the chosen parts, prints tables and writes JSON."""
    given = parse()
    console = Console(width=None if sys.stdout.isatty() else 130)
    results: dict[str, Any] = {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "processors": os.cpu_count(),
        "machine": platform.machine(),
        "python": platform.python_version(),
        "load": os.getloadavg()[0],
        "engine": engine_version(),
    }
    console.print(f"engine {results['engine']}, {results['processors']} CPU cores, Python {results['python']}")
    if results["load"] > 0.5:
        console.print(
            f"The machine is busy (load {results['load']:.1f}): ratios and callgrind are more reliable than times."
        )
    cases = [case for case in packets.CASES if case.name in given.only]
    if cases:
        peer = packets.has_ns2()
        if not peer:
            console.print("ns-2 is not installed (Debian, Ubuntu: apt install ns2): its column stays empty.")
        results["packets"] = []
        for case in cases:
            with console.status(f"{case.name} ..."):
                results["packets"].append(packets.measure(case, 3 if given.quick else 9, peer))
        console.print(packet_table(results["packets"]))
    if "queues" in given.only:
        with console.status("queues ..."):
            results["queues"] = queues.measure(51 if given.quick else 401)
        console.print(queue_table(results["queues"]))
    if "congestion-controls" in given.only:
        with console.status("congestion controls ..."):
            results["congestion_controls"] = congestion_controls.measure(*(1, 20.0) if given.quick else (5, 240.0))
        console.print(congestion_control_table(results["congestion_controls"]))
    if "radio" in given.only:
        with console.status("radio links ..."):
            results["radio"] = radio.measure(*(2, 3, 10.0) if given.quick else (5, 9, 90.0))
        for one in results["radio"]:
            console.print(
                f"{one['experiment']}, {one['what']}: {one['seconds']:.3f} s "
                f"(best {one['seconds_best']:.3f} s); undisturbed {one['seconds_undisturbed']:.3f} s "
                f"(at least {one['undisturbed']} repetitions of each piece, of {one['runs']}); aim: below {one['aim']:g} s"
            )
    if "scale" in given.only:
        with console.status("scale ..."):
            results["scale"] = scale.measure(1 if given.quick else 5)
        console.print(scale_table(results["scale"]))
    if "live" in given.only:
        with console.status("links in real time ..."):
            results["live"] = live.measure(1 if given.quick else 3)
        console.print(live_table(results["live"]))
    if "report" in given.only:
        with console.status("report ..."):
            results["report"] = taken = shell.report(2 if given.quick else 7)
        console.print(
            f"bloatlab run deep-buffers, from shell to report: {taken['wall_s']:.2f} s "
            f"(best {taken['wall_s_best']:.2f} s, CPU {taken['cpu_s']:.2f} s; aim: below {pages.AIM_S:g} s)"
        )
        with console.status("pages of all experiments ..."):
            results["pages"] = pages.measure(given.quick)
        console.print(page_table(results["pages"]))
    if "sweep" in given.only:
        with console.status("sweep ..."):
            size = (10, 10, 1) if given.quick else (50, 20, 5)
            results["sweep"] = shell.sweep(*size)
        console.print(sweep_table(results["sweep"]))
        with console.status("executors ..."):
            results["executors"] = overhead.measure(500 if given.quick else 3000, 1 if given.quick else 5)
        console.print(overhead_table(results["executors"]))
    if "store" in given.only:
        with console.status("store ..."):
            results["store"] = taken = store.measure(2 if given.quick else 7)
        console.print(
            f"a store of {taken['runs']:,} runs, with all checks: open {taken['open_s']:.2f} s "
            f"(best {taken['open_s_best']:.2f} s; aim: below {taken['aim_s']:g} s), "
            f"all metrics {taken['metrics_s']:.2f} s (best {taken['metrics_s_best']:.2f} s)"
        )
    given.out.parent.mkdir(parents=True, exist_ok=True)
    given.out.write_text(json.dumps(results, indent=2) + "\n")
    console.print(f"written: {os.path.relpath(given.out)}")


if __name__ == "__main__":
    main()
