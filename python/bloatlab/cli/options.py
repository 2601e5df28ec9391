"""Options that several commands share. A group of options is a dataclass, whose docstrings are the help texts."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter, Token

from bloatlab.cli import completers
from bloatlab.errors import ParameterError
from bloatlab.settings import RunSettings

if TYPE_CHECKING:
    from bloatlab.loading import AllowedPlugins


def _place(_: object, tokens: Sequence[Token]) -> Path | str:
    from bloatlab.store.remote.location import place

    return place(tokens[0].value)


Set = Annotated[
    list[str],
    Parameter(name="--set", negative=(), show_default=False, metavar="KEY=VALUE", completer=completers.parameters),
]
Sweep = Annotated[
    list[str],
    Parameter(name="--sweep", negative=(), show_default=False, metavar="KEY=V1,V2", completer=completers.parameters),
]
ExperimentName = Annotated[str, Parameter(completer=completers.experiments)]
Target = Annotated[str, Parameter(completer=completers.targets)]
"""An experiment, or the file of a scenario."""
RunId = Annotated[str | None, Parameter(metavar="RUN", completer=completers.runs)]
OUT = ("--out", "-o")
"""Where a command writes its result: a file or a directory, as its help says."""
OutFile = Annotated[Path | None, Parameter(name=OUT, metavar="FILE")]
OutFileRequired = Annotated[Path, Parameter(name=OUT, metavar="FILE")]
DatabaseFile = Annotated[Path | None, Parameter(metavar="FILE", show_default=False)]
OutDirectory = Annotated[Path | None, Parameter(name=OUT, metavar="DIR")]
OutDirectoryOrFile = Annotated[Path | None, Parameter(name=OUT, metavar="DIR|FILE")]
Results = Annotated[Path | str | None, Parameter(name=OUT, converter=_place, metavar="DIR|URL")]
Weigh = Annotated[list[str], Parameter(name="--weigh", negative=(), show_default=False, metavar="GROUP=WEIGHT")]
Stored = Annotated[Path | str, Parameter(converter=_place, metavar="DIRECTORY")]
Flag = Annotated[bool, Parameter(negative=(), show_default=False)]
AllowPlugins = Annotated[bool, Parameter(name="--allow-plugins", negative=(), show_default=False)]
Traces = Annotated[Path | None, Parameter(show_default=False, metavar="DIR")]
Format = Annotated[str, Parameter(metavar="FORMAT", completer=completers.trace_formats)]
Unit = Literal["bit/s", "kbit/s", "Mbit/s", "Gbit/s"]
Link = Literal["userspace", "kernel"]
BEFORE_COMMAND = "--"
"""Everything behind it on the command line of `shell` is a command."""
EngineName = Annotated[str | None, Parameter(show_default=False, metavar="ENGINE", completer=completers.engines)]
Jobs = Annotated[int | None, Parameter(name=["--jobs", "-j"], metavar="N")]
"""Number of runs that are made at the same time."""


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class Running:
    """How runs are made."""

    engine: EngineName = None
    """Engine that runs the scenarios: sim, linux (real time), linux-virtual (a kernel in virtual time), an installed engine,
    or module:Class. `bloatlab engines` lists them [default: sim, or that of the plan]."""
    link: Annotated[Link | None, Parameter(show_default=False)] = None
    """For --engine linux: the bottleneck is ours (userspace), or the kernel's own queue (kernel) [default: userspace]."""
    jobs: Jobs = None
    """Number of threads that make runs [default: one per CPU core]."""
    scheduler: Annotated[str | None, Parameter(show_default=False, metavar="ADDRESS")] = None
    """Make the runs on the workers of this dask scheduler: tcp://HOST:8786, or file:PATH of its scheduler file."""
    memory: Annotated[str | None, Parameter(show_default=False, metavar="SIZE")] = None
    """Refuse runs whose estimated memory is above this size, such as 16GB [default: BLOATLAB_MEMORY, or 8GB]."""

    def settings(self) -> RunSettings:
        """The settings of the runs. Also sets the environment variable with the memory limit of this process."""
        if self.memory is not None:
            os.environ["BLOATLAB_MEMORY"] = self.memory
        return RunSettings(engine=self._engine(), jobs=self.jobs, scheduler=self.scheduler)

    def _engine(self) -> str | None:
        if self.link is None:
            return self.engine
        if self.engine != "linux":
            raise ParameterError(f"--link {self.link}: needs --engine linux")
        return "linux-kernel" if self.link == "kernel" else "linux"


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class Telling:
    """How much a command that makes runs says, and whether it makes the page."""

    quiet: Annotated[bool, Parameter(name=["--quiet", "-q"], negative=(), show_default=False)] = False
    """Print only the result: no progress and no hints."""
    verbose: Annotated[bool, Parameter(name=["--verbose", "-v"], negative=(), show_default=False)] = False
    """Also print each run as it ends, its engine, its seconds, and where the results are."""
    no_report: Flag = False
    """Do not make the report page."""

    def __post_init__(self) -> None:
        if self.quiet and self.verbose:
            raise ParameterError("--quiet and --verbose: give one of them")


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class Output(Telling):
    """Where results go, and what is printed."""

    out: Results = None
    """Results directory, or a URL such as s3://bucket/path [default: results/NAME, or that of the plan]."""
    json: Flag = False
    """Print one JSON object and nothing else."""
    all: Flag = False
    """Print every metric of a single run, every row of a sweep, or every criterion of a ranking."""
    weigh: Weigh = field(default_factory=list)
    """Weight of a group of criteria in the ranking, such as delay=2 or fairness=0 [default: 1 for each]. A name such as
    bulk-delay is one group; a word such as delay is every group with this word. Repeatable."""

    def directory(self, name: str) -> Path | str:
        """The results directory. `name` is the name of the experiment, scenario or plan."""
        return self.out if self.out is not None else Path("results") / name


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class Points:
    """Which runs are made."""

    set_: Set = field(default_factory=list)
    """Value of a parameter (`bloatlab show NAME` lists them), or at a dotted path into a file, such as flows.0.cca=bbr.
    Repeatable."""
    sweep: Sweep = field(default_factory=list)
    """Values of a parameter, or at a dotted path. Several --sweep options give every combination. Repeatable."""
    replications: int | None = None
    """Runs of each point. Replication r (from 0) has the seed SEED + r [default: 1, or that of the experiment]."""
    seed: int = 42
    """Seed of the first replication."""
    packets: Flag = False
    """Record every packet."""
    dry_run: Flag = False
    """Only print the number of runs and the first points, and estimate time, memory and disk from three sampled runs,
    which are not stored. Imports no plugin."""


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class Study(Telling):
    """What `sensitivity` and `tune` vary, and where results go."""

    vary: Annotated[
        list[str],
        Parameter(negative=(), show_default=False, metavar="KEY=LOW..HIGH", completer=completers.parameters),
    ] = field(default_factory=list)
    """Input with its range, such as rate=1Mbit/s..100Mbit/s, or its values, such as queue=fifo,codel. For a scenario
    file, inputs are dotted paths. A range of more than a decade is sampled on a logarithmic scale. Repeatable."""
    set_: Set = field(default_factory=list)
    """Value of a parameter, or at a dotted path into a file. Repeatable."""
    replications: int | None = None
    """Runs of each sample or trial. `sensitivity` uses their mean, `tune` their worst value. Replication r (from 0) has the
    seed SEED + r [default: 1 for sensitivity, 3 for tune]."""
    seed: int = 42
    """Seed of the runs, and of the samples or the search."""
    out: OutDirectory = None
    """Results directory [default: results/NAME-sensitivity or results/NAME-tune]."""
    json: Flag = False
    """Print one JSON object and nothing else."""
    allow_plugins: AllowPlugins = False
    """Import the plugins (module:Class) that the scenario file names, which runs their code. Plugins named in --set
    and --vary need no flag."""

    def plugins(self) -> AllowedPlugins:
        """The plugins that may be imported."""
        from bloatlab.loading import AllowedPlugins

        return AllowedPlugins.named_in(self.set_, self.vary, all=self.allow_plugins)

    def directory(self, name: str) -> Path:
        """The results directory: `--out`, or `name` in `results`."""
        return self.out if self.out is not None else Path("results") / name


@Parameter(name="*")
@dataclass(frozen=True)
class Reading:
    """How a trace file is read."""

    format: Format | None = None
    """Format of the file, as `bloatlab trace formats` lists them [default: detected]."""
    unit: Unit = "Mbit/s"
    """Unit of the rates in the file."""
    zero_keeps_rate: Flag = False
    """A rate of 0 keeps the previous rate, as a player does whose tc refuses it."""
    interval_loses_digit: Flag = False
    """Cut the last digit of each interval, as the player of the 60 GHz traces does."""
    skips_unfinished_line: Flag = False
    """Skip a last line without a newline."""


RUNNING, TELLING, OUTPUT, POINTS, STUDY, READING = Running(), Telling(), Output(), Points(), Study(), Reading()
"""Defaults of the groups of options."""


def with_traces(set_: Sequence[str], traces: Path | None) -> list[str]:
    """Adds the directory of traces to the values of `--set`."""
    return [*set_, *([f"traces={traces}"] if traces is not None else [])]
