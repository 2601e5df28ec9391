//! The event loop: takes the earliest event, moves packets through boxes, and wakes what waits.

use bloatlab_aqm::Ecn;
use bloatlab_scenario::Plan;
use bloatlab_units::{NEVER, Nanos, Streams};

use crate::build::Plugins;
use crate::calendar::{Calendar, Key, NO_EVENT, instant, key, target};
use crate::control::{Control, Stopped};
use crate::flow::{Flow, Passage};
use crate::network::{DelayLine, InFlight, Link, LossyStretch};
use crate::outcome::Series;
use crate::packet::{Packet, Protocol};
use crate::packet_log::{HOST, PacketEvent, Step};

/// Kinds of event, in the high bits of the target.
pub(crate) mod event {
    pub const LINK_DONE: u32 = 0;
    pub const LINK_FLIGHT: u32 = 1;
    pub const DELAY: u32 = 2;
    pub const TIMER: u32 = 3;
    pub const APPLICATION: u32 = 4;
    pub const WAKE: u32 = 5;
    pub const CLOCK: u32 = 6;
    pub const INDEX_BITS: u32 = 21;
}

/// What the clock event is for.
pub(crate) mod clock {
    pub const SAMPLE: u32 = 0;
    pub const WARMUP: u32 = 1;
    pub const END: u32 = 2;
}

/// What an application event is for; three to a flow.
pub(crate) mod application {
    pub const START: u32 = 0;
    pub const STOP: u32 = 1;
    pub const NEXT: u32 = 2;
    pub const KINDS: u32 = 3;
}

/// A box, by kind and index among its kind.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Place {
    Link(u32),
    Delay(u32),
    Loss(u32),
}

/// Sources of events that are kept in registers; the rest goes to the calendar.
pub(crate) const REGISTERS: usize = 6;
/// Not in a register.
pub(crate) const IN_CALENDAR: u8 = u8::MAX;

/// Events between two looks at whether the run is to stop.
const CONTROL_PERIOD: u64 = 1 << 14;

/// A running simulation.
pub(crate) struct Engine<'a> {
    pub plan: &'a Plan,
    pub plugins: &'a dyn Plugins,
    pub streams: Streams,
    /// A user's algorithm could not be made.
    pub failure: Option<String>,
    pub now: Nanos,
    pub end: Nanos,
    pub warmup: Nanos,
    pub sample_interval: Nanos,
    pub events: u64,
    order: u64,
    calendar: Calendar,
    registers: [Key; REGISTERS],
    pub registers_used: usize,
    /// Boxes in the plan's order.
    pub places: Vec<Place>,
    pub box_names: Vec<String>,
    pub links: Vec<Link>,
    pub delays: Vec<DelayLine>,
    pub losses: Vec<LossyStretch>,
    /// Box numbers of all paths, one after the other.
    pub routes: Vec<u32>,
    pub flows: Vec<Flow>,
    pub passages: Vec<Passage>,
    pub log: Option<Vec<PacketEvent>>,
    pub sampled_at: Nanos,
    pub flow_series: Series,
    pub link_series: Series,
    pub probe_series: Series,
    /// Rank of each plan flow among flows of data, and among probes.
    pub ranks: Vec<(Option<u32>, Option<u32>)>,
    /// Slowest link on each flow's data path, bit/s.
    pub bottlenecks: Vec<f64>,
}

impl<'a> Engine<'a> {
    /// Everything but the parts, which `build` fills in.
    pub fn empty(plan: &'a Plan, plugins: &'a dyn Plugins, seed: u64, log: bool) -> Self {
        Self {
            plan,
            plugins,
            streams: Streams::new(seed),
            failure: None,
            now: 0,
            end: plan.duration,
            warmup: plan.warmup,
            sample_interval: plan.sample_interval,
            events: 0,
            order: 0,
            calendar: Calendar::new(),
            registers: [NO_EVENT; REGISTERS],
            registers_used: 0,
            places: Vec::new(),
            box_names: Vec::new(),
            links: Vec::new(),
            delays: Vec::new(),
            losses: Vec::new(),
            routes: Vec::new(),
            flows: Vec::new(),
            passages: Vec::new(),
            log: log.then(Vec::new),
            sampled_at: 0,
            flow_series: Series::default(),
            link_series: Series::default(),
            probe_series: Series::default(),
            ranks: Vec::new(),
            bottlenecks: Vec::new(),
        }
    }

    /// Runs to the end, or until told to stop.
    pub fn run(&mut self, control: &Control) -> Result<(), Stopped> {
        while let Some(next) = self.take_next() {
            self.now = instant(next);
            let (kind, index) = (
                target(next) >> event::INDEX_BITS,
                target(next) & ((1 << event::INDEX_BITS) - 1),
            );
            match kind {
                event::LINK_DONE => self.on_link_done(index as usize),
                event::LINK_FLIGHT => self.on_link_flight(index as usize),
                event::DELAY => self.on_delay(index as usize),
                event::TIMER => self.on_timer(index as usize / 2, index as usize % 2),
                event::APPLICATION => {
                    self.on_application(
                        (index / application::KINDS) as usize,
                        index % application::KINDS,
                    );
                }
                event::WAKE => self.on_wake(index as usize),
                _ if index == clock::SAMPLE => self.on_sample(),
                _ if index == clock::WARMUP => self.on_warmup(),
                _ => break,
            }
            self.events += 1;
            if self.events.is_multiple_of(CONTROL_PERIOD) {
                control.check(self.now, self.end)?;
            }
        }
        control.check(self.now, self.end)?;
        self.failure
            .take()
            .map_or(Ok(()), |message| Err(Stopped::Failed(message)))
    }

    #[inline]
    fn take_next(&mut self) -> Option<Key> {
        let mut best = self.calendar.peek();
        let mut from = REGISTERS;
        for (i, &register) in self.registers[..self.registers_used].iter().enumerate() {
            if register < best {
                best = register;
                from = i;
            }
        }
        if from < REGISTERS {
            self.registers[from] = NO_EVENT;
        } else if best == NO_EVENT {
            return None;
        } else {
            self.calendar.pop();
        }
        Some(best)
    }

    #[inline]
    fn new_key(&mut self, at: Nanos, kind: u32, index: u32) -> Key {
        self.order += 1;
        key(at, self.order, kind << event::INDEX_BITS | index)
    }

    /// Puts an event into the calendar.
    #[inline]
    pub fn schedule(&mut self, at: Nanos, kind: u32, index: u32) {
        let key = self.new_key(at, kind, index);
        self.calendar.push(key);
    }

    /// Puts the next event of a source into its register, or the calendar.
    #[inline]
    fn set_source(&mut self, slot: u8, key: Key) {
        if slot == IN_CALENDAR {
            self.calendar.push(key);
        } else {
            debug_assert_eq!(self.registers[usize::from(slot)], NO_EVENT);
            self.registers[usize::from(slot)] = key;
        }
    }

    #[inline]
    pub fn note(&mut self, step: Step, place: u32, packet: &Packet) {
        if let Some(log) = &mut self.log {
            log.push(PacketEvent {
                at: self.now,
                step,
                place,
                packet: *packet,
            });
        }
    }

    /// A host sends a packet.
    #[inline]
    pub fn send(&mut self, packet: Packet) {
        self.note(Step::Send, HOST, &packet);
        if packet.direction() == 0 {
            self.passages[packet.flow_index()].sent += 1;
        }
        self.forward(packet);
    }

    /// Takes a packet to the next box of its path, or to the host at its end.
    #[inline]
    fn forward(&mut self, mut packet: Packet) {
        loop {
            let (first, length) = self.passages[packet.flow_index()].routes[packet.direction()];
            if packet.hop == length {
                self.note(Step::Receive, HOST, &packet);
                return self.receive(packet);
            }
            let number = self.routes[first as usize + usize::from(packet.hop)];
            packet.hop += 1;
            match self.places[number as usize] {
                Place::Link(i) => return self.enter_link(i as usize, packet),
                Place::Delay(i) => return self.enter_delay(i as usize, packet),
                Place::Loss(i) => {
                    let stretch = &mut self.losses[i as usize];
                    stretch.count.arrivals += 1;
                    if stretch.rng.chance(stretch.probability) {
                        stretch.count.drops += 1;
                        self.note(Step::Drop, number, &packet);
                        return self.count_drop(&packet);
                    }
                    stretch.count.departures += 1;
                }
            }
        }
    }

    fn count_drop(&mut self, packet: &Packet) {
        if packet.direction() == 0 {
            self.passages[packet.flow_index()].drops += 1;
        }
    }

    #[inline]
    fn enter_delay(&mut self, index: usize, packet: Packet) {
        let at = self.now + self.delays[index].delay;
        let key = self.new_key(at, event::DELAY, index as u32);
        let line = &mut self.delays[index];
        line.count.arrivals += 1;
        let idle = line.flight.is_empty();
        line.flight.push_back(InFlight { key, packet });
        if idle {
            let slot = line.slot;
            self.set_source(slot, key);
        }
    }

    #[inline]
    fn on_delay(&mut self, index: usize) {
        let line = &mut self.delays[index];
        let Some(arrived) = line.flight.pop_front() else {
            return;
        };
        line.count.departures += 1;
        if let Some(next) = line.flight.front() {
            let (slot, key) = (line.slot, next.key);
            self.set_source(slot, key);
        }
        self.forward(arrived.packet);
    }

    #[inline]
    fn enter_link(&mut self, index: usize, packet: Packet) {
        let now = self.now;
        if self.log.is_some() {
            self.note(Step::Enqueue, self.links[index].number, &packet);
        }
        let link = &mut self.links[index];
        link.count.arrivals += 1;
        link.stats.arrivals += 1;
        link.queue.enqueue(now, packet, &mut link.fate);
        link.account(now, 1, u64::from(packet.length()));
        if !link.fate.drops.is_empty() || !link.fate.marks.is_empty() {
            self.settle(index);
        }
        let link = &mut self.links[index];
        if !link.busy || link.device.len() < link.device_packets {
            self.fill_device(index);
        }
    }

    /// Counts what the queue discipline discarded or marked.
    #[cold]
    fn settle(&mut self, index: usize) {
        let number = self.links[index].number;
        let mut fate = std::mem::take(&mut self.links[index].fate);
        for (packet, _) in &fate.drops {
            let link = &mut self.links[index];
            link.count.drops += 1;
            link.stats.drops += 1;
            link.stats.interval.drops += 1;
            self.note(Step::Drop, number, packet);
            self.count_drop(packet);
        }
        for packet in &fate.marks {
            let link = &mut self.links[index];
            link.stats.marks += 1;
            link.stats.interval.marks += 1;
            self.note(Step::Mark, number, packet);
            if packet.direction() == 0 {
                self.passages[packet.flow_index()].marks += 1;
            }
        }
        // The lists go back, so that their memory is used again.
        fate.drops.clear();
        fate.marks.clear();
        self.links[index].fate = fate;
    }

    /// Moves packets from the queue discipline to the device and the transmitter, as far as there is room.
    #[inline]
    fn fill_device(&mut self, index: usize) {
        loop {
            let now = self.now;
            let link = &mut self.links[index];
            if link.busy && link.device.len() >= link.device_packets {
                return;
            }
            let packet = link.take(now);
            let settled = link.fate.drops.is_empty() && link.fate.marks.is_empty();
            if !settled {
                self.settle(index);
            }
            let Some(packet) = packet else { return };
            if packet.direction() == 0 {
                let sojourn = now - bloatlab_aqm::Packet::enqueued_at(&packet);
                self.passages[packet.flow_index()].sojourn.record(sojourn);
            }
            if self.log.is_some() {
                self.note(Step::Dequeue, self.links[index].number, &packet);
            }
            if self.links[index].busy {
                self.links[index].device.push_back(packet);
            } else {
                self.transmit(index, packet);
            }
        }
    }

    /// Puts a packet on the wire. Its arrival is known at once, so it goes straight into the ring of the propagation.
    #[inline]
    fn transmit(&mut self, index: usize, packet: Packet) {
        let now = self.now;
        let link = &mut self.links[index];
        let size = packet.length() + link.overhead;
        let (time, remainder) = link.rate.transmit(u64::from(size), link.remainder);
        let done = now + time;
        link.remainder = remainder;
        link.busy = true;
        link.busy_until = done;
        link.sending = size;
        link.stats.busy += time;
        let (delay, slot) = (link.delay, link.done_slot);
        let key = self.new_key(done, event::LINK_DONE, index as u32);
        self.set_source(slot, key);
        let key = self.new_key(done + delay, event::LINK_FLIGHT, index as u32);
        let link = &mut self.links[index];
        let idle = link.flight.is_empty();
        link.flight.push_back(InFlight { key, packet });
        if idle {
            let slot = link.flight_slot;
            self.set_source(slot, key);
        }
    }

    #[inline]
    fn on_link_done(&mut self, index: usize) {
        let link = &mut self.links[index];
        let sent = u64::from(link.sending);
        link.stats.sent_bytes += sent;
        link.stats.interval.bytes += sent;
        link.busy = false;
        if let Some(packet) = link.device.pop_front() {
            self.transmit(index, packet);
        }
        self.fill_device(index);
        if !self.links[index].busy {
            // A fraction of a nanosecond is carried over only while the link stays busy.
            self.links[index].remainder = 0;
        }
    }

    #[inline]
    fn on_link_flight(&mut self, index: usize) {
        let link = &mut self.links[index];
        let Some(arrived) = link.flight.pop_front() else {
            return;
        };
        link.count.departures += 1;
        if let Some(next) = link.flight.front() {
            let (slot, key) = (link.flight_slot, next.key);
            self.set_source(slot, key);
        }
        self.forward(arrived.packet);
    }

    /// A queue discipline asked to be woken.
    fn on_wake(&mut self, index: usize) {
        let now = self.now;
        self.links[index].queue.wake(now);
        if let Some(at) = self.links[index].queue.next_wake() {
            self.schedule(at.max(now + 1), event::WAKE, index as u32);
        }
        if !self.links[index].busy && self.links[index].packets > 0 {
            self.fill_device(index);
        }
    }

    /// A packet reached the host at the end of its path.
    #[inline]
    fn receive(&mut self, packet: Packet) {
        match packet.protocol() {
            Protocol::Tcp => self.receive_tcp(packet),
            Protocol::Udp => self.receive_datagram(&packet),
            Protocol::Echo => self.receive_echo(packet),
        }
    }

    /// A segment reached end 1 (data direction) or end 0.
    #[inline]
    fn receive_tcp(&mut self, packet: Packet) {
        let now = self.now;
        let index = packet.flow_index();
        let Flow::Tcp(flow) = &mut self.flows[index] else {
            return;
        };
        if packet.connection() != flow.connection {
            return;
        }
        let end = 1 - packet.direction();
        let bytes = flow.ends[end].on_segment(now, &packet.segment, packet.is_ce());
        if end == 0 {
            flow.on_acknowledged();
            flow.feed(now);
        } else if bytes > 0 {
            flow.on_read(now, bytes);
        }
        if bytes > 0 || end == 0 {
            self.after_segment(index, end, bytes);
        }
        self.pump(index, end);
    }

    /// Lets an endpoint send what it may, and sets its timer.
    #[inline]
    pub fn pump(&mut self, index: usize, end: usize) {
        let now = self.now;
        loop {
            let Flow::Tcp(flow) = &mut self.flows[index] else {
                return;
            };
            let Some((segment, capable)) = flow.ends[end].poll(now) else {
                break;
            };
            if end == 0 && segment.length > 0 {
                flow.on_departure(now);
            }
            let connection = flow.connection;
            let size = segment.wire_size();
            let mut packet = Packet::new(
                index as u32,
                connection,
                end as u8,
                Protocol::Tcp,
                size,
                segment,
            );
            if capable {
                packet.set_ecn(Ecn::Ect0);
            }
            self.send(packet);
        }
        let Flow::Tcp(flow) = &mut self.flows[index] else {
            return;
        };
        if end == 0 {
            flow.observe(now);
        }
        let deadline = flow.ends[end].deadline(now);
        if deadline < flow.scheduled[end] {
            flow.scheduled[end] = deadline;
            self.schedule(deadline, event::TIMER, (index * 2 + end) as u32);
        }
    }

    /// A timer event: only the one that stands as scheduled counts; deadlines that moved later are set again.
    fn on_timer(&mut self, index: usize, end: usize) {
        let now = self.now;
        let Flow::Tcp(flow) = &mut self.flows[index] else {
            return;
        };
        if flow.scheduled[end] != now {
            return;
        }
        flow.scheduled[end] = NEVER;
        if flow.ends[end].deadline(now) <= now {
            flow.ends[end].on_timer(now);
            self.after_timer(index, end);
        }
        self.pump(index, end);
    }
}
