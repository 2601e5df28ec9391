//! Whatever the path does, short of losing everything, both ends deliver every byte once and finish.

use bloatlab_aqm::Ecn;
use bloatlab_cc::{CcConfig, EcnFeedback};
use bloatlab_tcp::{
    LossDetection, Pacing, ReceiveWindow, Reduction, SegmentationOffload, State, TcpConfig,
};
use bloatlab_units::{Bytes, Duration, MICROSECOND, MILLISECOND, NEVER, Streams};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::{Config, RngSeed};

use crate::world::{LONG, Way, World, Write};

fn runs(cases: u32) -> Config {
    let given = Config::default();
    let chosen = std::env::var_os("PROPTEST_CASES").is_some();
    Config {
        cases: if chosen { given.cases } else { cases },
        rng_seed: match given.rng_seed {
            RngSeed::Random => RngSeed::Fixed(2026),
            fixed => fixed,
        },
        failure_persistence: None,
        ..given
    }
}

const OFFLOAD: [SegmentationOffload; 3] = [
    SegmentationOffload::Off,
    SegmentationOffload::On,
    SegmentationOffload::Software,
];

const FEEDBACK: [EcnFeedback; 4] = [
    EcnFeedback::Off,
    EcnFeedback::Classic,
    EcnFeedback::Dctcp,
    EcnFeedback::Accurate,
];

fn config() -> impl Strategy<Value = TcpConfig> {
    let segments = (
        select(vec![100_u32, 536, 1448]),
        1_u32..=4,
        0_u64..60,
        select(vec![0_u32, 4]),
        select(vec![1_u32, 2, 10]),
        select(vec![0_u64, 0, 300, 1000]),
    );
    let kinds = (
        select(vec![LossDetection::Rack, LossDetection::Dupack]),
        (
            any::<bool>(),
            any::<bool>(),
            any::<bool>(),
            any::<bool>(),
            select(vec![
                ReceiveWindow::Full,
                ReceiveWindow::Growing,
                ReceiveWindow::Autotuned,
            ]),
        ),
        select(vec![
            Reduction::Prr,
            Reduction::PrrBytes,
            Reduction::Classic,
        ]),
        select(vec![Pacing::Auto, Pacing::On, Pacing::Off]),
        select(FEEDBACK.to_vec()),
        (
            select(vec![1_u32, 3, 65_535]),
            any::<bool>(),
            select(OFFLOAD.to_vec()),
        ),
    );
    let room = select(vec![0_u64, 1, 99, 3000, 1_000_000]);
    let read_size = select(vec![0_u64, 0, 99, 3000]);
    let all = (segments, kinds, room, read_size);
    all.prop_map(|(segments, kinds, room, read_size)| TcpConfig {
        mss: segments.0,
        ack_every: segments.1,
        delayed_ack: Duration(segments.2 * MILLISECOND),
        ack_tick: Duration(u64::from(segments.3 > 0) * MILLISECOND),
        quick_acks: segments.3,
        sack_compression: Duration(segments.5 * MICROSECOND),
        initial_window: segments.4,
        loss_detection: kinds.0,
        tail_loss_probe: kinds.1.0,
        frto: kinds.1.1,
        undo: kinds.1.2,
        limited_transmit: kinds.1.3,
        receive_window: kinds.1.4,
        recovery: kinds.2,
        pacing: kinds.3,
        ecn: kinds.4,
        gso_max_segs: kinds.5.0,
        receive_offload: kinds.5.1,
        segmentation_offload: kinds.5.2,
        receive_buffer: Bytes(2 * u64::from(segments.0) + room),
        read_size: Bytes(read_size),
        ..TcpConfig::default()
    })
}

fn cc() -> impl Strategy<Value = CcConfig> {
    select(CcConfig::all())
}

fn writes() -> impl Strategy<Value = Vec<Write>> {
    let write = (
        0_u64..2000,
        prop_oneof![3 => 1_u64..12_000, 1 => 1_u64..200_000],
    )
        .prop_map(|(at, bytes)| Write {
            at: at * MILLISECOND,
            bytes,
        });
    vec(write, 0..6)
}

fn way() -> impl Strategy<Value = Way> {
    let chance = || prop_oneof![2 => Just(0.0), 2 => 0.0..0.1, 1 => 0.1..0.4];
    (0_u64..60, chance(), chance(), chance(), chance()).prop_map(
        |(delay, loss, reordered, duplicated, marked)| Way {
            delay: delay * MILLISECOND,
            loss,
            reordered,
            duplicated,
            marked,
        },
    )
}

/// All packets of such a congestion control are ECN-capable (RFC 8311 section 4.3).
fn needs_ecn(cc: &CcConfig) -> bool {
    let cc = cc.build(Streams::new(1).stream("cc"));
    cc.is_some_and(|cc| cc.needs_ecn() != EcnFeedback::Off)
}

/// The counters match what was seen on the wire.
fn counters_agree(world: &World, end: usize, needs_ecn: bool) -> Result<(), TestCaseError> {
    let stats = &world.ends[end].sender.stats;
    prop_assert_eq!(stats.segments, world.data(end).count() as u64);
    let bytes: u64 = world.data(end).map(|s| u64::from(s.segment.length)).sum();
    prop_assert_eq!(stats.bytes, bytes);
    let again = world.data(end).filter(|s| s.again).count();
    prop_assert_eq!(stats.retransmissions, again as u64);
    prop_assert!(
        needs_ecn || world.data(end).all(|s| !s.again || s.ecn == Ecn::NotEct),
        "RFC 3168 section 6.1.5"
    );
    Ok(())
}

proptest! {
    #![proptest_config(runs(2000))]

    #[test]
    fn every_byte_arrives_once(
        config in config(), cc in cc(), ways in [way(), way()], writes in [writes(), writes()], seed in any::<u64>(),
    ) {
        let mut world = World::new(&config, &cc, ways, seed);
        for (end, writes) in writes.iter().enumerate() {
            world.application(end, writes);
        }
        world.open();
        prop_assert!(world.run(LONG, 400_000), "no end after {} steps at {} ns", world.steps, world.now);
        for end in 0..2 {
            prop_assert!(world.delivered[1 - end] <= world.written[end]);
            counters_agree(&world, end, needs_ecn(&cc))?;
        }
        if world.ends.iter().any(|end| end.failed()) {
            // Every SYN or SYN-ACK was lost.
            prop_assert!(world.lost >= 7);
            return Ok(());
        }
        for (end, endpoint) in world.ends.iter().enumerate() {
            prop_assert!(endpoint.established());
            prop_assert_eq!(world.delivered[1 - end], world.written[end]);
            prop_assert!(endpoint.sent_all() && endpoint.receiver.finished());
            prop_assert_eq!(endpoint.sender.in_flight(), 0);
            prop_assert_eq!(endpoint.receiver.held_bytes(), 0);
            // FIN is delivered, too.
            prop_assert_eq!(endpoint.sender.delivered(), world.written[end] + 1);
            prop_assert!(endpoint.sender.window.cwnd >= endpoint.sender.window.mss);
        }
        // Only responses and then silence may follow.
        prop_assert!(world.run(LONG, world.steps + 1000));
        prop_assert!(world.ends.iter().all(|end| end.deadline().min(end.release(world.now, NEVER)) == NEVER));
    }

    #[test]
    fn a_clean_path_needs_no_retransmission(
        config in config(), cc in cc(), delay in 0_u64..60, writes in [writes(), writes()], marked in 0.0..0.3,
    ) {
        // More segments per ACK than RFC 8985 section 7.2 assumes make a probe unnecessary, but not wrong.
        let config = TcpConfig { ack_every: config.ack_every.min(2), delayed_ack: Duration(40 * MILLISECOND), ..config };
        // So does an application that takes longer to wake than two round trips without any delay.
        let delay = delay.max(u64::from(config.read_size.0 > 0));
        let way = Way { delay: delay * MILLISECOND, marked, ..Way::default() };
        let mut world = World::new(&config, &cc, [way; 2], 1);
        for (end, writes) in writes.iter().enumerate() {
            world.application(end, writes);
        }
        world.open();
        prop_assert!(world.run(LONG, 400_000));
        for (end, endpoint) in world.ends.iter().enumerate() {
            let stats = &endpoint.sender.stats;
            prop_assert_eq!(world.delivered[1 - end], world.written[end]);
            prop_assert_eq!((stats.retransmissions, stats.rtos, stats.recoveries), (0, 0, 0));
            prop_assert!(matches!(endpoint.sender.state(), State::Open | State::Cwr));
            if config.ecn == EcnFeedback::Off && !needs_ecn(&cc) || marked == 0.0 {
                prop_assert_eq!(stats.ecn_reductions, 0);
            }
        }
    }

    #[test]
    fn reductions_after_real_losses_are_never_undone(
        config in config(), cc in cc(), delay in 1_u64..60, loss in 0.0..0.3, seed in any::<u64>(), bytes in 1_u64..300_000,
    ) {
        // Nothing is late, duplicated or reordered, and every ACK arrives. So each reduction must have a loss.
        let config = TcpConfig { ack_every: config.ack_every.min(2), delayed_ack: Duration(40 * MILLISECOND), ..config };
        let clean = Way { delay: delay * MILLISECOND, ..Way::default() };
        let mut world = World::new(&config, &cc, [Way { loss, ..clean }, clean], seed);
        world.application(0, &[Write { at: 0, bytes }]);
        world.application(1, &[]);
        world.open();
        prop_assert!(world.run(LONG, 400_000));
        prop_assert_eq!(world.ends[0].sender.stats.undone, 0);
    }
}
