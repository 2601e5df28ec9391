"""Makes the page of a results directory."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jinja2
import polars as pl
from markupsafe import Markup, escape

from bloatlab.analysis.ranked import Ranked, of_store, overall_of
from bloatlab.errors import StoreError
from bloatlab.experiments import suite_of
from bloatlab.experiments.weighing import EQUAL, Weights
from bloatlab.figures import bundle
from bloatlab.figures.policy import policy
from bloatlab.judges import MEANINGS
from bloatlab.metrics import every_definition
from bloatlab.report import (
    answers,
    current,
    metric_tables,
    site,
    verdict,
)
from bloatlab.report.beside import beside, shared
from bloatlab.report.commands import repeating
from bloatlab.report.drawing import Drawings
from bloatlab.report.experiment_view import experiment_view, facts, known_experiment
from bloatlab.report.figures import figures_of
from bloatlab.store import Store
from bloatlab.store.files import write_page
from bloatlab.visible import visible, with_units

if TYPE_CHECKING:
    from bloatlab.experiments.suite import Suite

NAME = "report.html"


def make_report(directory: Path | str, weights: Weights = EQUAL) -> Path:
    """Writes `report.html` into a results directory: one file that opens offline.

    Args:
        directory: The results directory, or its URL, to which the page is uploaded as well.
        weights: Weights of rankings.

    Returns:
        The path of the page on this machine.

    Raises:
        StoreError: There is no store, it is damaged or empty, or the page cannot be written.
    """
    store = Store(directory)
    store.fetch_files()
    with store.held():
        page = _make(store, weights)
    current.note(store.directory, page, weights)
    store.publish()
    return page


def page_of(directory: Path | str, weights: Weights = EQUAL) -> Path:
    """The page of a results directory. Makes it if it is missing or out of date."""
    store = Store(directory)
    return current.page(store.directory, weights) or make_report(directory, weights)


def _make(store: Store, weights: Weights) -> Path:
    from bloatlab.figures import source

    tables = source.stored(store)
    if tables["runs"].is_empty():
        raise StoreError(f"{store.directory}: holds no run, so there is nothing to report")
    names = tables["runs"]["experiment"].unique(maintain_order=True).to_list()
    suite = suite_of(names)
    if suite is not None:
        return _site(store, tables, suite, names, weights)
    drawings = Drawings()
    views = [
        experiment_view(
            store, drawings, tables, name, f"e{index + 1}", of_store(store, known_experiment(name), weights)
        )
        for index, name in enumerate(names)
    ]
    page = render(
        "report.html",
        drawings,
        views=views,
        definitions=_used_definitions(views),
        scopes=metric_tables.TITLES,
        grades=verdict.MEANING,
        compared=current.COMPARED if (store.directory / current.COMPARED).is_file() else "",
    )
    return write(store.directory / NAME, page)


def _site(store: Store, tables: Mapping[str, pl.DataFrame], suite: Suite, names: list[str], weights: Weights) -> Path:
    """Writes a page for each experiment, and their index."""
    from bloatlab.figures import source

    mine, others = shared(names)
    with beside(store.directory, others, weights.given) as process:
        ranked = {name: of_store(store, known_experiment(name), weights) for name in names}
        _members(store, tables, suite, {name: ranked[name] for name in mine})
    if process is None or process.returncode:
        # Whatever kept the other process from it, here the reason can be said.
        _members(store, tables, suite, {name: ranked[name] for name in others})
    ranking = overall_of(suite, ranked)
    drawings = Drawings()
    answer = answers.of_store(store, suite.name)
    figures = figures_of(drawings, source.of_overall(ranking), "o-", of_runs=True)
    done = dict(tables["runs"].filter(status="done")["experiment"].value_counts().iter_rows())
    pages = site.pages(suite, {name: (done.get(name, 0), ranked[name]) for name in names})
    whole = site.index(
        suite,
        pages,
        ranking,
        answer,
        figures,
        repeating(store.invocations()["command"].to_list()),
        facts(tables["runs"]),
    )
    return write(store.directory / site.INDEX, render("site.html", drawings, site=whole))


def make_members(directory: Path | str, names: Iterable[str], weights: Weights) -> None:
    """Writes the pages of these experiments of a suite, without its index."""
    from bloatlab.figures import source

    store = Store(directory)
    with store.held():
        tables = source.stored(store)
        suite = suite_of(tables["runs"]["experiment"].unique().to_list())
        if suite is None:
            raise StoreError(f"{store.directory}: its experiments belong to no suite")
        _members(store, tables, suite, {name: of_store(store, known_experiment(name), weights) for name in names})


def _members(
    store: Store, tables: Mapping[str, pl.DataFrame], suite: Suite, ranked: Mapping[str, Ranked | None]
) -> None:
    commands = repeating(store.invocations()["command"].to_list())
    for name, ranking in ranked.items():
        drawings = Drawings()
        view = replace(experiment_view(store, drawings, tables, name, "e1", ranking), commands=commands)
        page = render(
            "report.html",
            drawings,
            views=[view],
            definitions=_used_definitions([view]),
            scopes=metric_tables.TITLES,
            grades=verdict.MEANING,
            home=site.INDEX,
            suite=suite.name,
        )
        write(store.directory / site.page_of(name), page)


def _used_definitions(views: list[Any]) -> list[tuple[str, str, Any]]:
    """Definitions of the metrics on the page: scope, name, definition."""
    used = {
        (table.scope, row.name) for view in views for run in view.details for table in run.metrics for row in table.rows
    }
    return [(scope, name, what) for (scope, name), what in every_definition().items() if (scope, name) in used]


def render(template: str, drawings: Drawings, **values: Any) -> str:
    """Renders a page from a template, with the data of its figures and the script that draws them."""
    environment = _environment()
    vega = bundle.script() if drawings.tables else ""
    script, style = environment.globals["script"], environment.globals["style"]
    scripts = [text for text in (vega, str(script)) if text]
    allowed = policy(scripts, [str(style)])
    return environment.get_template(template).render(
        policy=allowed, vega=Markup(vega), tables=drawings.tables, **values
    )


@cache
def _environment() -> jinja2.Environment:
    loader = jinja2.PackageLoader("bloatlab.report")
    environment = jinja2.Environment(
        loader=loader, autoescape=True, trim_blocks=True, lstrip_blocks=True, finalize=_finalize
    )
    parts = [loader.get_source(environment, part)[0] for part in ("tables.js", "figures.js", "style.css")]
    environment.globals |= {
        "meanings": MEANINGS,
        "script": Markup('"use strict";\n' + "".join(parts[:2])),
        "style": Markup(parts[2]),
    }
    environment.filters["code"] = _code
    environment.filters["words"] = _words
    environment.filters["dotted"] = _dotted
    return environment


def _code(text: str) -> Markup:
    """A sentence of ours whose parts between backticks become code."""
    parts = re.split(r"`([^`]+)`", str(escape(visible(text))))
    # A command is copied, so its spaces stay as they are.
    return Markup(
        "".join(f"<code>{part}</code>" if index % 2 else with_units(part) for index, part in enumerate(parts))
    )


def _words(command: str) -> Markup:
    """A command whose words the page does not break at a hyphen."""
    return Markup(re.sub(r"(\S+)", r"<span>\1</span>", str(escape(visible(command)))))


def _dotted(heading: str) -> Markup:
    """A heading that may break after each dot of a path such as `dumbbell.queue.kind`."""
    return Markup(re.sub(r"(?<=\w)\.(?=[a-z_])", ".<wbr>", str(escape(visible(heading)))))


def _finalize(value: Any) -> Any:
    """Removes control characters from text of a store. Markup of the templates is left as it is."""
    return visible(value) if type(value) is str else value


def write(path: Path, page: str) -> Path:
    """Writes a page. Raises `StoreError` if it cannot, or if a page of another program has the same path."""
    write_page(path, page)
    return path
