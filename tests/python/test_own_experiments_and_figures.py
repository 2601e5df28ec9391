"""A user's own experiment and figure: from a module or an installed package, and only where the user names it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import polars as pl
import pytest

import bloatlab as bl
from bloatlab import cli, figures
from bloatlab.errors import ParameterError
from bloatlab.experiments import CATALOGUE, Experiment, get
from bloatlab.loading import AllowedPlugins
from bloatlab.report import make_report
from bloatlab.store import Store
from bloatlab.sweeps.document import Plan

MODULE = '''
from pathlib import Path

import altair as alt
from bloatlab.experiments import Experiment, Parameter, parameters
from bloatlab.figures import as_figure

with Path("imported").open("a") as file:
    file.write("x")


class Ours(Experiment):
    """One flow through a queue."""

    name = "ours"
    title = "One flow"
    summary = "How long is the queue of one flow?"
    source = "none"
    parameters = (Parameter("queue", "fifo", "", "a queue", "the queue", parameters.algorithm("queues")),)

    def scenario(self, params):
        return {
            "duration": "1s",
            "dumbbell": {"rate": "1Mbit/s", "rtt": "10ms", "queue": params["queue"]},
            "flows": [{"cca": "newreno"}],
        }


class Named(Ours):
    """As a published one."""

    name = "deep-buffers"


class Unfinished(Experiment):
    """Without anything."""

    name = "unfinished"


@as_figure(title="Sums", caption="The sum of a column.", needs=("flow_series",))
def sums(tables, *, width):
    """A bar."""
    total = float(tables["flow_series"]["srtt_ms"].sum())
    return alt.Chart(alt.InlineData(values=[{"total": total}]), width=width).mark_bar().encode(x="total:Q")
'''
ENTRY_POINTS = """
[bloatlab.experiments]
packaged = users_experiments:Ours
broken = users_experiments:Missing

[bloatlab.figures]
packaged_sums = users_experiments:sums
"""
PLAN = 'experiment = "users_experiments:Ours"\n[axes]\nqueue = ["fifo", "codel"]\n'


@pytest.fixture(autouse=True)
def _own(fake: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    Path("users_experiments.py").write_text(MODULE)
    Path("plan.toml").write_text(PLAN)
    yield
    forget()


def imported() -> bool:
    return Path("imported").exists()


def forget() -> None:
    """As in a new process."""
    for registry in (CATALOGUE, figures.REGISTRY):
        for name in set(registry._found) - set(registry._homes):
            del registry._found[name]
    sys.modules.pop("users_experiments", None)
    Path("imported").unlink(missing_ok=True)


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A package with entry points, as a package manager installs it."""
    package = Path("site")
    (package / "users_package-1.0.dist-info").mkdir(parents=True)
    (package / "users_package-1.0.dist-info" / "METADATA").write_text("Name: users-package\nVersion: 1.0\n")
    (package / "users_package-1.0.dist-info" / "entry_points.txt").write_text(ENTRY_POINTS)
    Path("users_experiments.py").rename(package / "users_experiments.py")
    monkeypatch.syspath_prepend(str(package.absolute()))


Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    def command(*arguments: str) -> tuple[int, str, str]:
        code = cli.command(list(arguments))
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return command


def test_an_experiment_of_a_module_runs_is_shown_and_is_read_without_its_module(run: Run) -> None:
    assert run("show", "users_experiments:Ours")[0] == 0
    code, out, err = run("run", "users_experiments:Ours", "--sweep", "queue=fifo,codel", "--out", "results")
    assert (code, err) == (0, "")
    assert "ours" in out
    assert "How long is the queue of one flow?" in Path("results/report.html").read_text()
    forget()
    store = Store("results")
    assert store.runs()["experiment"].unique().to_list() == ["ours"]
    assert set(figures.of_runs(store)) == {"runs", "parameters", "metrics", "given", "bottlenecks", "claims"}
    assert "ours" in make_report("results").read_text()
    assert run("figure", "results", "comparison", "--out", "x.svg")[0] == 0
    assert run("compare", "results", "--by", "queue=fifo,codel")[0] == 0
    assert not imported()


def test_an_experiment_of_an_installed_package_is_listed_without_an_import(run: Run, installed: None) -> None:
    code, out, _ = run("list")
    assert code == 0
    assert "packaged" in out
    assert not imported()
    with pytest.raises(ParameterError, match="did you mean `packaged`"):
        get("pakaged")
    assert not imported()
    assert run("run", "packaged", "--out", "results")[0] == 0
    assert imported()
    with pytest.raises(ParameterError, match=r"`broken`: cannot be imported \(AttributeError"):
        get("broken", may_import=True)


def test_a_plan_that_names_an_experiment_outside_the_package_needs_permission(run: Run) -> None:
    code, _, err = run("sweep", "plan.toml", "--dry-run")
    assert code == 2
    assert (
        "importing the experiment `users_experiments:Ours` would run its code; allow that with --allow-plugins" in err
    )
    with pytest.raises(ParameterError, match="--allow-plugins"):
        bl.sweep(Plan(experiment="users_experiments:Ours"), out="results")
    assert not imported()
    plan = Plan(experiment="users_experiments:Ours")
    assert len(plan.runs(plan.source(AllowedPlugins(all=True)))) == 1
    assert run("sweep", "plan.toml", "--allow-plugins", "--out", "results")[0] == 0
    assert Store("results").runs().height == 2


def test_a_plan_that_names_an_entry_point_needs_permission(installed: None) -> None:
    with pytest.raises(ParameterError, match="importing the experiment `packaged` would run"):
        Plan(experiment="packaged").source()
    assert not imported()


def test_python_takes_the_reference_or_the_class() -> None:
    assert bl.run("users_experiments:Ours", queue="codel").experiment == "ours"
    from users_experiments import Ours

    assert bl.run(Ours, out="results").experiment == "ours"
    assert Store("results").invocations()["command"].to_list() == ["bloatlab.run('users_experiments:Ours')"]


def test_names_stay_the_packages_and_what_is_missing_is_said() -> None:
    with pytest.raises(ParameterError, match="has the name of bloatlab's experiment `deep-buffers`"):
        get("users_experiments:Named", may_import=True)
    with pytest.raises(ParameterError, match="the class has no `title`, `summary`, `source`, `parameters`"):
        get("users_experiments:Unfinished", may_import=True)
    with pytest.raises(ParameterError, match=r"is not a subclass of bloatlab\.experiments\.Experiment"):
        get("users_experiments:sums", may_import=True)
    with pytest.raises(ParameterError, match="`users_experiments:Nobody`: cannot be imported"):
        get("users_experiments:Nobody", may_import=True)
    assert type(get("deep-buffers")).__module__ == "bloatlab.experiments.deep_buffers"


def test_a_figure_of_a_module_is_drawn_and_saved(run: Run) -> None:
    bl.run("deep-buffers", out="results", stop="1s")
    code, out, err = run("figure", "results", "users_experiments:sums", "--out", "sums.svg")
    assert (code, err) == (0, "")
    assert Path(out.strip()).read_text().startswith("<svg")
    with pytest.raises(ParameterError, match="is not a figure; decorate its function"):
        figures.draw("users_experiments:Ours", {})


def test_a_figure_of_an_installed_package_is_drawn(installed: None) -> None:
    tables = {"flow_series": pl.DataFrame({"srtt_ms": [1.0, 2.0]})}
    assert "packaged_sums" in figures.REGISTRY.installed()
    assert not imported()
    assert figures.draw("packaged_sums", tables).to_dict()["datasets"].popitem()[1] == [{"total": 3.0}]
    with pytest.raises(ParameterError, match=r"figure `packaged_sums` cannot be drawn: it needs values in flow_series"):
        figures.draw("packaged_sums", {})


def test_the_base_class_is_no_experiment() -> None:
    with pytest.raises(ParameterError, match="the class has no `name`"):
        get(Experiment)
