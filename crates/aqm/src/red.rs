//! RED (Floyd and Jacobson 1993) with the gentle and the adaptive variant and Linux's: parameters, and a queue that uses its controller.

use bloatlab_units::{Bytes, Duration, Limit, MILLISECOND, Nanos, Rate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ring::{Capacity, Ring};
use crate::tc::{Form, Tc, Word};
use crate::{Context, Factory, Packet, Qdisc, Sink, Slot};

mod admission;
mod controller;

pub(crate) use admission::RedAdmission;
pub use controller::{INTERVAL, RedController, RedState, Signal, Stats};

/// Random Early Detection: signals on arrival, more often the longer the average queue.
///
/// The average queue is exponentially weighted, so bursts pass. Between `min` and `max` the probability of a signal rises to `probability`. The
/// signals are spaced evenly, so that flows slow down at different times. Use it as the classic AQM before delay-based algorithms, or to compare with
/// Linux's `red`. Its average queue depends on the load unless it is `adaptive`, and thresholds for one rate are wrong for another.
///
/// Without parameters, it chooses them for its link as Floyd recommends (2001). All parameters of Linux are available, too.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Capacity of the queue, in packets or bytes. Packets beyond it are dropped on arrival.
    #[schemars(extend("x-minimum" = "1p"))]
    pub limit: Limit,
    /// Average queue below which there are no signals, in packets or bytes; the average is computed in this unit. If absent, see `auto`.
    #[schemars(extend("x-minimum" = "1p", "x-maximum" = "1000000000000p"))]
    pub min: Option<Limit>,
    /// Average queue at which the probability reaches `probability`, in the unit of `min`. If absent, see `auto`.
    #[schemars(extend("x-minimum" = "1p", "x-maximum" = "1000000000000p"))]
    pub max: Option<Limit>,
    /// How absent thresholds are chosen.
    pub auto: Auto,
    /// Target queueing delay from which absent thresholds are computed.
    #[schemars(extend("x-minimum" = "1us", "x-maximum" = "1h"))]
    pub target_delay: Duration,
    /// Size of an average packet. If absent, the largest packet of the link.
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "1MiB"))]
    pub avpkt: Option<Bytes>,
    /// Weight of an arrival in the average. 0: chosen from the link's rate, so that the average covers ten round trips.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub weight: f64,
    /// Number of packets that may arrive at once without a signal. It determines the weight. 0: (2 min + max) / 3.
    #[schemars(range(max = 1_000_000_000))]
    pub burst: Option<u32>,
    /// Rate at which the average decays while the link is idle. If absent, the link's rate.
    #[schemars(extend("x-minimum" = "1bit/s"))]
    pub bandwidth: Option<Rate>,
    /// Probability of a signal when the average reaches `max`.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub probability: f64,
    /// Raise the probability to 1 gradually from `max` to twice `max`, instead of at once.
    pub gentle: bool,
    /// Space signals by 1 / p to 2 / p packets; otherwise by 1 to 1 / p packets.
    pub wait: bool,
    /// Scale the probability of a signal for small packets by their size.
    pub bytemode: bool,
    /// Do not signal to a packet that arrives at an empty queue (or, with thresholds in packets, at a queue of one packet), whatever the average is.
    pub spare_empty: bool,
    /// The first arrival after an idle time also counts as a sample of the empty queue, after the decay for that time, as in ns-2.
    pub idle_sample: bool,
    /// Adapt the probability so that the average stays in the middle between `min` and `max`.
    pub adaptive: bool,
    /// Mark ECN-capable packets instead of dropping them.
    pub ecn: bool,
    /// Drop also ECN-capable packets if every packet gets a signal.
    pub harddrop: bool,
    /// Let packets pass that cannot be marked. Only allowed with `ecn`.
    pub nodrop: bool,
}

/// How absent thresholds are chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Auto {
    /// `min` is what the link sends in half of `target_delay`, but at least 5 packets. `max` is three times `min`.
    Delay,
    /// `max` is a quarter of `limit`, and `min` is a third of `max`.
    Limit,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            // Linux's txqueuelen.
            limit: Limit::Packets(1000),
            // Floyd, Gummadi, Shenker 2001, section 4.3, and Floyd, "RED: Discussions of setting parameters" (1997): max_p 0.1.
            min: None,
            max: None,
            auto: Auto::Delay,
            target_delay: Duration(5 * MILLISECOND),
            avpkt: None,
            weight: 0.0,
            burst: None,
            bandwidth: None,
            probability: 0.1,
            // Floyd, "Recommendation on using the gentle_ variant of RED" (2000). The other values are those of ns-2.
            gentle: true,
            wait: true,
            bytemode: true,
            spare_empty: true,
            idle_sample: false,
            adaptive: false,
            ecn: false,
            harddrop: true,
            nodrop: false,
        }
    }
}

impl Factory for Params {
    const ALIASES: &'static [&'static str] = &["RedQueueDisc"];
    const SOURCE: &'static str = "Floyd and Jacobson 1993; Floyd, gentle RED, 2000; Floyd, Gummadi, Shenker, Adaptive RED, 2001; tc-red(8)";
    const TC: &'static [Tc] = &[Tc {
        name: "red",
        words: &[
            Word::same("limit", Form::LimitBytes),
            Word::same("min", Form::LimitBytes),
            Word::same("max", Form::LimitBytes),
            Word::same("avpkt", Form::Size),
            Word::same("burst", Form::Integer),
            Word::same("probability", Form::Probability),
            Word::same("bandwidth", Form::Rate32),
            Word::same("adaptive", Form::Flag("true")),
            Word::same("ecn", Form::Flag("true")),
            Word::same("harddrop", Form::Flag("true")),
            Word::same("nodrop", Form::Flag("true")),
        ],
        required: &["limit", "avpkt"],
        presets: &[
            ("auto", "\"limit\""),
            ("burst", "0"),
            ("probability", "0.02"),
            ("bandwidth", "\"10Mbit/s\""),
            ("gentle", "false"),
            ("wait", "false"),
            ("bytemode", "false"),
            ("spare_empty", "false"),
            ("harddrop", "false"),
        ],
    }];

    fn check(&self) -> Result<(), String> {
        Capacity::not_in_buffers(self.limit)?;
        for (name, value) in [("min", self.min), ("max", self.max)] {
            if let Some(Limit::Buffers(_)) = value {
                return Err(format!(
                    "{name}: is in buffers, but must be in packets or bytes"
                ));
            }
        }
        let in_bytes = |limit| matches!(limit, Limit::Bytes(_));
        let given: Vec<bool> = self
            .min
            .iter()
            .chain(&self.max)
            .copied()
            .map(in_bytes)
            .collect();
        let from_limit = self.auto == Auto::Limit && self.max.is_none() && self.min.is_some();
        if given.windows(2).any(|pair| pair[0] != pair[1]) {
            return Err("max: must be in the same unit as min".to_owned());
        }
        if from_limit && given != [in_bytes(self.limit)] {
            return Err(
                "min: must be in the same unit as limit, because max is computed from limit"
                    .to_owned(),
            );
        }
        // Thresholds computed from the link's rate are always in order. Only the given ones need a check.
        let (min, max, _) = self.thresholds(Rate(1), 1.0);
        if min >= max {
            return Err(format!("max: {max} must be above min, which is {min}"));
        }
        if self.nodrop && !self.ecn {
            return Err(
                "nodrop: has no effect without ecn: set ecn, or leave out nodrop".to_owned(),
            );
        }
        if self.burst.is_none() {
            return Ok(());
        }
        if self.weight > 0.0 {
            return Err("burst: cannot be combined with weight: leave out one of them".to_owned());
        }
        if self.auto == Auto::Delay && given.is_empty() {
            return Err("burst: needs min or max: give one of them".to_owned());
        }
        match self.avpkt {
            // Without avpkt the largest packet is used, which only the link knows. This check assumes Ethernet's.
            avpkt
                if self
                    .burst_weight(avpkt.map_or(1514.0, |size| size.0 as f64))
                    .is_none() =>
            {
                Err(
                    "burst: must be at least min in packets, and min must be more than one packet"
                        .to_owned(),
                )
            }
            _ => Ok(()),
        }
    }

    fn build<P: Packet>(&self, context: Context) -> Box<dyn Qdisc<P>> {
        Box::new(Red {
            ring: Ring::default(),
            admission: RedAdmission::new(self, context),
            next_update: INTERVAL,
        })
    }
}

impl Params {
    /// The thresholds, and whether they are in bytes.
    fn thresholds(&self, rate: Rate, avpkt: f64) -> (f64, f64, bool) {
        let value = |limit| match limit {
            Limit::Packets(n) | Limit::Buffers(n) => (n as f64, false),
            Limit::Bytes(n) => (n as f64, true),
        };
        match (self.min.map(value), self.max.map(value), self.auto) {
            (Some((min, in_bytes)), Some((max, _)), _) => (min, max, in_bytes),
            (None, Some((max, in_bytes)), Auto::Delay) => (max / 3.0, max, in_bytes),
            (None, Some((max, in_bytes)), Auto::Limit) => (libm::floor(max / 3.0), max, in_bytes),
            (Some((min, in_bytes)), None, Auto::Delay) => (min, 3.0 * min, in_bytes),
            (min, None, Auto::Limit) => {
                // tc-red(8): in whole bytes.
                let (limit, in_bytes) = value(self.limit);
                let max = libm::floor(limit / 4.0);
                (
                    min.map_or(libm::floor(max / 3.0), |(min, _)| min),
                    max,
                    in_bytes,
                )
            }
            (None, None, Auto::Delay) => {
                // Floyd, Gummadi, Shenker 2001, section 4.3, in bytes.
                let half = rate.0 as f64 / 8.0 * self.target_delay.seconds() / 2.0;
                let min = half.max(5.0 * avpkt);
                (min, 3.0 * min, true)
            }
        }
    }

    /// Floyd and Jacobson 1993, equation 3, solved as tc does: the largest power of 1/2 with which `burst` packets into an empty queue keep the
    /// average below `min`.
    fn burst_weight(&self, avpkt: f64) -> Option<f64> {
        let (min, max, in_bytes) = self.thresholds(Rate(1), avpkt);
        let scale = if in_bytes { avpkt } else { 1.0 };
        let burst = match self.burst? {
            0 => libm::floor((2.0 * min + max) / (3.0 * scale)),
            burst => f64::from(burst),
        };
        let spare = burst + 1.0 - min / scale;
        let powers = (1..32).map(|log| libm::exp2(-f64::from(log)));
        let mut fitting = powers.filter(|w| spare <= (1.0 - libm::pow(1.0 - w, burst)) / w);
        fitting.next().filter(|_| spare >= 1.0)
    }
}

struct Red<P> {
    ring: Ring<P>,
    admission: RedAdmission,
    next_update: Nanos,
}

impl<P: Packet> Qdisc<P> for Red<P> {
    #[inline]
    fn enqueue(&mut self, now: Nanos, mut packet: P, sink: &mut dyn Sink<P>) {
        packet.set_enqueued_at(now);
        let (packets, bytes) = (self.ring.packets(), self.ring.bytes());
        self.admission.average(now, packets, bytes);
        if self.admission.admits(packets, bytes, &mut packet, sink) {
            self.ring.push(packet);
        }
    }

    #[inline]
    fn dequeue(&mut self, now: Nanos, _sink: &mut dyn Sink<P>) -> Option<P> {
        self.admission.dequeued(now, self.ring.pop())
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

    fn next_wake(&self) -> Option<Nanos> {
        let adaptive = self.admission.controller.adaptive();
        adaptive.then_some(self.next_update)
    }

    fn wake(&mut self, now: Nanos) {
        let RedAdmission {
            controller, state, ..
        } = &mut self.admission;
        controller.adapt(state, now);
        self.next_update = now + INTERVAL;
    }

    /// `max_p` is the probability at `max`.
    fn stats(&self) -> Vec<(&'static str, f64)> {
        let mut stats = self.admission.stats();
        stats.insert(2, ("max_p", self.admission.state.max_p()));
        stats
    }
}
