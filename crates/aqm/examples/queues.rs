//! Measures the nanoseconds per packet, in and out, of every queue relative to `fifo`, and prints them as JSON: `cargo run --release --example queues
//! [-- --rounds N] [--kind K] [--flows F]`.
//!
//! All queues run alternately in one process, so that a temporary slowdown of the machine affects all of them, and the difference from `fifo` is
//! taken within a round. Criterion is not used here because it measures one benchmark after the other and has no paired differences.
//!
//! A queue feeds a link that is always busy and whose rate paces the clock. Arrivals refill the queue to a level of two packets per flow, which rises
//! and falls around the targets of the AQMs (5 to 15 ms). The level responds to signals: every drop or mark lowers it, and it recovers slowly. The
//! AQMs therefore signal occasionally, and at most for one packet in a few hundred.

use std::hint::black_box;
use std::time::Instant;

use bloatlab_aqm::{Context, DropReason, Ecn, Packet, Qdisc, QueueConfig, Sink};
use bloatlab_units::{NEVER, Nanos, Rate, SECOND, Streams};
use serde_json::json;

const FLOWS: [u32; 3] = [1, 100, 1000];
const SIZE: u32 = 1500;
const ORDER: usize = 4096;

/// Number of departures in one measurement, small enough that most measurements are undisturbed, and the number before it, which warm up the caches.
const TURN: u32 = 5_000;
const WARM: u32 = 2_000;

/// Capacity of the queues.
const ROOM: &str = "10240p";

/// Period in which the level rises and falls.
const PERIOD: Nanos = 1 << 29;

/// Fraction of the level that a signal removes, and fraction that a departure restores. They balance at one signal per 200 departures.
const CUT: f64 = 1.0 / 32.0;
const RECOVERY: f64 = CUT / 200.0;

/// A packet of one cache line, with the same layout as the simulator's.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Line {
    enqueued_at: Nanos,
    flow: u32,
    size: u16,
    ecn: Ecn,
    header: [u8; 48],
}

const _: () = assert!(size_of::<Line>() == 64);

impl Packet for Line {
    #[inline]
    fn size(&self) -> u32 {
        u32::from(self.size)
    }
    #[inline]
    fn flow(&self) -> u64 {
        u64::from(self.flow)
    }
    #[inline]
    fn ecn(&self) -> Ecn {
        self.ecn
    }
    #[inline]
    fn set_ce(&mut self) {
        self.ecn = Ecn::Ce;
    }
    #[inline]
    fn enqueued_at(&self) -> Nanos {
        self.enqueued_at
    }
    #[inline]
    fn set_enqueued_at(&mut self, now: Nanos) {
        self.enqueued_at = now;
    }
}

#[derive(Default)]
struct Count {
    drops: u64,
    marks: u64,
}

impl Sink<Line> for Count {
    fn dropped(&mut self, _packet: &Line, _reason: DropReason) {
        self.drops += 1;
    }
    fn marked(&mut self, _packet: &Line) {
        self.marks += 1;
    }
}

/// A queue under load.
struct Bench {
    kind: &'static str,
    flows: u32,
    queue: Box<dyn Qdisc<Line>>,
    /// The flows, in the order in which their packets arrive.
    order: Vec<u32>,
    at: usize,
    /// Average queue length in packets if the queue never signals.
    mean: u64,
    /// Fraction of the level that remains after responses.
    allowed: f64,
    signals: u64,
    /// Time that the link needs to send a packet.
    slot: Nanos,
    now: Nanos,
    alarm: Nanos,
    count: Count,
    /// Number of departures so far, and the nanoseconds per departure in each measurement.
    departures: u64,
    turns: Vec<f64>,
}

impl Bench {
    fn new(config: &QueueConfig, flows: u32) -> Option<Self> {
        let mut rng = Streams::new(1).stream("bench");
        let mean = u64::from(2 * flows).max(32);
        let slot = 16_000_000 / mean;
        let rate = Rate(u64::from(SIZE) * 8 * SECOND / slot);
        let order = (0..ORDER)
            .map(|_| rng.below(u64::from(flows)) as u32)
            .collect();
        let queue = config.build(Context::new(rng, SIZE, rate))?;
        let alarm = queue.next_wake().unwrap_or(NEVER);
        Some(Self {
            kind: config.kind(),
            flows,
            queue,
            order,
            at: 0,
            mean,
            allowed: 8.0,
            signals: 0,
            slot,
            now: 0,
            alarm,
            count: Count::default(),
            departures: 0,
            turns: Vec::new(),
        })
    }

    /// Target queue length now: it varies between 1/4 of the mean (4 ms on the link) and 7/4 (28 ms).
    #[inline]
    fn level(&self) -> u64 {
        let phase = self.now % PERIOD;
        let rise = phase.min(PERIOD - phase);
        let most = self.mean / 4 + 3 * self.mean * rise / PERIOD;
        most.min(self.allowed as u64)
    }

    /// The senders respond to the signals since their last response.
    #[inline]
    fn respond(&mut self) {
        let signals = self.count.drops + self.count.marks;
        if signals > self.signals {
            self.allowed *= 1.0 - CUT;
            self.signals = signals;
        }
        // At least one packet, because a queue that is never empty keeps its state, and not much more than the maximum level.
        self.allowed = (self.allowed * (1.0 + RECOVERY)).clamp(1.0, 2.0 * self.mean as f64);
    }

    fn arrive(&mut self) {
        self.at = (self.at + 1) % ORDER;
        let flow = self.order[self.at];
        let packet = Line {
            enqueued_at: 0,
            flow,
            size: SIZE as u16,
            ecn: [Ecn::NotEct, Ecn::NotEct, Ecn::Ect0, Ecn::Ect1][flow as usize % 4],
            header: [flow as u8; 48],
        };
        self.queue.enqueue(self.now, packet, &mut self.count);
    }

    fn wake_until(&mut self, until: Nanos) {
        while self.alarm <= until {
            let at = std::mem::replace(&mut self.alarm, NEVER);
            self.queue.wake(at);
            self.alarm = self.queue.next_wake().unwrap_or(NEVER);
        }
    }

    /// Performs this many departures while arrivals maintain the level. Because a queue may refuse arrivals, it is offered at most two packets per
    /// departure.
    fn run(&mut self, departures: u32) {
        for _ in 0..departures {
            self.respond();
            let level = self.level();
            for _ in 0..2 {
                if self.queue.packets() < level {
                    self.arrive();
                }
            }
            let packet = loop {
                if let Some(packet) = self.queue.dequeue(self.now, &mut self.count) {
                    break packet;
                }
                if self.queue.packets() == 0 {
                    // A policer refused the arrivals: time must pass.
                    self.now += self.slot;
                    self.arrive();
                } else {
                    // The queue holds its packets back.
                    self.alarm = self.alarm.min(self.queue.next_wake().unwrap_or(NEVER));
                    self.now = self.now.max(self.alarm);
                    self.wake_until(self.now);
                }
            };
            black_box(&packet);
            self.now += self.slot;
            self.wake_until(self.now);
        }
        self.departures += u64::from(departures);
    }

    fn turn(&mut self) {
        self.run(WARM);
        let began = Instant::now();
        self.run(TURN);
        self.turns
            .push(began.elapsed().as_nanos() as f64 / f64::from(TURN));
    }
}

/// The kind's defaults, but with capacity for the level, and for the flows if their number is limited. A policer lets almost all packets pass.
fn roomy(config: &QueueConfig) -> QueueConfig {
    let fifo = json!({ "kind": "fifo", "limit": ROOM });
    let mut roomy = match config.kind() {
        "sfq" => json!({ "limit": ROOM, "flows": 1024 }),
        "policer" => json!({ "rate": "10Tbit/s", "queue": fifo }),
        "htb" | "priority" => json!({ "queue": fifo }),
        "cake" | "infinite" => json!({}),
        _ => json!({ "limit": ROOM }),
    };
    roomy["kind"] = json!(config.kind());
    serde_json::from_value(roomy).expect("every kind but these has a limit")
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn option(name: &str) -> Option<String> {
    let mut arguments = std::env::args().skip_while(|argument| argument != name);
    arguments.nth(1)
}

fn main() {
    let rounds: u32 = option("--rounds")
        .and_then(|text| text.parse().ok())
        .unwrap_or(201);
    let (kind, flows) = (option("--kind"), option("--flows"));
    let chosen = |bench: &Bench| {
        kind.as_deref()
            .is_none_or(|kind| bench.kind == kind || bench.kind == "fifo")
            && flows
                .as_deref()
                .is_none_or(|flows| bench.flows.to_string() == flows)
    };
    let all: Vec<QueueConfig> = QueueConfig::all().iter().map(roomy).collect();
    let pairs = FLOWS
        .iter()
        .flat_map(|flows| all.iter().map(move |config| (config, *flows)));
    let mut benches: Vec<Bench> = pairs
        .filter_map(|(config, flows)| Bench::new(config, flows))
        .filter(chosen)
        .collect();
    // Warm-up, in which rings grow, and AQMs and responses settle. The level starts at a few packets and grows by 1/6400 per departure, so it takes
    // 35,000 departures to reach 2,000.
    benches
        .iter_mut()
        .for_each(|bench| bench.run(50_000 + (2 * PERIOD / bench.slot) as u32));
    for bench in &mut benches {
        (bench.count, bench.departures, bench.signals) = (Count::default(), 0, 0);
    }
    for _ in 0..rounds {
        benches.iter_mut().for_each(Bench::turn);
    }
    let results: Vec<_> = benches
        .iter()
        .filter_map(|bench| {
            let plain = benches
                .iter()
                .find(|other| other.kind == "fifo" && other.flows == bench.flows)?;
            let pairs = bench.turns.iter().zip(&plain.turns);
            Some(json!({
                "kind": bench.kind,
                "flows": bench.flows,
                "ns": median(bench.turns.clone()),
                "ns_best": bench.turns.iter().copied().fold(f64::INFINITY, f64::min),
                "over_fifo": median(pairs.map(|(own, fifo)| own - fifo).collect()),
                "dropped": bench.count.drops as f64 / bench.departures as f64,
                "marked": bench.count.marks as f64 / bench.departures as f64,
            }))
        })
        .collect();
    println!(
        "{}",
        json!({ "rounds": rounds, "departures": TURN, "results": results })
    );
}
