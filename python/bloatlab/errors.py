"""What goes wrong for a user, each in one clear line."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class BloatlabError(Exception):
    """Base of the errors a user can cause; its text is one line that says what is wrong and what is allowed."""


class ParameterError(BloatlabError, ValueError):
    """An unknown parameter, or a value that a parameter does not allow."""


class EngineError(BloatlabError):
    """An engine that is not there, may not be imported, or cannot run what is asked for."""


class StoreError(BloatlabError):
    """A results directory that cannot be read or written."""


class ClusterError(BloatlabError):
    """A cluster that cannot be reached, was lost, or has workers that cannot run what is asked for."""


def unknown(what: str, name: str, known: Iterable[str]) -> ParameterError:
    """The error for a name that nobody knows, with the nearest known one, or all of them when none is near."""
    names = sorted(known)
    near = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
    hint = f"did you mean `{near[0]}`?" if near else f"known: {', '.join(names) or 'none'}"
    return ParameterError(f"unknown {what} `{name}` ({hint})")
