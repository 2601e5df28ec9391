//! Names what keeps simulated time from moving.

use crate::engine::Engine;
use crate::place::Place;
use crate::schedule::{application, clock, event};

impl Engine<'_> {
    /// Takes the next event and returns its box or flow, by its name in the plan. The run cannot continue after this.
    pub(crate) fn name_next(&mut self) -> String {
        let Some((kind, index)) = self.network.schedule.next() else {
            return String::from("no event");
        };
        let index = index as usize;
        match kind {
            event::LINK_DONE | event::LINK_FLIGHT => format!("link `{}`", self.link_name(index)),
            event::WAKE => format!("link `{}`", self.box_names[index]),
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
        &self.box_names[self.network.links[index].port.backlog.number as usize]
    }

    fn delay_name(&self, index: usize) -> &str {
        let is_it = |place: &Place| matches!(place, Place::Delay(i) if *i as usize == index);
        let number = self.places.iter().position(is_it);
        number.map_or("", |number| &self.box_names[number])
    }
}
