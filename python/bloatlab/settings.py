"""How runs are made: one object from the command line, or a Python call, to the executor."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from distributed import Client

    from bloatlab.engines import Engine
    from bloatlab.loading import AllowedPlugins


@dataclass(frozen=True, kw_only=True)
class RunSettings:
    """How runs are made. Results depend on the engine alone, if it is reproducible."""

    engine: str | Engine | None = None
    """What runs the scenarios: name of an engine, `module:Class`, or an object; `None`: the plan's, or the simulator."""
    jobs: int | None = None
    """Number of threads; `None`: one per CPU core."""
    scheduler: str | Client | None = None
    """A dask scheduler's address (or `file:PATH`), or a connected client: runs are made on its workers."""

    def find_engine(self, allowed: AllowedPlugins) -> Engine:
        """The engine; the user who names it here allows its import.

        Args:
            allowed: What else may be imported.

        Raises:
            EngineError: There is no such engine, or it cannot run on this machine.
            ParameterError: `module:Class` cannot be imported.
        """
        from bloatlab.engines import DEFAULT, find

        wanted = DEFAULT if self.engine is None else self.engine
        return find(wanted, allowed.and_also(wanted) if isinstance(wanted, str) else allowed)
