//! The policer: drops or marks what is above a rate, instead of holding it back.

use bloatlab_units::{Bytes, Nanos, Rate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::token_bucket::TokenBucket;
use crate::{Algorithm, Context, DropReason, Packet, Qdisc, QueueConfig, Sink, inner, mark};

/// Token bucket policer in front of another queue: arrivals for which there are no tokens are dropped or marked, never delayed.
///
/// Tokens gather at `rate` up to `burst`; a packet that finds too few of them does not conform. Providers enforce tariffs so, and it adds
/// no delay, but TCP sees bursts of losses and often gets well below `rate`. Use it to study that harm beside a shaper of the same rate
/// (`tbf`). `burst` should be about a round trip's worth at `rate`, or a loss-based sender never reaches it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// How fast tokens gather (tc asks for it).
    #[schemars(extend("x-minimum" = "1kbit/s", "x-maximum" = "10Tbit/s"))]
    pub rate: Rate,
    /// How many tokens gather at most, and are there at the start (tc asks for it); a larger packet never conforms.
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "1GB"))]
    pub burst: Bytes,
    /// A second, higher rate that arrivals must conform to; absent: none.
    #[schemars(extend("x-minimum" = "1kbit/s", "x-maximum" = "10Tbit/s"))]
    pub peakrate: Option<Rate>,
    /// Largest packet that conforms, and how many tokens gather at `peakrate`; absent: any size.
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
    /// It is marked and passes if it is ECN-capable, and is dropped otherwise.
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

impl Algorithm for Params {
    const ALIASES: &'static [&'static str] = &["police"];
    const SOURCE: &'static str = "tc-police(8)";
    // No qdisc, but an action that a filter takes.
    const NEAREST_IN_LINUX: Option<&'static str> = Some("tc filter ... action police");

    fn check(&self) -> Result<(), String> {
        if let Some(peak) = self.peakrate {
            if peak <= self.rate {
                return Err(format!(
                    "peakrate: {peak} is not above the rate {}",
                    self.rate
                ));
            }
            // tc-police(8): the peak rate's bucket is as deep as the mtu.
            if self.mtu.is_none() {
                return Err("mtu: is needed with `peakrate`".to_owned());
            }
        }
        inner::check("queue", &self.queue)
    }

    fn build<P: Packet>(&self, context: Context) -> Box<dyn Qdisc<P>> {
        let mtu = self.mtu.unwrap_or(Bytes(u64::MAX));
        Box::new(Policer {
            inner: inner::build(&self.queue, context),
            law: Law {
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

/// Which packets conform.
struct Law {
    tokens: TokenBucket,
    peak: Option<TokenBucket>,
    mtu: u64,
}

impl Law {
    /// Whether a packet of this size conforms; it takes its tokens only if it does.
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
    law: Law,
    exceed: Exceed,
    overlimits: u64,
    drops: u64,
    ecn_mark: u64,
}

impl<P: Packet> Qdisc<P> for Policer<P> {
    fn enqueue(&mut self, now: Nanos, mut packet: P, sink: &mut dyn Sink<P>) {
        if !self.law.conforms(now, u64::from(packet.size())) {
            self.overlimits += 1;
            packet.set_enqueued_at(now);
            if self.exceed == Exceed::Drop || !mark(&mut packet) {
                self.drops += 1;
                sink.dropped(&packet, DropReason::Law);
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
