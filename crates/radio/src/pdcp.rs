//! Packet data convergence (TS 38.323): numbers packets, discards packets that waited too long, and delivers what arrived in order.

use std::collections::VecDeque;

use bloatlab_units::{Duration, MILLISECOND, Nanos};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::infinite::OrInfinite;

/// A timer that may be infinite.
pub type Timer = OrInfinite<Duration>;

/// Packet data convergence of a bearer.
///
/// The service data adaptation protocol (SDAP) is above it. Only its header is modelled here.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PdcpParams {
    /// Bits of a sequence number: 12 or 18.
    #[schemars(extend("enum" = [12, 18]))]
    pub sn_bits: u8,
    /// Whether packets carry an SDAP header of one byte.
    pub sdap_header: bool,
    /// How long a packet may wait before its first byte is sent (discardTimer): 10 ms to 1.5 s, or `infinite`.
    pub discard_timer: Timer,
    /// How long a receiver waits for missing packets (t-Reordering): up to 3 s, or `infinite`.
    pub t_reordering: Timer,
    /// Whether a receiver delivers packets at once, in any order.
    pub out_of_order: bool,
}

impl Default for PdcpParams {
    fn default() -> Self {
        Self {
            sn_bits: 18,
            sdap_header: true,
            discard_timer: Timer::Infinite,
            t_reordering: Timer::Finite(Duration(100 * MILLISECOND)),
            out_of_order: false,
        }
    }
}

impl PdcpParams {
    /// Checks the values. An error starts with the parameter's name.
    pub fn validate(&self) -> Result<(), String> {
        if ![12, 18].contains(&self.sn_bits) {
            return Err(format!("sn_bits: must be 12 or 18, not {}", self.sn_bits));
        }
        // TS 38.331, PDCP-Config: the smallest and largest values of both lists.
        between("discard_timer", self.discard_timer, 10, 1500)?;
        between("t_reordering", self.t_reordering, 0, 3000)
    }

    /// Bytes that the headers of PDCP and SDAP add to a packet (TS 38.323 section 6.2.2: 2 bytes with 12 bits, 3 bytes with 18).
    pub fn header(&self) -> u32 {
        let pdcp = if self.sn_bits <= 12 { 2 } else { 3 };
        pdcp + u32::from(self.sdap_header)
    }
}

fn between(name: &str, given: Timer, low: u64, high: u64) -> Result<(), String> {
    let (low, high) = (Duration(low * MILLISECOND), Duration(high * MILLISECOND));
    match given {
        Timer::Finite(time) if !(low..=high).contains(&time) => Err(format!(
            "{name}: {time} is out of range (allowed: {low} to {high}, or infinite)"
        )),
        _ => Ok(()),
    }
}

/// The sending side. The caller owns the queue, and asks this for sequence numbers and for permission to send.
#[derive(Debug)]
pub struct PdcpTransmitter {
    discard: Option<Nanos>,
    next: u64,
    discarded: u64,
}

impl PdcpTransmitter {
    /// Creates a transmitter that has numbered no packet yet.
    pub fn new(params: &PdcpParams) -> Self {
        Self {
            discard: match params.discard_timer {
                Timer::Infinite => None,
                Timer::Finite(time) => Some(time.0),
            },
            next: 0,
            discarded: 0,
        }
    }

    /// A packet is about to be sent. Returns its number, or `None` if its discardTimer has expired (TS 38.323 section 5.3). The RLC asks for a packet
    /// only when it sends the packet's first byte, so no partly sent packet is discarded. Numbers are assigned only here, so that earlier drops leave
    /// no gaps for which the receiver would wait.
    pub fn leave(&mut self, now: Nanos, entered_at: Nanos) -> Option<u64> {
        if self.discard.is_some_and(|time| now >= entered_at + time) {
            self.discarded += 1;
            return None;
        }
        self.next += 1;
        Some(self.next - 1)
    }

    /// Number of packets discarded.
    pub fn discarded(&self) -> u64 {
        self.discarded
    }
}

/// The receiving side: delivers packets in the order of their numbers, each at most once (TS 38.323 section 5.2.2).
#[derive(Debug)]
pub struct PdcpReceiver<T> {
    window: u64,
    in_order: bool,
    reordering: Option<Nanos>,
    /// The first number that is not delivered yet (RX_DELIV), and what has arrived from that number on.
    deliver: u64,
    waiting: VecDeque<Slot<T>>,
    /// The number after the highest one that has arrived is `deliver + waiting.len()` (RX_NEXT). This is its value when t-Reordering started
    /// (RX_REORD), and when t-Reordering ends.
    timer: Option<(u64, Nanos)>,
    discarded: u64,
    skipped: u64,
    /// The latest numbers that were given up, oldest first.
    missed: VecDeque<u64>,
}

/// How many numbers that were given up are remembered.
const REMEMBERED: u64 = 4096;

/// The state of a number.
#[derive(Clone, Copy, Debug)]
enum Slot<T> {
    Missing,
    Waiting(T),
    /// Delivered out of order.
    Delivered,
}

impl<T: Copy> PdcpReceiver<T> {
    /// Creates a receiver that has received no packet yet.
    pub fn new(params: &PdcpParams) -> Self {
        Self {
            // TS 38.323 section 7.2: half of the numbers.
            window: 1 << (params.sn_bits - 1),
            in_order: !params.out_of_order,
            reordering: match params.t_reordering {
                Timer::Infinite => None,
                Timer::Finite(time) => Some(time.0),
            },
            deliver: 0,
            waiting: VecDeque::new(),
            timer: None,
            discarded: 0,
            skipped: 0,
            missed: VecDeque::new(),
        }
    }

    /// Receives a packet with its number, and appends what can be delivered to `up`. Returns false if the packet is discarded because it arrived
    /// after it was given up.
    pub fn receive(&mut self, now: Nanos, number: u64, item: T, up: &mut Vec<T>) -> bool {
        // At most one window waits. Beyond it, a number could not be distinguished from an older one.
        let lowest = (number + 1).saturating_sub(self.window);
        if self.deliver < lowest {
            self.give_up(lowest, up);
        }
        let Some(index) = number.checked_sub(self.deliver) else {
            self.discarded += 1;
            let missed = self.missed.iter().position(|&other| other == number);
            return missed.and_then(|place| self.missed.remove(place)).is_none();
        };
        let index = index as usize;
        while self.waiting.len() <= index {
            self.waiting.push_back(Slot::Missing);
        }
        let slot = &mut self.waiting[index];
        if !matches!(slot, Slot::Missing) {
            self.discarded += 1;
            return true;
        }
        if self.in_order {
            *slot = Slot::Waiting(item);
        } else {
            *slot = Slot::Delivered;
            up.push(item);
        }
        self.run(up);
        self.watch(now);
        true
    }

    /// Delivers the numbers that have arrived without a gap.
    fn run(&mut self, up: &mut Vec<T>) {
        while let Some(slot) = self
            .waiting
            .front()
            .copied()
            .filter(|s| !matches!(s, Slot::Missing))
        {
            self.pass(slot, up);
        }
    }

    fn pass(&mut self, slot: Slot<T>, up: &mut Vec<T>) {
        match slot {
            Slot::Missing => self.skip(self.deliver + 1),
            Slot::Waiting(item) => up.push(item),
            Slot::Delivered => {}
        }
        self.waiting.pop_front();
        self.deliver += 1;
    }

    /// Delivers what has arrived below a number, gives up the rest below it, and continues from there.
    fn give_up(&mut self, below: u64, up: &mut Vec<T>) {
        while self.deliver < below {
            let Some(slot) = self.waiting.front().copied() else {
                self.skip(below);
                self.deliver = below;
                break;
            };
            self.pass(slot, up);
        }
        self.run(up);
    }

    /// Gives up what is missing from here on and below this number.
    fn skip(&mut self, below: u64) {
        self.skipped += below - self.deliver;
        self.missed
            .extend(self.deliver.max(below.saturating_sub(REMEMBERED))..below);
        let surplus = self.missed.len().saturating_sub(REMEMBERED as usize);
        self.missed.drain(..surplus);
    }

    /// Starts or stops t-Reordering (TS 38.323 section 5.2.2.1).
    fn watch(&mut self, now: Nanos) {
        if self.timer.is_some_and(|(until, _)| self.deliver >= until) {
            self.timer = None;
        }
        let next = self.deliver + self.waiting.len() as u64;
        if self.timer.is_none() && self.deliver < next {
            self.timer = self.reordering.map(|time| (next, now + time));
        }
    }

    /// When [`on_timer`](Self::on_timer) is due.
    pub fn next_timer(&self) -> Option<Nanos> {
        self.timer.map(|(_, end)| end)
    }

    /// Handles the end of t-Reordering: missing numbers are given up.
    pub fn on_timer(&mut self, now: Nanos, up: &mut Vec<T>) {
        if let Some((until, _)) = self.timer.filter(|&(_, end)| end <= now) {
            self.timer = None;
            self.give_up(until, up);
            self.watch(now);
        }
    }

    /// Number of packets that arrived twice or too late.
    pub fn discarded(&self) -> u64 {
        self.discarded
    }

    /// Number of packets that were waited for and did not arrive.
    pub fn skipped(&self) -> u64 {
        self.skipped
    }

    /// Number of packets that wait for others.
    pub fn waiting(&self) -> u64 {
        let waiting = self.waiting.iter();
        waiting.filter(|s| matches!(s, Slot::Waiting(_))).count() as u64
    }
}
