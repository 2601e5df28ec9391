//! Notices that simulated time does not move, and says what keeps it.

use bloatlab_units::Nanos;

use crate::engine::Engine;
use crate::network::Place;
use crate::schedule::{application, clock, event};

/// Looks at one instant after which a run stalls, besides one look for each flow: 2^22 events, and 2^14 for each flow. Flows that all start at
/// once need a few thousand each at most: the segments of their initial window, at every box that takes no time.
const LOOKS: u64 = 256;

/// Counts looks at which the clock shows the same instant.
pub(crate) struct Watchdog {
    at: Nanos,
    looks: u64,
    limit: u64,
}

impl Watchdog {
    pub fn new(flows: u64) -> Self {
        Self {
            at: 0,
            looks: 0,
            limit: LOOKS + flows,
        }
    }

    /// Takes note of a look at this instant; false: time has not moved for too long.
    pub fn moves(&mut self, now: Nanos) -> bool {
        if now != self.at {
            (self.at, self.looks) = (now, 0);
        }
        self.looks += 1;
        self.looks <= self.limit
    }

    /// Looks at this instant.
    pub fn looks(&self) -> u64 {
        self.looks
    }
}

impl Engine<'_> {
    /// Takes the next event and says whose it is: a box or a flow, by its name in the plan. The run is over then.
    pub(crate) fn name_next(&mut self) -> String {
        let Some((kind, index)) = self.network.schedule.next() else {
            return String::from("no event");
        };
        let index = index as usize;
        match kind {
            event::LINK_DONE | event::LINK_FLIGHT | event::WAKE => {
                format!("link `{}`", self.link_name(index))
            }
            event::DELAY => {
                let (packet, _) = self.network.on_delay(index);
                let flow = packet.map(|packet| self.flow_name(packet.flow_index()));
                flow.unwrap_or_else(|| format!("delay `{}`", self.delay_name(index)))
            }
            event::TIMER | event::RELEASE => self.flow_name(index / 2),
            event::APPLICATION => self.flow_name(index / application::KINDS as usize),
            _ if index == clock::CELL as usize => String::from("the radio cell"),
            _ => String::from("a box of the network"),
        }
    }

    fn flow_name(&self, index: usize) -> String {
        format!("flow `{}`", self.plan.flows[index].name)
    }

    fn link_name(&self, index: usize) -> &str {
        &self.box_names[self.network.links[index].number as usize]
    }

    fn delay_name(&self, index: usize) -> &str {
        let is_it = |place: &Place| matches!(place, Place::Delay(i) if *i as usize == index);
        let number = self.places.iter().position(is_it);
        number.map_or("", |number| &self.box_names[number])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_one_instant_too_long_is_a_stall() {
        let mut watchdog = Watchdog::new(10);
        for now in 0..10_000 {
            assert!(watchdog.moves(now));
        }
        let moving = (0..).take_while(|_| watchdog.moves(10_000)).count();
        assert_eq!(moving as u64, LOOKS + 10);
        assert_eq!(watchdog.looks(), LOOKS + 11);
        assert!(watchdog.moves(10_001));
    }
}
