//! Tests of single rules of the RFCs, each with the segments that show it.

use bloatlab_cc::{CcConfig, EcnFeedback};
use bloatlab_tcp::segment::{CWR, ECE, SYN};
use bloatlab_tcp::{Pacing, State, TcpConfig};
use bloatlab_units::{Bytes, Duration, MILLISECOND, Nanos, SECOND};

use crate::world::{
    Action, Filter, LONG, RTT, World, Write, at_once, established, gaps, lose, reno,
};

const MSS: u64 = 1448;

#[test]
fn the_retransmission_timeout_doubles_up_to_its_limit() {
    let config = TcpConfig {
        tail_loss_probe: false,
        ..TcpConfig::default()
    };
    let mut world = established(&config, MSS);
    world.filter = Some(lose(|end, sent| end == 0 && sent.segment.length > 0));
    world.open();
    assert!(world.run(800 * SECOND, 10_000));
    let times: Vec<Nanos> = world.data(0).map(|s| s.at).collect();
    let gaps = gaps(&times);
    // One RTT sample of 20 ms: four deviations of 10 ms are below Linux's minimum, which is added to sRTT.
    assert_eq!(gaps[0], 220 * MILLISECOND);
    for pair in gaps.windows(2) {
        assert_eq!(pair[1], (2 * pair[0]).min(120 * SECOND));
    }
    assert!(gaps.contains(&(120 * SECOND)), "the limit is reached");
    assert_eq!(world.ends[0].sender.stats.rtos, gaps.len() as u64);
}

#[test]
fn every_second_segment_is_acknowledged() {
    for (ack_every, segments) in [(1, 9), (2, 9), (2, 10), (3, 9), (4, 9)] {
        let config = TcpConfig {
            ack_every,
            initial_window: 32,
            tail_loss_probe: false,
            ..TcpConfig::default()
        };
        let mut world = established(&config, segments * MSS);
        world.open();
        // Except at the close: FIN is acknowledged at once.
        world.run(RTT + RTT / 2, 10_000);
        let at_once = world.pure_acks(1) as u64;
        // FIN is in the last segment, whose ACK is not delayed.
        let expected = (segments - 1) / u64::from(ack_every) + 1;
        assert_eq!(
            at_once, expected,
            "{segments} segments, one ACK for {ack_every}"
        );
    }
}

#[test]
fn a_delayed_ack_leaves_when_its_timer_does() {
    // The segment arrives at 110 ms. Of ticks, the first after 150 ms counts.
    for (tick, delay) in [(0, 40), (1, 41), (4, 42)] {
        delayed_ack_leaves_after(tick * MILLISECOND, delay * MILLISECOND);
    }
}

fn delayed_ack_leaves_after(tick: Nanos, delay: Nanos) {
    let config = TcpConfig {
        ack_tick: Duration(tick),
        ..TcpConfig::default()
    };
    let mut world = World::clean(&config, &reno(), RTT / 2);
    let at = 100 * MILLISECOND;
    let writes = [
        Write { at, bytes: 200 },
        Write {
            at: SECOND,
            bytes: 1,
        },
    ];
    world.application(0, &writes);
    world.open();
    world.run(500 * MILLISECOND, 1000);
    let times: Vec<Nanos> = world.sent[1].iter().map(|s| s.at).collect();
    // The SYN-ACK, and one ACK of the only segment.
    assert_eq!(times, [RTT / 2, at + RTT / 2 + delay]);
}

/// Loses the first transmission of the last two of ten segments.
fn lose_the_tail() -> Filter {
    let mut lost = 0;
    lose(move |end, sent| {
        let last = end == 0 && sent.has_data() && sent.segment.seq as u64 > 8 * MSS && lost < 2;
        lost += usize::from(last);
        last
    })
}

#[test]
fn a_lost_tail_is_probed_before_the_timeout() {
    // RFC 8985 section 7: the last segments are lost, and no ACK reports that.
    let run = |tail_loss_probe: bool| {
        let config = TcpConfig {
            tail_loss_probe,
            ..TcpConfig::default()
        };
        let mut world = established(&config, 10 * MSS);
        world.filter = Some(lose_the_tail());
        world.open();
        assert!(world.run(LONG, 10_000));
        assert_eq!(world.delivered[1], 10 * MSS);
        (world.now, world.ends[0].sender.stats)
    };
    let (with, probed) = run(true);
    let (without, timed_out) = run(false);
    assert_eq!((probed.probes, probed.rtos), (1, 0));
    assert_eq!((timed_out.probes, timed_out.rtos), (0, 1));
    assert!(with < without);
}

#[test]
fn with_a_tick_a_probe_is_two_milliseconds_late() {
    // The last two of ten segments are lost. The last ACK of the others, at 40 ms, starts the timer with an sRTT of 20 ms.
    for (tick, due) in [(0, 40 * MILLISECOND), (MILLISECOND, 42 * MILLISECOND)] {
        let config = TcpConfig {
            ack_tick: Duration(tick),
            ..TcpConfig::default()
        };
        let mut world = established(&config, 10 * MSS);
        world.filter = Some(lose_the_tail());
        world.open();
        assert!(world.run(LONG, 10_000));
        let acked = 2 * RTT;
        let probe = world.data(0).map(|sent| sent.at).find(|&at| at > acked);
        assert_eq!(probe.map(|at| at - acked), Some(due), "{tick}");
    }
}

#[test]
fn an_ecn_echo_reduces_once_a_window() {
    // RFC 3168 section 6.1.2: every segment of one second is marked, which is about 50 round trips.
    let config = TcpConfig {
        ecn: EcnFeedback::Classic,
        ..TcpConfig::default()
    };
    let mut world = established(&config, 100_000_000);
    world.open();
    assert!(world.run(200 * MILLISECOND, 1_000_000));
    assert_eq!(world.ends[0].sender.stats.ecn_reductions, 0);
    world.ways[0].marked = 1.0;
    assert!(world.run(1200 * MILLISECOND, 1_000_000));
    world.ways[0].marked = 0.0;
    let reductions = world.ends[0].sender.stats.ecn_reductions;
    assert!((2..=51).contains(&reductions), "{reductions} reductions");
    assert!(world.run(1300 * MILLISECOND, 1_000_000));
    let settled = world.ends[0].sender.stats.ecn_reductions;
    assert!(settled <= reductions + 1, "the echo ends with CWR");
    let told = world.data(0).filter(|s| s.segment.has(CWR)).count() as u64;
    assert_eq!(told, settled, "each reduction is told once");
    assert!(world.sent[1].iter().any(|s| s.segment.has(ECE)));
}

#[test]
fn a_loss_and_marks_of_one_window_reduce_it_once() {
    // RFC 3168 section 6.1.2: the echo of a mark from before a reduction does not reduce again, whatever caused the reduction.
    let config = TcpConfig {
        ecn: EcnFeedback::Classic,
        ..TcpConfig::default()
    };
    // One of the 20 segments of the second round trip is lost. The mark is on a segment before it or after it.
    for marked in [11, 25] {
        let mut world = established(&config, 100 * MSS);
        let mut lost = false;
        world.filter = Some(Box::new(move |end, sent| {
            let is = |n: u64| end == 0 && u64::from(sent.segment.seq) == 1 + n * MSS;
            if is(20) && !lost {
                lost = true;
                Action::Drop
            } else if is(marked) {
                Action::Mark
            } else {
                Action::Forward
            }
        }));
        world.open();
        assert!(world.run(LONG, 100_000));
        let sender = &world.ends[0].sender;
        assert_eq!(
            (sender.stats.recoveries, sender.stats.retransmissions),
            (1, 1)
        );
        // Reno halves at most 20 segments; two reductions would give 5.
        assert!(sender.window.ssthresh >= 8 * MSS, "{:?}", sender.window);
        let told = world.data(0).filter(|s| s.segment.has(CWR)).count();
        assert_eq!(told, 1, "one reduction, one CWR");
    }
}

#[test]
fn a_reduction_for_a_mark_lasts_until_cwr_is_acknowledged() {
    // As in Linux: the ACK of what was in flight when the reduction began still echoes the mark. The window grows again with the ACK after it.
    let config = TcpConfig {
        ecn: EcnFeedback::Classic,
        ack_every: 1,
        ..TcpConfig::default()
    };
    let mut world = established(&config, 100 * MSS);
    world.filter = Some(Box::new(|end, sent| {
        if end == 0 && u64::from(sent.segment.seq) == 1 + 5 * MSS {
            Action::Mark
        } else {
            Action::Forward
        }
    }));
    world.open();
    let (mut at, mut reducing) = (0, false);
    while !reducing || world.ends[0].sender.state() == State::Cwr {
        at += MILLISECOND / 10;
        assert!(at < SECOND && world.run(at, 100_000));
        reducing |= world.ends[0].sender.state() == State::Cwr;
    }
    let told = world.data(0).find(|s| s.segment.has(CWR)).unwrap();
    let end = u64::from(told.segment.seq) + u64::from(told.segment.length);
    assert!(world.ends[0].sender.una() >= end);
}

#[test]
fn a_small_window_is_filled_and_never_overrun() {
    // The pair itself checks every segment against the advertised edge.
    for room in [0, 1, 500, 1447] {
        let config = TcpConfig {
            receive_buffer: Bytes(2 * MSS + room),
            delayed_ack: Duration(MILLISECOND),
            ..TcpConfig::default()
        };
        let mut world = established(&config, 40 * MSS);
        world.open();
        assert!(world.run(LONG, 100_000));
        assert_eq!(world.delivered[1], 40 * MSS);
        // Two segments per round trip.
        assert!(world.now < 25 * RTT, "{} ns", world.now);
        assert_eq!(world.ends[0].sender.stats.retransmissions, 0);
    }
}

#[test]
fn an_ack_that_a_retransmission_brought_is_no_rtt_sample() {
    // RFC 6298 section 3 (Karn): both segments arrive and their ACK is lost. The retransmission of the first one causes another ACK for both.
    let config = TcpConfig {
        tail_loss_probe: false,
        ..TcpConfig::default()
    };
    let mut world = established(&config, 2 * MSS);
    let mut answers = 0;
    world.filter = Some(lose(move |end, sent| {
        let answer = end == 1 && !sent.segment.has(SYN);
        answers += usize::from(answer);
        answer && answers == 1
    }));
    world.open();
    assert!(world.run(LONG, 1000));
    let sender = &world.ends[0].sender;
    assert_eq!((sender.stats.rtos, sender.stats.retransmissions), (1, 1));
    assert_eq!(sender.rtt.srtt, RTT);
}

#[test]
fn a_paced_sender_is_limited_by_its_window() {
    // Nothing else limits it, so its window must double per round trip as without pacing.
    for pacing in [Pacing::Off, Pacing::On] {
        let config = TcpConfig {
            pacing,
            ..TcpConfig::default()
        };
        let mut world = established(&config, 100_000_000);
        world.open();
        world.run(10 * RTT, 1_000_000);
        let cwnd = world.ends[0].sender.window.cwnd;
        assert!(cwnd > 300 * MSS, "{pacing:?}: {} segments", cwnd / MSS);
    }
}

#[test]
fn pacing_lets_bursts_go_and_keeps_its_rate() {
    // Twice the window of 100 segments per round trip of 20 ms: 0.1 ms per segment, and 9 of them in 2^-10 s. Only what follows the tenth segment is paced.
    const UNPACED: usize = 9;
    for (gso_max_segs, together) in [(1, 1), (4, 4), (65_535, 9)] {
        let config = TcpConfig {
            pacing: Pacing::On,
            initial_window: 100,
            gso_max_segs,
            ..TcpConfig::default()
        };
        let mut world = established(&config, 1_000_000);
        world.open();
        world.run(2 * RTT - 1, 100_000);
        let times: Vec<Nanos> = world.data(0).map(|sent| sent.at).collect();
        let begin = times[0];
        assert!(times[..UNPACED].iter().all(|&at| at == begin));
        for (i, &at) in times[UNPACED..].iter().take(90).enumerate() {
            let due = begin + (i / together * together) as u64 * MILLISECOND / 10;
            assert_eq!(at, due, "segment {i} of bursts of {together}");
        }
    }
}

#[test]
fn bbr_sends_two_segments_at_once_at_low_rates() {
    // BBR paces its first window at 2/ln 2 windows per round trip, in bursts of two. Only what follows the tenth segment is paced.
    let config = TcpConfig {
        initial_window: 19,
        ..TcpConfig::default()
    };
    let mut world = World::clean(&config, &CcConfig::Bbr(Default::default()), RTT / 2);
    world.application(0, &at_once(60 * MSS));
    world.open();
    assert!(world.run(LONG, 10_000));
    let times: Vec<Nanos> = world.data(0).map(|sent| sent.at).collect();
    let first = gaps(&times[9..19]);
    assert!(first.iter().step_by(2).all(|&gap| gap == 0), "{first:?}");
    assert!(
        first.iter().skip(1).step_by(2).all(|&gap| gap == first[1]),
        "{first:?}"
    );
    let rate = 2.0 / std::f64::consts::LN_2 * (19 * MSS) as f64 * 1e9 / RTT as f64;
    assert!(
        first[1].abs_diff((2.0 * MSS as f64 * 1e9 / rate) as Nanos) < 2,
        "{first:?}"
    );
}

#[test]
fn delayed_acks_slow_the_growth_that_counts_acks() {
    // RFC 3465 section 2.2: if it counts bytes, the window doubles per round trip, whatever an ACK acknowledges. RFC 5681 section 3.1: if it counts
    // ACKs of two segments each, it grows by half. From 16 segments: 32, 64, 128; or 24, 36, 54.
    for (byte_counting, grown) in [(true, 128), (false, 54)] {
        let config = TcpConfig {
            byte_counting,
            initial_window: 16,
            ack_every: 2,
            ..TcpConfig::default()
        };
        let mut world = established(&config, 100_000_000);
        world.open();
        // The handshake takes one round trip. The ACKs of the third one have arrived before the fifth begins.
        world.run(4 * RTT + RTT / 2, 1_000_000);
        let cwnd = world.ends[0].sender.window.cwnd;
        assert_eq!(cwnd / MSS, grown, "byte_counting = {byte_counting}");
    }
}
