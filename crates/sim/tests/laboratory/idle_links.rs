//! Lightly loaded links: the end of a transmission is not an event if no packet waits, but it is counted as usual.

use bloatlab_outcome::Outcome;
use bloatlab_scenario::traffic::{Transport, cbr};
use bloatlab_scenario::{Dumbbell, Flow, Scenario, Traffic};
use bloatlab_units::{Bytes, Duration, Rate, SECOND};
use serde_json::json;

use crate::{compiled, measured, value};

/// The link needs 80 us for a packet of 1000 bytes, of which 28 are headers.
const RATE: u64 = 100_000_000;
const PAYLOAD: u64 = 972;

/// This many packets at equal intervals for a second.
fn stream(packets: u64) -> Outcome {
    let flow = Flow {
        traffic: Traffic::Cbr(cbr::Params {
            rate: Rate(packets * PAYLOAD * 8),
            packet: Bytes(PAYLOAD),
            transport: Transport::Udp,
        }),
        ..Flow::default()
    };
    let dumbbell = Dumbbell::new(Rate(RATE), Duration(0));
    let scenario = Scenario {
        sample_interval: Duration(SECOND / 8),
        ..Scenario::on_dumbbell(dumbbell, Duration(SECOND), vec![flow])
    };
    measured(&compiled(&scenario), 1)
}

fn of(outcome: &Outcome, metric: &str) -> f64 {
    value(&outcome.link_metrics, 0, metric).expect(metric)
}

/// The sampled throughput of the link, Mbit/s.
fn samples(outcome: &Outcome) -> &[f64] {
    let columns = &outcome.link_series.columns;
    let found = columns.iter().find(|(name, _)| *name == "throughput_mbps");
    &found.expect("a column").1
}

#[test]
fn an_end_of_transmission_without_waiting_packets_is_no_event() {
    let outcome = stream(6_250);
    // The events of the source, the arrivals, and a few for start, samples and end.
    assert!(
        (12_500..12_520).contains(&outcome.events),
        "{}",
        outcome.events
    );
}

#[test]
fn transmissions_without_events_are_counted_in_time() {
    let outcome = stream(6_250);
    assert_eq!(of(&outcome, "throughput"), 50.0);
    assert_eq!(of(&outcome, "utilization"), 0.5);
    assert_eq!(of(&outcome, "max_sojourn"), 0.0);
    // 781.25 packets in an eighth of a second.
    for sample in samples(&outcome) {
        assert!((sample - 50.0).abs() <= 0.064, "{sample}");
    }
}

#[test]
fn a_packet_that_arrives_at_the_end_of_a_transmission_does_not_wait() {
    let outcome = stream(12_500);
    assert_eq!(of(&outcome, "max_sojourn"), 0.0);
    assert_eq!(of(&outcome, "utilization"), 1.0);
}

#[test]
fn a_packet_that_arrives_earlier_waits_for_the_end() {
    // Packets are 64 us apart, so each waits 16 us longer than the one before.
    let outcome = stream(15_625);
    let arrivals = of(&outcome, "arrivals");
    let last = of(&outcome, "max_sojourn") * 1e3;
    let served = arrivals - of(&outcome, "backlog_packets") - of(&outcome, "drops");
    assert!(of(&outcome, "drops") > 0.0);
    assert_eq!(of(&outcome, "utilization"), 1.0);
    assert!(last > 80.0 && served <= 12_501.0, "{last} {served}");
}

#[test]
fn the_series_of_datagrams_begin_before_the_warm_up_is_over() {
    let document = json!({
        "duration": "4s", "warmup": "2s", "sample_interval": "1s",
        "dumbbell": { "rate": "10Mbit/s", "rtt": "0s" },
        "flows": [{ "traffic": { "kind": "cbr", "rate": "1Mbit/s", "packet": "125B", "transport": "udp" } }],
    });
    let plan = Scenario::from_value(document).unwrap().compile().unwrap();
    let outcome = measured(&plan, 1);
    for name in ["throughput_mbps", "sending_rate_mbps"] {
        let column = outcome.flow_series.columns.iter().find(|c| c.0 == name);
        let values = &column.expect(name).1;
        assert_eq!(values.len(), 4);
        let near = values.iter().all(|value| (value - 1.0).abs() < 0.01);
        assert!(near, "{name}: {values:?}");
    }
    let throughput = value(&outcome.flow_metrics, 0, "mean_throughput_l4");
    assert!((throughput.unwrap() - 1.0).abs() < 0.01);
}
