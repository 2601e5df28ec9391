//! A queue discipline together with its backlog and its statistics.

use bloatlab_aqm::{DropReason, Packet, Qdisc, Sink};
use bloatlab_outcome::{Count, LinkStats};
use bloatlab_units::{NEVER, Nanos};

use crate::Signals;

/// A packet that a link-layer header can be added to.
pub trait Framed: Packet {
    /// Adds a header of this many bytes.
    fn lengthen(&mut self, header: u32);
    /// Removes a header of this many bytes.
    fn shorten(&mut self, header: u32);
}

/// A queue discipline, what it holds, and what is counted at it.
pub struct Backlog<P> {
    /// Number of the link among the plan's boxes.
    pub number: u32,
    /// The sojourn times do not count as those of the flows, because packets hardly wait here.
    pub transit: bool,
    /// The queue discipline.
    pub queue: Box<dyn Qdisc<P>>,
    /// Bytes of link-layer header that the queue counts besides the IP packet.
    pub header: u32,
    /// The queue discipline is asked for packets even if it holds none.
    pub observes_idleness: bool,
    /// What the last call of the queue discipline dropped or marked.
    pub signals: Signals<P>,
    /// Packets in the queue.
    pub packets: u64,
    /// Bytes in the queue.
    pub bytes: u64,
    /// When the number of packets last changed.
    changed_at: Nanos,
    /// When the queue discipline will be woken; [`NEVER`] if it will not.
    wake_at: Nanos,
    /// Packets over the whole run.
    pub count: Count,
    /// What is counted since the warm-up.
    pub stats: LinkStats,
}

impl<P: Framed> Backlog<P> {
    /// The empty queue of link `number`. It counts `header` bytes per packet besides the IP packet.
    pub fn new(number: u32, transit: bool, queue: Box<dyn Qdisc<P>>, header: u32) -> Self {
        Self {
            number,
            transit,
            observes_idleness: queue.observes_idleness(),
            queue,
            header,
            signals: Signals::default(),
            packets: 0,
            bytes: 0,
            changed_at: 0,
            wake_at: NEVER,
            count: Count::default(),
            stats: LinkStats::default(),
        }
    }

    /// Notes that the queue holds this much from now on.
    #[inline(always)]
    pub fn set_length(&mut self, now: Nanos, packets: u64, bytes: u64) {
        self.shrink(now, packets, bytes);
        self.stats.max_bytes = self.stats.max_bytes.max(bytes);
    }

    /// Notes that the queue holds this much from now on, which is not more than before.
    #[inline(always)]
    pub fn shrink(&mut self, now: Nanos, packets: u64, bytes: u64) {
        let span = now - self.changed_at;
        if span > 0 {
            self.stats.length.add(self.packets, span);
            self.changed_at = now;
        }
        self.stats.bytes.set(now, bytes);
        self.packets = packets;
        self.bytes = bytes;
    }

    /// Notes what a call of the queue discipline added to the backlog, and what its drops removed.
    #[inline(always)]
    fn account(&mut self, now: Nanos, added: u64, added_bytes: u64) {
        let drops = &self.signals.drops;
        let lost: u64 = drops.iter().map(|(p, _)| u64::from(p.size())).sum();
        let packets = self.packets + added - drops.len() as u64;
        self.set_length(now, packets, self.bytes + added_bytes - lost);
    }

    /// Enqueues a packet that arrives.
    #[inline(always)]
    pub fn enqueue(&mut self, now: Nanos, mut packet: P) {
        self.count.arrivals += 1;
        // The queue discipline may drop the packet at once.
        packet.set_enqueued_at(now);
        self.put(now, packet);
    }

    /// Enqueues a packet without counting an arrival. It may come from the queue discipline before this one.
    #[inline(always)]
    pub fn put(&mut self, now: Nanos, mut packet: P) {
        packet.lengthen(self.header);
        let bytes = u64::from(packet.size());
        self.queue.enqueue(now, packet, &mut self.signals);
        self.account(now, 1, bytes);
    }

    /// Drops a packet that arrives, because the buffer is full.
    #[cold]
    pub fn refuse(&mut self, now: Nanos, packet: &P) {
        let mut packet = *packet;
        packet.set_enqueued_at(now);
        packet.lengthen(self.header);
        self.count.arrivals += 1;
        self.signals.dropped(&packet, DropReason::Overflow);
    }

    /// Dequeues the next packet. The caller records its sojourn time.
    #[inline(always)]
    pub fn dequeue(&mut self, now: Nanos) -> Option<P> {
        let mut packet = self.queue.dequeue(now, &mut self.signals);
        self.count_dequeued(now, packet.as_mut());
        packet
    }

    /// Notes what a call of the queue discipline's `dequeue` returned and dropped, and removes the link-layer header.
    #[inline(always)]
    pub(crate) fn count_dequeued(&mut self, now: Nanos, packet: Option<&mut P>) {
        if !self.signals.drops.is_empty() {
            self.account(now, 0, 0);
        }
        if let Some(packet) = packet {
            let bytes = self.bytes - u64::from(packet.size());
            self.shrink(now, self.packets - 1, bytes);
            packet.shorten(self.header);
        }
    }

    /// Replaces the queue discipline. The old one must be empty.
    pub fn replace_queue(&mut self, queue: Box<dyn Qdisc<P>>) {
        debug_assert_eq!(self.packets, 0);
        self.observes_idleness = queue.observes_idleness();
        self.wake_at = NEVER;
        self.queue = queue;
    }

    /// Returns when to wake the queue discipline, if it asks for an earlier wake-up than the planned one.
    pub fn plan_wake(&mut self, now: Nanos) -> Option<Nanos> {
        let at = self.queue.next_wake()?.max(now + 1);
        (at < self.wake_at).then(|| {
            self.wake_at = at;
            at
        })
    }

    /// Whether the planned wake-up is now. An earlier one may have replaced it.
    pub fn is_wake_due(&self, now: Nanos) -> bool {
        self.wake_at == now
    }

    /// Wakes the queue discipline.
    pub fn wake(&mut self, now: Nanos) {
        self.queue.wake(now);
        self.wake_at = NEVER;
    }

    /// Ends the warm-up. The current transmission takes another `ahead` ns.
    pub fn reset(&mut self, now: Nanos, ahead: Nanos) {
        self.set_length(now, self.packets, self.bytes);
        self.stats
            .reset(now, self.count.arrivals, self.bytes, ahead);
    }

    /// Ends the run. The current transmission would take another `ahead` ns, which do not count as busy.
    pub fn finish(&mut self, end: Nanos, ahead: Nanos) {
        self.stats.busy -= ahead.min(self.stats.busy);
        self.set_length(end, self.packets, self.bytes);
        self.stats.bytes.advance(end);
    }
}
