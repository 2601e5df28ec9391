//! Observes and stops a run from outside.

use std::fmt;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use bloatlab_units::{Interrupt, Nanos, SECOND};

/// Shared between a run and its observer. It never changes what a run computes, only whether it goes on.
#[derive(Debug, Default)]
pub struct Control {
    cancelled: Interrupt,
    done: AtomicU64,
    failure: Mutex<Option<String>>,
    /// When the run checked this control, if that is recorded.
    looks: Option<Mutex<Vec<Instant>>>,
    /// Number of checks after which it cancels itself, if any.
    left: Option<AtomicU64>,
    avoids_fast_paths: bool,
}

/// Why a run ended early.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stopped {
    /// It was cancelled.
    Cancelled,
    /// A user's algorithm failed, with its message.
    Failed(String),
    /// Simulated time did not advance for more events than any scenario needs.
    Stalled(Stall),
}

/// Where simulated time did not move.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stall {
    /// The instant.
    pub at: Nanos,
    /// Events at this instant.
    pub events: u64,
    /// The box or flow of the last of them, by its name in the plan.
    pub what: String,
}

impl fmt::Display for Stall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { at, events, what } = self;
        let at = *at as f64 / SECOND as f64;
        write!(
            f,
            "{what}: simulated time did not move from {at} s for {events} events; give the path a delay or a lower rate"
        )
    }
}

impl fmt::Display for Stopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cancelled => f.write_str("cancelled"),
            Self::Failed(message) => f.write_str(message),
            Self::Stalled(stall) => stall.fmt(f),
        }
    }
}

impl std::error::Error for Stopped {}

impl Control {
    /// A control that also measures the time of each piece of the run.
    pub fn timed() -> Self {
        Self {
            looks: Some(Mutex::default()),
            ..Self::default()
        }
    }

    /// A control that cancels the run at its `number`th check, counted from 1. For tests of where a run can be stopped.
    pub fn cancelled_at(number: u64) -> Self {
        Self {
            left: Some(AtomicU64::new(number)),
            ..Self::default()
        }
    }

    /// A control whose run takes only slow paths. For tests that fast paths do not change results.
    pub fn without_fast_paths() -> Self {
        Self {
            avoids_fast_paths: true,
            ..Self::default()
        }
    }

    /// Whether the run may take fast paths.
    pub(crate) fn fast_paths(&self) -> bool {
        !self.avoids_fast_paths
    }

    /// Wall time of each piece of the run so far, ns. All pieces except the last have the same number of events, and every run of a scenario and seed
    /// has the same pieces. Building the network and summarizing the results are not included. Empty unless [`timed`](Self::timed).
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
        self.cancelled.set();
    }

    /// The flag that long loops within an event check.
    pub(crate) fn interrupt(&self) -> &Interrupt {
        &self.cancelled
    }

    /// Reports that a user's algorithm failed. The run then stops soon with this message.
    pub fn fail(&self, message: String) {
        if let Ok(mut failure) = self.failure.lock() {
            failure.get_or_insert(message);
        }
        self.cancel();
    }

    /// The share of the simulated time that has passed, 0 to 1.
    pub fn progress(&self) -> f64 {
        self.done.load(Ordering::Relaxed) as f64 / 1e6
    }

    /// Records the progress of the run, and checks whether it must stop.
    pub(crate) fn check(&self, now: Nanos, end: Nanos) -> Result<(), Stopped> {
        let done = u128::from(now) * 1_000_000 / u128::from(end.max(1));
        self.done.store(done as u64, Ordering::Relaxed);
        if let Some(looks) = &self.looks
            && let Ok(mut looks) = looks.lock()
        {
            looks.push(Instant::now());
        }
        self.heed()
    }

    /// Checks whether the run must stop. For long work during which time does not advance.
    pub(crate) fn heed(&self) -> Result<(), Stopped> {
        if let Some(left) = &self.left
            && left.fetch_sub(1, Ordering::Relaxed) == 1
        {
            self.cancel();
        }
        if !self.cancelled.is_set() {
            return Ok(());
        }
        let failure = self.failure.lock().ok().and_then(|failure| failure.clone());
        Err(failure.map_or(Stopped::Cancelled, Stopped::Failed))
    }
}
