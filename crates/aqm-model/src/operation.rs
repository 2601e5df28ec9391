//! What may happen to a queue. The fields are raw: every value means something, and uniform values make varied traffic.

use bloatlab_aqm::Ecn;
use bloatlab_units::{Nanos, Rng};

/// Something that happens to a queue.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "arbitrary", derive(arbitrary::Arbitrary))]
pub enum Operation {
    /// Time passes; the queue is woken whenever it asked to be, and the link may ask for a packet after that.
    Wait {
        /// How long, within the scale.
        mantissa: u8,
        /// From nanoseconds to years.
        scale: u8,
        /// Whether the link is free to ask after a wake-up.
        asks: bool,
    },
    /// Packets of one flow arrive at once.
    Arrive {
        /// The flow, modulo those of the episode.
        flow: u16,
        /// Full-sized, as small as can be, or any.
        size: u16,
        /// The code point (of those that the flow uses), and what its ACKs say.
        marking: u8,
        /// One, a few, or a burst.
        count: u8,
    },
    /// The link asks for packets.
    Depart {
        /// How often.
        count: u8,
        /// Whether it asks at its rate, or all at one instant.
        paced: bool,
    },
}

impl Operation {
    /// One at random; the greater `load` (0 to 4), the more arrives for what the link takes.
    pub fn draw(rng: &mut Rng, load: u64) -> Self {
        let bits = rng.bits();
        let byte = |n: u32| (bits >> (8 * n)) as u8;
        match rng.below(12 - load) {
            0..2 => Self::Wait {
                mantissa: byte(0),
                scale: byte(1),
                asks: byte(2) & 1 == 1,
            },
            2..5 => Self::Arrive {
                flow: bits as u16,
                size: (bits >> 16) as u16,
                marking: byte(4),
                count: byte(5),
            },
            _ => Self::Depart {
                count: byte(0),
                paced: byte(1) & 1 == 1,
            },
        }
    }
}

/// How long [`Operation::Wait`] is: mostly microseconds to a second, the time scales of queues; rarely an idle gap of hours or years.
pub(crate) fn duration(mantissa: u8, scale: u8) -> Nanos {
    const SHIFTS: [u32; 16] = [0, 6, 10, 12, 13, 14, 15, 16, 16, 17, 18, 19, 20, 21, 22, 24];
    let shift = match scale {
        255 => 52,
        254 => 36,
        _ => SHIFTS[usize::from(scale) % SHIFTS.len()],
    };
    u64::from(mantissa) << shift
}

/// The bytes of an arrival: 40 to 65,535, mostly what a link carries.
pub(crate) fn size(raw: u16) -> u32 {
    let rest = u32::from(raw / 8);
    match raw % 8 {
        0..4 => 1500,
        4 => 40,
        5 | 6 => 40 + rest % 1475,
        _ => 40 + rest * 8 % 65_496,
    }
}

/// How many packets arrive at once.
pub(crate) fn burst(raw: u8) -> u32 {
    match raw {
        0..128 => 1 + u32::from(raw) % 4,
        _ => 1 + u32::from(raw) % 64,
    }
}

/// How often the link asks.
pub(crate) fn asks(raw: u8) -> u32 {
    1 + u32::from(raw) % 32
}

/// The code point: a flow is classic or L4S, since queues that part the two (RFC 9332) cannot keep one in order that is both.
pub(crate) fn ecn(flow: u32, marking: u8) -> Ecn {
    match (flow % 3, marking & 1) {
        (0, 0) => Ecn::Ect1,
        (0, _) => Ecn::Ce,
        (_, 0) => Ecn::NotEct,
        (_, _) => Ecn::Ect0,
    }
}

impl Operation {
    /// What it does, as text.
    pub(crate) fn told(&self, flows: u32) -> String {
        match *self {
            Self::Wait {
                mantissa,
                scale,
                asks,
            } => {
                let asks = if asks { ", asking when woken" } else { "" };
                format!("wait {} ns{asks}", duration(mantissa, scale))
            }
            Self::Arrive {
                flow,
                size: raw,
                marking,
                count,
            } => {
                let flow = u32::from(flow) % flows;
                let (count, size, ecn) = (burst(count), size(raw), ecn(flow, marking));
                format!("arrive {count} x {size} B {ecn:?} of flow {flow}")
            }
            Self::Depart { count, paced } => {
                let paced = if paced { " at the link's rate" } else { "" };
                format!("depart {}{paced}", asks(count))
            }
        }
    }
}
