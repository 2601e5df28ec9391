//! A delay that changes at handovers.

use bloatlab_units::{Duration, MILLISECOND, Nanos, Rng, SECOND};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::factory::{Factory, HOUR, between};
use crate::{Change, Pauses, Quantity, Source};

/// A delay that is drawn uniformly between two bounds at each handover. During the `pause` of a handover nothing arrives.
///
/// Packets that would arrive during a pause arrive together at its end. Before the first handover the delay is the constant one beside `vary`.
/// Starlink reassigns satellites every 15 s.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// The least delay.
    pub min: Duration,
    /// The greatest delay.
    pub max: Duration,
    /// Time between two handovers, from 1 ms to 1 h.
    #[serde(default = "interval")]
    pub interval: Duration,
    /// The first handover; absent: after one interval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first: Option<Duration>,
    /// How long nothing arrives after a handover; shorter than `interval`.
    #[serde(default)]
    pub pause: Duration,
}

fn interval() -> Duration {
    Duration(15 * SECOND)
}

impl Params {
    fn first(&self) -> Nanos {
        self.first.map_or(self.interval.0, |first| first.0)
    }
}

impl Factory for Params {
    /// The pauses, if there are any.
    fn pauses(&self) -> Option<Pauses> {
        (self.pause.0 > 0).then(|| Pauses {
            first: self.first(),
            interval: self.interval.0,
            pause: self.pause.0,
        })
    }

    fn validate(&self) -> Result<(), String> {
        self.max.check("max")?;
        if self.min > self.max {
            let (min, max) = (self.min, self.max);
            return Err(format!("min: must be at most `max`, {max}, not {min}"));
        }
        between("interval", self.interval, MILLISECOND, HOUR)?;
        if let Some(first) = self.first {
            first.check("first")?;
        }
        if self.pause < self.interval {
            return Ok(());
        }
        let (pause, interval) = (self.pause, self.interval);
        Err(format!(
            "pause: must be below `interval`, {interval}, not {pause}"
        ))
    }

    fn bounds(&self, nominal: f64) -> (f64, f64) {
        let (min, max) = (self.min.number(), self.max.number());
        (min.min(nominal), max.max(nominal) + self.pause.number())
    }

    fn source(&self, _nominal: f64, rng: Rng) -> Box<dyn Source> {
        Box::new(Handovers {
            min: self.min.0,
            range: self.max.0 - self.min.0,
            interval: self.interval.0,
            next: self.first(),
            rng,
        })
    }
}

struct Handovers {
    min: Nanos,
    range: Nanos,
    interval: Nanos,
    next: Nanos,
    rng: Rng,
}

impl Source for Handovers {
    fn next(&mut self) -> Change {
        let at = self.next;
        self.next += self.interval;
        let delay = self.min + self.rng.below(self.range + 1);
        Change {
            at,
            value: delay as f64,
        }
    }
}
