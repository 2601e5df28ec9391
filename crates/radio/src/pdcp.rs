//! Packet data convergence (TS 38.323): numbers packets, discards those that waited too long, and puts what arrived in order.

use std::collections::VecDeque;

use bloatlab_units::{Duration, MILLISECOND, Nanos};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::infinite::OrInfinite;

/// A timer that may never end.
pub type Timer = OrInfinite<Duration>;

/// Packet data convergence of a bearer.
///
/// Above it stands the service data adaptation (SDAP), of which only the header counts here.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PdcpParams {
    /// Bits of a sequence number, 12 or 18.
    #[schemars(extend("enum" = [12, 18]))]
    pub sn_bits: u8,
    /// Whether packets bear an SDAP header of one byte.
    pub sdap_header: bool,
    /// How long a packet of which nothing was sent may wait (discardTimer): 10 ms to 1.5 s, or `infinite`.
    pub discard_timer: Timer,
    /// How long a receiver waits for what is missing (t-Reordering): up to 3 s, or `infinite`.
    pub t_reordering: Timer,
    /// Whether a receiver delivers at once, in any order.
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
    /// Whether the values are allowed; a complaint starts with the parameter's name.
    pub fn validate(&self) -> Result<(), String> {
        if ![12, 18].contains(&self.sn_bits) {
            return Err(format!("sn_bits: must be 12 or 18, not {}", self.sn_bits));
        }
        // TS 38.331, PDCP-Config: the ends of both lists.
        between("discard_timer", self.discard_timer, 10, 1500)?;
        between("t_reordering", self.t_reordering, 0, 3000)
    }

    /// Bytes that the headers of PDCP and SDAP add to a packet (TS 38.323 section 6.2.2: 12 bits in 2 bytes, 18 in 3).
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

/// The sending side. The caller has the queue, and asks here for numbers and for leave to send.
#[derive(Debug)]
pub struct PdcpTransmitter {
    discard: Option<Nanos>,
    next: u64,
    discarded: u64,
}

impl PdcpTransmitter {
    /// One that has numbered nothing.
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

    /// A packet is about to be sent: its number, or `None` if its discardTimer has ended (TS 38.323 section 5.3; the RLC asks for a packet only as its
    /// first byte is sent, so nothing sent in part comes here). Numbers are given only here, so that no drop before leaves a gap for which the receiver
    /// would wait.
    pub fn leave(&mut self, now: Nanos, entered_at: Nanos) -> Option<u64> {
        if self.discard.is_some_and(|time| now >= entered_at + time) {
            self.discarded += 1;
            return None;
        }
        self.next += 1;
        Some(self.next - 1)
    }

    /// Packets discarded.
    pub fn discarded(&self) -> u64 {
        self.discarded
    }
}

/// The receiving side: delivers in order of numbers, each at most once (TS 38.323 section 5.2.2).
#[derive(Debug)]
pub struct PdcpReceiver<T> {
    window: u64,
    in_order: bool,
    reordering: Option<Nanos>,
    /// The first number not delivered yet (RX_DELIV), and what has come from it on.
    deliver: u64,
    waiting: VecDeque<Slot<T>>,
    /// The number after the highest that has arrived is `deliver + waiting.len()` (RX_NEXT). Where it stood as t-Reordering was started
    /// (RX_REORD), and when that ends.
    timer: Option<(u64, Nanos)>,
    discarded: u64,
    skipped: u64,
    /// The latest numbers that were waited for no longer, oldest first.
    missed: VecDeque<u64>,
}

/// Numbers given up that are remembered.
const REMEMBERED: u64 = 4096;

/// What has become of a number.
#[derive(Clone, Copy, Debug)]
enum Slot<T> {
    Missing,
    Waiting(T),
    /// Delivered before its turn.
    Delivered,
}

impl<T: Copy> PdcpReceiver<T> {
    /// One that has received nothing.
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

    /// Takes a packet with its number; puts what may go up into `up`. False if the packet comes after it was waited for no longer, and is discarded for that.
    pub fn receive(&mut self, now: Nanos, number: u64, item: T, up: &mut Vec<T>) -> bool {
        // A window at most waits: beyond it a number could not be told from an older one.
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

    /// Delivers the row of numbers that has come.
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

    /// Delivers what has come below a number, waits no longer for the rest of it, and goes on with the row from there.
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

    /// What is missing from here on and below this number is waited for no longer.
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

    /// Runs t-Reordering: what is missing is waited for no longer.
    pub fn on_timer(&mut self, now: Nanos, up: &mut Vec<T>) {
        if let Some((until, _)) = self.timer.filter(|&(_, end)| end <= now) {
            self.timer = None;
            self.give_up(until, up);
            self.watch(now);
        }
    }

    /// Packets that came twice or too late.
    pub fn discarded(&self) -> u64 {
        self.discarded
    }

    /// Numbers that were waited for and did not come.
    pub fn skipped(&self) -> u64 {
        self.skipped
    }

    /// Packets that wait for others.
    pub fn waiting(&self) -> u64 {
        let waiting = self.waiting.iter();
        waiting.filter(|s| matches!(s, Slot::Waiting(_))).count() as u64
    }
}
