"""The simulator, in Rust. A run is a pure function of (scenario, seed)."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

class ScenarioError(ValueError):
    """A scenario that is refused; the text is one line, `path: message`."""

class Cancelled(Exception):  # noqa: N818
    """The run's `Control` was cancelled."""

class PluginError(RuntimeError):
    """A user's own congestion control or queue raised an exception or returned an invalid value."""

class StalledError(RuntimeError):
    """Simulated time did not advance; the text names box or flow, time and seed."""

class Control:
    """Cancels a run from another thread and tells its progress."""

    def __init__(self, *, timed: bool = False) -> None:
        """With `timed`, it measures the wall time of each piece of the run."""
    def cancel(self) -> None:
        """Asks the run to stop. The run then raises `Cancelled`."""
    @property
    def progress(self) -> float:
        """Share of the simulated time that has passed, 0 to 1."""
    @property
    def laps(self) -> list[int]:
        """Wall time of each piece of the event loop, ns; empty unless `timed`.

        Each piece but the last has the same number of events, so every run of a scenario and seed has the same pieces.
        """

class Table:
    """One table of a result, offered through the Arrow PyCapsule interface."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...

class Outcome:
    """The outcome of a run."""

    @property
    def digest(self) -> str:
        """Hash of every table; equal for equal (scenario, seed, engine version)."""
    @property
    def events(self) -> int:
        """Events the engine processed."""
    @property
    def suspect(self) -> str | None:
        """Why the engine doubts its own measurement; always `None` if it measures in simulated time."""
    def tables(self) -> dict[str, Table]:
        """The tables of docs/architecture.md by name."""
    def metrics_json(self) -> str:
        """`{"flow_metrics": {flow: {metric: value}}, "link_metrics": ..., "network_metrics": ..., "probe_metrics": ...}`."""
    def write_pcap(self, path: str, link: str | None = None) -> None:
        """Writes the packets (`record_packets=True`) as a pcap file."""

class Session:
    """A run that can be stepped and changed; `bloatlab.Session` wraps it."""

    def __init__(
        self,
        scenario_json: str,
        seed: int,
        *,
        plugins: Mapping[str, Callable[[dict[str, Any]], object]] | None = None,
    ) -> None:
        """Builds the network of a scenario, which must have a timeline. No time has passed yet."""
    @property
    def now(self) -> int:
        """The instant up to which everything has happened, ns."""
    @property
    def document(self) -> str:
        """The canonical document with the timeline so far, JSON."""
    def advance(self, to: int) -> dict[str, Table]:
        """Runs up to an instant in ns; returns the new rows of `flow_series`, `link_series` and `probe_series`."""
    def apply(self, change_json: str) -> None:
        """Makes a change now and appends it to the timeline: a table of `key`, `value` and, if given, `at`."""
    def finish(self) -> Outcome:
        """Runs to the end and returns the outcome. The session cannot be used afterwards."""

class Trace:
    """A rate over time: one pass of a trace. Every refusal is a `ScenarioError`."""

    @staticmethod
    def read(file: str, how_json: str) -> Trace:
        """Reads a file; `how_json` is a table with `format`, `unit` and the switches of `kind = "file"` in a scenario."""
    @staticmethod
    def make(variation_json: str, rate: str, seed: int, duration: str) -> Trace:
        """Makes the trace that the bottleneck of a dumbbell with this constant rate has in a run with this seed."""
    @property
    def format(self) -> str:
        """Name of a format of `trace_formats`."""
    def info(self, interval_text: str, below: str | None = None) -> str:
        """Length, rates and dips, in JSON."""
    def rates(self, interval_text: str) -> list[tuple[float, float]]:
        """Start in seconds and rate in Mbit/s of each piece; the last entry is the end with the last rate."""
    def text(self, format: str, unit: str, interval_text: str) -> str:  # noqa: A002
        """The text of a file in this format."""

def trace_formats() -> str:
    """Formats of trace files, as a list of `{name, description, example, holds}` in JSON."""

def engine_version() -> str: ...
def schema() -> str: ...
def normalise(scenario_json: str) -> str: ...
def plan(scenario_json: str) -> str:
    """The plan of a document, JSON; `bloatlab.language.plan` reads it. The files that the document names are not read."""

def read_quantity(kind: str, text: str) -> tuple[int, str, str]:
    """The value of a quantity as an integer, the unit of this integer, and the canonical text; raises `ScenarioError`.

    A kind is `duration` (ns), `rate` (bit/s), `bytes`, `frequency` (Hz) or `limit` (packets, bytes or buffers).
    """

def write_quantity(kind: str, value: int) -> str:
    """The canonical text of a `duration` in ns, a `rate` in bit/s, a number of `bytes` or a `frequency` in Hz."""

def algorithms() -> str: ...
def t_quantile(freedom: float, probability: float) -> float:
    """The quantile of Student's t. Raises `ValueError` if `freedom` is not above 0, or `probability` not between 0 and 1."""

def queue(queue_json: str) -> str:
    """The queue (a name, a tc text or a table, in JSON) as a table with every parameter; raises `ScenarioError`."""

def tc(queue_json: str, device: str, every: bool = False) -> list[str]:
    """The tc commands that set the queue up on a network device; raises `ScenarioError` where Linux lacks something."""

def sysctl(flow_json: str, device: str) -> list[str]:
    """The commands that give a flow's TCP connection its settings on Linux; raises `ScenarioError` where Linux lacks one."""

def program_kinds() -> list[str]:
    """Kinds of traffic that are programs, which only engines in real time run."""

def metric_definitions() -> str: ...
def run(
    scenario_json: str,
    seed: int,
    *,
    record_packets: bool = False,
    control: Control | None = None,
    plugins: Mapping[str, Callable[[dict[str, Any]], object]] | None = None,
) -> Outcome: ...
def live_probe() -> str:
    """What this machine offers for runs in real time, JSON: whether it `runs`, `why` not, `advice`, and details."""

def live_refusals(scenario_json: str, kernel_link: bool) -> list[tuple[str, str]]:
    """What of a scenario cannot run here in real time: the paths of the keys, and the reasons."""

def live_virtual_refusals(
    scenario_json: str, congestion_controls: Sequence[str], queues: Sequence[str]
) -> list[tuple[str, str]]:
    """What of a scenario a kernel in virtual time cannot run, which has these congestion controls and queues."""

def live_enter(parent: int | None = None) -> None:
    """Enters new namespaces; forks, so no thread may exist, and only the child returns."""

def live_run(
    scenario_json: str,
    seed: int,
    *,
    kernel_link: bool,
    record_packets: bool,
    control: Control,
    files: str | None,
    variables: Sequence[tuple[str, str]],
    foreground: str | None = None,
    is_interactive: bool = False,
    samples: Samples | None = None,
    uplink: int | None = None,
) -> tuple[Outcome, int, int | None]:
    """Runs a scenario in real time, inside the namespaces that `live_enter` made.

    Returns the outcome, the time it took in ns, and the exit code of the program in the foreground.
    """

def live_show_instead(file: str, place: str) -> None:
    """Shows a file in place of another one, in the mount namespace of `live_enter`."""

class Samples:
    """The samples of the links of a run that is under way."""

    def __init__(self) -> None: ...
    def take(self) -> str:
        """Takes all new samples: a list of lists of rows of the table `link_series`, JSON."""
