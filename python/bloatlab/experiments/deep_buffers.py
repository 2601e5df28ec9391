"""Deep buffers (CCPerf): greedy flows over a static dumbbell whose queue is larger than the bandwidth-delay product."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import fmean, pstdev
from typing import TYPE_CHECKING, Any, ClassVar, Self

from bloatlab import units
from bloatlab.experiments import answering, criteria, per_flow, phrases, quantities
from bloatlab.experiments import deep_buffers_in_ns3 as again
from bloatlab.experiments import parameters as read
from bloatlab.experiments.answering import Runs
from bloatlab.experiments.base import Experiment, plain
from bloatlab.experiments.claim import Cases, Claim, Kind, Verdict
from bloatlab.experiments.deep_buffers_in_ns3 import FLOW
from bloatlab.experiments.parameters import Parameter
from bloatlab.experiments.queues import with_limit

if TYPE_CHECKING:
    from bloatlab.result import Result

PAGE = "CCPerf, Deep Buffers Experiment, experiment 1 (doi 10.1109/COMST.2025.3533303)"
SAMPLED = "cov_in_flight_sampled"
RATE_PER_FLOW = "16Mbit/s"


def _claim(
    name: str,
    published: float,
    unit: str,
    kind: Kind = "stated",
    *,
    absolute: float | None = None,
    relative: float | None = None,
) -> Claim:
    return Claim(name, published, FLOW + name, unit, PAGE, kind, absolute=absolute, relative=relative)


class DeepBuffers(Experiment):
    """One greedy flow, a FIFO of four bandwidth-delay products, NewReno with PRR."""

    name = "deep-buffers"
    title = "Congestion control in a deep buffer"
    question = (
        "How long a queue does a congestion control keep in a deep buffer, and what throughput does it get for it?"
    )
    summary = (
        "Greedy flows cross one bottleneck whose queue holds more than the bandwidth-delay product. "
        "Vary `cca`, the congestion control, and `qlen`, the limit of the queue."
    )
    source = PAGE
    compared = ("cca",)
    packets_per_flow: ClassVar[int] = 80
    on_linux: ClassVar[Mapping[str, Any]] = {
        "cca": "reno", "ack_every": 2, "timeout": "linux", "loss_detection": "rack",
    }  # fmt: skip
    figures: ClassVar[tuple[str, ...]] = (
        "in_flight", "operating_point", "delay_throughput", "time_series", "ecdf", "queue", "queue_distribution",
        "rtt_histogram", "comparison",
    )  # fmt: skip

    parameters: ClassVar[tuple[Parameter, ...]] = (
        Parameter(
            "cca",
            "newreno",
            "",
            allowed="a congestion control of `bloatlab algorithms`, a table with its `kind`, or module:Class",
            help="congestion control of every flow",
            read=per_flow.in_ns3(read.algorithm("congestion_controls")),
            published="newreno",
        ),
        Parameter(
            "qlen",
            None,
            "packets",
            allowed="80p, 80 (packets), 120kB, 20buffers",
            help="limit of the bottleneck's queue; by default 80p x k, which is four bandwidth-delay products",
            read=read.limit,
            published="80p",
        ),
        Parameter(
            "bw",
            None,
            "bit/s",
            allowed="a rate such as 16Mbit/s or 16Mbps",
            help="rate of the bottleneck; by default 16Mbit/s x k",
            read=read.rate,
            published="16Mbit/s",
        ),
        Parameter(
            "rtt",
            "15ms",
            "s",
            allowed="a duration such as 15ms",
            help="two-way propagation",
            read=read.duration,
            published="15ms",
        ),
        Parameter(
            "queue",
            "fifo",
            "",
            allowed="a queue of `bloatlab algorithms`, a table with its `kind`, or module:Class",
            help="queue discipline of the bottleneck; qlen is its limit if it has one",
            read=read.algorithm("queues"),
            published="fifo",
        ),
        Parameter(
            "loss",
            0.0,
            "",
            allowed="0 to below 1",
            help="probability that a packet is lost behind the bottleneck",
            read=read.probability,
            published=0,
        ),
        Parameter(
            "k",
            1,
            "flows",
            allowed="1 to 10000",
            help="number of flows",
            read=read.whole(1, 10000),
            published=1,
        ),
        Parameter(
            "stop",
            "15s",
            "s",
            allowed="a duration such as 15s",
            help="when the flows stop and the run ends",
            read=read.duration,
            published="15s",
        ),
        *per_flow.PARAMETERS,
        Parameter(
            "ack_every",
            1,
            "segments",
            allowed="1 to 64",
            help="segments received per ACK (1: no delayed ACKs)",
            read=read.whole(1, 64),
        ),
        Parameter(
            "delayed_ack",
            "40ms",
            "s",
            allowed="a duration such as 40ms",
            help="longest wait of a delayed ACK",
            read=read.duration,
        ),
        Parameter(
            "byte_counting",
            True,
            "",
            allowed="true, false",
            help="an ACK grows the window by the acknowledged bytes (RFC 3465), not by one segment (RFC 5681)",
            read=read.boolean,
        ),
        Parameter(
            "mss",
            1448,
            "bytes",
            allowed="64 to 65000",
            help="payload of a full segment",
            read=read.whole(64, 65000),
        ),
        Parameter(
            "send_buffer",
            "4MB",
            "bytes",
            allowed="bytes such as 4MB",
            help="bytes of the send buffer",
            read=read.size,
            published="about 4 MB",
        ),
        Parameter(
            "receive_buffer",
            "32MB",
            "bytes",
            allowed="bytes such as 32MB",
            help="bytes of the receive buffer; bounds the window",
            read=read.size,
        ),
        Parameter(
            "initial_window",
            10,
            "segments",
            allowed="1 to 1000",
            help="initial window (RFC 6928)",
            read=read.whole(1, 1000),
        ),
        Parameter(
            "recovery",
            "prr",
            "",
            allowed="prr, classic",
            help="how the window is reduced in recovery",
            read=per_flow.in_ns3(read.choice("prr", "classic", TcpPrrRecovery="prr", TcpClassicRecovery="classic")),
            published="prr",
        ),
        Parameter(
            "loss_detection",
            "dupack",
            "",
            allowed="dupack, rack",
            help="how losses are detected",
            read=read.choice("dupack", "rack"),
        ),
        Parameter(
            "ecn",
            False,
            "",
            allowed="true, false",
            help="negotiate ECN (RFC 3168)",
            read=read.boolean,
        ),
        Parameter(
            "min_rto",
            "200ms",
            "s",
            allowed="a duration such as 200ms",
            help="smallest retransmission timeout",
            read=read.duration,
        ),
        Parameter(
            "timeout",
            "rfc6298",
            "",
            allowed="rfc6298, linux",
            help="how the retransmission timeout follows the RTT: RFC 6298's mean deviation, as in ns-3, or Linux's largest",
            read=read.choice("rfc6298", "linux"),
        ),
        Parameter(
            "pacing",
            "auto",
            "",
            allowed="auto, on, off",
            help="pacing: if the congestion control asks for it, always, never",
            read=read.choice("auto", "on", "off"),
        ),
        Parameter(
            "gso_max_segs",
            1,
            "segments",
            allowed="1 to 65535",
            help="largest number of segments that pacing releases together; ns-3 has no segmentation offload",
            read=read.whole(1, 65535),
        ),
        Parameter(
            "device_packets",
            1,
            "packets",
            allowed="0 to 1000000",
            help="packets that the device holds behind the queue, besides the one being sent",
            read=read.whole(0, 1000000),
        ),
        Parameter(
            "overhead",
            2,
            "bytes",
            allowed="0 to 65535",
            help="bytes per packet added on the wire (2: the point-to-point header)",
            read=read.whole(0, 65535),
        ),
        Parameter(
            "sample_interval",
            "100ms",
            "s",
            allowed="a duration such as 100ms",
            help="time between two samples of a series",
            read=read.duration,
        ),
    )

    # The tolerance of a number with two digits is half a unit of its last printed digit.
    claims: ClassVar[tuple[Claim, ...]] = (
        _claim("mean_throughput_l4", 15.39, "Mbit/s", relative=0.01),
        _claim("mean_throughput_l7", 15.39, "Mbit/s", relative=0.01),
        _claim("mean_delivery_rate_l4", 15.38, "Mbit/s", relative=0.01),
        _claim("mean_sending_rate_l4", 15.53, "Mbit/s", relative=0.01),
        _claim("mean_sending_rate_l7", 17.53, "Mbit/s", relative=0.01),
        _claim("mean_srtt_l4", 58.84, "ms", relative=0.01),
        _claim("mean_cwnd_l4", 79.70, "segments", relative=0.01),
        _claim("mean_in_flight_l4", 79.18, "segments", relative=0.01),
        _claim("mean_network_power_l4", 273.48, "Mbit/s per s", relative=0.01),
        _claim("mean_recovery_time_l4", 101.88, "ms", relative=0.03),
        _claim("mean_one_way_delay_l7", 1925.14, "ms", relative=0.02),
        _claim("total_retransmissions_l4", 108, "", absolute=3),
        _claim("total_rtos_l4", 0, "", absolute=0),
        _claim("mean_idt_ewma_l4", 0.76, "ms", absolute=0.005),
        _claim("cov_in_flight_l4", 0.21, "", absolute=0.005),
        _claim("cov_throughput_l4", 0.03, "", absolute=0.005),
        # They follow from the sRTT, the throughput and the segments in flight.
        _claim("mean_est_qdelay_l4", 43.84, "ms", "derived", relative=0.01),
        _claim("mean_utility_mpdf_l4", -0.07, "1/(Mbit/s)", "derived", absolute=0.005),
        _claim("mean_utility_pf_l4", 2.73, "ln(Mbit/s)", "derived", absolute=0.005),
        _claim("mean_utilization_bw_l4", 0.96, "", "derived", absolute=0.005),
        Claim(
            "mean_utilization_bdp_l4", 4.12, FLOW + "mean_utilization_bdp_measured_l4", "", PAGE, "derived",
            relative=0.01,
            note="over the measured bandwidth, from which the published number follows: "
            "79.18 segments x 1500 bytes / (15.39 Mbit/s x 15 ms) = 4.12",
        ),
        *again.CLAIMS,
        # A greedy flow ends when it is stopped.
        _claim("flow_completion_time_l4", 15.00, "s", "check", absolute=0.005),
    )  # fmt: skip

    comparison: ClassVar[tuple[Claim, ...]] = (
        Claim(
            "mean_utilization_bdp_l4 (nominal bandwidth)", 4.12, FLOW + "mean_utilization_bdp_l4", "", PAGE, "stated",
            note="over the 16 Mbit/s of the link, which is not what was published: 79.18 segments give 3.96 there",
        ),
        Claim(
            "cov_in_flight_l4 (samples)", 0.21, "readings." + SAMPLED, "", PAGE, "stated",
            note="standard deviation / mean of the samples that the run exports, one per 100 ms; the other row is over time",
        ),
    )  # fmt: skip
    fitted = (
        "`ack_every`, `overhead`, `device_packets` and `send_buffer`, which the page does not state, were chosen so that the "
        "published numbers result. So were three definitions: `mean_idt_ewma_l4` as a mean over time, which our run of ns-3 "
        "confirms, `cov_in_flight_l4` over time and from the first segment on, and the measured bandwidth in "
        "`mean_utilization_bdp_l4`."
    )
    renamed: ClassVar[Mapping[str, str]] = {}
    """Congestion controls in `algs` that the engine has under another name."""

    def for_engine(self, engine: str) -> Self:
        """As for every experiment; NewReno in `algs` is Linux's Reno, as it is in the default of `cca`."""
        adapted = super().for_engine(engine)
        if adapted is not self:
            adapted.renamed = {"newreno": "reno"}  # type: ignore[misc]  # A class attribute that this instance hides.
        return adapted

    def resolve(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """As for every experiment, and checks the lists of values per flow."""
        values = super().resolve(per_flow.spread(given, self.renamed))
        if values["stop_times"] and given.get("stop") is None:
            values["stop"] = max(values["stop_times"], key=units.duration)
        per_flow.check(values)
        if len(values["rtts"] or ()) > 1:
            values["rtt"] = max(values["rtts"], key=units.duration)
        if len(values["algs"] or ()) > 1:
            # The name of the contender.
            values["cca"] = "+".join(dict.fromkeys(phrases.value(plain(one)) for one in values["algs"]))
        return values

    def all_axes(self, base: Mapping[str, Any], given: Mapping[str, Sequence[Any]]) -> dict[str, Sequence[Any]]:
        """As for every experiment, but a list replaces the axis of the parameter that it stands for."""
        axes = super().all_axes(base, given)
        replaced = {scalar for name, scalar in per_flow.SCALARS.items() if name in base or name in given}
        return {name: values for name, values in axes.items() if name not in replaced or name in given}

    def derive(self, values: dict[str, Any]) -> dict[str, Any]:
        """The bottleneck's rate and limit grow with the number of flows, as in CCPerf."""
        flows = values["k"]
        if values["bw"] is None:
            values["bw"] = units.write_rate(flows * units.rate(RATE_PER_FLOW))
        # Options that a tc text leaves out have tc's defaults, but a given limit counts.
        if values["qlen"] is None and not read.is_tc(values["queue"]):
            values["qlen"] = f"{self.packets_per_flow * flows}p"
        return values

    def verdicts(self, metrics: Cases, parameters: Mapping[str, Any] | None = None) -> list[Verdict]:
        """As for every experiment. Claims about recoveries are not judged if the engine does not report recoveries."""
        found = super().verdicts(metrics, parameters)
        flow = next(iter(metrics.values())).get("flow_metrics", {}).get("flow_1", {})
        if "total_recoveries_l4" in flow:
            return found
        return [
            replace(one, holds=None, why="not judged: the engine does not report recoveries")
            if one.holds is not None and one.measured is None and "_recover" in one.claim.name
            else one
            for one in found
        ]

    def readings(self, run: Result) -> dict[str, float]:
        """The coefficient of variation of the segments in flight over the samples of the first flow."""
        series = run.flow_series.to_polars()
        if "in_flight" not in series.columns:
            return {}
        samples = series.filter(series["flow"] == "flow_1")["in_flight"].drop_nulls().to_list()
        return {SAMPLED: pstdev(samples) / fmean(samples)} if any(samples) else {}

    def answer(self, runs: Runs) -> list[str]:
        """Answers the question from any runs."""
        wait = answering.Quantity(
            "mean queueing delay", criteria.mean_of("flow", "flow", "mean_est_qdelay_l4"), words=answering.WAIT
        )
        groups = runs.by() if runs.varying else runs.by("cca")
        return [
            *answering.contrast(groups, wait, quantities.goodput("flow", "throughput"), quantities.USE),
            *answering.only(runs, "cca"),
        ]

    def scenario(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """A dumbbell with `k` greedy flows."""
        tcp_keys = (
            "mss", "ack_every", "delayed_ack", "byte_counting", "initial_window", "send_buffer", "receive_buffer", "ecn",
            "min_rto", "timeout", "loss_detection", "recovery", "pacing", "gso_max_segs",
        )  # fmt: skip
        return {
            "name": self.name,
            "duration": params["stop"],
            "sample_interval": params["sample_interval"],
            "dumbbell": {
                "rate": params["bw"],
                "rtt": params["rtt"],
                "queue": with_limit(params["queue"], params["qlen"]),
                "loss": params["loss"],
                "device_packets": params["device_packets"],
                "overhead": params["overhead"],
            },
            "flows": self.flows(
                params,
                {"cca": params["cca"], "traffic": "greedy", "tcp": {key: params[key] for key in tcp_keys}},
            ),
        }

    def flows(self, params: Mapping[str, Any], shared: Mapping[str, Any]) -> list[dict[str, Any]]:
        """The flows of the scenario.

        Args:
            params: Resolved parameters.
            shared: What all flows have.
        """
        return [{"count": params["k"], **shared}] if per_flow.is_uniform(params) else per_flow.flows(params, shared)
