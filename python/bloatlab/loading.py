"""Finds the classes that a scenario names as `module:Class`, and gives them a part in the identity of a run.

Importing a module runs its code. So a class is imported only if the user has allowed it; a document (a scenario file, a plan, a
stored run) that names one is not enough. The same holds for the programs that a document starts. Objects that the caller holds
already, classes and `Configured`, need no permission.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import inspect
import json
import re
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bloatlab import plugins
from bloatlab.errors import ParameterError
from bloatlab.plugins import Configured, CongestionControl, Queue
from bloatlab.programs import programs

_NAME = r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*"
_REFERENCE = re.compile(rf"{_NAME}\Z")
_NAMED = re.compile(_NAME)
_KEYS = ("cca", "congestion_control", "queue", "reverse_queue")


@dataclass(frozen=True)
class AllowedPlugins:
    """The plugins that the user allows to be imported."""

    names: frozenset[str] = frozenset()
    """`module:Class`, each named on the command line or in the Python call."""
    all: bool = False
    """All plugins that a document names (`--allow-plugins`, `allow_plugins=True`)."""

    @classmethod
    def named_in(cls, *values: Any, all: bool = False) -> AllowedPlugins:  # noqa: A002
        """The plugins in the user's own values: the texts of options, or the parameters of a call."""
        return cls(frozenset(name for value in values for name in _names(value)), all)

    def and_also(self, name: str) -> AllowedPlugins:
        """With one more name."""
        return AllowedPlugins(self.names | {name}, self.all)

    def __contains__(self, reference: str) -> bool:
        return self.all or reference in self.names


NO_PLUGINS = AllowedPlugins()


def _names(value: Any) -> Iterator[str]:
    """The names in a user's own values. A document that is nested too deep is refused elsewhere, with its key."""
    waiting = [value]
    seen: set[int] = set()
    while waiting:
        item = waiting.pop()
        if isinstance(item, str):
            yield from _NAMED.findall(item)
        elif isinstance(item, Mapping | list | tuple) and id(item) not in seen:
            # A list may contain itself.
            seen.add(id(item))
            waiting.extend(item.values() if isinstance(item, Mapping) else item)


@dataclass(frozen=True)
class Factory:
    """Makes instances of a plugin class. Unlike a closure, it can be compared, and sent to another process."""

    plugin: type

    def __call__(self, params: dict[str, Any]) -> object:
        """An instance with these parameters."""
        return self.plugin(**params)


Factories = dict[str, Callable[[dict[str, Any]], object]]


def resolve(document: Mapping[str, Any], allowed: AllowedPlugins = NO_PLUGINS) -> tuple[dict[str, Any], Factories]:
    """Replaces every class, `Configured` and `"module:Class"` in a scenario by its table, and collects their factories.

    Args:
        document: The scenario.
        allowed: The plugins that may be imported.

    Raises:
        ParameterError: A class is named that is not allowed, cannot be imported, or is neither a congestion control nor a
            queue; or a program is started that is not allowed.
    """
    for started in programs(document):
        if started.kind == "command" and command_reference(started.client, started.server) not in allowed:
            raise ParameterError(
                f"{started.path}: starts the program `{' '.join(started.client)}`; allow that with --allow-plugins (in Python: "
                "allow_plugins=True)"
            )
    walk = _Resolving(allowed)
    resolved = walk.value(document, ())
    assert isinstance(resolved, dict)
    return resolved, walk.factories


def command_reference(client: Sequence[str], server: Sequence[str]) -> str:
    """The name by which `AllowedPlugins` allows a client and its server, each with its arguments."""
    return "command:" + json.dumps([list(client), list(server)])


def outline(document: Mapping[str, Any]) -> dict[str, Any]:
    """As `resolve`, but without imports: tables of plugins that are only named have no fingerprint of their source.

    The result can be listed and checked. The identities of its runs differ from those of the real runs.
    """
    resolved = _Outlining().value(document, ())
    assert isinstance(resolved, dict)
    return resolved


class _Walk(ABC):
    """Replaces all names of plugins in a document."""

    def __init__(self) -> None:
        self.factories: Factories = {}

    def value(self, value: Any, path: tuple[str, ...]) -> Any:
        if isinstance(value, type):
            return self.held(value, {})
        if isinstance(value, Configured):
            return self.held(value.plugin, value.parameters)
        if isinstance(value, str):
            # The index in a list is not a key.
            key = next((part for part in reversed(path) if not part.isdigit()), "")
            return self.named(value, {}, path) if key in _KEYS and _REFERENCE.match(value) else value
        if isinstance(value, Mapping):
            if value.get("kind") == "python" and isinstance(value.get("class"), str):
                return self.named(value["class"], value.get("params", {}), path)
            return {name: self.value(item, (*path, str(name))) for name, item in value.items()}
        if isinstance(value, list | tuple):
            return [self.value(item, (*path, str(place))) for place, item in enumerate(value)]
        return value

    def held(self, plugin: type, parameters: Mapping[str, Any]) -> dict[str, Any]:
        """The table of a class."""
        if not issubclass(plugin, CongestionControl | Queue):
            raise ParameterError(
                f"{plugin.__qualname__}: must be a subclass of bloatlab.CongestionControl or bloatlab.Queue"
            )
        reference = f"{plugin.__module__}:{plugin.__qualname__}"
        self.factories[reference] = Factory(plugin)
        return _table(reference, fingerprint(plugin), parameters)

    @abstractmethod
    def named(self, reference: str, parameters: Any, path: tuple[str, ...]) -> dict[str, Any]:
        """The table of a class that a text names."""


class _Resolving(_Walk):
    def __init__(self, allowed: AllowedPlugins) -> None:
        super().__init__()
        self.allowed = allowed

    def named(self, reference: str, parameters: Any, path: tuple[str, ...]) -> dict[str, Any]:
        if reference not in self.allowed:
            raise ParameterError(
                f"{'.'.join(path)}: names the plugin `{reference}`, and importing it would run its module's code; allow that "
                "with --allow-plugins (in Python: allow_plugins=True), or name the class yourself, as in --set cca=module:Class"
            )
        return self.held(load(reference), parameters)


class _Outlining(_Walk):
    def named(self, reference: str, parameters: Any, path: tuple[str, ...]) -> dict[str, Any]:
        return _table(reference, "", parameters)


def _table(reference: str, source: str, parameters: Mapping[str, Any]) -> dict[str, Any]:
    return {"kind": "python", "class": reference, "source": source, "params": dict(parameters)}


def load(reference: str) -> type:
    """Imports the class of `module:Class`. Modules of the working directory are found, too.

    Raises:
        ParameterError: It cannot be imported, or is not a class.
    """
    found = load_object(reference)
    if not isinstance(found, type):
        raise ParameterError(f"`{reference}`: is not a class")
    return found


def load_object(reference: str) -> Any:
    """The object that `module:name` names; modules of the working directory are found as well.

    Raises:
        ParameterError: It cannot be imported.
    """
    module_name, _, path = reference.partition(":")
    try:
        with _working_directory_on_path():
            found: Any = importlib.import_module(module_name)
            for name in path.split("."):
                found = getattr(found, name)
    except Exception as error:
        raise ParameterError(f"`{reference}`: cannot be imported ({type(error).__name__}: {error})") from error
    return found


@contextlib.contextmanager
def _working_directory_on_path() -> Iterator[None]:
    """In this context, modules of the working directory are found, after all others: they do not shadow a library."""
    here = str(Path.cwd())
    sys.path.append(here)
    try:
        yield
    finally:
        # Removes the last entry, because the user may have put the same directory on the path. The module may have
        # changed the path itself.
        if here in sys.path:
            del sys.path[len(sys.path) - 1 - sys.path[::-1].index(here)]


def fingerprint(plugin: type) -> str:
    """SHA-256 of the source of the class: of its whole module, which may have helpers, or else of the classes."""
    digest = hashlib.sha256()
    for part in plugin.__mro__:
        if part is object or part.__module__ == plugins.__name__:
            continue
        try:
            file = inspect.getsourcefile(part)
            source = Path(file).read_bytes() if file else inspect.getsource(part).encode()
        except (OSError, TypeError):
            # For a class typed at a prompt, there is no source, only code.
            source = repr([(name, _code(item)) for name, item in sorted(vars(part).items())]).encode()
        digest.update(source)
    return digest.hexdigest()


def _code(item: object) -> tuple[bytes, str] | str:
    code = getattr(item, "__code__", None)
    return (code.co_code, repr([c for c in code.co_consts if not inspect.iscode(c)])) if code else type(item).__name__
