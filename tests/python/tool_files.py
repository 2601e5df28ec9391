"""Small files of measuring tools, written by us after the descriptions of their formats."""

from __future__ import annotations

from typing import Any

T0 = 1_769_860_800.0
"""2026-01-31T12:00:00Z."""


def flent() -> dict[str, Any]:
    """A test of one download and one ping of 4 s, with 1 s idle on both ends."""
    grid = [0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0]
    down = [None, None, None, 8.0, 10.0, 10.0, 12.0, None, None]
    ping = [20.0, 20.0, 20.0, 60.0, 80.0, 90.0, 100.0, 30.0, 20.0]
    return {
        "version": 4,
        "metadata": {
            "NAME": "tcp_ndown", "TITLE": "my link", "HOST": "netperf.example", "LOCAL_HOST": "laptop", "LENGTH": 2,
            "STEP_SIZE": 0.5, "TOTAL_LENGTH": 4, "T0": "2026-01-31T12:00:00.000000Z", "TIME": "2026-01-31T12:00:00.000000Z",
            "FLENT_VERSION": "2.1.1", "TEST_PARAMETERS": {"download_streams": "1"},
            "SERIES_META": {"TCP download::1": {"CONGESTION_CONTROL": "cubic"}},
        },
        "x_values": grid,
        "results": {"TCP download::1": down, "TCP download sum": down, "Ping (ms) ICMP": ping, "CPU load": ping},
        "raw_values": {
            "TCP download::1": [
                {"t": T0 + at, "val": value, "dur": 0.5}
                for at, value in zip(grid, down, strict=True)
                if value is not None
            ],
            "Ping (ms) ICMP": [
                {"t": T0 + at, "val": value, "seq": place}
                for place, (at, value) in enumerate(zip(grid, ping, strict=True))
            ],
        },
    }  # fmt: skip


def _stamp(at_ms: float) -> dict[str, int]:
    return {"wall": int(T0 * 1e9 + at_ms * 1e6), "monotonic": int(at_ms * 1e6)}


def irtt() -> dict[str, Any]:
    """Five requests: two replies, and a loss of every kind."""
    trips: list[dict[str, Any]] = []
    for place, (lost, up, down) in enumerate(
        [("false", 12.0, 8.0), ("true_up", 0, 0), ("false", 30.0, 10.0), ("true_down", 0, 0), ("true", 0, 0)]
    ):
        sent = 100.0 * place
        trip: dict[str, Any] = {"seqno": place, "lost": lost, "timestamps": {"client": {"send": _stamp(sent)}}}
        if lost == "false":
            trip["timestamps"]["client"]["receive"] = _stamp(sent + up + down)
            trip["delay"] = {"send": int(up * 1e6), "receive": int(down * 1e6), "rtt": int((up + down) * 1e6)}
        trips.append(trip)
    return {
        "version": {"irtt": "0.9.1", "protocol": 1, "json_format": 1},
        "system_info": {"hostname": "laptop"},
        "config": {
            "local_address": "192.0.2.1:40000", "remote_address": "192.0.2.2:2112",
            "params": {"interval": 100_000_000, "duration": 500_000_000, "length": 48, "dscp": 46},
        },
        "stats": {"start_time": "2026-01-31T12:00:00Z"},
        "round_trips": trips,
    }  # fmt: skip


def duration(seconds: float) -> dict[str, int]:
    return {"secs": int(seconds), "nanos": round((seconds - int(seconds)) * 1e9)}


def crusader() -> dict[str, Any]:
    """A download of 10 Mbit/s for 1 s, and pings, of which one is lost each way."""
    points = [{"time": duration(5.0 + 0.1 * step), "bytes": 125_000 * step} for step in range(11)]
    latencies: list[Any] = [
        {"total": duration(0.03), "up": duration(0.01)}, None, {"total": None, "up": duration(0)},
        {"total": duration(0.05), "up": duration(0.02)},
    ]  # fmt: skip
    return {
        "version": 2,
        "generated_by": "Crusader 0.3.2",
        "config": {
            "stagger": duration(0), "load_duration": duration(1), "grace_duration": duration(1),
            "ping_interval": duration(0.005), "bandwidth_interval": duration(0.1),
        },
        "ipv6": False, "server_latency": duration(0.01), "start": duration(4.0), "duration": duration(3.0),
        "stream_groups": [{"download": True, "both": False, "streams": [{"data": points}]}],
        "pings": [
            {"index": place, "sent": duration(4.5 + place), "latency": latency}
            for place, latency in enumerate(latencies)
        ],
    }  # fmt: skip


def iperf3() -> dict[str, Any]:
    """Two streams for 2 s, the first second of which is omitted from one."""

    def stream(socket: int, second: int, mbps: float) -> dict[str, Any]:
        return {
            "socket": socket, "start": second, "end": second + 1, "seconds": 1.0, "bytes": int(mbps * 125_000),
            "bits_per_second": mbps * 1e6, "retransmits": second, "snd_cwnd": 14_480, "rtt": 20_000 + 10_000 * second,
            "omitted": False, "sender": True,
        }  # fmt: skip

    return {
        "start": {
            "version": "iperf 3.16", "timestamp": {"timesecs": int(T0)}, "connecting_to": {"host": "192.0.2.9", "port": 5201},
            "tcp_mss_default": 1448,
            "test_start": {"protocol": "TCP", "num_streams": 2, "duration": 2, "reverse": 0, "tos": 184},
        },
        "intervals": [
            {"streams": [stream(5, 0, 4.0), stream(7, 0, 2.0)]},
            {"streams": [stream(5, 1, 8.0), stream(7, 1, 2.0)]},
        ],
        "end": {
            "streams": [
                {"sender": {"socket": socket, "bits_per_second": mbps * 1e6 + 1e5},
                 "receiver": {"socket": socket, "bits_per_second": mbps * 1e6}}
                for socket, mbps in ((5, 6.0), (7, 2.0))
            ],
            "sender_tcp_congestion": "cubic",
        },
    }  # fmt: skip


def network_quality() -> dict[str, Any]:
    return {
        "base_rtt": 18.5, "dl_flows": 12, "dl_throughput": 90_000_000, "ul_flows": 8, "ul_throughput": 20_000_000,
        "responsiveness": 541.2, "il_h2_req_resp": [20, 22], "lud_self_h2_req_resp": [120, 180, 150],
        "start_date": "2026-01-31 12:00:00.000", "end_date": "2026-01-31 12:00:10.000", "os_version": "Version 14.5",
    }  # fmt: skip


LENS = f"""timestamp,rtt,uplink,downlink
{int(T0) * 10**9},45.5,30.25,15.25
{int(T0) * 10**9 + 10_000_000},-1,0,0
{int(T0) * 10**9 + 20_000_000},0,-1,0
{int(T0) * 10**9 + 30_000_000},0,0,-1
{int(T0) * 10**9 + 40_000_000},61.5,40.5,21.0
"""
SAMPLES: dict[str, Any] = {
    "flent": flent, "irtt": irtt, "crusader": crusader, "iperf3": iperf3, "network-quality": network_quality,
}  # fmt: skip
