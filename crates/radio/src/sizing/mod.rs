//! Algorithms that keep the buffer of the radio short, so that packets wait where a queue discipline can handle them: in SDAP or in the UPF.
//!
//! Each algorithm learns at the end of every transmission time interval (TTI) how much went in and out, and decides how much may follow. It never
//! sees a packet.

pub mod bdp;
pub mod drql;
pub mod dynrlc;
pub mod l4span;
mod registry;
pub mod upf_pacer;

pub use bdp::Bdp;
pub use drql::Drql;
pub use dynrlc::DynRlc;
pub use l4span::L4Span;
pub use registry::{Sizing, SizingAlgorithm};
pub use upf_pacer::UpfPacer;

use bloatlab_units::Duration;

/// Checks the range of a duration. The error is `name: reason`.
fn lasts(name: &str, value: Duration, low: u64, high: u64) -> Result<(), String> {
    if (low..=high).contains(&value.0) {
        return Ok(());
    }
    let (low, high) = (Duration(low), Duration(high));
    Err(format!(
        "{name}: must be between {low} and {high}, not {value}"
    ))
}

/// Checks the range of a number. The error is `name: reason`.
fn counts(name: &str, value: u64, low: u64, high: u64) -> Result<(), String> {
    if (low..=high).contains(&value) {
        return Ok(());
    }
    Err(format!(
        "{name}: must be between {low} and {high}, not {value}"
    ))
}
