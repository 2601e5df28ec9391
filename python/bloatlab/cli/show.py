"""`list`, `show`, `algorithms`."""

from __future__ import annotations

import json
import sys
from typing import Any

from bloatlab.cli.console import console
from bloatlab.engines import engine
from bloatlab.experiments import CATALOGUE, get


def show_catalogue() -> None:
    """Name and title of every experiment."""
    from rich.table import Table

    table = Table("experiment", "what it shows")
    for name, experiment in sorted(CATALOGUE.items()):
        table.add_row(name, f"{experiment.title}. {experiment.summary}")
    console().print(table)


def show_experiment(name: str) -> None:
    """Parameters, claims and figures of one experiment."""
    from rich.table import Table

    experiment = get(name)
    out = console()
    out.print(f"[bold]{experiment.name}[/]: {experiment.title}", soft_wrap=True)
    out.print(experiment.summary, soft_wrap=True)
    out.print(f"source: {experiment.source}", soft_wrap=True)
    table = Table(title="parameters (bloatlab run NAME --set key=value)")
    table.add_column("parameter", no_wrap=True)
    table.add_column("default", no_wrap=True)
    for heading in ("unit", "allowed", "published", "what it is"):
        table.add_column(heading)
    defaults = experiment.resolve({})
    for parameter in experiment.parameters:
        published = "" if parameter.published is None else _text(parameter.published)
        default = _text(defaults[parameter.name])
        table.add_row(parameter.name, default, parameter.unit, parameter.allowed, published, parameter.help)
    out.print(table)
    if experiment.claims:
        claims = Table(title="published values (bloatlab reproduce NAME)")
        claims.add_column("metric", no_wrap=True)
        claims.add_column("published", justify="right")
        claims.add_column("unit")
        claims.add_column("tolerance", justify="right")
        for claim in (*experiment.claims, *experiment.comparison):
            claims.add_row(claim.name, f"{claim.published:g}", claim.unit, claim.tolerance_text or "none stated")
        out.print(claims)
    out.print(f"figures: {', '.join(experiment.figures)}", soft_wrap=True)


def show_algorithms(*, as_json: bool) -> None:
    """Queues and congestion controls with their parameters."""
    text = engine().algorithms()
    if as_json:
        sys.stdout.write(text.rstrip() + "\n")
        return
    from rich.table import Table

    out = console()
    for key, title in (("queues", "queues"), ("congestion_controls", "congestion controls")):
        table = Table(title=title)
        table.add_column("kind", no_wrap=True)
        table.add_column("parameter", no_wrap=True)
        for heading in ("default", "allowed", "what it is"):
            table.add_column(heading)
        for description in json.loads(text)[key]:
            table.add_row(f"[bold]{description['kind']}[/]", "", "", "", _about(description))
            for parameter in description["parameters"]:
                kinds = [parameter.get("range"), parameter.get("type"), parameter.get("unit")]
                allowed = ", ".join(str(part) for part in kinds if part)
                table.add_row("", parameter["name"], _text(parameter.get("default")), allowed, parameter["description"])
            table.add_section()
        out.print(table)


def _about(description: dict[str, Any]) -> str:
    aliases = description.get("aliases")
    also = f" Also: {', '.join(aliases)}." if aliases else ""
    return f"{description['summary']} ({description['source']}){also}"


def _text(value: Any) -> str:
    if value is None:
        return "-"
    return value if isinstance(value, str) else json.dumps(value)
