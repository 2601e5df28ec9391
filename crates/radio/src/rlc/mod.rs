//! Radio link control (TS 38.322): unacknowledged and acknowledged mode, in the framing of 5G or in that of ns-3's LTE entities.
//!
//! Sans-IO. What waits stays with [`Upper`], a queue discipline behind it, until its first byte is sent. Sequence numbers are carried
//! whole and never wrap; headers are counted at the size that the standard gives them.

mod am;
mod am_receiver;
mod feed;
mod framing;
mod params;
mod polls;
mod reassembly;
mod retransmissions;
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
    /// What it carries.
    pub item: T,
    /// Its bytes, headers of PDCP and SDAP among them; at least 1.
    pub bytes: u32,
    /// When it came into the buffer.
    pub entered_at: Nanos,
}

/// What waits above a transmitter.
pub trait Upper<T> {
    /// Gives the next SDU; asked for only when some of it will be sent at once. `None` may come though something waited: a queue may drop it.
    fn pull(&mut self, now: Nanos) -> Option<Sdu<T>>;

    /// SDUs that wait.
    fn packets(&self) -> u64;

    /// Bytes that wait.
    fn bytes(&self) -> u64;
}

/// What a sender may use of a transport block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opportunity {
    /// Bytes of the block that are left, for headers of RLC and MAC too.
    pub room: u32,
    /// Bytes of PDUs after which it is enough: no other PDU is begun, nor another SDU in one of several.
    pub enough: u32,
}

impl From<u32> for Opportunity {
    /// As much of the room as there is something to send for.
    fn from(room: u32) -> Self {
        Self {
            room,
            enough: u32::MAX,
        }
    }
}

impl Opportunity {
    /// Less a PDU of this many bytes in 5G's framing; says how many it takes with its subheader.
    #[inline]
    fn take(&mut self, pdu: u32) -> u32 {
        let bytes = Framing::Nr.wire(pdu);
        self.room -= bytes;
        self.enough = self.enough.saturating_sub(pdu);
        bytes
    }

    /// What is behind the header of a PDU of up to so many bytes.
    fn inside(self, largest: u32, header: u32) -> Self {
        Self {
            room: largest - header,
            enough: self.enough.saturating_sub(header),
        }
    }
}

/// A piece of one SDU in a transport block. In the framing of 5G it is a whole PDU; in that of ns-3, pieces with one number are one PDU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pdu<T> {
    /// Of the SDU.
    pub item: T,
    /// Sequence number: of the SDU in the framing of 5G, of the PDU in that of ns-3. A complete SDU in unacknowledged mode has none: 0.
    pub sn: u64,
    /// Where it starts in what the number counts.
    pub offset: u32,
    /// Bytes of the SDU.
    pub length: u32,
    /// Bytes of the transport block that it takes, its share of headers of RLC and MAC among them.
    pub bytes: u32,
    /// Starts its SDU.
    pub begins: bool,
    /// Ends its SDU.
    pub ends: bool,
    /// Ends what the number counts.
    pub last: bool,
    /// Asks for a status report.
    pub poll: bool,
    /// Was sent before.
    pub again: bool,
    /// New starts of its sender: a receiver takes nothing from before its own latest one.
    pub era: u32,
}

/// Bytes of the PDUs that a sender put into a block at one opportunity, without MAC's subheaders.
pub(crate) fn pdu_bytes<T>(framing: Framing, pieces: &[Pdu<T>]) -> u32 {
    let wires = pieces.iter().map(|piece| piece.bytes);
    match framing {
        Framing::Nr => wires.map(|wire| framing.pdu(wire)).sum(),
        // All are one PDU.
        Framing::Lena => framing.pdu(wires.sum()),
    }
}

/// What a transmitter counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sent {
    /// SDU bytes sent for the first time.
    pub new_bytes: u64,
    /// SDU bytes sent again.
    pub repeated_bytes: u64,
    /// Polls.
    pub polls: u64,
    /// Times that the link failed.
    pub failures: u64,
}

/// What a receiver counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Received {
    /// SDUs delivered.
    pub delivered: u64,
    /// Numbers given up with something missing: SDUs in the framing of 5G, PDUs in that of ns-3.
    pub given_up: u64,
    /// Pieces that held nothing new, or came too late.
    pub discarded: u64,
    /// Status reports sent.
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
    /// Fills up to so many bytes of a transport block; says how many it used.
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

    /// Bytes for a buffer status report.
    pub fn report(&self, upper: &dyn Upper<T>) -> u32 {
        match self {
            Self::Um(um) => um.report(upper),
            Self::Am(am) => am.report(upper),
        }
    }

    /// What is left of an SDU that was sent in part: bytes, and when it came into the buffer.
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

    /// Runs what is due.
    pub fn on_timer(&mut self, now: Nanos, upper: &dyn Upper<T>) {
        if let Self::Am(am) = self {
            am.on_timer(now, upper);
        }
    }

    /// Reads a status report.
    pub fn on_status(&mut self, now: Nanos, status: &Status) {
        if let Self::Am(am) = self {
            am.on_status(now, status);
        }
    }

    /// The radio link has failed: nothing is sent until [`reestablish`](Self::reestablish).
    pub fn failed(&self) -> bool {
        matches!(self, Self::Am(am) if am.failed())
    }

    /// Starts anew (TS 38.322 section 5.1.2), together with the receiver. What is on the air then counts for nothing.
    /// [`failed`](Self::failed) may come true by a timer or a report.
    pub fn reestablish(&mut self) {
        match self {
            Self::Um(um) => um.reestablish(),
            Self::Am(am) => am.reestablish(),
        }
    }

    /// What it counted.
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
    /// Takes one piece; puts what is complete into `up`.
    pub fn receive(&mut self, now: Nanos, pdu: &Pdu<T>, up: &mut Vec<T>) {
        match self {
            Self::Um(um) => um.receive(now, pdu, up),
            Self::Am(am) => am.receive(now, pdu, up),
        }
    }

    /// When [`on_timer`](Self::on_timer) is due, or when a status report that has to wait may go.
    pub fn next_timer(&self) -> Option<Nanos> {
        match self {
            Self::Um(um) => um.next_timer(),
            Self::Am(am) => am.next_timer(),
        }
    }

    /// Runs what is due.
    pub fn on_timer(&mut self, now: Nanos, up: &mut Vec<T>) {
        match self {
            Self::Um(um) => um.on_timer(now, up),
            Self::Am(am) => am.on_timer(now),
        }
    }

    /// Bytes that a status report takes, if one is to be sent now.
    pub fn status_due(&self, now: Nanos) -> Option<u32> {
        match self {
            Self::Um(_) => None,
            Self::Am(am) => am.status_due(now),
        }
    }

    /// The status report that is due, as much of it as fits.
    pub fn build_status(&mut self, now: Nanos, room: u32) -> Option<Status> {
        match self {
            Self::Um(_) => None,
            Self::Am(am) => am.build_status(now, room),
        }
    }

    /// Starts anew, together with the transmitter: what is incomplete is thrown away, what is whole goes up.
    pub fn reestablish(&mut self, up: &mut Vec<T>) {
        match self {
            Self::Um(um) => um.reestablish(up),
            Self::Am(am) => am.reestablish(up),
        }
    }

    /// What it counted.
    pub fn counts(&self) -> Received {
        match self {
            Self::Um(um) => um.counts(),
            Self::Am(am) => am.counts(),
        }
    }
}
