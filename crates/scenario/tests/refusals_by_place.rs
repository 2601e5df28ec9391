//! Refusals of impairments, variations, cells and their bearers name their place in the document.

#[path = "common/refused.rs"]
mod refused;

use refused::{boxes, dumbbell, parking_lot, refusal, with};
use serde_json::{Value, json};

#[test]
fn impairments_are_refused_by_their_place() {
    let impair = |value: Value| refusal(&with(dumbbell(), "/dumbbell/impair", value));
    assert_eq!(
        impair(json!({ "corrupt": 1.0 })),
        "dumbbell.impair.corrupt: must be a probability of at least 0 and below 1, not 1"
    );
    assert_eq!(
        impair(json!({ "duplicate": 1.5 })),
        "dumbbell.impair.duplicate: must be between 0 and 1, not 1.5"
    );
    assert_eq!(
        impair(json!({ "gilbert_elliott": { "p": 0.1, "q": 0.1 } })),
        "dumbbell.impair.gilbert_elliott.q: unknown key; did you mean `p`? (allowed: p, r, h, k)"
    );
    assert_eq!(
        impair(json!({ "gilbert_elliott": { "p": 0 } })),
        "dumbbell.impair.gilbert_elliott.p: must be above 0 and at most 1, not 0"
    );
    assert_eq!(
        impair(json!({ "jitter": { "size": "2h" } })),
        "dumbbell.impair.jitter.size: must be between 1ns and 3600s, not 7200s"
    );
    let share = with(dumbbell(), "/dumbbell/forward_share", json!(1.5));
    assert_eq!(
        refusal(&share),
        "dumbbell.forward_share: must be between 0 and 1, not 1.5"
    );
    let both =
        json!({ "kind": "loss", "name": "x", "probability": 0.1, "gilbert_elliott": { "p": 0.1 } });
    assert_eq!(
        refusal(&with(boxes(), "/boxes/1", both)),
        "boxes[1].gilbert_elliott: cannot be combined with `probability`, `spacing` or `vary`; remove them"
    );
}

#[test]
fn what_varies_is_refused_by_its_place() {
    let vary = |value: Value| refusal(&with(dumbbell(), "/dumbbell/vary", value));
    let pulse =
        |lower: &str| json!({ "kind": "pulse", "lower": lower, "upper": "20ms", "period": "1s" });
    assert_eq!(
        vary(json!({ "rtt": pulse("30ms") })),
        "dumbbell.vary.rtt.lower: must be at most `upper`, 20ms, not 30ms"
    );
    assert_eq!(
        vary(json!({ "rtt": pulse("30") })),
        "dumbbell.vary.rtt.lower: no unit (allowed: ns, us, µs, ms, s, min, h): `30` is not a duration such as `15ms`"
    );
    assert_eq!(
        vary(json!({ "delay": pulse("1ms") })),
        "dumbbell.vary.delay: unknown key (allowed: rate, reverse_rate, rtt, loss)"
    );
    assert_eq!(
        vary(json!({ "rtt": { "kind": "poisson" } })),
        "dumbbell.vary.rtt.kind: unknown value `poisson` (allowed: steps, pulse, random_walk, markov, sinusoid, handover)"
    );
    let steps = |at: &str| {
        let step = |at: &str| json!({ "at": at, "value": "1Mbit/s" });
        json!({ "rate": { "kind": "steps", "steps": [step("2s"), step(at)] } })
    };
    assert_eq!(
        vary(steps("1s")),
        "dumbbell.vary.rate.steps[1].at: must be after 2s, the step before it, not 1s"
    );
    assert_eq!(
        vary(json!({ "rate": { "kind": "mahimahi", "file": "no/such/trace" } })),
        "dumbbell.vary.rate.file: `no/such/trace` cannot be read: No such file or directory (os error 2)"
    );
    assert_eq!(
        vary(json!({ "rate": { "kind": "mahimahi", "deliveries": [4, 3] } })),
        "dumbbell.vary.rate.deliveries[1]: must not be earlier than the delivery before it"
    );
    let mut own = with(dumbbell(), "/dumbbell/vary", json!({ "rtt": pulse("1ms") }));
    own["flows"] = json!([{ "rtt": "1ms" }, {}]);
    assert_eq!(
        refusal(&own),
        "dumbbell.vary.rtt: needs the same RTT for all flows; remove `rtt` from the flows"
    );
    assert_eq!(
        vary(json!({ "reverse_rate": { "kind": "mmwave" } })),
        "dumbbell.vary.reverse_rate: needs a rate in the reverse direction; give `dumbbell.reverse_rate`"
    );
    assert_eq!(
        vary(json!({ "rate": { "kind": "mmwave", "gap": "9s" } })),
        "dumbbell.vary.rate.gap: nothing blocks the path of `sl`"
    );
    assert_eq!(
        vary(json!({ "rate": { "kind": "blockage", "table": [] } })),
        "dumbbell.vary.rate.table: must have 1 to 1000 rows, not 0"
    );
    // A delay that falls to 0 is not allowed.
    let nothing = with(
        boxes(),
        "/boxes/1/vary",
        json!({ "kind": "steps", "steps": [{ "at": "1s", "value": "0s" }] }),
    );
    let nothing = with(
        with(nothing, "/flows/0/path", json!(["back"])),
        "/flows/0/return_path",
        json!([]),
    );
    assert_eq!(
        refusal(&nothing),
        "flows[0]: the path of `flow_1` has no link and no delay, so simulated time would never advance"
    );
}

#[test]
fn a_cell_is_refused_by_its_place() {
    let cell = |cell: Value| refusal(&json!({ "duration": "1s", "cell": cell, "flows": [{}] }));
    let radio = |radio: Value| cell(json!({ "radio": radio }));
    let nowhere = radio(json!({ "ues": [{ "kind": "trace", "file": "nowhere" }] }));
    assert!(
        nowhere.starts_with("cell.radio.ues[0].file: `nowhere` cannot be read"),
        "{nowhere}"
    );
    assert_eq!(
        radio(json!({ "numerology": 5 })),
        "cell.radio.numerology: must be at most 4, not 5"
    );
    assert_eq!(
        radio(json!({ "mcs": 29 })),
        "cell.radio.mcs: must be between 0 and 28 with mcs_table = 1, not 29"
    );
    assert_eq!(
        radio(json!({ "mcs": 28, "mcs_table": 2 })),
        "cell.radio.mcs: must be between 0 and 27 with mcs_table = 2, not 28"
    );
    assert_eq!(
        radio(json!({ "interferers": [{ "position_m": [0, 500], "lod": 1 }] })),
        "cell.radio.interferers[0].lod: unknown key; did you mean `load`? (allowed: position_m, height_m, power, load, gain_db)"
    );
    assert_eq!(
        radio(json!({ "interferers": [{}] })),
        "cell.radio.interferers[0].position_m: is required"
    );
    assert_eq!(
        radio(
            json!({ "ues": [{ "kind": "fixed", "snr_db": 9 }], "interferers": [{ "position_m": [0, 500] }] })
        ),
        "cell.radio.interferers: need UEs whose channel is computed, but the SNR of ues[0] is given; use kind = \"scenario\" there"
    );
    assert_eq!(
        radio(json!({ "pattern": "DX" })),
        "cell.radio.pattern: slots are D, U, F or S, not `X`"
    );
    assert_eq!(
        cell(json!({ "backhaul": { "pacer": {} } })),
        "cell.backhaul.pacer: keeps the queue of SDAP short, so it needs `cell.sdap`"
    );
}

#[test]
fn bearers_and_their_qos_flows_are_refused_by_their_place() {
    let run = |cell: Value, flow: Value| {
        refusal(&json!({ "duration": "1s", "cell": cell, "flows": [flow] }))
    };
    let bearers = |bearers: Value| run(json!({ "bearers": bearers }), json!({}));
    let second = |second: Value| bearers(json!([{ "name": "a", "qfi": [1] }, second]));
    let flow = |qfi: Value| run(json!({}), json!({ "qfi": qfi }));
    let many: Vec<Value> = (0..30)
        .map(|n| json!({ "name": n.to_string(), "qfi": [n] }))
        .collect();
    let messages = [
        // QoS flows.
        flow(json!(64)),
        flow(json!(-1)),
        flow(json!([1])),
        flow(json!("voice")),
        refusal(&with(dumbbell(), "/flows/0/qfi", json!(1))),
        refusal(&with(parking_lot(), "/flows/0/qfi", json!(1))),
        refusal(&with(boxes(), "/flows/0/qfi", json!(1))),
        second(json!({ "name": "b" })),
        second(json!({ "name": "b", "qfi": 2 })),
        second(json!({ "name": "b", "qfi": [2, 64] })),
        second(json!({ "name": "b", "qfi": [2, 1] })),
        second(json!({ "name": "b", "qfi": [2, 3, 2] })),
        // Names.
        bearers(json!([{}])),
        bearers(json!({ "name": "a" })),
        second(json!({ "name": "a", "qfi": [2] })),
        second(json!({ "name": "", "qfi": [2] })),
        second(json!({ "name": "voice_up", "qfi": [2] })),
        second(json!({ "name": "up", "qfi": [2] })),
        second(json!({ "name": "b", "qfi": [2], "prioritised_bitrate": "1Mbit/s" })),
        bearers(json!(many)),
        // Logical channels.
        second(json!({ "name": "b", "qfi": [2], "priority": 0 })),
        second(json!({ "name": "b", "qfi": [2], "priority": 17 })),
        second(json!({ "name": "b", "qfi": [2], "prioritised_bit_rate": "525Mbit/s" })),
        second(json!({ "name": "b", "qfi": [2], "prioritised_bit_rate": "much" })),
        second(json!({ "name": "b", "qfi": [2], "bucket_size_duration": "4ms" })),
        second(json!({ "name": "b", "qfi": [2], "bucket_size_duration": "2s" })),
        // Other keys of bearers.
        second(json!({ "name": "b", "qfi": [2], "rlc": { "mode": "tm" } })),
        second(json!({ "name": "b", "qfi": [2], "rlc": { "mode": "um", "sn_bits": 7 } })),
        second(json!({ "name": "b", "qfi": [2], "pdcp": { "discard_timer": "1ms" } })),
        second(json!({ "name": "b", "qfi": [2], "queue": "codell" })),
        second(json!({ "name": "b", "qfi": [2], "buffer": "0B" })),
        second(json!({ "name": "b", "qfi": [2], "uplink_buffer": "0B" })),
        second(json!({ "name": "b", "qfi": [2], "sdap": {} })),
        second(json!({ "name": "b", "qfi": [2], "marking": { "target": "1us" } })),
        run(
            json!({
                "bearers": [{ "name": "a", "sdap": { "sizing": { "kind": "bdp" } } }, { "name": "b", "qfi": [1] }],
                "backhaul": { "pacer": {} },
            }),
            json!({}),
        ),
    ];
    insta::assert_snapshot!(messages.join("\n"));
}
