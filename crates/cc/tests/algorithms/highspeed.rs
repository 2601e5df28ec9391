use bloatlab_cc::Signal;

use crate::harness::{Driver, MS, MSS};

fn avoiding(segments: u64) -> Driver {
    let mut d = Driver::new(r#""highspeed""#, segments);
    d.window.ssthresh = segments * MSS;
    d
}

fn acks(d: &mut Driver, count: u64) {
    for _ in 0..count {
        d.on_ack(MSS, 50 * MS);
    }
}

#[test]
fn up_to_the_low_window_it_is_reno() {
    let mut d = avoiding(38);
    acks(&mut d, 37);
    assert_eq!(d.window.cwnd, 38 * MSS);
    acks(&mut d, 1);
    assert_eq!(d.window.cwnd, 39 * MSS);
    d.window.cwnd = 38 * MSS;
    acks(&mut d, 1);
    d.congestion(Signal::Loss);
    assert_eq!(d.window.cwnd, 19 * MSS);
}

#[test]
fn rows_of_the_table_decide() {
    // RFC 3649 appendix B: above 1058 and up to 1284 segments, nine segments per round trip and b = 0.32.
    let mut d = avoiding(1200);
    // 1200 / 9 = 133.3 ACKs per segment.
    acks(&mut d, 133);
    assert_eq!(d.window.cwnd, 1200 * MSS);
    acks(&mut d, 1);
    assert_eq!(d.window.cwnd, 1201 * MSS);
    assert_eq!(d.state("increase"), 9.0);
    d.congestion(Signal::Loss);
    // b(1284) = 0.317: 81 / 256. 1201 * 81 / 256 = 380.003.
    assert_eq!(d.state("decrease"), 81.0 / 256.0);
    assert_eq!(d.window.cwnd, 821 * MSS);
    // The row follows the window downwards: above 663 and up to 851, seven segments.
    acks(&mut d, 1);
    assert_eq!(d.state("increase"), 7.0);
}

#[test]
fn a_delayed_ack_counts_once() {
    // RFC 3649 section 5: a(w) / w for each acknowledgment.
    let mut d = avoiding(38);
    for _ in 0..19 {
        d.on_ack(2 * MSS, 50 * MS);
    }
    assert_eq!(d.window.cwnd, 38 * MSS);
}

#[test]
fn the_response_function_of_the_rfc_holds() {
    // RFC 3649 section 5: w = 0.12 / p^0.835 on average; the rows are slightly above it. One loss per 100 000 segments: 0.12 * 10^(5 * 0.835) = 1795.
    let mut d = avoiding(1800);
    let (mut sum, mut count) = (0.0, 0.0);
    for epoch in 0..40 {
        for _ in 0..100_000 {
            d.on_ack(MSS, 50 * MS);
            if epoch >= 10 {
                sum += d.cwnd_segments();
                count += 1.0;
            }
        }
        d.congestion(Signal::Loss);
    }
    let mean: f64 = sum / count;
    assert!((mean / 1795.0 - 1.0).abs() < 0.1, "{mean}");
}
