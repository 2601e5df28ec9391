//! Tests of the three-way handshake, each with the segments that show a rule.

use bloatlab_cc::EcnFeedback;
use bloatlab_tcp::TcpConfig;
use bloatlab_tcp::segment::SYN;
use bloatlab_units::{Duration, MILLISECOND, Nanos, SECOND};

use crate::world::{Action, LONG, RTT, Sent, World, at_once, established, gaps, reno};

const MSS: u64 = 1448;

#[test]
fn the_ack_of_the_handshake_leaves_before_data() {
    // As in Linux: data does not wait, but it does not replace the ACK either.
    for ecn in [EcnFeedback::Off, EcnFeedback::Accurate] {
        let config = TcpConfig {
            ecn,
            ..TcpConfig::default()
        };
        let mut world = established(&config, 3 * MSS);
        world.open();
        assert!(world.run(LONG, 1000));
        let first: Vec<&Sent> = world.sent[0].iter().take(5).collect();
        assert!(first[0].segment.has(SYN) && first[1].is_pure_ack());
        assert!(first[2..].iter().all(|sent| sent.has_data()));
        assert!(first[1..].iter().all(|sent| sent.at == first[1].at));
    }
}

#[test]
fn an_end_that_never_writes_confirms_the_handshake_once() {
    let mut world = World::clean(&TcpConfig::default(), &reno(), RTT / 2);
    world.application(1, &at_once(2 * MSS));
    world.open();
    assert!(world.run(2 * RTT, 1000));
    let acks: Vec<u32> = world.sent[0].iter().map(|sent| sent.segment.ack).collect();
    // Data and FIN arrive together.
    assert_eq!(acks, [0, 1, 2 + 2 * MSS as u32]);
}

#[test]
fn syns_back_off_and_are_given_up() {
    // RFC 6298 section 5.5-5.7; Linux's tcp_syn_retries: 6.
    let mut world = established(&TcpConfig::default(), MSS);
    world.filter = Some(Box::new(|_, _| Action::Drop));
    world.open();
    assert!(world.run(LONG, 1000));
    let times: Vec<Nanos> = world.sent[0].iter().map(|s| s.at).collect();
    assert!(world.sent[0].iter().all(|s| s.segment.has(SYN)));
    assert_eq!(gaps(&times), [1, 2, 4, 8, 16, 32].map(|s| s * SECOND));
    assert!(world.ends[0].failed());
}

#[test]
fn after_several_lost_syns_the_window_starts_with_one_segment() {
    // RFC 5681 section 3.1; as in Linux, sending one again is forgiven. The client's SYN or the server's SYN-ACK is lost, and that end sends data. A
    // server sends a lost SYN-ACK twice: because of its own timer, and because the client sends its SYN again.
    for (end, windows) in [(0, [10, 10, 1, 1]), (1, [10, 1, 1, 1])] {
        for (losses, first) in windows.into_iter().enumerate() {
            let mut world = World::clean(&TcpConfig::default(), &reno(), RTT / 2);
            world.application(end, &at_once(100 * MSS));
            world.application(1 - end, &[]);
            let mut left = losses;
            world.filter = Some(Box::new(move |from, sent: &Sent| {
                if from == end && sent.segment.has(SYN) && left > 0 {
                    left -= 1;
                    return Action::Drop;
                }
                Action::Forward
            }));
            world.open();
            assert!(world.run(LONG, 100_000));
            let began = world.data(end).next().unwrap().at;
            let flight = world.data(end).filter(|s| s.at < began + RTT / 2).count();
            assert_eq!(flight, first, "end {end}, {losses} lost");
            // RFC 7323 section 4: timestamps measure the RTT of a handshake whose SYN was sent again.
            assert!(world.ends[end].sender.rtt.min <= RTT + MILLISECOND);
        }
    }
}

#[test]
fn with_ticks_syns_are_sent_again_at_multiples_of_64_ticks() {
    let config = TcpConfig {
        ack_tick: Duration(MILLISECOND),
        ..TcpConfig::default()
    };
    let mut world = established(&config, MSS);
    world.filter = Some(Box::new(|_, _| Action::Drop));
    world.open();
    assert!(world.run(LONG, 1000));
    let times: Vec<Nanos> = world.sent[0].iter().map(|s| s.at / MILLISECOND).collect();
    assert_eq!(times[1..4], [1024, 3072, 7104]);
}

#[test]
fn a_syn_that_was_only_late_does_not_reduce_the_initial_window() {
    // It arrives after two more were sent. The SYN-ACK echoes its timestamp.
    let mut world = World::clean(&TcpConfig::default(), &reno(), RTT / 2);
    world.application(0, &at_once(100 * MSS));
    world.filter = Some(Box::new(move |end, sent: &Sent| {
        match end == 0 && sent.segment.has(SYN) {
            true => Action::Delay(4000 * MILLISECOND),
            false => Action::Forward,
        }
    }));
    world.open();
    assert!(world.run(LONG, 100_000));
    let began = world.data(0).next().unwrap().at;
    let flight = world.data(0).filter(|s| s.at < began + RTT / 2).count();
    assert_eq!(flight, 10);
}
