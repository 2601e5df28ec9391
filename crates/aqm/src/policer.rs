//! The policer: drops or marks packets above a rate, instead of delaying them.

use bloatlab_units::{Bytes, Nanos, Rate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::token_bucket::TokenBucket;
use crate::{
    Band, Context, DropReason, Factory, Packet, Qdisc, QueueConfig, Sink, Slot, inner, mark,
};

/// Token bucket policer in front of another queue: arrivals without enough tokens are dropped or marked, never delayed.
///
/// Tokens accumulate at `rate` up to `burst`. A packet that finds too few tokens does not conform. Providers enforce tariffs this way. It adds no
/// delay, but TCP sees bursts of losses and often gets much less than `rate`. Use it to study that harm, compared with a shaper of the same rate
/// (`tbf`). `burst` should be about the bytes of one RTT at `rate`; otherwise a loss-based sender never reaches `rate`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Rate at which tokens accumulate (tc requires it).
    #[schemars(extend("x-minimum" = "1kbit/s", "x-maximum" = "10Tbit/s"))]
    pub rate: Rate,
    /// Largest number of tokens, which is also the initial number (tc requires it). A larger packet never conforms.
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "1GB"))]
    pub burst: Bytes,
    /// A second, higher rate to which arrivals must conform. If absent, there is none.
    #[schemars(extend("x-minimum" = "1kbit/s", "x-maximum" = "10Tbit/s"))]
    pub peakrate: Option<Rate>,
    /// Largest packet that conforms, and the largest number of tokens at `peakrate`. If absent, any size.
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "1GB"))]
    pub mtu: Option<Bytes>,
    /// What happens to a packet that does not conform.
    pub exceed: Exceed,
    /// The queue behind the policer.
    pub queue: Box<QueueConfig>,
}

/// What happens to a packet that does not conform.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Exceed {
    /// It is dropped.
    Drop,
    /// An ECN-capable packet is marked and passes. Other packets are dropped.
    Mark,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            // Linux has no defaults; these are tbf's.
            rate: Rate(10_000_000),
            burst: Bytes(15_000),
            peakrate: None,
            mtu: None,
            exceed: Exceed::Drop,
            queue: Box::new(inner::default()),
        }
    }
}

impl Factory for Params {
    const ALIASES: &'static [&'static str] = &["police"];
    const SOURCE: &'static str = "tc-police(8)";
    // In Linux it is not a qdisc but an action of a filter.
    const NEAREST_IN_LINUX: Option<&'static str> = Some("tc filter ... action police");

    fn check(&self) -> Result<(), String> {
        if let Some(peak) = self.peakrate {
            if peak <= self.rate {
                return Err(format!(
                    "peakrate: {peak} must be above the rate, which is {}",
                    self.rate
                ));
            }
            // tc-police(8): the depth of the peak rate's bucket is the mtu.
            if self.mtu.is_none() {
                return Err("mtu: is missing: `peakrate` needs it".to_owned());
            }
        }
        inner::check("queue", &self.queue)
    }

    fn delay(&self) -> Nanos {
        self.queue.delay()
    }

    fn build<P: Packet>(&self, context: Context) -> Box<dyn Qdisc<P>> {
        let mtu = self.mtu.unwrap_or(Bytes(u64::MAX));
        Box::new(Policer {
            inner: inner::build(&self.queue, context),
            conformance: Conformance {
                tokens: TokenBucket::new(self.rate, self.burst.0),
                peak: self.peakrate.map(|rate| TokenBucket::new(rate, mtu.0)),
                mtu: mtu.0,
            },
            exceed: self.exceed,
            overlimits: 0,
            drops: 0,
            ecn_mark: 0,
        })
    }
}

/// Decides which packets conform.
struct Conformance {
    tokens: TokenBucket,
    peak: Option<TokenBucket>,
    mtu: u64,
}

impl Conformance {
    /// Whether a packet of this size conforms. Only then it takes its tokens.
    #[inline]
    fn conforms(&mut self, now: Nanos, size: u64) -> bool {
        if size > self.mtu {
            return false;
        }
        let cost = TokenBucket::cost(size);
        self.tokens.advance(now);
        let mut conforms = self.tokens.holds(cost);
        if let Some(peak) = &mut self.peak {
            peak.advance(now);
            conforms &= peak.holds(cost);
        }
        if conforms {
            self.tokens.take(cost);
            if let Some(peak) = &mut self.peak {
                peak.take(cost);
            }
        }
        conforms
    }
}

struct Policer<P> {
    inner: Box<dyn Qdisc<P>>,
    conformance: Conformance,
    exceed: Exceed,
    overlimits: u64,
    drops: u64,
    ecn_mark: u64,
}

impl<P: Packet> Qdisc<P> for Policer<P> {
    fn enqueue(&mut self, now: Nanos, mut packet: P, sink: &mut dyn Sink<P>) {
        if !self.conformance.conforms(now, u64::from(packet.size())) {
            self.overlimits += 1;
            packet.set_enqueued_at(now);
            if self.exceed == Exceed::Drop || !mark(&mut packet) {
                self.drops += 1;
                sink.dropped(&packet, DropReason::Aqm);
                return;
            }
            self.ecn_mark += 1;
            sink.marked(&packet);
        }
        self.inner.enqueue(now, packet, sink);
    }

    #[inline]
    fn dequeue(&mut self, now: Nanos, sink: &mut dyn Sink<P>) -> Option<P> {
        self.inner.dequeue(now, sink)
    }

    fn is_work_conserving(&self) -> bool {
        self.inner.is_work_conserving()
    }

    fn packets(&self) -> u64 {
        self.inner.packets()
    }

    fn bytes(&self) -> u64 {
        self.inner.bytes()
    }

    fn contents(&self, visit: &mut dyn FnMut(Slot, &P)) {
        self.inner.contents(visit);
    }

    fn bands(&self) -> Vec<Band> {
        self.inner.bands()
    }

    fn next_wake(&self) -> Option<Nanos> {
        self.inner.next_wake()
    }

    fn wake(&mut self, now: Nanos) {
        self.inner.wake(now);
    }

    fn stats(&self) -> Vec<(&'static str, f64)> {
        let mut stats = vec![
            ("overlimits", self.overlimits as f64),
            ("drops", self.drops as f64),
            ("ecn_mark", self.ecn_mark as f64),
        ];
        inner::add_stats(&mut stats, self.inner.stats());
        stats
    }
}
