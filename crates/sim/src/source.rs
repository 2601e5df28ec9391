//! A source of messages of one size.

use bloatlab_units::{Nanos, Rate};

/// When messages are due.
pub(crate) trait Times {
    /// The instant of the first message of a source that starts now.
    fn first(&mut self, now: Nanos) -> Nanos;

    /// The instant of the message after one sent now.
    fn next(&mut self, now: Nanos) -> Nanos;
}

/// A source of messages of one size.
pub(crate) struct Source {
    pub times: Box<dyn Times>,
    /// Payload bytes of a message.
    pub size: u64,
}

/// The interval of messages at a constant rate. Remainders are carried on, so that rounding errors do not accumulate.
pub(crate) struct Spacing {
    rate: Rate,
    size: u64,
    remainder: u64,
}

impl Spacing {
    pub fn new(rate: Rate, size: u64) -> Self {
        Self {
            rate,
            size,
            remainder: 0,
        }
    }

    /// The time to the next message.
    pub fn next(&mut self) -> Nanos {
        let (step, remainder) = self.rate.transmit(self.size, self.remainder);
        self.remainder = remainder;
        step.max(1)
    }
}
