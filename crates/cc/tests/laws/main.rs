//! The laws against numbers computed by hand, against invariants, and against their own golden tables.

mod bbr;
mod cubic;
mod golden;
mod harness;
mod hystart;
mod operations;
mod registry;
mod reno;
