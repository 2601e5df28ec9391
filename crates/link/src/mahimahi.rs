//! Deliveries from a trace of mahimahi.

use std::sync::Arc;

use bloatlab_units::{MILLISECOND, NEVER, Nanos};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::formats::checked_milliseconds;
use crate::{DELIVERY_BYTES, Deliveries, Files, file};

/// Deliveries of 1500 bytes at the instants of a mahimahi trace: on each line a whole number of milliseconds, in ascending order. After the last line
/// the trace starts again, and the instant of that line is its new origin.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// The trace's file; a relative path starts at the working directory. Either this or `deliveries`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The trace itself: milliseconds, ascending. Either this or `file`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 10_000_000))]
    pub deliveries: Vec<u32>,
    /// XXH3 (128 bits, hexadecimal) of the file. Filled in when the scenario is read; where it is given, another file is refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
}

/// A trace in memory.
#[derive(Clone, Debug, PartialEq)]
pub struct Trace {
    milliseconds: Arc<[u32]>,
}

impl Params {
    /// Reads the file, if there is one, and notes its digest.
    ///
    /// # Errors
    /// `parameter: file:line: reason`, in one line.
    pub fn read(&mut self, files: &dyn Files) -> Result<Trace, String> {
        let Some(file) = &self.file else {
            if self.digest.is_some() {
                return Err("digest: goes with `file`".to_owned());
            }
            let values = self.deliveries.iter().copied().map(Ok);
            return checked_milliseconds(values).map(Trace::new).map_err(
                |(place, why)| match place {
                    Some(place) => format!("deliveries[{place}]: {why}"),
                    None => format!("deliveries: {why}"),
                },
            );
        };
        if !self.deliveries.is_empty() {
            return Err("deliveries: give either `file` or `deliveries`".to_owned());
        }
        let (bytes, digest) = file::open(files, file, self.digest.as_deref())?;
        let text = String::from_utf8_lossy(&bytes);
        let lines = text.lines().map(|line| {
            let parsed = line.trim_end().parse::<u32>();
            parsed.map_err(|_| "must be a whole number of milliseconds".to_owned())
        });
        let milliseconds = checked_milliseconds(lines).map_err(|(place, why)| match place {
            Some(place) => format!("file: `{file}` line {}: {why}", place + 1),
            None => format!("file: `{file}` {why}"),
        })?;
        self.digest = Some(digest);
        Ok(Trace::new(milliseconds))
    }
}

impl Trace {
    fn new(milliseconds: Vec<u32>) -> Self {
        Self {
            milliseconds: milliseconds.into(),
        }
    }

    /// The milliseconds of one pass.
    pub fn milliseconds(&self) -> impl Iterator<Item = u64> + '_ {
        self.milliseconds.iter().map(|at| u64::from(*at))
    }

    /// Mean rate over one pass, bit/s.
    pub fn mean_rate(&self) -> f64 {
        let last = self.milliseconds.last().copied().unwrap_or(1);
        (self.milliseconds.len() as u64 * DELIVERY_BYTES * 8_000) as f64 / f64::from(last.max(1))
    }

    /// The greatest rate over any second, bit/s.
    pub fn peak_rate(&self) -> f64 {
        let trace = &self.milliseconds;
        let mut first = 0;
        let most = (0..trace.len()).map(|last| {
            while trace[last] - trace[first] >= 1000 {
                first += 1;
            }
            last + 1 - first
        });
        let second = (most.max().unwrap_or(0) as u64 * DELIVERY_BYTES * 8) as f64;
        // A trace shorter than a second starts again within it.
        second.max(self.mean_rate())
    }

    /// The deliveries, without end.
    pub fn deliveries(&self) -> Box<dyn Deliveries> {
        Box::new(Replay {
            milliseconds: self.milliseconds.clone(),
            place: 0,
            origin: 0,
        })
    }
}

struct Replay {
    milliseconds: Arc<[u32]>,
    place: usize,
    /// When the current pass began, ms.
    origin: u64,
}

impl Deliveries for Replay {
    fn next(&mut self) -> Nanos {
        let at = self.origin + u64::from(self.milliseconds[self.place]);
        self.place += 1;
        if self.place == self.milliseconds.len() {
            self.place = 0;
            self.origin = at;
        }
        at.checked_mul(MILLISECOND).unwrap_or(NEVER)
    }
}
