use bloatlab_cc::Signal;

use crate::harness::{Driver, MS, MSS, Path, config};

#[test]
fn nothing_changes_the_rate_and_no_window_stops_it() {
    // 8 Mbit/s is 1000 bytes per millisecond.
    let mut d = Driver::new(r#"{"kind": "fixed_rate", "rate": "8Mbit/s"}"#, 10);
    let check = |d: &Driver| {
        assert_eq!(d.window.pacing, 1_000_000);
        assert!(d.window.cwnd > 1 << 30);
    };
    check(&d);
    d.on_ack(MSS, 50 * MS);
    d.congestion(Signal::Loss);
    check(&d);
    d.congestion(Signal::Timeout);
    check(&d);
}

#[test]
fn a_round_trip_carries_the_rate() {
    let path = Path {
        rate: 1e6,
        base_rtt: 100 * MS,
        buffer: 0,
    };
    let mut d = Driver::new(r#"{"kind": "fixed_rate", "rate": "4Mbit/s"}"#, 10);
    for _ in 0..10 {
        let before = d.una;
        let round = path.round(&mut d, None);
        assert_eq!((round.rtt, d.una - before), (100 * MS, 50 * MSS));
    }
}

#[test]
fn the_fixed_window_has_a_second_name() {
    assert_eq!(config(r#""fixed_window""#), config(r#""fixed""#));
}
