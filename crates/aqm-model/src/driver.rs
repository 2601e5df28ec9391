//! Runs an episode as an engine would, and checks every promise after every call.

use bloatlab_aqm::{Packet, Qdisc};
use bloatlab_units::{NEVER, Nanos, Rate};
use serde_json::Value;

use crate::Episode;
use crate::account::Account;
use crate::operation::{Operation, asks, burst, duration, ecn, size};
use crate::packet::{Ack, ModelPacket};
use crate::rules::Rules;

/// The last instant that operations reach: 146 years.
const END: Nanos = 1 << 62;

/// Wake-ups in one wait; then time stands still rather than to leave one out.
const MOST_WAKES: u32 = 300;

/// Wake-ups in a row that may pass while packets are held, some queues computing much more often than a slow shaper may send.
const MOST_FRUITLESS: u32 = 50_000;

/// A competition that may take more departures than this for each flow is left out: too long for a test.
const LONGEST_COMPETITION: u64 = 1 << 21;

/// What came of an episode.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Tally {
    /// Packets given to the queue.
    pub packets: u64,
    /// Packets it dropped.
    pub drops: u64,
    /// Packets it marked.
    pub marks: u64,
    /// Times it was woken.
    pub wakes: u64,
    /// Ends that were given up because the queue wakes up very much more often than it may send.
    pub unfinished: u64,
    /// Of all that was seen, in order.
    pub digest: u64,
}

/// A queue, its account, and the link's side of the bargain.
pub(crate) struct Driver {
    queue: Box<dyn Qdisc<ModelPacket>>,
    account: Account,
    rules: Rules,
    rate: Rate,
    flows: u32,
    /// Of each flow of ACKs, the number that it acknowledged last.
    acks: Vec<u32>,
    now: Nanos,
    /// When the queue will be woken.
    alarm: Nanos,
    wakes: u64,
    unfinished: u64,
}

impl Driver {
    /// Of a queue that was built in the episode's context from this configuration.
    pub fn new(episode: &Episode, queue: Box<dyn Qdisc<ModelPacket>>, config: &Value) -> Self {
        let flows = episode.flows();
        let rules = Rules::new(config, flows);
        assert!(
            queue.is_work_conserving() || !rules.work_conserving,
            "a queue that knows of no rate is work-conserving"
        );
        let mut driver = Self {
            queue,
            account: Account::new(flows, &rules),
            rules,
            rate: episode.context().rate,
            flows,
            // Some numbers before they wrap.
            acks: vec![u32::MAX - 20_000; flows as usize],
            now: 0,
            alarm: NEVER,
            wakes: 0,
            unfinished: 0,
        };
        driver.arrange();
        driver
    }

    /// What happens, then all that a link can still get, checked throughout.
    pub fn drive(mut self, episode: &Episode) -> Tally {
        for operation in &episode.operations {
            self.operate(operation);
        }
        self.check_stats();
        if self.rules.fair && self.rules.work_conserving && episode.seed.is_multiple_of(4) {
            let rivals = (episode.seed / 4 % 3 + 1) as u32;
            self.compete(rivals.min(self.rules.rivals));
        }
        let pause = [0, 1_000, 120_000, 1_000_000][(episode.seed / 16 % 4) as usize];
        self.drain(pause);
        self.check_stats();
        Tally {
            packets: self.account.next_id(),
            drops: self.account.drops,
            marks: self.account.marks,
            wakes: self.wakes,
            unfinished: self.unfinished,
            digest: self.account.digest(),
        }
    }

    fn operate(&mut self, operation: &Operation) {
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
                for _ in 0..asks(count) {
                    let Some(size) = self.depart() else { break };
                    if paced {
                        self.send(size);
                    }
                }
            }
        }
    }

    /// The link sends so many bytes, and takes no others meanwhile.
    fn send(&mut self, bytes: u32) {
        let (time, _) = self.rate.transmit(u64::from(bytes), 0);
        self.wait(time, false);
    }

    fn wait(&mut self, time: Nanos, asks: bool) {
        let until = (self.now + time).min(END.max(self.now));
        for _ in 0..MOST_WAKES {
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
        self.account.note(at << 1);
        self.check();
        self.arrange();
        assert!(self.alarm > at, "a wake-up lies ahead of the last");
    }

    /// Asks when the queue wants to be woken; only an earlier answer than before counts.
    fn arrange(&mut self) {
        if let Some(at) = self.queue.next_wake() {
            self.alarm = self.alarm.min(at);
        }
    }

    fn arrive(&mut self, flow: u32, size: u32, marking: u8) {
        // Every fourth flow consists of ACKs, which repeat now and then.
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
            id: self.account.next_id(),
            flow,
            size: if is_ack { size.min(100) } else { size },
            ecn: ecn(flow, marking),
            ack,
            // The stamp of another queue must be overwritten.
            enqueued_at: self.now + 12_345,
        };
        self.account.arrives(self.now, packet);
        self.queue.enqueue(self.now, packet, &mut self.account);
        self.check();
    }

    /// The link asks once; the bytes of what it got.
    fn depart(&mut self) -> Option<u32> {
        let packet = self.queue.dequeue(self.now, &mut self.account);
        if let Some(packet) = packet {
            self.account.departs(&packet);
            self.check();
            return Some(packet.size());
        }
        self.check();
        if self.account.packets > 0 {
            assert!(
                !self.queue.is_work_conserving(),
                "a work-conserving queue gives a packet whenever it holds one"
            );
            assert!(
                self.queue.next_wake().is_some_and(|at| at > self.now),
                "a queue that holds packets back says until when: it is {}, and it says {:?}",
                self.now,
                self.queue.next_wake()
            );
            self.arrange();
        }
        None
    }

    fn check(&self) {
        assert_eq!(self.queue.packets(), self.account.packets, "packets held");
        assert_eq!(self.queue.bytes(), self.account.bytes, "bytes held");
        let (packets, bytes) = (self.account.packets, self.account.bytes);
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

    /// What is reported are numbers, each under a name of its own.
    fn check_stats(&mut self) {
        let stats = self.queue.stats();
        for (place, (name, value)) in stats.iter().enumerate() {
            assert!(value.is_finite(), "{name} is {value}");
            let others = &stats[..place];
            assert!(others.iter().all(|(other, _)| other != name), "two {name}");
            self.account.note(value.to_bits());
        }
    }

    /// While some flows send as fast as the link takes, what was held before leaves within a bound: nothing starves.
    fn compete(&mut self, rivals: u32) {
        self.account.close_class();
        // Each flow, with the largest turns that a queue gives, has its part of the link.
        let turns = 1_000 + self.account.seniors + self.account.bytes / 1500;
        if self.rules.weight * turns > LONGEST_COMPETITION {
            return;
        }
        let most = self.rules.weight * u64::from(self.flows + 8) * turns;
        let mut taken = 0;
        while self.account.seniors > 0 {
            let Some(size) = self.depart() else { break };
            self.arrive(taken as u32 % rivals % self.flows, 1500, 1);
            self.send(size);
            taken += 1;
            assert!(
                taken < most,
                "{} packets are still held after {most} others left",
                self.account.seniors
            );
        }
    }

    /// Nothing arrives any more: every packet leaves.
    fn drain(&mut self, pause: Nanos) {
        while self.account.packets > 0 {
            if self.depart().is_some() {
                self.wait(pause, false);
            } else if self.account.packets > 0 && !self.wait_for_release() {
                self.unfinished += 1;
                return;
            }
        }
        assert_eq!(self.depart(), None, "an empty queue gives nothing");
    }

    /// The queue holds all packets back: it is woken when it asked to be, until it drops or gives one. False when that takes too many.
    fn wait_for_release(&mut self) -> bool {
        let (since, departures) = (self.now, self.account.departures);
        let packets = self.account.packets;
        for _ in 0..MOST_FRUITLESS {
            assert!(
                self.alarm < NEVER,
                "a queue that holds packets back is woken"
            );
            self.wake();
            self.depart();
            if self.account.departures > departures || self.account.packets < packets {
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
