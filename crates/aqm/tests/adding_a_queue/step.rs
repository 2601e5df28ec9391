//! Step marking: signals on arrival while the backlog is above a threshold.

use bloatlab_units::{Bytes, Limit, Nanos};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Capacity, Context, DropReason, Factory, Packet, Qdisc, Ring, Sink, Slot, Verdict, mark,
};

/// First in, first out; signals to every packet that arrives while the backlog is above a threshold.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Capacity of the queue, in packets or bytes. Packets beyond it are dropped on arrival.
    #[schemars(extend("x-minimum" = "1p"))]
    pub limit: Limit,
    /// Backlog in bytes above which arrivals get a signal (the K of DCTCP).
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "1GB"))]
    pub threshold: Bytes,
    /// Mark ECN-capable packets instead of dropping them.
    pub ecn: bool,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            limit: Limit::Packets(1000),
            // Alizadeh et al., SIGCOMM 2010, section 3.4: K = 20 packets at 1 Gbit/s.
            threshold: Bytes(30_000),
            ecn: true,
        }
    }
}

impl Factory for Params {
    const SOURCE: &'static str = "Alizadeh et al., Data Center TCP, SIGCOMM 2010, section 3.1";

    fn check(&self) -> Result<(), String> {
        match self.limit {
            Limit::Bytes(limit) if limit < self.threshold.0 => Err(format!(
                "threshold: {} must not be above the limit, which is {}",
                self.threshold, self.limit
            )),
            limit => Capacity::not_in_buffers(limit),
        }
    }

    fn build<P: Packet>(&self, _context: Context) -> Box<dyn Qdisc<P>> {
        Box::new(Step {
            ring: Ring::default(),
            capacity: Capacity::new(self.limit, 1),
            controller: Controller {
                threshold: self.threshold.0,
                ecn: self.ecn,
            },
            signals: 0,
        })
    }
}

/// The AQM controller. It sees the backlog, but never a packet.
struct Controller {
    threshold: u64,
    ecn: bool,
}

impl Controller {
    fn judge(&self, backlog: u64) -> Verdict {
        match (backlog > self.threshold, self.ecn) {
            (false, _) => Verdict::Forward,
            (true, true) => Verdict::Mark,
            (true, false) => Verdict::Drop,
        }
    }
}

/// The queue. It owns the packets and applies the decisions of the controller.
struct Step<P> {
    ring: Ring<P>,
    capacity: Capacity,
    controller: Controller,
    signals: u64,
}

impl<P: Packet> Qdisc<P> for Step<P> {
    fn enqueue(&mut self, now: Nanos, mut packet: P, sink: &mut dyn Sink<P>) {
        packet.set_enqueued_at(now);
        if !self
            .capacity
            .fits(self.ring.packets(), self.ring.bytes(), packet.size())
        {
            sink.dropped(&packet, DropReason::Overflow);
            return;
        }
        match self.controller.judge(self.ring.bytes()) {
            Verdict::Forward => {}
            Verdict::Mark if mark(&mut packet) => {
                self.signals += 1;
                sink.marked(&packet);
            }
            Verdict::Mark | Verdict::Drop => {
                self.signals += 1;
                sink.dropped(&packet, DropReason::Aqm);
                return;
            }
        }
        self.ring.push(packet);
    }

    fn dequeue(&mut self, _now: Nanos, _sink: &mut dyn Sink<P>) -> Option<P> {
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

    fn stats(&self) -> Vec<(&'static str, f64)> {
        vec![("signals", self.signals as f64)]
    }
}
