//! Queue disciplines, one file per algorithm. They do no I/O: time and randomness are arguments.
//!
//! A discipline owns its packets. Its AQM controller sees the sojourn time, the backlog and the time, but never a packet, and returns a [`Verdict`].

use bloatlab_units::Nanos;

mod classifier;
mod contents;
mod context;
mod departure_rate;
mod deque;
mod heavy_hitters;
mod inner;
mod lengths;
mod list;
mod longest;
mod offload;
#[macro_use]
mod registry;
mod flow_scheduler;
mod ring;
mod slab;
pub mod tc;
mod token_bucket;

pub use bloatlab_params::{Description, Parameter};
pub use cake::TIN_STATISTICS;
pub use classifier::{Classes, Classifier};
pub use contents::{Band, Slot};
pub use context::{Context, Hosts};
pub use deque::Deques;
pub use flow_scheduler::{FlowScheduler, ScheduledFlow, Turn};
pub use heavy_hitters::HeavyHitters;
pub use inner::add_stats;
pub use lengths::Lengths;
pub use list::{Linked, List};
pub use longest::Longest;
pub use offload::BufferDecision;
pub use registry::{Factory, PythonParams};
pub use ring::{Bounded, Capacity, Ring};
pub use slab::{Chain, FlowHash, Slab};
pub use tc::{Form, PerFlow, Tc, Word};

// One line per algorithm: its variant and its module. The module's name is the kind.
registry! {
    Fifo => fifo,
    Blue => blue,
    Cake => cake,
    Choke => choke,
    Cobalt => cobalt,
    Codel => codel,
    Drr => drr,
    Dualpi2 => dualpi2,
    Fq => fq,
    FqCodel => fq_codel,
    FqPie => fq_pie,
    Gsp => gsp,
    HeadDrop => head_drop,
    Hhf => hhf,
    Htb => htb,
    Infinite => infinite,
    Netem => netem,
    Pie => pie,
    Policer => policer,
    Priority => priority,
    Red => red,
    RlcCodel2022 => rlc_codel_2022,
    Sfb => sfb,
    Sfq => sfq,
    Tbf => tbf,
}

/// The ECN field of the IP header (RFC 3168 section 5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Ecn {
    /// Not ECN-capable: congestion is signalled by loss.
    #[default]
    NotEct = 0,
    /// ECN-capable, L4S (RFC 9331).
    Ect1 = 1,
    /// ECN-capable, classic.
    Ect0 = 2,
    /// Congestion experienced.
    Ce = 3,
}

/// The properties of a packet that a discipline may read and set.
pub trait Packet: Copy + Send + 'static {
    /// Bytes on the wire. Byte limits, deficits and rates count these.
    fn size(&self) -> u32;
    /// Identifier of the flow (the 5-tuple), before any hashing.
    fn flow(&self) -> u64;
    /// The ECN field.
    fn ecn(&self) -> Ecn;
    /// Sets congestion experienced.
    fn set_ce(&mut self);
    /// When the packet entered the queue that holds it.
    fn enqueued_at(&self) -> Nanos;
    /// Sets the time at which the packet entered the queue.
    fn set_enqueued_at(&mut self, now: Nanos);
    /// The differentiated services code point (RFC 2474), 0 to 63.
    fn dscp(&self) -> u8 {
        0
    }
    /// Sets the code point (a queue that washes clears it). A packet without a code point ignores this.
    fn set_dscp(&mut self, _dscp: u8) {}
    /// Whether its host handed it over together with the previous packet of the flow, so that both may be in one buffer.
    fn follows(&self) -> bool {
        false
    }
    /// Whether the next packet of the flow [`follows`](Self::follows) in the same offload buffer. As in Linux, a queue decides once about a buffer and
    /// sends its packets without others in between.
    fn has_more(&self) -> bool {
        false
    }
    /// What it acknowledges, if it is a pure ACK: a TCP segment without payload, SYN, FIN or RST.
    fn pure_ack(&self) -> Option<PureAck> {
        None
    }
}

/// The fields of a pure ACK from which an ACK filter decides whether a later ACK makes it redundant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PureAck {
    /// The acknowledgment number; wraps at 2^32.
    pub number: u32,
    /// SACK blocks (RFC 2018). The present blocks come first; absent ones are (0, 0).
    pub sack: [(u32, u32); 3],
    /// The TCP flags ECE and CWR (and AE), as in the header. The sender must see their changes.
    pub ecn_flags: u8,
    /// Timestamp value (RFC 7323), microseconds; wraps.
    pub tsval: u32,
    /// Timestamp echo.
    pub tsecr: u32,
}

/// Marks the packet if it is ECN-capable. Returns whether it did.
pub fn mark<P: Packet>(packet: &mut P) -> bool {
    let capable = packet.ecn() != Ecn::NotEct;
    if capable {
        packet.set_ce();
    }
    capable
}

/// The decision of an AQM controller about a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Forward the packet.
    Forward,
    /// Mark the packet if it is ECN-capable, otherwise drop it.
    Mark,
    /// Drop the packet.
    Drop,
}

/// Why a packet was discarded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DropReason {
    /// The queue's limit was reached.
    Overflow,
    /// The AQM algorithm decided to drop it.
    Aqm,
}

/// Receives the packets that a discipline drops, and is notified of those it marks.
pub trait Sink<P> {
    /// The packet was dropped.
    fn dropped(&mut self, packet: &P, reason: DropReason);
    /// The queue marked the packet CE. The packet stays in the queue.
    fn marked(&mut self, packet: &P);
}

/// A queue discipline.
///
/// Every packet passed to [`enqueue`](Qdisc::enqueue) leaves exactly once: through [`dequeue`](Qdisc::dequeue) or [`Sink::dropped`]. `now` never
/// decreases from call to call.
pub trait Qdisc<P: Packet>: Send {
    /// Enqueues a packet and stamps it with `now`. The queue may drop or mark this packet, or another, at once.
    fn enqueue(&mut self, now: Nanos, packet: P, sink: &mut dyn Sink<P>);

    /// Dequeues the next packet to send, if any. The queue may drop and mark packets before that.
    fn dequeue(&mut self, now: Nanos, sink: &mut dyn Sink<P>) -> Option<P>;

    /// Whether [`dequeue`](Qdisc::dequeue) changes the state of an empty queue. Some algorithms learn from such a call that the transmitter is idle.
    fn observes_idleness(&self) -> bool {
        true
    }

    /// Whether [`dequeue`](Qdisc::dequeue) returns a packet whenever one is held.
    ///
    /// If so, a link may dequeue a packet later than the packet leaves. The link passes the time of departure as `now` and keeps the order of its
    /// calls.
    fn is_work_conserving(&self) -> bool {
        true
    }

    /// The capacity of a plain tail-drop FIFO; `None` for every other discipline. A link may store the packets of such a FIFO itself.
    fn tail_drop(&self) -> Option<Capacity> {
        None
    }

    /// Whether a packet that arrived now would be dropped because the queue is full. `false` if the discipline does not tell.
    fn refuses(&self, _packet: &P) -> bool {
        false
    }

    /// Number of packets in the queue.
    fn packets(&self) -> u64;

    /// Number of bytes in the queue.
    fn bytes(&self) -> u64;

    /// Visits every packet in the queue and tells where it waits: band by band, in a band queue by queue, in a queue from the packet that leaves
    /// first. A link never calls this; it serves those who look at the queue.
    fn contents(&self, visit: &mut dyn FnMut(Slot, &P));

    /// The bands that [`contents`](Qdisc::contents) tells apart. Most disciplines have one band with one queue.
    fn bands(&self) -> Vec<Band> {
        Band::single(1)
    }

    /// When [`wake`](Qdisc::wake) should be called: for a periodic update (PIE), or when a queue that is not work-conserving may send again. Asked at
    /// the start, after each call of `wake`, and after a `dequeue` that returned nothing although the queue holds packets. Only an answer earlier
    /// than the previous one changes the time of the call. After `wake`, the link asks for packets again.
    fn next_wake(&self) -> Option<Nanos> {
        None
    }

    /// Called at the time that [`next_wake`](Qdisc::next_wake) returned.
    fn wake(&mut self, _now: Nanos) {}

    /// Called before a transmitter that takes parts of packets (a radio bearer) dequeues. If it still holds the rest of a packet, `held_since` is
    /// when that packet arrived.
    fn opportunity(&mut self, _now: Nanos, _held_since: Option<Nanos>) {}

    /// Counters and state of the algorithm, by tc's names (`prob`, `count`, `new_flow_count`, ...).
    fn stats(&self) -> Vec<(&'static str, f64)> {
        Vec::new()
    }
}
