"""Finds an engine by its name: built in, installed under the entry point group `bloatlab.engines`, or `module:Class`.

Only built-in engines are imported without the user's word: a plan or a stored run that names another one is not enough.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.metadata import EntryPoint, entry_points

from bloatlab.engines.interface import Engine
from bloatlab.errors import EngineError, unknown
from bloatlab.loading import NO_PLUGINS, AllowedPlugins, load

DEFAULT = "sim"
GROUP = "bloatlab.engines"
BUILT_IN: Mapping[str, str] = {"sim": "bloatlab.engines.sim:Sim"}
"""One line per engine."""


def find(name: str | Engine, allowed: AllowedPlugins = NO_PLUGINS) -> Engine:
    """The engine of that name, ready to run; an engine object is its own name.

    Args:
        name: A built-in engine, an installed one, or `module:Class`.
        allowed: What the user allows to be imported.

    Raises:
        EngineError: There is no such engine, it may not be imported, or it cannot run on this machine.
        ParameterError: `module:Class` cannot be imported.
    """
    engine = _imported(name, allowed) if isinstance(name, str) else name
    home = BUILT_IN.get(engine.name)
    # Its results would pass for those of the built-in engine.
    if home is not None and not isinstance(engine, load(home)):
        raise EngineError(f"engine {engine.name}: is the name of a built-in engine; give yours another `name`")
    if why := engine.available():
        raise EngineError(f"engine {engine.name}: cannot run on this machine ({why})")
    return engine


def _imported(name: str, allowed: AllowedPlugins) -> Engine:
    reference = BUILT_IN.get(name, name)
    if name not in BUILT_IN:
        installed = _installed()
        if ":" not in name and name not in installed:
            raise unknown("engine", name, {*BUILT_IN, *installed})
        if name not in allowed:
            raise EngineError(
                f"engine {name}: importing it would run its module's code; allow that with --engine {name} or "
                f"--allow-plugins (in Python: engine={name!r} or allow_plugins=True)"
            )
        reference = installed[name].value if name in installed else name
    plugin = load(reference)
    # Nothing else is called: a name may be any class, with any effect.
    _require(plugin, _METHODS, name, reference)
    try:
        engine: Engine = plugin()
    except Exception as error:
        raise EngineError(f"engine {name}: `{reference}` cannot be made ({type(error).__name__}: {error})") from error
    _require(engine, _ATTRIBUTES, name, reference)
    return engine


_METHODS = ("version", "available", "supports", "control", "run")
_ATTRIBUTES = ("name", "reproducible", "concurrency")


def _require(made: object, members: Sequence[str], name: str, reference: str) -> None:
    for member in members:
        if not hasattr(made, member):
            raise EngineError(f"engine {name}: `{reference}` is not an engine, it has no `{member}`")


def _installed() -> dict[str, EntryPoint]:
    return {point.name: point for point in entry_points(group=GROUP)}
