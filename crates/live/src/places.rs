//! Where the routers see packets, and how many at a time.

use bloatlab_scenario::{Plan, PlanBoxKind, PlanFlow};
use bloatlab_units::{MILLISECOND, Nanos, SECOND};

/// Packets that the tap holds between two turns, at least and at most. A large ring does not stay in a processor's cache.
const FEWEST_SEEN: usize = 1 << 13;
const MOST_SEEN: usize = 1 << 16;
/// Connections send at most what their links carry in this time between two turns.
const BURST: Nanos = 250 * MILLISECOND;

/// Where a packet has come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// It has left its host.
    Host,
    /// It has passed this hop.
    Hop(usize),
}

/// Where packets are that come by a device, by its index.
#[derive(Default)]
pub(crate) struct Places(Vec<Option<Place>>);

impl Places {
    /// Notes where packets are that come by a device.
    pub fn put(&mut self, device: u32, place: Place) {
        let index = device as usize;
        self.0.resize(self.0.len().max(index + 1), None);
        self.0[index] = Some(place);
    }

    /// Where a packet is that comes by this device.
    pub fn of(&self, device: u32) -> Option<Place> {
        self.0.get(device as usize).copied().flatten()
    }
}

/// Packets that come by the tap between two turns, at most.
pub(crate) fn most_seen(plan: &Plan, flows: &[&PlanFlow]) -> usize {
    let is_varying =
        |kind: &PlanBoxKind| matches!(kind, PlanBoxKind::Link(link) if link.vary_rate.is_some());
    let mut with_data = flows.iter().filter(|flow| flow.traffic.has_data());
    if plan.boxes.iter().any(|planned| is_varying(&planned.kind))
        || with_data.any(|flow| !flow.traffic.is_tcp())
    {
        return MOST_SEEN;
    }
    let smallest = flows
        .iter()
        .map(|flow| u64::from(flow.tcp.mss))
        .min()
        .unwrap_or(1);
    let bits: u64 = plan
        .boxes
        .iter()
        .map(|planned| match &planned.kind {
            PlanBoxKind::Link(link) => link.rate.0 / (SECOND / BURST),
            _ => 0,
        })
        .sum();
    let packets = bits / 8 / smallest.max(1);
    (FEWEST_SEEN + packets as usize).min(MOST_SEEN)
}

#[cfg(test)]
mod tests {
    use super::*;
    use bloatlab_scenario::{Disk, Limits, Scenario};

    fn seen(rate: &str, flow: &str) -> usize {
        let text = format!(
            r#"{{"duration": "1s", "dumbbell": {{"rate": {rate}, "rtt": "20ms"}}, "flows": [{flow}]}}"#
        );
        let checked = Scenario::load(&text, &Disk, &Limits::default());
        let plan = checked.expect("the scenario is valid").plan;
        let flows: Vec<&PlanFlow> = plan.all_flows().collect();
        most_seen(&plan, &flows)
    }

    #[test]
    fn a_fast_link_and_small_packets_need_a_larger_ring() {
        let tcp = r#"{"cca": "reno"}"#;
        // A quarter of a second of 10 Mbit/s is 215 packets of 1448 bytes.
        assert_eq!(seen(r#""10Mbit/s""#, tcp), FEWEST_SEEN + 215);
        assert_eq!(seen(r#""100Mbit/s""#, tcp), FEWEST_SEEN + 2158);
        assert_eq!(seen(r#""10Gbit/s""#, tcp), MOST_SEEN);
        let small = r#"{"cca": "reno", "tcp": {"mss": 362}}"#;
        assert_eq!(seen(r#""10Mbit/s""#, small), FEWEST_SEEN + 863);
        let datagrams = r#"{"traffic": {"kind": "cbr", "rate": "1Mbit/s"}}"#;
        assert_eq!(seen(r#""10Mbit/s""#, datagrams), MOST_SEEN);
    }
}
