//! The output port of a link: a queue discipline, the ring of the device behind it, and the transmitter.
//!
//! A port does no I/O and reads no clock. Its owner passes the time, and learns through [`Egress`] what left. The simulator drives it with virtual
//! time; a link in real time drives the same code.

mod backlog;
mod mean_rate;
mod port;
mod signals;
mod transmitter;

pub use backlog::{Backlog, Framed};
pub use mean_rate::MeanRate;
pub use port::{Egress, Port};
pub use signals::Signals;
pub use transmitter::Transmitter;
