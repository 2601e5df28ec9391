"""bloatlab, a bufferbloat laboratory: describe a bottleneck once, simulate it fast, sweep it, and read the answer.

import bloatlab as bl

r = bl.run("deep-buffers", qlen="80p", cca="cubic")
r.flow_metrics["flow_1"]["mean_srtt_l4"]   # ms
r.flow_series.to_polars()
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bloatlab.api import open, run, simulate, sweep  # noqa: A004
    from bloatlab.errors import BloatlabError, EngineError, ParameterError, StoreError
    from bloatlab.plugins import CongestionControl, Queue, configured
    from bloatlab.result import Result
    from bloatlab.session import Session
    from bloatlab.store import Store
    from bloatlab.studies import compare, summary
    from bloatlab.sweeps.document import Plan
    from bloatlab.tables import Table
    from bloatlab.tuning import Tuned, tune

_HOME = {
    "BloatlabError": "errors",
    "CongestionControl": "plugins",
    "EngineError": "errors",
    "ParameterError": "errors",
    "Plan": "sweeps.document",
    "Queue": "plugins",
    "Result": "result",
    "Session": "session",
    "Store": "store",
    "StoreError": "errors",
    "Table": "tables",
    "Tuned": "tuning",
    "compare": "studies",
    "configured": "plugins",
    "open": "api",
    "run": "api",
    "simulate": "api",
    "summary": "studies",
    "sweep": "api",
    "tune": "tuning",
}
_MODULES = {
    "display",
    "engines",
    "experiments",
    "figures",
    "language",
    "metrics",
    "plugins",
    "report",
    "scenario",
    "store",
    "units",
}
_CORE = {"Cancelled", "PluginError", "ScenarioError", "StalledError"}

__all__ = [
    "BloatlabError",
    "CongestionControl",
    "EngineError",
    "ParameterError",
    "Plan",
    "Queue",
    "Result",
    "Session",
    "Store",
    "StoreError",
    "Table",
    "Tuned",
    "compare",
    "configured",
    "open",
    "run",
    "simulate",
    "summary",
    "sweep",
    "tune",
]


def __getattr__(name: str) -> Any:
    """Imports a name's module when it is first asked for, so that `import bloatlab` is instant."""
    if name in _HOME:
        value = getattr(import_module(f"bloatlab.{_HOME[name]}"), name)
    elif name in _MODULES:
        value = import_module(f"bloatlab.{name}")
    elif name in _CORE:
        value = getattr(import_module("bloatlab._core"), name)
    elif name == "__version__":
        from importlib.metadata import version

        value = version("bloatlab")
    else:
        raise AttributeError(f"module 'bloatlab' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_MODULES, *_CORE, "__version__"})
