//! The complete packet log: every step of every packet, on request.

use bloatlab_units::Nanos;

use crate::packet::Packet;

/// What happened to a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Step {
    /// It left its host.
    Send,
    /// It entered a link's queue.
    Enqueue,
    /// It left the queue for the transmitter.
    Dequeue,
    /// A box discarded it.
    Drop,
    /// A queue marked it.
    Mark,
    /// It reached the other host.
    Receive,
    /// A box made it, as a copy of the one that has just gone on.
    Duplicate,
    /// A box damaged it.
    Corrupt,
    /// It reached the other host, which discarded it by its checksum.
    Discard,
}

impl Step {
    /// Its name in the table of packets.
    pub fn name(self) -> &'static str {
        match self {
            Self::Send => "send",
            Self::Enqueue => "enqueue",
            Self::Dequeue => "dequeue",
            Self::Drop => "drop",
            Self::Mark => "mark",
            Self::Receive => "receive",
            Self::Duplicate => "duplicate",
            Self::Corrupt => "corrupt",
            Self::Discard => "discard",
        }
    }
}

/// One line of the log. `place` is a box's index, or `HOST`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PacketEvent {
    /// When.
    pub at: Nanos,
    /// What.
    pub step: Step,
    /// Where.
    pub place: u32,
    /// Which packet.
    pub packet: Packet,
}

/// The place of an event at an end host.
pub const HOST: u32 = u32::MAX;

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
                packet: *packet,
            });
        }
    }

    pub fn into_events(self) -> Vec<PacketEvent> {
        self.0.unwrap_or_default()
    }
}
