"""Makes `ns2_survey.csv` of the experiment `aqm-survey`: its points in ns-2 2.35, means over the seeds.

    python tests/parity/ns2_survey.py ns-2.35/

Needs `ns`, g++, the headers of libtclcl and libotcl, and the source tree of ns-2 2.35 with an `autoconf.h`, for the headers
of the plug-in `ns2_survey.cc`. Some 700 runs, a few minutes on two cores.
"""

from __future__ import annotations

import csv
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import astuple
from pathlib import Path
from statistics import fmean

from bloatlab.experiments.aqm_survey.cases import CAPS, WLDS
from bloatlab.experiments.aqm_survey.measures import MEASURES
from bloatlab.experiments.aqm_survey.ns2 import COLLIDING, DATA, DISTINCT, FILE, Cell
from bloatlab.experiments.aqm_survey.setup import EQUAL, QUEUES, mbps

HERE = Path(__file__).parent
SEEDS = range(1, 6)
AT_BASE = range(1, 11)
FLAGS = (
    "-O2 -fPIC -shared -std=gnu++11 -fpermissive -w -DUSE_INTERP_RESULT -DTCP_DELAY_BIND_ALL -DNO_TK -DTCLCL_CLASSINSTVAR "
    "-DCPP_NAMESPACE=std -DUSE_SINGLE_ADDRESS_SPACE -DHAVE_SNPRINTF -DHAVE_STRING_H -DHAVE_BCOPY -DHAVE_BZERO -DHAVE_STRTOLL"
)
HEADERS = ("", "common", "link", "mac", "mobile", "queue", "tcp", "tools", "trace")


def cells() -> Iterator[Cell]:
    """The base point, and the axes on which the slides state a trend that ours do not show."""
    for ccp in ("ledbat", "lp"):
        yield from (Cell(queue, ccp) for queue in QUEUES.values())
    yield from (Cell("SFQ", first=COLLIDING), Cell("DRR", first=DISTINCT), Cell("DRR", DATA))
    yield from (Cell(queue, mode=EQUAL) for queue in ("SFQ", "DRR"))
    for queue in QUEUES.values():
        yield from (Cell(queue, wld=wld) for wld in WLDS)
        yield from (Cell(queue, cap=mbps(cap)) for cap in CAPS)
    yield from (Cell("DropTail", "lp", mbps(cap)) for cap in CAPS)


def run(library: Path, cell: Cell, seed: int) -> list[str]:
    """The metrics of one run, as text; empty where a class has no flows."""
    command = ["ns", HERE / "ns2_survey.tcl", library, *astuple(cell), seed]
    out = subprocess.run([*map(str, command)], check=True, capture_output=True, text=True).stdout
    # ns-2 also prints its commands.
    return next(line for line in out.splitlines() if "," in line).split(",")[8:]


def mean(values: list[str]) -> str:
    """The mean of those that there are."""
    found = [float(value) for value in values if value]
    return f"{fmean(found):.6g}" if found else ""


def main(source: Path) -> None:
    """Builds the plug-in and makes the runs."""
    with tempfile.TemporaryDirectory() as directory:
        library = Path(directory) / "libsurvey.so"
        folders = [f"-I{source / name}" for name in HEADERS]
        folders += [f"-I/usr/include/{name}" for name in ("tcl", "otcl", "tclcl")]
        subprocess.run(["g++", *FLAGS.split(), *folders, HERE / "ns2_survey.cc", "-o", library], check=True)
        every = list(dict.fromkeys(cells()))
        with ThreadPoolExecutor() as pool, FILE.open("w", newline="") as out:
            rows = csv.writer(out, lineterminator="\n")
            rows.writerow((*Cell.__dataclass_fields__, "runs", *MEASURES))
            for cell in every:
                seeds = AT_BASE if cell == Cell(cell.queue, cell.ccp, mode=cell.mode, first=cell.first) else SEEDS
                found = list(pool.map(lambda seed, cell=cell: run(library, cell, seed), seeds))
                rows.writerow(
                    (*astuple(cell), len(seeds), *(mean(list(column)) for column in zip(*found, strict=True)))
                )
                out.flush()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
