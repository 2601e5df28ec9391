//! The use of a cell's slots.

use bloatlab_units::Nanos;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::resource_block::SYMBOLS;

/// Numbers of symbols of a slot that carry data. Control symbols are excluded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Room {
    /// Symbols that either direction may use.
    pub shared: u32,
    /// Symbols only for the downlink.
    pub down: u32,
    /// Symbols only for the uplink.
    pub up: u32,
    /// Whether UEs may ask for a grant at the end of the slot.
    pub uplink_control: bool,
}

/// Whether both directions share a carrier.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Duplex {
    /// They take turns according to the pattern.
    #[default]
    Tdd,
    /// Each direction has its own carrier.
    Fdd,
}

/// The repeating slots of a cell.
#[derive(Clone, Debug, PartialEq)]
pub struct Pattern {
    rooms: Vec<Room>,
}

impl Pattern {
    /// Reads the letters: D downlink, U uplink, F flexible (symbols go to the direction that needs them), S special (ten symbols of downlink, a gap
    /// of two, two of uplink).
    ///
    /// # Errors
    /// `pattern: reason`.
    pub fn new(duplex: Duplex, letters: &str) -> Result<Self, String> {
        if duplex == Duplex::Fdd {
            return Ok(Self {
                rooms: vec![Room {
                    down: SYMBOLS - 1,
                    up: SYMBOLS - 1,
                    uplink_control: true,
                    ..Room::default()
                }],
            });
        }
        let rooms: Result<Vec<Room>, String> = letters.chars().map(room).collect();
        let rooms = rooms?;
        if rooms.is_empty() || rooms.len() > 40 {
            return Err(format!(
                "pattern: must have 1 to 40 slots, not {}",
                rooms.len()
            ));
        }
        if !rooms.iter().any(|room| room.down + room.shared > 0) {
            return Err(format!("pattern: `{letters}` has no slot for the downlink"));
        }
        if !rooms.iter().any(|room| room.up + room.shared > 0) {
            return Err(format!("pattern: `{letters}` has no slot for the uplink"));
        }
        Ok(Self { rooms })
    }

    /// The slot with this number.
    #[inline]
    pub fn room(&self, slot: u64) -> Room {
        self.rooms[(slot % self.rooms.len() as u64) as usize]
    }

    /// The mean of a value over the slots.
    pub fn mean(&self, of: impl Fn(Room) -> u32) -> f64 {
        let sum: f64 = self.rooms.iter().map(|&room| f64::from(of(room))).sum();
        sum / self.rooms.len() as f64
    }
}

fn room(letter: char) -> Result<Room, String> {
    Ok(match letter {
        // The first symbol of a slot with a downlink is its control channel. The last symbol of a slot with an uplink is the uplink's.
        'D' => Room {
            down: SYMBOLS - 1,
            ..Room::default()
        },
        'U' => Room {
            up: SYMBOLS - 1,
            uplink_control: true,
            ..Room::default()
        },
        'F' => Room {
            shared: SYMBOLS - 2,
            uplink_control: true,
            ..Room::default()
        },
        'S' => Room {
            down: 9,
            up: 1,
            uplink_control: true,
            ..Room::default()
        },
        other => {
            return Err(format!(
                "pattern: slots are D, U, F or S, not `{}`",
                other.escape_debug()
            ));
        }
    })
}

/// The times of slots and symbols.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clock {
    /// Duration of a slot.
    pub slot: Nanos,
    /// Duration of a symbol.
    pub symbol: Nanos,
}

impl Clock {
    /// When a slot begins.
    #[inline]
    pub fn start(self, slot: u64) -> Nanos {
        slot * self.slot
    }

    /// When the first `symbols` symbols of a slot are over.
    #[inline]
    pub fn end(self, slot: u64, symbols: u32) -> Nanos {
        self.start(slot) + Nanos::from(symbols) * self.symbol
    }

    /// The first slot that begins at or after `now`.
    #[inline]
    pub fn next(self, now: Nanos) -> u64 {
        now.div_ceil(self.slot)
    }
}
