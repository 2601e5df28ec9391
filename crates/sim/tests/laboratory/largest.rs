//! The largest packets with the largest link-layer headers arrive with the size at which they left.

use bloatlab_outcome::Step;
use bloatlab_scenario::Scenario;
use serde_json::{Value, json};

use crate::{compiled, logged};

/// Size in bytes of the largest packet that left a host, and of the largest that arrived.
fn sizes(header: u32, flow: &Value) -> [u32; 2] {
    let document = json!({
        "duration": "300ms",
        "dumbbell": { "rate": "100Mbit/s", "rtt": "20ms", "header": header, "queue": { "kind": "fifo", "limit": "1000p" } },
        "flows": [flow],
    });
    let scenario: Scenario = serde_json::from_value(document).expect("a scenario");
    let outcome = logged(&compiled(&scenario), 1);
    let at = |step| {
        let events = outcome.packets.iter().filter(|event| event.step == step);
        events.map(|event| event.size).max()
    };
    [Step::Send, Step::Receive].map(|step| at(step).unwrap_or(0))
}

#[test]
fn no_packet_is_too_large_for_its_header() {
    let ping = json!({ "traffic": { "kind": "ping", "size": "65535B", "interval": "10ms" } });
    let datagrams = json!({ "traffic": { "kind": "cbr", "rate": "10Mbit/s", "packet": "65507B", "transport": "udp" } });
    let tcp = json!({ "tcp": { "mss": 65_000 } });
    for header in [0, 14, 255] {
        for (flow, size) in [(&ping, 65_535), (&datagrams, 65_535), (&tcp, 65_052)] {
            let found = sizes(header, flow);
            assert_eq!(found, [size, size], "header {header}: {flow}");
        }
    }
}
