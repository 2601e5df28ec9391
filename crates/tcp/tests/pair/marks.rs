//! Tests of ECN between two ends: what the handshake negotiates, how marks are reported, and which packets are ECN-capable.

use std::sync::{Arc, Mutex};

use bloatlab_aqm::Ecn;
use bloatlab_cc::{Ack, CcConfig, CongestionControl, EcnFeedback, Signal, Window};
use bloatlab_tcp::segment::{FIN, SYN};
use bloatlab_tcp::{Endpoint, TcpConfig};
use bloatlab_units::Bytes;

use crate::world::{Action, Filter, LONG, RTT, Sent, World, at_once};

const MSS: u64 = 1448;

/// What the congestion controls of a connection were told.
#[derive(Default)]
struct Notes {
    marked: u64,
    agreed: Option<EcnFeedback>,
}

/// A window that never changes.
#[derive(Clone, Default)]
struct Witness {
    needs: EcnFeedback,
    l4s: bool,
    notes: Arc<Mutex<Notes>>,
}

impl CongestionControl for Witness {
    fn on_negotiated(&mut self, feedback: EcnFeedback) {
        self.notes.lock().unwrap().agreed = Some(feedback);
    }

    fn observe(&mut self, _: &Window, ack: &Ack) {
        self.notes.lock().unwrap().marked += ack.marked_now;
    }

    fn on_ack(&mut self, _: &mut Window, _: &Ack) {}

    fn on_congestion(&mut self, window: &mut Window, _: Signal, _: &Ack) {
        window.ssthresh = window.cwnd;
    }

    fn needs_ecn(&self) -> EcnFeedback {
        self.needs
    }

    fn is_l4s(&self) -> bool {
        self.l4s
    }
}

/// A pair whose ends have different settings.
fn pair(configs: [&TcpConfig; 2], controls: [&Witness; 2], bytes: u64) -> World {
    let reno = CcConfig::Reno(Default::default());
    let mut world = World::clean(configs[0], &reno, RTT / 2);
    world.ends = [0, 1].map(|end| Endpoint::new(configs[end], Box::new(controls[end].clone())));
    world.application(0, &at_once(bytes));
    world
}

fn config(ecn: EcnFeedback) -> TcpConfig {
    TcpConfig {
        ecn,
        ..TcpConfig::default()
    }
}

/// Marks data by a pattern with runs of all lengths, and counts the marked payload.
fn mark(total: Arc<Mutex<u64>>, lose_acks: bool) -> impl FnMut(usize, &Sent) -> Action {
    let mut state = 1_u64;
    move |end, sent| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        let chance = state >> 60;
        // FIN takes a sequence number and is not payload.
        let data = sent.segment.length > 0 && !sent.segment.has(FIN);
        if end == 0 && data && chance < 6 {
            *total.lock().unwrap() += u64::from(sent.segment.length);
            return Action::Mark;
        }
        // Not the last ones, after which no ACK updates the counters.
        let early = u64::from(sent.segment.ack) < 900 * MSS && !sent.segment.has(SYN);
        if end == 1 && lose_acks && early && chance < 8 {
            return Action::Drop;
        }
        Action::Forward
    }
}

#[test]
fn marked_bytes_come_back_exactly() {
    for (feedback, lose_acks) in [
        (EcnFeedback::Dctcp, false),
        (EcnFeedback::Accurate, false),
        (EcnFeedback::Accurate, true),
    ] {
        for ack_every in [1, 2, 4, 16] {
            let config = TcpConfig {
                ack_every,
                initial_window: 40,
                ..config(feedback)
            };
            let cc = Witness::default();
            let mut world = pair([&config; 2], [&cc, &Witness::default()], 1000 * MSS + 7);
            let total = Arc::new(Mutex::new(0));
            world.filter = Some(Box::new(mark(total.clone(), lose_acks)));
            world.open();
            assert!(world.run(LONG, 1_000_000));
            let stats = world.ends[0].sender.stats;
            assert_eq!(stats.retransmissions, 0);
            let (told, marked) = (cc.notes.lock().unwrap().marked, *total.lock().unwrap());
            assert!(marked > 200 * MSS);
            assert_eq!(told, marked, "{feedback:?}, an ACK for {ack_every}");
        }
    }
}

#[test]
fn the_handshake_agrees_on_what_both_ends_know() {
    use EcnFeedback::{Accurate, Classic, Dctcp, Off};
    // RFC 9768 table 2: (client, server), (feedback used by each), and the ACE fields of SYN, SYN-ACK and the ACK of it.
    for (wanted, agreed, fields) in [
        ([Accurate, Accurate], [Accurate, Accurate], [7, 2, 2]),
        ([Accurate, Classic], [Classic, Classic], [7, 1, 0]),
        ([Classic, Accurate], [Classic, Classic], [3, 1, 0]),
        ([Accurate, Off], [Off, Off], [7, 0, 0]),
        ([Off, Accurate], [Off, Off], [0, 0, 0]),
        ([Dctcp, Dctcp], [Dctcp, Dctcp], [3, 1, 0]),
        ([Dctcp, Accurate], [Dctcp, Classic], [3, 1, 0]),
    ] {
        let configs = wanted.map(config);
        let controls = [Witness::default(), Witness::default()];
        let mut world = pair(
            [&configs[0], &configs[1]],
            [&controls[0], &controls[1]],
            MSS,
        );
        world.open();
        assert!(world.run(LONG, 1000));
        let found = controls.map(|cc| cc.notes.lock().unwrap().agreed);
        assert_eq!(found, agreed.map(Some), "{wanted:?}");
        let ace = |end: usize, index: usize| world.sent[end][index].segment.ace();
        assert_eq!([ace(0, 0), ace(1, 0), ace(0, 1)], fields, "{wanted:?}");
    }
}

/// Loses the first `count` segments that an end sends.
fn lose_first(end: usize, mut count: usize) -> Filter {
    Box::new(move |from, _| {
        if from == end && count > 0 {
            count -= 1;
            return Action::Drop;
        }
        Action::Forward
    })
}

#[test]
fn a_repeated_syn_withdraws_the_offer_of_ecn() {
    use EcnFeedback::{Accurate, Classic, Dctcp, Off};
    // Feedback, whether the offer is withdrawn, number of lost SYNs, ACE of each SYN, and the feedback that both ends use.
    for (wanted, ecn_fallback, lost, fields, agreed) in [
        // RFC 3168 section 6.1.1.1.
        (Classic, true, 1, vec![3, 0], Off),
        (Dctcp, true, 2, vec![3, 0, 0], Off),
        (Classic, false, 2, vec![3, 3, 3], Classic),
        // RFC 9768 section 3.1.4.1: offered once more, then not any more.
        (Accurate, true, 1, vec![7, 7], Accurate),
        (Accurate, true, 2, vec![7, 7, 0], Off),
        (Accurate, false, 2, vec![7, 7, 7], Accurate),
    ] {
        let config = TcpConfig {
            ecn_fallback,
            ..config(wanted)
        };
        let controls = [wanted; 2].map(|needs| Witness {
            needs,
            ..Witness::default()
        });
        let mut world = pair([&config; 2], [&controls[0], &controls[1]], MSS);
        world.filter = Some(lose_first(0, lost));
        world.open();
        assert!(world.run(LONG, 1000));
        let syns = world.sent[0].iter().filter(|s| s.segment.has(SYN));
        let (found, codes): (Vec<u8>, Vec<Ecn>) = syns.map(|s| (s.segment.ace(), s.ecn)).unzip();
        assert_eq!(found, fields, "{wanted:?}");
        // A SYN that offers nothing is not ECN-capable.
        for (field, code) in found.iter().zip(codes) {
            assert_eq!(*field == 0, code == Ecn::NotEct, "{wanted:?}");
        }
        let found = controls.map(|cc| cc.notes.lock().unwrap().agreed);
        assert_eq!(found, [Some(agreed); 2], "{wanted:?}");
    }
}

#[test]
fn an_offer_that_arrived_counts_though_its_answer_was_lost() {
    let config = config(EcnFeedback::Classic);
    let controls = [Witness::default(), Witness::default()];
    let mut world = pair([&config; 2], [&controls[0], &controls[1]], MSS);
    world.filter = Some(lose_first(1, 1));
    world.open();
    assert!(world.run(LONG, 1000));
    let found = controls.map(|cc| cc.notes.lock().unwrap().agreed);
    assert_eq!(found, [Some(EcnFeedback::Classic); 2]);
}

/// Code points of SYN, new data, a retransmission and a pure ACK.
fn code_points(config: &TcpConfig, cc: &Witness) -> [Ecn; 4] {
    let mut world = pair([config; 2], [cc; 2], 20 * MSS);
    let mut lost = false;
    world.filter = Some(Box::new(move |end, sent| {
        let hit = end == 0 && u64::from(sent.segment.seq) == 1 + 4 * MSS && !lost;
        lost |= hit;
        if hit { Action::Drop } else { Action::Forward }
    }));
    world.open();
    assert!(world.run(LONG, 10_000));
    let data = |again| {
        world
            .data(0)
            .find(|s| s.again == again && s.segment.length > 0)
    };
    let answer = world.sent[1].iter().find(|s| s.is_pure_ack());
    let syn = &world.sent[0][0];
    [Some(syn), data(false), data(true), answer].map(|sent| sent.unwrap().ecn)
}

#[test]
fn only_algorithms_that_need_ecn_use_it_on_every_packet() {
    use Ecn::{Ect0, Ect1, NotEct};
    let cc = |needs, l4s| Witness {
        needs,
        l4s,
        ..Witness::default()
    };
    let none = cc(EcnFeedback::Off, false);
    // RFC 3168 sections 6.1.1, 6.1.4 and 6.1.5.
    for feedback in [
        EcnFeedback::Classic,
        EcnFeedback::Dctcp,
        EcnFeedback::Accurate,
    ] {
        let found = code_points(&config(feedback), &none);
        assert_eq!(found, [NotEct, Ect0, NotEct, NotEct], "{feedback:?}");
    }
    assert_eq!(code_points(&TcpConfig::default(), &none), [NotEct; 4]);
    // RFC 8257 section 3.5. The user did not ask for ECN.
    let dctcp = cc(EcnFeedback::Dctcp, false);
    assert_eq!(code_points(&TcpConfig::default(), &dctcp), [Ect0; 4]);
    // RFC 9331 section 4.1. Without the feedback it needs, the congestion control is a classic one.
    let prague = cc(EcnFeedback::Accurate, true);
    assert_eq!(code_points(&TcpConfig::default(), &prague), [Ect1; 4]);
    let found = code_points(&config(EcnFeedback::Dctcp), &prague);
    assert_eq!(found, [NotEct, Ect0, NotEct, NotEct]);
}

#[test]
fn the_counters_leave_room_for_sack() {
    // A TCP header of 60 bytes holds three SACK blocks, or two and the counters (RFC 9768 section 3.2.3.3).
    let config = TcpConfig {
        initial_window: 20,
        receive_buffer: Bytes(1_000_000),
        ..config(EcnFeedback::Accurate)
    };
    let cc = Witness::default();
    let mut world = pair([&config; 2], [&cc; 2], 20 * MSS);
    world.filter = Some(Box::new(|end, sent| {
        let number = u64::from(sent.segment.seq) / MSS;
        let hole = end == 0 && !sent.again && [3, 6, 9].contains(&number);
        if hole { Action::Drop } else { Action::Forward }
    }));
    world.open();
    assert!(world.run(LONG, 10_000));
    let answers = || world.sent[1].iter().filter(|s| s.is_pure_ack());
    for blocks in 0..=3 {
        let with = answers().find(|s| s.segment.blocks == blocks).unwrap();
        assert_eq!(with.segment.counters().is_some(), blocks < 3);
        assert!(with.segment.wire_size() <= 80);
    }
}
