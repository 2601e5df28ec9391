"""`list`, `show`, `algorithms`, and the figures of a results directory."""

from __future__ import annotations

import itertools
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from bloatlab import language
from bloatlab.cli.console import console, say
from bloatlab.cli.tables import Column, FittedTable
from bloatlab.errors import unknown
from bloatlab.experiments import CATALOGUE, Parameter, get
from bloatlab.experiments.base import Experiment, plain
from bloatlab.experiments.groups import grouped
from bloatlab.store import Store
from bloatlab.store.remote import Place, shown
from bloatlab.visible import visible

if TYPE_CHECKING:
    from rich.console import Console


def show_catalogue(*, as_json: bool) -> None:
    """Prints name and title of every experiment, in groups. Experiments of installed packages are not imported."""
    groups, installed = grouped(CATALOGUE), CATALOGUE.installed()
    if as_json:
        listed = [
            {"name": name, "group": title, "title": CATALOGUE[name].title, "summary": CATALOGUE[name].summary}
            for title, names in groups.items()
            for name in names
        ]
        sys.stdout.write(json.dumps({"experiments": listed, "installed": installed}) + "\n")
        return
    for title, names in groups.items():
        print(f"{title}:")
        width = max(map(len, names))
        for name in names:
            print(f"  {name:{width}}  {CATALOGUE[name].title}")
        print()
    if installed:
        print("Of installed packages:")
        for name in installed:
            print(f"  {visible(name)}")
        print()
    print("`bloatlab show NAME` describes an experiment, `bloatlab run NAME` runs it.")


def show_figures(place: Place, run_id: str | None, *, as_json: bool) -> None:
    """Prints the figures that can be drawn of a results directory.

    Args:
        place: Results directory, or its URL.
        run_id: Run for the figures that show one run; absent: the first.
        as_json: Print JSON.

    Raises:
        StoreError: There is no finished run.
    """
    from bloatlab.cli.figure import drawable, first_run
    from bloatlab.figures import of_run, of_runs

    store = Store(place)
    drawn = drawable(of_runs(store), of_run(store, run_id or first_run(store)))
    if as_json:
        listed = [
            {"name": of.name, "title": of.title, "of": "runs" if of.of_runs else "run", "caption": of.caption}
            for of in drawn
        ]
        sys.stdout.write(json.dumps({"figures": listed}) + "\n")
        return
    width = max((len(of.name) for of in drawn), default=0)
    for title, of_runs_ in (("Of one run (--run RUN)", False), ("Of all runs", True)):
        print(f"{title}:")
        for of in (figure for figure in drawn if figure.of_runs is of_runs_):
            print(f"  {of.name:{width}}  {of.title}")
        print()
    print(f"bloatlab figure {shown(place)} NAME -o NAME.svg saves one.")


def show_experiment(name: str, *, as_json: bool) -> None:
    """Parameters, claims and figures of one experiment."""
    experiment = get(name, may_import=True)
    if as_json:
        sys.stdout.write(json.dumps(_described(experiment)) + "\n")
    else:
        _print_experiment(experiment)


def _described(experiment: Experiment) -> dict[str, Any]:
    """An experiment as JSON."""
    defaults = experiment.resolve({})
    return {
        "name": experiment.name,
        "title": experiment.title,
        "summary": experiment.summary,
        "source": experiment.source,
        "parameters": [
            {
                "name": of.name,
                "default": plain(defaults[of.name]),
                "unit": of.unit,
                "allowed": of.allowed,
                "published": plain(of.published),
                "meaning": of.help,
            }
            for of in experiment.parameters
        ],
        "claims": [
            {
                "name": claim.name,
                "kind": claim.kind,
                "published": claim.published,
                "bound": claim.bound or None,
                "unit": claim.unit,
                "tolerance": claim.tolerance,
                "needs": claim.needs or None,
                "source": claim.source,
            }
            for claim in (*experiment.claims, *experiment.comparison)
        ],
        "axes": {name: [plain(value) for value in values] for name, values in experiment.axes().items()},
        "replications": experiment.replications,
        "measures": dict(experiment.measures),
        "figures": list(experiment.figures),
    }


def _print_experiment(experiment: Experiment) -> None:
    from rich.text import Text

    out = console()
    out.print(Text.assemble((experiment.name, "bold"), f": {experiment.title}"))
    out.print(experiment.summary)
    out.print(f"source: {experiment.source}")
    table = FittedTable(
        [Column("parameter", whole=True), Column("default"), Column("meaning")],
        "parameters (bloatlab run NAME --set key=value)",
    )
    defaults = experiment.resolve({})
    for parameter in experiment.parameters:
        table.add(parameter.name, _text(defaults[parameter.name]), "\n".join(_meaning(parameter)))
    out.print()
    table.print(out)
    out.print()
    if experiment.claims:
        claims = FittedTable(
            [
                Column("claim" if experiment.cases else "metric"),
                Column("kind"),
                Column("published", right=True),
                Column("unit"),
                Column("tolerance"),
            ],
            "published values (bloatlab reproduce NAME)",
        )
        for claim in (*experiment.claims, *experiment.comparison):
            judged = claim.tolerance_text or ("" if claim.bound else "none stated")
            judged += f"{', ' if judged else ''}needs {claim.needs}" if claim.needs else ""
            claims.add(claim.name, claim.kind, claim.published_text, claim.unit, judged)
        claims.print(out)
        if experiment.fitted:
            out.print(experiment.fitted)
        out.print()
    if axes := experiment.axes():
        times = f", {experiment.replications} runs per point" if experiment.replications > 1 else ""
        out.print(f"swept unless set: {', '.join(axes)}{times}")
    out.print(f"figures: {', '.join(experiment.figures)}")


def _meaning(parameter: Parameter) -> Iterator[str]:
    """What a parameter is, what is allowed, and the value of the source."""
    yield parameter.help
    unit = f"; unit: {parameter.unit}" if parameter.unit else ""
    yield f"allowed: {parameter.allowed}{unit}"
    if parameter.published is not None:
        yield f"published: {_text(parameter.published)}"


def show_algorithms(names: Sequence[str], *, as_json: bool) -> None:
    """Prints queues and congestion controls, one per line. With names, prints these with their parameters.

    Raises:
        ParameterError: Nobody knows a name.
    """
    catalogue = json.loads(language.algorithms())
    if names:
        catalogue = _named(catalogue, names)
    if as_json:
        sys.stdout.write(json.dumps(catalogue) + "\n")
        return
    out = console()
    if names:
        for description in itertools.chain(*catalogue.values()):
            _show_algorithm(out, description)
        return
    for key, descriptions in catalogue.items():
        table = FittedTable([Column("kind", whole=True), Column("meaning"), Column("also")], key.replace("_", " "))
        for description in descriptions:
            table.add(description["kind"], description["summary"], "\n".join(description["aliases"]))
        table.print(out)
        out.print()
    say(out, "bloatlab algorithms NAME shows its parameters.")


def _named(catalogue: Mapping[str, list[Any]], names: Sequence[str]) -> dict[str, list[Any]]:
    """The algorithms with these names or aliases, in the order of the registry."""
    known = {
        name: description["kind"]
        for descriptions in catalogue.values()
        for description in descriptions
        for name in (description["kind"], *description["aliases"])
    }
    for name in names:
        if name not in known:
            raise unknown("algorithm", name, known)
    wanted = {known[name] for name in names}
    return {
        key: [description for description in descriptions if description["kind"] in wanted]
        for key, descriptions in catalogue.items()
    }


def _show_algorithm(out: Console, description: Mapping[str, Any]) -> None:
    from rich.text import Text

    also = f" (also {', '.join(description['aliases'])})" if description["aliases"] else ""
    out.print(Text.assemble((description["kind"], "bold"), f"{also}: {description['summary']}"))
    if details := description.get("details"):
        out.print(details)
    say(out, f"source: {description['source']}")
    if elsewhere := description.get("elsewhere"):
        linux = elsewhere["linux"] or {"name": None}
        names = {"Linux": linux["name"], "ns-3": elsewhere["ns3"], "ns-2": elsewhere["ns2"]}
        known = ", ".join(f"{system}: {name}" for system, name in names.items() if name is not None)
        say(out, f"elsewhere: {known or 'none known'}")
    headings = ("parameter", "default", "allowed", "meaning")
    table = FittedTable([Column(heading, whole=heading == "parameter") for heading in headings])
    for parameter in description["parameters"]:
        kinds = [parameter.get("range"), parameter.get("type"), parameter.get("unit")]
        allowed = ", ".join(str(part) for part in kinds if part)
        table.add(parameter["name"], _text(parameter.get("default")), allowed, parameter["description"])
    if description["parameters"]:
        table.print(out)
    out.print()


def _text(value: Any) -> str:
    if value is None:
        return "-"
    return value if isinstance(value, str) else json.dumps(value)
