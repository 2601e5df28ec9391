"""Set-ups that several engines ran: one engine answers, and the page has the results of all beside each other."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import polars as pl
import pytest

import fluid_engine
from bloatlab import cli
from bloatlab.figures import engines
from bloatlab.report import answers
from bloatlab.store import Store
from conftest import REAL
from fluid_engine import LIVE, TWO_FLOWS

needs_core = pytest.mark.skipif(not REAL, reason="bloatlab._core is not built")


def simulate(out: str, engine: str) -> None:
    Path("two.toml").write_text(TWO_FLOWS)
    fluid_engine.Live.doubts = None
    given = ("--out", out, "--replications", "2", "--engine", engine, "--sweep", "dumbbell.rtt=20ms,40ms", "--json")
    assert cli.command(["simulate", "two.toml", *given]) == 0


def page(directory: str) -> str:
    assert cli.command(["report", directory]) == 0
    return (Path(directory) / "report.html").read_text(encoding="utf-8").replace("\N{NO-BREAK SPACE}", " ")


@needs_core
def test_the_simulator_answers_and_the_page_has_both() -> None:
    simulate("alone", "sim")
    # The engine that ran first is not the one that answers.
    simulate("both", LIVE)
    simulate("both", "sim")
    both, alone = Store("both"), Store("alone")
    assert both.main_engine("two-flows") == "sim"
    assert answers.of_store(both, "two-flows") == answers.of_store(alone, "two-flows")
    found = page("both")
    assert "Also made by the engine live (" in found
    assert "those of sim." in found
    section = found.split('id="e1-engines"')[1].split("</section>")[0]
    assert "sim and live ran the same 2 set-ups." in section
    # One time series for the set-up of each run in detail.
    assert len(re.findall(r"<h3>an RTT of \d0 ms</h3>", section)) == 2
    assert "Each cell: sim / live;" in section
    assert "Engines side by side" not in page("alone")


@needs_core
def test_the_quotients_are_those_of_the_means() -> None:
    simulate("both", "sim")
    simulate("both", LIVE)
    store = Store("both")
    values = store.metrics("link", "utilization").join(store.runs(), on="run_id").with_columns(100 * pl.col("value"))
    assert values["entity"].unique().to_list() == ["bottleneck"]
    means = values.group_by("point", "engine").agg(pl.col("value").mean())
    quotients = [
        float(
            means.filter(point=point, engine="live")["value"][0] / means.filter(point=point, engine="sim")["value"][0]
        )
        for point in values["point"].unique()
    ]
    section = page("both").split('id="e1-engines"')[1].split("</section>")[0]
    row = next(part for part in section.split("<tr>") if "bottleneck utilization" in part and "live / sim" in part)
    for number in (sum(quotients) / 2, min(quotients), max(quotients)):
        assert f">{number:.3f}<" in row


@dataclass
class Points:
    """A store with these points."""

    given: list[tuple[int, str]]

    def points(self) -> pl.DataFrame:
        return pl.DataFrame(self.given, {"point": pl.Int64, "parameters": pl.String}, orient="row")


def placed(points: list[tuple[int, str]], runs: list[tuple[str, str, int]]) -> list[int]:
    frame = pl.DataFrame(runs, {"experiment": pl.String, "engine": pl.String, "point": pl.Int64}, orient="row")
    found = engines.by_set_up(Points(points), frame)  # type: ignore[arg-type]
    assert found.columns == frame.columns
    assert found["engine"].to_list() == frame["engine"].to_list()
    return found["point"].to_list()


def test_engines_with_their_own_scenarios_share_a_set_up() -> None:
    points = [(1, '{"maxq":5}'), (2, '{"maxq":20}'), (3, '{"maxq":5}')]
    runs = [("a", "sim", 1), ("a", "sim", 2), ("a", "linux", 3), ("a", "linux", 3)]
    assert placed(points, runs) == [1, 2, 1, 1]


def test_two_scenarios_of_an_engine_stay_apart() -> None:
    points = [(1, "{}"), (2, "{}"), (3, "{}")]
    assert placed(points, [("mine", "sim", 1), ("mine", "sim", 2), ("mine", "linux", 3)]) == [1, 2, 3]
    assert placed(points, [("mine", "sim", 1), ("other", "linux", 2)]) == [1, 2]


def test_defaults_that_depend_on_the_engine_do_not_part_a_set_up() -> None:
    points = [(1, '{"cca":"newreno","qlen":"80p"}'), (2, '{"cca":"reno","qlen":"80p"}')]
    runs = [("deep-buffers", "sim", 1), ("deep-buffers", "linux", 2)]
    assert placed(points, runs) == [1, 1]
    # With several values, the value counts.
    more = [*points, (3, '{"cca":"bbr","qlen":"80p"}'), (4, '{"cca":"bbr","qlen":"80p"}')]
    assert placed(more, [*runs, ("deep-buffers", "sim", 3), ("deep-buffers", "linux", 4)]) == [1, 2, 3, 3]
