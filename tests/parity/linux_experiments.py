"""home-router and mmwave-aqm beside Linux in virtual time, set-up by set-up.

    python tests/parity/linux_experiments.py import DIR
    python tests/parity/linux_experiments.py home-router
    python tests/parity/linux_experiments.py rerun
    python tests/parity/linux_experiments.py mmwave-aqm --traces DIR

`linux_experiments.csv` has a row for each set-up, metric and side, with the values of its runs. `import` reads the kernel's
half from `linux_home_router.csv` and `linux_mmwave.csv`: Linux 7.2.12 in virtual time, in set-ups like those of the two
experiments that a program made which shares nothing with this one. `rerun` makes the set-ups of home-router again, with more
seeds, in a kernel that `bloatlab kernel build` made, and goes on where it was interrupted. The other commands measure the
simulator's part.
"""

from __future__ import annotations

import argparse
import csv
import os
import sys
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import polars as pl

import bloatlab as bl
import linux_home_router
from bloatlab import experiments

CSV = Path(__file__).with_name("linux_experiments.csv")
HEADER = ("experiment", "case", "metric", "side", "values")
SEEDS = {"home-router": 30, "mmwave-aqm": 3}
WARMUP_S = {"home-router": 10.0, "mmwave-aqm": 2.0}
"""Pings and sRTT count from here on. Pages all count."""
KERNEL_BUFFER = 44
"""Segments in the largest buffer of a kernel that sets none: 64 KiB."""

Case = Mapping[str, str]
Values = dict[str, float]
Row = dict[str, str]
Key = tuple[str, str, str, str]
"""Experiment, case, metric and side: `linux` (the references), `rerun` (Linux again) or `sim`."""
Table = dict[Key, list[float]]
"""The values of the runs."""


def text(case: Case) -> str:
    """A case as the file has it."""
    return " ".join(f"{key}={value}" for key, value in case.items())


def parse(case: str) -> dict[str, str]:
    """The case of a text."""
    return dict(word.split("=", 1) for word in case.split())


# The kernel's half.


def of_home_router(row: Row) -> tuple[Case, Values]:
    """A run of the reference: its set-up and its values."""
    size = row["segments_per_buffer"].split(",")[0]
    case = {
        "topology": row["topology"],
        "rate": row["bandwidth_mbit"],
        "delay": row["delay_per_link_ms"],
        "maxq": row["maxq"],
        "buffer": "default" if size == "kernel default" else size,
        "pages": row["page_direction"],
        "schedule": row["page_schedule"].removesuffix(" the last ended").replace(" ", "_"),
        "cca": row["cc"],
        "initial_window": row["initial_window"],
        "cached_ssthresh": row["ssthresh_cache"],
        "bulk": row["bulk_flow"],
    }
    if "tcp_tso_rtt_log" in row["segments_per_buffer"]:
        case["tso_rtt_log"] = "0"
    pages = [1e3 * float(time) for time in row["fetch_times_s"].split()]
    lost = float(row["fetches_syn_lost"]) / len(pages)
    values = {"ping": float(row["ping_p50_ms"]), "page": median(pages), "lost_syns": lost}
    if row["bulk_flow"] == "1":
        values["srtt"] = float(row["srtt_mean_ms"])
    return case, values


def of_mmwave(row: Row) -> tuple[Case, Values]:
    """A run of the reference: its set-up and its values."""
    case = {
        "trace": row["trace"],
        "queue": row["queue"],
        "offload": "off" if row["segments_per_buffer"] == "1" else "on",
        "rtt": row["base_rtt_ms"],
        "seconds": row["duration_s"],
    }
    values = {
        "srtt": float(row["srtt_median_ms"]),
        "largest": float(row["flowmean_srtt_max_ms"]),
        "ping": float(row["ping_p50_ms"]),
        "goodput": float(row["goodput_mbps"]),
    }
    if case["offload"] == "off":
        # With offload, Linux counts buffers.
        values["drops"] = float(row["drops"])
    return case, values


READERS: Mapping[str, tuple[str, Callable[[Row], tuple[Case, Values]]]] = {
    "home-router": ("linux_home_router.csv", of_home_router),
    "mmwave-aqm": ("linux_mmwave.csv", of_mmwave),
}


def imported(folder: Path) -> Table:
    """The values of the references."""
    table: Table = {}
    for experiment, (name, read_row) in READERS.items():
        with (folder / name).open(newline="") as file:
            for row in csv.DictReader(file):
                case, values = read_row(row)
                _add(table, experiment, text(case), "linux", values)
    return table


def _add(table: Table, experiment: str, case: str, side: str, values: Values) -> None:
    for metric, value in values.items():
        table.setdefault((experiment, case, metric, side), []).append(value)


# The simulator's half.


APPLICATION = {"read_size": "64KiB", "write_size": "256KiB"}
"""How the long flow of the references reads and writes."""
REQUEST, RESPONSE = "80B", f"{200 + 177_669}B"
"""Size of the request for a page, and of the header and the page that answer it."""
SEND_BUFFER = 4_000_000
"""The largest size of a send buffer (`tcp_wmem`), which a kernel derives from its memory. That of the references is not known,
but their pings without any delay tell it: 2324 ms. Here they take 2321 to 2324 ms with 3.96 to 4.00 MB, and 2333 with 4.014."""


NO_DELAY = "500ns"
"""What a packet takes on each of the four links without delay: the clock of a kernel in virtual time goes on when it is read, and
the smallest RTT of most runs is 2 us."""


def home_router(case: Case) -> dict[str, Any]:
    """The scenario of a set-up of home-router."""
    experiment = experiments.get("home-router")
    given = {
        "topology": case["topology"],
        "rate": f"{case['rate']}Mbit/s",
        "delay": f"{case['delay']}ms",
        "maxq": int(case["maxq"]),
        "segments_per_buffer": KERNEL_BUFFER if case["buffer"] == "default" else int(case["buffer"]),
        "direction": case["pages"],
        "fetch_schedule": "every" if case["schedule"].startswith("every") else "after",
        "fetch_interval": case["schedule"].removeprefix("every_").removesuffix("_after").replace("_", ""),
        "fetch_spread": 0.05,
        "cca": case["cca"],
        "initial_window": int(case["initial_window"]),
        "cached_ssthresh": case["cached_ssthresh"] == "1",
        "time": "60s",
    }
    document = experiment.scenario(experiment.resolve(given))
    for flow in document["flows"]:
        if "tcp" in flow:
            flow["tcp"] |= {"send_buffer": f"{SEND_BUFFER}B"}
            if "tso_rtt_log" in case:
                flow["tcp"]["tso_rtt_log"] = int(case["tso_rtt_log"])
        match flow.get("traffic", {}).get("kind"):
            case "fetch":
                flow |= {"name": "page", "start": "5s", "start_jitter": "500ms"}
                flow["traffic"] |= {"request": REQUEST, "response": RESPONSE}
            case "ping":
                flow["name"] = "ping"
                flow["traffic"] |= {"interval": "100ms", "interval_spread": 0.1}
            case _:
                flow["name"] = "bulk"
                flow["tcp"] |= APPLICATION
    if case["delay"] == "0":
        for box in document["boxes"]:
            box["delay"] = NO_DELAY
    if case["bulk"] == "0":
        document["flows"] = [flow for flow in document["flows"] if flow["name"] != "bulk"]
    return document


def run_home_router(case: Case, seed: int) -> Values:
    """The values of a run."""
    run = bl.run(home_router(case), seed=seed)
    counts = pl.col("time_s") >= WARMUP_S["home-router"]
    probes = pl.DataFrame(run.probe_series).with_columns(pl.col("probe").cast(pl.String))
    pings = probes.filter((pl.col("probe") == "ping") & counts)["rtt_ms"]
    pages = probes.filter(pl.col("probe") == "page")["rtt_ms"].drop_nulls().to_list()
    values = {"ping": float(pings.median())}  # type: ignore[arg-type]
    if pages:
        # A page that is not finished when the run ends has its SYN counted, but is not among the pages.
        lost = min(run.probe_metrics["page"].get("connections_with_lost_syn", 0.0), len(pages))
        values |= {"page": median(pages), "lost_syns": lost / len(pages)}
    if case["bulk"] == "1":
        flows = pl.DataFrame(run.flow_series).with_columns(pl.col("flow").cast(pl.String))
        bulk = flows.filter((pl.col("flow") == "bulk") & counts)
        values["srtt"] = float(bulk["srtt_ms"].mean())  # type: ignore[arg-type]
    return values


def mmwave(case: Case, traces: Path) -> dict[str, Any]:
    """The scenario of a set-up of mmwave-aqm. A rate of 0 keeps the one before; the player has no other quirk."""
    experiment = experiments.get("mmwave-aqm")
    given = {
        "scenario": case["trace"],
        "queue": case["queue"],
        "offload": "none" if case["offload"] == "off" else "both",
        "rtt": f"{1e3 * float(case['rtt']):.0f}us",
        "stop": f"{case['seconds']}s",
        "warmup": f"{WARMUP_S['mmwave-aqm']:g}s",
        "traces": str(traces),
        "player": "exact",
    }
    document = experiment.scenario(experiment.resolve(given))
    document["dumbbell"]["vary"]["rate"]["zero_keeps_rate"] = True
    for flow in document["flows"]:
        if flow["name"] == "iperf":
            flow.pop("start_jitter")
            flow["start_interval"] = "100ms"
    return document


def run_mmwave(case: Case, seed: int, traces: Path) -> Values:
    """The values of a run."""
    run = bl.run(mmwave(case, traces), seed=seed)
    counts = pl.col("time_s") >= WARMUP_S["mmwave-aqm"]
    flows = pl.DataFrame(run.flow_series).filter(counts & pl.col("srtt_ms").is_not_null())
    probes = pl.DataFrame(run.probe_series).filter(counts)
    means = flows.group_by("time_s").agg(pl.col("srtt_ms").mean())["srtt_ms"]
    values = {
        "srtt": float(flows["srtt_ms"].median()),  # type: ignore[arg-type]
        "largest": float(means.max()),  # type: ignore[arg-type]
        "ping": float(probes["rtt_ms"].median()),  # type: ignore[arg-type]
        "goodput": run.network_metrics["agg_throughput"],
    }
    if case["offload"] == "off":
        values["drops"] = run.link_metrics["bottleneck"]["drops"]
    return values


# The file.


def read() -> Table:
    """The values of the file."""
    with CSV.open(newline="") as file:
        return {
            (row["experiment"], row["case"], row["metric"], row["side"]): [float(x) for x in row["values"].split()]
            for row in csv.DictReader(file)
        }


def write(table: Table) -> None:
    """Replaces the file."""
    with CSV.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(HEADER)
        writer.writerows((*key, " ".join(f"{value:.6g}" for value in table[key])) for key in sorted(table))


def cases(table: Table, experiment: str) -> list[str]:
    """The set-ups of an experiment."""
    return list(dict.fromkeys(case for name, case, _, _ in table if name == experiment))


def main() -> int:
    """Returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=["import", "rerun", *SEEDS])
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--traces", type=Path)
    given = parser.parse_args()
    table = read() if CSV.exists() else {}
    if given.command == "import":
        write({key: values for key, values in table.items() if key[3] != "linux"} | imported(given.folder))
        return 0
    experiment, side = ("home-router", "rerun") if given.command == "rerun" else (given.command, "sim")
    if side == "sim":
        table = {key: values for key, values in table.items() if (key[0], key[3]) != (experiment, side)}
    seeds = range(1, SEEDS[experiment] + 1)
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        for case in cases(table, experiment):
            if (experiment, case, "ping", side) not in table:
                for values in threads.map(partial(measured, given.command, parse(case), given.traces), seeds):
                    _add(table, experiment, case, side, values)
                write(table)
            print(case, flush=True)
    return 0


def measured(command: str, setup: Case, traces: Path, seed: int) -> Values:
    """The values of a run."""
    match command:
        case "home-router":
            return run_home_router(setup, seed)
        case "rerun":
            return linux_home_router.run(setup, seed, WARMUP_S["home-router"], SEND_BUFFER)
        case _:
            return run_mmwave(setup, seed, traces)


if __name__ == "__main__":
    sys.exit(main())
