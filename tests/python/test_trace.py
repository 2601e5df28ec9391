"""Traces: the commands and the functions that they call."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bloatlab import _core, cli, traces
from bloatlab.errors import ParameterError


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = cli.command(["trace", *arguments])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_make_info_plot_convert(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "lb.csv"
    code, out, _ = run(
        capsys, "make", "mmwave", "--set", "preset=lb", "--seed", "3", "--duration", "60s", "-o", str(file)
    )
    assert (code, out.strip()) == (0, str(file))
    assert len(file.read_text().splitlines()) == 200
    info = json.loads(run(capsys, "info", str(file), "--below", "2000Mbit/s", "--json")[1])
    assert (info["format"], info["entries"], round(info["seconds"], 9)) == ("rate_interval", 200, 60)
    assert info["least"] <= info["median"] <= info["most"]
    shown = run(capsys, "info", str(file), "--below", "2000Mbit/s")[1]
    assert f"{len(info['dips'])} dips below 2,000 Mbit/s" in shown
    for ending in ("svg", "png", "pdf"):
        figure = tmp_path / f"lb.{ending}"
        assert run(capsys, "plot", str(file), "-o", str(figure))[0] == 0
        assert figure.stat().st_size > 1000
    there, back = tmp_path / "there", tmp_path / "back"
    assert run(capsys, "convert", str(file), str(there), "--to", "time_rate", "--to-unit", "kbit/s")[0] == 0
    assert run(capsys, "convert", str(there), str(back), "--to", "rate_interval", "--unit", "kbit/s")[0] == 0
    assert back.read_text() == file.read_text()


def test_a_made_trace_is_what_a_run_of_that_seed_has() -> None:
    vary = {"kind": "random_walk", "min": "1Mbit/s", "max": "20Mbit/s", "sigma": "2Mbit/s", "interval": "100ms"}
    dumbbell = {"rate": "10Mbit/s", "rtt": "10ms", "vary": {"rate": vary}}
    document = {"duration": "5s", "dumbbell": dumbbell, "flows": [{"traffic": "ping"}]}
    series = _core.run(json.dumps(document), 11).tables()["link_series"]
    import polars as pl

    measured = pl.DataFrame(series).filter(pl.col("link").cast(pl.String) == "bottleneck")["rate_mbps"].to_list()
    parameters = {key: value for key, value in vary.items() if key != "kind"}
    made = traces.make("random_walk", parameters, seed=11, duration="5s", rate="10Mbit/s").tables()["trace"]
    assert measured == pytest.approx(made["rate_mbps"].to_list()[: len(measured)], rel=1e-6)


def test_formats_are_listed_and_documented(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    listed = json.loads(run(capsys, "formats", "--json")[1])
    assert {entry["name"] for entry in listed} == set(traces.formats())
    table = run(capsys, "formats")[1]
    page = (Path(__file__).parents[2] / "docs" / "traces.md").read_text()
    for entry in listed:
        assert entry["name"] in table
        assert f"| `{entry['name']}` | `{entry['example']}`" in page
    file = tmp_path / "trace"
    file.write_text("1\n2\n")
    code, out, err = run(capsys, "info", str(file), "--format", "mahimai")
    assert (code, out) == (2, "")
    assert err == "bloatlab: unknown format `mahimai` (did you mean `mahimahi`?)\n"


def test_deliveries(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "cell.down"
    file.write_text("1\n2\n2\n500\n")
    assert traces.read(file).format == "mahimahi"
    out = tmp_path / "cell.csv"
    assert run(capsys, "convert", str(file), str(out), "--to", "rate_interval", "--interval", "250ms")[0] == 0
    assert out.read_text() == "0.144,0.25\n0.048,0.25\n"
    text = run(capsys, "make", "poisson", "--rate", "1.2Mbit/s", "--duration", "10s")[1]
    assert 850 < len(text.splitlines()) < 1150


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("10,1\nten,1\n", "line 2: the rate must be a number from 0 to 10000000 Mbit/s"),
        ("1 10\n1 10\n", "line 2: its time is not after the line before it"),
        ("5\n4\n", "line 2: must not be earlier than the delivery before it"),
        ("", "holds no line"),
    ],
)
def test_a_bad_line_is_named(capsys: pytest.CaptureFixture[str], tmp_path: Path, text: str, why: str) -> None:
    file = tmp_path / "bad"
    file.write_text(text)
    code, out, err = run(capsys, "info", str(file))
    assert (code, out) == (2, "")
    assert err == f"bloatlab: `{file}` {why}\n"


def test_what_is_refused(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert "preset: unknown value `x`" in run(capsys, "make", "mmwave", "--set", "preset=x")[2]
    assert "kind: unknown value `mmwav`; did you mean `mmwave`?" in run(capsys, "make", "mmwav")[2]
    assert "duration: no unit" in run(capsys, "make", "mmwave", "--duration", "10")[2]
    file = tmp_path / "good.csv"
    file.write_text("10,1\n")
    assert run(capsys, "plot", str(file), "-o", str(tmp_path / "x.doc"))[0] == 2
    assert run(capsys, "convert", str(file), str(tmp_path / "no" / "x"), "--to", "mahimahi")[0] == 2
    assert run(capsys, "info", str(file), "--interval", "0s")[0] == 2
    with pytest.raises(ParameterError, match="below: no number"):
        traces.read(file).info(below="fast")
