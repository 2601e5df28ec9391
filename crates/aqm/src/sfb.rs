//! Stochastic Fair BLUE (Feng, Kandlur, Saha, Shin 2001), as in Linux: BLUE's probability in bins that flows share.

use std::collections::VecDeque;

use bloatlab_units::{Duration, Limit, NEVER, Nanos, Rng, SECOND};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ring::{Capacity, Ring};
use crate::slab::FlowHash;
use crate::tc::{Form, Tc, Word};
use crate::{Context, DropReason, Factory, Packet, Qdisc, Sink, Slot, mark};

/// Stochastic Fair BLUE: signals to flows that fill all of their eight bins, and limits the rate of those that do not respond.
///
/// Every flow belongs to one bin in each of eight arrays, and each bin has a BLUE probability. The smallest of its eight probabilities applies to a
/// flow. A flow whose bins all reach 1 is unresponsive and is limited to `penalty_rate`. Two sets of bins with different hashes alternate every
/// `rehash`, so that no flow shares bins with an unresponsive flow for long. Use it against unresponsive floods among very many flows, where one
/// queue per flow is too expensive. It limits all unresponsive flows together, and calls may be among them.
///
/// ECN-capable packets are marked. The more the probability exceeds one half, the more of them are dropped instead.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Capacity of the queue, in packets or bytes. Packets beyond it are dropped on arrival.
    #[schemars(extend("x-minimum" = "1p"))]
    pub limit: Limit,
    /// Largest number of packets in the emptiest of a flow's bins. If absent, five quarters of `target`, or 25.
    #[schemars(range(min = 1, max = 65_535))]
    pub max: Option<u32>,
    /// Number of packets in a bin from which its probability rises. If absent, four fifths of `max`.
    #[schemars(range(min = 1, max = 65_535))]
    pub target: Option<u32>,
    /// Increase of a bin's probability per arrival while it holds `target` packets or more. As in Linux, rounded to a multiple of 1/65535.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub increment: f64,
    /// Decrease of a bin's probability per arrival while it is empty. As in Linux, rounded to a multiple of 1/65535.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub decrement: f64,
    /// How often the hash changes, so that no flow suffers for long from the bins it shares; 0: never.
    #[schemars(extend("x-minimum" = "0s", "x-maximum" = "24h"))]
    pub rehash: Duration,
    /// How long before a change of the hash the second set of bins starts to learn unresponsive flows; 0: never.
    #[schemars(extend("x-minimum" = "0s", "x-maximum" = "24h"))]
    pub db: Duration,
    /// Packets per second that all flows with probability 1 may send together. As in Linux, those that send faster get nothing after their burst.
    #[schemars(range(max = 1_000_000_000))]
    pub penalty_rate: u32,
    /// Packets by which those flows may exceed that rate in a burst.
    #[schemars(range(max = 1_000_000_000))]
    pub penalty_burst: u32,
}

impl Default for Params {
    fn default() -> Self {
        // tc-sfb(8); the limit is Linux's txqueuelen.
        Self {
            limit: Limit::Packets(1000),
            max: None,
            target: None,
            increment: 0.0005,
            decrement: 0.00005,
            rehash: Duration(600 * SECOND),
            db: Duration(60 * SECOND),
            penalty_rate: 10,
            penalty_burst: 20,
        }
    }
}

impl Factory for Params {
    const SOURCE: &'static str = "Feng, Kandlur, Saha, Shin, INFOCOM 2001; tc-sfb(8)";
    const TC: &'static [Tc] = &[Tc {
        name: "sfb",
        words: &[
            Word::same("rehash", Form::Milliseconds),
            Word::same("db", Form::Milliseconds),
            Word::same("limit", Form::Packets),
            Word::same("max", Form::Integer),
            Word::same("target", Form::Integer),
            Word::same("increment", Form::Number(1.0)),
            Word::same("decrement", Form::Number(1.0)),
            Word::same("penalty_rate", Form::Integer),
            Word::same("penalty_burst", Form::Integer),
        ],
        required: &[],
        presets: &[],
    }];

    fn check(&self) -> Result<(), String> {
        for (name, step) in [("increment", self.increment), ("decrement", self.decrement)] {
            if step > 0.0 && step < LEAST_STEP {
                return Err(format!(
                    "{name}: {step} would be rounded to 0 (allowed: 0, or at least {LEAST_STEP})"
                ));
            }
        }
        Capacity::not_in_buffers(self.limit)
    }

    fn build<P: Packet>(&self, mut context: Context) -> Box<dyn Qdisc<P>> {
        let controller = SfbController::new(self);
        let sets = [(); 2].map(|()| Bins::new(FlowHash::new(&mut context.rng, u32::MAX)));
        Box::new(Sfb {
            ring: Ring::default(),
            places: VecDeque::new(),
            capacity: Capacity::new(self.limit, 1),
            sets,
            active: 0,
            swap_at: if controller.rehash == 0 {
                NEVER
            } else {
                controller.rehash
            },
            tokens: u64::from(controller.penalty_burst),
            tokens_at: 0,
            controller,
            stats: Stats::default(),
            rng: context.rng,
        })
    }
}

/// The probability 1. Linux stores probabilities in 16 bits, so a decrement of 0.00005 is 3 of these parts, a twelfth less.
const WHOLE: i32 = 0xFFFF;

/// The smallest step that is not rounded to 0, half a part, with one digit.
const LEAST_STEP: f64 = 0.000008;

/// A probability in whole parts.
fn parts(probability: f64) -> i32 {
    (probability * f64::from(WHOLE)).round() as i32
}

/// SFB's parameters.
#[derive(Clone, Copy, Debug)]
struct SfbController {
    max: u32,
    target: u32,
    /// Change of a bin's probability per arrival, in parts of `WHOLE`, for a bin between empty and target, an empty bin, a bin at or above the
    /// target, and (impossible) both.
    steps: [i32; 4],
    rehash: Nanos,
    db: Nanos,
    penalty_rate: u32,
    penalty_burst: u32,
}

impl SfbController {
    fn new(params: &Params) -> Self {
        // Rounded as in tc.
        let max = match (params.max, params.target) {
            (Some(max), _) => max,
            (None, Some(target)) => (target * 5 + 1) / 4,
            (None, None) => 25,
        };
        Self {
            max,
            target: params.target.unwrap_or((max * 4 + 3) / 5),
            steps: [0, -parts(params.decrement), parts(params.increment), 0],
            rehash: params.rehash.0,
            db: params.db.0,
            penalty_rate: params.penalty_rate,
            penalty_burst: params.penalty_burst,
        }
    }
}

/// tc-sfb(8): 8 levels of 16 bins.
const LEVELS: usize = 8;
const WIDTH: usize = 16;

/// A set of bins, by level, and the hash that finds the bins of a flow: four bits per level.
///
/// Probabilities and lengths are stored separately, because a departure changes only the lengths, which are small.
#[derive(Debug)]
struct Bins {
    hash: FlowHash,
    /// In parts of `WHOLE`.
    probs: [[i32; WIDTH]; LEVELS],
    qlens: [[u32; WIDTH]; LEVELS],
}

impl Bins {
    fn new(hash: FlowHash) -> Self {
        Self {
            hash,
            probs: [[0; WIDTH]; LEVELS],
            qlens: [[0; WIDTH]; LEVELS],
        }
    }

    /// The bins of a flow, four bits per level. Never 0, because 0 means none.
    #[inline]
    fn places(&self, flow: u64) -> u32 {
        (self.hash.queue(flow) as u32).max(1)
    }

    /// Changes the number of packets in these bins by 1 or -1.
    #[inline]
    fn count(&mut self, places: u32, change: i32) {
        for (level, qlens) in self.qlens.iter_mut().enumerate() {
            let qlen = &mut qlens[(places >> (4 * level)) as usize % WIDTH];
            *qlen = qlen.wrapping_add_signed(change);
        }
    }

    /// Feng et al. 2001, figure 2: full bins raise their probability and empty bins lower it. Returns the smallest probability and length.
    #[inline]
    fn learn(&mut self, places: u32, controller: &SfbController) -> (i32, u32) {
        let (mut least_prob, mut least_qlen) = (WHOLE, u32::MAX);
        let levels = self.probs.iter_mut().zip(&self.qlens);
        for (level, (probs, qlens)) in levels.enumerate() {
            let place = (places >> (4 * level)) as usize % WIDTH;
            let (prob, qlen) = (&mut probs[place], qlens[place]);
            // Without a branch, which would often be mispredicted, because bins are often near their target.
            let step = controller.steps
                [usize::from(qlen == 0) + 2 * usize::from(qlen >= controller.target)];
            *prob = (*prob + step).clamp(0, WHOLE);
            least_prob = least_prob.min(*prob);
            least_qlen = least_qlen.min(qlen);
        }
        (least_prob, least_qlen)
    }

    /// Resets the probabilities and changes the hash. Packets that are counted here still leave the bins that they entered.
    fn retire(&mut self, hash: FlowHash) {
        self.hash = hash;
        self.probs = [[0; WIDTH]; LEVELS];
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Stats {
    earlydrop: u64,
    penaltydrop: u64,
    bucketdrop: u64,
    queuedrop: u64,
    marked: u64,
}

struct Sfb<P> {
    ring: Ring<P>,
    /// The bins in which each packet of the ring is counted, in both sets; 0: not counted in this set.
    places: VecDeque<[u32; 2]>,
    capacity: Capacity,
    sets: [Bins; 2],
    active: usize,
    /// When the two sets change roles.
    swap_at: Nanos,
    /// Packets that unresponsive flows may still send.
    tokens: u64,
    /// When a packet last found no token.
    tokens_at: Nanos,
    controller: SfbController,
    stats: Stats,
    rng: Rng,
}

impl<P: Packet> Sfb<P> {
    /// Feng et al. 2001, section IV-D: makes the second set, which has learned already, the active one.
    #[cold]
    fn swap(&mut self, now: Nanos) {
        let hash = FlowHash::new(&mut self.rng, u32::MAX);
        self.sets[self.active].retire(hash);
        self.active ^= 1;
        self.swap_at = now + self.controller.rehash;
    }

    /// Whether a packet of an unresponsive flow exceeds the penalty rate.
    ///
    /// As in Linux, a packet that finds no token adds the whole tokens of the time since the last such packet. So a flow that sends faster than the
    /// penalty rate gets none after its burst.
    fn over_penalty_rate(&mut self, now: Nanos) -> bool {
        if self.tokens == 0 {
            let age = (now - self.tokens_at).min(10 * SECOND);
            let gained = age.saturating_mul(u64::from(self.controller.penalty_rate)) / SECOND;
            self.tokens = gained.min(u64::from(self.controller.penalty_burst));
            self.tokens_at = now;
        }
        match self.tokens.checked_sub(1) {
            Some(left) => {
                self.tokens = left;
                false
            }
            None => true,
        }
    }

    /// Changes the number of packets by 1 or -1 in the bins of both sets.
    #[inline]
    fn count(&mut self, places: [u32; 2], change: i32) {
        for (set, places) in self.sets.iter_mut().zip(places) {
            if places != 0 {
                set.count(places, change);
            }
        }
    }

    /// Returns the bins in which a packet is counted, or `None` if it may not enter.
    #[inline]
    fn admit(&mut self, now: Nanos, packet: &mut P, sink: &mut dyn Sink<P>) -> Option<[u32; 2]> {
        let flow = packet.flow();
        let mut places = [0; 2];
        places[self.active] = self.sets[self.active].places(flow);
        let (prob, qlen) = self.sets[self.active].learn(places[self.active], &self.controller);
        if qlen >= self.controller.max {
            self.stats.bucketdrop += 1;
            return None;
        }
        if prob == WHOLE {
            let spare = self.active ^ 1;
            if self.controller.db > 0 && now >= self.swap_at.saturating_sub(self.controller.db) {
                places[spare] = self.sets[spare].places(flow);
                self.sets[spare].learn(places[spare], &self.controller);
            }
            if self.over_penalty_rate(now) {
                self.stats.penaltydrop += 1;
                return None;
            }
            return Some(places);
        }
        let draw = self.rng.below(WHOLE as u64 + 1) as i32;
        if draw < prob {
            // As in Linux: the more a probability exceeds one half, the less often a mark takes the place of a drop.
            if draw < 2 * (prob - WHOLE / 2) || !mark(packet) {
                self.stats.earlydrop += 1;
                return None;
            }
            self.stats.marked += 1;
            sink.marked(packet);
        }
        Some(places)
    }
}

impl<P: Packet> Qdisc<P> for Sfb<P> {
    #[inline]
    fn enqueue(&mut self, now: Nanos, mut packet: P, sink: &mut dyn Sink<P>) {
        packet.set_enqueued_at(now);
        if now >= self.swap_at {
            self.swap(now);
        }
        let (packets, bytes, size) = (self.ring.packets(), self.ring.bytes(), packet.size());
        if !self.capacity.fits(packets, bytes, size) {
            self.stats.queuedrop += 1;
            sink.dropped(&packet, DropReason::Overflow);
            return;
        }
        let Some(places) = self.admit(now, &mut packet, sink) else {
            sink.dropped(&packet, DropReason::Aqm);
            return;
        };
        self.count(places, 1);
        self.places.push_back(places);
        self.ring.push(packet);
    }

    #[inline]
    fn dequeue(&mut self, _now: Nanos, _sink: &mut dyn Sink<P>) -> Option<P> {
        let places = self.places.pop_front()?;
        self.count(places, -1);
        self.ring.pop()
    }

    fn packets(&self) -> u64 {
        self.ring.packets()
    }

    fn bytes(&self) -> u64 {
        self.ring.bytes()
    }

    fn contents(&self, visit: &mut dyn FnMut(Slot, &P)) {
        self.ring.contents(Slot::default(), visit);
    }

    /// `maxqlen`, `maxprob` and `avgprob` are computed over the active set of bins.
    fn stats(&self) -> Vec<(&'static str, f64)> {
        let bins = &self.sets[self.active];
        let (probs, qlens) = (bins.probs.as_flattened(), bins.qlens.as_flattened());
        let most = qlens.iter().copied().max().unwrap_or(0);
        let sum: i32 = probs.iter().sum();
        let probability = |parts: i32| f64::from(parts) / f64::from(WHOLE);
        vec![
            ("earlydrop", self.stats.earlydrop as f64),
            ("penaltydrop", self.stats.penaltydrop as f64),
            ("bucketdrop", self.stats.bucketdrop as f64),
            ("queuedrop", self.stats.queuedrop as f64),
            // As in Linux: all drops except the early ones.
            (
                "overlimits",
                (self.stats.penaltydrop + self.stats.bucketdrop + self.stats.queuedrop) as f64,
            ),
            ("marked", self.stats.marked as f64),
            ("maxqlen", f64::from(most)),
            (
                "maxprob",
                probability(probs.iter().copied().max().unwrap_or(0)),
            ),
            ("avgprob", probability(sum) / probs.len() as f64),
        ]
    }
}
