"""A program behind an emulated bottleneck, in real time."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from bloatlab import units
from bloatlab.engines.interface import Outcome
from bloatlab.engines.linux import driver, exchange
from bloatlab.engines.linux.turn import beside
from bloatlab.engines.linux.uplink import Uplink
from bloatlab.errors import EngineError

START_UP_S = 30.0
"""Longest time until the program starts, and from its end until the tables are written."""
DEPTH = "BLOATLAB_SHELL"
"""Variable with the number of shells around a program."""


@dataclass(frozen=True, kw_only=True)
class Finished:
    """A program that has ended."""

    outcome: Outcome
    """What its run gave."""
    exit_code: int
    """128 and the signal if a signal ended it; 124 if the time limit did, as the command `timeout` has it."""
    seconds: float
    """How long it ran."""


TIME_LIMIT = 124


def shell(
    scenario_json: str,
    flow: str,
    seed: int,
    *,
    kernel_link: bool = False,
    record_packets: bool = False,
    internet: bool = False,
    inherits_terminal: bool = True,
    is_interactive: bool = False,
    on_output: Callable[[bytes], None] | None = None,
    on_sample: Callable[[list[dict[str, Any]]], None] | None = None,
) -> Finished:
    """Runs a scenario until the program of one of its flows ends. Ctrl-C goes to the program.

    Args:
        scenario_json: Canonical JSON. Its duration is a time limit.
        flow: Name of the flow whose client is the program. Its traffic is `command`.
        seed: Seed of the network and of the other flows.
        kernel_link: Whether the bottleneck is the kernel's.
        record_packets: Whether every packet is recorded.
        internet: Whether the server forwards packets to the world outside.
        inherits_terminal: The program has our standard streams.
        is_interactive: The program is a shell that a person uses in this terminal.
        on_output: If it has not: told what it prints.
        on_sample: Told each sample: rows of the table `link_series`.

    Raises:
        EngineError: The run failed.
    """
    duration_s = units.duration(_duration(scenario_json))
    limit_s = duration_s + 2 * START_UP_S
    with ExitStack() as stack:
        directory = stack.enter_context(beside())
        uplink = stack.enter_context(Uplink(directory)) if internet else None
        stack.enter_context(_left_to_the_program())
        if is_interactive:
            stack.enter_context(_terminal_given_back())
        request = exchange.Request(
            scenario=scenario_json,
            seed=seed,
            kernel_link=kernel_link,
            record_packets=record_packets,
            directory=str(directory),
            driver=os.getpid(),
            foreground=flow,
            is_interactive=is_interactive,
            depth=depth() + 1,
            uplink=uplink.descriptor if uplink else None,
            name_servers=uplink.name_servers if uplink else None,
        )
        terminal = driver.Terminal(
            output=None if inherits_terminal else on_output or _drop,
            descriptors=(uplink.descriptor,) if uplink else (),
        )
        heard = driver.Heard(sample=on_sample) if on_sample else driver.Heard()
        try:
            driver.make(request, limit_s, heard, lambda: None, terminal)
        except EngineError as error:
            # Its own reason tells more than that of the run which waits for it.
            raise EngineError(f"shell: {(uplink and uplink.failure) or error}") from error
        outcome = exchange.read(directory)
    code = TIME_LIMIT if outcome.code is None else outcome.code
    return Finished(outcome=outcome, exit_code=code, seconds=outcome.nanoseconds * 1e-9)


def depth() -> int:
    """How many shells this process is in."""
    text = os.environ.get(DEPTH, "")
    return int(text) if text.isdecimal() else 0


def _duration(scenario_json: str) -> str:
    return str(json.loads(scenario_json)["duration"])


def _drop(_: bytes) -> None:
    pass


@contextmanager
def _left_to_the_program() -> Iterator[None]:
    """Signals of the terminal reach all processes of its group. Only the program heeds them; the worker inherits this."""
    kinds = (signal.SIGINT, signal.SIGQUIT)
    before = [signal.signal(kind, signal.SIG_IGN) for kind in kinds]
    try:
        yield
    finally:
        for kind, handler in zip(kinds, before, strict=True):
            signal.signal(kind, handler)


@contextmanager
def _terminal_given_back() -> Iterator[None]:
    """A shell may take the terminal for its own process group. Afterwards it is ours again."""
    try:
        yield
    finally:
        # In the background this signal would stop us.
        before = signal.signal(signal.SIGTTOU, signal.SIG_IGN)
        with suppress(OSError):
            os.tcsetpgrp(sys.stdin.fileno(), os.getpgrp())
        signal.signal(signal.SIGTTOU, before)
