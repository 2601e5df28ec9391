//! When a transmitter in acknowledged mode polls for a status report, and how long it waits for one (TS 38.322 section 5.3.3).

use bloatlab_units::Nanos;

use super::params::Am;

/// The polls of a transmitter and their timer.
#[derive(Debug)]
pub(crate) struct Polls {
    pdu_limit: u32,
    byte_limit: u64,
    wait: Nanos,
    /// Number of PDUs and bytes of new data since the last poll.
    since: (u32, u64),
    /// The number after the highest one sent when the last poll was sent (POLL_SN + 1).
    below: u64,
    /// Whether the next PDU polls.
    due: bool,
    /// When t-PollRetransmit ends, or a silence of the same length.
    timer: Option<Nanos>,
    /// Whether the timer waits for the response to a poll.
    asked: bool,
}

impl Polls {
    pub(crate) fn new(params: &Am) -> Self {
        Self {
            pdu_limit: params.poll_pdu,
            byte_limit: params.poll_byte,
            wait: params.t_poll_retransmit,
            since: (0, 0),
            below: 0,
            due: false,
            timer: None,
            asked: false,
        }
    }

    /// Whether the next PDU polls.
    pub(crate) fn is_due(&self) -> bool {
        self.due
    }

    /// Counts a PDU with new data. Returns whether it polls.
    pub(crate) fn count(&mut self, bytes: u32) -> bool {
        self.since.0 += 1;
        self.since.1 += u64::from(bytes);
        let by_pdus = self.pdu_limit > 0 && self.since.0 >= self.pdu_limit;
        let by_bytes = self.byte_limit > 0 && self.since.1 >= self.byte_limit;
        self.due || by_pdus || by_bytes
    }

    /// Records that a PDU with a poll is sent. `next` is the number after the highest one sent.
    pub(crate) fn left(&mut self, now: Nanos, next: u64) {
        self.since = (0, 0);
        self.due = false;
        self.below = next;
        self.timer = Some(now + self.wait);
        self.asked = true;
    }

    /// Makes sure that unacknowledged data will be polled for. The last PDU polls only if it is known to be the last one, but a queue may still drop
    /// everything that waits behind it.
    pub(crate) fn guard(&mut self, now: Nanos) {
        if self.timer.is_none() {
            self.timer = Some(now + self.wait);
            self.asked = false;
        }
    }

    /// A report covers all numbers below `ack_sn`. If it covers the poll, the wait is over, whatever it says.
    pub(crate) fn answered(&mut self, ack_sn: u64) {
        if self.asked && self.below <= ack_sn {
            self.timer = None;
        }
    }

    /// Stops the timer, because nothing must be polled for.
    pub(crate) fn rest(&mut self) {
        self.timer = None;
    }

    /// When the timer ends.
    pub(crate) fn timer(&self) -> Option<Nanos> {
        self.timer
    }

    /// Stops the timer if it is due, and returns whether it was. A poll without a response is repeated.
    pub(crate) fn expire(&mut self, now: Nanos) -> bool {
        let ends = self.timer.is_some_and(|end| end <= now);
        if ends {
            self.timer = None;
            self.due |= self.asked;
        }
        ends
    }

    /// Resets everything.
    pub(crate) fn clear(&mut self) {
        self.since = (0, 0);
        self.below = 0;
        self.due = false;
        self.timer = None;
    }
}
