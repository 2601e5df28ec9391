//! The token bucket filter: delays packets until they conform to the rate.

use bloatlab_units::{Bytes, Duration, Limit, NEVER, Nanos, Rate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::tc::{Form, Word};
use crate::token_bucket::TokenBucket;
use crate::{
    Band, Capacity, Context, DropReason, Factory, Packet, Qdisc, QueueConfig, Sink, Slot, Tc, fifo,
    inner,
};

/// Token bucket filter: a shaper in front of another queue, which sends as tokens accumulate at `rate` up to `burst`.
///
/// A packet waits until there are as many tokens as it has bytes. An optional `peakrate` keeps bursts from leaving at the speed of the link. Packets
/// wait in the inner queue, by default a FIFO of `limit` bytes or `latency`. Use it to turn a fast link into a slow one, or to move the queue to a
/// place where a good AQM algorithm controls it. A large `burst` fills the buffers behind the shaper. `burst` must hold at least one packet.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Rate at which tokens accumulate (tc requires it).
    #[schemars(extend("x-minimum" = "1kbit/s", "x-maximum" = "10Tbit/s"))]
    pub rate: Rate,
    /// Largest number of tokens, which is also the initial number (tc requires it). A larger packet is dropped on arrival.
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "1GB"))]
    pub burst: Bytes,
    /// Capacity of the default FIFO. If both this and `latency` are absent, 1000 packets.
    #[schemars(extend("x-minimum" = "1p"))]
    pub limit: Option<Limit>,
    /// Capacity of the default FIFO as the longest time that a byte may wait for tokens.
    #[schemars(extend("x-minimum" = "0s", "x-maximum" = "1h"))]
    pub latency: Option<Duration>,
    /// Smallest number of tokens that a packet takes.
    #[schemars(extend("x-minimum" = "0B", "x-maximum" = "64KiB"))]
    pub mpu: Bytes,
    /// A second, higher rate that limits how fast a burst leaves. If absent, there is none.
    #[schemars(extend("x-minimum" = "1kbit/s", "x-maximum" = "10Tbit/s"))]
    pub peakrate: Option<Rate>,
    /// Largest number of tokens at `peakrate`. A larger packet is dropped on arrival.
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "1GB"))]
    pub mtu: Bytes,
    /// The inner queue, in which packets wait. If absent, a FIFO of `limit`.
    pub queue: Option<Box<QueueConfig>>,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            // The example of tc-tbf(8) is 0.5 Mbit/s with 5 kB; Linux has no defaults.
            rate: Rate(10_000_000),
            burst: Bytes(15_000),
            limit: None,
            latency: None,
            mpu: Bytes(0),
            peakrate: None,
            mtu: Bytes(1514),
            queue: None,
        }
    }
}

impl Factory for Params {
    const SOURCE: &'static str = "tc-tbf(8)";
    const TC: &'static [Tc] = &[Tc {
        name: "tbf",
        words: &[
            Word::same("rate", Form::Rate).once(),
            Word::same("burst", Form::Size).once(),
            Word::new("buffer", "burst", Form::Size).once(),
            Word::new("maxburst", "burst", Form::Size).once(),
            Word::same("mpu", Form::Size).once(),
            Word::same("peakrate", Form::Rate).once(),
            Word::same("mtu", Form::Size).once(),
            Word::new("minburst", "mtu", Form::Size).once(),
            Word::same("limit", Form::LimitBytes).once(),
            Word::same("latency", Form::Time).once(),
            // tc requires a limit, which Linux ignores if there is another inner queue.
            Word::new(
                "1",
                "queue",
                Form::LeafInstead(&["limit", "latency"], "latency 50ms"),
            ),
        ],
        required: &["rate", "burst", "limit|latency"],
        presets: &[],
    }];

    fn check(&self) -> Result<(), String> {
        if self.limit.is_some() && self.latency.is_some() {
            return Err("latency: cannot be combined with `limit`: give one of them".to_owned());
        }
        if self.queue.is_some() && (self.limit.is_some() || self.latency.is_some()) {
            return Err(
                "queue: cannot be combined with `limit` or `latency`: give the inner queue a limit"
                    .to_owned(),
            );
        }
        if self.mpu > self.burst {
            return Err(format!(
                "mpu: {} must not be above the burst, which is {}: nothing could ever be sent",
                self.mpu, self.burst
            ));
        }
        if let Some(peak) = self.peakrate {
            // tc-tbf(8): the peak rate limits bursts, so it must be above the rate.
            if peak <= self.rate {
                return Err(format!(
                    "peakrate: {peak} must be above the rate, which is {}",
                    self.rate
                ));
            }
            if self.mpu > self.mtu {
                return Err(format!(
                    "mpu: {} must not be above the mtu, which is {}",
                    self.mpu, self.mtu
                ));
            }
        }
        if matches!(self.limit, Some(Limit::Buffers(_))) {
            return Err("limit: is in buffers, but must be in packets or bytes".to_owned());
        }
        self.queue
            .as_ref()
            .map_or(Ok(()), |queue| inner::check("queue", queue))
    }

    fn greatest_rate(&self) -> Option<Rate> {
        Some(self.rate)
    }

    fn segments_in_buffer(&self) -> u32 {
        self.queue
            .as_ref()
            .map_or(1, |queue| queue.segments_in_buffer())
    }

    fn delay(&self) -> Nanos {
        self.queue.as_ref().map_or(0, |queue| queue.delay())
    }

    fn build<P: Packet>(&self, mut context: Context) -> Box<dyn Qdisc<P>> {
        context.rate = context.rate.min(self.rate);
        let peak = self.peakrate.map(|rate| TokenBucket::new(rate, self.mtu.0));
        let mtu = peak.map_or(u64::MAX, |_| self.mtu.0);
        let bound = self.bound().unwrap_or(Limit::Packets(u64::MAX));
        let fifo = QueueConfig::Fifo(fifo::Params {
            limit: bound,
            ..fifo::Params::default()
        });
        Box::new(Tbf {
            inner: inner::build(self.queue.as_deref().unwrap_or(&fifo), context),
            bound: Capacity::new(bound, 1),
            head: None,
            tokens: TokenBucket::new(self.rate, self.burst.0),
            peak,
            mpu: self.mpu.0,
            largest: self.burst.0.min(mtu),
            resume: NEVER,
            overlimits: 0,
            drops: 0,
        })
    }
}

impl Params {
    /// The capacity, if the inner queue is the default FIFO.
    fn bound(&self) -> Option<Limit> {
        if self.queue.is_some() {
            return None;
        }
        let given = self.limit.unwrap_or(fifo::Params::default().limit);
        let waiting = |latency| Limit::Bytes(self.waiting(latency));
        Some(self.latency.map_or(given, waiting))
    }

    /// tc-tbf(8): the capacity with which a byte waits at most this long: what either rate sends in that time, plus its tokens.
    fn waiting(&self, latency: Duration) -> u64 {
        let sent = |rate: Rate, tokens: Bytes| {
            let bytes = u128::from(rate.0) * u128::from(latency.0) / 8_000_000_000;
            u64::try_from(bytes)
                .unwrap_or(u64::MAX)
                .saturating_add(tokens.0)
        };
        let at_rate = sent(self.rate, self.burst);
        self.peakrate
            .map_or(at_rate, |peak| at_rate.min(sent(peak, self.mtu)))
    }
}

struct Tbf<P> {
    inner: Box<dyn Qdisc<P>>,
    /// Capacity including `head`, which the inner queue does not count.
    bound: Capacity,
    /// The next packet, taken from the inner queue to know its size. It waits for tokens.
    head: Option<P>,
    tokens: TokenBucket,
    peak: Option<TokenBucket>,
    mpu: u64,
    /// Bytes of the largest packet for which there can be enough tokens.
    largest: u64,
    /// When there are enough tokens for `head`.
    resume: Nanos,
    overlimits: u64,
    drops: u64,
}

impl<P: Packet> Qdisc<P> for Tbf<P> {
    fn enqueue(&mut self, now: Nanos, mut packet: P, sink: &mut dyn Sink<P>) {
        let size = packet.size();
        if u64::from(size) > self.largest || !self.bound.fits(self.packets(), self.bytes(), size) {
            packet.set_enqueued_at(now);
            self.drops += 1;
            sink.dropped(&packet, DropReason::Overflow);
            return;
        }
        self.inner.enqueue(now, packet, sink);
    }

    fn dequeue(&mut self, now: Nanos, sink: &mut dyn Sink<P>) -> Option<P> {
        if self.head.is_none() {
            self.head = self.inner.dequeue(now, sink);
        }
        let packet = self.head?;
        let cost = TokenBucket::cost(u64::from(packet.size()).max(self.mpu));
        self.tokens.advance(now);
        let mut ready = self.tokens.ready_at(cost);
        if let Some(peak) = &mut self.peak {
            peak.advance(now);
            ready = ready.max(peak.ready_at(cost));
        }
        if ready > now {
            self.overlimits += 1;
            self.resume = ready;
            return None;
        }
        self.tokens.take(cost);
        if let Some(peak) = &mut self.peak {
            peak.take(cost);
        }
        self.resume = NEVER;
        self.head.take()
    }

    fn is_work_conserving(&self) -> bool {
        false
    }

    fn packets(&self) -> u64 {
        self.inner.packets() + u64::from(self.head.is_some())
    }

    fn bytes(&self) -> u64 {
        self.inner.bytes() + self.head.map_or(0, |packet| u64::from(packet.size()))
    }

    /// The packet that waits for tokens is the first of the queue of its flow.
    fn contents(&self, visit: &mut dyn FnMut(Slot, &P)) {
        let Some(head) = &self.head else {
            return self.inner.contents(visit);
        };
        let mut place = None;
        self.inner.contents(&mut |slot, packet| {
            if packet.flow() == head.flow() {
                place.get_or_insert(slot);
            }
        });
        let place = place.unwrap_or_default();
        let mut waits = true;
        self.inner.contents(&mut |slot, packet| {
            if waits && slot >= place {
                waits = false;
                visit(place, head);
            }
            visit(slot, packet);
        });
        if waits {
            visit(place, head);
        }
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

    fn stats(&self) -> Vec<(&'static str, f64)> {
        let mut stats = vec![
            ("overlimits", self.overlimits as f64),
            ("drops", self.drops as f64),
        ];
        inner::add_stats(&mut stats, self.inner.stats());
        stats
    }
}
