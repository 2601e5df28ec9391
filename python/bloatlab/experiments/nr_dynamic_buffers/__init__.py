"""Schemes that keep the buffer of a 5G bearer short: queues in the RLC, dynamic sizing, the UPF, and marking."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from bloatlab.experiments import answering, criteria, phrases, quantities, shared
from bloatlab.experiments import parameters as read
from bloatlab.experiments.answering import Quantity, Runs
from bloatlab.experiments.base import Experiment
from bloatlab.experiments.criteria import Criterion
from bloatlab.experiments.finding import Finding
from bloatlab.experiments.nr_dynamic_buffers.channels import CHANNELS, radio
from bloatlab.experiments.nr_dynamic_buffers.remarks import remarks
from bloatlab.experiments.nr_dynamic_buffers.schemes import SCHEMES, apply, transfers
from bloatlab.experiments.parameters import Parameter
from bloatlab.experiments.ranking import Observation

RLC_MODES = ("um", "am")
BULK, PAGES = "bulk", "web"


def _round_trip(percentile: int) -> Criterion:
    """RTT of the bulk flows, because they cross up to four queues and no single sojourn time has the whole wait."""
    metric = f"p{percentile}_rtt_l4"
    return Criterion(
        f"{BULK}_rtt_p{percentile}", f"RTT of transfers p{percentile}", "ms", "lower", "bulk delay",
        f"mean over the {BULK} flows of {metric}", criteria.mean_of("flow", BULK, metric), percentile < 99,
    )  # fmt: skip


def _carried(metrics: criteria.Metrics) -> float | None:
    found = [value for name in (BULK, PAGES) for value in criteria.values(metrics, "flow", name, "mean_throughput_l7")]
    return sum(found) if found else None


def _retransmitted(metrics: criteria.Metrics) -> float | None:
    sent = sum(criteria.values(metrics, "flow", BULK, "tx_packets"))
    again = sum(criteria.values(metrics, "flow", BULK, "total_retransmissions_l4"))
    return again / sent if sent else None


class NrDynamicBuffers(Experiment):
    """Transfers, a call, pages and a ping of one user, through one bearer."""

    name = "nr-dynamic-buffers"
    title = "Dynamic buffers against queue management in 5G"
    question = (
        "Which scheme keeps the delay of a call short beside transfers in a 5G cell, and what throughput does it cost?"
    )
    summary = (
        "The flows of one user share the buffer of one 5G bearer: transfers, a call, web pages and a ping. The schemes "
        "are queue disciplines in the RLC, algorithms that keep the RLC short (DRQL, DynRLC, 5G-BDP), queues in the "
        "UPF, and L4Span's marking. They are tried on four channels in both modes of the RLC, and are ranked by delay, "
        "throughput, fairness and loss."
    )
    source = (
        "bloatlab; the comparison that the authors of nr-rlc name as future work. Algorithms after Irazabal et al. 2022 and "
        "Wan and Jamieson 2025, channels after TR 38.901"
    )
    figures = (
        "fronts", "standings", "places", "delay_ranges", "criteria",
        "downlink", "time_series", "queue", "operating_point", "ecdf",
    )  # fmt: skip
    compared = ("scheme",)
    replications = 3
    parameters: ClassVar[tuple[Parameter, ...]] = (
        Parameter(
            "scheme", "tail", "",
            allowed=", ".join(SCHEMES), help="; ".join(f"{one.name}: {one.what}" for one in SCHEMES.values()),
            read=read.choice(*SCHEMES),
        ),
        Parameter(
            "rlc", "um", "",
            allowed=", ".join(RLC_MODES),
            help="mode of the RLC: um, unacknowledged; am, acknowledged, sends again what HARQ lost",
            read=read.choice(*RLC_MODES),
        ),
        Parameter(
            "channel", "static", "",
            allowed=", ".join(CHANNELS), help="; ".join(f"{one.name}: {one.what}" for one in CHANNELS.values()),
            read=read.choice(*CHANNELS),
        ),
        shared.cca("cubic", "congestion control of TCP, unless the scheme needs another one"),
        shared.count("flows", 2, "flows", "transfers of each user", low=1, high=100),
        shared.count("ues", 1, "users", "number of users; call, pages and ping belong to the first one", low=1, high=64),
        Parameter(
            "buffer", "10MB", "bytes",
            allowed="bytes such as 10MB",
            help="buffer of the RLC for each user, and limit of a plain queue in SDAP (OpenAirInterface: 10 MB)",
            read=read.size,
        ),
        Parameter(
            "small_buffer", "250kB", "bytes",
            allowed="bytes such as 250kB",
            help="buffer of the RLC with tail_small: 100 Mbit/s x 20 ms",
            read=read.size,
        ),
        Parameter(
            "upf_rate", None, "bit/s",
            allowed="a rate such as 58Mbit/s",
            help="rate of the UPF under upf_aqm; by default a twentieth below the carrier's best: "
            + ", ".join(f"{one.name} {one.upf_rate}" for one in CHANNELS.values()),
            read=read.rate,
        ),
        Parameter(
            "page", "500kB", "bytes",
            allowed="bytes such as 500kB", help="size of a web page, fetched half a second after the last was complete",
            read=read.size,
        ),
        shared.stop("15s"),
        shared.warmup("3s"),
    )  # fmt: skip
    criteria: ClassVar[tuple[Criterion, ...]] = (
        *(_round_trip(percentile) for percentile in (50, 95, 99)),
        *criteria.voip(),
        *criteria.ping(),
        *criteria.web(),
        # A scheme that is good for pages leaves less to transfers, so the goodput includes the pages.
        Criterion(
            "tcp_goodput", "goodput of TCP", "Mbit/s", "higher", "throughput",
            f"sum over the {BULK} flows and the pages of mean_throughput_l7", _carried,
        ),
        criteria.fairness(BULK),
        Criterion(
            "retransmitted", "share retransmitted", "", "lower", "loss",
            f"sum of total_retransmissions_l4 / sum of tx_packets of the {BULK} flows", _retransmitted,
            share=True,
        ),
    )  # fmt: skip

    def axes(self) -> Mapping[str, Sequence[Any]]:
        """Every scheme in every channel and mode."""
        return {"channel": list(CHANNELS), "rlc": RLC_MODES, "scheme": list(SCHEMES)}

    def derive(self, values: dict[str, Any]) -> dict[str, Any]:
        """Fills in the rate of the UPF from the channel."""
        if values["upf_rate"] is None:
            values["upf_rate"] = CHANNELS[values["channel"]].upf_rate
        return values

    def remarks(self, observed: Sequence[Observation]) -> list[Finding]:
        """Findings: the best schemes per point, and common claims."""
        return remarks(observed)

    def answer(self, runs: Runs) -> list[str]:
        """Answers the question from any runs."""
        groups, delay = runs.by(*self.compared), quantities.call()
        carried = Quantity("goodput of TCP", _carried, phrases.mbps)
        waits = quantities.waiting(BULK, quantities.OF_TRANSFERS)
        return [*answering.weighed(groups, delay, carried, bulk=waits), *answering.only(runs, "scheme")]

    def scenario(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """A cell: the first user has all flows, further users only transfers."""
        scheme = SCHEMES[params["scheme"]]
        cell = {
            "wire": {"rate": "10Gbit/s", "delay": "5ms", "overhead": 38},
            # GTP-U with the PDU session container, UDP, IP, Ethernet: 16 + 8 + 20 + 38 bytes.
            "backhaul": {"rate": "10Gbit/s", "delay": "2ms", "overhead": 82},
            "radio": radio(CHANNELS[params["channel"]], params["rlc"], params["ues"]),
        }
        tcp = transfers(scheme, params)
        page = {"kind": "fetch", "response": params["page"], "interval": "500ms"}
        bulk = [
            {
                "name": BULK if params["ues"] == 1 else f"{BULK}_ue{ue}",
                "count": params["flows"],
                "start_jitter": "500ms",
                "ue": ue,
                **tcp,
            }
            for ue in range(1, params["ues"] + 1)
        ]
        return {
            "name": self.name,
            "duration": params["stop"],
            "warmup": params["warmup"],
            "cell": apply(scheme, cell, params),
            "flows": [*bulk, shared.call(), {"name": PAGES, "traffic": page, **tcp}, shared.ping()],
        }
