//! The complete packet log: every step of every packet, on request.

use bloatlab_aqm::Packet as _;
use bloatlab_outcome::{PacketEvent, Step};
use bloatlab_units::Nanos;

use crate::packet::Packet;

/// The log of a run, if one was asked for.
pub(crate) struct PacketLog(Option<Vec<PacketEvent>>);

impl PacketLog {
    pub fn new(wanted: bool) -> Self {
        Self(wanted.then(Vec::new))
    }

    /// Whether the log is kept.
    pub fn is_on(&self) -> bool {
        self.0.is_some()
    }

    #[inline]
    pub fn note(&mut self, at: Nanos, step: Step, place: u32, packet: &Packet) {
        if self.0.is_some() {
            self.write(at, step, place, packet);
        }
    }

    #[cold]
    fn write(&mut self, at: Nanos, step: Step, place: u32, packet: &Packet) {
        if let Some(log) = &mut self.0 {
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
                segment: packet.segment,
            });
        }
    }

    pub fn into_events(self) -> Vec<PacketEvent> {
        self.0.unwrap_or_default()
    }
}
