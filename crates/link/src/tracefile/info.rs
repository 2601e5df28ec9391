//! The description of a trace.

use bloatlab_units::{Duration, Nanos, Rate};
use serde::Serialize;

use super::{Format, TraceFile};

/// The description of a trace. Times are in s and rates in Mbit/s. Means are over time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Info {
    /// The format.
    pub format: Format,
    /// Number of lines or deliveries.
    pub entries: usize,
    /// Length of one pass.
    pub seconds: f64,
    /// Mean rate.
    pub mean: f64,
    /// Median over time of the rate.
    pub median: f64,
    /// The least rate.
    pub least: f64,
    /// The greatest rate.
    pub most: f64,
    /// A dip is a time below this rate.
    pub below: f64,
    /// Share of the time below that rate.
    pub share_below: f64,
    /// The dips.
    pub dips: Vec<Dip>,
}

/// A time during which the rate stays below a bound.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Dip {
    /// When it begins.
    pub at: f64,
    /// How long it lasts.
    pub seconds: f64,
    /// The least rate in it.
    pub least: f64,
}

impl TraceFile {
    /// Describes the trace. Dips are below the given rate, or below half of the median. Deliveries are counted over intervals of this length.
    ///
    /// # Errors
    /// The interval is so short that the trace has too many of them.
    pub fn info(&self, below: Option<Rate>, interval: Duration) -> Result<Info, String> {
        let rates = self.rates(interval)?;
        let whole: u128 = rates.iter().map(|(span, _)| u128::from(*span)).sum();
        let work: u128 = rates
            .iter()
            .map(|(span, rate)| u128::from(*span) * u128::from(rate.0))
            .sum();
        let mut sorted = rates.clone();
        sorted.sort_unstable_by_key(|(_, rate)| *rate);
        let mut passed = 0;
        let median = sorted.iter().find(|(span, _)| {
            passed += u128::from(*span);
            2 * passed >= whole
        });
        let median = median.map_or(0, |(_, rate)| rate.0);
        let below = below.map_or(median / 2, |rate| rate.0);
        let mut dips: Vec<Dip> = Vec::new();
        let (mut at, mut under, mut in_dip): (Nanos, Nanos, bool) = (0, 0, false);
        for &(span, rate) in &rates {
            let was_in_dip = std::mem::replace(&mut in_dip, rate.0 < below);
            if in_dip {
                under += span;
                let (length, level) = (seconds(span), megabits(rate.0 as f64));
                match dips.last_mut().filter(|_| was_in_dip) {
                    Some(dip) => {
                        dip.seconds += length;
                        dip.least = dip.least.min(level);
                    }
                    None => dips.push(Dip {
                        at: seconds(at),
                        seconds: length,
                        least: level,
                    }),
                }
            }
            at += span;
        }
        let bound = |found: Option<&(Nanos, Rate)>| found.map_or(0.0, |(_, rate)| rate.0 as f64);
        Ok(Info {
            format: self.format,
            entries: self.entries(),
            seconds: seconds(at),
            mean: megabits(work as f64 / whole.max(1) as f64),
            median: megabits(median as f64),
            least: megabits(bound(sorted.first())),
            most: megabits(bound(sorted.last())),
            below: megabits(below as f64),
            share_below: under as f64 / whole.max(1) as f64,
            dips,
        })
    }
}

fn seconds(span: Nanos) -> f64 {
    span as f64 * 1e-9
}

fn megabits(rate: f64) -> f64 {
    rate * 1e-6
}
