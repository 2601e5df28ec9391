"""The result of one run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import bloatlab
from bloatlab import language, units
from bloatlab.errors import StoreError, unknown
from bloatlab.judges import judge, ramp
from bloatlab.judges.loaded import FLOWS, REPLIES, under_load
from bloatlab.judges.run import BINS, PROBES, of_run
from bloatlab.loading import NO_PLUGINS, AllowedPlugins
from bloatlab.plots import Plots
from bloatlab.tables import Table

if TYPE_CHECKING:
    from bloatlab.engines import ArrowTable, Engine, Outcome
    from bloatlab.judges import Exchanges, LoadedPing, Verdict

Metrics = dict[str, dict[str, float]]


class Result:
    """The result of one run: metrics as dictionaries, series and histograms as Arrow tables.

    It is the same whether it comes from the engine or from a store.
    """

    def __init__(
        self,
        *,
        run_id: str,
        experiment: str,
        scenario: Mapping[str, Any],
        parameters: Mapping[str, Any],
        seed: int,
        engine: str,
        engine_version: str,
        repetition: int = 0,
        suspect: str | None = None,
        digest: str,
        metrics: Mapping[str, Any],
        load: Callable[[str], ArrowTable],
        with_packets: Callable[[], Outcome],
        recorded: bool = False,
    ) -> None:
        """Made by `bloatlab.run` and `Store.run`."""
        self.run_id = run_id
        """Identity: hash of scenario, seed, engine and its version."""
        self.experiment = experiment
        """Name of the experiment or scenario."""
        self.scenario = dict(scenario)
        """The scenario document in canonical form."""
        self.parameters = dict(parameters)
        """The parameters asked for."""
        self.seed = seed
        """Seed of the random streams."""
        self.engine = engine
        """Name of the engine that ran it."""
        self.engine_version = engine_version
        """Version of the engine that ran it."""
        self.repetition = repetition
        """Which run of this seed it is, from 0; of a reproducible engine there is only one."""
        self.suspect = suspect
        """Why the engine doubts its own measurement; `None`: it does not."""
        self.digest = digest
        """Hash of every table; equal across machines, threads and repetitions."""
        self.flow_metrics: Metrics = metrics["flow_metrics"]
        """Metrics of each flow, `{flow: {metric: value}}`; `bloatlab.metrics` holds units and formulas."""
        self.link_metrics: Metrics = metrics["link_metrics"]
        """Metrics of each link."""
        self.network_metrics: dict[str, float] = metrics["network_metrics"]
        """Metrics over all flows, `{metric: value}`."""
        self.probe_metrics: Metrics = metrics["probe_metrics"]
        """Metrics of each probe and fetch flow."""
        self.experiment_metrics: dict[str, float] = metrics.get("experiment_metrics", {})
        """Metrics that the experiment itself defines, `{metric: value}`."""
        self.recorded = recorded
        """Whether `packets` holds every packet."""
        self.plugins = NO_PLUGINS
        """What may be imported to simulate again what was not kept."""
        self.given_engine: Engine | None = None
        """An engine that the user names for that; it is used if it made the run."""
        self._load = load
        self._with_packets = with_packets
        self._tables: dict[str, Table] = {}

    def allow_plugins(self) -> Result:
        """Allows data that was not stored to be simulated again with any plugin that the scenario names.

        That imports its module.
        """
        self.plugins = AllowedPlugins(all=True)
        return self

    def with_engine(self, engine: str | Engine) -> Result:
        """Names the engine that simulates again what was not kept: an installed one, `module:Class` or an object."""
        from bloatlab.engines import find

        self.given_engine = find(engine, AllowedPlugins(all=True))
        return self

    def table(self, name: str) -> Table:
        """A table of docs/architecture.md by name."""
        if name not in self._tables:
            self._tables[name] = Table(self._load(name))
        return self._tables[name]

    @property
    def verdict(self) -> Verdict:
        """Grade, RPM, QoO and voice MOS of the run: `grade`, `sentence`, `numbers`, and `judges` with version and inputs.

        A score whose input was not measured says in `needs` what is missing.
        """
        found = of_run(
            {"flow_metrics": self.flow_metrics, "link_metrics": self.link_metrics, "probe_metrics": self.probe_metrics},
            language.stored_plan(self.scenario),
            self._rows("probes", PROBES),
            self._rows("histograms", BINS, scope="probe", quantity="rtt"),
            self._exchanges(),
        )
        ping = found.evidence.ping
        if found.evidence.increase_ms is not None or ping is None:
            return found
        return judge(replace(found.evidence, loaded=self._loaded(ping.name)))

    def _loaded(self, ping: str) -> LoadedPing | None:
        """The ping under load. None: no request was sent under load, or the tables are not there."""
        rows = self._rows("flows", (*FLOWS, "base_rtt_ms"))
        # A measurement beside a simulation has its scenario, but not its propagation.
        known = any(base is not None for *_, base in rows) and language.stored_plan(self.scenario)
        propagation = (
            next((flow.base_rtt_ns / 1e6 for flow in known.flows if flow.name == ping), None) if known else None
        )
        replies = self._rows("probe_series", REPLIES, probe=ping)
        return under_load(ping, replies, [span for *span, _ in rows], propagation)

    def _exchanges(self) -> Exchanges | None:
        """What the probes of a responsiveness test measured. None: it is no such test, or its series are not there."""
        if self.experiment != ramp.EXPERIMENT or not {"interval", "notsent", "stop"} <= set(self.parameters):
            return None
        length, notsent, end = (units.duration(self.parameters[name]) for name in ("interval", "notsent", "stop"))
        load, probes = self._rows("flow_series", ramp.LOAD_COLUMNS), self._rows("probe_series", ramp.PROBE_COLUMNS)
        return ramp.evaluate(ramp.intervals(length, end, load, probes), length, 1000 * notsent)

    def _rows(self, name: str, columns: Sequence[str], **where: str) -> list[Any]:
        """Rows of a table with these columns. None if it was not kept and cannot be made again."""
        try:
            table = self.table(name).to_polars()
        except StoreError:
            return []
        if not {*columns, *where} <= set(table.columns):
            return []
        for column, value in where.items():
            table = table.filter(table[column].cast(str) == value)
        return table.select(columns).rows()

    @property
    def flows(self) -> Table:
        """The flows that took part."""
        return self.table("flows")

    @property
    def links(self) -> Table:
        """The links that took part."""
        return self.table("links")

    @property
    def probes(self) -> Table:
        """The probes that took part."""
        return self.table("probes")

    @property
    def flow_series(self) -> Table:
        """Samples of each flow: rates in Mbit/s, windows in segments, sRTT in ms."""
        return self.table("flow_series")

    @property
    def link_series(self) -> Table:
        """Samples of each link: backlog, sojourn time in ms, throughput in Mbit/s, drops and marks."""
        return self.table("link_series")

    @property
    def probe_series(self) -> Table:
        """One row per reply: RTT (or fetch time) in ms."""
        return self.table("probe_series")

    @property
    def histograms(self) -> Table:
        """Distributions of RTT and sojourn time (ms) and queue length over every packet."""
        return self.table("histograms")

    @property
    def packets(self) -> Table:
        """Every packet, if the run recorded them."""
        return self.table("packets")

    def write_pcap(self, path: Path | str, link: str | None = None) -> None:
        """Writes the packets as a pcap. A run that recorded none is simulated again, which gives the same packets.

        Args:
            path: File to write.
            link: Name of the link to capture at; absent: the first.

        Raises:
            ParameterError: The run has no such link.
            StoreError: The engine is not the one that made this result or gives other results in each run, the scenario
                names a plugin that is not allowed (`allow_plugins`), or the file cannot be written.
        """
        if link is not None and self.link_metrics and link not in self.link_metrics:
            raise unknown("link", link, self.link_metrics)
        try:
            self._with_packets().write_pcap(str(path), link)
        except OSError as error:
            raise StoreError(f"{path}: {error.strerror or error}") from error

    @property
    def plot(self) -> Plots:
        """Draws a figure of this run: `result.plot("time_series")` or `result.plot.time_series()`; an Altair chart.

        It needs the packages of `bloatlab[report]`.
        """
        return Plots(lambda: bloatlab.figures.of_result(self), of_runs=False)

    def __repr__(self) -> str:
        return str(bloatlab.display.text_of_result(self))

    def _repr_html_(self) -> str:
        return str(bloatlab.display.html_of_result(self))
