use bloatlab_cc::Signal;

use crate::harness::{Driver, MS, MSS, Path};

/// The bandwidth-delay product is 100 segments: 1 MB/s and 100 ms.
const PATH: Path = Path {
    rate: 1e6,
    base_rtt: 100 * MS,
    buffer: 1 << 30,
};

#[test]
fn starts_at_the_initial_window_a_round_trip() {
    let mut d = Driver::new(r#""vivace""#, 10);
    d.cc.on_handshake(&mut d.window, 100 * MS);
    assert_eq!(d.window.pacing, 100_000);
}

#[test]
fn doubles_until_the_utility_falls_and_goes_back_to_the_best_rate() {
    let mut d = Driver::new(r#""vivace""#, 10);
    let mut rates = Vec::new();
    while d.state("starting") == 1.0 {
        PATH.round(&mut d, None);
        rates.push(d.state("rate"));
    }
    // 0.1 MB/s, doubled each time: 0.8 fits, and 1.6 makes the RTT grow by 0.6 or more.
    assert!(
        rates.starts_with(&[1e5, 2e5, 4e5]) || rates.starts_with(&[2e5, 4e5]),
        "{rates:?}"
    );
    assert!(*rates.last().unwrap() <= 8e5, "{rates:?}");
}

#[test]
fn the_window_never_limits() {
    let mut d = Driver::new(r#""vivace""#, 10);
    for _ in 0..100 {
        PATH.round(&mut d, None);
        let flight = d.window.pacing as f64 * d.last_rtt as f64 * 1e-9;
        assert!(d.window.cwnd as f64 >= 1.2 * flight || d.window.cwnd == 10 * MSS);
    }
}

#[test]
fn a_timeout_halves_the_rate_and_a_loss_does_nothing_at_once() {
    let mut d = Driver::new(r#""vivace""#, 10);
    for _ in 0..20 {
        PATH.round(&mut d, None);
    }
    let (rate, pacing) = (d.state("rate"), d.window.pacing);
    d.congestion(Signal::Loss);
    assert_eq!((d.state("rate"), d.window.pacing), (rate, pacing));
    d.congestion(Signal::Timeout);
    assert_eq!(d.state("rate"), rate / 2.0);
}
