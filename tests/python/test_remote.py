"""Results at URLs: whenever a driver dies, a reader sees a complete store, and no run is repeated."""

from __future__ import annotations

import json
import os
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bloatlab.errors import StoreError
from bloatlab.settings import RunSettings
from bloatlab.store import Keep, Store, Writer, remote
from bloatlab.store.remote import lease, mirror, objects
from bloatlab.sweeps import PlannedRun, ScenarioSource, execute, plan
from gates import Gate
from test_kill import wait_for_runs

fsspec = pytest.importorskip("fsspec")
pytestmark = pytest.mark.usefixtures("fake")


@pytest.fixture(autouse=True)
def _machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BLOATLAB_CACHE", str(tmp_path / "machine"))


@pytest.fixture(params=["memory", "file"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return (
        f"memory://{tmp_path.name}/{secrets.token_hex(4)}" if request.param == "memory" else f"file://{tmp_path}/nfs/r"
    )


def elsewhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Acts as another machine from now on: its cache is empty."""
    monkeypatch.setenv("BLOATLAB_CACHE", str(tmp_path / f"machine-{secrets.token_hex(4)}"))


def runs(count: int, name: str = "small") -> list[PlannedRun]:
    document = {"name": name, "duration": "1s", "dumbbell": {"rate": "1Mbit/s", "rtt": "10ms"}, "flows": [{}]}
    return plan(ScenarioSource(document), replications=count)


def at(url: str) -> set[str]:
    """The names at a URL, up to the first slash."""
    fs, root = fsspec.core.url_to_fs(url)
    fs.invalidate_cache()
    return {path.removeprefix(root).lstrip("/").split("/")[0] for path in fs.find(root)}


def parts_at(url: str) -> set[str]:
    fs, root = fsspec.core.url_to_fs(url)
    return {path.removeprefix(root).split("/")[2] for path in fs.find(f"{root}/parts")}


def whole(url: str) -> int:
    """The number of runs in the store at a URL, each of which must have its tables; more may come up while it is read."""
    store = Store(url)
    held = set(store.runs()["run_id"])
    assert held <= set(store.table("flow_series")["run_id"])
    assert held <= set(store.metrics("flow", "mean_srtt_l4")["run_id"])
    return len(held)


def test_another_machine_reads_goes_on_and_this_one_sees_it(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = str(tmp_path / "machine")
    assert execute(runs(3), url).done == 3
    assert at(url) == {"parts", "results.sqlite"}
    elsewhere(monkeypatch, tmp_path)
    assert whole(url) == 3
    again = execute(runs(5), url)
    assert (again.read, again.done) == (3, 2)
    monkeypatch.setenv("BLOATLAB_CACHE", here)
    assert whole(url) == 5
    assert execute(runs(5), url).read == 5
    assert not list((tmp_path / "machine" / "stores").glob("*-aside-*"))


def test_parts_come_when_their_tables_are_read(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    execute(runs(2), url)
    execute(runs(4), url)
    elsewhere(monkeypatch, tmp_path)
    store = Store(url)
    assert store.runs().height == 4
    assert not (store.directory / "parts").exists()
    first = store.runs()["run_id"][0]
    assert store.run(first).flow_series.to_polars().height == 10
    assert len(list((store.directory / "parts").iterdir())) == 1


def test_what_nobody_names_any_more_goes(url: str) -> None:
    execute(runs(1), url)
    orphan = "0123456789abcdef"
    fs, root = fsspec.core.url_to_fs(url)
    fs.makedirs(f"{root}/parts/{orphan}", exist_ok=True)
    for name in (".bloatlab", "metrics.parquet"):
        fs.pipe_file(f"{root}/parts/{orphan}/{name}", b"left by a killed driver")
    again = plan(ScenarioSource(json.loads(runs(1)[0].scenario)), keep=Keep.PACKETS)
    assert again[0].run_id == runs(1)[0].run_id
    assert execute(again, url).done == 1
    after = parts_at(url)
    assert orphan not in after
    assert after == {part for (part,) in parts_named(remote.local(url))}


def test_a_part_that_is_half_gone_is_not_read(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    execute(runs(2), url)
    with monkeypatch.context() as other:
        elsewhere(other, tmp_path)
        remove = objects.Objects.remove
        with other.context() as dying:
            dying.setattr(objects.Objects, "remove", lambda self, names: remove(self, sorted(names)[:1]))
            document = json.loads(runs(1)[0].scenario)
            elsewhere(monkeypatch, tmp_path)
            reader = Store(url)
            elsewhere(dying, tmp_path)
            assert execute(plan(ScenarioSource(document), replications=2, keep=Keep.PACKETS), url).done == 2
    assert reader.table("flow_series")["run_id"].n_unique() == 2
    assert reader.table("packets")["run_id"].n_unique() == 2


class Dies(BaseException):
    """The effect of kill -9 on the URL: nothing after this point happens."""


STEPS = ("put", "write", "create", "remove", "token")


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(die_at=st.integers(0, 40), before=st.integers(0, 2))
def test_a_reader_sees_a_whole_store_wherever_the_driver_dies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, die_at: int, before: int
) -> None:
    url = f"memory://steps/{secrets.token_hex(8)}"
    with monkeypatch.context() as patch:
        elsewhere(patch, tmp_path)
        if before:
            execute(runs(before), url, RunSettings(jobs=1))
        with patch.context() as killing:
            done = 0

            def step(name: str) -> Any:
                real = getattr(objects.Objects, name)

                def instead(self: objects.Objects, *arguments: Any) -> Any:
                    nonlocal done
                    done += 1
                    if done > die_at:
                        raise Dies
                    return real(self, *arguments)

                return instead

            for name in STEPS:
                killing.setattr(objects.Objects, name, step(name))
            try:
                execute(runs(4), url, RunSettings(jobs=1))
                died = False
            except Dies:
                died = True
        with patch.context() as reader:
            elsewhere(reader, tmp_path)
            if Store.exists(url):
                assert whole(url) in ({4} if not died else {before, 4})
            else:
                assert died
                assert before == 0
        # On the same machine nothing is lost that was stored there, and the dead driver's lock is no obstacle.
        kept = Store(remote.local(url)).runs().height if Store.exists(remote.local(url)) else 0
        resumed = execute(runs(4), url, RunSettings(jobs=1))
        assert resumed.read >= kept
        assert resumed.finished == 4
        with patch.context() as reader:
            elsewhere(reader, tmp_path)
            assert whole(url) == 4
        assert at(url) == {"parts", "results.sqlite"}
        assert parts_at(url) == {part for (part,) in parts_named(remote.local(url))}


def parts_named(directory: Path) -> list[tuple[str]]:
    import sqlite3

    connection = sqlite3.connect(directory / "results.sqlite")
    try:
        return connection.execute("SELECT part FROM parts").fetchall()
    finally:
        connection.close()


def test_a_second_driver_is_refused_until_the_lock_expires(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, url: str
) -> None:
    first = Writer(url)
    with monkeypatch.context() as other:
        elsewhere(other, tmp_path)
        with pytest.raises(
            StoreError, match=rf"process {os.getpid()} on .* writes here \(its lock holds until 2"
        ) as error:
            execute(runs(1), url)
        assert "\n" not in str(error.value)
        assert url in str(error.value)
        # The lock still belongs to the other driver.
        with pytest.raises(StoreError, match="writes here"):
            Writer(url)
        other.setattr(lease.time, "time", lambda real=time.time: real() + lease.LEASE_S + 1)
        assert execute(runs(1), url).done == 1
    # A driver that lost the URL does not overwrite the results of the other.
    with pytest.raises(StoreError, match="another driver has taken over"):
        first.close()
    assert whole(url) == 1


def test_of_two_drivers_that_find_the_lock_expired_one_gets_it(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    shared = objects.Objects(url)
    lease.Lease(shared, "first").acquire()
    monkeypatch.setattr(lease.time, "time", lambda real=time.time: real() + lease.LEASE_S + 1)
    write = shared.write

    def interrupted(name: str, data: bytes) -> None:
        monkeypatch.setattr(shared, "write", write)
        with pytest.raises(StoreError, match="writes here"):
            lease.Lease(shared, "third").acquire()
        write(name, data)

    monkeypatch.setattr(shared, "write", interrupted)
    second = lease.Lease(shared, "second")
    second.acquire()
    with pytest.raises(StoreError, match="writes here"):
        lease.Lease(shared, "third").acquire()
    second.renew(now=True)
    second.release()
    assert shared.find("") == {}


def test_a_driver_that_dies_while_it_replaces_a_lock_does_not_block_others(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared = objects.Objects(url)
    lease.Lease(shared, "first").acquire()
    real = time.time
    monkeypatch.setattr(lease.time, "time", lambda: real() + lease.LEASE_S + 1)
    with monkeypatch.context() as dying:
        dying.setattr(shared, "write", lambda *_: (_ for _ in ()).throw(StoreError("the network is gone")))
        dying.setattr(shared, "remove", lambda _: None)
        with pytest.raises(StoreError, match="the network is gone"):
            lease.Lease(shared, "second").acquire()
    with pytest.raises(StoreError, match="writes here"):
        lease.Lease(shared, "third").acquire()
    monkeypatch.setattr(lease.time, "time", lambda: real() + 2 * lease.LEASE_S + 2)
    lease.Lease(shared, "third").acquire()


def test_on_one_machine_the_second_is_told_as_ever(url: str) -> None:
    with Writer(url), pytest.raises(StoreError, match=f"process {os.getpid()} is writing here"):
        Writer(url)
    assert execute(runs(1), url).done == 1


def test_results_go_up_while_runs_are_made(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, url: str) -> None:
    monkeypatch.setattr(mirror, "PUSH_EVERY", 0.05)
    seen = []

    def look(_: object) -> None:
        with monkeypatch.context() as reader:
            elsewhere(reader, tmp_path)
            if Store.exists(url):
                seen.append(whole(url))

            # The other runs wait until the first ones can be read.
            if seen and seen[-1] == 10:
                gate.open_for(30)

    gate = Gate(tmp_path / "gate", monkeypatch.setenv)
    gate.open_for(10)
    execute(runs(30, "gated"), url, RunSettings(jobs=1), progress=look)
    assert 10 in seen
    assert seen == sorted(seen)
    assert whole(url) == 30


def test_results_that_never_went_up_are_kept_when_somebody_else_went_on(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, url: str, caplog: pytest.LogCaptureFixture
) -> None:
    execute(runs(1), url)

    def fails(*_: object) -> None:
        raise StoreError("the network is gone")

    with monkeypatch.context() as broken:
        broken.setattr(objects.Objects, "put", fails)
        with pytest.raises(StoreError, match="the network is gone; all is kept in"):
            execute(runs(3), url)
    with monkeypatch.context() as other:
        elsewhere(other, tmp_path)
        assert execute(runs(2), url).read == 1
    assert execute(runs(3), url).read == 2
    assert whole(url) == 3
    (aside,) = (tmp_path / "machine" / "stores").glob("*-aside-*")
    assert Store(aside).runs().height == 3
    assert str(aside) in caplog.text


def test_pages_files_and_exports_go_up(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    execute(runs(2), url)
    store = Store(url)
    (store.directory / "files").mkdir()
    (store.directory / "files" / "trace.txt").write_text("1")
    (store.directory / "report.html").write_text("page")
    store.publish()
    assert at(url) == {"parts", "results.sqlite", "files", "report.html"}
    elsewhere(monkeypatch, tmp_path)
    store = Store(url)
    store.fetch_files()
    assert (store.directory / "files" / "trace.txt").read_text() == "1"


CLI = [sys.executable, str(Path(__file__).with_name("fake_cli.py"))]
SCENARIO = 'name = "gated"\nduration = "1s"\ndumbbell = { rate = "1Mbit/s", rtt = "10ms" }\nflows = [{}]\n'


def test_kill_9_of_a_driver_and_the_same_command_resumes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    url = f"file://{tmp_path}/nfs/r"
    (tmp_path / "s.toml").write_text(SCENARIO)
    gate = Gate(tmp_path / "gate", monkeypatch.setenv)
    gate.open_for(5)
    command = [*CLI, "simulate", "s.toml", "--replications", "40", "--jobs", "2", "--out", url, "--json"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    directory = remote.local(url)
    wait_for_runs(directory, 5, process)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert Store(directory).runs().height == 5
    gate.open_for(40)
    finished = subprocess.run(command, capture_output=True, check=False)
    assert finished.returncode == 0, finished.stderr
    assert len(json.loads(finished.stdout)["runs"]) == 40
    elsewhere(monkeypatch, tmp_path)
    assert whole(url) == 40
    assert Store(url).invocations().height == 2


def test_without_the_extra_there_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fsspec", None)
    with pytest.raises(StoreError, match=r"needs fsspec: pip install 'bloatlab\[cluster\]'"):
        execute(runs(1), "s3://bucket/r")


@pytest.mark.parametrize(
    ("bad", "why"),
    [
        ("nosuch://bucket/r", "Protocol not known: nosuch"),
        ("file:///proc/nowhere/r", "/proc/nowhere"),
    ],
)
def test_bad_urls_are_one_line(bad: str, why: str) -> None:
    with pytest.raises(StoreError, match=why) as error:
        execute(runs(1), bad)
    assert "\n" not in str(error.value)


def test_nothing_there(url: str) -> None:
    with pytest.raises(StoreError, match="holds no results"):
        Store(url)


@pytest.fixture
def s3(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    pytest.importorskip("s3fs")
    server = pytest.importorskip("moto.server")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "testing")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "testing")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    running = server.ThreadedMotoServer("127.0.0.1", port=0)
    running.start()
    host, port = running.get_host_and_port()
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://{host}:{port}")
    import s3fs

    s3fs.S3FileSystem.clear_instance_cache()
    s3fs.S3FileSystem().mkdir("bucket")
    yield "s3://bucket/some/path"
    s3fs.S3FileSystem.clear_instance_cache()
    running.stop()


def test_s3(s3: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert execute(runs(3), s3).done == 3
    with Writer(s3), monkeypatch.context() as other:
        elsewhere(other, tmp_path)
        with pytest.raises(StoreError, match="writes here"):
            execute(runs(1), s3)
    elsewhere(monkeypatch, tmp_path)
    assert whole(s3) == 3
    assert execute(runs(5), s3).read == 3
    assert at(s3) == {"parts", "results.sqlite"}
    with pytest.raises(StoreError, match=r"s3://nosuchbucket/r: .*bucket") as error:
        execute(runs(1), "s3://nosuchbucket/r")
    assert "\n" not in str(error.value)
