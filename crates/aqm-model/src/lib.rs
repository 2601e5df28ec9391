//! The operation model: what every queue discipline must do whatever happens to it, checked beside the simplest account of what it holds.
//!
//! An [`Episode`] is one queue of the registry with some valid parameters, and what happens to it. It runs, or panics with the promise that
//! was broken. Three drivers make episodes: proptest (`tests/model.rs` of `bloatlab-aqm`), a fuzzer from bytes (`fuzz/`), and a soak from a
//! seed (`examples/soak.rs` of `bloatlab-aqm`). Any value of any field is an episode, so that none of them need know what is sensible.

mod account;
mod config;
mod driver;
mod episode;
mod operation;
mod packet;
mod rules;
mod shrink;
#[cfg(test)]
mod tests;

pub use driver::Tally;
pub use episode::Episode;
pub use operation::Operation;
pub use packet::ModelPacket;
pub use shrink::shrink;
