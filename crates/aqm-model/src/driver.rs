//! Runs an episode as an engine would, and checks all properties after every call.

use bloatlab_aqm::{Qdisc, Slot};
use bloatlab_units::{NEVER, Nanos, Rate};
use serde_json::Value;

use crate::Episode;
use crate::operation::{Operation, asks, burst, duration, ecn, size};
use crate::packet::{Ack, ModelPacket};
use crate::reference::ReferenceModel;
use crate::rules::Rules;

/// The latest time that operations reach: 146 years.
const END: Nanos = 1 << 62;

/// Maximum number of wake-ups in one wait. When it is reached, the wait ends early at the time of the last wake-up, so that none is skipped.
const MAX_WAKES: u32 = 300;

/// Maximum number of consecutive wake-ups without a departure while packets are held. Some queues update their state much more often than a slow
/// shaper may send.
const MAX_FRUITLESS_WAKES: u32 = 50_000;

/// A competition that may need more departures than this per flow is skipped because it would take too long.
const MAX_COMPETITION: u64 = 1 << 21;

/// The statistics of an episode.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct EpisodeStats {
    /// Packets given to the queue.
    pub packets: u64,
    /// Packets it dropped.
    pub drops: u64,
    /// Packets it marked.
    pub marks: u64,
    /// Number of wake-ups.
    pub wakes: u64,
    /// Number of drains that were abandoned because the queue wakes up far more often than it may send.
    pub unfinished: u64,
    /// Hash of all observed events in order.
    pub digest: u64,
}

/// A queue, its reference model, and the link that the queue serves.
pub(crate) struct Driver {
    queue: Box<dyn Qdisc<ModelPacket>>,
    model: ReferenceModel,
    rules: Rules,
    rate: Rate,
    flows: u32,
    /// For each flow of ACKs, the last acknowledgement number.
    acks: Vec<u32>,
    now: Nanos,
    /// Time of the next wake-up.
    alarm: Nanos,
    wakes: u64,
    unfinished: u64,
}

impl Driver {
    /// Drives a queue that was built from this configuration in the episode's context.
    pub fn new(episode: &Episode, queue: Box<dyn Qdisc<ModelPacket>>, config: &Value) -> Self {
        let flows = episode.flows();
        let rules = Rules::new(config, flows);
        assert!(
            queue.is_work_conserving() || !rules.work_conserving,
            "a queue that has no configured rate is work-conserving"
        );
        let mut driver = Self {
            queue,
            model: ReferenceModel::new(flows, &rules),
            rules,
            rate: episode.context().rate,
            flows,
            // Starts shortly before acknowledgement numbers wrap.
            acks: vec![u32::MAX - 20_000; flows as usize],
            now: 0,
            alarm: NEVER,
            wakes: 0,
            unfinished: 0,
        };
        driver.schedule_wake();
        driver
    }

    /// Runs all operations, then drains the queue, with checks after every call.
    pub fn drive(mut self, episode: &Episode) -> EpisodeStats {
        let mut held = Vec::new();
        for operation in &episode.operations {
            self.operate(operation, &held);
            held = self.check_contents();
        }
        self.check_stats();
        if self.rules.fair && self.rules.work_conserving && episode.seed.is_multiple_of(4) {
            let rivals = (episode.seed / 4 % 3 + 1) as u32;
            self.compete(rivals.min(self.rules.rivals));
        }
        let pause = [0, 1_000, 120_000, 1_000_000][(episode.seed / 16 % 4) as usize];
        self.drain(pause);
        self.check_stats();
        EpisodeStats {
            packets: self.model.next_id(),
            drops: self.model.drops,
            marks: self.model.marks,
            wakes: self.wakes,
            unfinished: self.unfinished,
            digest: self.model.digest(),
        }
    }

    /// `held` is what the queue showed before.
    fn operate(&mut self, operation: &Operation, held: &[(Slot, u64)]) {
        match *operation {
            Operation::Wait {
                mantissa,
                scale,
                asks,
            } => self.wait(duration(mantissa, scale), asks),
            Operation::Arrive {
                flow,
                size: raw,
                marking,
                count,
            } => {
                let flow = u32::from(flow) % self.flows;
                for _ in 0..burst(count) {
                    self.arrive(flow, size(raw), marking);
                }
            }
            Operation::Depart { count, paced } => {
                for number in 0..asks(count) {
                    let Some(packet) = self.depart() else { break };
                    if number == 0 && !self.rules.moves {
                        self.check_first(held, packet.id);
                    }
                    if paced {
                        self.send(packet.size);
                    }
                }
            }
        }
    }

    /// The link sends this many bytes, and requests no packet meanwhile.
    fn send(&mut self, bytes: u32) {
        let (time, _) = self.rate.transmit(u64::from(bytes), 0);
        self.wait(time, false);
    }

    fn wait(&mut self, time: Nanos, asks: bool) {
        let until = (self.now + time).min(END.max(self.now));
        for _ in 0..MAX_WAKES {
            if self.alarm > until {
                self.now = until;
                return;
            }
            self.wake();
            if asks {
                self.depart();
            }
        }
    }

    fn wake(&mut self) {
        let at = std::mem::replace(&mut self.alarm, NEVER);
        self.now = at;
        self.wakes += 1;
        self.queue.wake(at);
        self.model.note(at << 1);
        self.check();
        self.schedule_wake();
        assert!(self.alarm > at, "a wake-up is later than the previous one");
    }

    /// Asks the queue for its next wake-up, which replaces the current one only if it is earlier.
    fn schedule_wake(&mut self) {
        if let Some(at) = self.queue.next_wake() {
            self.alarm = self.alarm.min(at);
        }
    }

    fn arrive(&mut self, flow: u32, size: u32, marking: u8) {
        // Every fourth flow consists of ACKs, some of which are duplicates.
        let is_ack = flow % 4 == 3;
        let ack = is_ack.then(|| {
            let number = &mut self.acks[flow as usize];
            *number = number.wrapping_add(if marking & 6 == 0 { 0 } else { 1448 });
            Ack {
                number: *number,
                has_sack: marking & 24 == 0,
                ecn_flags: if marking & 96 == 0 { 0x40 } else { 0 },
            }
        });
        let packet = ModelPacket {
            id: self.model.next_id(),
            flow,
            size: if is_ack { size.min(100) } else { size },
            ecn: ecn(flow, marking),
            ack,
            // The queue must overwrite the time stamp of a previous queue.
            enqueued_at: self.now + 12_345,
        };
        self.model.arrives(self.now, packet);
        self.queue.enqueue(self.now, packet, &mut self.model);
        self.check();
    }

    /// The link requests one packet.
    fn depart(&mut self) -> Option<ModelPacket> {
        let packet = self.queue.dequeue(self.now, &mut self.model);
        if let Some(packet) = packet {
            self.model.departs(&packet);
            self.check();
            return Some(packet);
        }
        self.check();
        if self.model.packets > 0 {
            assert!(
                !self.queue.is_work_conserving(),
                "a work-conserving queue gives a packet whenever it holds one"
            );
            assert!(
                self.queue.next_wake().is_some_and(|at| at > self.now),
                "a queue that holds packets back states a later wake-up: it is {}, and it states {:?}",
                self.now,
                self.queue.next_wake()
            );
            self.schedule_wake();
        }
        None
    }

    fn check(&self) {
        assert_eq!(self.queue.packets(), self.model.packets, "packets held");
        assert_eq!(self.queue.bytes(), self.model.bytes, "bytes held");
        let (packets, bytes) = (self.model.packets, self.model.bytes);
        assert!(
            packets <= self.rules.packets,
            "{packets} packets are above the limit of {}",
            self.rules.packets
        );
        assert!(
            bytes <= self.rules.bytes,
            "{bytes} bytes are above the limit of {}",
            self.rules.bytes
        );
        if let Some(most) = self.rules.buffers {
            let stats = self.queue.stats();
            let buffers = stats.iter().find(|(name, _)| *name == "buffers");
            assert!(buffers.is_some_and(|(_, buffers)| *buffers <= most as f64));
        }
    }

    /// What the queue says that it holds must be what it holds. Returns it.
    fn check_contents(&self) -> Vec<(Slot, u64)> {
        let bands = self.queue.bands();
        let mut seen: Vec<(Slot, u64)> = Vec::new();
        self.queue.contents(&mut |slot, packet| {
            assert!(
                self.model.holds(packet.id),
                "`contents` visits only packets that are held"
            );
            let band = bands.get(slot.band as usize);
            assert!(
                band.is_some_and(|band| slot.queue < band.queues),
                "{slot:?} is not in {bands:?}"
            );
            assert!(
                seen.last().is_none_or(|(last, _)| *last <= slot),
                "the contents are visited queue by queue"
            );
            seen.push((slot, packet.id));
        });
        let mut ids: Vec<u64> = seen.iter().map(|(_, id)| *id).collect();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(
            ids.len() as u64,
            self.model.packets,
            "packets visited by `contents`"
        );
        seen
    }

    /// The packet that left was the first of its queue, except for those that were dropped meanwhile.
    fn check_first(&self, held: &[(Slot, u64)], id: u64) {
        let Some((slot, _)) = held.iter().find(|(_, other)| *other == id) else {
            return;
        };
        let ahead = held.iter().filter(|(other, _)| other == slot);
        let mut ahead = ahead.map(|(_, id)| *id).take_while(|other| *other != id);
        assert!(
            !ahead.any(|other| self.model.holds(other)),
            "`contents` visits the packet of a queue first that leaves first"
        );
    }

    /// Statistics must be finite numbers with distinct names.
    fn check_stats(&mut self) {
        let stats = self.queue.stats();
        for (place, (name, value)) in stats.iter().enumerate() {
            assert!(value.is_finite(), "{name} is {value}");
            let others = &stats[..place];
            assert!(others.iter().all(|(other, _)| other != name), "two {name}");
            self.model.note(value.to_bits());
        }
    }

    /// Checks that no flow starves: while some flows send as fast as the link allows, the packets held before leave within a bound.
    fn compete(&mut self, rivals: u32) {
        self.model.set_boundary();
        // Each flow gets its share of the link, even with the largest quantum that a queue uses.
        let turns = 1_000 + self.model.earlier + self.model.bytes / 1500;
        if self.rules.weight * turns > MAX_COMPETITION {
            return;
        }
        let most = self.rules.weight * u64::from(self.flows + 8) * turns;
        let mut taken = 0;
        while self.model.earlier > 0 {
            let Some(packet) = self.depart() else { break };
            self.arrive(taken as u32 % rivals % self.flows, 1500, 1);
            self.send(packet.size);
            taken += 1;
            assert!(
                taken < most,
                "{} packets are still held after {most} others left",
                self.model.earlier
            );
        }
    }

    /// Without further arrivals, every packet must leave.
    fn drain(&mut self, pause: Nanos) {
        while self.model.packets > 0 {
            if self.depart().is_some() {
                self.wait(pause, false);
            } else if self.model.packets > 0 && !self.wait_for_release() {
                self.unfinished += 1;
                return;
            }
        }
        assert_eq!(self.depart(), None, "an empty queue gives nothing");
    }

    /// While the queue holds all packets back, wakes it at the times that it requests until it drops or releases one. Returns false if that takes too
    /// many wake-ups.
    fn wait_for_release(&mut self) -> bool {
        let (since, departures) = (self.now, self.model.departures);
        let packets = self.model.packets;
        for _ in 0..MAX_FRUITLESS_WAKES {
            assert!(
                self.alarm < NEVER,
                "a queue that holds packets back is woken"
            );
            self.wake();
            self.depart();
            if self.model.departures > departures || self.model.packets < packets {
                return true;
            }
            let waited = self.now - since;
            assert!(
                waited <= self.rules.patience,
                "nothing for {waited} ns while {packets} packets are held"
            );
        }
        false
    }
}
