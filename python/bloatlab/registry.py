"""A registry: objects by name, each imported when it is first asked for, and those of the user beside those of the package.

A user's own object needs no change of the package. An installed package offers it as an entry point of the group
`bloatlab.experiments`, `bloatlab.figures` or `bloatlab.engines`; any module offers it as `module:name`. Importing it runs its
code. So it is imported only where the user named it: a document or a store that names it is not enough.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any, Generic, TypeVar

from bloatlab.errors import ParameterError, unknown
from bloatlab.loading import load_object

Item = TypeVar("Item")


class Registry(Mapping[str, Item], Generic[Item]):
    """Objects of one kind by name.

    Args:
        kind: What the objects are, such as `figure`; the group of the entry points is `bloatlab.KINDs`.
        homes: Of each object of the package the name and the place, such as `bloatlab.figures.charts.ecdf:ecdf`.
        read: Makes an object of what was imported. The second argument is the reference, for the text of a `ParameterError`.
    """

    def __init__(self, kind: str, homes: Mapping[str, str], read: Callable[[Any, str], tuple[str, Item]]) -> None:
        self._kind = kind
        self._homes = homes
        self._read = read
        self._found: dict[str, Item] = {}

    def __getitem__(self, name: str) -> Item:
        if name not in self._found:
            module, _, attribute = self._homes[name].partition(":")
            _, self._found[name] = self._read(getattr(import_module(module), attribute), self._homes[name])
        return self._found[name]

    def __contains__(self, name: object) -> bool:
        """Whether there is an object of this name; nothing is imported."""
        return name in self._homes or name in self._found

    def __iter__(self) -> Iterator[str]:
        """Names of the package's objects, then names of the user's that this process has imported."""
        yield from self._homes
        yield from (name for name in self._found if name not in self._homes)

    def __len__(self) -> int:
        return len(self._homes.keys() | self._found.keys())

    def installed(self) -> list[str]:
        """Names that installed packages offer by entry points; nothing is imported."""
        return sorted(entry_points(group=self._group).names)

    def find(self, name: str, *, may_import: bool = False) -> Item:
        """The object of this name.

        Args:
            name: A name of the package, a name of an installed package's entry point, or `module:name`.
            may_import: The user named it, so code from outside the package may be imported.

        Raises:
            ParameterError: There is no such object, it may not be imported, or its import fails.
        """
        return self[name] if name in self else self.add(self.load(name, may_import=may_import), name)

    def load(self, name: str, *, may_import: bool = False) -> Any:
        """What the user's code has under this name. It is imported, but not added.

        Args:
            name: A name of an installed package's entry point, or `module:name`.
            may_import: The user named it, so code from outside the package may be imported.

        Raises:
            ParameterError: There is no such object, it may not be imported, or its import fails.
        """
        if ":" not in name and name not in self.installed():
            raise unknown(self._kind, name, [*self, *self.installed()])
        if not may_import:
            raise ParameterError(
                f"importing the {self._kind} `{name}` would run its code; allow that with --allow-plugins (in Python: "
                "allow_plugins=True), or name it yourself"
            )
        if ":" in name:
            return load_object(name)
        (entry, *_) = entry_points(group=self._group, name=name)
        try:
            return entry.load()
        except Exception as error:
            raise ParameterError(f"`{name}`: cannot be imported ({type(error).__name__}: {error})") from error

    def add(self, found: Any, reference: str) -> Item:
        """Adds what the user's code defines, in place of an earlier definition of the same name.

        Args:
            found: What was imported.
            reference: What the user calls it, for the texts of errors.

        Raises:
            ParameterError: It is not of this kind, or one of the package has its name.
        """
        name, item = self._read(found, reference)
        if name in self._homes:
            raise ParameterError(
                f"`{reference}`: has the name of bloatlab's {self._kind} `{name}`; choose another `name`"
            )
        self._found[name] = item
        return item

    @property
    def _group(self) -> str:
        return f"bloatlab.{self._kind}s"
