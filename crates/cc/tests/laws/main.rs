//! The laws against numbers computed by hand, against invariants, and against their own golden tables.

mod bbr;
mod bbr3;
mod bic;
mod compound;
mod copa;
mod cubic;
mod fixed_rate;
mod golden;
mod harness;
mod highspeed;
mod htcp;
mod hybla;
mod hystart;
mod operations;
mod registry;
mod reno;
mod scalable;
mod vivace;
