//! How long before a block is sent it is scheduled, and how long decoding takes.

use bloatlab_units::{MICROSECOND, Nanos};

/// Number of slots from filling a downlink block to sending it (5G-LENA: the delay from MAC to PHY).
pub(super) const DOWN_AHEAD: u64 = 2;
/// Number of slots from an uplink grant to sending: as above, plus K2 = 2.
pub(super) const UP_AHEAD: u64 = 4;
/// Decoding time of a block at the UE (5G-LENA: `TbDecodeLatency`). The base station delivers at once.
pub(super) const DECODING: Nanos = 100 * MICROSECOND;
