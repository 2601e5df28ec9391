"""Keys and passwords in the URL of a store are kept nowhere, and its state files are their owner's alone."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from bloatlab.cli import command
from bloatlab.errors import StoreError
from bloatlab.store import Store, remote
from bloatlab.sweeps import execute
from small_runs import SCENARIO, runs

pytestmark = pytest.mark.usefixtures("fake")

SECRET = "wJalrXUtnFEMI/K7MDENG"


@pytest.mark.parametrize(
    "url",
    [
        f"memory://AKIA:{SECRET}@bucket/results",
        f"memory://bucket/results?token={SECRET}",
        f"memory://bucket/results#access_token={SECRET}",
    ],
)
def test_a_key_in_a_url_is_kept_nowhere(
    tmp_path: Path, url: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("BLOATLAB_CACHE", str(tmp_path / "machine"))
    Path("s.toml").write_text(SCENARIO)
    words = ["simulate", "s.toml", "--out", url, "--json"]
    monkeypatch.setattr("sys.argv", ["bloatlab", *words])
    assert command(words) == 0
    said = capsys.readouterr()
    assert SECRET not in said.out + said.err
    for path in (tmp_path / "machine").rglob("*"):
        assert not path.is_file() or SECRET.encode() not in path.read_bytes(), path
    import fsspec

    fs, root = fsspec.core.url_to_fs(url)
    for name in fs.find(root):
        assert SECRET.encode() not in fs.cat_file(name), name
    with pytest.raises(StoreError) as error:
        Store(url.replace("results", "nothing"))
    assert SECRET not in str(error.value)


def test_what_a_library_says_of_a_key_is_not_repeated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BLOATLAB_CACHE", str(tmp_path / "machine"))
    url = f"memory://AKIA:{SECRET}@bucket/results"

    def fails(*_: object, **__: object) -> None:
        raise RuntimeError(f"403 for {url} with {SECRET}")

    monkeypatch.setattr("fsspec.implementations.memory.MemoryFileSystem.info", fails)
    with pytest.raises(StoreError, match=r"403 for") as error:
        Store(url)
    assert SECRET not in str(error.value)
    assert error.value.__cause__ is None


def test_a_staging_directory_asks_for_the_key_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BLOATLAB_CACHE", str(tmp_path / "machine"))
    url = f"memory://AKIA:{SECRET}@bucket/asked"
    execute(runs(1), url)
    directory = remote.local(url)
    monkeypatch.setattr("bloatlab.store.remote.location._given", {})
    with pytest.raises(StoreError, match=r"its password or key is not stored; give the whole URL"):
        Store(directory)
    assert Store(url).runs().height == 1


def test_state_files_are_their_owners_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BLOATLAB_CACHE", str(tmp_path / "machine"))
    old = os.umask(0)
    try:
        execute(runs(1), "memory://private/results")
    finally:
        os.umask(old)
    directory = remote.local("memory://private/results")
    for name in (".mirror.json", ".published.json", ".lock"):
        assert stat.S_IMODE((directory / name).stat().st_mode) == 0o600, name
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700
