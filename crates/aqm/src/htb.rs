//! One class of the hierarchical token bucket: a shaper whose rate may change during the run.

use bloatlab_units::{Bytes, Duration, NEVER, Nanos, Rate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::tc::{Form, Word};
use crate::token_bucket::TokenBucket;
use crate::{Band, Context, Factory, Packet, Qdisc, QueueConfig, Sink, Slot, Tc, inner};

/// One leaf class of Linux's hierarchical token bucket: a shaper in front of another queue, whose rate may change in steps.
///
/// Tokens accumulate at `rate` up to `burst`, and at `ceil` up to `cburst`. The inner queue is served while neither bucket is in debt. `rate_steps`
/// change the rate during a run, as with a link of changing capacity. Use it to limit traffic slightly below the rate of a link that cannot be
/// changed, so that packets queue where a good AQM algorithm controls them. On real systems, a `burst` below the bytes of a few milliseconds costs
/// throughput; here it only makes the spacing finer.
///
/// A packet may leave whenever neither bucket is in debt; its tokens are taken afterwards. An offload buffer leaves whole.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Rate of the class (tc requires it).
    #[schemars(extend("x-minimum" = "1kbit/s", "x-maximum" = "10Tbit/s"))]
    pub rate: Rate,
    /// Rate up to which it may borrow. If absent, always the rate. A single class has no other class to borrow from.
    #[schemars(extend("x-minimum" = "1kbit/s", "x-maximum" = "10Tbit/s"))]
    pub ceil: Option<Rate>,
    /// Bytes that may leave at once after idle time. If absent, computed as in tc: 1600 B plus 1 B per 8 Gbit/s.
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "1GB"))]
    pub burst: Option<Bytes>,
    /// Bytes that may leave at once after idle time, for `ceil`.
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "1GB"))]
    pub cburst: Option<Bytes>,
    /// Changes of the rate, in order of time: a list of `{at = "10s", rate = "5Mbit/s"}`.
    pub rate_steps: Vec<RateStep>,
    /// The inner queue, in which packets wait.
    pub queue: Box<QueueConfig>,
}

/// A change of the rate.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RateStep {
    /// Time of the change, from the start of the run.
    pub at: Duration,
    /// The new rate.
    pub rate: Rate,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            // Linux has no default.
            rate: Rate(10_000_000),
            ceil: None,
            burst: None,
            cburst: None,
            rate_steps: Vec::new(),
            queue: Box::new(inner::default()),
        }
    }
}

impl Params {
    /// The same class with both bursts given. tc computes an absent one from the resolution of the kernel's clock, which differs between kernels.
    pub fn with_bursts(&self) -> Self {
        let or_default = |rate, burst: Option<Bytes>| burst.or(Some(Bytes(default_burst(rate))));
        Self {
            burst: or_default(self.rate, self.burst),
            cburst: or_default(self.ceil.unwrap_or(self.rate), self.cburst),
            ..self.clone()
        }
    }
}

impl Factory for Params {
    const SOURCE: &'static str = "tc-htb(8); M. Devera, HTB user guide, 2002";
    const TC: &'static [Tc] = &[Tc {
        name: "htb",
        words: &[
            Word::new("default", "", Form::ClassNumber),
            Word::same("rate", Form::Rate).of_class().once(),
            Word::same("ceil", Form::Rate).of_class().once(),
            Word::same("burst", Form::Size).of_class(),
            Word::new("buffer", "burst", Form::Size).of_class(),
            Word::new("maxburst", "burst", Form::Size).of_class(),
            Word::same("cburst", Form::Size).of_class(),
            Word::new("cbuffer", "cburst", Form::Size).of_class(),
            Word::new("cmaxburst", "cburst", Form::Size).of_class(),
            Word::new("1", "queue", Form::Leaf),
        ],
        required: &["rate"],
        presets: &[],
    }];

    fn check(&self) -> Result<(), String> {
        let ceil = self.ceil.unwrap_or(Rate(u64::MAX));
        if ceil < self.rate {
            return Err(format!(
                "ceil: {ceil} must not be below the rate, which is {}",
                self.rate
            ));
        }
        let mut last = 0;
        for (place, step) in self.rate_steps.iter().enumerate() {
            let path = |key: &str| format!("rate_steps[{place}].{key}");
            if step.at.0 <= last {
                let after = Duration(last);
                return Err(format!(
                    "{}: {} must be later than {after}",
                    path("at"),
                    step.at
                ));
            }
            last = step.at.0;
            if !(1_000..=10_000_000_000_000).contains(&step.rate.0) {
                let range = "allowed: 1kbit/s to 10Tbit/s";
                return Err(format!(
                    "{}: {} is out of range ({range})",
                    path("rate"),
                    step.rate
                ));
            }
            if step.rate > ceil {
                return Err(format!(
                    "{}: {} must not be above the ceil, which is {ceil}",
                    path("rate"),
                    step.rate
                ));
            }
        }
        inner::check("queue", &self.queue)
    }

    fn greatest_rate(&self) -> Option<Rate> {
        let steps = self.rate_steps.iter().map(|step| step.rate);
        steps.chain([self.rate]).max()
    }

    fn segments_in_buffer(&self) -> u32 {
        self.queue.segments_in_buffer()
    }

    fn delay(&self) -> Nanos {
        self.queue.delay()
    }

    fn build<P: Packet>(&self, mut context: Context) -> Box<dyn Qdisc<P>> {
        context.rate = context.rate.min(self.rate);
        let ceil = self.ceil.unwrap_or(self.rate);
        let bucket = |rate: Rate, burst: Option<Bytes>| {
            TokenBucket::new(rate, burst.map_or(default_burst(rate), |burst| burst.0))
        };
        Box::new(Htb {
            inner: inner::build(&self.queue, context),
            buckets: Buckets {
                tokens: bucket(self.rate, self.burst),
                ctokens: bucket(ceil, self.cburst),
                ceil_follows: self.ceil.is_none(),
            },
            steps: self.rate_steps.clone(),
            stepped: 0,
            resume: NEVER,
            inside_buffer: false,
            overlimits: 0,
            lended: 0,
        })
    }
}

/// tc-htb(8): what the rate sends between two ticks of the clock (1 ns where timers are exact), plus one packet of tc's mtu.
fn default_burst(rate: Rate) -> u64 {
    1600 + rate.0 / 8 / 1_000_000_000
}

/// The two buckets of the class. It may send while neither is in debt.
#[derive(Clone, Copy, Debug)]
struct Buckets {
    tokens: TokenBucket,
    ctokens: TokenBucket,
    ceil_follows: bool,
}

impl Buckets {
    #[inline]
    fn advance(&mut self, now: Nanos) {
        self.tokens.advance(now);
        self.ctokens.advance(now);
    }

    /// Changes the rate at `step`. The tokens and debts are kept.
    fn step(&mut self, step: RateStep) {
        self.advance(step.at.0);
        self.tokens.set_rate(step.rate);
        if self.ceil_follows {
            self.ctokens.set_rate(step.rate);
        }
    }

    #[inline]
    fn ready_at(&self) -> Nanos {
        self.tokens.ready_at(0).max(self.ctokens.ready_at(0))
    }

    #[inline]
    fn take(&mut self, cost: i64) {
        self.tokens.take(cost);
        self.ctokens.take(cost);
    }
}

struct Htb<P> {
    inner: Box<dyn Qdisc<P>>,
    buckets: Buckets,
    steps: Vec<RateStep>,
    /// Number of steps taken so far.
    stepped: usize,
    /// When neither bucket is in debt any more.
    resume: Nanos,
    /// Whether the offload buffer of the last packet has more packets, which follow at once.
    inside_buffer: bool,
    overlimits: u64,
    lended: u64,
}

impl<P> Htb<P> {
    /// Fills the buckets up to this time at the rates that applied.
    #[inline]
    fn advance(&mut self, now: Nanos) {
        while let Some(step) = self.steps.get(self.stepped).filter(|step| step.at.0 <= now) {
            self.buckets.step(*step);
            self.stepped += 1;
        }
        self.buckets.advance(now);
    }

    /// When neither bucket will be in debt, at the future rates.
    #[cold]
    fn ready_at(&self) -> Nanos {
        let mut buckets = self.buckets;
        for step in &self.steps[self.stepped..] {
            let at = buckets.ready_at();
            if at <= step.at.0 {
                return at;
            }
            buckets.step(*step);
        }
        buckets.ready_at()
    }
}

impl<P: Packet> Qdisc<P> for Htb<P> {
    #[inline]
    fn enqueue(&mut self, now: Nanos, packet: P, sink: &mut dyn Sink<P>) {
        self.inner.enqueue(now, packet, sink);
    }

    fn dequeue(&mut self, now: Nanos, sink: &mut dyn Sink<P>) -> Option<P> {
        self.advance(now);
        if !self.inside_buffer && self.buckets.ready_at() > now {
            if self.inner.packets() > 0 {
                self.overlimits += 1;
                self.resume = self.ready_at();
                inner::catch_up(self.inner.as_mut(), now);
            }
            return None;
        }
        self.resume = NEVER;
        // If the rest of a buffer has not come yet, it still leaves with what has left.
        let packet = self.inner.dequeue(now, sink)?;
        self.inside_buffer = packet.has_more();
        self.buckets
            .take(TokenBucket::cost(u64::from(packet.size())));
        self.lended += 1;
        Some(packet)
    }

    fn is_work_conserving(&self) -> bool {
        false
    }

    fn refuses(&self, packet: &P) -> bool {
        self.inner.refuses(packet)
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
        let inner = self.inner.next_wake().unwrap_or(NEVER);
        Some(inner.min(self.resume)).filter(|&at| at != NEVER)
    }

    fn wake(&mut self, now: Nanos) {
        if self.resume <= now {
            self.resume = NEVER;
        }
        inner::catch_up(self.inner.as_mut(), now);
    }

    /// `tokens` and `ctokens` are in nanoseconds, as of the last attempt to send.
    fn stats(&self) -> Vec<(&'static str, f64)> {
        let mut stats = vec![
            ("overlimits", self.overlimits as f64),
            ("lended", self.lended as f64),
            ("tokens", self.buckets.tokens.nanoseconds()),
            ("ctokens", self.buckets.ctokens.nanoseconds()),
        ];
        inner::add_stats(&mut stats, self.inner.stats());
        stats
    }
}
