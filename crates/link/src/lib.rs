//! Rates, delays and losses that vary over time.
//!
//! A [`Source`] says when a value changes, and to what. Each source is one file, with its parameters and the code that draws from them.
//! A [`Deliveries`] says at which instants a link may deliver, as the traces of mahimahi do. Neither knows packets. Both depend only on their
//! parameters and a random stream, so their future is known: the end of a transmission is known when it begins, and a change needs no event.

#[macro_use]
mod registry;

pub mod blockage;
mod carrier;
mod deliveries;
mod factory;
pub mod file;
mod fluid;
mod formats;
pub mod impairment;
pub mod jitter;
mod loaded_rate;
pub mod mahimahi;
mod pauses;
pub mod poisson;
mod quantity;
pub mod rate_file;
mod serialization;
mod source;
mod timeline;
pub mod tracefile;
mod trajectory;
mod variation;
mod varying_delay;
mod varying_rate;

pub use carrier::{Carrier, Reading};
pub use deliveries::{DELIVERY_BYTES, Deliveries};
pub use file::{Disk, Files, ReadOnce};
pub use impairment::{Action, Impairment, ImpairmentConfig, VaryingProbability, gilbert_elliott};
pub use loaded_rate::LoadedRate;
pub use pauses::Pauses;
pub use quantity::{Probability, Quantity};
pub use serialization::Serialization;
pub use source::{Change, Source};
pub use timeline::{AtEnd, Piece, Timeline};
pub use trajectory::Trajectory;
pub use varying_delay::{Part, Share, VaryDelay, VaryingDelay};
pub use varying_rate::VaryingRate;

// One line per generator: its variant and its module. The name of the variant is the kind.
registry! {
    any: {
        /// Set at given instants.
        Steps => steps,
        /// A square wave.
        Pulse => pulse,
        /// A random walk between two bounds.
        RandomWalk => random_walk,
        /// Jumps between states.
        Markov => markov,
        /// A sine wave around a mean.
        Sinusoid => sinusoid,
    }
    delay: {
        /// Drawn at each handover.
        Handover => handover,
    }
    rate: {
        /// A 60 GHz link.
        Mmwave => mmwave,
        /// A radio link whose path is blocked at times.
        Blockage => blocked,
    }
}
