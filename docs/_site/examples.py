"""An example of each figure, drawn from small runs while the site is built."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import vl_convert

import bloatlab
from bloatlab import figures
from bloatlab.experiments import get
from bloatlab.figures.figure import specification
from bloatlab.figures.saving import on_white


@dataclass(frozen=True)
class Sweep:
    """The runs that some figures are drawn from."""

    experiment: str
    axes: Mapping[str, Sequence[Any]]
    settings: Mapping[str, Any] = field(default_factory=dict)
    replications: int = 1

    def draw(self, names: Sequence[str], directory: Path) -> dict[str, str]:
        """SVG of those of the figures that the runs have values for.

        Args:
            names: Figures to draw.
            directory: Where the runs are stored.
        """
        settings = {"replications": self.replications, "out": directory, **self.settings}
        store = bloatlab.sweep(self.experiment, self.axes, **settings)
        of_runs, of_run = figures.of_runs(store), figures.of_run(store, store.runs()["run_id"][0])
        drawn = {}
        for figure in map(figures.find, names):
            tables = of_runs if figure.of_runs else of_run
            if figure.applicable(tables):
                chart = figure(tables)
                drawn[figure.name] = vl_convert.vegalite_to_svg(on_white(specification(chart)))
        return drawn


SWEEPS = (
    Sweep("deep-buffers", {"cca": ["newreno", "cubic", "bbr"], "qlen": ["20p", "80p", "320p"]}),
    Sweep("aqm-comparison", {"queue": ["fifo", "codel", "fq_codel", "cake"]}),
    Sweep("rfc7928-bulk", {"queue": ["fifo", "codel", "fq_codel"]}),
    Sweep("coexistence", {"newcomer": ["cubic", "bbr", "vegas"], "incumbent": ["cubic", "bbr", "vegas"]}),
    Sweep("cc-benchmark", {}, {"ccas": "reno+cubic+bbr", "experiments": "steady-state+random-walk", "stop": "10s"}),
    Sweep("home-router", {"queue": ["fifo", "codel"], "maxq": [5, 20, 100]}, replications=2),
    Sweep("aqm-survey", {"queue": ["DropTail", "CoDel", "SFQ"], "cap": ["1Mbit/s", "4Mbit/s", "10Mbit/s"]}),
    Sweep("aqm-survey", {"queue": ["DropTail", "CoDel", "SFQ"], "buf": ["100p", "400p"], "wld": [2, 5, 8]}),
    Sweep("nr-rlc", {"lambda": [1000, 10000, 20000], "buffer": ["10MB", "30MB"], "queue": ["tail", "codel"]}),
    Sweep("nr-dynamic-buffers", {"channel": ["static", "vehicular"], "scheme": ["bdp", "tail"]}, {"rlc": "um"}),
    Sweep("mmwave-aqm", {"scenario": ["sb", "lb"], "queue": ["largefifo", "fq_codel"]}, {"stop": "10s"}),
)


@cache
def drawn() -> dict[str, tuple[str, str]]:
    """For each figure that an experiment shows: the experiment whose runs the example shows, and the SVG."""
    found: dict[str, tuple[str, str]] = {}
    with TemporaryDirectory() as directory:
        for number, sweep in enumerate(SWEEPS):
            missing = [name for name in get(sweep.experiment).figures if name not in found]
            images = sweep.draw(missing, Path(directory) / str(number))
            found |= {name: (sweep.experiment, image) for name, image in images.items()}
    return found
