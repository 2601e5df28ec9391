//! What the queues that hold other queues have in common.

use bloatlab_params::within;
use bloatlab_units::Nanos;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use crate::{Context, Packet, Qdisc, QueueConfig};

/// The queue that a wrapper holds, unless told otherwise.
pub(crate) fn default() -> QueueConfig {
    QueueConfig::Fifo(crate::fifo::Params::default())
}

/// Says whether a queue may stand in another, in its parameter of this name.
pub(crate) fn check(name: &str, queue: &QueueConfig) -> Result<(), String> {
    if matches!(queue, QueueConfig::Python(_)) {
        return Err(format!(
            "{name}: a queue of kind `python` cannot stand inside another queue"
        ));
    }
    queue.validate().map_err(|message| within(name, &message))
}

/// The queue, empty.
pub(crate) fn build<P: Packet>(queue: &QueueConfig, context: Context) -> Box<dyn Qdisc<P>> {
    queue
        .build(context)
        .expect("a valid wrapper holds no Python queue")
}

/// Wakes the inner queue if it is due. A wrapper that has nothing to spend does not ask its queue for packets, and what that one waited for
/// may have come meanwhile.
pub(crate) fn catch_up<P: Packet>(inner: &mut dyn Qdisc<P>, now: Nanos) {
    if inner.next_wake().is_some_and(|at| at <= now) {
        inner.wake(now);
    }
}

/// Reads a list of queues; a complaint names the one at fault.
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

/// Adds what an inner queue reports; of two values of one name, the sum.
pub(crate) fn add_stats(all: &mut Vec<(&'static str, f64)>, inner: Vec<(&'static str, f64)>) {
    for (name, value) in inner {
        match all.iter_mut().find(|(known, _)| *known == name) {
            Some((_, sum)) => *sum += value,
            None => all.push((name, value)),
        }
    }
}
