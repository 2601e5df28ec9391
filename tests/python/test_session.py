"""Sessions: a run that is stepped and changed gives the bytes of the batch run of its document."""

from __future__ import annotations

import json
import math
import signal
import threading
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bloatlab as bl

DOCUMENT: dict[str, Any] = {
    "name": "stepped",
    "duration": "4s",
    "dumbbell": {"rate": "10Mbit/s", "rtt": "20ms", "queue": {"kind": "fifo", "limit": "60p"}},
    "flows": [{"name": "bulk"}, {"name": "ping", "traffic": {"kind": "ping", "interval": "50ms"}}],
}
VALUES = {
    "dumbbell.rate": st.sampled_from(["2Mbit/s", "10Mbit/s", "30Mbit/s"]),
    "dumbbell.rtt": st.sampled_from(["5ms", "80ms"]),
    "dumbbell.loss": st.sampled_from([0.0, 0.01]),
    "dumbbell.queue": st.sampled_from(["fq_codel", {"kind": "fifo", "limit": "20p"}]),
}
CHANGES = st.sampled_from(sorted(VALUES)).flatmap(lambda key: st.tuples(st.just(key), VALUES[key]))
STEPS = st.lists(st.tuples(st.integers(1, 900), CHANGES | st.none()), max_size=5)


@settings(max_examples=15, deadline=None)
@given(STEPS, st.integers(0, 2**63 - 2))
def test_a_session_equals_the_run_of_its_document(steps: list[tuple[int, Any]], seed: int) -> None:
    session = bl.Session(DOCUMENT, seed)
    parts = []
    for milliseconds, change in steps:
        parts.append(session.advance(session.now + milliseconds / 1e3))
        if change is not None and session.now < 4:
            session.apply({"key": change[0], "value": change[1]})
    parts.append(session.advance(math.inf))
    document = session.document
    live, batch = session.finish(), bl.run(document, seed=seed)
    assert (live.digest, live.run_id, live.scenario) == (batch.digest, batch.run_id, batch.scenario)
    for name in ("flow", "link", "probe"):
        rows = pl.concat([getattr(part, f"{name}s") for part in parts])
        # The samples at the end of the run come with the result.
        assert rows.equals(batch.table(f"{name}_series").to_polars().filter(pl.col("time_s") < 4))


def test_changes_are_in_the_timeline() -> None:
    session = bl.Session(DOCUMENT, **{"flows.0.cca": "bbr"})
    assert session.now == 0
    assert session.document["timeline"] == []
    rows = session.advance("1500ms")
    assert session.now == 1.5
    assert rows.flows["flow"].unique().to_list() == ["bulk"]
    assert rows.links["link"].unique().to_list() == ["bottleneck"]
    assert rows.probes["probe"].unique().to_list() == ["ping"]
    session.apply({"key": "flows[2]", "value": {"name": "late", "cca": "newreno"}})
    session.apply('{"at": "1500ms", "key": "dumbbell.queue", "value": "codel"}')
    assert [(entry["at"], entry["key"]) for entry in session.document["timeline"]] == [
        ("1500ms", "flows[2]"),
        ("1500ms", "dumbbell.queue"),
    ]
    assert session.document["flows"][0]["cca"]["kind"] == "bbr"
    assert set(session.advance("2s").flows["flow"]) == {"bulk", "late"}
    assert session.advance(1).flows.is_empty()
    result = session.finish()
    assert "late" in result.flow_metrics
    assert result.scenario == session.document
    with pytest.raises(RuntimeError, match="the session has finished"):
        session.advance("3s")


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"key": "dumbbell.rat", "value": 1}, r"timeline\[0\]: dumbbell\.rat: unknown key; did you mean `rate`\?"),
        ({"key": "dumbbell.rate", "value": "5"}, r"timeline\[0\]: dumbbell\.rate: no unit"),
        ({"key": "duration", "value": "5s"}, r"timeline\[0\]\.key: `duration` cannot change during a run"),
        ({"value": 1}, r"timeline\[0\]\.key: is required"),
        ({"at": "2s", "key": "dumbbell.rate", "value": "5Mbit/s"}, r"timeline\[0\]\.at: must be 1s, the time of the"),
        (3, r"timeline\[0\]: must be a table"),
        ("rate", "change: expected"),
    ],
)
def test_a_change_that_is_not_possible_is_refused(change: Any, why: str) -> None:
    session = bl.Session(DOCUMENT)
    session.advance("1s")
    before = session.document
    with pytest.raises(bl.ScenarioError, match=why) as error:
        session.apply(change)
    assert len(str(error.value).splitlines()) == 1
    assert session.document == before
    assert session.finish().digest == bl.run(before, seed=1).digest


def test_times_and_values_that_cannot_be_read() -> None:
    session = bl.Session(DOCUMENT)
    for to in (-1, math.nan, "1"):
        with pytest.raises(bl.ParameterError):
            session.advance(to)
    with pytest.raises(bl.ParameterError, match="change: holds what JSON cannot"):
        session.apply({"key": "dumbbell.queue", "value": object()})
    with pytest.raises(bl.ScenarioError, match=r"timeline\[0\]\.at: must be above 0s"):
        session.apply({"key": "dumbbell.rate", "value": "5Mbit/s"})


def test_packets_of_a_session(tmp_path: Path) -> None:
    session = bl.Session(DOCUMENT)
    session.advance("1s")
    session.apply({"key": "dumbbell.rate", "value": "5Mbit/s"})
    session.finish().write_pcap(tmp_path / "x.pcap")
    assert (tmp_path / "x.pcap").stat().st_size > 1000


class Window(bl.CongestionControl):
    """A constant window, which fails when the test asks for it."""

    fails = False

    def init(self, window: Any, mss: int) -> None:
        window.cwnd = 20 * mss

    def on_ack(self, ack: Any, window: Any) -> None:
        if Window.fails:
            raise ValueError("as asked for")


def test_an_experiment_and_a_plugin() -> None:
    session = bl.Session("deep-buffers", qlen="40p", cca=Window)
    session.advance("1s")
    Window.fails = True
    with pytest.raises(bl.PluginError, match="as asked for"):
        session.advance("2s")
    Window.fails = False


def test_ctrl_c_ends_a_session() -> None:
    session = bl.Session({**DOCUMENT, "duration": "2h"}, **{"dumbbell.rate": "1Gbit/s"})
    threading.Timer(0.2, signal.raise_signal, [signal.SIGINT]).start()
    with pytest.raises(KeyboardInterrupt):
        session.advance("2h")
    with pytest.raises(bl.Cancelled):
        session.finish()
    assert json.dumps(session.document)
