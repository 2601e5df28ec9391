//! Scheduling of future slots: uplink grants, downlink blocks and retransmissions.

use bloatlab_units::Nanos;

use super::allocate::{Candidate, allocate};
use super::bearer::{Above, Numbered};
use super::pattern::Room;
use super::transmission::Transmission;
use super::{AVERAGE_SLOTS, Cell, DOWN, UP};
use crate::SYMBOLS;
use crate::bler::Combined;

impl<T: Copy> Cell<T> {
    /// Number of symbols of a slot used for sounding: one per UE whose turn it is.
    fn sounding(&self, slot: u64) -> u32 {
        let Some((period, first)) = self.sounding else {
            return 0;
        };
        let turn = (slot + period - first) % period;
        u32::from(turn < self.ues.len() as u64)
    }

    /// Number of uplink symbols for data, and the room of the slot, whose rest the downlink may use.
    fn uplink_symbols(&self, slot: u64) -> (u32, Room) {
        let room = self.pattern.room(slot);
        let sounding = if room.uplink_control {
            self.sounding(slot)
        } else {
            0
        };
        ((room.up + room.shared).saturating_sub(sounding), room)
    }

    /// Whether anything waits for the downlink.
    fn downlink_waits(&mut self, now: Nanos, above: &mut dyn Above<T>) -> bool {
        (0..self.ues.len()).any(|ue| self.waiting(ue, DOWN, now, above) > 0)
    }

    /// Grants parts of a future slot on the uplink. In shared slots the uplink is served first, but leaves half of the slot while the downlink waits.
    /// Otherwise a busy uplink would delay its own acknowledgements.
    pub(super) fn grant(&mut self, slot: u64, now: u64, above: &mut dyn Above<T>) {
        let (mut symbols, room) = self.uplink_symbols(slot);
        let first = self.grid.units(symbols);
        if first == 0 {
            return;
        }
        let mut units = first;
        self.send_again(UP, slot, &mut units, symbols, room);
        let mut used = first - units;
        // A retransmission may be larger than the half, and would then wait as long as the downlink is busy.
        if room.shared > 0 && self.downlink_waits(self.clock.start(now), above) {
            symbols = symbols.min(room.up + room.shared / 2);
            units = self.grid.units(symbols).saturating_sub(used);
        }
        self.gather(UP, now, |cell, ue| cell.ues[ue].requests.need(now));
        self.share(units, symbols);
        for place in 0..self.candidates.len() {
            let Candidate { ue, mcs, units, .. } = self.candidates[place];
            let size = self.grid.block(mcs, units, symbols);
            self.ues[ue].average[UP] += f64::from(size.bytes) / AVERAGE_SLOTS;
            if units == 0 || size.bytes == 0 {
                continue;
            }
            used += units;
            let taken = self.grid.symbols(used, symbols);
            let ends = if room.up > 0 {
                taken
            } else {
                // Shared slots: the uplink's part ends before the control symbol. The UE that is served first is received last.
                SYMBOLS - 1 - (taken - self.grid.symbols(units, symbols))
            };
            let mut block = self.block(UP, ue, mcs, units, symbols);
            block.ends = ends;
            self.ues[ue].requests.granted(now, size.bytes);
            self.ues[ue].processes[UP] += 1;
            self.air[UP].put(slot, block);
        }
        self.rotate(UP);
    }

    /// Fills the downlink blocks of a future slot.
    pub(super) fn schedule(
        &mut self,
        slot: u64,
        now_slot: u64,
        now: Nanos,
        above: &mut dyn Above<T>,
    ) {
        let room = self.pattern.room(slot);
        let mut symbols = room.down + room.shared;
        if room.shared > 0 {
            let granted: u32 = self.air[UP]
                .of(slot)
                .iter()
                .map(|block| block.symbols)
                .sum();
            symbols = symbols.saturating_sub(granted + self.sounding(slot));
        }
        let mut units = self.grid.units(symbols);
        if units == 0 {
            return;
        }
        let first = units;
        self.send_again(DOWN, slot, &mut units, symbols, room);
        self.gather(DOWN, now_slot, |cell, ue| {
            cell.waiting(ue, DOWN, now, above)
        });
        self.share(units, symbols);
        let taken: u32 = self.candidates.iter().map(|ue| ue.units).sum();
        let free = units - taken;
        let mut used = first - units;
        for place in 0..self.candidates.len() {
            let Candidate { ue, mcs, units, .. } = self.candidates[place];
            let size = self.grid.block(mcs, units, symbols);
            self.ues[ue].average[DOWN] += f64::from(size.bytes) / AVERAGE_SLOTS;
            if units == 0 || size.bytes == 0 {
                continue;
            }
            used += units;
            let mut block = self.block(DOWN, ue, mcs, units, symbols);
            block.ends = 1 + self.grid.symbols(used, symbols);
            let offered = self.grid.block(mcs, units + free, symbols).bytes;
            let is_filled = self.fill(ue, DOWN, now, size.bytes, above, &mut block.content);
            let channels = &self.ues[ue].channels[DOWN];
            for (channel, number) in self.numbers(ue, DOWN).enumerate() {
                if channels.waits(channel) {
                    above.filled(number, now, channels.offered(channel, offered));
                }
            }
            if !is_filled {
                self.air[DOWN].give_back(block.content);
                continue;
            }
            self.ues[ue].processes[DOWN] += 1;
            self.air[DOWN].put(slot, block);
        }
        self.rotate(DOWN);
    }

    /// The UEs that need a part of a slot and have a free HARQ process, starting with the one whose turn it is.
    fn gather(
        &mut self,
        direction: usize,
        now: u64,
        mut need: impl FnMut(&mut Self, usize) -> u32,
    ) {
        self.candidates.clear();
        let count = self.ues.len();
        for step in 0..count {
            let number = (self.turn[direction] + step) % count;
            if self.ues[number].processes[direction] >= self.harq.processes {
                continue;
            }
            let need = need(self, number);
            if need > 0 {
                let ue = &mut self.ues[number];
                let mcs = ue.adaptation[direction].mcs(now);
                let mut candidate = Candidate::new(number, mcs, need, ue.average[direction]);
                candidate.is_urgent = match direction {
                    DOWN => self.has_status(number, now),
                    _ => ue.requests.is_asked(),
                };
                self.candidates.push(candidate);
            }
        }
    }

    /// Whether a report for the uplink waits for a UE.
    fn has_status(&self, ue: usize, slot: u64) -> bool {
        let now = self.clock.start(slot);
        let mut uplinks = self.numbers(ue, UP);
        uplinks.any(|number| self.bearers[number].receiver.status_due(now).is_some())
    }

    /// Creates an empty block.
    fn block(
        &mut self,
        direction: usize,
        ue: usize,
        mcs: usize,
        units: u32,
        symbols: u32,
    ) -> Transmission<Numbered<T>> {
        let size = self.grid.block(mcs, units, symbols);
        let whole = self.grid.units(symbols);
        Transmission {
            ue,
            mcs,
            units,
            size,
            // With groups as units, the number of symbols of the whole band that these units correspond to.
            symbols: (units * symbols).div_ceil(whole),
            ends: 0,
            received: Combined::default(),
            attempts: 0,
            report: 0,
            content: self.air[direction].content(),
        }
    }

    /// Places retransmissions that are due into a slot, in order of arrival.
    fn send_again(
        &mut self,
        direction: usize,
        slot: u64,
        units: &mut u32,
        symbols: u32,
        room: Room,
    ) {
        let mut used = 0;
        let mut place = 0;
        while place < self.again[direction].len() {
            let (due, block) = &self.again[direction][place];
            if *due > slot || block.units > *units {
                place += 1;
                continue;
            }
            let (_, mut block) = self.again[direction].remove(place);
            *units -= block.units;
            used += block.units;
            let taken = self.grid.symbols(used, symbols);
            block.ends = match (direction, room.up) {
                (DOWN, _) => 1 + taken,
                (_, 0) => SYMBOLS - 1 - (taken - self.grid.symbols(block.units, symbols)),
                _ => taken,
            };
            self.air[direction].put(slot, block);
        }
    }

    /// Allocates the units of a slot to the candidates.
    fn share(&mut self, units: u32, symbols: u32) {
        let grid = &self.grid;
        // What each gets in this slot is added later.
        let mut bytes = |mcs: usize, units: u32| grid.block(mcs, units, symbols).bytes;
        allocate(self.policy, &mut self.candidates, units, &mut bytes);
    }

    /// Ends the allocation of a slot: averages decay, and the next UE is first in the next slot.
    fn rotate(&mut self, direction: usize) {
        for ue in &mut self.ues {
            ue.average[direction] *= 1.0 - 1.0 / AVERAGE_SLOTS;
        }
        self.turn[direction] = (self.turn[direction] + 1) % self.ues.len();
    }
}
