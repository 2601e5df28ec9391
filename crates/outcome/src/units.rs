//! Converts what engines count into the units of metrics and series.

use bloatlab_units::Nanos;

/// Nanoseconds in milliseconds.
pub const MS: f64 = 1e-6;

/// Bytes over nanoseconds, in Mbit/s.
pub fn mbps(bytes: f64, span: Nanos) -> f64 {
    if span == 0 {
        0.0
    } else {
        bytes * 8e3 / span as f64
    }
}

/// The mean in ms of times in nanoseconds; NaN if there are none.
pub fn mean_ms(sum: u64, count: u64) -> f64 {
    if count == 0 {
        f64::NAN
    } else {
        sum as f64 / count as f64 * 1e-6
    }
}
