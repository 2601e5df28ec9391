"""The functions of the extension module for runs in real time. Nothing else calls them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from bloatlab import _core


def built() -> bool:
    """Whether this build of the extension module has these functions. Only builds for Linux have them."""
    return hasattr(_core, "live_run")


def probe() -> str:
    """What this machine offers for runs in real time, JSON; `bloatlab.engines.linux.probe` reads it."""
    return _core.live_probe()


def refusals(scenario_json: str, *, kernel_link: bool) -> list[tuple[str, str]]:
    """What of a scenario cannot run here in real time: the paths of the keys, and the reasons."""
    return _core.live_refusals(scenario_json, kernel_link)


def enter(driver: int) -> None:
    """Enters new namespaces. The process must be a child of `driver`, and ends with it.

    The process forks, so it must have no other thread. Only the child returns. The parent waits for it, and ends as the
    child ends.
    """
    _core.live_enter(driver)


@dataclass(frozen=True, kw_only=True)
class Foreground:
    """A program that has the standard streams of this process, and whose end is the end of its run."""

    flow: str
    """Name of its flow."""
    is_interactive: bool
    """It is a shell that a person uses in a terminal."""
    samples: _core.Samples
    """Where the samples of the links go."""
    uplink: int | None
    """Descriptor of a socket to a process that connects its server with the world outside."""


def run(
    scenario_json: str,
    seed: int,
    *,
    kernel_link: bool,
    record_packets: bool,
    control: _core.Control,
    files: str,
    variables: Mapping[str, str],
    foreground: Foreground | None = None,
) -> tuple[_core.Outcome, int, int | None]:
    """Runs a scenario in real time, inside the namespaces that `enter` made.

    Args:
        scenario_json: The scenario.
        seed: Seed of the network and the applications.
        kernel_link: Whether the bottleneck is the kernel's.
        record_packets: Whether every packet is recorded.
        control: Cancels the run.
        files: Directory for what programs print.
        variables: Variables for the environment and the arguments of programs.
        foreground: The program that the run is for.

    Returns:
        The outcome, the time that the run took in ns, and the exit code of the program in the foreground.
    """
    return _core.live_run(
        scenario_json, seed,
        kernel_link=kernel_link, record_packets=record_packets, control=control, files=files,
        variables=list(variables.items()),
        foreground=foreground.flow if foreground else None,
        is_interactive=foreground is not None and foreground.is_interactive,
        samples=foreground.samples if foreground else None,
        uplink=foreground.uplink if foreground else None,
    )  # fmt: skip


def show_instead(file: str, place: str) -> None:
    """Shows a file in place of another one, for this process and its children in their mount namespace."""
    _core.live_show_instead(file, place)
