//! Radio link control (TS 38.322): unacknowledged and acknowledged mode, in the framing of 5G or in that of ns-3's LTE entities.
//!
//! It does no I/O. Waiting SDUs stay in [`Upper`], which has a queue discipline, until their first byte is sent. Sequence numbers are stored
//! completely and never wrap; headers have the sizes of the standard.

mod am;
mod am_receiver;
mod framing;
mod params;
mod polls;
mod reassembly;
mod retransmissions;
mod source;
mod status;
mod um;
mod um_receiver;
mod window;

pub use am::AmTransmitter;
pub use am_receiver::AmReceiver;
pub use framing::Framing;
pub use params::{AmParams, RlcParams, UmParams};
pub use status::{Nack, Status};
pub use um::UmTransmitter;
pub use um_receiver::UmReceiver;

use bloatlab_units::Nanos;

/// A service data unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sdu<T> {
    /// The packet that it carries.
    pub item: T,
    /// Its size in bytes, including headers of PDCP and SDAP; at least 1.
    pub bytes: u32,
    /// When it entered the buffer.
    pub entered_at: Nanos,
}

/// The layer above a transmitter, where SDUs wait.
pub trait Upper<T> {
    /// Returns the next SDU. Called only if some of it will be sent at once. It may return `None` although something waited, because a queue may drop
    /// it.
    fn pull(&mut self, now: Nanos) -> Option<Sdu<T>>;

    /// Number of SDUs that wait.
    fn packets(&self) -> u64;

    /// Number of bytes that wait.
    fn bytes(&self) -> u64;
}

/// How much of a transport block a sender may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opportunity {
    /// Bytes that are left in the block, also for headers of RLC and MAC.
    pub room: u32,
    /// Bytes of PDUs after which no further PDU is started, and no further SDU in a PDU of several.
    pub enough: u32,
}

impl From<u32> for Opportunity {
    /// As much of the space as there is data for.
    fn from(room: u32) -> Self {
        Self {
            room,
            enough: u32::MAX,
        }
    }
}

impl Opportunity {
    /// Subtracts a PDU of this many bytes in the framing of 5G. Returns its bytes including the subheader.
    #[inline]
    fn take(&mut self, pdu: u32) -> u32 {
        let bytes = Framing::Nr.wire(pdu);
        self.room -= bytes;
        self.enough = self.enough.saturating_sub(pdu);
        bytes
    }

    /// The opportunity after the header of a PDU with at most `largest` bytes.
    fn inside(self, largest: u32, header: u32) -> Self {
        Self {
            room: largest - header,
            enough: self.enough.saturating_sub(header),
        }
    }
}

/// A piece of one SDU in a transport block. In the framing of 5G it is a whole PDU; in that of ns-3, pieces with the same number are one PDU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pdu<T> {
    /// The packet of the SDU.
    pub item: T,
    /// Sequence number: of the SDU in the framing of 5G, of the PDU in that of ns-3. A complete SDU in unacknowledged mode has no number: 0.
    pub sn: u64,
    /// Where it starts in the data that the number covers.
    pub offset: u32,
    /// Bytes of the SDU.
    pub length: u32,
    /// Bytes of the transport block that it takes, including its share of the headers of RLC and MAC.
    pub bytes: u32,
    /// Whether it starts its SDU.
    pub begins: bool,
    /// Whether it ends its SDU.
    pub ends: bool,
    /// Whether it ends the data that the number covers.
    pub last: bool,
    /// Whether it asks for a status report.
    pub poll: bool,
    /// Whether it is a retransmission.
    pub again: bool,
    /// Number of re-establishments of its sender. A receiver discards pieces from before its own latest one.
    pub era: u32,
}

/// Bytes of the PDUs that a sender put into a block at one opportunity, without MAC subheaders.
pub(crate) fn pdu_bytes<T>(framing: Framing, pieces: &[Pdu<T>]) -> u32 {
    let wires = pieces.iter().map(|piece| piece.bytes);
    match framing {
        Framing::Nr => wires.map(|wire| framing.pdu(wire)).sum(),
        // All pieces are one PDU.
        Framing::Lena => framing.pdu(wires.sum()),
    }
}

/// The counters of a transmitter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sent {
    /// SDU bytes sent for the first time.
    pub new_bytes: u64,
    /// SDU bytes retransmitted.
    pub repeated_bytes: u64,
    /// Number of polls.
    pub polls: u64,
    /// Number of radio link failures.
    pub failures: u64,
}

/// The counters of a receiver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Received {
    /// Number of SDUs delivered.
    pub delivered: u64,
    /// Incomplete numbers that were given up: SDUs in the framing of 5G, PDUs in that of ns-3.
    pub given_up: u64,
    /// Pieces without new data, or that arrived too late.
    pub discarded: u64,
    /// Number of status reports sent.
    pub reports: u64,
}

/// The sending side of a bearer.
#[derive(Debug)]
pub enum Transmitter<T> {
    /// Unacknowledged mode.
    Um(UmTransmitter<T>),
    /// Acknowledged mode.
    Am(Box<AmTransmitter<T>>),
}

impl<T: Copy> Transmitter<T> {
    /// Fills up to `offer` bytes of a transport block. Returns how many bytes it used.
    pub fn transmit(
        &mut self,
        now: Nanos,
        offer: impl Into<Opportunity>,
        upper: &mut dyn Upper<T>,
        out: &mut Vec<Pdu<T>>,
    ) -> u32 {
        match self {
            Self::Um(um) => um.transmit(now, offer, upper, out),
            Self::Am(am) => am.transmit(now, offer, upper, out),
        }
    }

    /// Number of bytes for a buffer status report.
    pub fn report(&self, upper: &dyn Upper<T>) -> u32 {
        match self {
            Self::Um(um) => um.report(upper),
            Self::Am(am) => am.report(upper),
        }
    }

    /// The rest of an SDU that was sent in part: its bytes, and when the SDU entered the buffer.
    pub fn held(&self) -> Option<(u32, Nanos)> {
        match self {
            Self::Um(um) => um.held(),
            Self::Am(am) => am.held(),
        }
    }

    /// When [`on_timer`](Self::on_timer) is due.
    pub fn next_timer(&self) -> Option<Nanos> {
        match self {
            Self::Um(_) => None,
            Self::Am(am) => am.next_timer(),
        }
    }

    /// Handles the timers that are due.
    pub fn on_timer(&mut self, now: Nanos, upper: &dyn Upper<T>) {
        if let Self::Am(am) = self {
            am.on_timer(now, upper);
        }
    }

    /// Processes a status report.
    pub fn on_status(&mut self, now: Nanos, status: &Status) {
        if let Self::Am(am) = self {
            am.on_status(now, status);
        }
    }

    /// Whether the radio link has failed. Then nothing is sent until [`reestablish`](Self::reestablish).
    pub fn failed(&self) -> bool {
        matches!(self, Self::Am(am) if am.failed())
    }

    /// Re-establishes the entity (TS 38.322 section 5.1.2), together with the receiver. Data on the air is then ignored. [`failed`](Self::failed) may
    /// become true at a timer or a report.
    pub fn reestablish(&mut self) {
        match self {
            Self::Um(um) => um.reestablish(),
            Self::Am(am) => am.reestablish(),
        }
    }

    /// Its counters.
    pub fn counts(&self) -> Sent {
        match self {
            Self::Um(um) => um.counts(),
            Self::Am(am) => am.counts(),
        }
    }
}

/// The receiving side of a bearer.
#[derive(Debug)]
pub enum Receiver<T> {
    /// Unacknowledged mode.
    Um(UmReceiver<T>),
    /// Acknowledged mode.
    Am(AmReceiver<T>),
}

impl<T: Copy> Receiver<T> {
    /// Receives one piece, and appends complete SDUs to `up`.
    pub fn receive(&mut self, now: Nanos, pdu: &Pdu<T>, up: &mut Vec<T>) {
        match self {
            Self::Um(um) => um.receive(now, pdu, up),
            Self::Am(am) => am.receive(now, pdu, up),
        }
    }

    /// When [`on_timer`](Self::on_timer) is due, or when a delayed status report may be sent.
    pub fn next_timer(&self) -> Option<Nanos> {
        match self {
            Self::Um(um) => um.next_timer(),
            Self::Am(am) => am.next_timer(),
        }
    }

    /// Handles the timers that are due.
    pub fn on_timer(&mut self, now: Nanos, up: &mut Vec<T>) {
        match self {
            Self::Um(um) => um.on_timer(now, up),
            Self::Am(am) => am.on_timer(now),
        }
    }

    /// Bytes of the status report, if one must be sent now.
    pub fn status_due(&self, now: Nanos) -> Option<u32> {
        match self {
            Self::Um(_) => None,
            Self::Am(am) => am.status_due(now),
        }
    }

    /// Builds the status report that is due, as much of it as fits.
    pub fn build_status(&mut self, now: Nanos, room: u32) -> Option<Status> {
        match self {
            Self::Um(_) => None,
            Self::Am(am) => am.build_status(now, room),
        }
    }

    /// Re-establishes the entity, together with the transmitter: incomplete SDUs are discarded, complete ones are delivered.
    pub fn reestablish(&mut self, up: &mut Vec<T>) {
        match self {
            Self::Um(um) => um.reestablish(up),
            Self::Am(am) => am.reestablish(up),
        }
    }

    /// Its counters.
    pub fn counts(&self) -> Received {
        match self {
            Self::Um(um) => um.counts(),
            Self::Am(am) => am.counts(),
        }
    }
}
