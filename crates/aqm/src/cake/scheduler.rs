//! The queue discipline: tins by priority or in turn, the flows of each tin by deficit round robin, and COBALT for each flow.

use bloatlab_units::{Nanos, Rng};

use super::Params;
use super::ack_filter::AckFilter;
use super::hosts::{Isolation, Loads};
use super::overhead::Overhead;
use super::shaper::Shaper;
use super::stats::report;
use super::table::PLACES;
use super::tin::Tin;
use super::tins::Diffserv;
use crate::longest::Longest;
use crate::slab::{FlowHash, Slab};
use crate::{Band, Context, DropReason, Hosts, Packet, Qdisc, Sink, Slot};

/// The whole queue discipline.
pub struct Cake<P> {
    slab: Slab<P>,
    tins: Vec<Tin>,
    diffserv: Diffserv,
    /// The tin of every code point.
    map: [u8; 64],
    /// One bit per tin, set if a flow of the tin waits for its turn. Such a tin may turn out to be empty.
    active: u8,
    /// The tin that was chosen last. Without a shaper, it is the one to serve.
    current: usize,
    /// Bytes charged to it since then.
    charged: i64,
    shaper: Option<Shaper>,
    overhead: Overhead,
    longest: Longest,
    isolation: Isolation,
    hash: FlowHash,
    hosts: Hosts,
    ack_filter: AckFilter,
    wash: bool,
    /// Whether packets have already crossed the bottleneck, so that drops count against the shaper.
    ingress: bool,
    memory_limit: u64,
    memory_used: u64,
    /// The smaller of both. Only a backlog above it needs further checks.
    memory_mark: u64,
    /// When the shaper allows the next packet.
    wake_at: Option<Nanos>,
    rng: Rng,
}

impl<P: Packet> Cake<P> {
    pub(super) fn new(params: &Params, mut context: Context) -> Self {
        let rng = &mut context.rng;
        let hash = FlowHash::new(rng, u32::MAX);
        let settings = params
            .diffserv
            .settings(params.bandwidth, params.rtt.0, context.mtu);
        let tins: Vec<Tin> = settings
            .into_iter()
            .map(|settings| Tin::new(settings, Loads::new(params.flowmode, rng)))
            .collect();
        Self {
            slab: Slab::default(),
            longest: Longest::new(tins.len() * PLACES),
            tins,
            diffserv: params.diffserv,
            map: params.diffserv.map(),
            active: 0,
            current: 0,
            charged: 0,
            shaper: params.bandwidth.map(Shaper::new),
            overhead: params.overhead(context.header),
            isolation: params.flowmode,
            hash,
            hosts: context.hosts,
            ack_filter: params.ack_filter,
            wash: params.wash,
            ingress: params.ingress,
            memory_limit: params.memory_limit(context.mtu),
            memory_used: 0,
            memory_mark: 0,
            wake_at: None,
            rng: context.rng,
        }
    }

    /// Charges a dropped packet of `size` bytes in ingress mode.
    fn charge_drop(&mut self, tin: usize, size: u32, now: Nanos) {
        let length = u64::from(self.overhead.adjust(size));
        if let Some(shaper) = self.shaper.as_mut().filter(|_| self.ingress) {
            shaper.dropped(length);
            if let Some(threshold) = &mut self.tins[tin].threshold {
                threshold.charge(length, now);
            }
        }
    }

    /// Handles a backlog that is larger than ever before, or larger than allowed.
    #[cold]
    #[inline(never)]
    fn fill(&mut self, now: Nanos, sink: &mut dyn Sink<P>) {
        self.memory_used = self.memory_used.max(self.slab.bytes());
        self.memory_mark = self.memory_used.min(self.memory_limit);
        while self.slab.bytes() > self.memory_limit {
            self.cut_longest(now, sink);
        }
    }

    /// Drops the packet at the head of the longest queue.
    fn cut_longest(&mut self, now: Nanos, sink: &mut dyn Sink<P>) {
        let tins = &self.tins;
        let index = self
            .longest
            .find(|index| tins[index / PLACES].flows[index % PLACES].backlog.into());
        let (number, place) = (index / PLACES, index % PLACES);
        let tin = &mut self.tins[number];
        let flow = &mut tin.flows[place];
        if let Some(packet) = self.slab.pop(&mut flow.chain) {
            flow.backlog -= packet.size();
            tin.backlog -= u64::from(packet.size());
            tin.overflowed(place, now);
            self.charge_drop(number, packet.size(), now);
            sink.dropped(&packet, DropReason::Overflow);
        }
    }

    /// Drops an ACK of this flow that the packet which just arrived makes redundant.
    fn filter_acks(&mut self, number: usize, place: usize, now: Nanos, sink: &mut dyn Sink<P>) {
        let tin = &mut self.tins[number];
        let flow = &mut tin.flows[place];
        if let Some(ack) = self.ack_filter.filter(&mut self.slab, &mut flow.chain) {
            flow.backlog -= ack.size();
            tin.backlog -= u64::from(ack.size());
            tin.counts.ack_drop += 1;
            self.charge_drop(number, ack.size(), now);
            sink.dropped(&ack, DropReason::Aqm);
        }
    }

    /// The tin that sends next. At least one must be active.
    #[inline]
    fn select(&mut self, now: Nanos) -> usize {
        // A single active tin continues. Its rounds are computed when another tin becomes active.
        if self.active != 1 << self.current {
            self.current = match self.shaper {
                Some(_) => self.by_priority(now),
                None => self.by_weight(),
            };
        }
        self.charged = 0;
        self.current
    }

    /// arXiv 1804.07617 section III-C: without a rate there are no thresholds, and the tins share by their weights.
    fn by_weight(&mut self) -> usize {
        // When the tin was chosen last, it had received the rounds for everything it had sent before.
        let charged = self.charged;
        self.tins[self.current].deficit += charged;
        if self.tins[self.current].deficit < 0 {
            self.pass_all(self.current);
        }
        self.tins[self.current].deficit -= charged;
        let mut current = self.current;
        while !self.is_active(current) || self.tins[current].deficit < 0 {
            if self.active == 1 << current {
                self.pass_all(current);
                break;
            }
            self.tins[current].collect(1);
            // Not by a remainder, which would need a division for each tin that is skipped.
            current += 1;
            if current == self.tins.len() {
                current = 0;
            }
        }
        current
    }

    /// Whether a flow of this tin waits for its turn.
    #[inline]
    fn is_active(&self, tin: usize) -> bool {
        self.active >> tin & 1 == 1
    }

    /// Adds the rounds after which the only active tin may send again. The other tins collect them, too.
    fn pass_all(&mut self, current: usize) {
        let own = &mut self.tins[current];
        let weight = own.settings.weight;
        let rounds = ((weight - 1 - own.deficit) as u64 / weight as u64) as i64;
        own.deficit += rounds * weight;
        for (number, tin) in self.tins.iter_mut().enumerate() {
            if number != current {
                tin.collect(rounds);
            }
        }
    }

    /// arXiv 1804.07617 section III-C: the tin of highest priority below its threshold; otherwise the one that reaches its threshold first.
    fn by_priority(&self, now: Nanos) -> usize {
        let ready = |tin: &Tin| tin.threshold.map_or(0, |threshold| threshold.at().max(now));
        let all = self.tins.iter().enumerate();
        let active = all.filter(|(n, _)| self.is_active(*n));
        active
            .rev()
            .min_by_key(|(_, tin)| ready(tin))
            .map_or(0, |(n, _)| n)
    }

    /// Dequeues the first packet that COBALT lets pass from the flow to serve, and charges its length on the wire. Returns `None` if all flows of the
    /// tin are empty.
    #[inline]
    fn serve(&mut self, number: usize, now: Nanos, sink: &mut dyn Sink<P>) -> Option<P> {
        let tin = &mut self.tins[number];
        // Length on the wire of packets that COBALT dropped before it, if drops count.
        let mut lost = 0;
        let (flow, size) = loop {
            let place = tin.first()?;
            let flow = &mut tin.flows[place];
            if flow.deficit <= 0 {
                tin.turn_over(place, &mut self.rng);
                continue;
            }
            let Some(packet) = self.slab.front_mut(&flow.chain) else {
                tin.emptied(place, now);
                continue;
            };
            // As in Linux: the time of four packets at the threshold rate. In ingress mode, two packets per bulk flow, because drops are expensive
            // there.
            let packets = if self.ingress {
                4.max(2 * u64::from(tin.bulk_flows))
            } else {
                4
            };
            let floor = packets * tin.settings.mtu_time;
            let controller = &tin.settings.controller;
            let judged = controller.look(packet, &mut flow.state, now, floor, &mut self.rng);
            let size = packet.size();
            if let Some(verdict) = judged {
                let stats = &mut tin.counts.controller;
                if controller.obey(verdict, packet, size == flow.backlog, now, stats, sink) {
                    self.slab.discard(&mut flow.chain);
                    flow.backlog -= size;
                    tin.backlog -= u64::from(size);
                    if self.ingress {
                        lost += u64::from(self.overhead.adjust(size));
                    }
                    continue;
                }
            }
            break (flow, size);
        };
        flow.backlog -= size;
        tin.backlog -= u64::from(size);
        let length = u64::from(self.overhead.adjust(size));
        let charged = length + lost;
        flow.deficit -= charged as i32;
        tin.deficit -= charged as i64;
        self.charged = charged as i64;
        if let Some(shaper) = &mut self.shaper {
            shaper.sent(length);
            shaper.dropped(lost);
            if let Some(threshold) = &mut tin.threshold {
                threshold.charge(charged, now);
            }
        }
        self.slab.pop(&mut flow.chain)
    }
}

impl<P: Packet> Qdisc<P> for Cake<P> {
    #[inline]
    fn enqueue(&mut self, now: Nanos, packet: P, sink: &mut dyn Sink<P>) {
        let number = usize::from(self.map[usize::from(packet.dscp() & 63)]);
        let (flow, size) = (packet.flow(), packet.size());
        let key = self.isolation.key(flow, || self.hosts.of(flow));
        let hash = self.hash.bits(key);
        let tin = &mut self.tins[number];
        let hosts = &self.hosts;
        let place = tin.classify(hash, || hosts.of(flow));
        if tin.backlog == 0 {
            // The clock stood still while there was nothing to send. That time must not give credit.
            if let Some(threshold) = &mut tin.threshold {
                threshold.wake(now);
            }
            if let Some(shaper) = self.shaper.as_mut().filter(|_| self.slab.packets() == 0) {
                shaper.wake(now);
            }
        }
        tin.backlog += u64::from(size);
        tin.counts.pkts += 1;
        tin.counts.bytes += u64::from(size);
        let own = &mut tin.flows[place];
        own.backlog += size;
        let packet = self.slab.push(&mut own.chain, packet);
        packet.set_enqueued_at(now);
        if self.wash {
            packet.set_dscp(0);
        }
        tin.arrived(place, &mut self.rng);
        self.active |= 1 << number;
        if self.ack_filter != AckFilter::Disabled {
            self.filter_acks(number, place, now, sink);
        }
        let backlog = || self.tins[number].flows[place].backlog.into();
        self.longest.arrived(number * PLACES + place, backlog);
        if self.slab.bytes() > self.memory_mark {
            self.fill(now, sink);
        }
    }

    #[inline]
    fn dequeue(&mut self, now: Nanos, sink: &mut dyn Sink<P>) -> Option<P> {
        self.wake_at = None;
        if self.slab.packets() == 0 {
            return None;
        }
        if let Some(shaper) = &self.shaper {
            self.wake_at = shaper.blocked_until(now);
            if self.wake_at.is_some() {
                return None;
            }
        }
        let mut number = self.select(now);
        // arXiv 1804.07617: for every packet, the state of one empty flow is updated.
        self.tins[number].decay(now);
        loop {
            if let Some(packet) = self.serve(number, now, sink) {
                return Some(packet);
            }
            self.active &= !(1 << number);
            number = self.select(now);
        }
    }

    fn is_work_conserving(&self) -> bool {
        self.shaper.is_none()
    }

    fn packets(&self) -> u64 {
        self.slab.packets()
    }

    fn bytes(&self) -> u64 {
        self.slab.bytes()
    }

    fn contents(&self, visit: &mut dyn FnMut(Slot, &P)) {
        for (band, tin) in (0..).zip(&self.tins) {
            let chains = tin.flows.iter().map(|flow| &flow.chain);
            self.slab.contents(band, chains, visit);
        }
    }

    fn bands(&self) -> Vec<Band> {
        let names = self.diffserv.names().iter();
        names.map(|name| Band::new(*name, PLACES as u32)).collect()
    }

    fn next_wake(&self) -> Option<Nanos> {
        self.wake_at
    }

    fn wake(&mut self, _now: Nanos) {
        self.wake_at = None;
    }

    fn stats(&self) -> Vec<(&'static str, f64)> {
        report(&self.tins, self.memory_used, self.memory_limit)
    }
}
