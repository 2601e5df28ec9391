"""Tables in the form of an engine's, from a small fluid model, for tests of figures and reports."""

import hashlib
import json
import math
import random

import polars as pl

from bloatlab.engines import find

ENGINE = find("sim")


def run_tables(
    ccas=("newreno",),
    *,
    rate=16.0,
    rtt=15.0,
    limit=80,
    stop=15.0,
    step=0.1,
    seed=1,
    starts=None,
    queue="fifo",
) -> dict[str, pl.DataFrame]:
    """One run of `len(ccas)` greedy flows over one bottleneck: AIMD windows, a queue, sRTT and losses."""
    draw = random.Random(seed)
    names = [f"flow_{index + 1}" for index in range(len(ccas))]
    starts = starts or [0.0] * len(ccas)
    bdp = rate * 1e3 * rtt / 8 / 1500
    cwnd = dict.fromkeys(names, 10.0)
    cap = dict(zip(names, ccas, strict=True))
    srtt = dict.fromkeys(names)
    retransmissions = dict.fromkeys(names, 0)
    flow_rows, link_rows, rtts = [], [], {name: [] for name in names}
    steps = max(1, round(stop / step))
    for tick in range(1, steps + 1):
        now = tick * step
        active = [name for name, start in zip(names, starts, strict=True) if now > start]
        window = sum(cwnd[name] for name in active)
        backlog = min(limit, max(0.0, window - bdp))
        delay = backlog * 1500 * 8 / (rate * 1e3)
        drops = 0
        if window - bdp > limit:
            victims = [name for name in active if draw.random() < 0.6] or active[:1]
            for name in victims:
                cwnd[name] *= 0.7 if cap[name] == "cubic" else 0.5
                retransmissions[name] += 3
                drops += 3
        for name in names:
            row = {"time_s": round(now, 3), "flow": name}
            if name not in active:
                flow_rows.append(row)
                continue
            here = rtt + delay + draw.uniform(0, 0.4)
            srtt[name] = here if srtt[name] is None else 0.5 * srtt[name] + 0.5 * here
            rtts[name].append(here)
            goodput = min(rate * 0.965, window * 1448 * 8 / (rtt + delay) / 1e3) * cwnd[name] / max(window, 1e-9)
            goodput *= draw.uniform(0.97, 1.03)
            row |= {
                "throughput_mbps": goodput,
                "sending_rate_mbps": goodput * 1.01,
                "delivery_rate_mbps": goodput,
                "cwnd": math.floor(cwnd[name]),
                "ssthresh": None if not retransmissions[name] else 40.0,
                "in_flight": math.floor(cwnd[name] * draw.uniform(0.97, 1)),
                "srtt_ms": srtt[name],
                "retransmissions": retransmissions[name],
            }
            flow_rows.append(row)
            growth = step * 1e3 / (rtt + delay)
            cwnd[name] += growth if backlog else growth * 4
        used = min(1.0, window / bdp)
        link_rows.append(
            {
                "time_s": round(now, 3),
                "link": "bottleneck",
                "queue_packets": round(backlog),
                "queue_bytes": round(backlog) * 1500,
                "sojourn_ms": delay if backlog else None,
                "throughput_mbps": rate * used,
                "utilization": used,
                "drops": drops,
                "marks": 0,
            }
        )
    flows = pl.DataFrame(
        {
            "flow": names,
            "cca": list(ccas),
            "traffic": ["greedy"] * len(names),
            "start_s": starts,
            "stop_s": [stop] * len(names),
            "base_rtt_ms": [rtt] * len(names),
            "mss": [1448] * len(names),
        },
        schema_overrides={"cca": pl.String},
    )
    links = pl.DataFrame(
        {"link": ["bottleneck"], "rate_mbps": [rate], "delay_ms": [rtt / 2], "queue": [queue], "limit_packets": [limit]}
    )
    schema = {
        "time_s": pl.Float64, "flow": pl.String, "throughput_mbps": pl.Float64, "sending_rate_mbps": pl.Float64,
        "delivery_rate_mbps": pl.Float64, "cwnd": pl.Float64, "ssthresh": pl.Float64, "in_flight": pl.Float64,
        "srtt_ms": pl.Float64, "retransmissions": pl.Int64,
    }  # fmt: skip
    link_series = pl.DataFrame(link_rows, schema_overrides={"sojourn_ms": pl.Float64})
    tables = {
        "flows": flows,
        "links": links,
        "probes": pl.DataFrame({"probe": ["ping"], "interval_ms": [100.0], "size": [64]}),
        "flow_series": pl.DataFrame(flow_rows, schema=schema),
        "link_series": link_series,
        "histograms": _histograms(rtts, link_series),
    }
    tables["metrics"] = metrics_of(tables, rate)
    return tables


def _histograms(rtts, link_series):
    rows = []

    def add(scope, name, quantity, values):
        counts = {}
        for value in values:
            # HDR-like: buckets grow with the value.
            width = 2 ** max(-4, math.floor(math.log2(max(value, 0.01))) - 5)
            lower = math.floor(value / width) * width
            counts[lower, lower + width] = counts.get((lower, lower + width), 0) + 100
        for (lower, upper), weight in sorted(counts.items()):
            rows.append((scope, name, quantity, float(lower), float(upper), float(weight)))

    for name, values in rtts.items():
        add("flow", name, "rtt", values)
    add("link", "bottleneck", "sojourn", link_series["sojourn_ms"].drop_nulls().to_list())
    columns = ["scope", "name", "quantity", "lower", "upper", "weight"]
    return pl.DataFrame(rows, schema=columns, orient="row")


def metrics_of(tables, rate):
    """Metrics from the samples, in the form of a store's table."""
    rows = []
    for (flow,), part in tables["flow_series"].group_by("flow", maintain_order=True):
        rows += [
            ("flow", flow, "mean_throughput_l4", part["throughput_mbps"].mean(), "Mbit/s"),
            ("flow", flow, "mean_srtt_l4", part["srtt_ms"].mean(), "ms"),
            ("flow", flow, "mean_in_flight_l4", part["in_flight"].mean(), "segments"),
            ("flow", flow, "mean_est_qdelay_l4", (part["srtt_ms"] - 15).mean(), "ms"),
            ("flow", flow, "total_retransmissions_l4", float(part["retransmissions"].max() or 0), ""),
            ("flow", flow, "mean_utilization_bw_l4", (part["throughput_mbps"].mean() or 0) / rate, ""),
        ]
    link = tables["link_series"]
    rows += [
        ("link", "bottleneck", "utilization", link["utilization"].mean(), ""),
        ("link", "bottleneck", "mean_sojourn", link["sojourn_ms"].mean(), "ms"),
        ("link", "bottleneck", "p95_sojourn", link["sojourn_ms"].quantile(0.95), "ms"),
        (
            "network",
            "network",
            "agg_throughput",
            sum(row[3] or 0 for row in rows if row[2] == "mean_throughput_l4"),
            "Mbit/s",
        ),
    ]
    rows = [row for row in rows if row[3] is not None]
    return pl.DataFrame(rows, schema=["scope", "entity", "metric", "value", "unit"], orient="row")


def sweep_tables(ccas=("newreno", "cubic", "bbr"), qlens=(20, 40, 80, 160, 320), seeds=(1, 2), extra=None):
    """`runs`, `parameters` and `metrics` of a sweep, in the form of a store's."""
    runs, parameters, metrics = [], [], []
    for cca in ccas:
        for qlen in qlens:
            for seed in seeds:
                run_id = f"{cca}-{qlen}-{seed}"
                tables = run_tables([cca], limit=qlen, seed=seed, stop=5)
                runs.append({"run_id": run_id, "seed": seed, "status": "done"})
                values = {"cca": cca, "qlen": f"{qlen}p", "bw": "16Mbit/s", **(extra or {})}
                parameters += [
                    {"run_id": run_id, "name": name, "value": json.dumps(value)} for name, value in values.items()
                ]
                metrics.append(
                    tables["metrics"].insert_column(0, pl.Series("run_id", [run_id] * tables["metrics"].height))
                )
    return {"runs": pl.DataFrame(runs), "parameters": pl.DataFrame(parameters), "metrics": pl.concat(metrics)}


def ranked_tables(queues, points=("",), seeds=(1, 2)):
    """`ranking`, `contenders` and `metrics` of a comparison of queues, as `source.of_runs` gives them.

    `places` and `overall` have the same shape as `ranking`, `at_points` has it at each point.
    """
    draw = random.Random(7)
    criteria = [
        *((f"voip_delay_p{p}", f"VoIP one-way delay p{p}", "call", "ms", "lower", p / 5) for p in (50, 95, 99)),
        *((f"bulk_delay_p{p}", f"queueing delay p{p}", "bulk delay", "ms", "lower", p / 10) for p in (50, 95, 99)),
        ("bulk_goodput", "goodput", "throughput", "Mbit/s", "higher", 9.0),
        ("loss", "loss at the bottleneck", "loss", "", "lower", 0.01),
    ]
    ranking = [
        {
            "contender": queue, "position": place + 1, "score": 1.0 + place, "criterion": name, "title": title, "group": group,
            "unit": unit, "better": better, "value": typical * (1 + place), "low": typical, "high": typical * 2,
            "rank": 1.0 + place,
        }
        for place, queue in enumerate(queues)
        for name, title, group, unit, better, typical in criteria
    ]  # fmt: skip
    runs = [
        (f"{queue} {point} {seed}", queue, point, place)
        for place, queue in enumerate(queues)
        for point in points
        for seed in seeds
    ]
    metrics = [
        {"run_id": run, "scope": "flow", "entity": f"bulk_{flow}", "metric": metric, "value": value, "unit": unit}
        for run, _, _, place in runs
        for flow in (1, 2)
        for metric, value, unit in (
            ("mean_sojourn_l4", 5.0 * (1 + place) + draw.random(), "ms"),
            ("mean_throughput_l7", 4.0 + draw.random(), "Mbit/s"),
        )
    ]
    return {
        "ranking": pl.DataFrame(ranking),
        "places": pl.DataFrame(ranking),
        "overall": pl.DataFrame(ranking),
        "at_points": pl.concat([pl.DataFrame(ranking).with_columns(pl.lit(point).alias("point")) for point in points]),
        "contenders": pl.DataFrame(
            [{"run_id": run, "contender": queue, "point": point} for run, queue, point, _ in runs]
        ),
        "metrics": pl.DataFrame(metrics),
    }


DEFINITIONS = [
    ("flow", "mean_throughput_l4", "Mbit/s", "payload received / lifetime", "CCPerf", "higher"),
    ("flow", "mean_srtt_l4", "ms", "mean over time of the smoothed RTT", "RFC 6298", "lower"),
    ("flow", "mean_in_flight_l4", "segments", "mean of segments < window & in flight", "RFC 6675", "none"),
    ("flow", "mean_est_qdelay_l4", "ms", "mean_srtt_l4 - propagation", "CCPerf", "lower"),
    ("flow", "total_retransmissions_l4", "", "segments sent again", "CCPerf", "lower"),
    ("link", "mean_sojourn", "ms", "mean time in the queue", "RFC 8289", "lower"),
    ("network", "agg_throughput", "Mbit/s", "sum of the flows' throughput", "CCPerf", "higher"),
]


class Outcome:
    suspect = None

    """Synthetic tables as an engine's outcome."""

    digest = "d" * 64
    events = 12345

    def __init__(self, tables):
        self._tables = dict(tables)
        self._metrics = self._tables.pop("metrics")
        self._tables["links"] = self._tables["links"].drop("limit_packets")

    def tables(self):
        return self._tables

    def metrics_json(self):
        found = {f"{scope}_metrics": {} for scope in ("flow", "link", "network", "probe")}
        for scope, entity, metric, value, _ in self._metrics.iter_rows():
            of = found[f"{scope}_metrics"]
            (of if scope == "network" else of.setdefault(entity, {}))[metric] = value
        return json.dumps(found)


def identity(name):
    """The identity of a run that a test calls by a name."""
    return hashlib.sha256(name.encode()).hexdigest()[:16]


def write_store(
    directory, runs, *, experiment="deep-buffers", command="bloatlab run deep-buffers", claims=(), failures=(), **more
):
    """A results directory of synthetic runs: (name, parameters, seed, tables) each; `identity` gives the run of a name."""
    from bloatlab.store import Writer
    from bloatlab.sweeps.plan import PlannedRun
    from bloatlab.sweeps.record import done, failed

    units = {(row[0], row[1]): row[2] for row in DEFINITIONS}
    with Writer(directory, units) as writer:
        for name, parameters, seed, tables in runs:
            limit = f"{int(tables['links']['limit_packets'][0])}p"
            path = {"rate": "16Mbit/s", "rtt": "40ms", "queue": {"kind": "fifo", "limit": limit}}
            scenario = json.dumps({"duration": "1s", "dumbbell": path, "flows": [{}]})
            planned = PlannedRun(identity(name), experiment, scenario, seed, ENGINE, "0.1.0", parameters, {}, **more)
            outcome = Outcome(tables)
            writer.submit(
                done(
                    planned,
                    outcome.metrics_json(),
                    outcome.tables(),
                    digest=outcome.digest,
                    events=outcome.events,
                    wall_s=0.25,
                )
            )
        for name, reason in failures:
            writer.submit(failed(PlannedRun(identity(name), experiment, "{}", 1, ENGINE, "0.1.0", {}, {}), reason, 0.0))
        writer.invocation(experiment, command, len(runs))
        if claims:
            writer.note("claims", [(experiment, identity(claim[0]), *claim[1:], "", "stated") for claim in claims])
    return directory
