//! A queue discipline, the device behind it, and the transmitter.

use std::collections::VecDeque;

use bloatlab_aqm::Qdisc;
use bloatlab_units::{Nanos, Rate};

use crate::{Backlog, Framed, Transmitter};

/// The output port of a link.
pub struct Port<P> {
    /// The queue discipline and its backlog.
    pub backlog: Backlog<P>,
    /// The transmitter.
    pub transmitter: Transmitter,
    /// Packets that left the queue discipline and wait in the device's ring.
    device: VecDeque<P>,
    /// Capacity of the ring, in packets, besides the packet that is being sent.
    device_packets: usize,
    /// Bytes that a packet takes on the wire besides the IP packet.
    wire_overhead: u32,
    /// It is a shaper, and the offload buffer of the last packet has more packets, which leave with it.
    inside_buffer: bool,
}

/// Receives what leaves a port.
pub trait Egress<P> {
    /// The queue discipline dropped or marked the packets in `backlog.signals`. The receiver empties the lists.
    fn signalled(&mut self, now: Nanos, backlog: &mut Backlog<P>);

    /// A packet left the queue discipline.
    fn dequeued(&mut self, now: Nanos, backlog: &mut Backlog<P>, packet: &P);

    /// The queue discipline holds its packets back, or is new. The receiver plans its next wake-up, if it asks for one.
    fn plan_wake(&mut self, now: Nanos, backlog: &mut Backlog<P>);

    /// The transmission of a packet began. The packet arrives at the other end of the link at `arrival`.
    fn transmitted(&mut self, arrival: Nanos, packet: &P);
}

impl<P: Framed> Port<P> {
    /// An idle port. The device holds `device_packets` besides the packet that is being sent. The link layer adds `overhead` bytes on the wire.
    pub fn new(
        backlog: Backlog<P>,
        transmitter: Transmitter,
        device_packets: u32,
        overhead: u32,
    ) -> Self {
        Self {
            device: VecDeque::with_capacity(device_packets as usize),
            device_packets: device_packets as usize,
            wire_overhead: backlog.header + overhead,
            inside_buffer: false,
            backlog,
            transmitter,
        }
    }

    /// Whether a packet can be sent at once without a device in between.
    pub fn has_device(&self) -> bool {
        self.device_packets > 0
    }

    /// Packets in the queue and in the device. The packet that is being sent does not count.
    pub fn held(&self) -> u64 {
        self.backlog.packets + self.device.len() as u64
    }

    /// Whether the device or the transmitter takes a packet.
    #[inline]
    pub fn has_room(&self) -> bool {
        !self.transmitter.busy || self.inside_buffer || self.device.len() < self.device_packets
    }

    /// Whether there is something to do when the current transmission ends.
    #[inline]
    pub fn awaits_end(&self) -> bool {
        self.backlog.packets > 0 || !self.device.is_empty() || self.backlog.observes_idleness
    }

    /// Returns when the current transmission ends, if there is something to do then.
    #[inline]
    pub fn next(&self) -> Option<Nanos> {
        let waits = self.transmitter.busy && self.awaits_end();
        waits.then_some(self.transmitter.busy_until)
    }

    /// Enqueues a packet that arrives, and sends what can be sent.
    #[inline(always)]
    pub fn enqueue(&mut self, now: Nanos, packet: &P, egress: &mut impl Egress<P>) {
        self.backlog.enqueue(now, *packet);
        if !self.backlog.signals.is_empty() {
            egress.signalled(now, &mut self.backlog);
        }
        if self.has_room() {
            self.fill(now, egress);
        }
    }

    /// Moves packets from the queue discipline to the device and the transmitter, as far as there is room.
    #[inline(always)]
    pub fn fill(&mut self, now: Nanos, egress: &mut impl Egress<P>) {
        while self.has_room() {
            let backlog = &mut self.backlog;
            let mut packet = backlog.queue.dequeue(now, &mut backlog.signals);
            backlog.count_dequeued(now, packet.as_mut());
            if !self.backlog.signals.is_empty() {
                egress.signalled(now, &mut self.backlog);
            }
            let Some(packet) = packet else {
                if self.backlog.packets > 0 {
                    egress.plan_wake(now, &mut self.backlog);
                }
                return;
            };
            egress.dequeued(now, &mut self.backlog, &packet);
            if self.transmitter.shapes {
                self.let_go(now, &packet, egress);
            } else if self.transmitter.busy {
                self.device.push_back(packet);
            } else {
                self.transmit(now, &packet, egress);
            }
        }
    }

    /// Sends a packet as a shaper does: the packets of an offload buffer leave together. If the rest of it comes later, it still leaves with this one.
    #[inline(never)]
    fn let_go(&mut self, now: Nanos, packet: &P, egress: &mut impl Egress<P>) {
        self.inside_buffer = packet.has_more();
        if self.transmitter.busy {
            let (longer, arrival) = self
                .transmitter
                .join(now, packet.size() + self.wire_overhead);
            self.backlog.stats.busy += longer;
            egress.transmitted(arrival, packet);
        } else {
            self.transmit(now, packet, egress);
        }
    }

    #[inline(always)]
    fn transmit(&mut self, now: Nanos, packet: &P, egress: &mut impl Egress<P>) {
        let arrival = self.start(now, packet.size());
        egress.transmitted(arrival, packet);
    }

    /// Starts the transmission of a packet of this size, without the link layer. Returns when the packet arrives at the other end.
    #[inline(always)]
    pub fn start(&mut self, now: Nanos, size: u32) -> Nanos {
        let (done, arrival) = self.transmitter.start(now, size + self.wire_overhead);
        self.backlog.stats.busy += done - now;
        arrival
    }

    /// Counts the current transmission as ended.
    #[inline(always)]
    pub fn finish(&mut self) {
        self.backlog.stats.sent_bytes += u64::from(self.transmitter.sending);
        self.transmitter.busy = false;
    }

    #[inline(never)]
    fn next_in_device(&mut self) -> Option<P> {
        self.device.pop_front()
    }

    /// Ends the current transmission and starts the next one.
    #[inline(always)]
    pub fn end_transmission(&mut self, now: Nanos, egress: &mut impl Egress<P>) {
        self.finish();
        if !self.device.is_empty()
            && let Some(packet) = self.next_in_device()
        {
            self.transmit(now, &packet, egress);
        }
        if self.backlog.packets > 0 || self.backlog.observes_idleness {
            self.fill(now, egress);
        }
        if !self.transmitter.busy {
            self.transmitter.rest();
        }
    }

    /// Takes all packets out of the queue discipline.
    pub fn drain(&mut self, now: Nanos, egress: &mut impl Egress<P>) -> Vec<P> {
        let mut waiting = Vec::new();
        loop {
            let packet = self.backlog.dequeue(now);
            // Dropped packets must not be counted again at the next call.
            if !self.backlog.signals.is_empty() {
                egress.signalled(now, &mut self.backlog);
            }
            let Some(packet) = packet else {
                return waiting;
            };
            waiting.push(packet);
        }
    }

    /// Replaces the queue discipline. The waiting packets move to the new one as if they arrived now.
    pub fn replace_queue(
        &mut self,
        now: Nanos,
        queue: Box<dyn Qdisc<P>>,
        waiting: Vec<P>,
        egress: &mut impl Egress<P>,
    ) {
        self.backlog.replace_queue(queue);
        for packet in waiting {
            self.backlog.put(now, packet);
            if !self.backlog.signals.is_empty() {
                egress.signalled(now, &mut self.backlog);
            }
        }
        egress.plan_wake(now, &mut self.backlog);
        if self.has_room() {
            self.fill(now, egress);
        }
    }

    /// Sets the rate of the packets that are sent from now on. The packet that is being sent keeps its time.
    pub fn set_rate(&mut self, now: Nanos, rate: Rate) {
        let busy = self.busy(now);
        self.transmitter.set_rate(now, rate, busy);
    }

    /// For how long the transmitter has been busy since the warm-up.
    fn busy(&self, now: Nanos) -> Nanos {
        self.backlog.stats.busy - self.transmitter.ahead(now)
    }

    /// Ends the warm-up.
    pub fn reset(&mut self, now: Nanos) {
        let busy = self.busy(now);
        self.backlog.reset(now, self.transmitter.ahead(now));
        self.transmitter.reset(now, busy);
    }

    /// Ends the run.
    pub fn end(&mut self, end: Nanos) {
        self.backlog.finish(end, self.transmitter.ahead(end));
        self.transmitter.finish(end, self.backlog.stats.busy);
    }

    /// Returns the utilization and, if the rate changes, the mean rate (bit/s) since the last sample, which was `span` ns ago.
    pub fn sample(&mut self, now: Nanos, span: Nanos) -> (f64, f64) {
        let since_warmup = self.busy(now);
        let busy = self.backlog.stats.take_busy(self.transmitter.ahead(now));
        self.transmitter.sample(now, span, [busy, since_warmup])
    }

    /// Returns the mean rate (bit/s) and the utilization of the measured time.
    pub fn whole(&self, span: Nanos) -> (f64, Option<f64>) {
        self.transmitter.whole(span, self.backlog.stats.busy)
    }
}
