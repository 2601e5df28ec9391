//! The common part of queues that contain other queues.

use bloatlab_params::within;
use bloatlab_units::Nanos;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use crate::{Context, Packet, Qdisc, QueueConfig};

/// The default inner queue.
pub(crate) fn default() -> QueueConfig {
    QueueConfig::Fifo(crate::fifo::Params::default())
}

/// Checks whether a queue may be inside another one, as its parameter `name`.
pub(crate) fn check(name: &str, queue: &QueueConfig) -> Result<(), String> {
    if matches!(queue, QueueConfig::Python(_)) {
        return Err(format!(
            "{name}: a queue of kind `python` cannot stand inside another queue"
        ));
    }
    queue.validate().map_err(|message| within(name, &message))
}

/// Builds the inner queue, empty.
pub(crate) fn build<P: Packet>(queue: &QueueConfig, context: Context) -> Box<dyn Qdisc<P>> {
    queue
        .build(context)
        .expect("a valid wrapper holds no Python queue")
}

/// Wakes the inner queue if that is due. A shaper without tokens does not ask its inner queue for packets, so the time for which that queue waited
/// may have passed.
pub(crate) fn catch_up<P: Packet>(inner: &mut dyn Qdisc<P>, now: Nanos) {
    if inner.next_wake().is_some_and(|at| at <= now) {
        inner.wake(now);
    }
}

/// Reads a list of queues. An error names the element.
pub(crate) fn list<'de, D: Deserializer<'de>>(reader: D) -> Result<Vec<QueueConfig>, D::Error> {
    use serde::de::Error;
    let values = Vec::<Value>::deserialize(reader)?;
    let read = |(place, value)| {
        serde_json::from_value(value).map_err(|error: serde_json::Error| {
            D::Error::custom(within(&format!("[{place}]"), &error.to_string()))
        })
    };
    values.into_iter().enumerate().map(read).collect()
}

/// Adds the statistics of an inner queue. Values of the same name are added.
pub fn add_stats(all: &mut Vec<(&'static str, f64)>, inner: Vec<(&'static str, f64)>) {
    for (name, value) in inner {
        match all.iter_mut().find(|(known, _)| *known == name) {
            Some((_, sum)) => *sum += value,
            None => all.push((name, value)),
        }
    }
}
