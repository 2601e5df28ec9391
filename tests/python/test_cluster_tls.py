"""TLS between the driver and a cluster: the certificates are dask's configuration, and a stranger's scheduler is refused."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from bloatlab.errors import ClusterError
from bloatlab.settings import RunSettings
from bloatlab.store import Store
from bloatlab.sweeps import ScenarioSource, execute, plan
from conftest import REAL

distributed = pytest.importorskip("distributed")
dask = pytest.importorskip("dask")
pytestmark = [
    pytest.mark.skipif(not REAL, reason="the engine is not built"),
    pytest.mark.skipif(shutil.which("openssl") is None, reason="no openssl to make certificates with"),
]


@dataclass(frozen=True)
class Certificate:
    """Signed by itself: its holders trust each other and nobody else."""

    file: str
    key: str

    def security(self) -> Any:
        """The options of a scheduler and its workers."""
        roles = {
            f"tls_{role}_{part}": value for role in ("scheduler", "worker", "client") for part, value in self.parts()
        }
        return distributed.Security(tls_ca_file=self.file, require_encryption=True, **roles)

    def configuration(self) -> dict[str, str]:
        """The same in the dask configuration of a driver."""
        above = "distributed.comm.tls"
        return {f"{above}.ca-file": self.file, **{f"{above}.client.{part}": value for part, value in self.parts()}}

    def parts(self) -> list[tuple[str, str]]:
        return [("cert", self.file), ("key", self.key)]


def certificate(directory: Path, name: str) -> Certificate:
    made = Certificate(str(directory / f"{name}.pem"), str(directory / f"{name}.key"))
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    command += ["-subj", f"/CN={name}", "-days", "2", "-keyout", made.key, "-out", made.file]
    subprocess.run(command, check=True, capture_output=True)
    return made


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Certificate:
    return certificate(tmp_path_factory.mktemp("ours"), "ours")


@pytest.fixture(scope="module")
def cluster(ours: Certificate) -> Iterator[Any]:
    with distributed.LocalCluster(
        n_workers=1,
        threads_per_worker=1,
        processes=False,
        protocol="tls://",
        host="127.0.0.1",
        security=ours.security(),
        scheduler_kwargs={"dashboard": False},
        dashboard_address="127.0.0.1:0",
    ) as made:
        yield made


def runs() -> Any:
    path = {"rate": "10Mbit/s", "rtt": "20ms"}
    return plan(ScenarioSource({"name": "small", "duration": "1s", "dumbbell": path, "flows": [{}]}), replications=3)


def test_runs_are_made_over_tls(cluster: Any, ours: Certificate, tmp_path: Path) -> None:
    address = cluster.scheduler_address
    assert address.startswith("tls://")
    Path("scheduler.json").write_text(json.dumps({"address": address}))
    with dask.config.set(ours.configuration()):
        assert execute(runs(), tmp_path / "a", RunSettings(scheduler=address)).done == 3
        assert execute(runs(), tmp_path / "f", RunSettings(scheduler="file:scheduler.json")).done == 3
    assert Store(tmp_path / "a").runs()["status"].unique().to_list() == ["done"]


def test_without_certificates_one_line_says_what_to_set(cluster: Any, ours: Certificate, tmp_path: Path) -> None:
    with pytest.raises(
        ClusterError, match=r"no distributed\.comm\.tls\.ca-file and no distributed\.comm\.tls\.client\.cert"
    ):
        execute(runs(), tmp_path / "r", RunSettings(scheduler=cluster.scheduler_address))
    some = {"distributed.comm.tls.ca-file": ours.file}
    with (
        dask.config.set(some),
        pytest.raises(ClusterError, match=r"has no distributed\.comm\.tls\.client\.cert") as error,
    ):
        execute(runs(), tmp_path / "r", RunSettings(scheduler=cluster.scheduler_address))
    assert "\n" not in str(error.value)
    assert not (tmp_path / "r").exists()


def test_a_scheduler_with_another_certificate_is_refused(
    cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bloatlab.sweeps.connection.CONNECT_S", 0.5)
    theirs = certificate(tmp_path, "theirs")
    with dask.config.set(theirs.configuration()), pytest.raises(ClusterError, match="scheduler tls://") as error:
        execute(runs(), tmp_path / "r", RunSettings(scheduler=cluster.scheduler_address))
    assert "\n" not in str(error.value)
    assert not (tmp_path / "r").exists()


@pytest.mark.parametrize("text", ["no JSON", "[]", '{"id": "x"}'])
def test_a_file_that_is_no_scheduler_file_is_one_line(tmp_path: Path, text: str) -> None:
    Path("scheduler.json").write_text(text)
    with pytest.raises(ClusterError, match="is no scheduler file, it has no `address`"):
        execute(runs(), tmp_path / "r", RunSettings(scheduler="file:scheduler.json"))
