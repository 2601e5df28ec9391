"""Errors that a user can cause. The text of each is one clear line."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class BloatlabError(Exception):
    """Base of the errors that a user can cause. The text is one line that says what is wrong and what is allowed."""


class ParameterError(BloatlabError, ValueError):
    """An unknown parameter, or a value that a parameter does not allow."""


class EngineError(BloatlabError):
    """An engine that is not there, may not be imported, or cannot run what is asked for."""


class StoreError(BloatlabError):
    """A results directory that cannot be read or written."""


class ClusterError(BloatlabError):
    """A cluster that cannot be reached, was lost, or has workers that cannot make the runs."""


def unknown(what: str, name: str, known: Iterable[str]) -> ParameterError:
    """The error for an unknown name, with the nearest known name, or all known names if none is near."""
    names = sorted(known)
    near = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
    hint = f"did you mean `{near[0]}`?" if near else f"known: {', '.join(names) or 'none'}"
    return ParameterError(f"unknown {what} `{name}` ({hint})")
