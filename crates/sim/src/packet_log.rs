//! The complete packet log: every step of every packet, on request. It also tells hosts outside which of their packets were lost or copied, and
//! serves those who watch the links.

use bloatlab_aqm::Packet as _;
use bloatlab_outcome::{PacketEvent, Step};
use bloatlab_units::Nanos;

use crate::link_watch::{LinkStep, LinkWatch};
use crate::outside::OutsidePackets;
use crate::packet::Packet;

/// The log of a run.
pub(crate) struct PacketLog {
    /// The events, if they were asked for.
    events: Option<Vec<PacketEvent>>,
    /// What happened to packets of hosts outside, if there are any.
    outside: Option<Box<OutsidePackets>>,
    /// What happens to packets at links, if they are watched.
    watch: Option<Box<LinkWatch>>,
    /// Whether one of the three is kept.
    is_active: bool,
}

impl PacketLog {
    pub fn new(wanted: bool) -> Self {
        Self {
            events: wanted.then(Vec::new),
            outside: None,
            watch: None,
            is_active: wanted,
        }
    }

    /// Also watches the links, and keeps the latest `most` events there.
    pub fn with_watch(self, most: usize) -> Self {
        Self {
            watch: Some(Box::new(LinkWatch::new(most))),
            is_active: true,
            ..self
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

    /// Whether the steps at links must come in the order of time.
    pub fn is_on(&self) -> bool {
        self.events.is_some() || self.watch.is_some()
    }

    /// The watch over the links, if they are watched.
    pub fn watch_mut(&mut self) -> Option<&mut LinkWatch> {
        self.watch.as_deref_mut()
    }

    /// What happened to packets of hosts outside.
    pub fn outside(&mut self) -> Option<&mut OutsidePackets> {
        self.outside.as_deref_mut()
    }

    #[inline]
    pub fn note(&mut self, at: Nanos, step: Step, place: u32, packet: &Packet) {
        if self.is_active {
            if let Some(watch) = &mut self.watch
                && let Some(seen) = LinkStep::of(step, packet.direction())
            {
                watch.note(at, seen, place, packet);
            }
            self.write(at, step, place, packet, packet.length());
        }
    }

    /// Notes the drop of a packet that waits in no queue.
    #[cold]
    pub fn note_loss(&mut self, at: Nanos, place: u32, packet: &Packet) {
        if let Some(watch) = &mut self.watch {
            watch.note(at, LinkStep::Loss, place, packet);
        }
        self.write(at, Step::Drop, place, packet, packet.length());
    }

    /// Notes that a part of a packet was sent, and that `left` bytes of it wait.
    #[inline]
    pub fn note_part(&mut self, at: Nanos, place: u32, packet: &Packet, left: u32) {
        if self.is_active {
            self.write(at, Step::Part, place, packet, left);
        }
    }

    #[cold]
    fn write(&mut self, at: Nanos, step: Step, place: u32, packet: &Packet, size: u32) {
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
            dscp: packet.dscp(),
            size,
            segment,
        });
    }

    /// Notes an event in a network outside.
    pub fn note_outside(&mut self, event: PacketEvent) {
        if let Some(log) = &mut self.events {
            log.push(event);
        }
    }

    pub fn into_events(self) -> Vec<PacketEvent> {
        self.events.unwrap_or_default()
    }
}
