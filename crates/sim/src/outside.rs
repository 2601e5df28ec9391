//! Hosts outside the simulator: what the engine asks of them, and what they report.
//!
//! The engine still decides when an application starts, writes, requests and stops. The hosts carry this out with real sockets. Their packets cross
//! the engine's network like any others.

use bloatlab_aqm::Ecn;
use bloatlab_outcome::Protocol;
use bloatlab_tcp::Segment;
use bloatlab_units::Nanos;

/// What the hosts are to do. Flows are named by their index in the plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// End `from` opens the flow's next connection. The other end listens.
    Open {
        /// The flow.
        flow: usize,
        /// Number of the flow's connection, counted from 0.
        connection: u64,
        /// The end that opens it: 0 is the sender of data, 1 the receiver.
        from: usize,
    },
    /// The sender of data writes. `u64::MAX` bytes are never used up.
    Write {
        /// The flow.
        flow: usize,
        /// Number of bytes.
        bytes: u64,
        /// No other write follows: the connection closes after these bytes.
        last: bool,
    },
    /// The receiver of data writes a request.
    Request {
        /// The flow.
        flow: usize,
        /// Number of bytes.
        bytes: u64,
    },
    /// The sender of data drops what it has not handed to the kernel, and closes the connection. Bytes that the kernel has taken still leave.
    Stop {
        /// The flow.
        flow: usize,
    },
    /// Both ends forget the flow's connection. Another one may follow.
    Forget {
        /// The flow.
        flow: usize,
    },
    /// The sender of data sends a datagram.
    Datagram {
        /// The flow.
        flow: usize,
        /// Bytes of payload.
        size: u32,
        /// Its number.
        seq: u32,
    },
    /// The flow's first host sends an ICMP echo request.
    Echo {
        /// The flow.
        flow: usize,
        /// Bytes of the IP packet.
        size: u32,
        /// Its number.
        seq: u32,
    },
    /// The flow's program starts.
    Start {
        /// The flow.
        flow: usize,
    },
}

impl Order {
    /// The flow that the order is for.
    pub fn flow(&self) -> usize {
        match *self {
            Self::Open { flow, .. }
            | Self::Write { flow, .. }
            | Self::Request { flow, .. }
            | Self::Stop { flow }
            | Self::Forget { flow }
            | Self::Datagram { flow, .. }
            | Self::Echo { flow, .. }
            | Self::Start { flow } => flow,
        }
    }
}

/// What the hosts report. Instants are those of the run, ns.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Report {
    /// A sender that never stops writing handed bytes to the kernel.
    Written {
        /// The flow.
        flow: usize,
        /// When.
        at: Nanos,
        /// Number of bytes.
        bytes: u64,
    },
    /// An end read bytes.
    Read {
        /// The flow.
        flow: usize,
        /// Number of the flow's connection.
        connection: u64,
        /// The end.
        end: usize,
        /// When.
        at: Nanos,
        /// Number of bytes.
        bytes: u64,
    },
    /// A connection could not be opened, or was reset.
    Failed {
        /// The flow.
        flow: usize,
        /// Number of the flow's connection.
        connection: u64,
    },
    /// What the kernel says of a connection.
    Observed {
        /// The flow.
        flow: usize,
        /// Number of the flow's connection.
        connection: u64,
        /// When.
        at: Nanos,
        /// What it says.
        state: Observation,
    },
    /// A datagram arrived.
    Datagram {
        /// The flow.
        flow: usize,
        /// When it was sent.
        departure: Nanos,
        /// When it arrived.
        at: Nanos,
        /// Bytes of payload.
        size: u32,
    },
    /// The client of a flow of programs has fetched a page, or failed to.
    Fetched {
        /// The flow.
        flow: usize,
        /// When it was complete.
        at: Nanos,
        /// The time that it took; `None`: it failed.
        took: Option<Nanos>,
    },
    /// The client of a flow of programs has ended by itself.
    Ended {
        /// The flow.
        flow: usize,
        /// When.
        at: Nanos,
        /// Its exit code; 128 and the signal if one ended it.
        code: i32,
    },
    /// An echo reply arrived.
    Echo {
        /// The flow.
        flow: usize,
        /// When the request was sent.
        departure: Nanos,
        /// When the reply arrived.
        at: Nanos,
    },
}

impl Report {
    /// Whether an application may answer it. The others only count, so they can wait.
    pub fn may_be_answered(&self) -> bool {
        !matches!(self, Self::Written { .. } | Self::Observed { .. })
    }
}

/// The state of a TCP connection, as Linux's `TCP_INFO` says it. Counters count from the start of the connection.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Observation {
    /// Congestion window of the sender, segments.
    pub cwnd: u32,
    /// Slow-start threshold of the sender, segments; `u32::MAX`: there is none.
    pub ssthresh: u32,
    /// Segments of the sender that are sent and not acknowledged, without those that are judged lost or were SACKed.
    pub in_flight: u32,
    /// Smoothed RTT of the sender, ns; 0: there is none yet.
    pub srtt: Nanos,
    /// Smallest RTT of the sender, ns; 0: there is none yet.
    pub min_rtt: Nanos,
    /// Delivery rate of the sender, bytes per second; 0: unknown.
    pub delivery_rate: u64,
    /// Pacing rate of the sender, bytes per second; `u64::MAX`: no limit. Linux computes one also for senders that it does not pace.
    pub pacing_rate: u64,
    /// Payload bytes that the sender sent, retransmissions included.
    pub bytes_sent: u64,
    /// Segments with payload that the sender sent, retransmissions included.
    pub segments: u64,
    /// Segments with payload that the sender retransmitted.
    pub retransmissions: u64,
    /// Retransmission timeouts of both ends after the handshake.
    pub rtos: u64,
    /// SYNs that the opening end sent again.
    pub syn_repeats: u64,
    /// Payload bytes that arrived at the receiver in order.
    pub arrived: u64,
}

/// A packet of a host outside that enters the network.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// The flow.
    pub flow: usize,
    /// Which of the flow's connections, counted modulo 256. Queues tell connections apart.
    pub connection: u8,
    /// 0 from the data sender to the receiver, 1 back.
    pub direction: u8,
    /// What it carries.
    pub protocol: Protocol,
    /// Bytes of the IP packet.
    pub size: u32,
    /// ECN code point.
    pub ecn: Ecn,
    /// Differentiated services code point.
    pub dscp: u8,
    /// It left together with the packet before it, which it continues.
    pub follows: bool,
    /// The TCP header. The number of a datagram or echo is its sequence number.
    pub segment: Segment,
    /// Names the packet to the host. A copy that an impairment makes has the same tag.
    pub tag: u32,
}

/// A packet that reached the end of its path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// When.
    pub at: Nanos,
    /// The tag of its entry.
    pub tag: u32,
    /// A queue marked it, or the host had.
    pub is_marked: bool,
    /// An impairment damaged it.
    pub is_damaged: bool,
}

/// What the engine and the hosts outside hand over to each other.
#[derive(Default)]
pub(crate) struct Outside {
    pub orders: Vec<Order>,
    pub deliveries: Vec<Delivery>,
}

/// What happened inside the network to packets of hosts outside, by their tags.
#[derive(Default)]
pub(crate) struct OutsidePackets {
    /// Packets that were dropped.
    pub lost: Vec<u32>,
    /// Packets that were copied.
    pub copied: Vec<u32>,
    /// Receive windows by tag, because a packet in the network has the tag in their place.
    windows: Vec<u32>,
}

impl OutsidePackets {
    /// Keeps the receive window of an entering packet.
    pub fn enter(&mut self, tag: u32, window: u32) {
        let index = tag as usize;
        if self.windows.len() <= index {
            self.windows.resize(index + 1, 0);
        }
        self.windows[index] = window;
    }

    /// The receive window of the packet with this tag.
    pub fn window(&self, tag: u32) -> u32 {
        self.windows.get(tag as usize).copied().unwrap_or_default()
    }
}
