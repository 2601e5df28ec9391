"""Finds an engine by its name: built in, installed under the entry point group `bloatlab.engines`, or `module:Class`.

Only built-in engines are imported without the user's word: a plan or a stored run that names another one is not enough.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bloatlab.engines.interface import Engine
from bloatlab.errors import EngineError, ParameterError
from bloatlab.loading import NO_PLUGINS, AllowedPlugins
from bloatlab.registry import Registry

DEFAULT = "sim"
BUILT_IN: Mapping[str, str] = {
    "sim": "bloatlab.engines.sim:Sim",
    "linux": "bloatlab.engines.linux.engine:Linux",
    "linux-kernel": "bloatlab.engines.linux.engine:LinuxKernel",
    "linux-virtual": "bloatlab.engines.linux_virtual.engine:LinuxVirtual",
}
"""One line per engine."""
MEASURING_TOOLS = frozenset({"crusader", "flent", "iperf3", "irtt", "lens", "networkQuality"})
"""Engines of imported runs (`bloatlab import`). They make no runs."""
_METHODS = ("version", "available", "supports", "control", "run")
_ATTRIBUTES = ("name", "reproducible", "concurrency")


def read(found: Any, reference: str) -> tuple[str, type[Engine]]:
    """The class of an engine, under the name that the user gave.

    Raises:
        ParameterError: It is not a class.
        EngineError: The class has no method of an engine.
    """
    if not isinstance(found, type):
        raise ParameterError(f"`{reference}`: is not a class")
    _require(found, _METHODS, reference)
    return reference, found


ENGINES: Registry[type[Engine]] = Registry("engine", BUILT_IN, read)


def find(name: str | Engine, allowed: AllowedPlugins = NO_PLUGINS) -> Engine:
    """The engine of that name, ready to run. An engine object is returned as it is.

    Args:
        name: A built-in engine, an installed one, or `module:Class`. `linux-virtual@6.12` chooses a kernel.
        allowed: What the user allows to be imported.

    Raises:
        EngineError: The class is not an engine, or the engine cannot run on this machine.
        ParameterError: There is no such engine, it may not be imported, or its import fails.
    """
    engine = _made(name, allowed) if isinstance(name, str) else name
    # Its results would pass for those of the tool, or of the built-in engine.
    if engine.name in MEASURING_TOOLS:
        raise EngineError(f"engine {engine.name}: is the name of a measuring tool; give yours another `name`")
    base = engine.name.partition("@")[0]
    if base in ENGINES and not isinstance(engine, ENGINES[base]):
        raise EngineError(f"engine {engine.name}: is the name of a built-in engine; give yours another `name`")
    if why := engine.available():
        raise EngineError(f"engine {engine.name}: cannot run on this machine ({why})")
    return engine


def _made(name: str, allowed: AllowedPlugins) -> Engine:
    if name in MEASURING_TOOLS:
        raise EngineError(f"engine {name}: measured its runs elsewhere (`bloatlab import`), and cannot make them")
    base, at, chosen = name.partition("@")
    if at and base in ENGINES and not hasattr(ENGINES[base], "choice"):
        raise ParameterError(f"engine `{name}`: `{base}` has nothing to choose; leave `@{chosen}` out")
    # The user's class is not added: each use needs the permission again.
    plugin = ENGINES[base] if base in ENGINES else read(ENGINES.load(name, may_import=name in allowed), name)[1]
    try:
        engine = plugin(chosen) if at else plugin()  # type: ignore[call-arg]
    except Exception as error:
        raise EngineError(f"engine {name}: cannot be made ({type(error).__name__}: {error})") from error
    _require(engine, _ATTRIBUTES, name)
    return engine


def _require(made: object, members: Sequence[str], name: str) -> None:
    for member in members:
        if not hasattr(made, member):
            raise EngineError(f"`{name}`: is not an engine, it has no `{member}`")
