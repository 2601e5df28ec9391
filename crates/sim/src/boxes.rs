//! The boxes that hold packets: a link with its queue, a delay line.

use std::collections::VecDeque;

use bloatlab_aqm::{Capacity, DropReason, Qdisc, Sink};
use bloatlab_units::Nanos;

use crate::flight::Flight;
use crate::mean_rate::MeanRate;
use crate::packet::Packet;
use crate::schedule::{Schedule, Slot, event};
use crate::serialization::Serialization;
use crate::varying::{VaryingDelay, VaryingLink};
use bloatlab_outcome::Lengths;
use bloatlab_outcome::LossEvents;
use bloatlab_outcome::TimeMean;
use bloatlab_outcome::{Count, Histogram};

/// What a queue discarded or marked during one call.
#[derive(Default)]
pub(crate) struct Signals {
    pub drops: Vec<(Packet, DropReason)>,
    pub marks: Vec<Packet>,
}

impl Signals {
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.drops.is_empty() && self.marks.is_empty()
    }
}

impl Sink<Packet> for Signals {
    fn dropped(&mut self, packet: &Packet, reason: DropReason) {
        self.drops.push((*packet, reason));
    }

    fn marked(&mut self, packet: &Packet) {
        self.marks.push(*packet);
    }
}

/// What a link counted since the warm-up, and since the last sample.
#[derive(Clone, Default)]
pub(crate) struct LinkStats {
    /// Arrivals before the end of the warm-up.
    pub earlier_arrivals: u64,
    pub sent_bytes: u64,
    pub drops: u64,
    pub marks: u64,
    pub busy: Nanos,
    pub sojourn: Histogram,
    /// Queue length in packets, weighted by time.
    pub length: Lengths,
    pub bytes: TimeMean,
    pub max_bytes: u64,
    pub losses: LossEvents,
    pub interval: Interval,
}

/// Sums since the last sample.
#[derive(Clone, Copy, Default)]
pub(crate) struct Interval {
    pub sojourn_sum: u64,
    pub sojourns: u64,
    pub drops: u64,
    pub marks: u64,
}

/// A queue, the device behind it, the transmitter and the propagation.
pub(crate) struct Link {
    /// Its number among the plan's boxes.
    pub number: u32,
    pub wire: Serialization,
    pub delay: Nanos,
    /// The mean rate of a link whose rate may be set during the run.
    pub mean_rate: Option<Box<MeanRate>>,
    /// Number of queue disciplines that another has replaced.
    pub queues_replaced: u32,
    /// What of rate and propagation changes over time.
    pub varying: Option<Box<VaryingLink>>,
    pub overhead: u32,
    /// Bytes that the queue counts besides the IP packet, and the wire carries.
    pub header: u32,
    pub queue: Box<dyn Qdisc<Packet>>,
    /// The queue discipline is asked for packets also when it holds none.
    pub observes_idleness: bool,
    pub signals: Signals,
    /// Packets that left the queue discipline and wait in the device's ring.
    pub device: VecDeque<Packet>,
    pub device_packets: usize,
    /// End of the transmission under way.
    pub busy_until: Nanos,
    pub busy: bool,
    pub sending: u32,
    pub flight: Flight,
    /// In the queue discipline.
    pub packets: u64,
    pub bytes: u64,
    pub changed_at: Nanos,
    /// When the queue discipline is to be woken; `NEVER`: not.
    pub wake_at: Nanos,
    /// The bearer of the cell that it is, if it is one, and what that holds, in bytes.
    pub bearer: Option<(usize, u64)>,
    /// The gate that it is left by, if it is left by one.
    pub gate: usize,
    /// Nothing waits in it that a flow's sojourn would count.
    pub transit: bool,
    /// Packets that the cell has taken and not delivered.
    pub taken: u64,
    pub done_slot: Slot,
    /// The end of a transmission is never an event. The link is brought up to date when a packet arrives, when its last packet in flight arrives, and
    /// before it is measured. Only links with a work-conserving queue are lazy; the results are the same.
    pub lazy: bool,
    /// The capacity of a tail-drop FIFO whose packets this lazy link keeps itself.
    pub tail_drop: Option<Capacity>,
    /// The end of the current transmission is scheduled as an event.
    pub end_is_planned: bool,
    /// `stats.busy` and `stats.sent_bytes` at the last sample; both wrap.
    pub busy_sampled: Nanos,
    pub bytes_sampled: u64,
    pub count: Count,
    pub stats: LinkStats,
}

impl Link {
    /// Notes that the queue discipline holds this much from now on.
    #[inline(always)]
    pub fn set_length(&mut self, now: Nanos, packets: u64, bytes: u64) {
        let span = now - self.changed_at;
        if span > 0 {
            self.stats.length.add(self.packets, span);
            self.changed_at = now;
        }
        self.stats.bytes.set(now, bytes);
        self.stats.max_bytes = self.stats.max_bytes.max(bytes);
        self.packets = packets;
        self.bytes = bytes;
    }

    /// Notes what a call of the queue discipline gained and, by its drops, lost.
    #[inline(always)]
    pub fn account(&mut self, now: Nanos, gained: u64, gained_bytes: u64) {
        let lost: u64 = self
            .signals
            .drops
            .iter()
            .map(|(p, _)| u64::from(p.length()))
            .sum();
        let packets = self.packets + gained - self.signals.drops.len() as u64;
        self.set_length(now, packets, self.bytes + gained_bytes - lost);
    }

    /// Puts a packet into the queue discipline.
    #[inline(always)]
    pub fn enqueue(&mut self, now: Nanos, mut packet: Packet) {
        packet.lengthen(self.header);
        let bytes = u64::from(packet.length());
        self.count.arrivals += 1;
        self.queue.enqueue(now, packet, &mut self.signals);
        self.account(now, 1, bytes);
    }

    /// Puts a packet into the queue discipline of a bearer, unless its buffer is full; `held` tells what the transmitter has of a packet sent in part.
    #[inline]
    pub fn enter(&mut self, now: Nanos, mut packet: Packet, held: impl FnOnce(usize) -> u32) {
        let Some((bearer, buffer)) = self.bearer else {
            return self.enqueue(now, packet);
        };
        let size = u64::from(packet.length() + self.header);
        if self.bytes + u64::from(held(bearer)) + size <= buffer {
            return self.enqueue(now, packet);
        }
        packet.lengthen(self.header);
        self.count.arrivals += 1;
        self.signals.dropped(&packet, DropReason::Overflow);
    }

    /// Dequeues the next packet. The caller records its sojourn time.
    #[inline(always)]
    pub fn dequeue(&mut self, now: Nanos) -> Option<Packet> {
        let mut packet = self.queue.dequeue(now, &mut self.signals);
        if !self.signals.drops.is_empty() {
            self.account(now, 0, 0);
        }
        if let Some(packet) = &mut packet {
            let length = u64::from(packet.length());
            self.set_length(now, self.packets - 1, self.bytes - length);
            packet.shorten(self.header);
        }
        packet
    }

    /// Whether the device or the transmitter takes a packet.
    #[inline]
    pub fn has_room(&self) -> bool {
        !self.busy || self.device.len() < self.device_packets
    }

    /// Sees to it that the queue discipline is woken when it asks to be, if that is earlier than it will be.
    pub fn arrange_wake(&mut self, schedule: &mut Schedule) {
        let Some(at) = self.queue.next_wake() else {
            return;
        };
        let at = at.max(schedule.now + 1);
        if at < self.wake_at {
            self.wake_at = at;
            schedule.at(at, event::WAKE, self.flight.index);
        }
    }

    /// Puts a packet on the wire. Its arrival is known at once, so it goes straight into the ring of the propagation.
    #[inline(always)]
    pub fn transmit(&mut self, schedule: &mut Schedule, now: Nanos, packet: &Packet) {
        let size = packet.length() + self.header + self.overhead;
        let arrival = self.occupy(now, size);
        self.flight.push(schedule, arrival, packet);
    }

    /// Starts the transmission of a packet of this size and returns when it arrives.
    #[inline(always)]
    pub fn occupy(&mut self, now: Nanos, size: u32) -> Nanos {
        let (done, arrival) = if self.varying.is_some() {
            self.vary(now, size)
        } else {
            let done = now + self.wire.next(u64::from(size));
            (done, done + self.delay)
        };
        self.busy = true;
        self.busy_until = done;
        self.sending = size;
        self.stats.busy += done - now;
        arrival
    }

    /// Whether there is something to do when the current transmission ends.
    #[inline]
    pub fn awaits_end(&self) -> bool {
        self.packets > 0 || !self.device.is_empty() || self.observes_idleness
    }

    /// Schedules the end of the current transmission as an event, if it has to be one.
    #[inline]
    pub fn plan_end(&mut self, schedule: &mut Schedule) {
        if !self.lazy && self.busy && !self.end_is_planned && self.awaits_end() {
            self.end_is_planned = true;
            let index = self.flight.index;
            schedule.set(self.done_slot, self.busy_until, event::LINK_DONE, index);
        }
    }

    /// When a packet of this size that is put on the wire now has left, and when it arrives, if something of the link changes.
    #[inline(never)]
    fn vary(&mut self, now: Nanos, size: u32) -> (Nanos, Nanos) {
        let varying = self.varying.as_deref_mut();
        let (carrier, delay) =
            varying.map_or((None, None), |v| (v.carrier.as_mut(), v.delay.as_mut()));
        let done = match carrier {
            Some(carrier) => carrier.transmit(now, u64::from(size)),
            None => now + self.wire.next(u64::from(size)),
        };
        let arrival = delay.map_or(done + self.delay, |delay| delay.arrival(done));
        (done, arrival)
    }

    /// The transmitter has nothing to send: a fraction of a nanosecond is carried over only while it stays busy.
    #[inline]
    pub fn rest(&mut self) {
        self.wire.rest();
        if let Some(varying) = &mut self.varying {
            varying.rest();
        }
    }

    /// Utilization and, if it changes, mean rate (bit/s) of the time since the last sample, which was `span` ns ago.
    pub fn sample(&mut self, now: Nanos, span: Nanos) -> (f64, f64) {
        let busy = self.take_busy(now) as f64 / span as f64;
        let varying = self
            .varying
            .as_mut()
            .and_then(|varying| varying.sample(now));
        if let Some((rate, utilization)) = varying {
            return (utilization.unwrap_or(f64::NAN), rate);
        }
        let mean = self.mean_rate.as_mut().and_then(|mean| mean.sample(now));
        (busy, mean.unwrap_or(f64::NAN))
    }

    /// Mean rate (bit/s) and utilization over the `span` ns that are measured.
    pub fn whole(&self, span: Nanos) -> (f64, Option<f64>) {
        let varying = self.varying.as_ref().and_then(|varying| varying.whole());
        let busy = self.stats.busy as f64 / span as f64;
        let mean = self.mean_rate.as_ref().and_then(|mean| mean.whole.mean());
        varying.unwrap_or((mean.unwrap_or(self.wire.rate.0 as f64), Some(busy)))
    }

    /// The transmission is over: the device's next packet follows.
    #[inline(always)]
    pub fn finish(&mut self, schedule: &mut Schedule, now: Nanos) {
        let sent = u64::from(self.sending);
        self.stats.sent_bytes += sent;
        self.busy = false;
        if !self.device.is_empty() {
            self.send_from_device(schedule, now);
        }
    }

    #[inline(never)]
    fn send_from_device(&mut self, schedule: &mut Schedule, now: Nanos) {
        if let Some(packet) = self.device.pop_front() {
            self.transmit(schedule, now, &packet);
        }
    }

    /// Time for which the transmitter was busy up to now; what is under way counts only as far as it was sent.
    fn busy(&self, now: Nanos) -> Nanos {
        self.stats.busy - self.busy_until.saturating_sub(now)
    }

    /// The same since the last sample.
    fn take_busy(&mut self, now: Nanos) -> Nanos {
        let busy = self.busy(now);
        busy.wrapping_sub(std::mem::replace(&mut self.busy_sampled, busy))
    }

    /// Returns the bytes sent since the last sample.
    pub fn take_bytes(&mut self) -> u64 {
        let sent = self.stats.sent_bytes;
        sent.wrapping_sub(std::mem::replace(&mut self.bytes_sampled, sent))
    }

    /// Arrivals since the warm-up.
    pub fn arrivals(&self) -> u64 {
        self.count.arrivals - self.stats.earlier_arrivals
    }

    /// Forgets what was counted: the warm-up is over.
    pub fn reset(&mut self, now: Nanos) {
        self.set_length(now, self.packets, self.bytes);
        if let Some(varying) = &mut self.varying {
            varying.reset(now);
        }
        if let Some(mean) = &mut self.mean_rate {
            mean.reset(now);
        }
        self.busy_sampled = self.busy_sampled.wrapping_sub(self.busy(now));
        self.bytes_sampled = self.bytes_sampled.wrapping_sub(self.stats.sent_bytes);
        self.stats = LinkStats {
            earlier_arrivals: self.count.arrivals,
            busy: self.busy_until.saturating_sub(now),
            bytes: TimeMean::start(now, self.bytes),
            max_bytes: self.bytes,
            interval: self.stats.interval,
            ..LinkStats::default()
        };
    }

    /// Packets inside: queued, in the device, being sent or propagating.
    pub fn held(&self) -> u64 {
        self.packets + self.taken + (self.device.len() + self.flight.len()) as u64
    }
}

/// Holds every packet for the same time.
pub(crate) struct DelayLine {
    pub delay: Nanos,
    /// How the time changes.
    pub varying: Option<Box<VaryingDelay>>,
    pub flight: Flight,
    pub count: Count,
}

impl DelayLine {
    #[inline]
    pub fn enter(&mut self, schedule: &mut Schedule, packet: &Packet) {
        self.count.arrivals += 1;
        let arrival = match &mut self.varying {
            None => schedule.now + self.delay,
            Some(varying) => varying.arrival(schedule.now),
        };
        self.flight.push(schedule, arrival, packet);
    }
}
