//! The samples of the links while a run lasts, for a thread that shows them.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use bloatlab_outcome::Series;

use crate::kernel_links::Row;

/// One row of each link at an instant.
#[derive(Clone, Debug)]
pub struct Sample {
    /// Time since the start of the run, s.
    pub time: f64,
    /// Index of the link, and the values of its columns.
    pub rows: Vec<(u32, Vec<f64>)>,
}

/// Samples that nobody has taken yet. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct Samples {
    waiting: Arc<Mutex<Vec<Sample>>>,
    names: Arc<OnceLock<Names>>,
}

/// What the numbers of samples stand for.
#[derive(Clone, Debug)]
pub struct Names {
    /// The links.
    pub links: Vec<String>,
    /// The columns.
    pub columns: Vec<&'static str>,
}

impl Samples {
    /// Takes all samples. The names are known as soon as there is a sample.
    pub fn take(&self) -> (Vec<Sample>, Option<&Names>) {
        // The lock is good even if a thread panicked while it held it: a list is never visible in part.
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        (std::mem::take(&mut *waiting), self.names.get())
    }

    /// Says what the numbers of the samples stand for. Only the first call counts.
    pub(crate) fn name(&self, names: Names) {
        let _ = self.names.set(names);
    }

    /// Adds the last `count` rows of a series: one or more samples.
    pub(crate) fn add(&self, series: &Series, count: usize) {
        let mut samples: Vec<Sample> = Vec::new();
        for (time, link, values) in series.last_rows(count) {
            match samples.last_mut().filter(|sample| sample.time == time) {
                Some(sample) => sample.rows.push((link, values)),
                None => samples.push(Sample {
                    time,
                    rows: vec![(link, values)],
                }),
            }
        }
        samples
            .into_iter()
            .rev()
            .for_each(|sample| self.push(sample));
    }

    /// Adds a sample of the kernel's links.
    pub(crate) fn add_rows(&self, time: f64, rows: &[Row]) {
        let rows = rows.iter().map(|(link, values)| (*link, values.to_vec()));
        let rows = rows.collect();
        self.push(Sample { time, rows });
    }

    fn push(&self, sample: Sample) {
        // The link does not wait for a thread that takes samples.
        if let Ok(mut waiting) = self.waiting.try_lock() {
            waiting.push(sample);
        }
    }
}
