//! Model-based test of queues. It states the properties that every queue discipline must have under any sequence of operations, and checks them
//! against a simple reference model.
//!
//! An [`Episode`] is one queue of the registry with valid parameters, and a sequence of operations on it. Running it panics with the property that is
//! violated. Three drivers create episodes: proptest (`tests/model.rs` of `bloatlab-aqm`), a fuzzer from bytes (`fuzz/`), and a long random test
//! (`examples/soak.rs` of `bloatlab-aqm`). Every combination of field values is a valid episode, so a driver need not know which values are sensible.

mod config;
mod driver;
mod episode;
mod operation;
mod packet;
mod reference;
mod rules;
mod shrink;
#[cfg(test)]
mod tests;

pub use driver::EpisodeStats;
pub use episode::Episode;
pub use operation::Operation;
pub use packet::ModelPacket;
pub use shrink::shrink;
