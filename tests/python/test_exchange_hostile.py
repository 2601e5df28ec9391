"""Files of measuring tools are untrusted: whatever is in one, it is read, or refused with one line that names the file."""

from __future__ import annotations

import contextlib
import copy
import gzip
import json
import math
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import tool_files
from bloatlab.cli import command
from bloatlab.errors import ParameterError
from bloatlab.exchange import formats, outcome
from bloatlab.exchange.formats import FORMATS

JUNK = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**70), 2**70), st.floats(), st.text(max_size=20), st.just([]), st.just({}),
    st.just([[]]), st.sampled_from([1e308, -1, 0, 1e-300, "1e5", "\ud800", "../../x", "\x1b[2J", 2**53 + 1]),
)  # fmt: skip
LAX = settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of every value in a document."""
    if path:
        yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield from places(item, (*path, key))


def altered(document: Any, path: tuple[Any, ...], value: Any, *, remove: bool) -> Any:
    found = copy.deepcopy(document)
    inside = found
    for key in path[:-1]:
        inside = inside[key]
    if remove:
        del inside[path[-1]]
    else:
        inside[path[-1]] = value
    return found


def read_or_refuse(data: bytes, name: str | None = None) -> None:
    """Reads a file completely, with the tables, the metrics and every export. Only a clear refusal may be raised."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "file")
        path.write_bytes(data)
        refusal = ""
        try:
            found, _ = formats.read(path, name)
        except ParameterError as error:
            refusal = str(error)
        if refusal:
            assert refusal.startswith(str(path))
            assert "\n" not in refusal
            assert "\x1b" not in refusal
            assert len(refusal) < 700
            return
    assert {"flows", "probe_series", "histograms"} <= outcome.tables(found).keys()
    metrics = outcome.metrics(found)
    for scope in ("flow_metrics", "probe_metrics"):
        for of in metrics[scope].values():
            assert isinstance(of, dict)
            assert all(math.isfinite(value) for value in of.values())
    json.dumps(metrics, allow_nan=False)
    for form in FORMATS.values():
        if form.writes:
            with contextlib.suppress(ParameterError):
                form.write(found)


@pytest.mark.parametrize("name", list(tool_files.SAMPLES))
@given(data=st.data())
@LAX
def test_one_altered_value(name: str, data: st.DataObject) -> None:
    document = tool_files.SAMPLES[name]()
    path = data.draw(st.sampled_from(list(places(document))))
    changed = altered(document, path, data.draw(JUNK), remove=data.draw(st.booleans()))
    read_or_refuse(json.dumps(changed).encode(errors="surrogatepass"), data.draw(st.sampled_from([None, name])))


@example(data=b"\x1b", name="lens")
@given(data=st.binary(max_size=200), name=st.sampled_from([None, *(one.name for one in FORMATS.values() if one.reads)]))
@LAX
def test_any_bytes(data: bytes, name: str | None) -> None:
    read_or_refuse(data, name)


@given(
    st.recursive(
        JUNK, lambda inside: st.lists(inside, max_size=3) | st.dictionaries(st.text(max_size=5), inside, max_size=3)
    )
)
@LAX
def test_any_json(value: Any) -> None:
    for name in tool_files.SAMPLES:
        read_or_refuse(json.dumps(value).encode(), name)


@given(
    lines=st.lists(
        st.lists(st.sampled_from(["1", "-1", "", "x", "nan", "inf", "1e400", "1769860800000000000", '"']), max_size=5)
    )
)
@LAX
def test_any_csv(lines: list[list[str]]) -> None:
    text = "timestamp,rtt,uplink,downlink\n" + "\n".join(",".join(line) for line in lines)
    read_or_refuse(text.encode(), None)


def test_truncated_gzip_and_deep_nesting() -> None:
    whole = gzip.compress(json.dumps(tool_files.flent()).encode())
    for end in (3, 12, len(whole) // 2, len(whole) - 1):
        read_or_refuse(whole[:end])
    read_or_refuse(b"[" * 500_000)
    read_or_refuse(b'{"a":' * 500_000)


@pytest.mark.parametrize(
    ("name", "path", "value", "said"),
    [
        ("flent", ("metadata", "NAME"), 3, "metadata.NAME: must be a text, not 3"),
        ("flent", ("results", "Ping (ms) ICMP", 1), "x", 'must be a number, not "x"'),
        ("flent", ("version",), 5, "version: must be from 1 to 4, not 5"),
        ("irtt", ("version", "json_format"), 2, "version.json_format: must be from 1 to 1, not 2"),
        ("irtt", ("round_trips", 0, "delay", "rtt"), -4, "round_trips[0].delay.rtt: must be at least 1, not -4"),
        ("crusader", ("pings", 0, "sent", "nanos"), 10**9, "pings[0].sent.nanos: must be from 0 to"),
        ("iperf3", ("start", "version"), None, "start.version: is missing"),
        ("network-quality", ("dl_throughput",), [], "dl_throughput: must be a number, not a list"),
    ],
)  # fmt: skip
def test_the_error_names_file_and_key(
    name: str, path: tuple[Any, ...], value: Any, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    document = altered(tool_files.SAMPLES[name](), path, value, remove=False)
    if name == "flent":
        # The values of the grid are read where there are no raw values.
        document["raw_values"] = {}
    Path("bad.json").write_text(json.dumps(document))
    assert command(["import", "bad.json"]) == 2
    printed = capsys.readouterr().err
    assert printed.startswith("bloatlab: bad.json: ")
    assert said in printed
    assert printed.count("\n") == 1


def test_nan_is_refused() -> None:
    text = json.dumps(tool_files.network_quality()).replace("18.5", "NaN")
    Path("nan.json").write_text(text)
    with pytest.raises(ParameterError, match=r"nan\.json: is not JSON \(NaN is not a number in JSON\)"):
        formats.read(Path("nan.json"))


def test_what_is_no_file_is_refused() -> None:
    for name, why in (("gone", "there is no such file"), (".", "is not a file")):
        with pytest.raises(ParameterError, match=why):
            formats.read(Path(name))
    with pytest.raises(ParameterError, match="unknown format `qlog`"):
        formats.read(Path("gone"), "qlog")


def test_a_mean_rate_that_no_link_has_is_refused(tmp_path: Path) -> None:
    document = tool_files.SAMPLES["iperf3"]()
    document["end"]["streams"][0]["receiver"]["bits_per_second"] = 1e160
    path = tmp_path / "file"
    path.write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(ParameterError, match="mean_mbps must be from 0"):
        formats.read(path, "iperf3")
