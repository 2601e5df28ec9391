//! Queue disciplines, one file an algorithm. Sans-IO: time and randomness are arguments.
//!
//! A discipline owns its packets; its law ([`Verdict`]) sees sojourn time, backlog and the instant, and never a packet.

use bloatlab_units::Nanos;

mod classifier;
mod context;
mod deque;
mod heavy_hitters;
mod inner;
mod lengths;
mod list;
mod longest;
#[macro_use]
mod registry;
mod ring;
mod slab;
pub mod tc;
mod token_bucket;
mod turns;

pub use bloatlab_params::{Description, Parameter};
pub use classifier::{Classes, Classifier};
pub use context::{Context, Hosts};
pub use deque::Deques;
pub use heavy_hitters::HeavyHitters;
pub use lengths::Lengths;
pub use list::{Linked, List};
pub use longest::Longest;
pub use registry::{Algorithm, PythonParams};
pub use ring::{Bounded, Capacity, Ring};
pub use slab::{Chain, FlowHash, Slab};
pub use tc::{Form, Tc, Word};
pub use turns::{TakesTurns, Turns};

// One line an algorithm: its variant, and its module, whose name is its kind.
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

/// What a discipline may ask of a packet, and write on it.
pub trait Packet: Copy + Send + 'static {
    /// Bytes on the wire: what byte limits, deficits and rates count.
    fn size(&self) -> u32;
    /// Identity of the flow (the 5-tuple), before any hashing.
    fn flow(&self) -> u64;
    /// The ECN field.
    fn ecn(&self) -> Ecn;
    /// Sets congestion experienced.
    fn set_ce(&mut self);
    /// When the packet entered the queue that holds it.
    fn enqueued_at(&self) -> Nanos;
    /// Stamps the packet on entry.
    fn set_enqueued_at(&mut self, now: Nanos);
    /// The differentiated services code point (RFC 2474), 0 to 63.
    fn dscp(&self) -> u8 {
        0
    }
    /// Writes the code point (a queue that washes clears it); a packet without one ignores this.
    fn set_dscp(&mut self, _dscp: u8) {}
    /// Whether its host handed it over together with the packet of the flow just before it, so that both may lie in one buffer.
    fn follows(&self) -> bool {
        false
    }
    /// What it acknowledges, if it is a TCP segment that does nothing else: no payload, no SYN, FIN or RST.
    fn pure_ack(&self) -> Option<PureAck> {
        None
    }
}

/// What an ACK filter must know of a pure ACK: whether a later one says all that this one says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PureAck {
    /// The acknowledgment number; wraps at 2^32.
    pub number: u32,
    /// SACK blocks (RFC 2018), those present first; (0, 0) where absent.
    pub sack: [(u32, u32); 3],
    /// The TCP flags ECE and CWR (and AE), as in the header: changes of them must reach the sender.
    pub ecn_flags: u8,
    /// Timestamp value (RFC 7323), microseconds; wraps.
    pub tsval: u32,
    /// Timestamp echo.
    pub tsecr: u32,
}

/// Marks an ECN-capable packet; says whether it could.
pub fn mark<P: Packet>(packet: &mut P) -> bool {
    let capable = packet.ecn() != Ecn::NotEct;
    if capable {
        packet.set_ce();
    }
    capable
}

/// What a law answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Let the packet pass.
    Forward,
    /// Signal congestion on the packet if it is ECN-capable, else drop it.
    Mark,
    /// Drop the packet.
    Drop,
}

/// Why a packet was discarded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DropReason {
    /// The queue's limit was reached.
    Overflow,
    /// The law asked for it.
    Law,
}

/// Where a discipline puts the packets it discards and tells of those it marked.
pub trait Sink<P> {
    /// The packet is gone.
    fn dropped(&mut self, packet: &P, reason: DropReason);
    /// The packet was marked CE by this queue and stays.
    fn marked(&mut self, packet: &P);
}

/// A queue discipline.
///
/// Every packet given to [`enqueue`](Qdisc::enqueue) later leaves exactly once: through [`dequeue`](Qdisc::dequeue) or
/// [`Sink::dropped`]. `now` never decreases from call to call.
pub trait Qdisc<P: Packet>: Send {
    /// Takes a packet in; it, or another, may be dropped or marked at once. Stamps the packet with `now`.
    fn enqueue(&mut self, now: Nanos, packet: P, sink: &mut dyn Sink<P>);

    /// Gives the next packet to send, if any; may drop and mark on the way.
    fn dequeue(&mut self, now: Nanos, sink: &mut dyn Sink<P>) -> Option<P>;

    /// Whether [`dequeue`](Qdisc::dequeue) changes anything when nothing is held: laws learn from it that the transmitter is idle.
    fn heeds_idleness(&self) -> bool {
        true
    }

    /// Whether [`dequeue`](Qdisc::dequeue) returns a packet whenever one is held.
    ///
    /// A link may then dequeue a packet after the instant at which it leaves. It passes that instant as `now`, and keeps the order of its calls.
    fn is_work_conserving(&self) -> bool {
        true
    }

    /// The capacity of a plain tail-drop FIFO; `None` for every other discipline. A link may keep the packets of such a FIFO itself.
    fn tail_drop(&self) -> Option<Capacity> {
        None
    }

    /// Packets held.
    fn packets(&self) -> u64;

    /// Bytes held.
    fn bytes(&self) -> u64;

    /// The instant at which [`wake`](Qdisc::wake) wants to be called: a periodic update (PIE), or the time at which a
    /// non-work-conserving queue may send again. Asked at the start, after each call of `wake`, and after a `dequeue` that gave
    /// nothing though packets are held; only an answer earlier than the one before it moves the call. After `wake` the link
    /// asks for packets again.
    fn next_wake(&self) -> Option<Nanos> {
        None
    }

    /// Called at the instant that [`next_wake`](Qdisc::next_wake) named.
    fn wake(&mut self, _now: Nanos) {}

    /// A transmitter that takes packets in parts (a radio bearer) is about to ask for some; `held_since` is when the rest came in that it still has of one.
    fn opportunity(&mut self, _now: Nanos, _held_since: Option<Nanos>) {}

    /// What the algorithm counted or evolved, by tc's names (`prob`, `count`, `new_flow_count`, ...).
    fn stats(&self) -> Vec<(&'static str, f64)> {
        Vec::new()
    }
}
