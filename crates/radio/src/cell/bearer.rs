//! One direction of a UE's bearer: from what waits above the sender to what the receiver delivers.

use std::collections::VecDeque;

use bloatlab_units::Nanos;

use super::prioritisation::{LogicalChannel, Served};
use super::transmission::{Content, Part, Transmission};
use crate::SYMBOLS;
use crate::pdcp::{PdcpParams, PdcpReceiver, PdcpTransmitter};
use crate::rlc::{
    Framing, Opportunity, Pdu, Receiver, RlcParams, Sdu, Status, Transmitter, Upper, pdu_bytes,
};

/// A data radio bearer, in both directions, as every UE has it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BearerParams {
    /// Its priority among the bearers of the UE.
    pub channel: LogicalChannel,
    /// Its radio link control.
    pub rlc: RlcParams,
    /// Its packet data convergence.
    pub pdcp: PdcpParams,
}

/// What waits above the bearers of a cell, and where delivered packets go. Bearers are numbered by UE, and within a UE in their order. Each has two
/// numbers: an even one for the downlink, and the next odd one for the uplink.
pub trait Above<T> {
    /// A bearer is about to fill a transport block. If it still holds the rest of an SDU, `held_since` is when that SDU arrived.
    fn opportunity(&mut self, bearer: usize, now: Nanos, held_since: Option<Nanos>);
    /// Returns the next SDU of a bearer.
    fn pull(&mut self, bearer: usize, now: Nanos) -> Option<Sdu<T>>;
    /// Number of SDUs that wait for a bearer.
    fn packets(&self, bearer: usize) -> u64;
    /// Number of bytes that wait for a bearer.
    fn bytes(&self, bearer: usize) -> u64;
    /// A block for a downlink bearer has been filled. Including what nobody needed of the slot, the bearer could have had `offered` bytes.
    fn filled(&mut self, bearer: usize, now: Nanos, offered: u32);
    /// A bearer has sent a part of a packet. `left` bytes of the packet wait for the next block; 0 after its last part.
    fn sent_part(&mut self, bearer: usize, now: Nanos, left: u32);
    /// A block of `bytes` bytes was sent, which took this share of a slot's symbols.
    fn sent(&mut self, bearer: usize, now: Nanos, bytes: u32, share: f64);
    /// A packet has passed the cell.
    fn delivered(&mut self, bearer: usize, now: Nanos, packet: &T);
    /// A packet was lost on the radio link.
    fn lost(&mut self, bearer: usize, now: Nanos, packet: &T);
}

/// A packet with its number in the order in which the sender took packets.
#[derive(Clone, Copy, Debug)]
pub struct Numbered<T> {
    /// The number, counted from 0.
    pub number: u64,
    /// The packet.
    pub packet: T,
}

/// How many lost packets are remembered, so that a packet whose parts were lost separately counts once.
const REMEMBERED: usize = 256;

/// The sender and receiver of one direction.
#[derive(Debug)]
pub struct Bearer<T> {
    /// The sending entity.
    pub sender: Transmitter<Numbered<T>>,
    /// The receiving entity.
    pub receiver: Receiver<Numbered<T>>,
    acknowledged: bool,
    framing: Framing,
    numbers: PdcpTransmitter,
    order: PdcpReceiver<T>,
    lost: VecDeque<u64>,
    up: Vec<Numbered<T>>,
    ordered: Vec<T>,
}

impl<T: Copy> Bearer<T> {
    /// Creates a bearer that nothing has passed yet.
    pub fn new(params: &BearerParams) -> Self {
        let BearerParams { rlc, pdcp, .. } = params;
        Self {
            sender: rlc.transmitter(),
            receiver: rlc.receiver(),
            acknowledged: matches!(rlc, RlcParams::Am(_)),
            framing: rlc.framing(),
            numbers: PdcpTransmitter::new(pdcp),
            order: PdcpReceiver::new(pdcp),
            lost: VecDeque::with_capacity(REMEMBERED),
            up: Vec::new(),
            ordered: Vec::new(),
        }
    }

    /// A block that this bearer may use is about to be filled.
    pub fn opportunity(&self, number: usize, now: Nanos, above: &mut dyn Above<T>) {
        let held_since = self.sender.held().map(|(_, since)| since);
        above.opportunity(number, now, held_since);
    }

    /// Fills up to `room` bytes of a block. Returns how many bytes it used.
    fn fill(
        &mut self,
        number: usize,
        now: Nanos,
        offer: Opportunity,
        above: &mut dyn Above<T>,
        out: &mut Vec<Pdu<Numbered<T>>>,
    ) -> u32 {
        let has_part = self.sender.held().is_some();
        let mut upper = Own {
            above,
            number,
            numbers: &mut self.numbers,
        };
        let used = self.sender.transmit(now, offer, &mut upper, out);
        match self.sender.held() {
            Some((left, _)) => above.sent_part(number, now, left),
            None if has_part => above.sent_part(number, now, 0),
            None => {}
        }
        used
    }

    /// Number of bytes that the sender would send if it could.
    pub fn report(&mut self, number: usize, above: &mut dyn Above<T>) -> u32 {
        let numbers = &mut self.numbers;
        self.sender.report(&Own {
            above,
            number,
            numbers,
        })
    }

    /// Processes a block that was received.
    pub fn receive(
        &mut self,
        number: usize,
        now: Nanos,
        pdus: &[Pdu<Numbered<T>>],
        above: &mut dyn Above<T>,
    ) {
        for pdu in pdus {
            self.receiver.receive(now, pdu, &mut self.up);
        }
        self.hand_up(number, now, above);
    }

    /// Handles a block that was given up. What it carried is lost, unless the RLC retransmits it.
    pub fn give_up(
        &mut self,
        number: usize,
        now: Nanos,
        pdus: &[Pdu<Numbered<T>>],
        above: &mut dyn Above<T>,
    ) {
        if self.acknowledged {
            return;
        }
        for Pdu { item, .. } in pdus {
            if self.lost.contains(&item.number) {
                continue;
            }
            if self.lost.len() == REMEMBERED {
                self.lost.pop_front();
            }
            self.lost.push_back(item.number);
            above.lost(number, now, &item.packet);
        }
    }

    /// When [`on_timer`](Self::on_timer) is due.
    pub fn next_timer(&self) -> Option<Nanos> {
        let timers = [
            self.sender.next_timer(),
            self.receiver.next_timer(),
            self.order.next_timer(),
        ];
        timers.into_iter().flatten().min()
    }

    /// Handles the timers that are due.
    pub fn on_timer(&mut self, number: usize, now: Nanos, above: &mut dyn Above<T>) {
        if self.sender.next_timer().is_some_and(|at| at <= now) {
            let numbers = &mut self.numbers;
            let own = Own {
                above,
                number,
                numbers,
            };
            self.sender.on_timer(now, &own);
            self.recover(number, now, above);
        }
        if self.receiver.next_timer().is_some_and(|at| at <= now) {
            self.receiver.on_timer(now, &mut self.up);
            self.hand_up(number, now, above);
        }
        if self.order.next_timer().is_some_and(|at| at <= now) {
            self.order.on_timer(now, &mut self.ordered);
            self.hand_up(number, now, above);
        }
    }

    /// Passes a status report to the sender.
    pub fn on_status(
        &mut self,
        number: usize,
        now: Nanos,
        status: &Status,
        above: &mut dyn Above<T>,
    ) {
        self.sender.on_status(now, status);
        self.recover(number, now, above);
    }

    /// Re-establishes both ends if the radio link has failed.
    fn recover(&mut self, number: usize, now: Nanos, above: &mut dyn Above<T>) {
        if self.sender.failed() {
            self.sender.reestablish();
            self.receiver.reestablish(&mut self.up);
            self.hand_up(number, now, above);
        }
    }

    fn hand_up(&mut self, number: usize, now: Nanos, above: &mut dyn Above<T>) {
        for Numbered {
            number: place,
            packet,
        } in self.up.drain(..)
        {
            let is_in_time = self.order.receive(now, place, packet, &mut self.ordered);
            if !is_in_time && self.acknowledged {
                above.lost(number, now, &packet);
            }
        }
        for packet in self.ordered.drain(..) {
            above.delivered(number, now, &packet);
        }
    }
}

/// Puts what a bearer has to send into a block: first a report on its opposite direction, then retransmissions, then new data (TS 38.322 section
/// 5.2.3.1.1).
#[inline]
pub fn serve<T: Copy>(
    bearers: &mut [Bearer<T>],
    number: usize,
    now: Nanos,
    mut offer: Opportunity,
    above: &mut dyn Above<T>,
    content: &mut Content<Numbered<T>>,
) -> Served {
    let mut served = Served::default();
    let framing = bearers[number].framing;
    let status = bearers[number ^ 1].receiver.build_status(now, offer.room);
    if let Some(status) = &status {
        served.room = status.bytes.min(offer.room);
        served.pdus = framing.pdu(status.bytes);
        offer.room -= served.room;
        offer.enough = offer.enough.saturating_sub(served.pdus);
    }
    let begin = content.pdus.len();
    if offer.enough > 0 {
        served.room += bearers[number].fill(number, now, offer, above, &mut content.pdus);
        if offer.enough < u32::MAX {
            served.pdus += pdu_bytes(framing, &content.pdus[begin..]);
        }
    }
    if served.room > 0 {
        content.parts.push(Part {
            bearer: number,
            status,
            end: content.pdus.len(),
            bytes: served.room,
        });
    }
    served
}

/// What waits above one bearer.
struct Own<'a, T> {
    above: &'a mut dyn Above<T>,
    number: usize,
    numbers: &'a mut PdcpTransmitter,
}

impl<T> Upper<Numbered<T>> for Own<'_, T> {
    fn pull(&mut self, now: Nanos) -> Option<Sdu<Numbered<T>>> {
        loop {
            let sdu = self.above.pull(self.number, now)?;
            let (packet, entered_at) = (sdu.item, sdu.entered_at);
            let Some(number) = self.numbers.leave(now, entered_at) else {
                self.above.lost(self.number, now, &packet);
                continue;
            };
            return Some(Sdu {
                item: Numbered { number, packet },
                bytes: sdu.bytes,
                entered_at,
            });
        }
    }

    fn packets(&self) -> u64 {
        self.above.packets(self.number)
    }

    fn bytes(&self) -> u64 {
        self.above.bytes(self.number)
    }
}

/// A block is sent. Its share of the slot is divided among its bearers in proportion to their parts. An empty block counts for the first bearer.
pub(super) fn sent<T: Copy>(
    block: &Transmission<Numbered<T>>,
    first: usize,
    now: Nanos,
    above: &mut dyn Above<T>,
) {
    let bytes = block.size.bytes;
    let share = f64::from(block.symbols) / f64::from(SYMBOLS);
    match &block.content.parts[..] {
        [] => above.sent(first, now, bytes, share),
        [only] => above.sent(only.bearer, now, bytes, share),
        parts => {
            let used: u32 = parts.iter().map(|part| part.bytes).sum();
            let (mut before, mut counted) = (0, 0);
            for part in parts {
                before += part.bytes;
                let until = (u64::from(bytes) * u64::from(before) / u64::from(used)) as u32;
                let part_share = share * f64::from(part.bytes) / f64::from(used);
                above.sent(part.bearer, now, until - counted, part_share);
                counted = until;
            }
        }
    }
}
