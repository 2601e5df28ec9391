//! The properties that depend on the configuration.

use bloatlab_units::{Bytes, Duration, Limit, Nanos, Rate, SECOND};
use serde_json::Value;

/// Kinds with strict priority, where a packet may wait for as long as packets of a higher class arrive.
const STRICT: [&str; 2] = ["priority", "htb"];

/// Kinds that may reorder a flow. In HHF, a flow that becomes a heavy hitter moves to another queue.
const REORDER: [&str; 1] = ["hhf"];

/// Number of flows that CAKE certainly separates. If more flows share a set of its hash, a new flow takes the queue of another one, whose later
/// packets go to a third queue and may overtake the earlier ones.
const WAYS: u32 = 8;

/// The properties that one configuration must have.
#[derive(Clone, Debug)]
pub(crate) struct Rules {
    /// Maximum number of packets and bytes held.
    pub packets: u64,
    pub bytes: u64,
    /// Maximum number of buffers held, if the limit is in buffers.
    pub buffers: Option<u64>,
    /// Whether the link gets a packet whenever one is held. A queue without a configured rate or delay has no reason to hold packets back.
    pub work_conserving: bool,
    /// Whether every packet leaves eventually, whatever else arrives.
    pub fair: bool,
    /// Maximum number of flows that may fill the link in turn without starving the others.
    pub rivals: u32,
    /// Number of packets of other flows that may leave for each packet of a flow. Some classes get 1/64 of the link, or a configured weight.
    pub weight: u64,
    /// The depth to which queues are nested. Each may mark a packet once.
    pub levels: u32,
    /// Whether packets of a flow leave in order of arrival.
    pub in_order: bool,
    /// Whether packets may move to another queue while they wait, because the hash of flows changes.
    pub moves: bool,
    /// Maximum time between two departures while packets are held and the link is free.
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
            work_conserving: seen.rates == 0 && !seen.delays,
            fair: !seen.strict,
            // As in Linux, CAKE's flows count as new again once found empty, without the pass through the old flows of RFC 8290, section 4.2. Two
            // flows that send in turn, each found empty before its next packet, therefore occupy the whole link.
            rivals: if seen.set_associative { 1 } else { u32::MAX },
            weight: seen.weight.max(64),
            levels: seen.levels,
            in_order: !seen.reorders && (flows <= WAYS || !seen.set_associative),
            moves: seen.moves,
            // The time for the largest packet with its maximum overhead at the lowest rate, doubled for tokens that other packets used.
            patience: 10 * SECOND
                + seen.delay
                + 16 * 8 * 65_535 * SECOND / seen.slowest.unwrap_or(SECOND),
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

/// Features found anywhere in a configuration, including its inner queues.
#[derive(Default)]
struct Seen {
    rates: u32,
    /// The lowest rate, in bits per second.
    slowest: Option<u64>,
    /// Whether a queue delays packets, and the sum of all delays.
    delays: bool,
    delay: u64,
    strict: bool,
    reorders: bool,
    moves: bool,
    set_associative: bool,
    weight: u64,
    levels: u32,
}

impl Seen {
    fn walk(&mut self, value: &Value, level: u32) {
        match value {
            Value::Object(table) => {
                let kind = table.get("kind").and_then(Value::as_str);
                self.strict |= kind.is_some_and(|kind| STRICT.contains(&kind));
                if kind == Some("netem") {
                    self.delays = true;
                    let delay = table.get("delay").and_then(Value::as_str);
                    let delay = delay.and_then(|text| text.parse::<Duration>().ok());
                    self.delay += delay.map_or(0, |delay| delay.0);
                }
                // A share of 0 or 100 % for one of the two queues is strict priority (RFC 9332, section 4.2.1).
                let protection = table.get("classic_protection").and_then(Value::as_u64);
                self.strict |= protection.is_some_and(|share| share == 0 || share == 100);
                // SFQ restarts all rounds when it changes its hash, as Linux does, where the period is in whole seconds. If that happens more often
                // than rounds end, the same flow is served again and again.
                let perturb = table.get("perturb").and_then(Value::as_str);
                let period = perturb.and_then(|text| text.parse::<Duration>().ok());
                self.strict |= period.is_some_and(|period| (1..SECOND).contains(&period.0));
                self.moves |= period.is_some_and(|period| period.0 > 0);
                self.reorders |= kind.is_some_and(|kind| REORDER.contains(&kind));
                // A packet that an outer queue marked moves to DualPI2's other queue.
                self.reorders |= kind == Some("dualpi2") && level > 0;
                self.set_associative |= kind == Some("cake");
                let weight = table.get("non_hh_weight").and_then(Value::as_u64);
                self.weight = self.weight.max(weight.unwrap_or(0));
                let level = level + u32::from(kind.is_some());
                self.levels = self.levels.max(level);
                table.values().for_each(|value| self.walk(value, level));
            }
            Value::Array(values) => values.iter().for_each(|value| self.walk(value, level)),
            Value::String(text) => {
                // With ECT(0) in the L4S queue, DualPI2 separates a flow's ECN-capable packets from its others.
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
