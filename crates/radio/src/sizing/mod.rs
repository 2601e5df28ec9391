//! Laws that keep the buffer of the radio short, so that packets wait where a queue discipline can treat them: in SDAP or in the UPF.
//!
//! Each sees what went in and out at the end of a transmission time interval (TTI), and answers how much may follow. None knows a packet.

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
pub use registry::{Law, Sizing};
pub use upf_pacer::UpfPacer;

use bloatlab_units::Duration;

/// Refuses a duration outside of its bounds, as `name: reason`.
fn lasts(name: &str, value: Duration, low: u64, high: u64) -> Result<(), String> {
    if (low..=high).contains(&value.0) {
        return Ok(());
    }
    let (low, high) = (Duration(low), Duration(high));
    Err(format!(
        "{name}: must be between {low} and {high}, not {value}"
    ))
}

/// Refuses a count outside of its bounds, as `name: reason`.
fn counts(name: &str, value: u64, low: u64, high: u64) -> Result<(), String> {
    if (low..=high).contains(&value) {
        return Ok(());
    }
    Err(format!(
        "{name}: must be between {low} and {high}, not {value}"
    ))
}
