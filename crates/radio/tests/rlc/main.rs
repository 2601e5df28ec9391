//! Radio link control and packet data convergence, from the outside.

mod acknowledged;
mod air;
mod numbering;
mod packings;
mod settings;
mod statuses;
mod unacknowledged;
