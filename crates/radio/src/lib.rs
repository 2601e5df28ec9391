//! The 5G cell as a link: channel, physical layer and slots, HARQ, schedulers, RLC and PDCP.
//!
//! Sans-IO: every call is told the time, and randomness comes as a stream, so a cell is a function of its parameters, its input and a seed.

pub mod pdcp;
pub mod rlc;
