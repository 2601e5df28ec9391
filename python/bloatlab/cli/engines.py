"""`engines`: each engine, whether it runs on this machine, and what the machine offers."""

from __future__ import annotations

import json
import sys
import textwrap
from collections.abc import Iterator, Mapping
from typing import Any

from bloatlab.cli.console import console
from bloatlab.cli.tables import Column, FittedTable
from bloatlab.engines.interface import Detailed
from bloatlab.engines.registry import ENGINES


def show_engines(*, as_json: bool) -> None:
    """Prints the engines of the package, and names of installed ones. Engines that are not built in are not imported."""
    found = [_described(name) for name in ENGINES]
    installed = ENGINES.installed()
    if as_json:
        sys.stdout.write(json.dumps({"engines": found, "installed": installed}) + "\n")
        return
    out = console()
    headings = ("engine", "runs here", "repeats", "at once", "what it is")
    table = FittedTable(
        [Column(heading, whole=heading != "what it is") for heading in headings],
        notes=["repeats: equal scenario and seed give equal results; at once: number of runs"],
    )
    for of in found:
        again = "yes" if of["reproducible"] else "no"
        once = "any" if of["concurrency"] is None else str(of["concurrency"])
        table.add(of["name"], "yes" if of["runs"] else "no", again, once, of["summary"])
    table.print(out)
    out.print()
    for line in _lines(found, out.width):
        out.print(line, soft_wrap=True)
    if installed:
        out.print(f"of installed packages: {', '.join(installed)}", soft_wrap=True)


def _described(name: str) -> dict[str, Any]:
    plugin = ENGINES[name]
    engine = plugin()
    why = engine.available()
    return {
        "name": name,
        "summary": (plugin.__doc__ or "").partition("\n")[0],
        "runs": why is None,
        "why": why,
        "version": engine.version(),
        "reproducible": engine.reproducible,
        "concurrency": engine.concurrency,
        "details": dict(engine.details()) if isinstance(engine, Detailed) else {},
    }


def _lines(found: list[dict[str, Any]], width: int) -> Iterator[str]:
    """Why engines do not run, and what the machine offers. Engines that say the same share their lines."""
    reasons: dict[str, list[str]] = {}
    details: dict[str, tuple[list[str], Mapping[str, Any]]] = {}
    for of in found:
        if of["why"] is not None:
            reasons.setdefault(of["why"], []).append(of["name"])
        if of["details"]:
            details.setdefault(json.dumps(of["details"]), ([], of["details"]))[0].append(of["name"])
    for why, names in reasons.items():
        verb = "does" if len(names) == 1 else "do"
        yield from textwrap.wrap(f"{' and '.join(names)} {verb} not run here: {why}", width, subsequent_indent="  ")
    for names, facts in details.values():
        yield f"{' and '.join(names)} on this machine:"
        for fact, value in facts.items():
            text = f"  {fact.replace('_', ' ')}: {_text(value)}"
            yield from textwrap.wrap(text, width, subsequent_indent="    ")


def _text(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_text(of)}" for name, of in value.items()) or "none"
    if isinstance(value, list):
        return ", ".join(map(_text, value)) or "none"
    if isinstance(value, bool) or value is None:
        return "yes" if value else "no"
    return str(value)
