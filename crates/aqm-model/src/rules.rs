//! What a configuration promises besides what every queue does.

use bloatlab_units::{Bytes, Duration, Limit, Nanos, Rate, SECOND};
use serde_json::Value;

/// Kinds that may let a packet wait for as long as others of a higher class come: strict priority.
const STRICT: [&str; 2] = ["priority", "htb"];

/// Kinds that may reorder a flow: a flow that becomes a heavy hitter changes queues.
const REORDER: [&str; 1] = ["hhf"];

/// Flows that CAKE keeps apart for certain: where more share a set of its hash, a newcomer takes another's queue, whose later packets go to a
/// third one and may overtake.
const WAYS: u32 = 8;

/// The promises of one configuration.
#[derive(Clone, Debug)]
pub(crate) struct Rules {
    /// Most packets and bytes held.
    pub packets: u64,
    pub bytes: u64,
    /// Most buffers held, where the limit is in buffers.
    pub buffers: Option<u64>,
    /// Whether the link gets a packet whenever one is held: a queue that knows of no rate has no reason to hold one back.
    pub work_conserving: bool,
    /// Whether every packet leaves in the end, whatever else arrives.
    pub fair: bool,
    /// Most flows that may take turns to fill the link without keeping the others from it.
    pub rivals: u32,
    /// How many packets of rivals may leave for each of a class that is served: some classes have 1/64 of the link, or a weight says it.
    pub weight: u64,
    /// How many queues stand inside each other: each may mark a packet once.
    pub levels: u32,
    /// Whether packets of a flow leave in the order in which they came.
    pub in_order: bool,
    /// Longest time from one packet to the next while packets are held and the link is free.
    pub patience: Nanos,
}

impl Rules {
    pub fn new(value: &Value, flows: u32) -> Self {
        let mut seen = Seen::default();
        seen.walk(value, 0);
        let text = |name: &str| value[name].as_str();
        let memory = ["memory_limit", "memlimit"]
            .into_iter()
            .find_map(|name| text(name)?.parse::<Bytes>().ok());
        let mut rules = Self {
            packets: u64::MAX,
            bytes: memory.map_or(u64::MAX, |memory| memory.0),
            buffers: None,
            work_conserving: seen.rates == 0,
            fair: !seen.strict,
            // CAKE's flows are new again once they have been found empty, as in Linux, without RFC 8290 section 4.2's pass through the old
            // ones: two that come in turn, each found empty before its next packet, keep the link.
            rivals: if seen.associates { 1 } else { u32::MAX },
            weight: seen.weight.max(64),
            levels: seen.levels,
            in_order: !seen.reorders && (flows <= WAYS || !seen.associates),
            // The largest packet with its overhead in full, and again for tokens that others took.
            patience: 10 * SECOND + 16 * 8 * 65_535 * SECOND / seen.slowest.unwrap_or(SECOND),
        };
        match text("limit").and_then(|limit| limit.parse::<Limit>().ok()) {
            Some(Limit::Packets(most)) => rules.packets = most,
            Some(Limit::Bytes(most)) => rules.bytes = rules.bytes.min(most),
            Some(Limit::Buffers(most)) => {
                let segments = value["segments_per_buffer"].as_u64().unwrap_or(1);
                rules.packets = most.saturating_mul(segments);
                rules.buffers = Some(most);
            }
            None => {}
        }
        rules
    }
}

/// What stands anywhere in a configuration, also of queues within it.
#[derive(Default)]
struct Seen {
    rates: u32,
    /// Bits per second.
    slowest: Option<u64>,
    strict: bool,
    reorders: bool,
    associates: bool,
    weight: u64,
    levels: u32,
}

impl Seen {
    fn walk(&mut self, value: &Value, level: u32) {
        match value {
            Value::Object(table) => {
                let kind = table.get("kind").and_then(Value::as_str);
                self.strict |= kind.is_some_and(|kind| STRICT.contains(&kind));
                // RFC 9332 section 4.2.1: all of the link for one of the two queues is strict priority.
                let protection = table.get("classic_protection").and_then(Value::as_u64);
                self.strict |= protection.is_some_and(|share| share == 0 || share == 100);
                // SFQ begins all turns anew when it hashes anew, as Linux does, whose periods are whole seconds: where that is more often than
                // turns end, whose turn it is keeps it.
                let perturb = table.get("perturb").and_then(Value::as_str);
                let period = perturb.and_then(|text| text.parse::<Duration>().ok());
                self.strict |= period.is_some_and(|period| (1..SECOND).contains(&period.0));
                self.reorders |= kind.is_some_and(|kind| REORDER.contains(&kind));
                // A packet that a queue around it marked changes over to DualPI2's other queue.
                self.reorders |= kind == Some("dualpi2") && level > 0;
                self.associates |= kind == Some("cake");
                let weight = table.get("non_hh_weight").and_then(Value::as_u64);
                self.weight = self.weight.max(weight.unwrap_or(0));
                let level = level + u32::from(kind.is_some());
                self.levels = self.levels.max(level);
                table.values().for_each(|value| self.walk(value, level));
            }
            Value::Array(values) => values.iter().for_each(|value| self.walk(value, level)),
            Value::String(text) => {
                // DualPI2 with ECT(0) in the L4S queue parts a flow's ECN-capable packets from its others.
                self.reorders |= text == "any_ect";
                if let Ok(Rate(rate)) = text.parse() {
                    self.rates += 1;
                    let rate = rate.max(1);
                    self.slowest = Some(self.slowest.map_or(rate, |slowest| slowest.min(rate)));
                }
            }
            _ => {}
        }
    }
}
