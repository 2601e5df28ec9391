//! Times as Linux's congestion controls count them.

use bloatlab_units::{MICROSECOND, MILLISECOND, Nanos};

/// A duration in whole microseconds, rounded up to milliseconds: Linux's jiffies at 1000 Hz.
pub fn milliseconds(time: Nanos) -> u64 {
    (time / MICROSECOND).div_ceil(MILLISECOND / MICROSECOND)
}
