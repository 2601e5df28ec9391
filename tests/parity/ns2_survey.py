"""Makes `ns2_survey.csv` of the experiment `aqm-survey`: its points in ns-2 2.35, means and standard errors over the seeds.

    python tests/parity/ns2_survey.py ns-2.35/

Needs `ns`, g++, the headers of libtclcl and libotcl, and the source tree of ns-2 2.35 with an `autoconf.h`, for the headers
of the plug-in `ns2_survey.cc`. Some 5,000 runs, a quarter of an hour on two idle cores.
"""

from __future__ import annotations

import csv
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import astuple, dataclass
from pathlib import Path
from statistics import fmean, stdev

from bloatlab.experiments.aqm_survey.cases import BUFS, CAPS, WLDS
from bloatlab.experiments.aqm_survey.measures import MEASURES
from bloatlab.experiments.aqm_survey.ns2 import (
    ALTERNATE,
    AT_ONCE,
    COLLIDING,
    DATA,
    DISTINCT,
    FILE,
    LINUX_RECOVERY,
    LINUX_TIMEOUT,
    NO_TIMESTAMPS,
    ONE_STEP,
    SHIPPED,
    SLIDES,
    WITH_ONE_STEP,
    Cell,
)
from bloatlab.experiments.aqm_survey.setup import EQUAL, FLOWS, QUEUES, RENO, mbps

HERE = Path(__file__).parent
SEEDS = range(1, 11)
AT_BASE = range(1, 101)
OFF_AXES = range(1, 6)
FLAGS = (
    "-O2 -fPIC -shared -std=gnu++11 -fpermissive -w -DUSE_INTERP_RESULT -DTCP_DELAY_BIND_ALL -DNO_TK -DTCLCL_CLASSINSTVAR "
    "-DCPP_NAMESPACE=std -DUSE_SINGLE_ADDRESS_SPACE -DHAVE_SNPRINTF -DHAVE_STRING_H -DHAVE_BCOPY -DHAVE_BZERO -DHAVE_STRTOLL"
)
HEADERS = ("", "apps", "common", "link", "mac", "mobile", "queue", "tcp", "tools", "trace")


COLLISION = re.compile(r"Collisions between (\d+) and (\d+) src addresses")
"""What DRR prints for each packet of a flow whose queue belongs to another flow too."""


@dataclass(frozen=True)
class Run:
    """What a run prints."""

    measures: list[str]
    """As text; empty where a class has no flows."""
    shared: frozenset[str]
    """Numbers of the senders' nodes that share a queue of DRR, such as `15+16`."""


def base_cells() -> Iterator[Cell]:
    """The base point, and variations that show causes."""
    for ccp in ("ledbat", "lp"):
        yield from (Cell(queue, ccp) for queue in QUEUES.values())
        yield Cell("DropTail", ccp, jitter=0)
        yield Cell("DropTail", ccp, start=AT_ONCE, jitter=0)
    yield from (
        Cell("SFQ", first=COLLIDING),
        Cell("DRR", first=DISTINCT),
        Cell("DRR", DATA),
        Cell("DRR", DATA, first=DISTINCT),
    )
    yield from (Cell(queue, mode=EQUAL) for queue in ("SFQ", "DRR"))
    yield from (Cell("SFQ", ccp) for ccp in (NO_TIMESTAMPS, ONE_STEP))
    for tcp in (LINUX_TIMEOUT, LINUX_RECOVERY):
        yield from (Cell("DropTail", ccp, tcp=tcp) for ccp in ("ledbat", "lp"))


def cells() -> Iterator[Cell]:
    """The base point, and every axis on which the slides state a trend of a queue or algorithm that ns-2 2.35 has."""
    yield from base_cells()
    for tcp in (LINUX_TIMEOUT, LINUX_RECOVERY):
        yield Cell("DropTail", jitter=0, tcp=tcp)
        yield from (Cell(queue, "lp", tcp=tcp) for queue in QUEUES.values())
    yield from (Cell(QUEUES[queue], ONE_STEP, tcp=tcp) for queue in WITH_ONE_STEP for tcp in (SHIPPED, LINUX_RECOVERY))
    yield Cell("DropTail", start=10.0, jitter=0)
    yield from tried_for_drr()
    for queue in QUEUES.values():
        yield from (Cell(queue, wld=wld) for wld in WLDS)
        yield from (Cell(queue, buf=buf) for buf in BUFS)
        yield from (Cell(queue, ccp, mbps(cap)) for ccp in ("ledbat", "lp") for cap in CAPS)
    yield from (Cell(queue, buf=buf, mode=EQUAL) for queue in ("SFQ", "DRR") for buf in BUFS)
    yield from (Cell("DropTail", "lp", buf=buf) for buf in BUFS)
    yield from cells_off_axes()


def tried_for_drr() -> Iterator[Cell]:
    """Set-ups that the slides leave open, for the D_CCP of DRR on slide 15."""
    for ccp in ("ledbat", DATA):
        for first, step in ((SLIDES, 1), (2, ALTERNATE)):
            yield from (Cell("DRR", ccp, first=first, step=step, start=start) for start in (0.0, 1.0, 2.0, 5.0, 10.0))


def cells_off_axes() -> Iterator[Cell]:
    """CAP with a line per BUF, for slides 7 and 8; and flows that all start at the same time."""
    for cap in map(mbps, CAPS):
        yield Cell("DropTail", "lp", cap, start=AT_ONCE, jitter=0)
        yield from (Cell("DropTail", cap=cap, buf=buf) for buf in BUFS)
        yield from (Cell("DropTail", RENO, cap, buf, start=AT_ONCE) for buf in BUFS)


def seeds_of() -> Mapping[Cell, range]:
    """The cells in the order of the file, and their seeds."""
    found = dict.fromkeys(cells(), SEEDS)
    on_axes = {
        cell for cell in found if cell == Cell(cell.queue, cell.ccp, cell.cap) or cell == Cell(cell.queue, buf=cell.buf)
    }
    found |= {cell: OFF_AXES for cell in cells_off_axes() if cell not in on_axes}
    return found | dict.fromkeys(base_cells(), AT_BASE)


def run(library: Path, cell: Cell, seed: int) -> Run:
    """Makes one run."""
    command = ["ns", HERE / "ns2_survey.tcl", library, *astuple(cell), seed]
    done = subprocess.run([*map(str, command)], check=True, capture_output=True, text=True)
    # ns-2 also prints its commands.
    line = next(line for line in done.stdout.splitlines() if line.count(",") > len(MEASURES))
    # It also prints which receivers share a queue for their ACKs. Only senders count.
    senders = {str(cell.first + cell.step * place) for place in range(FLOWS)}
    shared = {"+".join(sorted(pair)) for pair in COLLISION.findall(done.stderr) if senders >= set(pair)}
    return Run(line.split(",")[-len(MEASURES) :], frozenset(shared))


def mean(values: list[str]) -> str:
    """The mean of those that there are."""
    found = [float(value) for value in values if value]
    return f"{fmean(found):.6g}" if found else ""


def error(values: list[str]) -> str:
    """The standard error of the mean."""
    found = [float(value) for value in values if value]
    return f"{stdev(found) / len(found) ** 0.5:.3g}" if found else ""


def main(source: Path) -> None:
    """Builds the plug-in and makes the runs."""
    with tempfile.TemporaryDirectory() as directory:
        library = Path(directory) / "libsurvey.so"
        folders = [f"-I{source / name}" for name in HEADERS]
        folders += [f"-I/usr/include/{name}" for name in ("tcl", "otcl", "tclcl")]
        subprocess.run(["g++", *FLAGS.split(), *folders, HERE / "ns2_survey.cc", "-o", library], check=True)
        with ThreadPoolExecutor(os.cpu_count()) as pool, FILE.open("w", newline="") as out:
            rows = csv.writer(out, lineterminator="\n")
            errors = [f"{name}_error" for name in MEASURES]
            rows.writerow((*Cell.__dataclass_fields__, "runs", "shared", *MEASURES, *errors))
            for cell, seeds in seeds_of().items():
                found = list(pool.map(lambda seed, cell=cell: run(library, cell, seed), seeds))
                shared = " ".join(sorted(frozenset[str]().union(*(one.shared for one in found))))
                columns = [list(column) for column in zip(*(one.measures for one in found), strict=True)]
                rows.writerow((*astuple(cell), len(seeds), shared, *map(mean, columns), *map(error, columns)))
                out.flush()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
