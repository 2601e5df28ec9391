//! Times as Linux's congestion controls count them.

use bloatlab_units::{MICROSECOND, Nanos};

/// A duration in whole microseconds, rounded up to jiffies of this length.
pub fn jiffies(time: Nanos, length: Nanos) -> u64 {
    (time / MICROSECOND * MICROSECOND).div_ceil(length)
}
