"""The grid of sRTT over time by queue and link scenario: its order, its empty panels, and its long series."""

from __future__ import annotations

import json

import polars as pl
import pytest

from bloatlab.figures import draw, registry, sweep
from bloatlab.figures.charts.srtt_grid import left_out, placed, spans


def _tables(queues: list[str], scenarios: list[str], seeds: int = 1) -> dict[str, pl.DataFrame]:
    runs, parameters, flows, links = [], [], [], []
    times = [round(0.1 * tick, 1) for tick in range(1, 301)]
    for scenario in scenarios:
        for queue in queues:
            for seed in range(seeds):
                run = f"{scenario}-{queue}-{seed}"
                runs.append({"run_id": run, "seed": seed, "status": "done"})
                parameters += [
                    {"run_id": run, "name": name, "value": json.dumps(value)}
                    for name, value in (("queue", queue), ("scenario", scenario), ("rtt", "500us"))
                ]
                for flow in ("iperf_1", "iperf_2"):
                    flows += [
                        {"run_id": run, "time_s": time, "flow": flow, "srtt_ms": 10.0 + 40.0 * (time == 15.0)}
                        for time in times
                    ]
                links += [{"run_id": run, "time_s": time, "rate_mbps": 3000.0} for time in times]
    return {
        "runs": pl.DataFrame(runs),
        "parameters": pl.DataFrame(parameters),
        "metrics": pl.DataFrame(
            schema={"run_id": pl.String, "scope": pl.String, "metric": pl.String, "value": pl.Float64}
        ),
        "flow_series": pl.DataFrame(flows),
        "link_series": pl.DataFrame(links),
        "given": sweep.given({"scenario": [["sl", "lb"]], "queue": [["pie", "codel"]]}),
    }


@pytest.mark.parametrize("width", [900, 360])
def test_the_grid_is_valid_and_light(width: int) -> None:
    figure = registry.find("srtt_grid")
    tables = _tables(["codel", "pie", "zfifo"], ["lb", "sl"], seeds=2)
    assert figure.applicable(tables)
    spec = figure(tables, width=width).to_dict(validate=True)
    # A rate and three queues for each scenario.
    if width == 900:
        assert (spec["columns"], len(spec["concat"])) == (2, 8)
    else:
        assert [(block["columns"], len(block["concat"])) for block in spec["vconcat"]] == [(1, 4), (1, 4)]
    assert sum(len(data) for data in spec["datasets"].values()) < 8 * 500
    said = json.dumps(spec)
    assert "static (sl)" in said
    assert "blocked (lb)" in said
    # The peak of one sample is kept.
    lines = [row["median"] for data in spec["datasets"].values() for row in data if "median" in row]
    assert max(lines) == 50.0


def test_the_grid_has_the_order_of_the_experiment_and_a_run_a_place() -> None:
    tables = _tables(["codel", "zfifo", "pie"], ["lb", "sl"], seeds=2)
    found = placed(tables)
    assert found.select("column", "row").rows() == [
        (column, row) for column in ("sl", "lb") for row in ("pie", "codel", "zfifo")
    ]
    assert all(run.endswith("-0") for run in found["run_id"])
    assert left_out(tables) == "A panel shows the first of its runs (12 runs in all)."
    assert left_out(_tables([f"q{n:02}" for n in range(12)], ["sl"])) == "The first 10 of 12 queues are drawn."
    assert placed({**tables, "parameters": tables["parameters"].filter(name="queue")}).is_empty()
    with pytest.raises(ValueError, match="srtt_grid"):
        draw("srtt_grid", {})


def test_a_place_without_a_run_stays_empty() -> None:
    tables = _tables(["pie", "codel"], ["sl", "lb"])
    del tables["given"]
    tables["runs"] = tables["runs"].filter(pl.col("run_id") != "lb-codel-0")
    assert placed(tables).select("column", "row").rows() == [("lb", "pie"), ("sl", "codel"), ("sl", "pie")]
    spec = registry.find("srtt_grid")(tables).to_dict(validate=True)
    # A rate and two queues in two columns; a panel has two layers.
    assert len(spec["concat"]) == 6
    drawn = {name for name, rows in spec["datasets"].items() if rows}
    full = [all(layer["data"]["name"] in drawn for layer in panel["layer"]) for panel in spec["concat"][2:]]
    assert full == [True, True, False, True]


def test_spans_keep_extremes() -> None:
    flows = pl.DataFrame({"time_s": [0.1, 0.2, 14.9, 15.0], "srtt_ms": [0.01, 5.0, 7.0, 9.0]})
    assert spans(flows, 15.0).rows() == [
        (0.05, 0.1, 0.1), (pytest.approx(0.15), 5.0, 5.0), (pytest.approx(14.85), 7.0, 7.0), (pytest.approx(14.95), 9.0, 9.0),
    ]  # fmt: skip
