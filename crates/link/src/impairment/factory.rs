//! The interface of an impairment and of its parameters.

use bloatlab_units::{Interrupt, Nanos, Streams};

use crate::{Probability, Variation};

/// What happens to a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// It passes unchanged.
    Forward,
    /// It is dropped.
    Drop,
    /// It passes with a wrong checksum.
    Corrupt,
    /// It passes, and a copy follows at the same instant.
    Duplicate,
}

/// A box that acts on packets at once. It does not see the packet itself.
pub trait Impairment: Send {
    /// Decides what happens to the next packet. `now` never decreases from call to call.
    fn pass(&mut self, now: Nanos) -> Action;

    /// Sets the probability from now on. Only called if [`Factory::probability_mut`] returns one.
    fn set_probability(&mut self, _probability: f64) {}
}

/// Builds an impairment from its parameters. Every `Params` implements it.
pub trait Factory {
    /// The name of the box, which also names its random streams.
    fn name(&self) -> &str;

    /// Checks the parameters.
    ///
    /// # Errors
    /// The first invalid one, as `parameter: reason`.
    fn validate(&self) -> Result<(), String>;

    /// Builds the impairment. Once `interrupt` is set, values stop varying, so that a cancelled run ends soon.
    fn build(&self, streams: &Streams, interrupt: &Interrupt) -> Box<dyn Impairment>;

    /// The probability that a timeline may change; `None` if there is none.
    fn probability_mut(&mut self) -> Option<&mut f64> {
        None
    }

    /// How the probability varies, if it does.
    fn vary(&self) -> Option<&Variation<Probability>> {
        None
    }

    /// Whether it damages packets, so that receivers must verify checksums.
    fn corrupts(&self) -> bool {
        false
    }

    /// The largest mean number of packets that leave for each one that arrives.
    fn copies(&self) -> f64 {
        1.0
    }
}
