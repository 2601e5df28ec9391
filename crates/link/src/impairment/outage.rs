//! Outages.

use bloatlab_units::{Duration, Interrupt, MILLISECOND, NEVER, Nanos, Streams};
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

impl Params {
    /// Whether there is an outage at this instant, and when that changes; the end of time if it never does.
    pub fn at(&self, now: Nanos) -> (bool, Nanos) {
        let (first, length) = (self.first.0, self.length.0);
        let Some(since_first) = now.checked_sub(first) else {
            return (false, first);
        };
        let since_last = self
            .interval
            .map_or(since_first, |interval| since_first % interval.0);
        let began = now - since_last;
        if since_last < length {
            return (true, began + length);
        }
        let next = self.interval.map(|interval| began + interval.0);
        (false, next.unwrap_or(NEVER))
    }
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
        Box::new(self.clone())
    }
}

impl Impairment for Params {
    fn pass(&mut self, now: Nanos) -> Action {
        match self.at(now) {
            (true, _) => Action::Drop,
            (false, _) => Action::Forward,
        }
    }
}
