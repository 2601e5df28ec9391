"""Engines run scenarios. All read the same language (`bloatlab.language`) and give the same tables and metrics."""

from bloatlab._core import Cancelled
from bloatlab.engines.interface import (
    ArrowTable,
    Control,
    Engine,
    Outcome,
    PluginFactories,
    Refusal,
)
from bloatlab.engines.registry import DEFAULT, find

__all__ = [
    "DEFAULT",
    "ArrowTable",
    "Cancelled",
    "Control",
    "Engine",
    "Outcome",
    "PluginFactories",
    "Refusal",
    "find",
]
