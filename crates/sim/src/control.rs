//! How a run is watched and stopped from outside.

use std::fmt;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use bloatlab_units::Nanos;

/// Shared between a run and whoever watches it. It never changes what a run computes, only whether it goes on.
#[derive(Debug, Default)]
pub struct Control {
    cancelled: AtomicBool,
    done: AtomicU64,
    failure: Mutex<Option<String>>,
    /// When the run looked here, if that is to be known.
    looks: Option<Mutex<Vec<Instant>>>,
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
    /// One that also tells what each piece of the run took.
    pub fn timed() -> Self {
        Self {
            looks: Some(Mutex::default()),
            ..Self::default()
        }
    }

    /// Wall time of each piece of the run so far, ns: of equally many events each, but the last; the same pieces in every run of a scenario and seed.
    /// Building the network and summing up the results are in none. Empty unless [`timed`](Self::timed).
    pub fn laps(&self) -> Vec<u64> {
        let looks = self.looks.as_ref().and_then(|looks| looks.lock().ok());
        looks.map_or_else(Vec::new, |looks| {
            looks
                .windows(2)
                .map(|pair| (pair[1] - pair[0]).as_nanos() as u64)
                .collect()
        })
    }

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
        if let Some(looks) = &self.looks
            && let Ok(mut looks) = looks.lock()
        {
            looks.push(Instant::now());
        }
        if !self.cancelled.load(Ordering::Relaxed) {
            return Ok(());
        }
        let failure = self.failure.lock().ok().and_then(|mut f| f.take());
        Err(failure.map_or(Stopped::Cancelled, Stopped::Failed))
    }
}
