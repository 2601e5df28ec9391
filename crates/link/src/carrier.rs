//! A transmitter with a varying rate: what it can send, and what it has sent.

use bloatlab_units::{Interrupt, Nanos};

/// Work of a byte: its bits times 10^9. In this unit, a rate in bit/s times a time in ns is work.
pub(crate) const WORK: u128 = 8_000_000_000;

/// What may be sent over time, read from front to back.
pub(crate) trait Supply: Send {
    /// Advances to this instant without sending, and includes the instant. Returns the work that would have been possible.
    fn skip(&mut self, now: Nanos) -> u128;

    /// Advances to this instant without sending, and excludes the instant.
    fn watch(&mut self, now: Nanos);

    /// Sends these bytes from `now` on, the instant that it has reached. Returns when that ends, or `None` if it ends after the horizon.
    fn send(&mut self, now: Nanos, bytes: u64, horizon: Nanos) -> Option<Nanos>;

    /// Work that was possible up to the instant that it has reached, if it has sent nothing.
    fn offered(&self) -> u128;

    /// Once this is set, the supply ends.
    fn heed(&mut self, interrupt: &Interrupt);
}

/// Bits since the start, times 10^9.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reading {
    /// Bits that could have been sent.
    pub offered: u128,
    /// Bits that were sent.
    pub used: u128,
}

impl Reading {
    /// Sent bits over bits that could have been sent, since an earlier reading; `None` if nothing could have been sent.
    pub fn utilization(self, since: Self) -> Option<f64> {
        let offered = self.offered - since.offered;
        (offered > 0).then(|| self.used.saturating_sub(since.used) as f64 / offered as f64)
    }

    /// Mean rate in bit/s since an earlier reading, `span` ns ago.
    pub fn rate(self, since: Self, span: Nanos) -> f64 {
        (self.offered - since.offered) as f64 / span.max(1) as f64
    }
}

/// A transmitter with a varying rate. One copy of the source runs ahead to the end of the packet that is being sent. A second copy stays at the
/// present instant, for measurements.
pub struct Carrier {
    ahead: Box<dyn Supply>,
    seen: Box<dyn Supply>,
    /// End of the run. Changes after it are ignored.
    horizon: Nanos,
    resting: bool,
    /// Bytes sent, and the work that was possible while the transmitter was idle.
    sent: u64,
    undone: u128,
}

impl Carrier {
    /// A transmitter with two copies of one supply.
    pub(crate) fn new(copies: [Box<dyn Supply>; 2], horizon: Nanos) -> Self {
        let [ahead, seen] = copies;
        Self {
            ahead,
            seen,
            horizon,
            resting: true,
            sent: 0,
            undone: 0,
        }
    }

    /// Once this is set, nothing more is sent. So a long search through a supply with a rate of 0 ends.
    pub fn interrupted_by(mut self, interrupt: &Interrupt) -> Self {
        self.ahead.heed(interrupt);
        self.seen.heed(interrupt);
        self
    }

    /// Sends a packet from now on. Returns when its last bit is sent, or any instant after the horizon if that is later.
    pub fn transmit(&mut self, now: Nanos, bytes: u64) -> Nanos {
        if std::mem::take(&mut self.resting) {
            self.undone += self.ahead.skip(now);
        }
        self.sent += bytes;
        let end = self.ahead.send(now, bytes, self.horizon);
        end.unwrap_or(Nanos::MAX).min(self.horizon + 1)
    }

    /// No packet follows the one that has just been sent.
    pub fn rest(&mut self) {
        self.resting = true;
    }

    /// Bits that could have been sent, and bits that were sent, before this instant. The instant itself is excluded, even if its deliveries have
    /// already been used.
    pub fn read(&mut self, now: Nanos) -> Reading {
        self.seen.watch(now);
        let offered = self.seen.offered();
        Reading {
            offered,
            // A busy transmitter uses everything.
            used: (u128::from(self.sent) * WORK).min(offered.saturating_sub(self.undone)),
        }
    }
}
