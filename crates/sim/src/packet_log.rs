//! The complete packet log: every step of every packet, on request. It also tells hosts outside which of their packets were lost or copied.

use bloatlab_aqm::Packet as _;
use bloatlab_outcome::{PacketEvent, Step};
use bloatlab_units::Nanos;

use crate::outside::OutsidePackets;
use crate::packet::Packet;

/// The log of a run.
pub(crate) struct PacketLog {
    /// The events, if they were asked for.
    events: Option<Vec<PacketEvent>>,
    /// What happened to packets of hosts outside, if there are any.
    outside: Option<Box<OutsidePackets>>,
    /// Whether one of the two is kept.
    is_active: bool,
}

impl PacketLog {
    pub fn new(wanted: bool) -> Self {
        Self {
            events: wanted.then(Vec::new),
            outside: None,
            is_active: wanted,
        }
    }

    /// Also keeps what happens to packets of hosts outside.
    pub fn with_outside(self) -> Self {
        Self {
            outside: Some(Box::default()),
            is_active: true,
            ..self
        }
    }

    /// Whether the events are kept.
    pub fn is_on(&self) -> bool {
        self.events.is_some()
    }

    /// What happened to packets of hosts outside.
    pub fn outside(&mut self) -> Option<&mut OutsidePackets> {
        self.outside.as_deref_mut()
    }

    #[inline]
    pub fn note(&mut self, at: Nanos, step: Step, place: u32, packet: &Packet) {
        if self.is_active {
            self.write(at, step, place, packet);
        }
    }

    #[cold]
    fn write(&mut self, at: Nanos, step: Step, place: u32, packet: &Packet) {
        let mut segment = packet.segment;
        if let Some(outside) = &mut self.outside {
            let tag = segment.window;
            match step {
                Step::Drop | Step::Discard => outside.lost.push(tag),
                Step::Duplicate => outside.copied.push(tag),
                _ => {}
            }
            segment.window = outside.window(tag);
        }
        let Some(log) = &mut self.events else {
            return;
        };
        log.push(PacketEvent {
            at,
            step,
            place,
            flow: packet.flow_index() as u32,
            connection: packet.connection(),
            direction: packet.direction() as u8,
            protocol: packet.protocol(),
            damaged: packet.is_damaged(),
            ecn: packet.ecn(),
            size: packet.length(),
            segment,
        });
    }

    pub fn into_events(self) -> Vec<PacketEvent> {
        self.events.unwrap_or_default()
    }
}
