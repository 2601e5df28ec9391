//! Random scenarios over everything a document can say, small enough to run by the hundred.

use bloatlab_cc::EcnFeedback;
use bloatlab_link::{gilbert_elliott, jitter};
use bloatlab_scenario::{
    BoxSpec, CcConfig, Connection, Direction, Distribution, Dumbbell, Flow, Impairments,
    LossSpacing, ParkingLot, QueueConfig, Scenario, TcpConfig, Traffic, Transport,
};
use bloatlab_tcp::{LossDetection, Pacing, ReceiveWindow, Reduction, Timeout};
use bloatlab_units::{Bytes, Duration, MICROSECOND, MILLISECOND, Rate};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde_json::{Value, json};

const FEEDBACK: [EcnFeedback; 4] = [
    EcnFeedback::Off,
    EcnFeedback::Classic,
    EcnFeedback::Dctcp,
    EcnFeedback::Accurate,
];

/// A duration between two numbers of milliseconds, not rounded to anything.
fn millis(low: u64, high: u64) -> impl Strategy<Value = Duration> {
    (low * MILLISECOND..=high * MILLISECOND).prop_map(Duration)
}

fn rate() -> impl Strategy<Value = Rate> {
    prop_oneof![
        (1_000_000_u64..50_000_000).prop_map(Rate),
        select(vec![1_000_000, 8_000_000, 16_000_000, 50_000_000]).prop_map(Rate),
    ]
}

/// Every queue discipline of the registry, with its own defaults or with a small limit, with ECN or without.
pub fn queue() -> impl Strategy<Value = QueueConfig> {
    let limit = option::of(select(vec![
        "1p", "2p", "5p", "20p", "80p", "300p", "1500B", "4000B", "30kB",
    ]));
    (select(QueueConfig::all()), limit, any::<bool>()).prop_map(|(config, limit, ecn)| {
        let mut document = serde_json::to_value(&config).unwrap();
        if let (Some(limit), Some(place)) = (limit, document.get_mut("limit")) {
            *place = json!(limit);
        }
        if let Some(place) = document.get_mut("ecn") {
            *place = Value::Bool(ecn);
        }
        let changed: QueueConfig = serde_json::from_value(document).unwrap();
        // Not every discipline counts its limit in every unit.
        if changed.validate().is_ok() {
            changed
        } else {
            config
        }
    })
}

fn law() -> impl Strategy<Value = CcConfig> {
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
        select(vec![1_u32, 2, 10, 32]),
    );
    let buffers = (
        select(vec![0_u64, 0, 3, 700, 5_000, 60_000, 4_000_000]),
        select(vec![0_u64, 1, 700, 5_000, 60_000, 32_000_000, 32_000_000]),
        select(vec![ReceiveWindow::Full, ReceiveWindow::Growing]),
    );
    let recovery = (
        select(vec![LossDetection::Rack, LossDetection::Dupack]),
        (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>()),
        select(vec![Reduction::Prr, Reduction::Classic]),
        select(vec![Pacing::Auto, Pacing::On, Pacing::Off]),
        (select(vec![1, 2, 65_535]), any::<bool>(), any::<bool>()),
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
    )
        .prop_map(
            |(segments, buffers, recovery, timers, (ecn, ecn_fallback))| {
                let (mss, ack_every, delayed_ack, quick_acks, initial_window) = segments;
                let least = 2 * u64::from(mss);
                TcpConfig {
                    mss,
                    ack_every,
                    delayed_ack,
                    quick_acks,
                    initial_window,
                    // From the smallest that is accepted, with odd bytes.
                    send_buffer: Bytes(least + buffers.0),
                    receive_buffer: Bytes(least + buffers.1),
                    receive_window: buffers.2,
                    ecn,
                    ecn_fallback,
                    timeout: timers.2,
                    min_rto: Duration(timers.0 * MILLISECOND),
                    initial_rto: Duration(timers.1 * MILLISECOND),
                    loss_detection: recovery.0,
                    tail_loss_probe: recovery.1.0,
                    frto: recovery.1.1,
                    undo: recovery.1.2,
                    byte_counting: recovery.1.3,
                    recovery: recovery.2,
                    pacing: recovery.3,
                    gso_max_segs: recovery.4.0,
                    receive_offload: recovery.4.1,
                    segmentation_offload: recovery.4.2,
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
        4 => Just(Traffic::Greedy),
        2 => (1_u64..400_000).prop_map(|bytes| Traffic::Finite { bytes: Bytes(bytes) }),
        1 => source().prop_map(|(rate, packet, transport)| Traffic::Cbr { rate, packet, transport }),
        1 => source().prop_map(|(rate, packet, transport)| Traffic::Poisson { rate, packet, transport }),
        1 => (source(), millis(1, 300), millis(0, 300), any::<bool>()).prop_map(
            |((rate, packet, transport), on, off, constant)| Traffic::OnOff {
                rate,
                on,
                off,
                distribution: if constant { Distribution::Constant } else { Distribution::Exponential },
                packet,
                transport,
            }
        ),
        2 => (fetch, any::<bool>()).prop_map(|((request, response, interval), persistent)| Traffic::Fetch {
            request: Bytes(request),
            response: Bytes(response),
            interval: Duration(interval * MILLISECOND),
            connection: if persistent { Connection::Persistent } else { Connection::New },
        }),
        1 => (1_u64..200, 28_u64..1500).prop_map(|(interval, size)| Traffic::Ping {
            interval: Duration(interval * MILLISECOND),
            size: Bytes(size),
        }),
    ]
}

/// A flow before it has a place in a network: its times are parts of the run.
#[derive(Clone, Debug)]
struct Draft {
    flow: Flow,
    start: f64,
    stop: Option<f64>,
    jitter: Duration,
    rtt: Option<Duration>,
    places: [Index; 2],
    route: Vec<Index>,
    back: Vec<Index>,
}

fn draft() -> impl Strategy<Value = Draft> {
    let what = (traffic(), law(), tcp(), 1_u32..=2, any::<bool>());
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
fn timed(draft: &Draft, duration: Duration) -> Flow {
    let part = |x: f64| Duration((duration.0 as f64 * x) as u64);
    let mut flow = draft.flow.clone();
    flow.start = part(draft.start);
    // After the start of the last of its copies at the latest it may be put off to.
    let last = flow.start.0 + 2 * MILLISECOND + draft.jitter.0;
    flow.start_jitter = draft.jitter;
    flow.stop = draft.stop.map(|x| Duration(last + 1 + part(x).0));
    flow
}

fn finish(
    mut scenario: Scenario,
    drafts: &[Draft],
    place: impl Fn(&Draft, &mut Flow),
    warmup: Option<f64>,
) -> Scenario {
    for draft in drafts {
        let mut flow = timed(draft, scenario.duration);
        place(draft, &mut flow);
        scenario.flows.push(flow);
    }
    let warmup = warmup.map_or(0.0, |x| x * scenario.duration.0 as f64);
    scenario.warmup = Duration(warmup as u64);
    scenario
}

fn empty(duration: Duration, interval: Duration) -> Scenario {
    let mut scenario = Scenario::on_dumbbell(
        Dumbbell::new(Rate(1_000_000), Duration(0)),
        duration,
        vec![],
    );
    scenario.dumbbell = None;
    scenario.sample_interval = interval;
    scenario
}

fn frame() -> impl Strategy<Value = (Duration, Duration, Option<f64>)> {
    (
        millis(300, 2500),
        millis(3, 150),
        option::weighted(0.3, 0.0..0.9),
    )
}

fn chance() -> impl Strategy<Value = f64> {
    prop_oneof![3 => Just(0.0), 1 => 0.0..0.05, 1 => 0.05..0.5]
}

fn jitter() -> impl Strategy<Value = jitter::Params> {
    use jitter::Distribution::{Normal, Pareto, Paretonormal, Uniform};
    let kinds = select(vec![Uniform, Normal, Pareto, Paretonormal]);
    let size = (1..20 * MILLISECOND).prop_map(Duration);
    (size, kinds, any::<bool>()).prop_map(|(size, distribution, reorder)| jitter::Params {
        size,
        distribution,
        reorder,
    })
}

fn bursts() -> impl Strategy<Value = gilbert_elliott::Params> {
    let steps = (0.001..0.1, option::of(0.05..1.0));
    (steps, 0.0..0.9, 0.95..1.0).prop_map(|((p, r), h, k)| gilbert_elliott::Params { p, r, h, k })
}

fn impairments() -> impl Strategy<Value = Impairments> {
    let all = (
        option::of(bursts()),
        chance(),
        prop_oneof![Just(0.0), 0.0..=1.0],
        option::of(jitter()),
    );
    let all = all.prop_map(
        |(gilbert_elliott, corrupt, duplicate, jitter)| Impairments {
            gilbert_elliott,
            corrupt,
            duplicate,
            jitter,
        },
    );
    prop_oneof![2 => Just(Impairments::default()), 1 => all]
}

fn dumbbell() -> impl Strategy<Value = Scenario> {
    let there = (
        rate(),
        prop_oneof![1 => Just(Duration(0)), 8 => millis(1, 120)],
        queue(),
        chance(),
    );
    let back = (option::of(rate()), queue(), chance());
    let hosts = (option::weighted(0.3, rate()), 0_u32..3, 0_u32..40);
    let ways = (
        prop_oneof![2 => Just(0.5), 1 => 0.0..=1.0],
        impairments(),
        impairments(),
    );
    (frame(), there, back, hosts, ways, vec(draft(), 1..=6)).prop_map(
        |((duration, interval, warmup), there, back, hosts, ways, drafts)| {
            let mut scenario = empty(duration, interval);
            scenario.dumbbell = Some(Dumbbell {
                queue: there.2,
                loss: there.3,
                reverse_rate: back.0,
                reverse_queue: back.1,
                reverse_loss: back.2,
                access_rate: hosts.0,
                device_packets: hosts.1,
                overhead: hosts.2,
                forward_share: ways.0,
                impair: ways.1,
                reverse_impair: ways.2,
                ..Dumbbell::new(there.0, there.1)
            });
            let place = |draft: &Draft, flow: &mut Flow| {
                flow.rtt = draft.rtt;
                if flow.rtt.unwrap_or(there.1).0 == 0 {
                    // Data on a way back without link and delay would never let time pass: refused.
                    flow.direction = Direction::Forward;
                }
            };
            finish(scenario, &drafts, place, warmup)
        },
    )
}

fn parking_lot() -> impl Strategy<Value = Scenario> {
    let lot = (
        2_u32..=4,
        rate(),
        millis(1, 30),
        queue(),
        option::of(rate()),
        0_u32..2,
    );
    (frame(), lot, vec(draft(), 1..=5)).prop_map(|((duration, interval, warmup), lot, drafts)| {
        let (hops, rate, hop_delay, queue, reverse_rate, device_packets) = lot;
        let mut scenario = empty(duration, interval);
        scenario.parking_lot = Some(ParkingLot {
            hops,
            rate,
            hop_delay,
            queue,
            reverse_rate,
            device_packets,
            overhead: 14,
            header: 0,
        });
        let place = |draft: &Draft, flow: &mut Flow| {
            let ends = draft.places.map(|i| i.index(hops as usize) as u32 + 1);
            flow.hops = Some([ends[0].min(ends[1]), ends[0].max(ends[1])]);
        };
        finish(scenario, &drafts, place, warmup)
    })
}

/// Boxes that flows cross in any order, so that data of one flow shares queues with ACKs of another.
pub fn boxes(prefix: &'static str) -> impl Strategy<Value = Scenario> {
    let link = (
        rate(),
        (0..30 * MILLISECOND).prop_map(Duration),
        queue(),
        0_u32..3,
        0_u32..40,
        prop_oneof![Just(0_u32), Just(14)],
    );
    let kinds = prop_oneof![
        4 => link.prop_map(|(rate, delay, queue, device_packets, overhead, header)| BoxSpec::Link {
            name: String::new(), rate, delay, vary: Box::default(), queue, device_packets, overhead, header,
        }),
        1 => (millis(0, 40), option::of(jitter())).prop_map(|(delay, jitter)| BoxSpec::Delay {
            name: String::new(),
            delay,
            vary: None,
            jitter,
        }),
        1 => bursts().prop_map(|bursts| BoxSpec::Loss {
            name: String::new(),
            probability: 0.0,
            spacing: LossSpacing::Random,
            vary: None,
            gilbert_elliott: Some(bursts),
        }),
        1 => chance().prop_map(|probability| BoxSpec::Corrupt { name: String::new(), probability, vary: None }),
        1 => (0.0..=1.0).prop_map(|probability| BoxSpec::Duplicate { name: String::new(), probability, vary: None }),
        1 => (chance(), any::<bool>()).prop_map(|(probability, even)| BoxSpec::Loss {
            name: String::new(),
            probability,
            spacing: if even { LossSpacing::Even } else { LossSpacing::Random },
            vary: None,
            gilbert_elliott: None,
        }),
    ];
    (frame(), rate(), vec(kinds, 1..6), vec(draft(), 1..=5)).prop_map(
        move |((duration, interval, warmup), rate, mut specs, drafts)| {
            // One link at least, and some propagation wherever a flow goes.
            specs.push(BoxSpec::Link {
                name: String::new(),
                rate,
                delay: Duration(100 * MICROSECOND),
                vary: Box::default(),
                queue: QueueConfig::all().remove(0),
                device_packets: 0,
                overhead: 0,
                header: 0,
            });
            for (number, spec) in specs.iter_mut().enumerate() {
                match spec {
                    BoxSpec::Link { name, .. }
                    | BoxSpec::Delay { name, .. }
                    | BoxSpec::Loss { name, .. }
                    | BoxSpec::Corrupt { name, .. }
                    | BoxSpec::Duplicate { name, .. } => {
                        *name = format!("{prefix}box_{number}");
                    }
                }
            }
            let names: Vec<String> = specs.iter().map(|spec| spec.name().to_owned()).collect();
            let path = |route: &[Index], last: bool| {
                let mut chosen: Vec<String> = Vec::new();
                for index in route {
                    let name = index.get(&names).clone();
                    if !chosen.contains(&name) && Some(&name) != names.last() {
                        chosen.push(name);
                    }
                }
                if last {
                    chosen.extend(names.last().cloned());
                }
                chosen
            };
            let mut scenario = empty(duration, interval);
            let place = |draft: &Draft, flow: &mut Flow| {
                // The link that surely is there is on the way there or on the way back.
                let there = draft.places[0].index(2) == 0;
                flow.path = Some(path(&draft.route, there));
                flow.return_path = Some(path(&draft.back, !there));
                if flow.path.as_ref().is_some_and(Vec::is_empty) {
                    flow.path = Some(vec![names[names.len() - 1].clone()]);
                    flow.return_path = Some(vec![names[names.len() - 1].clone()]);
                }
                // Data crosses that link; what answers takes may be nothing.
                flow.direction = if there || flow.return_path == flow.path {
                    Direction::Forward
                } else {
                    Direction::Reverse
                };
            };
            scenario = finish(scenario, &drafts, place, warmup);
            scenario.boxes = specs;
            for (number, flow) in scenario.flows.iter_mut().enumerate() {
                flow.name = Some(format!("{prefix}flow_{number}"));
            }
            scenario
        },
    )
}

/// Any scenario.
pub fn scenario() -> impl Strategy<Value = Scenario> {
    prop_oneof![3 => dumbbell(), 1 => parking_lot(), 2 => boxes("")]
}
