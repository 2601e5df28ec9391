//! What a transmitter with a varying rate can do, and did.

use bloatlab_units::{Interrupt, Nanos};

/// Work of a byte: its bits times 10^9, so that bit/s times ns is work too.
pub(crate) const WORK: u128 = 8_000_000_000;

/// What may be sent over time, read from front to back.
pub(crate) trait Supply: Send {
    /// Goes to this instant; says how much work was left undone until then. What belongs to the instant itself is passed by too.
    fn skip(&mut self, now: Nanos) -> u128;

    /// Goes to this instant, and leaves what belongs to it.
    fn watch(&mut self, now: Nanos);

    /// Sends these bytes from `now` on, where it stands; says when that ends, or `None` if not before the horizon is over.
    fn send(&mut self, now: Nanos, bytes: u64, horizon: Nanos) -> Option<Nanos>;

    /// Work that could have been done up to where it stands, if it has only watched.
    fn offered(&self) -> u128;

    /// Once this is set there is nothing more to go through.
    fn heed(&mut self, interrupt: &Interrupt);
}

/// Bits since the start, times 10^9.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reading {
    /// That could have been sent.
    pub offered: u128,
    /// That were sent.
    pub used: u128,
}

impl Reading {
    /// Share of what could have been sent since an earlier reading that was; `None` if nothing could.
    pub fn utilization(self, since: Self) -> Option<f64> {
        let offered = self.offered - since.offered;
        (offered > 0).then(|| self.used.saturating_sub(since.used) as f64 / offered as f64)
    }

    /// Mean rate since an earlier reading of `span` ns ago, bit/s.
    pub fn rate(self, since: Self, span: Nanos) -> f64 {
        (self.offered - since.offered) as f64 / span.max(1) as f64
    }
}

/// A transmitter with a varying rate. It looks ahead as far as the packet that it sends; a second copy of the same source stays with the
/// clock, for what is measured.
pub struct Carrier {
    ahead: Box<dyn Supply>,
    seen: Box<dyn Supply>,
    /// Nothing is looked for after this instant.
    horizon: Nanos,
    resting: bool,
    /// Bytes sent, and the work that was possible while there was nothing to send.
    sent: u64,
    undone: u128,
}

impl Carrier {
    /// From two copies of one supply.
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

    /// Once this is set nothing more can be sent, so that a walk through a supply of nothing ends.
    pub fn interrupted_by(mut self, interrupt: &Interrupt) -> Self {
        self.ahead.heed(interrupt);
        self.seen.heed(interrupt);
        self
    }

    /// Sends a packet from now on; says when its last bit is out (after the horizon: at some instant after it).
    pub fn transmit(&mut self, now: Nanos, bytes: u64) -> Nanos {
        if std::mem::take(&mut self.resting) {
            self.undone += self.ahead.skip(now);
        }
        self.sent += bytes;
        let end = self.ahead.send(now, bytes, self.horizon);
        end.unwrap_or(Nanos::MAX).min(self.horizon + 1)
    }

    /// Nothing follows the packet that has just been sent.
    pub fn rest(&mut self) {
        self.resting = true;
    }

    /// What could have been sent before this instant, and what was. What happens at the instant itself counts after it, whatever of it has
    /// been seen to already.
    pub fn read(&mut self, now: Nanos) -> Reading {
        self.seen.watch(now);
        let offered = self.seen.offered();
        Reading {
            offered,
            // While packets follow each other all that is offered is used.
            used: (u128::from(self.sent) * WORK).min(offered.saturating_sub(self.undone)),
        }
    }
}
