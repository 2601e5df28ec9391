//! Random flows: traffic, congestion control, TCP settings and times.

use bloatlab_cc::EcnFeedback;
use bloatlab_scenario::traffic::fetch::{self, Connection, IntervalFrom};
use bloatlab_scenario::traffic::on_off::{self, Distribution};
use bloatlab_scenario::traffic::{Transport, cbr, finite, ping, poisson};
use bloatlab_scenario::{CcConfig, Direction, Flow, TcpConfig, Traffic};
use bloatlab_tcp::{LossDetection, Pacing, ReceiveWindow, Reduction, SegmentationOffload, Timeout};
use bloatlab_units::{Bytes, Duration, MILLISECOND, Rate};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::{Index, select};

use super::millis;

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

fn congestion_control() -> impl Strategy<Value = CcConfig> {
    (select(CcConfig::all()), 1_u32..80).prop_map(|(config, window)| match config {
        CcConfig::Fixed(_) => CcConfig::Fixed(bloatlab_cc::fixed::Params { window }),
        other => other,
    })
}

fn tcp() -> impl Strategy<Value = TcpConfig> {
    let segments = (
        select(vec![536_u32, 1000, 1448, 8948, 65_000]),
        1_u32..=4,
        millis(0, 60),
        select(vec![0_u32, 0, 16]),
        select(vec![0_u64, 0, 1_000_000]),
        select(vec![1_u32, 2, 10, 32]),
    );
    let buffers = (
        select(vec![0_u64, 0, 3, 700, 5_000, 60_000, 4_000_000]),
        select(vec![0_u64, 1, 700, 5_000, 60_000, 32_000_000, 32_000_000]),
        select(vec![
            ReceiveWindow::Full,
            ReceiveWindow::Growing,
            ReceiveWindow::Autotuned,
        ]),
        select(vec![0_u64, 0, 700, 65_536]),
        select(vec![0_u64, 0, 900, 262_144]),
        any::<bool>(),
    );
    let recovery = (
        select(vec![LossDetection::Rack, LossDetection::Dupack]),
        (
            any::<bool>(),
            any::<bool>(),
            any::<bool>(),
            any::<bool>(),
            any::<bool>(),
        ),
        select(vec![
            Reduction::Prr,
            Reduction::PrrBytes,
            Reduction::Classic,
        ]),
        select(vec![Pacing::Auto, Pacing::On, Pacing::Off]),
        (
            select(vec![1, 2, 65_535]),
            any::<bool>(),
            select(OFFLOAD.to_vec()),
        ),
    );
    let timers = (
        select(vec![10_u64, 200, 200, 1000]),
        select(vec![100_u64, 1000]),
        select(vec![Timeout::Rfc6298, Timeout::Linux]),
    );
    (
        segments,
        buffers,
        recovery,
        timers,
        (select(FEEDBACK.to_vec()), any::<bool>()),
        (
            any::<bool>(),
            select(vec![1_u64, 20_000, 4 << 20]),
            any::<bool>(),
        ),
    )
        .prop_map(
            |(
                segments,
                buffers,
                recovery,
                timers,
                (ecn, ecn_fallback),
                (small_queues, most, cached_ssthresh),
            )| {
                let (mss, ack_every, delayed_ack, quick_acks, sack_compression, initial_window) =
                    segments;
                let least = 2 * u64::from(mss);
                TcpConfig {
                    mss,
                    ack_every,
                    delayed_ack,
                    ack_tick: Duration(u64::from(quick_acks > 0) * MILLISECOND),
                    quick_acks,
                    sack_compression: Duration(sack_compression),
                    initial_window,
                    cached_ssthresh,
                    // From the smallest allowed size, with odd numbers of bytes.
                    send_buffer: Bytes(least + buffers.0),
                    receive_buffer: Bytes(least + buffers.1),
                    receive_window: buffers.2,
                    read_size: Bytes(buffers.3),
                    write_size: Bytes(buffers.4),
                    autotuned_send_buffer: buffers.5,
                    tso_rtt_log: 9,
                    ecn,
                    ecn_fallback,
                    timeout: timers.2,
                    min_rto: Duration(timers.0 * MILLISECOND),
                    initial_rto: Duration(timers.1 * MILLISECOND),
                    loss_detection: recovery.0,
                    tail_loss_probe: recovery.1.0,
                    limited_transmit: recovery.1.4,
                    frto: recovery.1.1,
                    undo: recovery.1.2,
                    byte_counting: recovery.1.3,
                    recovery: recovery.2,
                    pacing: recovery.3,
                    gso_max_segs: recovery.4.0,
                    receive_offload: recovery.4.1,
                    segmentation_offload: recovery.4.2,
                    small_queues,
                    limit_output_bytes: Bytes(most),
                    pacing_shift: 10,
                }
            },
        )
}

fn traffic() -> impl Strategy<Value = Traffic> {
    let source = || {
        (
            (50_000_u64..12_000_000).prop_map(Rate),
            (100_u64..1473).prop_map(Bytes),
            select(vec![Transport::Udp, Transport::Tcp]),
        )
    };
    let fetch = (1_u64..3000, 1_u64..150_000, 0_u64..100);
    prop_oneof![
        4 => Just(Traffic::default()),
        2 => (1_u64..400_000).prop_map(|bytes| Traffic::Finite(finite::Params { bytes: Bytes(bytes) })),
        1 => source().prop_map(|(rate, packet, transport)| Traffic::Cbr(cbr::Params { rate, packet, transport })),
        1 => source().prop_map(|(rate, packet, transport)| Traffic::Poisson(poisson::Params { rate, packet, transport })),
        1 => (source(), millis(1, 300), millis(0, 300), any::<bool>()).prop_map(
            |((rate, packet, transport), on, off, constant)| Traffic::OnOff(on_off::Params {
                rate,
                on,
                off,
                distribution: if constant { Distribution::Constant } else { Distribution::Exponential },
                packet,
                transport,
            })
        ),
        2 => (fetch, any::<[bool; 3]>()).prop_map(|((request, response, interval), [persistent, from_start, spread])| Traffic::Fetch(fetch::Params {
            request: Bytes(request),
            response: Bytes(response),
            interval: Duration(interval * MILLISECOND),
            interval_from: if from_start { IntervalFrom::Start } else { IntervalFrom::End },
            interval_spread: if spread { 0.5 } else { 0.0 },
            connection: if persistent { Connection::Persistent } else { Connection::New },
        })),
        1 => (1_u64..200, 28_u64..1500, any::<bool>()).prop_map(|(interval, size, spread)| Traffic::Ping(ping::Params {
            interval: Duration(interval * MILLISECOND),
            interval_spread: if spread { 1.0 } else { 0.0 },
            size: Bytes(size),
        })),
    ]
}

/// A flow that is not yet placed in a network. Its times are fractions of the run.
#[derive(Clone, Debug)]
pub struct Draft {
    flow: Flow,
    start: f64,
    stop: Option<f64>,
    jitter: Duration,
    pub rtt: Option<Duration>,
    pub places: [Index; 2],
    pub route: Vec<Index>,
    pub back: Vec<Index>,
}

pub fn draft() -> impl Strategy<Value = Draft> {
    let what = (
        traffic(),
        congestion_control(),
        tcp(),
        1_u32..=2,
        any::<bool>(),
    );
    let when = (
        prop_oneof![Just(0.0), 0.0..0.6],
        option::weighted(0.4, 0.05..1.0),
        prop_oneof![Just(Duration(0)), millis(0, 30)],
        option::of(millis(1, 80)),
    );
    let places = (
        any::<[Index; 2]>(),
        vec(any::<Index>(), 1..4),
        vec(any::<Index>(), 0..4),
    );
    (what, when, places).prop_map(|(what, when, (places, route, back))| {
        let (traffic, cca, tcp, count, reverse) = what;
        let direction = if reverse {
            Direction::Reverse
        } else {
            Direction::Forward
        };
        // A write must fit into the send buffer.
        let send_buffer = tcp.send_buffer.max(Bytes(1472));
        let flow = Flow {
            traffic,
            cca,
            tcp: TcpConfig { send_buffer, ..tcp },
            count,
            direction,
            start_interval: Duration(MILLISECOND),
            ..Flow::default()
        };
        Draft {
            flow,
            start: when.0,
            stop: when.1,
            jitter: when.2,
            rtt: when.3,
            places,
            route,
            back,
        }
    })
}

/// The flow in a run of this length.
pub fn timed(draft: &Draft, duration: Duration) -> Flow {
    let part = |x: f64| Duration((duration.0 as f64 * x) as u64);
    let mut flow = draft.flow.clone();
    flow.start = part(draft.start);
    // A flow stops only after the latest possible start of its last copy.
    let last = flow.start.0 + 2 * MILLISECOND + draft.jitter.0;
    flow.start_jitter = draft.jitter;
    flow.stop = draft.stop.map(|x| Duration(last + 1 + part(x).0));
    flow
}
