"""The engine that runs a scenario in a Linux kernel in virtual time."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from bloatlab import _core
from bloatlab.engines.interface import Control, Outcome, PluginFactories, Refusal
from bloatlab.engines.linux import exchange
from bloatlab.engines.linux.engine import RunControl, plugin_paths
from bloatlab.engines.linux_virtual import guest, image, kernels
from bloatlab.errors import EngineError

BUILD = "`bloatlab kernel build` builds one in about ten minutes"


class LinuxVirtual:
    """Linux's TCP and Linux's queues, in virtual time."""

    name = "linux-virtual"
    reproducible = True
    concurrency: int | None = None

    def version(self) -> str:
        """The version of our language and metrics, the kernel, and the guest."""
        kernel = kernels.newest()
        if kernel is None or image.missing():
            return f"{_core.engine_version()} without a kernel"
        return f"{_core.engine_version()} on Linux {kernel.name}, guest {image.image()[1]}"

    def available(self) -> str | None:
        """Why this machine cannot run scenarios in virtual time, and what to do about it."""
        if not hasattr(_core, "live_run"):
            return "a kernel in virtual time needs Linux on x86-64"
        if why := image.missing():
            return why
        return None if kernels.newest() else f"no kernel was built; {BUILD}"

    def details(self) -> Mapping[str, Any]:
        """The kernel, and what it offers."""
        kernel = kernels.newest()
        if kernel is None:
            return {}
        return {
            "kernel": kernel.name,
            "source": kernel.facts.source,
            "congestion_controls": list(kernel.facts.congestion_controls),
            "queues": list(kernel.facts.queues),
        }

    def supports(self, scenario: Mapping[str, Any]) -> Sequence[Refusal]:
        """What a Linux kernel cannot run of a scenario."""
        why = "is a Python class, which only the engine sim runs"
        plugins = [Refusal(path, why) for path in plugin_paths(scenario, ())]
        if plugins:
            return plugins
        facts = _kernel().facts
        found = _core.live_virtual_refusals(json.dumps(scenario), list(facts.congestion_controls), list(facts.queues))
        return [Refusal(*refusal) for refusal in found]

    def control(self) -> RunControl:
        """The control of one run."""
        return RunControl()

    def run(
        self,
        scenario_json: str,
        seed: int,
        *,
        record_packets: bool = False,
        control: Control | None = None,
        plugins: PluginFactories | None = None,
    ) -> Outcome:
        """Runs the scenario in a new kernel."""
        own = self.control() if control is None else cast("RunControl", control)
        request = {
            "scenario": scenario_json,
            "seed": seed,
            "record_packets": record_packets,
            "folder": str(Path.cwd()),
        }

        def check(share: float) -> None:
            own.tell(share)
            own.check()

        own.check()
        try:
            with guest.finished(_kernel(), request, seed, exchange.HEADER, check) as folder:
                return exchange.read(folder)
        except EngineError as error:
            raise EngineError(f"engine {self.name}: {error}") from error


def _kernel() -> kernels.Kernel:
    found = kernels.newest()
    if found is None:
        raise EngineError(f"no kernel was built; {BUILD}")
    return found
