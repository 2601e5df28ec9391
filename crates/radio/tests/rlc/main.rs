//! Radio link control and packet data convergence, tested through their public interfaces.

mod acknowledged;
mod air;
mod numbering;
mod packings;
mod settings;
mod statuses;
mod unacknowledged;
