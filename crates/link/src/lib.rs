//! Rates, delays and losses that vary over time, and the transmitters of links.
//!
//! A [`Source`] gives the times and values of changes. Each source is one file, with its parameters and its algorithm. A [`Deliveries`] gives the
//! times at which a link may deliver, such as a mahimahi trace. Neither knows packets. Both depend only on their parameters and a random stream,
//! so future changes are known in advance: the end of a transmission is computed when it begins, and a change needs no event.

pub mod blockage;
pub mod blocked;
mod carrier;
mod course;
mod deliveries;
mod factory;
pub mod file;
mod fluid;
pub mod gilbert_elliott;
pub mod handover;
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
mod varying_delay;
mod varying_rate;

pub use carrier::{Carrier, Reading};
pub use course::Course;
pub use deliveries::{DELIVERY_BYTES, Deliveries};
pub use file::{Disk, Files, ReadOnce};
pub use handover::Pauses;
pub use quantity::{Probability, Quantity};
pub use registry::{DelayVariation, LoadedRate, RateVariation, Variation};
pub use serialization::Serialization;
pub use source::{Change, Source};
pub use timeline::{AtEnd, Piece, Timeline};
pub use varying_delay::{Part, Share, VaryDelay, VaryingDelay};
pub use varying_rate::VaryingRate;
