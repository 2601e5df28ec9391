"""The dask executor on a cluster of two worker processes: its results equal those of threads, also when processes
die."""

from __future__ import annotations

import asyncio
import json
import os
import pickle
import signal
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import fake_core
import fluid_engine
from bloatlab.engines.sim import Sim
from bloatlab.errors import ClusterError, EngineError, ParameterError
from bloatlab.plugins import CongestionControl, configured
from bloatlab.settings import RunSettings
from bloatlab.store import Keep, Store
from bloatlab.sweeps import PlannedRun, ScenarioSource, Standing, execute, plan, shipping
from bloatlab.sweeps.cluster import _Dispatch as Dispatch
from conftest import REAL
from gates import FIRST_SEED, Gate

distributed = pytest.importorskip("distributed")
dask = pytest.importorskip("dask")
pytestmark = pytest.mark.skipif(not REAL, reason="the engine is not built")
TABLES = ("flows", "links", "flow_series", "link_series", "histograms")


class Reno(CongestionControl):
    def on_ack(self, window: Any, ack: Any) -> None:
        window.cwnd += ack.acked if window.cwnd < window.ssthresh else window.mss * ack.acked // window.cwnd

    def on_congestion(self, window: Any, signal: str, ack: Any) -> None:
        window.ssthresh = max(window.cwnd // 2, 2 * window.mss)


class Kills(Reno):
    """Kills the process that runs it, unless that is the driver."""

    def __init__(self, driver: int) -> None:
        assert os.getpid() != driver
        os.kill(os.getpid(), signal.SIGKILL)


class Raises(Reno):
    def on_ack(self, window: Any, ack: Any) -> None:
        raise ValueError("on purpose")


def scenario(**flow: object) -> ScenarioSource:
    return ScenarioSource(
        {"name": "small", "duration": "1s", "dumbbell": {"rate": "10Mbit/s", "rtt": "20ms"}, "flows": [flow]}
    )


def slow() -> list[PlannedRun]:
    """Runs that take some tenths of a second."""
    source = ScenarioSource(
        {"name": "slow", "duration": "60s", "dumbbell": {"rate": "100Mbit/s", "rtt": "20ms"}, "flows": [{"count": 8}]}
    )
    return plan(source, replications=16)


def local_cluster(workers: int, *, processes: bool) -> Any:
    return distributed.LocalCluster(
        n_workers=workers,
        threads_per_worker=1,
        processes=processes,
        protocol="tcp://",
        host="127.0.0.1",
        dashboard_address="127.0.0.1:0",
        scheduler_kwargs={"dashboard": False},
    )


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    # A run that kills its worker is given up after two deaths each time it is tried, so that the test is short.
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 1}),
        local_cluster(2, processes=True) as made,
    ):
        yield made


def frames(directory: Path) -> dict[str, pl.DataFrame]:
    """The contents of a store, without wall-clock times."""
    store = Store(directory)
    return {
        "runs": store.runs().drop("wall_s", "created", "point").sort("run_id"),
        "metrics": store.metrics().sort(pl.all()),
        **{name: store.table(name).sort(pl.all()) for name in TABLES},
    }


def same(one: Path, other: Path) -> bool:
    ours, theirs = frames(one), frames(other)
    return all(frame.height > 0 and frame.equals(theirs[name]) for name, frame in ours.items())


def test_the_same_results_as_on_threads_and_resume(
    cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, submit = [], Dispatch._submit

    def counted(self: Dispatch, indices: Sequence[int]) -> None:
        submit(self, indices)
        out.append(len(self.out))

    monkeypatch.setattr(Dispatch, "_submit", counted)
    runs = [*plan(scenario(), replications=40), *plan(scenario(cca=Reno), axes={"dumbbell.rtt": ["10ms", "30ms"]})]
    seen: list[Standing] = []
    first = execute(runs[:10], tmp_path / "c", RunSettings(scheduler=cluster.scheduler_address), progress=seen.append)
    assert (first.done, first.read, first.failed) == (10, 0, [])
    assert (seen[-1].done, seen[-1].failed) == (10, 0)
    assert 2 in {standing.workers for standing in seen}
    second = execute(runs, tmp_path / "c", RunSettings(scheduler=cluster.scheduler_address))
    assert (second.done, second.read, second.failed) == (32, 10, [])
    # Two for each thread, however long the plan.
    assert max(out) == 4
    execute(runs, tmp_path / "t", RunSettings(jobs=2))
    assert same(tmp_path / "t", tmp_path / "c")


def test_an_engine_need_not_be_installed_on_the_workers(cluster: Any, tmp_path: Path) -> None:
    document = {"name": "fluid", "duration": "1s", "dumbbell": {"rate": "10Mbit/s", "rtt": "20ms"}}
    flows = {"flows": [{"count": 2, "cca": "newreno"}]}
    runs = plan(ScenarioSource({**document, **flows}, engine=fluid_engine.Fluid()), replications=3)
    assert execute(runs, tmp_path / "c", RunSettings(scheduler=cluster.scheduler_address)).done == 3
    assert execute(runs, tmp_path / "t").done == 3
    digests = [Store(tmp_path / name).runs().sort("seed")["digest"].to_list() for name in "ct"]
    assert digests[0] == digests[1]
    with pytest.raises(EngineError, match="has one engine, not fluid, sim"):
        execute([*runs, *plan(scenario())], tmp_path / "c", RunSettings(scheduler=cluster.scheduler_address))


def test_how_much_is_kept_is_the_plan_s(cluster: Any, tmp_path: Path) -> None:
    execute(
        plan(scenario(), replications=3, keep=Keep.METRICS), tmp_path, RunSettings(scheduler=cluster.scheduler_address)
    )
    store = Store(tmp_path)
    assert store.metrics()["run_id"].n_unique() == 3
    assert store.table("flow_series").is_empty()


def test_without_the_extra_there_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ClusterError, match=r"needs distributed: pip install 'bloatlab\[cluster\]'"):
        execute(plan(scenario()), tmp_path / "r", RunSettings(scheduler="tcp://127.0.0.1:9"))


def test_a_worker_killed_midway_loses_and_doubles_nothing(cluster: Any, tmp_path: Path) -> None:
    runs = slow()
    with distributed.Client(cluster, set_as_default=False) as client:
        victim = next(iter(client.run(os.getpid).values()))
        killed = threading.Event()

        def kill(standing: Standing) -> None:
            if standing.done >= 3 and not killed.is_set():
                killed.set()
                os.kill(victim, signal.SIGKILL)

        summary = execute(runs, tmp_path / "c", RunSettings(scheduler=client), progress=kill)
        assert killed.is_set()
        assert (summary.done, summary.failed) == (16, [])
        assert Store(tmp_path / "c").runs().height == 16
        execute(runs, tmp_path / "t", RunSettings(jobs=2))
        assert same(tmp_path / "t", tmp_path / "c")


def test_a_run_that_kills_workers_fails_alone(cluster: Any, tmp_path: Path) -> None:
    poison = plan(scenario(cca=configured(Kills, driver=os.getpid())))
    runs = [*plan(scenario(), replications=20), *poison, *plan(scenario(), seed=100, replications=20)]
    summary = execute(runs, tmp_path, RunSettings(scheduler=cluster.scheduler_address))
    assert summary.done == 40
    ((planned, reason),) = summary.failed
    assert planned.run_id == poison[0].run_id
    assert reason == "KilledWorker: 2 workers died while they made this run and nothing else"
    assert Store(tmp_path).runs().filter(status="failed")["reason"].to_list() == [reason]


def test_a_failed_run_is_recorded_and_stops_nothing(cluster: Any, tmp_path: Path) -> None:
    runs = [*plan(scenario(), replications=3), *plan(scenario(cca=Raises))]
    summary = execute(runs, tmp_path, RunSettings(scheduler=cluster.scheduler_address))
    assert summary.done == 3
    assert "on purpose" in summary.failed[0][1]
    assert "\n" not in summary.failed[0][1]


def test_an_interrupt_keeps_what_is_finished_and_stops_the_workers(cluster: Any, tmp_path: Path) -> None:
    source = ScenarioSource(
        {
            "name": "long",
            "duration": "36000s",
            "sample_interval": "60s",
            "dumbbell": {"rate": "1Gbit/s", "rtt": "20ms"},
            "flows": [{}],
        }
    )
    runs = [*plan(scenario(), replications=5), *plan(source, replications=4)]

    def interrupt(standing: Standing) -> None:
        if standing.done >= 1:
            raise KeyboardInterrupt

    summary = execute(runs, tmp_path, RunSettings(scheduler=cluster.scheduler_address), progress=interrupt)
    assert summary.interrupted
    # Other short runs may be in a batch with a long one, before or after it.
    assert 1 <= summary.done <= 5
    assert Store(tmp_path).runs().height == summary.done
    # The long runs would take an hour each; their workers are free again.
    deadline = time.monotonic() + 300

    def hangs(_: Standing) -> None:
        assert time.monotonic() < deadline, "the workers still make the cancelled runs"

    again = plan(scenario(), seed=7)
    assert execute(again, tmp_path, RunSettings(scheduler=cluster.scheduler_address), progress=hangs).done == 1


def batch(session: str, *names: str) -> shipping.Batch:
    """Runs of the fake engine, one per name."""
    orders = [shipping.Order(index, index, FIRST_SEED, Keep.METRICS) for index in range(len(names))]
    scenarios = [json.dumps({"name": name, "flows": [{}]}) for name in names]
    return shipping.Batch(session, pickle.dumps(fake_core.Fake()), "fake-1", scenarios, [b""] * len(names), orders)


@pytest.mark.usefixtures("fake")
def test_what_a_cancelled_batch_has_finished_comes_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Gate(tmp_path / "gate", monkeypatch.setenv)
    run, long = fake_core.run, threading.Event()

    def noticed(scenario: str, *rest: Any, **more: Any) -> fake_core.Outcome:
        if "gated" in scenario:
            long.set()
        return run(scenario, *rest, **more)

    def cancel() -> None:
        assert long.wait(300)
        asyncio.run(shipping.cancel("s"))

    monkeypatch.setattr(fake_core, "run", noticed)
    monkeypatch.setattr(shipping, "LONGEST_S", 600)
    canceller = threading.Thread(target=cancel)
    canceller.start()
    answer = shipping.run_batch(batch("s", "small", "small", "gated", "small"))
    canceller.join()
    assert [(made.index, made.reason) for made in answer.made] == [(0, None), (1, None)]
    assert not shipping.run_batch(batch("s", "small")).made
    assert len(shipping.run_batch(batch("t", "small")).made) == 1


@pytest.mark.usefixtures("fake")
def test_a_batch_that_takes_too_long_ends_early(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shipping, "LONGEST_S", 0.0)
    answer = shipping.run_batch(batch("u", "small", "small"))
    assert [made.index for made in answer.made] == [0]


def test_workers_with_another_engine_are_refused(cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Sim, "version", lambda _: "other")
    with pytest.raises(ClusterError, match=r"has engine .*, the driver other: install the same bloatlab"):
        execute(plan(scenario()), tmp_path / "r", RunSettings(scheduler=cluster.scheduler_address))
    monkeypatch.undo()
    assert not (tmp_path / "r").exists()
    # A worker that joins later gets it with its first batch.
    assert (
        "the driver other" in shipping.run_batch(shipping.Batch("s", pickle.dumps(Sim()), "other", [], [], [])).refused
    )


@pytest.mark.usefixtures("fake")
def test_a_scheduler_that_goes_away_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gate = Gate(tmp_path / "gate", monkeypatch.setenv)
    gate.open_for(4)
    document = {"name": "gated", "duration": "1s", "dumbbell": {"rate": "1Mbit/s", "rtt": "10ms"}, "flows": [{}]}
    runs, out = plan(ScenarioSource(document), replications=16), tmp_path / "r"
    with local_cluster(1, processes=False) as lost:
        (worker,) = lost.workers.values()

        def open_once_it_closes() -> None:
            # A worker that closes waits for its current run.
            while worker.status is distributed.Status.running:
                time.sleep(0.002)
            gate.open_for(16)

        opener = threading.Thread(target=open_once_it_closes)

        def leave(standing: Standing) -> None:
            if standing.done >= 2 and opener.ident is None:
                opener.start()
                lost.close()

        with pytest.raises(ClusterError, match=r"the connection is lost; what was finished is kept") as error:
            execute(runs, out, RunSettings(scheduler=lost.scheduler_address), progress=leave)
    opener.join()
    assert "\n" not in str(error.value)
    kept = Store(out).runs().height
    assert 2 <= kept < 16
    assert execute(runs[: kept + 1], out, RunSettings(jobs=1)).failed == []


@pytest.mark.parametrize(
    ("scheduler", "why"),
    [
        ("tcp://127.0.0.1:9", "scheduler tcp://127.0.0.1:9: "),
        ("file:nowhere.json", "there is no such file"),
        ("127.0.0.1:8786", "must be such as tcp://host:8786, tls://host:8786"),
    ],
)
def test_no_scheduler(tmp_path: Path, scheduler: str, why: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bloatlab.sweeps.connection.CONNECT_S", 0.5)
    with pytest.raises(ClusterError, match=why) as error:
        execute(plan(scenario()), tmp_path / "r", RunSettings(scheduler=scheduler))
    assert "\n" not in str(error.value)
    assert not (tmp_path / "r").exists()


def test_jobs_are_not_for_a_cluster(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="jobs"):
        execute([], tmp_path, RunSettings(jobs=2, scheduler="tcp://127.0.0.1:9"))


def test_a_plugin_that_cannot_be_pickled_is_one_line(cluster: Any, tmp_path: Path) -> None:
    lock = threading.Lock()

    class Holds(Reno):
        held = lock

    with pytest.raises(ParameterError, match=r"plugin `.*Holds`: cannot be sent to a cluster \(.*lock"):
        execute(plan(scenario(cca=Holds)), tmp_path / "r", RunSettings(scheduler=cluster.scheduler_address))
    assert not (tmp_path / "r").exists()
