"""The command `shell` and its options."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from bloatlab.cli import completers
from bloatlab.cli.options import BEFORE_COMMAND, AllowPlugins, Flag, Link, Results, Set

USAGE = "Usage: bloatlab shell [SCENARIO] [OPTIONS] [-- COMMAND...]"


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class Bottleneck:
    """The bottleneck of a shell without a scenario file."""

    rate: Annotated[str | None, Parameter(metavar="RATE")] = None
    """Rate of downloads, such as 20Mbit/s."""
    rtt: Annotated[str | None, Parameter(metavar="TIME")] = None
    """Base RTT, such as 15ms [default: 40ms]."""
    queue: Annotated[str | None, Parameter(metavar="QUEUE", completer=completers.queues)] = None
    """Queue of downloads: its name, a table, or a queue as tc writes it, such as "fq_codel target 10ms"
    [default: fifo]."""
    limit: Annotated[str | None, Parameter(metavar="LIMIT")] = None
    """Limit of this queue, such as 80p or 150kB [default: that of the queue]."""
    loss: float | None = None
    """Probability that a packet of a download is lost, such as 0.01."""
    reverse_rate: Annotated[str | None, Parameter(metavar="RATE")] = None
    """Rate of uploads [default: uploads have no bottleneck]."""
    reverse_queue: Annotated[str | None, Parameter(metavar="QUEUE", completer=completers.queues)] = None
    """Queue of uploads [default: fifo]."""

    def given(self) -> dict[str, str | float]:
        """What the user gave, by the names of the parameters."""
        return {name: value for name, value in vars(self).items() if value is not None}


BOTTLENECK = Bottleneck()


def with_separator(arguments: list[str]) -> list[str]:
    """The arguments of `shell` with its `--` twice, because the parser removes one: the command starts at the other."""
    if arguments[:1] != ["shell"] or BEFORE_COMMAND not in arguments:
        return arguments
    place = arguments.index(BEFORE_COMMAND)
    return [*arguments[:place], BEFORE_COMMAND, *arguments[place:]]


def shell(
    *words: Annotated[str, Parameter(show=False)],
    bottleneck: Bottleneck = BOTTLENECK,
    set_: Set = [],  # noqa: B006
    cca: Annotated[str | None, Parameter(metavar="CCA", completer=completers.congestion_controls)] = None,
    link: Link = "userspace",
    live: Flag = False,
    internet: Flag = False,
    pcap: Annotated[Path | None, Parameter(metavar="FILE")] = None,
    out: Results = None,
    seed: int = 42,
    time_limit: Annotated[str, Parameter(metavar="TIME")] = "24h",
    no_report: Flag = False,
    allow_plugins: AllowPlugins = False,
) -> int:
    r"""Runs a program, or a shell, behind an emulated bottleneck (docs/shell.md). It needs Linux.

    The bottleneck is that of SCENARIO, a TOML or JSON file, or that of the options. The flows of a scenario run beside the
    program. Without COMMAND, your own shell runs, and every program in it is behind the bottleneck.

    A server is always on the other side. Its address is $BLOATLAB_SERVER in the program's environment and arguments. It
    answers HTTP on port 80, and iperf3 if that is installed.

    The exit code is that of the program. It is 124 if the time limit ended the program, 127 if there is no such program, and
    2 if nothing could be run or stored.

    The backslash of `\\$BLOATLAB_SERVER` keeps your own shell from replacing the variable.

    Args:
        words: The scenario, and the command behind `--`.
        bottleneck: The bottleneck.
        set_: Value at a dotted path into the scenario, such as dumbbell.queue.target=10ms. Repeatable.
        cca: Congestion control of the server's connections [default: cubic].
        link: The bottleneck is ours (userspace), or the kernel's own queue (kernel).
        live: Show queue, sojourn time and throughput while the program runs.
        internet: Let the program also reach the world outside, through the bottleneck. It needs slirp4netns.
        pcap: Write the packets to this file.
        out: Results directory, or a URL such as s3://bucket/path [default: results/shell, or results/NAME-shell for a
            scenario].
        seed: Seed of the random choices of the network, such as which packets are lost.
        time_limit: End the program after this time.
        no_report: Do not make the report page.
        allow_plugins: Start the programs that SCENARIO names (traffic of the kind command).
    """
    from bloatlab.cli.shell import Wanted, run_shell

    return run_shell(
        Wanted.read(words, bottleneck.given(), set_),
        cca=cca,
        kernel_link=link == "kernel",
        live=live,
        internet=internet,
        pcap=pcap,
        out=out,
        seed=seed,
        time_limit=time_limit,
        report=not no_report,
        allow_plugins=allow_plugins,
    )
