//! The laws against numbers computed by hand, against invariants, and against their own golden tables.

mod bbr;
mod cubic;
mod dctcp;
mod golden;
mod harness;
mod hystart;
mod operations;
mod prague;
mod registry;
mod reno;
