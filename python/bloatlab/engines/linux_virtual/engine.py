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
    choice = "a kernel"
    """What a user may choose behind an `@` in the name of the engine."""

    def __init__(self, kernel: str = "") -> None:
        """The engine.

        Args:
            kernel: Which kernel runs: a version such as 6.12, or a name of `bloatlab kernel list`; empty: the newest.
        """
        self._wanted = kernel
        if kernel:
            self.name = f"{self.name}@{kernel}"

    def version(self) -> str:
        """The version of our language and metrics, the kernel, and the guest."""
        kernel = kernels.chosen(self._wanted)
        if kernel is None or image.missing():
            return f"{_core.engine_version()} without a kernel"
        return f"{_core.engine_version()} on Linux {kernel.name}, guest {image.image()[1]}"

    def available(self) -> str | None:
        """Why this machine cannot run scenarios in virtual time, and what to do about it."""
        if not hasattr(_core, "live_run"):
            return "a kernel in virtual time needs Linux on x86-64"
        if why := image.missing():
            return why
        return self._missing()

    def details(self) -> Mapping[str, Any]:
        """The kernel, and what it offers."""
        kernel = kernels.chosen(self._wanted)
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
        facts = self._kernel().facts
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
            with guest.finished(self._kernel(), request, seed, exchange.HEADER, check) as folder:
                return exchange.read(folder)
        except EngineError as error:
            raise EngineError(f"engine {self.name}: {error}") from error

    def _kernel(self) -> kernels.Kernel:
        found = kernels.chosen(self._wanted)
        if found is None:
            raise EngineError(str(self._missing()))
        return found

    def _missing(self) -> str | None:
        """Why there is no such kernel, and what to do about it; `None`: there is one."""
        if kernels.chosen(self._wanted) is not None:
            return None
        known = ", ".join(kernel.name for kernel in kernels.built())
        if not known:
            return f"no kernel was built; {BUILD}"
        return f"no kernel `{self._wanted}` was built (there are {known}); `bloatlab kernel build --source FILE` builds one"
