//! The CoDel that the authors of the 5G RLC experiments of 2022 put into the RLC, as they built it: CoDel's spacing, on arrival.

use bloatlab_units::{Duration, Limit, MILLISECOND, Nanos};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ring::{Capacity, Ring};
use crate::{Algorithm, Context, DropReason, Packet, Qdisc, Sink, Verdict};

/// CoDel at the entrance of a 5G RLC buffer, as in the experiments of 2022: while the head's sojourn time stands above a threshold,
/// arrivals are
/// dropped ever more often, at whole milliseconds.
///
/// The buffer of a base station holds what a radio link cannot send at once, and its head can only be looked at when the radio asks. So the
/// delay of the head is measured there, and the drops come at the entrance, by CoDel's schedule. Use it on links whose rate changes as that
/// of a mobile link. A standing delay below the threshold of 100 ms never triggers it: behind a short limit or on a fast link it then does
/// exactly what a `fifo` does.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// How much the buffer holds, in bytes or packets; what arrives beyond it is dropped.
    #[schemars(extend("x-minimum" = "1p"))]
    pub limit: Limit,
    /// Sojourn time of the head that is acceptable.
    #[schemars(extend("x-minimum" = "1us", "x-maximum" = "1h"))]
    pub threshold: Duration,
    /// How long the sojourn time may stay above the threshold, and the time between the first drops.
    #[schemars(extend("x-minimum" = "1us", "x-maximum" = "1h"))]
    pub interval: Duration,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            // OpenAirInterface's RLC buffer.
            limit: Limit::Bytes(10_000_000),
            threshold: Duration(100 * MILLISECOND),
            interval: Duration(100 * MILLISECOND),
        }
    }
}

impl Algorithm for Params {
    const ALIASES: &'static [&'static str] = &["rlc-codel-2022"];
    const SOURCE: &'static str =
        "the RLC of the 5G bufferbloat experiments of 2022 (ns-3); compare RFC 8289";

    fn check(&self) -> Result<(), String> {
        Capacity::not_in_buffers(self.limit)
    }

    fn build<P: Packet>(&self, _context: Context) -> Box<dyn Qdisc<P>> {
        Box::new(RlcCodel {
            ring: Ring::default(),
            capacity: Capacity::new(self.limit, 1),
            law: Law {
                threshold: self.threshold.0,
                interval: self.interval.0,
            },
            vars: Vars::default(),
            opportunity: None,
            drop_overlimit: 0,
            drop_count: 0,
        })
    }
}

struct Law {
    threshold: Nanos,
    interval: Nanos,
}

/// What the law remembers.
#[derive(Clone, Copy, Debug, Default)]
struct Vars {
    /// Sojourn time of the head at the last transmit opportunity.
    sojourn: Nanos,
    /// When an arrival first found it above the threshold; in the first millisecond of a run it is not told from none.
    first_above_time: Nanos,
    /// Drops since.
    count: u64,
    /// The millisecond in which the next drop is due.
    drop_next: u64,
}

impl Law {
    /// Judges an arrival.
    fn judge(&self, vars: &mut Vars, now: Nanos) -> Verdict {
        if vars.sojourn <= self.threshold {
            vars.count = 0;
            vars.drop_next = 0;
            vars.first_above_time = 0;
            return Verdict::Forward;
        }
        if vars.first_above_time < MILLISECOND {
            vars.first_above_time = now;
            return Verdict::Forward;
        }
        let millisecond = now / MILLISECOND;
        let is_due = vars.count == 0 || millisecond >= vars.drop_next;
        if now - vars.first_above_time <= self.interval || !is_due {
            return Verdict::Forward;
        }
        vars.count += 1;
        // Whole milliseconds: with 100 ms, 2 ms apart from the 1112th drop on, 1 ms from the 2501st, 0 after the 10 000th.
        let interval = self.interval as f64 / MILLISECOND as f64;
        let spacing = interval / libm::sqrt(vars.count as f64);
        vars.drop_next = (millisecond as f64 + spacing) as u64;
        Verdict::Drop
    }
}

struct RlcCodel<P> {
    ring: Ring<P>,
    capacity: Capacity,
    law: Law,
    vars: Vars,
    /// The last instant at which the radio asked for packets: all that leave at one are of one transport block.
    opportunity: Option<Nanos>,
    drop_overlimit: u64,
    drop_count: u64,
}

impl<P: Packet> Qdisc<P> for RlcCodel<P> {
    #[inline]
    fn enqueue(&mut self, now: Nanos, mut packet: P, sink: &mut dyn Sink<P>) {
        packet.set_enqueued_at(now);
        if self.law.judge(&mut self.vars, now) == Verdict::Drop {
            self.drop_count += 1;
            sink.dropped(&packet, DropReason::Law);
            return;
        }
        let (packets, bytes) = (self.ring.packets(), self.ring.bytes());
        if self.capacity.fits(packets, bytes, packet.size()) {
            self.ring.push(packet);
        } else {
            self.drop_overlimit += 1;
            sink.dropped(&packet, DropReason::Overflow);
        }
    }

    #[inline]
    fn dequeue(&mut self, now: Nanos, _sink: &mut dyn Sink<P>) -> Option<P> {
        let packet = self.ring.pop()?;
        if self.opportunity != Some(now) {
            self.opportunity = Some(now);
            self.vars.sojourn = now.saturating_sub(packet.enqueued_at());
        }
        Some(packet)
    }

    /// The rest of a packet that was sent in part is the head still.
    fn opportunity(&mut self, now: Nanos, held_since: Option<Nanos>) {
        if let Some(since) = held_since {
            self.opportunity = Some(now);
            self.vars.sojourn = now.saturating_sub(since);
        }
    }

    fn packets(&self) -> u64 {
        self.ring.packets()
    }

    fn bytes(&self) -> u64 {
        self.ring.bytes()
    }

    /// `ldelay` is the head's sojourn time at the last opportunity, seconds; `drop_next` in seconds from the start of the run.
    fn stats(&self) -> Vec<(&'static str, f64)> {
        vec![
            ("count", self.vars.count as f64),
            ("ldelay", self.vars.sojourn as f64 * 1e-9),
            ("drop_next", self.vars.drop_next as f64 * 1e-3),
            ("drop_count", self.drop_count as f64),
            ("drop_overlimit", self.drop_overlimit as f64),
        ]
    }
}
