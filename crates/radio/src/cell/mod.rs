//! The cell: which UE sends what in every slot.
//!
//! A downlink block is filled in slot n and sent in n + 2. An uplink grant is given in slot n, and the UE fills and sends its block in n + 4. A UE
//! without a grant asks for one at the end of a slot. Failed blocks are retransmitted some slots later, before anything new.

pub mod allocate;
mod bearer;
mod grid;
mod link_adaptation;
pub mod params;
pub mod pattern;
pub mod prioritisation;
mod scheduling;
mod timing;
mod transmission;
mod uplink;

use bloatlab_units::{Interrupt, Nanos, Rng, Streams};

use self::allocate::{Candidate, Policy};
use self::bearer::{Bearer, Numbered, sent, serve};
use self::grid::Grid;
use self::link_adaptation::Adaptation;
use self::params::{CellParams, HarqParams};
use self::pattern::{Clock, Pattern};
use self::prioritisation::Prioritisation;
use self::timing::{DECODING, DOWN_AHEAD, UP_AHEAD};
use self::transmission::{Air, Content, Transmission};
use self::uplink::Requests;
use crate::channel::{Channel, Loaded};
use crate::{Amc, McsTable, mcs_of_cqi};

pub use self::bearer::{Above, BearerParams};

/// Number of symbols of the blocks for which the channel quality is reported.
const REFERENCE_SYMBOLS: u32 = 12;
/// Number of slots over which the proportionally fair scheduler averages.
const AVERAGE_SLOTS: f64 = 100.0;

const DOWN: usize = 0;
const UP: usize = 1;

/// A UE: its channel, and what the base station knows about it.
struct Ue {
    channel: Channel,
    /// SINR in this slot, by direction, dB.
    sinr: [f64; 2],
    /// Difference of the uplink's SNR from the downlink's, dB.
    uplink_offset: f64,
    adaptation: [Adaptation; 2],
    requests: Requests,
    /// Mean number of recent bytes per slot, by direction.
    average: [f64; 2],
    /// Number of HARQ processes in use, by direction.
    processes: [u32; 2],
    /// How its bearers share a block, by direction.
    channels: [Prioritisation; 2],
}

/// A cell with its UEs.
pub struct Cell<T> {
    clock: Clock,
    pattern: Pattern,
    table: McsTable,
    grid: Grid,
    policy: Policy,
    harq: HarqParams,
    /// Period of sounding and the first UE's slot in it, if UEs sound the channel.
    sounding: Option<(u64, u64)>,
    amc: Amc,
    ues: Vec<Ue>,
    /// Number of bearers per UE.
    channels: usize,
    /// Indexed by number, as in [`Above`].
    bearers: Vec<Bearer<T>>,
    air: [Air<Numbered<T>>; 2],
    /// Blocks to retransmit, each with the first slot for it, in order.
    again: [Vec<(u64, Transmission<Numbered<T>>)>; 2],
    candidates: Vec<Candidate>,
    /// The UE that is first in the next slot, by direction.
    turn: [usize; 2],
    /// The next slot to process, if there is anything to do.
    next_slot: Option<u64>,
    /// The first slot that has not been processed.
    fresh: u64,
    rng: Rng,
    /// Once this is set, no slot is processed any more.
    interrupt: Interrupt,
}

impl<T: Copy> Cell<T> {
    /// Creates a cell in its initial state. The channels are those of its parameters, with their files read. `bearers` are the bearers of each UE.
    ///
    /// # Errors
    /// What [`CellParams::validate`] refuses.
    pub fn new(
        params: &CellParams,
        bearers: &[BearerParams],
        channels: &[Loaded],
        streams: &Streams,
    ) -> Result<Self, String> {
        let (numerology, band, mcs) = (params.numerology()?, params.band()?, params.mcs());
        let ues: Vec<Ue> = (1..)
            .zip(channels)
            .map(|(number, channel): (u32, _)| Ue {
                channel: {
                    let rng = streams.stream(&format!("radio/ue_{number}"));
                    Channel::new(channel, band, &params.interferers, rng)
                },
                sinr: [0.0; 2],
                // A given SNR applies to both directions.
                uplink_offset: if channel.is_computed() {
                    params.uplink_offset()
                } else {
                    0.0
                },
                adaptation: [DOWN, UP].map(|_| Adaptation::new(params.cqi_delay, mcs)),
                requests: Requests::default(),
                average: [0.0; 2],
                processes: [0; 2],
                channels: [DOWN, UP]
                    .map(|_| Prioritisation::new(bearers.iter().map(|bearer| bearer.channel))),
            })
            .collect();
        Ok(Self {
            clock: Clock {
                slot: numerology.slot(),
                symbol: numerology.symbol(),
            },
            pattern: params.slots()?,
            table: params.mcs_table,
            grid: params.grid()?,
            policy: params.scheduler,
            harq: params.harq.clone(),
            sounding: params.sounding(),
            amc: params.amc,
            channels: bearers.len(),
            bearers: (0..ues.len())
                .flat_map(|_| bearers)
                .flat_map(|bearer| [DOWN, UP].map(|_| Bearer::new(bearer)))
                .collect(),
            ues,
            air: [Air::new(), Air::new()],
            again: [Vec::new(), Vec::new()],
            candidates: Vec::new(),
            turn: [0; 2],
            next_slot: None,
            fresh: 0,
            rng: streams.stream("radio/errors"),
            interrupt: Interrupt::default(),
        })
    }

    /// Sets the interrupt, after which no slot is processed any more.
    pub fn interrupted_by(mut self, interrupt: &Interrupt) -> Self {
        for ue in &mut self.ues {
            ue.channel.set_interrupt(interrupt);
        }
        self.interrupt = interrupt.clone();
        self
    }

    /// Something was queued above a bearer, so the cell processes its next slot.
    pub fn wake(&mut self, now: Nanos) {
        let slot = self.clock.next(now).max(self.fresh);
        self.next_slot = Some(self.next_slot.map_or(slot, |other| other.min(slot)));
    }

    /// When [`run`](Self::run) must be called.
    pub fn next_event(&self) -> Option<Nanos> {
        let slot = self.next_slot.map(|slot| self.clock.start(slot));
        let decoded = self.air.iter().filter_map(Air::next_decoded);
        decoded.chain(slot).min()
    }

    /// Bytes of an SDU that a bearer's sender still holds.
    pub fn held(&self, bearer: usize) -> u32 {
        self.bearers[bearer]
            .sender
            .held()
            .map_or(0, |(bytes, _)| bytes)
    }

    /// Handles everything that is due now.
    pub fn run(&mut self, now: Nanos, above: &mut dyn Above<T>) {
        for direction in [DOWN, UP] {
            while let Some(block) = self.air[direction].decoded(now) {
                self.decoded(direction, now, block, above);
            }
        }
        if let Some(slot) = self.next_slot.filter(|&slot| self.clock.start(slot) <= now) {
            self.next_slot = None;
            self.slot(slot, now, above);
            self.fresh = slot + 1;
            self.sleep(slot, above);
        }
    }

    /// Processes a slot.
    fn slot(&mut self, slot: u64, now: Nanos, above: &mut dyn Above<T>) {
        for ue in &mut self.ues {
            if self.interrupt.is_set() {
                return;
            }
            // Other base stations disturb only the downlink.
            let snr = ue.channel.snr_db(now);
            ue.sinr = [ue.channel.sinr_db(now), snr + ue.uplink_offset];
        }
        self.transmit_uplink(slot, now, above);
        for direction in [DOWN, UP] {
            self.propagate(direction, slot, now, above);
        }
        for (number, bearer) in self.bearers.iter_mut().enumerate() {
            bearer.on_timer(number, now, above);
        }
        self.request(slot, above);
        self.grant(slot + UP_AHEAD, slot, above);
        self.schedule(slot + DOWN_AHEAD, slot, now, above);
    }

    /// UEs fill the blocks that they were granted in this slot.
    fn transmit_uplink(&mut self, slot: u64, now: Nanos, above: &mut dyn Above<T>) {
        let mut blocks = self.air[UP].take(slot);
        for block in blocks.iter_mut().filter(|block| block.attempts == 0) {
            let (ue, room) = (block.ue, block.size.bytes);
            self.fill(ue, UP, now, room, above, &mut block.content);
            block.report = self.waiting(ue, UP, now, above);
            self.ues[ue].requests.filled(room, block.report);
        }
        self.air[UP].rest(slot, blocks);
    }

    /// The numbers of a UE's bearers in a direction.
    #[inline]
    fn numbers(&self, ue: usize, direction: usize) -> impl Iterator<Item = usize> + use<T> {
        let first = 2 * ue * self.channels + direction;
        (0..self.channels).map(move |channel| first + 2 * channel)
    }

    /// Fills a block from a UE's bearers. Returns whether there was anything to send.
    fn fill(
        &mut self,
        ue: usize,
        direction: usize,
        now: Nanos,
        room: u32,
        above: &mut dyn Above<T>,
        content: &mut Content<Numbered<T>>,
    ) -> bool {
        for (channel, number) in self.numbers(ue, direction).enumerate() {
            self.bearers[number].opportunity(number, now, above);
            if self.channels > 1 {
                let waits = self.report(number, now, above) > 0;
                self.ues[ue].channels[direction].set_waiting(channel, waits);
            }
        }
        let first = 2 * ue * self.channels + direction;
        let bearers = &mut self.bearers;
        self.ues[ue].channels[direction].fill(now, room, |channel, offer| {
            serve(bearers, first + 2 * channel, now, offer, above, content)
        });
        !content.parts.is_empty()
    }

    /// Number of bytes that a bearer's sender would send, including the reports of the receiver on its side.
    #[inline]
    fn report(&mut self, number: usize, now: Nanos, above: &mut dyn Above<T>) -> u32 {
        let status = self.bearers[number ^ 1].receiver.status_due(now);
        self.bearers[number]
            .report(number, above)
            .saturating_add(status.unwrap_or(0))
    }

    /// Number of bytes that all bearers of a UE would send.
    fn waiting(
        &mut self,
        ue: usize,
        direction: usize,
        now: Nanos,
        above: &mut dyn Above<T>,
    ) -> u32 {
        let mut sum: u32 = 0;
        for number in self.numbers(ue, direction) {
            sum = sum.saturating_add(self.report(number, now, above));
        }
        sum
    }

    /// Sends the blocks of this slot over the channel. They are decoded at the receiver, or must be retransmitted.
    fn propagate(&mut self, direction: usize, slot: u64, now: Nanos, above: &mut dyn Above<T>) {
        let mut blocks = self.air[direction].take(slot);
        for mut block in blocks.drain(..) {
            let ue = &mut self.ues[block.ue];
            let (table, sinr) = (self.table, ue.sinr[direction]);
            let adaptation = &mut ue.adaptation[direction];
            if !adaptation.is_fixed() {
                let whole = self.grid.whole();
                let cqi = self.amc.cqi(table, sinr, whole, REFERENCE_SYMBOLS);
                adaptation.measured(slot, mcs_of_cqi(table, cqi));
            }
            block.attempts += 1;
            block.received.add(table.scheme(block.mcs), sinr);
            let first = 2 * block.ue * self.channels + direction;
            sent(&block, first, now, above);
            let error = block.received.error(self.table, block.mcs, block.size);
            if !self.rng.chance(error) {
                let latency = [DECODING, 0][direction];
                let at = self.clock.end(slot, block.ends) + latency;
                self.air[direction].decode(at, block);
            } else if block.attempts <= self.harq.retransmissions {
                let due = slot + u64::from(self.harq.slots);
                self.again[direction].push((due, block));
            } else {
                ue.processes[direction] -= 1;
                for (part, pdus) in block.content.iter() {
                    self.bearers[part.bearer].give_up(part.bearer, now, pdus, above);
                }
                if direction == UP {
                    ue.requests.given_up(block.report);
                }
                self.air[direction].give_back(block.content);
            }
        }
        self.air[direction].rest(slot, blocks);
    }

    /// Processes a block that was decoded.
    fn decoded(
        &mut self,
        direction: usize,
        now: Nanos,
        block: Transmission<Numbered<T>>,
        above: &mut dyn Above<T>,
    ) {
        let ue = &mut self.ues[block.ue];
        ue.processes[direction] -= 1;
        if direction == UP {
            ue.requests.reported(block.report);
        }
        for (part, pdus) in block.content.iter() {
            let (number, opposite) = (part.bearer, part.bearer ^ 1);
            if let Some(status) = &part.status {
                self.bearers[opposite].on_status(opposite, now, status, above);
            }
            self.bearers[number].receive(number, now, pdus, above);
        }
        self.air[direction].give_back(block.content);
        // What was received may have to be acknowledged, or may free a window.
        self.wake(now);
    }

    /// UEs with data to send and without a grant ask for one.
    fn request(&mut self, slot: u64, above: &mut dyn Above<T>) {
        if !self.pattern.room(slot).uplink_control {
            return;
        }
        for ue in 0..self.ues.len() {
            if self.ues[ue].requests.is_silent() {
                let now = self.clock.start(slot);
                if self.waiting(ue, UP, now, above) > 0 {
                    self.ues[ue].requests.ask(slot);
                }
            }
        }
    }

    /// Schedules the next slot if there is anything to do in it, otherwise the slot in which a timer ends.
    fn sleep(&mut self, slot: u64, above: &mut dyn Above<T>) {
        let now = self.clock.start(slot);
        let busy = self.air.iter().any(|air| !air.is_idle())
            || self.again.iter().any(|again| !again.is_empty())
            || self.ues.iter().any(|ue| ue.requests.is_open())
            || (0..self.bearers.len()).any(|number| self.report(number, now, above) > 0);
        if busy {
            self.next_slot = Some(slot + 1);
            return;
        }
        let timers = self.bearers.iter().filter_map(Bearer::next_timer);
        self.next_slot = timers.min().map(|at| self.clock.next(at).max(slot + 1));
    }
}
