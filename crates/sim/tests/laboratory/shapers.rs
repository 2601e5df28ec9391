//! Shapers before a fast link: packets leave at the right nanosecond.

use bloatlab_outcome::Step;
use bloatlab_scenario::Scenario;
use bloatlab_units::{MILLISECOND, Nanos, SECOND};
use serde_json::{Value, json};

use crate::{compiled, logged};

/// Size of a packet on the wire: 1222 bytes of payload, IPv4 and UDP.
const SIZE: u64 = 1250;

/// Times at which packets leave this queue for a link of 1 Gbit/s. They arrive at twice the 10 Mbit/s of the shaper.
fn departures(queue: Value) -> Vec<Nanos> {
    let document = json!({
        "duration": "2s",
        "dumbbell": { "rate": "1Gbit/s", "rtt": "2ms", "queue": queue },
        "flows": [{ "traffic": { "kind": "cbr", "rate": "20Mbit/s", "packet": "1222B", "transport": "udp" } }],
    });
    let scenario = Scenario::from_value(document).unwrap();
    let outcome = logged(&compiled(&scenario), 1);
    let log = outcome.packets.iter();
    let departures = log.filter(|event| event.place == 0 && event.step == Step::Dequeue);
    departures.map(|event| event.at).collect()
}

/// Number of packets that leave in a span of time.
fn within(times: &[Nanos], from: Nanos, to: Nanos) -> usize {
    times.iter().filter(|&&at| from <= at && at < to).count()
}

#[test]
fn shapers_deliver_their_rate_and_no_more() {
    let tbf = json!({ "kind": "tbf", "rate": "10Mbit/s", "burst": "1250B" });
    let htb = json!({ "kind": "htb", "rate": "10Mbit/s", "queue": "fq_codel" });
    for shaper in [tbf, htb] {
        let times = departures(shaper.clone());
        // Exactly one packet per millisecond after the burst.
        let steady: Vec<Nanos> = times
            .iter()
            .copied()
            .filter(|&at| at > SECOND / 2)
            .collect();
        assert!(
            steady
                .windows(2)
                .all(|pair| pair[1] - pair[0] == SIZE * 8 * 100),
            "{shaper}"
        );
        assert_eq!(within(&times, SECOND, 2 * SECOND), 1000, "{shaper}");
    }
}

#[test]
fn a_rate_step_takes_effect_at_its_instant() {
    let steps = json!([{ "at": "1s", "rate": "5Mbit/s" }, { "at": "1500ms", "rate": "20Mbit/s" }]);
    let times = departures(json!({ "kind": "htb", "rate": "10Mbit/s", "rate_steps": steps }));
    let gap = |after: Nanos| {
        let next = times.iter().position(|&at| at >= after).unwrap();
        times[next + 1] - times[next]
    };
    assert_eq!(gap(SECOND - 10 * MILLISECOND), MILLISECOND);
    assert_eq!(gap(SECOND + 10 * MILLISECOND), 2 * MILLISECOND);
    assert_eq!(gap(1_510 * MILLISECOND), MILLISECOND / 2);
    // The packet that waits at the step is sent in part at each rate: the rest at 1 s takes twice as long.
    let last = *times.iter().rfind(|&&at| at < SECOND).unwrap();
    let next = *times.iter().find(|&&at| at >= SECOND).unwrap();
    assert_eq!(next - SECOND, 2 * (last + MILLISECOND - SECOND));
}
