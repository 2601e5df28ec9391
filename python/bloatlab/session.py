"""Sessions: a simulation that is stepped and changed while it runs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from bloatlab import _core, units
from bloatlab.api import Scenario, source_of
from bloatlab.errors import ParameterError
from bloatlab.loading import AllowedPlugins
from bloatlab.result import Result
from bloatlab.settings import RunSettings
from bloatlab.store.identity import canonical, run_id
from bloatlab.sweeps import plan
from bloatlab.sweeps.one import result_of
from bloatlab.tables import Table

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True)
class Rows:
    """Rows that a session added to the series of its run; the columns are those of `Result.flow_series` and so on."""

    flows: pl.DataFrame
    """Samples of each flow: rates in Mbit/s, windows in segments, sRTT in ms."""
    links: pl.DataFrame
    """Samples of each link: backlog, sojourn time in ms, throughput in Mbit/s, drops and marks."""
    probes: pl.DataFrame
    """One row per reply: RTT (or fetch time) in ms."""


class Session:
    """A simulation that is stepped and changed while it runs.

    Its result has the same bytes as a run of `document`, the scenario with all changes in its `timeline`.

    Example:
        session = bl.Session(document)
        rows = session.advance("2s")
        session.apply({"key": "dumbbell.rate", "value": "5Mbit/s"})
        result = session.finish()
    """

    def __init__(self, scenario: Scenario, seed: int = 1, *, allow_plugins: bool = False, **parameters: Any) -> None:
        """Builds the network. No time has passed yet.

        Args:
            scenario: As for `bloatlab.run`: name or class of an experiment, or a document.
            seed: Seed of the random streams.
            allow_plugins: Import whatever plugin (`"module:Class"`) the document names.
            **parameters: Parameters of the experiment, or dotted paths into the document.

        Raises:
            ParameterError: An unknown experiment or parameter, or a value that is not allowed.
            ScenarioError: The scenario is not valid; the text is `path: message`.
            PluginError: The user's own congestion control or queue cannot be made.
        """
        allowed = AllowedPlugins.named_in(parameters, all=allow_plugins)
        (self._planned,) = plan(source_of(scenario, allowed, RunSettings()), parameters, seed=seed)
        self._document = {"timeline": [], **json.loads(self._planned.scenario)}
        self._core = _core.Session(json.dumps(self._document), seed, plugins=self._planned.plugins or None)
        self._duration = units.duration(self._document["duration"])

    @property
    def now(self) -> float:
        """The time up to which everything has happened, in simulated seconds."""
        return self._core.now * 1e-9

    @property
    def document(self) -> dict[str, Any]:
        """The scenario in canonical form, with the changes so far in its timeline."""
        return self._document

    def advance(self, to: str | float) -> Rows:
        """Runs up to a time, at most to the end of the run. A time that has passed changes nothing.

        Args:
            to: Simulated time since the start of the run: seconds, or a duration such as `"1500ms"`.

        Returns:
            The rows that the series gained. The samples at the very end of the run come with the result.

        Raises:
            ParameterError: `to` is not a time.
            PluginError: The user's own congestion control or queue failed.
            StalledError: Simulated time did not move; the text names box or flow, time and seed.
            RuntimeError: The session has finished, or another thread uses it.
            KeyboardInterrupt: Ctrl-C; the session cannot go on.
        """
        seconds = units.duration(to) if isinstance(to, str) else to
        if not seconds >= 0:
            raise ParameterError(f"to: must be a time of 0 s or more, not {to}")
        new = self._core.advance(round(1e9 * min(seconds, self._duration)))
        series = {name: Table(table).to_polars() for name, table in new.items()}
        return Rows(series["flow_series"], series["link_series"], series["probe_series"])

    def apply(self, change: Mapping[str, Any] | str) -> None:
        """Changes the scenario now, before everything else of this instant, and appends the change to the timeline.

        Args:
            change: An entry of a timeline as a table or as JSON text, such as
                `{"key": "dumbbell.queue.limit", "value": "50p"}`. `at` is the present time and can be left out.

        Raises:
            ParameterError: The change holds what JSON cannot.
            ScenarioError: The change is not possible; the text names the key. Nothing has changed.
            PluginError: The user's own congestion control or queue cannot be made.
            RuntimeError: The session has finished, or another thread uses it.
        """
        try:
            text = change if isinstance(change, str) else json.dumps(change)
        except (TypeError, ValueError) as error:
            raise ParameterError(f"change: holds what JSON cannot ({error})") from error
        self._core.apply(text)
        self._document = json.loads(self._core.document)

    def finish(self) -> Result:
        """Runs to the end. The session cannot be used afterwards.

        Returns:
            The result, as `bloatlab.run(session.document, seed=seed)` gives it.

        Raises:
            PluginError: The user's own congestion control or queue failed.
            StalledError: Simulated time did not move; the text names box or flow, time and seed.
            RuntimeError: The session has finished, or another thread uses it.
            KeyboardInterrupt: Ctrl-C; the session cannot go on.
        """
        outcome = self._core.finish()
        planned, scenario = self._planned, canonical(self._document)
        identity = run_id(scenario, planned.seed, planned.engine_version, planned.engine.name)
        return result_of(replace(planned, scenario=scenario, run_id=identity), outcome)
