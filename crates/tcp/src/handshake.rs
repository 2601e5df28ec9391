//! The three-way handshake of one end: its phases, and the retransmissions of its SYN or SYN-ACK.

use bloatlab_units::{NEVER, Nanos};

use crate::segment::{ACK, SYN, Segment, time_stamp};

/// Number of retransmissions after which a SYN is given up: RFC 6298 section 5; Linux's tcp_syn_retries.
const SYN_RETRIES: u32 = 6;
/// Ticks per step of a timer of a second, in Linux's timer wheel with 1000 ticks per second.
const TICKS_PER_STEP: Nanos = 64;

/// The phases of a handshake. It is complete in the last two.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Phase {
    Closed,
    Listen,
    SynSent,
    SynReceived,
    Failed,
    /// The SYN-ACK came, and its ACK has not left yet.
    SynAcked,
    Established,
}

/// What a segment means for a handshake that is not complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Nothing: the segment is ignored, or this end sends its SYN-ACK again.
    Nothing,
    /// The other end's SYN came. This end answers with a SYN-ACK.
    SynCame,
    /// The other end's SYN-ACK came. The connection is established.
    SynAckCame,
    /// The other end's ACK of the SYN-ACK came. The connection is established.
    AckCame,
}

/// The handshake of one end.
#[derive(Debug)]
pub struct Handshake {
    phase: Phase,
    /// When an unanswered SYN or SYN-ACK is sent again.
    deadline: Nanos,
    first_sent_at: Nanos,
    sent_at: Nanos,
    tries: u32,
    /// Deadlines are multiples of this; 0: any time.
    step: Nanos,
    /// How often the deadline has passed.
    timeouts: u32,
    /// Whether a SYN or SYN-ACK must be sent now.
    wanted: bool,
    established_at: Nanos,
}

impl Handshake {
    /// The handshake of a closed end on a host whose clock has this tick; 0: exact.
    pub fn new(tick: Nanos) -> Self {
        Self {
            phase: Phase::Closed,
            deadline: NEVER,
            first_sent_at: 0,
            sent_at: 0,
            tries: 0,
            step: TICKS_PER_STEP * tick,
            timeouts: 0,
            wanted: false,
            established_at: NEVER,
        }
    }

    /// Starts the handshake.
    pub fn connect(&mut self) {
        self.phase = Phase::SynSent;
        self.wanted = true;
    }

    /// Waits for the other end's SYN.
    pub fn listen(&mut self) {
        self.phase = Phase::Listen;
    }

    /// Whether it is complete.
    #[inline]
    pub fn is_complete(&self) -> bool {
        self.phase >= Phase::SynAcked
    }

    /// Whether it is complete and nothing of it must be sent any more.
    #[inline]
    pub fn is_over(&self) -> bool {
        self.phase == Phase::Established
    }

    /// Whether it was given up.
    pub fn has_failed(&self) -> bool {
        self.phase == Phase::Failed
    }

    /// Whether this end answers a SYN.
    pub fn is_answer(&self) -> bool {
        self.phase == Phase::SynReceived
    }

    /// When it was completed; [`NEVER`] before.
    pub fn established_at(&self) -> Nanos {
        self.established_at
    }

    /// Number of SYNs or SYN-ACKs sent.
    pub fn tries(&self) -> u32 {
        self.tries
    }

    /// When [`on_timer`](Self::on_timer) has something to do; [`NEVER`] if there is nothing.
    pub fn deadline(&self) -> Nanos {
        self.deadline
    }

    /// Processes a segment that came before the connection was established.
    pub fn on_segment(&mut self, now: Nanos, segment: &Segment) -> Step {
        match self.phase {
            Phase::Listen if segment.has(SYN) => {
                self.phase = Phase::SynReceived;
                self.wanted = true;
                Step::SynCame
            }
            Phase::SynSent if segment.has(SYN) && segment.has(ACK) => {
                self.complete(now, Phase::SynAcked);
                Step::SynAckCame
            }
            Phase::SynReceived if segment.has(SYN) => {
                self.wanted = true;
                Step::Nothing
            }
            Phase::SynReceived if segment.has(ACK) && segment.ack >= 1 => {
                self.complete(now, Phase::Established);
                Step::AckCame
            }
            _ => Step::Nothing,
        }
    }

    fn complete(&mut self, now: Nanos, phase: Phase) {
        self.phase = phase;
        self.established_at = now;
        self.deadline = NEVER;
        self.wanted = false;
    }

    /// The RTT that the complete handshake measured. Karn's algorithm: there is none if a SYN or SYN-ACK was sent again.
    pub fn rtt(&self) -> Option<Nanos> {
        (self.tries == 1).then(|| self.established_at - self.sent_at)
    }

    /// Whether SYNs or SYN-ACKs of this end were lost, so that its window must start with one segment (RFC 5681 section 3.1). As in Linux, one that was
    /// sent again may have been late. `answered` is the timestamp that the answer echoes.
    pub fn lost_several(&self, answered: u32) -> bool {
        let answers_first = answered == time_stamp(self.first_sent_at);
        self.tries > 2 && self.timeouts > 0 && !answers_first
    }

    /// Whether the ACK of the SYN-ACK must be sent now. The caller then sends it.
    pub fn poll_ack(&mut self) -> bool {
        let is_due = self.phase == Phase::SynAcked;
        if is_due {
            self.phase = Phase::Established;
        }
        is_due
    }

    /// Whether a SYN or SYN-ACK must be sent now. The caller then sends it.
    pub fn poll(&mut self, now: Nanos, rto: Nanos) -> bool {
        if !self.wanted {
            return false;
        }
        self.wanted = false;
        self.tries += 1;
        self.sent_at = now;
        if self.tries == 1 {
            self.first_sent_at = now;
        }
        let due = now + (rto << self.timeouts.min(6));
        self.deadline = match self.step {
            0 => due,
            step => (due / step + 1) * step,
        };
        true
    }

    /// Sends the SYN or SYN-ACK again if it is time, or gives up.
    pub fn on_timer(&mut self, now: Nanos) {
        if self.deadline > now {
            return;
        }
        self.deadline = NEVER;
        self.timeouts += 1;
        if self.timeouts > SYN_RETRIES {
            self.phase = Phase::Failed;
        } else {
            self.wanted = true;
        }
    }
}
