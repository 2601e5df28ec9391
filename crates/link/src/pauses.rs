//! Pauses of a link.

use bloatlab_units::Nanos;

/// Times during which nothing arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pauses {
    /// When the first pause begins.
    pub(crate) first: Nanos,
    /// Time from the beginning of a pause to that of the next one.
    pub(crate) interval: Nanos,
    /// How long a pause lasts.
    pub(crate) pause: Nanos,
}

impl Pauses {
    /// Returns when a packet arrives that would arrive at this instant without pauses.
    pub fn arrival(&self, at: Nanos) -> Nanos {
        let Some(since) = at.checked_sub(self.first) else {
            return at;
        };
        at + self.pause.saturating_sub(since % self.interval)
    }
}
