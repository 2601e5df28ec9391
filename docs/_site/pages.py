"""Pages of the documentation site that are made when it is built, from the package's own catalogues.

MkDocs calls the functions `on_*` (mkdocs.yml, `hooks`). The pages are Jinja templates in `templates`.
"""

from __future__ import annotations

import posixpath
import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import notebooks
from examples import drawn
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

import bloatlab
from bloatlab import figures, metrics
from bloatlab.experiments import CATALOGUE

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
OUTSIDE = {
    "index.md": "README.md",
    "CONTRIBUTING.md": "CONTRIBUTING.md",
    "CHANGELOG.md": "CHANGELOG.md",
    "fuzzing.md": "fuzz/README.md",
}
"""Pages of the site whose file is outside docs/: address in the site, path in the repository."""
MODULES = {"bloatlab.analysis.aggregate", "bloatlab.statistics.intervals", "bloatlab.calculators", "bloatlab.traces"}
"""Modules that the documentation uses, besides those that `import bloatlab` offers."""
WORD = re.compile(r"\w+")
LINK = re.compile(r"(?<=\]\()(?![a-z]+:|#)([^)#\s]+)")


def _cell(value: object) -> str:
    """Text that does not end its cell of a table."""
    return " ".join(str(value).split()).replace("|", "\\|")


@cache
def _templates() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=False,
    )
    environment.filters["cell"] = _cell
    return environment


def _render(template: str, **values: Any) -> str:
    return _templates().get_template(template).render(**values)


def _experiments() -> Iterator[tuple[str, str]]:
    for name, experiment in CATALOGUE.items():
        yield f"{name}.md", _render("experiment.md", experiment=experiment, defaults=experiment.resolve({}))
    yield "index.md", _render("experiments.md", experiments=CATALOGUE.values())


def _figures() -> Iterator[tuple[str, str]]:
    used = defaultdict(list)
    for experiment in CATALOGUE.values():
        for name in experiment.figures:
            used[name].append(experiment.name)
    for name, figure in figures.REGISTRY.items():
        example, _ = drawn().get(name, ("", ""))
        yield f"{name}.md", _render("figure.md", figure=figure, experiments=used[name], example=example)
    yield "index.md", _render("figures.md", figures=figures.REGISTRY.values())


def _users() -> dict[str, list[str]]:
    """For each word in the names of claims' metrics and in the formulas of criteria: the experiments that use it."""
    used: dict[str, list[str]] = defaultdict(list)
    for experiment in CATALOGUE.values():
        texts = [claim.metric for claim in experiment.claims + experiment.comparison if isinstance(claim.metric, str)]
        texts += [criterion.formula for criterion in experiment.criteria]
        for word in sorted(set(WORD.findall(" ".join(texts)))):
            used[word].append(experiment.name)
    return used


def _metrics() -> Iterator[tuple[str, str]]:
    scopes = defaultdict(list)
    for definition in metrics.definitions().values():
        scopes[definition.scope].append(definition)
    named = {
        name: [scope for scope, other in metrics.definitions() if other == name] for _, name in metrics.definitions()
    }
    used = _users()
    for scope, definitions in scopes.items():
        for definition in definitions:
            name = definition.name
            others = [other for other in named[name] if other != scope]
            page = _render("metric.md", scope=scope, definition=definition, others=others, experiments=used[name])
            yield f"{scope}/{name}.md", page
        yield f"{scope}/index.md", _render("metrics_of_scope.md", scope=scope, definitions=definitions)
    yield "index.md", _render("metrics.md", scopes=scopes)


def _python() -> Iterator[tuple[str, str]]:
    modules = {
        name: import_module(name).__doc__ or ""
        for name in sorted({f"bloatlab.{m}" for m in bloatlab._MODULES} | MODULES)
    }
    for module in modules:
        yield f"{module}.md", _render("module.md", module=module)
    functions_first = sorted(bloatlab.__all__, key=lambda name: (name[0].isupper(), name))
    yield "index.md", _render("python.md", names=functions_first, errors=sorted(bloatlab._CORE), modules=modules)


PARTS = {
    "notebooks": notebooks.pages,
    "reference/experiments": _experiments,
    "reference/figures": _figures,
    "reference/metrics": _metrics,
    "reference/python": _python,
}


@cache
def _made() -> dict[str, str]:
    """Text of each page that is made here, by its address in the site."""
    pages = {f"{folder}/{name}": text for folder, make in PARTS.items() for name, text in make()}
    return pages | {"reference/index.md": _render("reference.md")}


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Replaces each folder of the navigation by its pages."""
    config.nav = _filled(config.nav)
    return config


def _filled(entry: Any) -> Any:
    if isinstance(entry, list):
        return [_filled(item) for item in entry]
    if isinstance(entry, dict):
        return {title: _filled(item) for title, item in entry.items()}
    return _pages(entry) if entry.endswith("/") else entry


def _pages(folder: str) -> list[str]:
    """Addresses of the pages in a folder and of the indexes of its folders; the one that lists the others comes first."""
    made = {path for path in _made() if path.startswith(folder)}
    found = {path for path in made if path.endswith("/index.md") or "/" not in path.removeprefix(folder)}
    found |= {path.relative_to(DOCS).as_posix() for path in (DOCS / folder).glob("*.md")}
    return sorted(found, key=lambda path: (path.removeprefix(folder) not in ("index.md", "README.md"), path))


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds the pages and images that are made here, and the pages whose file is outside docs/."""
    for address, text in _made().items():
        files.append(File.generated(config, address, content=text))
    for name, (_, image) in drawn().items():
        files.append(File.generated(config, f"reference/figures/images/{name}.svg", content=image))
    for address, path in OUTSIDE.items():
        files.append(File.generated(config, address, abs_src_path=str(ROOT / path)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Turns links between files of the repository into links between pages of the site."""
    here = page.file.src_uri
    if here in _made():
        return markdown
    source = OUTSIDE.get(here, f"docs/{here}")
    return LINK.sub(lambda link: _in_site(link[0], source, here), markdown)


def _in_site(link: str, source: str, page: str) -> str:
    """The link of a file as a link of its page.

    Args:
        link: As the file has it, with or without an anchor.
        source: Path of the file in the repository.
        page: Address of its page in the site.
    """
    path, hash_, anchor = link.partition("#")
    target = posixpath.normpath(posixpath.join(posixpath.dirname(source), path))
    addresses = {file: address for address, file in OUTSIDE.items()}
    address = addresses.get(target, target.removeprefix("docs/")).replace(".ipynb", ".md")
    return posixpath.relpath(address, posixpath.dirname(page) or ".") + hash_ + anchor
