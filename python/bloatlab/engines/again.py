"""Makes a stored run again, to get data that the store did not keep or has lost."""

from __future__ import annotations

import json
from dataclasses import dataclass

from bloatlab.engines.interface import Engine, Outcome
from bloatlab.engines.registry import find
from bloatlab.errors import BloatlabError, EngineError, StoreError
from bloatlab.loading import AllowedPlugins, Factories, resolve


@dataclass(frozen=True, slots=True)
class Origin:
    """The inputs of a stored run."""

    run_id: str
    engine: str
    engine_version: str
    scenario: str
    """Canonical JSON."""
    seed: int

    def prepare(self, allowed: AllowedPlugins, given: Engine | None = None) -> tuple[Engine, Factories]:
        """The engine and the plugins that give the results of this run again.

        Args:
            allowed: What may be imported.
            given: An engine that the user names; it is used if it made the run.

        Raises:
            BloatlabError: The engine cannot give the same results again, a plugin is not allowed, or one of them has
                changed.
        """
        engine = given if given is not None and given.name == self.engine else find(self.engine, allowed)
        if not engine.reproducible:
            raise EngineError(f"engine {engine.name} made it, which gives other results in each run")
        if (version := engine.version()) != self.engine_version:
            raise EngineError(f"engine {self.engine_version} made it, and this is {version}")
        document, plugins = resolve(json.loads(self.scenario), allowed)
        if document != json.loads(self.scenario):
            raise EngineError("the source of its plugin has changed since")
        return engine, plugins

    def simulate(self, allowed: AllowedPlugins, given: Engine | None = None, *, packets: bool = False) -> Outcome:
        """Makes the run again. The same engine gives the same tables and packets.

        Raises:
            StoreError: It cannot be made again; as `prepare` says.
        """
        try:
            engine, plugins = self.prepare(allowed, given)
        except BloatlabError as error:
            raise StoreError(f"run {self.run_id}: what was not kept is simulated again: {error}") from error
        return engine.run(self.scenario, self.seed, record_packets=packets, plugins=plugins or None)
