//! Where the routers see packets, and how many at a time.

use bloatlab_cc::CcConfig;
use bloatlab_scenario::{Plan, PlanBoxKind, PlanFlow};
use bloatlab_units::{MILLISECOND, Nanos, SECOND};

/// Packets that the tap holds, at least and at most. A large ring does not stay in a processor's cache.
const FEWEST_SEEN: usize = 1 << 11;
const MOST_SEEN: usize = 1 << 16;
/// Connections send at most what their links carry in this time between two turns, and in addition each this many packets.
const BURST: Nanos = 250 * MILLISECOND;
const OF_FLOW: usize = 32;
/// The longest time between two turns if only connections send data, and if there are datagrams too, which can be many.
const LONGEST_WAIT: Nanos = 50 * MILLISECOND;
const WITH_DATAGRAMS: Nanos = 20 * MILLISECOND;

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

/// How the packets that come by are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Watch {
    /// Packets that the tap holds between two turns, at most.
    pub places: usize,
    /// The longest time between two turns.
    pub longest_wait: Nanos,
}

/// How to take the packets of a plan, so that none finds the tap full.
pub(crate) fn watch(plan: &Plan, flows: &[&PlanFlow]) -> Watch {
    let mut with_data = flows.iter().filter(|flow| flow.traffic.has_data());
    let mut bits = 0;
    let mut is_varying = !plan.timeline.is_empty();
    for planned in &plan.boxes {
        if let PlanBoxKind::Link(link) = &planned.kind {
            bits += link.rate.0 / (SECOND / BURST);
            is_varying |= link.vary_rate.is_some();
        }
    }
    let has_datagrams = with_data.any(|flow| !flow.traffic.is_tcp());
    if is_varying || has_datagrams || flows.iter().any(leaps) {
        return Watch {
            places: MOST_SEEN,
            longest_wait: WITH_DATAGRAMS,
        };
    }
    let segments = flows.iter().map(|flow| u64::from(flow.tcp.mss));
    let packets = bits / 8 / segments.min().unwrap_or(1).max(1);
    let places = FEWEST_SEEN + packets as usize + OF_FLOW * flows.len();
    Watch {
        places: places.min(MOST_SEEN),
        longest_wait: LONGEST_WAIT,
    }
}

/// Whether a flow can send many times what its links carry: in slow start, Hybla answers an ACK over a long path by dozens of packets.
fn leaps(flow: &&PlanFlow) -> bool {
    matches!(flow.cca, CcConfig::Hybla(_))
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
        watch(&plan, &flows).places
    }

    #[test]
    fn fast_links_small_packets_and_many_flows_need_a_larger_ring() {
        let tcp = r#"{"cca": "reno"}"#;
        // A quarter of a second of 10 Mbit/s is 215 packets of 1448 bytes.
        assert_eq!(seen(r#""10Mbit/s""#, tcp), FEWEST_SEEN + OF_FLOW + 215);
        assert_eq!(seen(r#""100Mbit/s""#, tcp), FEWEST_SEEN + OF_FLOW + 2158);
        assert_eq!(seen(r#""10Gbit/s""#, tcp), MOST_SEEN);
        let small = r#"{"cca": "reno", "tcp": {"mss": 362}}"#;
        assert_eq!(seen(r#""10Mbit/s""#, small), FEWEST_SEEN + OF_FLOW + 863);
        let many = r#"{"cca": "reno", "count": 100}"#;
        assert_eq!(
            seen(r#""10Mbit/s""#, many),
            FEWEST_SEEN + 100 * OF_FLOW + 215
        );
        let datagrams = r#"{"traffic": {"kind": "cbr", "rate": "1Mbit/s"}}"#;
        assert_eq!(seen(r#""10Mbit/s""#, datagrams), MOST_SEEN);
        assert_eq!(seen(r#""10Mbit/s""#, r#"{"cca": "hybla"}"#), MOST_SEEN);
    }
}
