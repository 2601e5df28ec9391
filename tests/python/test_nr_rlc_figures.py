"""Figures of a 5G RLC buffer: delay and loss over the load and the buffer, and the sojourn by flow."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

import synthetic
from bloatlab.figures import draw, sweep
from bloatlab.figures.charts import cell
from bloatlab.figures.charts.flow_sojourn import shown
from bloatlab.figures.parts import log_ticks
from specification import colours


def swept(*points: tuple[dict[str, str], float]) -> dict[str, pl.DataFrame]:
    """Tables of runs with these parameters, whose flows have this delay."""
    runs, parameters, metrics = [], [], []
    for number, (given, delay) in enumerate(points):
        run_id = f"run{number}"
        runs.append({"run_id": run_id, "seed": 42, "status": "done", "experiment": "nr-rlc"})
        parameters += [{"run_id": run_id, "name": name, "value": value} for name, value in given.items()]
        for flow, packets in (("mice", 10.0), ("elephant", 1000.0)):
            values = {
                "tx_packets": packets, "dropped_aqm": packets / 10, "dropped_overflow": packets / 10, "residue": packets / 2,
                "mean_delay": delay,
            }  # fmt: skip
            metrics += [("flow", flow, name, value) for name, value in values.items()]
        metrics.append(("link", "ue_1", "max_sojourn", 2 * delay))
        metrics = [(run_id, *row) if len(row) == 4 else row for row in metrics]
    columns = ["run_id", "scope", "entity", "metric", "value"]
    return {
        "runs": pl.DataFrame(runs),
        "parameters": pl.DataFrame(parameters),
        "metrics": pl.DataFrame(metrics, schema=columns, orient="row").with_columns(unit=pl.lit("")),
    }


LOADS = [
    ({"lambda": str(packets), "queue": f'"{queue}"', "buffer": '"999999999B"'}, delay)
    for queue, factor in (("tail", 2), ("codel", 1))
    for packets, delay in ((15_000, 9 * factor), (20_000, 900 * factor))
]


def drawn_values(spec: dict[str, Any]) -> list[tuple[str, float, float]]:
    data = [row for rows in spec["datasets"].values() for row in rows]
    return sorted({(row["series"], row["x"], row["value"]) for row in data})


def test_a_family_differs_in_one_parameter_and_the_queue() -> None:
    tables = swept(
        *LOADS,
        ({"lambda": "20000", "queue": '"tail"', "buffer": '"10MB"'}, 7.0),
        ({"lambda": "20000", "queue": '"pie"', "buffer": '"999999999B"'}, 7.0),
        ({"lambda": "null", "queue": '"tail"', "buffer": '"999999999B"'}, 7.0),
    )
    family = cell.family(tables, "lambda")
    # Neither another buffer, nor a queue at one load, nor TCP.
    assert set(family["run_id"]) == {"run0", "run1", "run2", "run3"}
    assert family.filter(flow="mice").select("series", "x", "longest").rows() == [
        ("codel", 15_000, 18.0), ("codel", 20_000, 1800.0), ("tail", 15_000, 36.0), ("tail", 20_000, 3600.0),
    ]  # fmt: skip
    assert cell.family(tables, "rlc").is_empty()
    assert cell.family(swept(LOADS[0]), "lambda").is_empty()


def test_flows_of_several_ues_are_one_panel_with_their_mean() -> None:
    tables = swept(*LOADS)
    ues = tables["metrics"].with_columns(pl.col("entity").replace({"mice": "mice_1", "elephant": "elephant_1"}))
    # The second UE has three times the delay of the first.
    waits = pl.col("metric").is_in(["mean_delay", "max_sojourn"])
    longer = pl.when(waits).then(3 * pl.col("value")).otherwise(pl.col("value")).alias("value")
    second = ues.with_columns(pl.col("entity").str.replace("_1$", "_2"), longer)
    several = {**tables, "metrics": pl.concat([ues, second])}
    assert set(cell.family(several, "lambda")["flow"]) == {"mice", "elephant"}
    assert cell.family(several, "lambda").filter(pl.col("series") == "codel")["longest"].unique().sort().to_list() == [
        54,
        5400,
    ]
    assert drawn_values(draw("load_delay", several).to_dict(validate=True)) == [
        ("codel", 15000, 18),
        ("codel", 20000, 1800),
        ("tail", 15000, 36),
        ("tail", 20000, 3600),
    ]


def test_delay_and_loss_over_the_load() -> None:
    tables = swept(*LOADS)
    delay = draw("load_delay", tables).to_dict(validate=True)
    assert drawn_values(delay) == [
        ("codel", 15000, 9),
        ("codel", 20000, 900),
        ("tail", 15000, 18),
        ("tail", 20000, 1800),
    ]
    # The legend has the order of the user.
    given = sweep.given({"queue": [["tail", "codel"]]})
    assert list(colours(draw("load_delay", {**tables, "given": given}).to_dict())) == ["tail", "codel"]
    loss = draw("load_loss", tables).to_dict(validate=True)
    # A fifth dropped and, apart from it, half still under way.
    assert {value for _, _, value in drawn_values(loss)} == {20.0, 50.0}
    assert len(loss["vconcat"]) == 2
    assert len(draw("load_loss", tables, width=360).to_dict()["vconcat"]) == 4


def test_delay_over_the_buffer_is_logarithmic_both_ways() -> None:
    tables = swept(
        *(({"buffer": f'"{size}"', "queue": '"tail"', "lambda": "30000"}, delay) for size, delay in
          (("10MB", 400.0), ("100000000B", 2200.0), ("999999999B", 2300.0)))
    )  # fmt: skip
    spec = draw("buffer_delay", tables).to_dict(validate=True)
    panels = spec["vconcat"][0]["hconcat"]
    assert len(panels) == 3
    scales = [panel["layer"][0]["encoding"][axis]["scale"]["type"] for panel in panels for axis in "xy"]
    assert set(scales) == {"log"}
    assert {x for _, x, _ in drawn_values(spec)} == {10.0, 100.0, 1000.0}


def test_a_proportional_delay_is_a_straight_line() -> None:
    tables = swept(
        *(({"buffer": f'"{size}MB"', "queue": '"tail"', "lambda": "30000"}, 41.0 * size) for size in range(10, 110, 10))
    )
    panels = draw("buffer_delay", tables).to_dict(validate=True)["vconcat"][0]["hconcat"]
    # Both axes are linear, although the delays span a decade.
    assert {panel["layer"][0]["encoding"]["x"]["scale"]["type"] for panel in panels} == {"linear"}
    assert not [panel for panel in panels if panel["layer"][0]["encoding"]["y"]["scale"].get("type") == "log"]


@pytest.mark.parametrize(
    ("low", "high", "ticks"),
    [
        (400, 2300, [200, 500, 1000, 2000, 5000]),
        (9, 3000, [1, 10, 100, 1000, 10000]),
        (1, 10, [1, 2, 5, 10]),
    ],
)
def test_ticks_of_a_logarithmic_axis(low: float, high: float, ticks: list[float]) -> None:
    assert log_ticks(low, high) == pytest.approx(ticks)


def test_sojourn_by_flow_over_time_and_as_a_distribution() -> None:
    tables = synthetic.run_tables(["newreno", "cubic"])
    assert not shown(tables)
    flows = tables["flow_series"].with_columns(sojourn_ms=pl.col("srtt_ms") - 15)
    waits = pl.DataFrame(
        {
            "scope": "flow", "name": ["flow_1", "flow_1", "flow_2"], "quantity": "sojourn", "lower": [0.0, 50.0, 1.0],
            "upper": [1.0, 60.0, 2.0], "weight": [30.0, 10.0, 5.0],
        }
    )  # fmt: skip
    tables = {**tables, "flow_series": flows, "histograms": waits}
    assert shown(tables)
    spec = draw("flow_sojourn", tables).to_dict(validate=True)
    shares = [row for rows in spec["datasets"].values() for row in rows if "share" in row]
    assert [(row["value"], row["share"]) for row in shares if row["label"].startswith("flow_1")] == [
        (0.01, 0), (1, 0.75), (60, 1),
    ]  # fmt: skip
    assert [(row["value"], row["share"]) for row in shares if row["label"].startswith("flow_2")] == [(1, 0), (2, 1)]
    alone = synthetic.run_tables(["cubic"])
    assert not shown({**alone, "flow_series": alone["flow_series"].with_columns(sojourn_ms=pl.lit(1.0))})
