//! Operations on a queue. Their fields are raw numbers: every value is valid, and uniformly random values give varied traffic.

use bloatlab_aqm::Ecn;
use bloatlab_units::{Nanos, Rng};

/// An operation on a queue.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "arbitrary", derive(arbitrary::Arbitrary))]
pub enum Operation {
    /// Time passes. The queue is woken whenever it requested that, and the link may then request a packet.
    Wait {
        /// The duration, in units of the scale.
        mantissa: u8,
        /// Selects the scale, from nanoseconds to years.
        scale: u8,
        /// Whether the link requests a packet after each wake-up.
        asks: bool,
    },
    /// Packets of one flow arrive at once.
    Arrive {
        /// The flow, modulo those of the episode.
        flow: u16,
        /// Selects the size: 1500 bytes, the minimum, or any.
        size: u16,
        /// Selects the ECN codepoint among those of the flow, and the fields of an ACK.
        marking: u8,
        /// Selects the number of packets: one, a few, or a burst.
        count: u8,
    },
    /// The link requests packets.
    Depart {
        /// Selects the number of requests.
        count: u8,
        /// Whether the requests are spaced at the link's rate or all come at the same time.
        paced: bool,
    },
}

impl Operation {
    /// A random operation. A greater `load` (0 to 4) means more arrivals per departure.
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

/// The duration of [`Operation::Wait`]: mostly between microseconds and a second, which are the time scales of queues, and rarely hours or years.
pub(crate) fn duration(mantissa: u8, scale: u8) -> Nanos {
    const SHIFTS: [u32; 16] = [0, 6, 10, 12, 13, 14, 15, 16, 16, 17, 18, 19, 20, 21, 22, 24];
    let shift = match scale {
        255 => 52,
        254 => 36,
        _ => SHIFTS[usize::from(scale) % SHIFTS.len()],
    };
    u64::from(mantissa) << shift
}

/// The size of an arriving packet, from 40 to 65,535 bytes, mostly as usual on a link.
pub(crate) fn size(raw: u16) -> u32 {
    let rest = u32::from(raw / 8);
    match raw % 8 {
        0..4 => 1500,
        4 => 40,
        5 | 6 => 40 + rest % 1475,
        _ => 40 + rest * 8 % 65_496,
    }
}

/// Number of packets that arrive at once.
pub(crate) fn burst(raw: u8) -> u32 {
    match raw {
        0..128 => 1 + u32::from(raw) % 4,
        _ => 1 + u32::from(raw) % 64,
    }
}

/// Number of requests of the link.
pub(crate) fn asks(raw: u8) -> u32 {
    1 + u32::from(raw) % 32
}

/// The ECN codepoint. A flow is either classic or L4S, because queues that separate the two (RFC 9332) cannot keep a mixed flow in order.
pub(crate) fn ecn(flow: u32, marking: u8) -> Ecn {
    match (flow % 3, marking & 1) {
        (0, 0) => Ecn::Ect1,
        (0, _) => Ecn::Ce,
        (_, 0) => Ecn::NotEct,
        (_, _) => Ecn::Ect0,
    }
}

impl Operation {
    /// Describes the operation as text.
    pub(crate) fn description(&self, flows: u32) -> String {
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
