"""Values that a shell completes: names of experiments, figures, algorithms, metrics, engines and runs.

A shell calls `bloatlab __complete` at each press of Tab, so a function here imports only what it needs. A function that
raises completes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cyclopts.completion import CompletionContext

SCENARIOS = (".toml", ".json")


def experiments(context: CompletionContext) -> Iterable[str]:
    """Names of experiments."""
    from bloatlab.experiments import CATALOGUE

    return [*CATALOGUE, *CATALOGUE.installed()]


def targets(context: CompletionContext) -> Iterable[str]:
    """Names of experiments, and scenario files in the working directory."""
    files = (path.name for path in Path().iterdir() if path.suffix in SCENARIOS)
    return [*experiments(context), *sorted(files)]


def parameters(context: CompletionContext) -> Mapping[str, str]:
    """Parameters of the experiment on the command line, as `qlen=`."""
    from bloatlab.experiments import CATALOGUE

    given = context.get("name")
    name = None if given is None else given.raw
    if name is None or name not in CATALOGUE:
        return {}
    return {f"{parameter.name}=": parameter.help for parameter in CATALOGUE[name].parameters}


def figures(context: CompletionContext) -> Iterable[str]:
    """Names of figures."""
    from bloatlab.figures.registry import FILES

    return list(FILES)


def algorithms(context: CompletionContext) -> dict[str, str]:
    """Queues and congestion controls, with what they are."""
    return _algorithms("queues") | _algorithms("congestion_controls")


def queues(context: CompletionContext) -> dict[str, str]:
    """Queues, with what they are."""
    return _algorithms("queues")


def congestion_controls(context: CompletionContext) -> dict[str, str]:
    """Congestion controls, with what they are."""
    return _algorithms("congestion_controls")


def _algorithms(of: str) -> dict[str, str]:
    import json

    from bloatlab import language

    return {algorithm["kind"]: algorithm["summary"] for algorithm in json.loads(language.algorithms())[of]}


def metrics(context: CompletionContext) -> dict[str, str]:
    """Metrics with their scope, such as `link.mean_sojourn`, and their formulas."""
    from bloatlab.metrics import definitions

    return {f"{scope}.{name}": definition.formula for (scope, name), definition in definitions().items()}


def engines(context: CompletionContext) -> Iterable[str]:
    """Names of engines."""
    from bloatlab.engines.linux_virtual import kernels
    from bloatlab.engines.registry import ENGINES

    kernels_of = [f"linux-virtual@{kernel.name}" for kernel in kernels.built()]
    return [*ENGINES, *kernels_of, *ENGINES.installed()]


def trace_formats(context: CompletionContext) -> dict[str, str]:
    """Formats of trace files."""
    from bloatlab import traces

    return {name: entry.description for name, entry in traces.formats().items()}


def trace_kinds(context: CompletionContext) -> Iterable[str]:
    """Generators of traces."""
    import json

    from bloatlab import language

    variations = json.loads(language.schema())["$defs"]["RateVariation"]["oneOf"]
    return [variation["properties"]["kind"]["const"] for variation in variations]


def runs(context: CompletionContext) -> dict[str, str]:
    """Runs of the results directory on the command line, with their experiments."""
    directory = context.get("directory")
    if directory is None or not isinstance(directory.value, Path):
        return {}
    from bloatlab.store import Store

    return dict(Store(directory.value).runs().select("run_id", "experiment").iter_rows())
