//! Results of standard scenarios to four digits, so that a change of behaviour changes this table.

use std::fmt::Write;

use bloatlab_outcome::Outcome;
use bloatlab_scenario::{Plan, Scenario};
use serde_json::{Value, json};

use crate::{compiled, logged, measured, value};

const SEED: u64 = 42;

/// Name and document of every standard scenario.
fn standard() -> Vec<(&'static str, Value)> {
    let dumbbell = |queue: Value, flows: Value| {
        json!({
            "duration": "10s",
            "dumbbell": { "rate": "16Mbit/s", "rtt": "15ms", "queue": queue, "overhead": 2, "device_packets": 1 },
            "flows": flows,
        })
    };
    let deep = |cca: &str| {
        let flow = json!({ "cca": cca, "tcp": { "ack_every": 1 } });
        dumbbell(json!({ "kind": "fifo", "limit": "80p" }), json!([flow]))
    };
    let managed = |queue: Value| {
        let flows = json!([{ "cca": "cubic", "count": 2 }, { "traffic": "ping" }]);
        dumbbell(queue, flows)
    };
    vec![
        ("deep buffer, newreno", deep("newreno")),
        ("deep buffer, cubic", deep("cubic")),
        ("deep buffer, bbr", deep("bbr")),
        (
            "shallow buffer, delayed ACKs, loss 0.5 %",
            json!({
                "duration": "10s",
                "dumbbell": {
                    "rate": "16Mbit/s", "rtt": "40ms", "loss": 0.005, "queue": { "kind": "fifo", "limit": "10p" },
                },
                "flows": [{ "cca": "reno" }],
            }),
        ),
        (
            "dup-ACK recovery without PRR",
            dumbbell(
                json!({ "kind": "fifo", "limit": "30p" }),
                json!([{ "cca": "reno", "tcp": { "loss_detection": "dupack", "recovery": "classic" } }]),
            ),
        ),
        ("codel", managed(json!("codel"))),
        ("fq_codel with ECN", {
            let flows = json!([
                { "cca": "cubic", "tcp": { "ecn": true } },
                { "cca": "reno", "tcp": { "ecn": true } },
                { "traffic": "ping" },
            ]);
            dumbbell(json!({ "kind": "fq_codel", "ecn": true }), flows)
        }),
        ("pie", managed(json!("pie"))),
        (
            "head_drop",
            managed(json!({ "kind": "head_drop", "limit": "40p" })),
        ),
        (
            "distinct RTTs, staggered starts",
            dumbbell(
                json!({ "kind": "fifo", "limit": "60p" }),
                json!([
                    { "cca": "cubic", "rtt": "20ms" },
                    { "cca": "newreno", "rtt": "80ms", "start": "2s" },
                    { "cca": "bbr", "rtt": "40ms", "start": "4s" },
                ]),
            ),
        ),
        (
            "pages, calls and bulk on an asymmetric line",
            json!({
                "duration": "10s", "warmup": "1s",
                "dumbbell": { "rate": "20Mbit/s", "reverse_rate": "2Mbit/s", "rtt": "30ms", "reverse_queue": "codel" },
                "flows": [
                    { "cca": "cubic" },
                    { "cca": "cubic", "direction": "reverse" },
                    { "traffic": { "kind": "fetch", "response": "60kB", "interval": "300ms" } },
                    { "traffic": { "kind": "cbr", "rate": "64kbit/s", "packet": "160B" } },
                    { "traffic": { "kind": "on_off", "rate": "3Mbit/s", "on": "200ms", "off": "500ms" } },
                    { "traffic": { "kind": "finite", "bytes": "2MB" }, "start": "3s", "cca": "bbr" },
                    { "traffic": "ping" },
                ],
            }),
        ),
        (
            "parking lot",
            json!({
                "duration": "10s",
                "parking_lot": { "hops": 3, "rate": "10Mbit/s", "hop_delay": "5ms", "queue": { "kind": "fifo", "limit": "50p" } },
                "flows": [
                    { "cca": "newreno" },
                    { "cca": "newreno", "hops": [1, 1] },
                    { "cca": "newreno", "hops": [2, 3], "start_jitter": "100ms" },
                ],
            }),
        ),
    ]
}

/// Four significant digits.
fn short(value: Option<f64>) -> String {
    let Some(value) = value else {
        return "-".to_owned();
    };
    if value == 0.0 {
        return "0".to_owned();
    }
    let digits = 3 - value.abs().log10().floor() as i32;
    format!("{value:.*}", digits.clamp(0, 6) as usize)
}

fn row(table: &mut String, name: &str, values: &[Option<f64>]) {
    write!(table, "  {name:<12}").unwrap();
    for &value in values {
        write!(table, " {:>10}", short(value)).unwrap();
    }
    table.push('\n');
}

fn describe(table: &mut String, outcome: &Outcome) {
    writeln!(
        table,
        "  {:<12}{}",
        "flow",
        columns(&["Mbit/s", "sRTT ms", "in flight", "again", "drops", "marks"])
    )
    .unwrap();
    for (index, flow) in outcome.flows.iter().enumerate() {
        let of = |metric: &str| value(&outcome.flow_metrics, index, metric);
        let metrics = [
            "mean_throughput_l4",
            "mean_srtt_l4",
            "mean_in_flight_l4",
            "total_retransmissions_l4",
            "drops_l4",
            "marks_l4",
        ];
        row(table, &flow.name, &metrics.map(of));
    }
    writeln!(
        table,
        "  {:<12}{}",
        "link",
        columns(&[
            "Mbit/s",
            "queue p",
            "sojourn ms",
            "p99 ms",
            "drops",
            "marks"
        ])
    )
    .unwrap();
    for (index, link) in outcome.links.iter().enumerate() {
        let of = |metric: &str| value(&outcome.link_metrics, index, metric);
        let metrics = [
            "throughput",
            "mean_queue_length",
            "mean_sojourn",
            "p99_sojourn",
            "drops",
            "marks",
        ];
        row(table, &link.name, &metrics.map(of));
    }
    for (index, probe) in outcome.probes.iter().enumerate() {
        let of = |metric: &str| value(&outcome.probe_metrics, index, metric);
        let metrics = ["transactions", "mean_rtt", "p99_rtt", "lost"];
        if index == 0 {
            writeln!(
                table,
                "  {:<12}{}",
                "probe",
                columns(&["replies", "RTT ms", "p99 ms", "lost"])
            )
            .unwrap();
        }
        row(table, &probe.name, &metrics.map(of));
    }
}

fn columns(names: &[&str]) -> String {
    names.iter().map(|name| format!(" {name:>10}")).collect()
}

fn plans() -> Vec<(&'static str, Plan)> {
    let read = |document: Value| Scenario::from_value(document).expect("a standard scenario");
    standard()
        .into_iter()
        .map(|(name, document)| (name, compiled(&read(document))))
        .collect()
}

#[test]
fn standard_scenarios_give_their_results() {
    let mut table = String::new();
    for (name, plan) in plans() {
        writeln!(table, "{name}").unwrap();
        describe(&mut table, &measured(&plan, SEED));
        table.push('\n');
    }
    insta::assert_snapshot!(table);
}

#[test]
fn a_packet_log_changes_no_result() {
    for (name, plan) in plans() {
        let outcome = logged(&plan, SEED);
        assert_eq!(outcome.digest(), measured(&plan, SEED).digest(), "{name}");
        assert!(!outcome.packets.is_empty());
        crate::wire::check(&plan, &outcome).unwrap_or_else(|why| panic!("{name}: {why}"));
    }
}
