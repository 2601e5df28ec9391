//! How a run is watched and stopped from outside.

use std::fmt;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use bloatlab_units::Nanos;

/// Shared between a run and whoever watches it. It never changes what a run computes, only whether it goes on.
#[derive(Debug, Default)]
pub struct Control {
    cancelled: AtomicBool,
    done: AtomicU64,
    failure: Mutex<Option<String>>,
}

/// Why a run ended early.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stopped {
    /// It was cancelled.
    Cancelled,
    /// A user's algorithm failed, with its message.
    Failed(String),
}

impl fmt::Display for Stopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cancelled => f.write_str("cancelled"),
            Self::Failed(message) => f.write_str(message),
        }
    }
}

impl std::error::Error for Stopped {}

impl Control {
    /// Asks the run to stop.
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }

    /// Reports that a user's algorithm failed: the run stops soon with this message.
    pub fn fail(&self, message: String) {
        if let Ok(mut failure) = self.failure.lock() {
            failure.get_or_insert(message);
        }
        self.cancel();
    }

    /// How much of the simulated time is over, 0 to 1.
    pub fn progress(&self) -> f64 {
        self.done.load(Ordering::Relaxed) as f64 / 1e6
    }

    pub(crate) fn check(&self, now: Nanos, end: Nanos) -> Result<(), Stopped> {
        let done = u128::from(now) * 1_000_000 / u128::from(end.max(1));
        self.done.store(done as u64, Ordering::Relaxed);
        if !self.cancelled.load(Ordering::Relaxed) {
            return Ok(());
        }
        let failure = self.failure.lock().ok().and_then(|mut f| f.take());
        Err(failure.map_or(Stopped::Cancelled, Stopped::Failed))
    }
}
