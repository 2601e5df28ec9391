//! Outages.

use bloatlab_units::{Duration, Interrupt, MILLISECOND, Nanos, Streams};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::factory::{Action, Factory, Impairment};
use crate::factory::{HOUR, between};

/// Drops every packet during an outage, which may repeat. Packets that are already behind the box arrive.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// Unique name.
    pub name: String,
    /// When the first outage begins, at most 24 h.
    pub first: Duration,
    /// How long an outage lasts; above 0, at most 1 h.
    pub length: Duration,
    /// Time from the beginning of one outage to the beginning of the next, from 1 ms to 1 h and above `length`; absent: there is one outage.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<Duration>,
}

impl Factory for Params {
    fn name(&self) -> &str {
        &self.name
    }

    fn validate(&self) -> Result<(), String> {
        between("first", self.first, 0, 24 * HOUR)?;
        between("length", self.length, 1, HOUR)?;
        let Some(interval) = self.interval else {
            return Ok(());
        };
        between("interval", interval, MILLISECOND, HOUR)?;
        if self.length < interval {
            return Ok(());
        }
        let length = self.length;
        Err(format!(
            "interval: must be above `length`, {length}, not {interval}"
        ))
    }

    fn build(&self, _streams: &Streams, _interrupt: &Interrupt) -> Box<dyn Impairment> {
        Box::new(Outages {
            first: self.first.0,
            length: self.length.0,
            interval: self.interval.map(|interval| interval.0),
        })
    }
}

struct Outages {
    first: Nanos,
    length: Nanos,
    interval: Option<Nanos>,
}

impl Impairment for Outages {
    fn pass(&mut self, now: Nanos) -> Action {
        let Some(since_first) = now.checked_sub(self.first) else {
            return Action::Forward;
        };
        let since_last = self
            .interval
            .map_or(since_first, |interval| since_first % interval);
        if since_last < self.length {
            Action::Drop
        } else {
            Action::Forward
        }
    }
}
