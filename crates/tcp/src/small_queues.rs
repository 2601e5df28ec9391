//! What a host that knows its own queue does (Linux's TCP Small Queues): it keeps little of a connection in that queue, and a full queue tells it to
//! slow down before anything is lost. From tcp_limit_output_bytes in Linux's ip-sysctl, E. Dumazet's description (LWN 507065), and the description of
//! the CWR state in P. Sarolahti and A. Kuznetsov, "Congestion control in Linux TCP" (2002).

use bloatlab_cc::Signal;
use bloatlab_units::Nanos;

use crate::offload::BUFFER_OVERHEAD;
use crate::sender::Sender;
use crate::state::State;
use crate::{Endpoint, TcpConfig};

/// The settings of small queues.
#[derive(Clone, Copy, Debug)]
pub struct SmallQueues {
    most: u64,
    pacing_shift: u32,
}

impl SmallQueues {
    /// The settings of a connection; `None` if it has no small queues.
    pub fn new(config: &TcpConfig) -> Option<Self> {
        config.small_queues.then_some(Self {
            most: config.limit_output_bytes.0,
            pacing_shift: config.pacing_shift,
        })
    }

    /// Memory of a buffer with this much payload.
    pub fn memory(payload: u64) -> u64 {
        payload + BUFFER_OVERHEAD
    }
}

impl Endpoint {
    /// Whether data could leave now: pacing and both windows allow it. Probes do not count, because nothing holds them back.
    pub fn has_data_to_send(&self, now: Nanos) -> bool {
        self.established() && self.sender.has_data_to_send(now)
    }

    /// Whether a buffer of `segments` segments must wait because `held` bytes of this connection's memory are still in the host's own queue.
    pub fn must_wait(&self, rules: SmallQueues, segments: u64, held: u64) -> bool {
        let sender = &self.sender;
        let payload = if sender.offload.segments {
            sender.largest_buffer()
        } else {
            segments * sender.window.mss
        };
        if sender.board.len() as u64 <= payload / sender.window.mss {
            // A single buffer is outstanding. What keeps the ACKs coming must not wait.
            return false;
        }
        let rate = sender.pacing.output_rate(&sender.window, sender.rtt.srtt);
        let least = 2 * SmallQueues::memory(payload);
        let limit = (rate >> rules.pacing_shift).max(least).min(rules.most);
        let repeats = sender.board.to_retransmit > 0 && !sender.undo.sends_new;
        held >= limit << u32::from(repeats)
    }

    /// Whether an offload buffer has left only in part, so that the next segment belongs to it.
    pub fn is_within_buffer(&self) -> bool {
        let offload = &self.sender.offload;
        offload.rest > 0 || offload.again > 0
    }

    /// The host's own queue is full, so what would leave now stays unsent. The window shrinks as for an ECN echo, unless it is shrinking already.
    pub fn on_own_queue_full(&mut self, now: Nanos) {
        self.sender.on_own_queue_full(now);
    }

    /// Whether something is outstanding, so that an ACK will let the sender try again.
    pub fn awaits_ack(&self) -> bool {
        self.sender.board.pipe > 0
    }
}

impl Sender {
    fn has_data_to_send(&self, now: Nanos) -> bool {
        if self.probe_wanted || now < self.pacing.next_send || self.offload.rest > 0 {
            return false;
        }
        let mss = self.window.mss;
        let fits =
            |length: u64| self.board.pipe + length <= self.window.cwnd || self.board.pipe == 0;
        if self.board.to_retransmit > 0 && !self.undo.sends_new {
            return fits(mss);
        }
        let length = mss.min(self.limit.saturating_sub(self.next));
        let room = self.edge.saturating_sub(self.next);
        length > 0 && fits(length) && (room >= length || (room > 0 && self.board.is_empty()))
    }

    fn on_own_queue_full(&mut self, now: Nanos) {
        if self.state == State::Open && !self.owns_recovery {
            self.fast_path = false;
            let ack = self.snapshot(now);
            self.enter_cwr(Signal::Loss, &ack);
        }
    }
}
