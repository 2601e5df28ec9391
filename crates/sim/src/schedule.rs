//! Finds the next event: the clock, a register for each source that most packets pass, and the calendar for all other events.
//!
//! Events at the same time happen in this order:
//!
//! 1. Changes of the timeline, the run's end, the end of the warm-up, a sample: a span of time includes the instant at which it begins, and not the one at which it ends.
//! 2. Transmissions that end, in the order of the links. A packet that arrives at that time finds the link free.
//! 3. Packets that leave links, then packets that leave delays, in the order of the boxes.
//! 4. Everything else, in the order in which it was scheduled.

use std::hint::select_unpredictable;

use bloatlab_units::Nanos;

use crate::calendar::{Calendar, Key, NO_EVENT, instant, key, target};

/// Kinds of event, in the high bits of the target. The first three belong to boxes. Their numbers are their order at the same time.
pub(crate) mod event {
    pub const LINK_DONE: u32 = 0;
    pub const LINK_FLIGHT: u32 = 1;
    pub const DELAY: u32 = 2;
    pub const TIMER: u32 = 3;
    pub const APPLICATION: u32 = 4;
    pub const WAKE: u32 = 5;
    pub const CLOCK: u32 = 6;
    pub const RELEASE: u32 = 7;
    pub const INDEX_BITS: u32 = 21;
}

/// The purpose of a clock event. The first pauses the run, the next three measure; their numbers are their order at one instant. Events of rare boxes
/// have the index of the box in the low bits.
pub(crate) mod clock {
    pub const PAUSE: u32 = 0;
    pub const END: u32 = 1;
    pub const WARMUP: u32 = 2;
    pub const SAMPLE: u32 = 3;
    pub const CELL: u32 = 4;
    /// The first gate before the radio; the others follow, up to the first reordering_delay.
    pub const GATE: u32 = 5;
    pub const REORDERING: u32 = 1 << 19;
    pub const COPY: u32 = 2 << 19;
    pub const BOX_BITS: u32 = 19;
}

/// What an application event is for. The index of the event is that of the flow times `KINDS`, plus one of these.
pub(crate) mod application {
    pub const START: u32 = 0;
    pub const STOP: u32 = 1;
    pub const WAKE: u32 = 2;
    /// A packet has left the own link of a host that waited for it.
    pub const RESUME: u32 = 3;
    /// A power of two, so that nothing is divided.
    pub const KINDS: u32 = 4;
}

/// The order numbers of events that precede all others at the same time. 0 is reserved: it precedes every event.
mod order {
    pub const MEASURE: u64 = 1;
    pub const BOX: u64 = 2;
}

/// Number of sources whose events are in registers. All others are in the calendar.
const REGISTERS: usize = 6;

/// Where a source keeps its next event.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slot(u8);

impl Slot {
    /// Not in a register.
    pub const CALENDAR: Self = Self(u8::MAX);
}

/// The clock and the pending events.
pub(crate) struct Schedule {
    pub now: Nanos,
    order: u64,
    registers: [Key; REGISTERS],
    registers_used: usize,
    calendar: Calendar,
}

impl Schedule {
    pub fn new() -> Self {
        Self {
            now: 0,
            order: order::BOX,
            registers: [NO_EVENT; REGISTERS],
            registers_used: 0,
            calendar: Calendar::new(),
        }
    }

    /// Assigns a register to a source, if one is free.
    pub fn reserve(&mut self) -> Slot {
        if self.registers_used == REGISTERS {
            return Slot::CALENDAR;
        }
        self.registers_used += 1;
        Slot((self.registers_used - 1) as u8)
    }

    /// Removes the earliest event, sets the clock to it, and returns its kind and index. Always inlined into the event loop: a call would take a
    /// hundred more instructions per packet.
    #[inline(always)]
    pub fn next(&mut self) -> Option<(u32, u32)> {
        let key = loop {
            let from = self.earliest();
            if let Some(register) = self.registers.get_mut(from) {
                break std::mem::replace(register, NO_EVENT);
            }
            if self.calendar.settle() {
                continue;
            }
            if self.calendar.peek() == NO_EVENT {
                return None;
            }
            break self.calendar.pop();
        };
        self.now = instant(key);
        Some((
            target(key) >> event::INDEX_BITS,
            target(key) & ((1 << event::INDEX_BITS) - 1),
        ))
    }

    /// The instant of the earliest event; `NEVER` if there is none.
    pub fn next_at(&mut self) -> Nanos {
        loop {
            let from = self.earliest();
            if let Some(&register) = self.registers.get(from) {
                return instant(register);
            }
            if !self.calendar.settle() {
                return instant(self.calendar.peek());
            }
        }
    }

    /// The register of the earliest event; `REGISTERS` if the event is in the calendar.
    #[inline(always)]
    fn earliest(&self) -> usize {
        match self.registers_used {
            0..=3 => self.earliest_of::<3>(),
            _ => self.earliest_of::<REGISTERS>(),
        }
    }

    /// As `earliest`, if only the first `USED` registers are in use. Only instants are compared, as long as no two are equal.
    #[inline(always)]
    fn earliest_of<const USED: usize>(&self) -> usize {
        let calendar = instant(self.calendar.peek());
        let (mut best, mut from) = (calendar, 0);
        for (i, &register) in self.registers[..USED].iter().enumerate() {
            let at = instant(register);
            if at == best {
                return self.first_of_simultaneous();
            }
            // With a pacing clock, the next source is not predictable, so there is no branch on it.
            let earlier = at < best;
            best = select_unpredictable(earlier, at, best);
            from = select_unpredictable(earlier, i, from);
        }
        // Compares instants: if indices were compared, the compiler would branch on the last register.
        if best == calendar { REGISTERS } else { from }
    }

    /// Slow path of `earliest_of`: two events are simultaneous, so whole keys are compared.
    #[cold]
    fn first_of_simultaneous(&self) -> usize {
        let mut best = self.calendar.peek();
        let mut from = REGISTERS;
        for (i, &register) in self.registers[..self.registers_used].iter().enumerate() {
            if register < best {
                best = register;
                from = i;
            }
        }
        from
    }

    /// The key of an event that is scheduled now.
    #[inline]
    pub fn key(&mut self, at: Nanos, kind: u32, index: u32) -> Key {
        self.order += 1;
        key(at, self.order, kind << event::INDEX_BITS | index)
    }

    /// Schedules a pause, the end of the run, the end of the warm-up or a sample.
    pub fn measure_at(&mut self, at: Nanos, what: u32) {
        let target = event::CLOCK << event::INDEX_BITS | what;
        self.calendar.push(key(at, order::MEASURE, target));
    }

    /// Pauses the run before everything else of an instant.
    pub fn pause_at(&mut self, at: Nanos) {
        self.measure_at(at, clock::PAUSE);
    }

    /// Puts an event into the calendar.
    #[inline]
    pub fn at(&mut self, at: Nanos, kind: u32, index: u32) {
        self.push(at, kind, index);
    }

    /// The same; gives its key.
    #[inline]
    pub fn push(&mut self, at: Nanos, kind: u32, index: u32) -> Key {
        let key = self.key(at, kind, index);
        self.calendar.push(key);
        key
    }

    /// Adds an event that is earlier than the pending one of this source. In a register it replaces the pending one; in the calendar both remain.
    #[inline]
    pub fn reset(&mut self, slot: Slot, key: Key) {
        if let Some(register) = self.registers.get_mut(usize::from(slot.0)) {
            *register = key;
        } else {
            self.calendar.push(key);
        }
    }

    /// Schedules the next event of a box, in its register if it has one. A box has at most one pending event of a kind.
    #[inline]
    pub fn set(&mut self, slot: Slot, at: Nanos, kind: u32, index: u32) {
        let key = key(at, order::BOX, kind << event::INDEX_BITS | index);
        if let Some(register) = self.registers.get_mut(usize::from(slot.0)) {
            debug_assert_eq!(*register, NO_EVENT);
            *register = key;
        } else {
            self.calendar.push(key);
        }
    }
}
