//! The CoDel variant of the 5G RLC experiments of 2022, as its authors implemented it: CoDel's spacing of drops, applied on arrival.

use bloatlab_units::{Duration, Limit, MILLISECOND, Nanos};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ring::{Capacity, Ring};
use crate::{Context, DropReason, Factory, Packet, Qdisc, Sink, Slot, Verdict};

/// CoDel at the entrance of a 5G RLC buffer, as in the experiments of 2022: while the sojourn time of the head is above a threshold, it drops
/// arrivals more and more often, at whole milliseconds.
///
/// The buffer of a base station holds what the radio link cannot send at once, and its head can be inspected only when the radio asks for data. So
/// the delay of the head is measured then, and arrivals are dropped by CoDel's schedule. Use it on links whose rate varies as that of a mobile link.
/// A delay that stays below the threshold of 100 ms never triggers it: with a short limit, or on a fast link, it behaves exactly as a `fifo`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Capacity of the buffer, in bytes or packets. Packets beyond it are dropped on arrival.
    #[schemars(extend("x-minimum" = "1p"))]
    pub limit: Limit,
    /// Acceptable sojourn time of the head.
    #[schemars(extend("x-minimum" = "1us", "x-maximum" = "1h"))]
    pub threshold: Duration,
    /// How long the sojourn time may stay above the threshold. Also the time between the first drops.
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

impl Factory for Params {
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
            controller: RlcController {
                threshold: self.threshold.0,
                interval: self.interval.0,
            },
            state: ControllerState::default(),
            opportunity: None,
            drop_overlimit: 0,
            drop_count: 0,
        })
    }
}

struct RlcController {
    threshold: Nanos,
    interval: Nanos,
}

/// The controller's state.
#[derive(Clone, Copy, Debug, Default)]
struct ControllerState {
    /// Sojourn time of the head at the last transmit opportunity.
    sojourn: Nanos,
    /// When an arrival first found the sojourn time above the threshold. A time in the first millisecond of a run is treated as none.
    first_above_time: Nanos,
    /// Number of drops since then.
    count: u64,
    /// The millisecond in which the next drop is due.
    drop_next: u64,
}

impl RlcController {
    /// Judges an arrival.
    fn judge(&self, state: &mut ControllerState, now: Nanos) -> Verdict {
        if state.sojourn <= self.threshold {
            state.count = 0;
            state.drop_next = 0;
            state.first_above_time = 0;
            return Verdict::Forward;
        }
        if state.first_above_time < MILLISECOND {
            state.first_above_time = now;
            return Verdict::Forward;
        }
        let millisecond = now / MILLISECOND;
        let is_due = state.count == 0 || millisecond >= state.drop_next;
        if now - state.first_above_time <= self.interval || !is_due {
            return Verdict::Forward;
        }
        state.count += 1;
        // In whole milliseconds. With 100 ms, drops are 2 ms apart from the 1112th on, 1 ms from the 2501st on, and 0 ms after the 10 000th.
        let interval = self.interval as f64 / MILLISECOND as f64;
        let spacing = interval / libm::sqrt(state.count as f64);
        state.drop_next = (millisecond as f64 + spacing) as u64;
        Verdict::Drop
    }
}

struct RlcCodel<P> {
    ring: Ring<P>,
    capacity: Capacity,
    controller: RlcController,
    state: ControllerState,
    /// When the radio last asked for packets. All packets that leave at the same time belong to one transport block.
    opportunity: Option<Nanos>,
    drop_overlimit: u64,
    drop_count: u64,
}

impl<P: Packet> Qdisc<P> for RlcCodel<P> {
    #[inline]
    fn enqueue(&mut self, now: Nanos, mut packet: P, sink: &mut dyn Sink<P>) {
        packet.set_enqueued_at(now);
        if self.controller.judge(&mut self.state, now) == Verdict::Drop {
            self.drop_count += 1;
            sink.dropped(&packet, DropReason::Aqm);
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
            self.state.sojourn = now.saturating_sub(packet.enqueued_at());
        }
        Some(packet)
    }

    /// The rest of a packet that was sent in part is still the head.
    fn opportunity(&mut self, now: Nanos, held_since: Option<Nanos>) {
        if let Some(since) = held_since {
            self.opportunity = Some(now);
            self.state.sojourn = now.saturating_sub(since);
        }
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

    /// `ldelay` is the sojourn time of the head at the last opportunity, in seconds. `drop_next` is in seconds from the start of the run.
    fn stats(&self) -> Vec<(&'static str, f64)> {
        vec![
            ("count", self.state.count as f64),
            ("ldelay", self.state.sojourn as f64 * 1e-9),
            ("drop_next", self.state.drop_next as f64 * 1e-3),
            ("drop_count", self.drop_count as f64),
            ("drop_overlimit", self.drop_overlimit as f64),
        ]
    }
}
