//! The 5G cell as a link: channel, physical layer and slots, HARQ, schedulers, RLC and PDCP.
//!
//! It does no I/O. Time is an argument of every call, and randomness comes as a stream, so a cell is a function of its parameters, its input and a
//! seed.

mod amc;
pub mod bler;
pub mod cell;
pub mod channel;
mod infinite;
mod mcs;
mod numerology;
pub mod pdcp;
pub mod rlc;
pub mod sizing;
#[cfg(test)]
mod test_data;
mod transport_block;

pub use amc::{Amc, mcs_of_cqi, shannon_cqi};
pub use channel::{Band, Channel, ChannelParams};
pub use infinite::{OrInfinite, Quantity};
pub use mcs::{McsTable, Scheme};
pub use numerology::{FR2_BEGINS, Numerology, SUBCARRIERS, SYMBOLS};
pub use transport_block::{Rule, Shape, TransportBlock, TransportBlocks};
