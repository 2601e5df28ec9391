//! Rates, delays and losses that vary over time.
//!
//! A [`Source`] says when a value changes, and to what. Each source is one file, with its parameters and the code that draws from them.
//! A [`Deliveries`] says at which instants a link may deliver, as the traces of mahimahi do. Neither knows packets. Both depend only on their
//! parameters and a random stream, so their future is known: the end of a transmission is known when it begins, and a change needs no event.

pub mod blockage;
pub mod blocked;
mod carrier;
mod deliveries;
mod factory;
pub mod file;
mod fluid;
mod formats;
pub mod handover;
pub mod impairment;
pub mod jitter;
pub mod mahimahi;
pub mod markov;
pub mod mmwave;
pub mod poisson;
pub mod pulse;
mod quantity;
pub mod random_walk;
pub mod rate_file;
mod registry;
mod serialization;
pub mod sinusoid;
mod source;
pub mod steps;
mod timeline;
pub mod tracefile;
mod trajectory;
mod varying_delay;
mod varying_rate;

pub use carrier::{Carrier, Reading};
pub use deliveries::{DELIVERY_BYTES, Deliveries};
pub use file::{Disk, Files, ReadOnce};
pub use handover::Pauses;
pub use impairment::{Action, Impairment, ImpairmentConfig, gilbert_elliott};
pub use quantity::{Probability, Quantity};
pub use registry::{DelayVariation, LoadedRate, RateVariation, Variation};
pub use serialization::Serialization;
pub use source::{Change, Source};
pub use timeline::{AtEnd, Piece, Timeline};
pub use trajectory::Trajectory;
pub use varying_delay::{Part, Share, VaryDelay, VaryingDelay};
pub use varying_rate::VaryingRate;
