//! A radio cell among the boxes: what holds whatever its radio link, queues and gates are, and what it is there for.

use bloatlab_scenario::{QueueConfig, Scenario};
use bloatlab_units::{Duration, SECOND};
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};

use crate::generator::queue;
use crate::invariants::{conserved, values_are_numbers};
use crate::{compiled, config, logged, measured, value};

/// A cell with these radio parameters, and what else the document says of it.
fn scenario(radio: Value, cell: Value, flows: Value) -> Scenario {
    let mut network = json!({ "radio": radio });
    for (key, value) in cell.as_object().into_iter().flatten() {
        network[key] = value.clone();
    }
    let document = json!({ "duration": "4s", "cell": network, "flows": flows });
    Scenario::from_value(document).unwrap_or_else(|error| panic!("{error}"))
}

fn sizings() -> impl Strategy<Value = Option<Value>> {
    let kinds = select(vec!["none", "drql", "dynrlc", "bdp"]);
    kinds.prop_map(|kind| (kind != "none").then(|| json!({ "kind": kind })))
}

fn cells() -> impl Strategy<Value = Scenario> {
    let radio = (
        select(vec![
            json!({"mode": "um"}),
            json!({"mode": "am"}),
            json!({"mode": "um", "framing": "lena"}),
            json!({"mode": "am", "framing": "lena"}),
        ]),
        proptest::collection::vec(0.0..35.0_f64, 1..4),
        select(vec!["round_robin", "proportional_fair", "max_rate"]),
        select(vec!["tdma", "ofdma"]),
        select(vec!["F", "DDDSU"]),
        select(vec!["infinite", "100ms", "30ms"]),
    );
    let above = (
        [queue(), queue(), queue()],
        sizings(),
        any::<bool>(),
        any::<bool>(),
        select(vec!["20kB", "300kB", "10MB"]),
    );
    let flow = (
        0_u32..8,
        select(vec!["cubic", "bbr", "prague", "reno"]),
        0_u8..4,
        any::<bool>(),
    );
    let flows = proptest::collection::vec(flow, 1..5);
    (radio, above, flows).prop_map(|(radio, above, flows)| {
        let (rlc, snrs, scheduler, access, pattern, discard) = radio;
        let ([rlc_queue, sdap_queue, upf_queue], sizing, paced, marked, buffer) = above;
        let ues = snrs.len() as u32;
        let channel = |snr| json!({ "kind": "fixed", "snr_db": snr });
        let radio = json!({
            "rlc": rlc, "scheduler": scheduler, "access": access, "pattern": pattern,
            "ues": snrs.into_iter().map(channel).collect::<Vec<_>>(),
            "pdcp": { "discard_timer": discard },
            "bandwidth": "20MHz",
        });
        let written = |queue: &QueueConfig| serde_json::to_value(queue).unwrap();
        let mut cell = json!({
            "queue": written(&rlc_queue), "buffer": buffer, "uplink_buffer": buffer,
            "backhaul": { "queue": written(&upf_queue) },
        });
        if let Some(sizing) = sizing {
            cell["sdap"] = json!({ "queue": written(&sdap_queue), "sizing": sizing });
            if paced {
                cell["backhaul"]["pacer"] = json!({});
            }
        }
        if marked {
            cell["marking"] = json!({});
        }
        let flow = |(ue, cca, kind, up): (u32, &str, u8, bool)| {
            let traffic = match kind {
                0 => json!("greedy"),
                1 => json!({ "kind": "finite", "bytes": "300kB" }),
                2 => json!({ "kind": "cbr", "rate": "2Mbit/s", "packet": "700B" }),
                _ => json!({ "kind": "ping", "interval": "50ms" }),
            };
            let direction = if up { "reverse" } else { "forward" };
            json!({ "ue": ue % ues + 1, "cca": cca, "traffic": traffic, "direction": direction })
        };
        let flows: Vec<Value> = flows.into_iter().map(flow).collect();
        scenario(radio, cell, Value::from(flows))
    })
}

proptest! {
    #![proptest_config(config(150))]

    #[test]
    fn every_cell_conserves_packets_and_repeats(scenario in cells(), seed in any::<u64>()) {
        let plan = compiled(&scenario);
        let outcome = logged(&plan, seed);
        conserved(&outcome)?;
        values_are_numbers(&outcome)?;
        prop_assert_eq!(outcome.digest(), measured(&plan, seed).digest());
    }
}

/// One greedy flow at 20 dB with this before the RLC, over the second half of so many seconds: Mbit/s, and its mean sRTT in ms.
fn bulk(cell: Value, cca: &str, rlc: &str, seconds: u64) -> (f64, f64) {
    let radio = json!({
        "rlc": { "mode": rlc }, "ues": [{ "kind": "fixed", "snr_db": 20.0 }],
    });
    let mut scenario = scenario(radio, cell, json!([{ "cca": cca }]));
    scenario.duration = Duration(seconds * SECOND);
    scenario.warmup = Duration(seconds * SECOND / 2);
    let outcome = measured(&compiled(&scenario), 7);
    let of = |name| value(&outcome.flow_metrics, 0, name).unwrap();
    (of("mean_throughput_l4"), of("mean_srtt_l4"))
}

#[test]
fn sizing_keeps_the_delay_short_and_the_radio_busy() {
    for rlc in ["um", "am"] {
        let (most, bloated) = bulk(json!({}), "cubic", rlc, 4);
        assert!(bloated > 100.0, "{rlc}: {bloated}");
        for kind in ["drql", "dynrlc", "bdp"] {
            let sdap = json!({ "sdap": { "queue": "fq_codel", "sizing": { "kind": kind } } });
            let (throughput, delay) = bulk(sdap, "cubic", rlc, 4);
            assert!(
                throughput > 0.85 * most,
                "{rlc} {kind}: {throughput} of {most}"
            );
            assert!(delay < 50.0, "{rlc} {kind}: {delay}");
        }
        let paced = json!({
            "sdap": { "sizing": { "kind": "bdp" } },
            "backhaul": { "queue": "fq_codel", "pacer": {} },
        });
        let (throughput, delay) = bulk(paced, "cubic", rlc, 4);
        assert!(
            throughput > 0.75 * most,
            "{rlc} paced: {throughput} of {most}"
        );
        assert!(delay < 50.0, "{rlc} paced: {delay}");
    }
}

#[test]
fn marking_before_the_rlc_holds_l4s_flows_at_its_target() {
    let (most, _) = bulk(json!({}), "cubic", "um", 4);
    let (throughput, delay) = bulk(json!({ "marking": {} }), "prague", "um", 20);
    // Its window grows by a segment a round trip; 10 ms in the queue on top of some 20 ms of path.
    assert!(delay < 35.0, "{delay}");
    assert!(throughput > 0.6 * most, "{throughput} of {most}");
}
