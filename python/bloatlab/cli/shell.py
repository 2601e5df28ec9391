"""`shell`: runs a program behind the bottleneck, stores its run and prints a summary."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bloatlab import units
from bloatlab.cli.console import complain, number
from bloatlab.cli.live_view import View, view_of
from bloatlab.cli.options import BEFORE_COMMAND, Telling
from bloatlab.cli.run import command_line, report_line
from bloatlab.cli.values import assignments, named, value
from bloatlab.engines import find
from bloatlab.errors import ParameterError
from bloatlab.loading import AllowedPlugins
from bloatlab.scenario.read import read
from bloatlab.shell import NAME, Finished, Shell, network, prepare, store
from bloatlab.store import layout
from bloatlab.store.remote import Place, shown

DEFAULT_RTT = "40ms"
NOT_FOUND = 127
"""Exit code if there is no such program, as that of env and timeout."""


@dataclass(frozen=True)
class Wanted:
    """What the command line asks for."""

    document: Mapping[str, Any]
    """The scenario."""
    name: str
    """Name of the scenario if its document gives none."""
    directory: Path
    """Default results directory."""
    values: Mapping[str, Any]
    """What `--set` sets, and the options of the bottleneck, by dotted paths into the scenario."""
    command: tuple[str, ...]
    """Program and arguments; empty: the user's shell."""

    @classmethod
    def read(cls, words: Sequence[str], bottleneck: Mapping[str, Any], set_: Sequence[str]) -> Wanted:
        """Reads the words and options of the command.

        Raises:
            ParameterError: There is neither a scenario nor a rate, or there are both.
        """
        own, command = _split(words)
        values = {name: named(name, value, text) for name, text in assignments(set_, "--set").items()}
        results = Path("results")
        if own is not None:
            if bottleneck:
                option = f"--{next(iter(bottleneck)).replace('_', '-')}"
                raise ParameterError(
                    f"{option}: is for a shell without a scenario file; change {own} with --set, such as "
                    "--set dumbbell.rate=20Mbit/s"
                )
            return cls(read(own), own.stem, results / f"{own.stem}-{NAME}", values, command)
        if "rate" not in bottleneck:
            raise ParameterError(
                f"shell: give a scenario file or --rate, such as `bloatlab shell --rate 20Mbit/s {BEFORE_COMMAND} COMMAND`"
            )
        parsed = {
            name: named(f"--{name.replace('_', '-')}", value, given) if name.endswith("queue") else given
            for name, given in bottleneck.items()
        }
        document = network(**{"rtt": DEFAULT_RTT, **parsed})
        asked = {f"dumbbell.{name}": given for name, given in document["dumbbell"].items()}
        return cls(document, NAME, results / NAME, asked | values, command)


def _split(words: Sequence[str]) -> tuple[Path | None, tuple[str, ...]]:
    """The scenario file, and the command behind `--`."""
    place = words.index(BEFORE_COMMAND) if BEFORE_COMMAND in words else len(words)
    before, command = words[:place], tuple(words[place + 1 :])
    if len(before) > 1 or (before and not Path(before[0]).exists() and shutil.which(before[0])):
        raise ParameterError(
            f"shell: put the command behind `{BEFORE_COMMAND}`, such as `{BEFORE_COMMAND} {' '.join(before[-2:])}`"
        )
    return (Path(before[0]) if before else None), command


def run_shell(
    wanted: Wanted,
    *,
    cca: str | None,
    kernel_link: bool,
    live: bool,
    internet: bool,
    pcap: Path | None,
    out: Place | None,
    seed: int,
    time_limit: str,
    report: bool,
    allow_plugins: bool,
) -> int:
    """Runs the program, stores its run and returns its exit code.

    Raises:
        ParameterError, ScenarioError, StoreError: Something is wrong. Nothing was started.
        EngineError: The engine cannot run it here, or failed.
    """
    directory = wanted.directory if out is None else out
    _check_files(directory, pcap)
    named("--time-limit", units.duration, time_limit)
    command = wanted.command or _own_shell(live)
    if shutil.which(command[0]) is None:
        complain(f"{command[0]}: there is no such program")
        return NOT_FOUND
    shell = prepare(
        wanted.document,
        command,
        engine=find("linux-kernel" if kernel_link else "linux"),
        name=wanted.name,
        values=wanted.values,
        cca=None if cca is None else named("--cca", value, cca),
        time_limit=time_limit,
        seed=seed,
        allowed=AllowedPlugins(all=allow_plugins),
    )
    if not wanted.command:
        complain(f"{_described(shell)}; the server is $BLOATLAB_SERVER; leave with `exit`")
    view = view_of(shell.links) if live else None
    finished = _run(shell, view, kernel_link, pcap is not None, internet, is_interactive=not wanted.command)
    if pcap is not None:
        finished.outcome.write_pcap(str(pcap))
    store(shell, finished, directory, command=command_line())
    _tell(shell, finished)
    print(
        f"bloatlab: {report_line(directory, Telling()) if report else f'results in {shown(directory)}'}",
        file=sys.stderr,
    )
    return finished.exit_code


def _check_files(directory: Place, pcap: Path | None) -> None:
    """Refuses what cannot be written, before the program runs for a long time."""
    if isinstance(directory, Path) and layout.kind(directory) is layout.Kind.LOST:
        raise layout.lost(directory)
    if pcap is not None and (pcap.is_dir() or not os.access(pcap.parent, os.W_OK)):
        raise ParameterError(f"--pcap {pcap}: cannot be written")


def _own_shell(live: bool) -> tuple[str, ...]:
    """The user's shell, which needs the terminal."""
    if live:
        raise ParameterError(
            f"--live: a shell needs the terminal for itself; give a command behind `{BEFORE_COMMAND}`, or leave --live out"
        )
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise ParameterError(
            f"shell: without a command your shell runs, which needs a terminal; give a command behind `{BEFORE_COMMAND}`"
        )
    return (os.environ.get("SHELL") or "/bin/sh",)


def _run(
    shell: Shell, view: View | None, kernel_link: bool, record_packets: bool, internet: bool, *, is_interactive: bool
) -> Finished:
    from bloatlab.engines.linux.shell import shell as run

    sys.stdout.flush()
    with view or nullcontext():
        output = None if view is None else view.output
        return run(
            shell.planned.scenario,
            shell.flow,
            shell.planned.seed,
            kernel_link=kernel_link,
            record_packets=record_packets,
            internet=internet,
            inherits_terminal=output is None,
            is_interactive=is_interactive,
            on_output=output,
            on_sample=None if view is None else view.sample,
        )


def _described(shell: Shell) -> str:
    """The links that a shell is behind, such as `behind bottleneck (20 Mbit/s, fifo)`."""
    links = (f"{link.name} ({number(link.rate_bps * 1e-6)} Mbit/s, {link.queue['kind']})" for link in shell.links)
    return f"behind {' and '.join(links)}"


def _tell(shell: Shell, finished: Finished) -> None:
    """Prints a summary on standard error: standard output is the program's."""
    metrics = json.loads(finished.outcome.metrics_json())["link_metrics"]
    lines = [f"the program ran {finished.seconds:.1f} s"]
    for link in shell.links:
        if found := metrics.get(link.name):
            lines.append(f"{link.name}: {_of_link(found)}")
    if finished.outcome.suspect is not None:
        lines.append(f"the run is suspect: {finished.outcome.suspect}")
    for line in lines:
        complain(line)


def _of_link(found: Mapping[str, float]) -> str:
    parts = [f"throughput {number(found.get('throughput'))} Mbit/s"]
    if "p50_sojourn" in found:
        p50, p95 = number(found["p50_sojourn"]), number(found.get("p95_sojourn"))
        parts.append(f"sojourn time {p50} ms (median), {p95} ms (95th percentile)")
    return ", ".join([*parts, f"{number(found.get('drops'))} drops"])
