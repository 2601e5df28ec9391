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

#[test]
fn a_link_that_shapes_lets_an_offload_buffer_go_whole_at_the_start_of_its_time() {
    let document = json!({
        "duration": "2s",
        "dumbbell": { "rate": "10Mbit/s", "rtt": "2ms", "queue": { "kind": "fifo", "limit": "60p" }, "header": 14, "shaper": true },
        "flows": [{ "cca": "reno", "tcp": { "segmentation_offload": true, "gso_max_segs": 8 } }],
    });
    let scenario = Scenario::from_value(document).unwrap();
    let outcome = logged(&compiled(&scenario), 1);
    let of = |step: Step| {
        outcome
            .packets
            .iter()
            .filter(move |e| e.step == step && e.direction == 0 && e.at > SECOND)
    };
    // The time and bytes of what leaves together. From 1 s on, there is always a packet waiting.
    let mut groups: Vec<(Nanos, u64, usize)> = Vec::new();
    for event in of(Step::Dequeue) {
        let size = u64::from(event.size);
        match groups.last_mut() {
            Some((at, bytes, packets)) if *at == event.at => {
                *bytes += size;
                *packets += 1;
            }
            _ => groups.push((event.at, size, 1)),
        }
    }
    let sizes = groups.iter().map(|(_, _, packets)| *packets);
    assert!(sizes.clone().any(|packets| packets > 1), "no buffers");
    assert!(sizes.max() <= Some(8));
    for pair in groups[1..].windows(2) {
        let ((start, bytes, packets), (next, ..)) = (pair[0], pair[1]);
        // 800 ns per byte; the header counts for each packet, and is in none of the sizes.
        assert_eq!(next - start, 800 * (bytes + 14 * packets as u64));
    }
    // They all arrive after the propagation of 1 ms, and a nanosecond on the line.
    let left: Vec<Nanos> = of(Step::Dequeue).map(|e| e.at + MILLISECOND + 1).collect();
    let came: Vec<Nanos> = of(Step::Receive).map(|e| e.at).collect();
    let ahead = came.iter().position(|&at| at == left[0]).unwrap();
    assert!(came.len() > 500);
    assert!(
        came[ahead..]
            .iter()
            .zip(&left)
            .all(|(came, left)| came == left)
    );
}

#[test]
fn without_offload_a_link_that_shapes_is_a_line_whose_packets_arrive_sooner() {
    let run = |shaper: bool| {
        let document = json!({
            "duration": "2s",
            "dumbbell": { "rate": "10Mbit/s", "rtt": "2ms", "queue": "codel", "shaper": shaper },
            "flows": [{ "traffic": { "kind": "cbr", "rate": "20Mbit/s", "packet": "1222B", "transport": "udp" } }],
        });
        let scenario = Scenario::from_value(document).unwrap();
        logged(&compiled(&scenario), 1)
    };
    let times = |shaper: bool, step: Step| -> Vec<Nanos> {
        let outcome = run(shaper);
        let events = outcome.packets.iter().filter(|event| event.step == step);
        events.map(|event| event.at).collect()
    };
    assert_eq!(times(true, Step::Dequeue), times(false, Step::Dequeue));
    let (shaped, line) = (times(true, Step::Receive), times(false, Step::Receive));
    let time = SIZE * 8 * 100 - 1;
    assert!(line.len() > 1900);
    assert!(
        line.iter()
            .zip(&shaped)
            .all(|(line, shaped)| line - shaped == time)
    );
}
