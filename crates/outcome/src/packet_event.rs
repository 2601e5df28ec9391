//! What happened to one packet at one place.

use bloatlab_aqm::Ecn;
use bloatlab_tcp::Segment;
use bloatlab_units::Nanos;

/// What a packet carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Protocol {
    /// A TCP segment.
    Tcp = 0,
    /// A datagram: `segment.seq` numbers it, the timestamps hold its departure.
    Udp = 1,
    /// An ICMP echo request or reply.
    Echo = 2,
}

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
    /// A bearer of a cell sent a part of it. `size` is what waits of it, with the headers of PDCP.
    Part,
    /// A box discarded it.
    Drop,
    /// A queue marked it.
    Mark,
    /// It reached the other host.
    Receive,
    /// A box made it, as a copy of the packet that it has just sent on.
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
            Self::Part => "part",
            Self::Drop => "drop",
            Self::Mark => "mark",
            Self::Receive => "receive",
            Self::Duplicate => "duplicate",
            Self::Corrupt => "corrupt",
            Self::Discard => "discard",
        }
    }
}

/// One line of the packet log.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PacketEvent {
    /// When it happened.
    pub at: Nanos,
    /// What happened.
    pub step: Step,
    /// Index of the box in [`Outcome::counts`](crate::Outcome::counts), or [`HOST`].
    pub place: u32,
    /// Index of the flow in [`Outcome::flow_names`](crate::Outcome::flow_names).
    pub flow: u32,
    /// Which of the flow's connections, counted modulo 256.
    pub connection: u8,
    /// 0 from the data sender to the receiver, 1 back.
    pub direction: u8,
    /// What the packet carries.
    pub protocol: Protocol,
    /// Its checksum is wrong: a box damaged it.
    pub damaged: bool,
    /// Its ECN code point.
    pub ecn: Ecn,
    /// Its differentiated services code point, 0 to 63. Data, ACKs and replies leave with that of their flow. A queue that washes clears it.
    pub dscp: u8,
    /// Bytes of the IP packet; in a queue, with the link layer's header.
    pub size: u32,
    /// The TCP header. Datagrams and echoes use its sequence number and timestamps.
    pub segment: Segment,
}

/// The place of an event at an end host.
pub const HOST: u32 = u32::MAX;
