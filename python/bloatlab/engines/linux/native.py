"""The functions of the extension module for runs in real time. Nothing else calls them."""

from __future__ import annotations

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


def run(
    scenario_json: str, seed: int, *, kernel_link: bool, record_packets: bool, control: _core.Control
) -> _core.Outcome:
    """Runs a scenario in real time, inside the namespaces that `enter` made."""
    return _core.live_run(
        scenario_json, seed, kernel_link=kernel_link, record_packets=record_packets, control=control, files=None
    )
