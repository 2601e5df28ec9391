//! Links with time to spare: the end of a transmission that nothing waits for is no event, and counts like any other.

use bloatlab_outcome::Outcome;
use bloatlab_scenario::traffic::{Transport, cbr};
use bloatlab_scenario::{Dumbbell, Flow, Scenario, Traffic};
use bloatlab_units::{Bytes, Duration, Rate, SECOND};

use crate::{compiled, measured, value};

/// A packet of 1000 bytes, 28 of which are headers, takes the link 80 us.
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
fn what_nothing_waits_for_is_no_event() {
    let outcome = stream(6_250);
    // The source's and the arrival, and a few that begin, sample and end.
    assert!(
        (12_500..12_520).contains(&outcome.events),
        "{}",
        outcome.events
    );
}

#[test]
fn what_ended_unnoticed_is_counted_in_time() {
    let outcome = stream(6_250);
    assert_eq!(of(&outcome, "throughput"), 50.0);
    assert_eq!(of(&outcome, "utilization"), 0.5);
    assert_eq!(of(&outcome, "max_sojourn"), 0.0);
    // 781 packets and a quarter in an eighth of a second.
    for sample in samples(&outcome) {
        assert!((sample - 50.0).abs() <= 0.064, "{sample}");
    }
}

#[test]
fn a_packet_that_comes_as_the_last_one_ends_does_not_wait() {
    let outcome = stream(12_500);
    assert_eq!(of(&outcome, "max_sojourn"), 0.0);
    assert_eq!(of(&outcome, "utilization"), 1.0);
}

#[test]
fn a_packet_that_comes_before_waits_for_the_end() {
    // 64 us from one to the next: each waits 16 us longer than the one before.
    let outcome = stream(15_625);
    let arrivals = of(&outcome, "arrivals");
    let last = of(&outcome, "max_sojourn") * 1e3;
    let served = arrivals - of(&outcome, "backlog_packets") - of(&outcome, "drops");
    assert!(of(&outcome, "drops") > 0.0);
    assert_eq!(of(&outcome, "utilization"), 1.0);
    assert!(last > 80.0 && served <= 12_501.0, "{last} {served}");
}
