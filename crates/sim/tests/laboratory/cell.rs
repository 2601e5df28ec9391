//! A radio cell among other boxes: invariants for any radio link, queues and gates, and the effect of sizing and marking.

use bloatlab_scenario::{QueueConfig, Scenario};
use bloatlab_units::{Duration, SECOND};
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};

use crate::generator::queue;
use crate::invariants::sound;
use crate::{compiled, config, logged, measured, value};

/// A cell with these radio parameters and these other keys.
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

/// No bearers, or up to four with separate modes, sizings and marks. The QoS flows 1 to 4 are mapped to them in turn.
fn bearers() -> impl Strategy<Value = Value> {
    let bearer = (
        (1_u8..=16, select(vec!["0bit/s", "1Mbit/s", "infinite"])),
        select(vec!["um", "am"]),
        (sizings(), queue(), any::<bool>()),
    );
    proptest::collection::vec(bearer, 0..5).prop_map(|bearers| {
        let written = (1..).zip(bearers).map(|(qfi, bearer)| {
            let ((priority, rate), mode, (sizing, queue, marked)) = bearer;
            let mut bearer = json!({
                "name": format!("b{qfi}"), "qfi": [qfi], "priority": priority, "prioritised_bit_rate": rate,
                "rlc": { "mode": mode },
            });
            if let Some(sizing) = sizing {
                bearer["sdap"] = json!({ "queue": serde_json::to_value(&queue).unwrap(), "sizing": sizing });
            }
            if marked {
                bearer["marking"] = json!({});
            }
            bearer
        });
        written.collect()
    })
}

pub fn cells() -> impl Strategy<Value = Scenario> {
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
        0_u32..5,
    );
    let flows = proptest::collection::vec(flow, 1..5);
    (radio, above, flows, bearers()).prop_map(|(radio, above, flows, bearers)| {
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
        cell["bearers"] = bearers;
        let flow = |(ue, cca, kind, up, qfi): (u32, &str, u8, bool, u32)| {
            let traffic = match kind {
                0 => json!("greedy"),
                1 => json!({ "kind": "finite", "bytes": "300kB" }),
                2 => json!({ "kind": "cbr", "rate": "2Mbit/s", "packet": "700B" }),
                _ => json!({ "kind": "ping", "interval": "50ms" }),
            };
            let direction = if up { "reverse" } else { "forward" };
            json!({
                "ue": ue % ues + 1, "qfi": qfi, "cca": cca, "traffic": traffic, "direction": direction,
            })
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
        sound(&outcome)?;
        prop_assert_eq!(outcome.digest(), measured(&plan, seed).digest());
    }
}

/// One greedy flow at 20 dB with these keys before the RLC. Returns Mbit/s and the mean sRTT in ms over the second half of the run.
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
    // The window grows by a segment per round trip: 10 ms in the queue and about 20 ms on the path.
    assert!(delay < 35.0, "{delay}");
    assert!(throughput > 0.6 * most, "{throughput} of {most}");
}

/// Calls in both directions beside a bulk transfer at 20 dB, on these bearers. Returns the mean and 99th percentile of the one-way delay in ms
/// for downlink and uplink, and the Mbit/s of the bulk transfer.
fn calls_beside_bulk(bearers: Value, qfi: u32, rlc: &str) -> ([[f64; 2]; 2], f64) {
    let radio = json!({ "rlc": { "mode": rlc }, "ues": [{ "kind": "fixed", "snr_db": 20.0 }] });
    let voice = json!({ "kind": "cbr", "rate": "64kbit/s", "packet": "160B" });
    let flows = json!([
        { "cca": "cubic" },
        { "qfi": qfi, "traffic": voice },
        { "qfi": qfi, "traffic": voice, "direction": "reverse" },
    ]);
    let mut scenario = scenario(radio, json!({ "bearers": bearers }), flows);
    scenario.duration = Duration(6 * SECOND);
    scenario.warmup = Duration(2 * SECOND);
    let outcome = measured(&compiled(&scenario), 7);
    let of = |flow, name| value(&outcome.flow_metrics, flow, name).unwrap();
    let names = ["mean_one_way_delay_l4", "p99_one_way_delay_l4"];
    let delays = [1, 2].map(|flow| names.map(|name| of(flow, name)));
    (delays, of(0, "mean_throughput_l4"))
}

#[test]
fn a_call_on_a_separate_bearer_does_not_wait_for_bulk() {
    // Wire and backhaul take 7 ms. An idle radio takes 1.7 ms down and 4.4 ms up, and less if a grant exists.
    for rlc in ["um", "am"] {
        let shared = json!([]);
        let ([[down, _], [up, _]], most) = calls_beside_bulk(shared, 1, rlc);
        assert!(down > 100.0, "{rlc}: {down}");
        assert!(up < 13.0, "{rlc}: {up}");
        let apart = json!([
            { "name": "best_effort" },
            { "name": "voice", "qfi": [1], "priority": 2 },
        ]);
        let ([[down, late], [up, _]], throughput) = calls_beside_bulk(apart, 1, rlc);
        // At most a slot until the next begins, two slots until the block is sent, the slot itself, and 0.1 ms to decode.
        let most_of_slots = 7.0 + 4.0 * 0.5 + 0.1;
        assert!(down <= late && late < most_of_slots, "{rlc}: {down} {late}");
        assert!(up < 13.0, "{rlc}: {up}");
        assert!(throughput > 0.99 * most, "{rlc}: {throughput} of {most}");
    }
}

#[test]
fn responses_return_on_the_bearer_of_their_flow() {
    let bearers = json!([{ "name": "a" }, { "name": "b", "qfi": [5, 6] }]);
    let flows = json!([
        { "qfi": 6, "traffic": { "kind": "ping" } },
        // No bearer lists it, so it uses the default bearer.
        { "qfi": 7, "traffic": { "kind": "finite", "bytes": "100kB" } },
    ]);
    let outcome = measured(
        &compiled(&scenario(json!({}), json!({ "bearers": bearers }), flows)),
        1,
    );
    let arrivals = |name: &str| {
        let count = outcome.counts.iter().find(|(other, _)| other == name);
        count.map(|(_, count)| count.arrivals).unwrap()
    };
    // Pings are sent every 200 ms from 0 to 4 s. Replies still on the path at the end do not count.
    assert_eq!(arrivals("ue_1_b"), 20);
    assert_eq!(arrivals("ue_1_b_up"), 20);
    assert!(arrivals("ue_1_a") > 69 && arrivals("ue_1_a_up") > 30);
}
