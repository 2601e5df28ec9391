"""Engines run scenarios. All read the same language (`bloatlab.language`) and give the same tables and metrics.

Nothing is imported until a name of this package is used: the worker of a run in real time must start quickly.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bloatlab._core import Cancelled
    from bloatlab.engines.interface import (
        ArrowTable,
        Control,
        Detailed,
        Engine,
        Outcome,
        PluginFactories,
        Refusal,
    )
    from bloatlab.engines.registry import DEFAULT, find

_HOME = {
    "Cancelled": "bloatlab._core",
    **dict.fromkeys(
        ("ArrowTable", "Control", "Detailed", "Engine", "Outcome", "PluginFactories", "Refusal"),
        "bloatlab.engines.interface",
    ),
    **dict.fromkeys(("DEFAULT", "find"), "bloatlab.engines.registry"),
}

__all__ = [
    "DEFAULT",
    "ArrowTable",
    "Cancelled",
    "Control",
    "Detailed",
    "Engine",
    "Outcome",
    "PluginFactories",
    "Refusal",
    "find",
]


def __getattr__(name: str) -> Any:
    """Imports the module that has `name`, when it is first asked for."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})
