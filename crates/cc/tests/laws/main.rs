//! The laws against numbers computed by hand, against invariants, and against their own golden tables.

mod bbr;
mod cdg;
mod cubic;
mod dctcp;
mod golden;
mod harness;
mod hystart;
mod illinois;
mod ledbat;
mod ledbat_plus_plus;
mod lp;
mod nice;
mod operations;
mod prague;
mod registry;
mod reno;
mod vegas;
mod veno;
mod westwood;
mod yeah;
